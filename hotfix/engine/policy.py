"""The switches: what the environment variables ``HOTFIX_*`` and the arguments of `hotfix.apply` ask for.

The environment is read once, at arming. A value that cannot be read is never guessed at: in strict mode it raises,
otherwise nothing at all is changed in the process and one error message says why.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Optional, get_args

from .._support.words import KINDS
from ..errors import PolicyError

if TYPE_CHECKING:
    from ..fix import Fix, Target

GUARDS = ("HOTFIX_STRICT", "HOTFIX_REQUIRE", "HOTFIX_PIN")
VARIABLES = (
    "HOTFIX",
    "HOTFIX_CONFIG",
    "HOTFIX_ONLY",
    "HOTFIX_SKIP",
    "HOTFIX_KINDS",
    "HOTFIX_OPTIN",
    "HOTFIX_UNKNOWN",
    "HOTFIX_LOG",
    "HOTFIX_LOG_FORMAT",
    "HOTFIX_PADDING",
    "HOTFIX_MODE",
    "HOTFIX_COUNT",
    "HOTFIX_RECORD",
    *GUARDS,
)


OFF_BY_DEFAULT = "Off by default"


# Not enums: making five of them costs more than reading all the switches, and this is imported by every program.

Unknown = Literal["skip", "apply", "raise"]
"""What to do with source that nobody has seen: leave it alone and say so once; apply the fix all the same, as far as
the function's shape allows it; raise HotfixError where the module is imported."""

Verbosity = Literal["quiet", "summary", "info", "debug"]
"""How much is written to stderr: only what was asked for and is not done; warnings, and one line at the end of the
process; a line for each applied fix as well; everything that was looked at."""

LogFormat = Literal["text", "json"]
"""How it is written: lines for people, on stderr; one JSON object a line, on stdout, for what collects the logs of
containers."""

Mode = Literal["repair", "observe"]
"""What is done about a function that has a known bug: it is repaired; it computes what it computes, and its calls are
counted, and those on which the bug strikes."""

Padding = Literal["raise", "warn"]
"""What ``generate()`` does with a right-padded batch where the padding check was: ValueError, as the release did; one
warning, as newer releases do."""


class Policy:
    """The switches of one process: read once, and not changed.

    Attributes:
        enabled: False under ``HOTFIX=0``.
        only: patterns of fix ids; empty means all.
        skip: patterns of ids or groups of fixes that are left out.
        kinds: kinds of bugs to repair; empty means all.
        optin: patterns of ids or groups of fixes that are off by default, or that do more where they are asked for.
        strict: raise what would be logged.
        require: ids that must be in place once their module is imported; one that ends in ``!`` must be there: what
            needs another package that is not installed does not do.
        unknown: what to do with source that nobody has seen.
        log: how much is written to stderr.
        log_format: how it is written.
        padding: what ``generate()`` does with a right-padded batch.
        mode: what is done about a function that has a known bug.
        counts: whether the calls of repaired functions are counted, and those on which the bug would have struck.
        record: the folder in which each process writes down what happened in it; empty means none.
        pin: the digest of the only patch set with which this program may run; empty means any.
        problem: why nothing is changed here, if a switch could not be read; else an empty string.
        environment: the variables that were read, as they were.
    """

    enabled: bool = True
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    optin: tuple[str, ...] = ()
    strict: bool = False
    require: tuple[str, ...] = ()
    unknown: Unknown = "skip"
    log: Verbosity = "summary"
    log_format: LogFormat = "text"
    padding: Padding = "raise"
    mode: Mode = "repair"
    counts: bool = False
    record: str = ""
    pin: str = ""
    problem: str = ""
    environment: Mapping[str, str] = MappingProxyType({})

    def __init__(self, **switches: Any) -> None:
        for name in switches.keys() - Policy.__annotations__:
            raise TypeError(f"{name} is no switch")
        vars(self).update(switches)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Policy:
        """Read the switches.

        Args:
            environment: variables by name; those that do not begin with ``HOTFIX`` are not looked at.

        Raises:
            PolicyError: a value cannot be read.
        """
        values = {name: value.strip() for name, value in environment.items()}
        if values.get("HOTFIX_CONFIG"):
            from . import settings  # here, because most programs have no such file

            values = {**settings.of_file(environment, VARIABLES), **values}

        def get(name: str) -> str:
            return values.get(name, "")

        kinds = _split(get("HOTFIX_KINDS"))
        for kind in kinds:
            if kind not in KINDS:
                raise _unreadable("HOTFIX_KINDS", kind, KINDS)
        if get("HOTFIX_REQUIRE") and not _split(get("HOTFIX_REQUIRE")):
            raise PolicyError(f"HOTFIX_REQUIRE={get('HOTFIX_REQUIRE')}: this names no fix")
        if "HOTFIX_PIN" in values and not get("HOTFIX_PIN"):
            raise PolicyError("HOTFIX_PIN is empty: it must be a digest (did `hotfix lock --digest` fail?)")
        return cls(
            enabled=_flag(values, "HOTFIX", default=True),
            only=_split(get("HOTFIX_ONLY")),
            skip=_split(get("HOTFIX_SKIP")),
            kinds=kinds,
            optin=_split(get("HOTFIX_OPTIN")),
            strict=_flag(values, "HOTFIX_STRICT", default=False),
            require=_split(get("HOTFIX_REQUIRE")),
            unknown=_choice(Unknown, "HOTFIX_UNKNOWN", get("HOTFIX_UNKNOWN"), "skip"),
            log=_choice(Verbosity, "HOTFIX_LOG", get("HOTFIX_LOG"), "summary"),
            log_format=_choice(LogFormat, "HOTFIX_LOG_FORMAT", get("HOTFIX_LOG_FORMAT"), "text"),
            padding=_choice(Padding, "HOTFIX_PADDING", get("HOTFIX_PADDING"), "raise"),
            mode=_choice(Mode, "HOTFIX_MODE", get("HOTFIX_MODE"), "repair"),
            counts=_flag(values, "HOTFIX_COUNT", default=False),
            record=_record(values),
            pin=get("HOTFIX_PIN"),
            environment=_ours(environment),
        )

    @classmethod
    def lenient(cls, environment: Mapping[str, str]) -> Policy:
        """Read the switches; one that cannot be read disables everything.

        Raises:
            PolicyError: a value cannot be read, and the user wants to be stopped: strict mode, a required fix, a pin.
        """
        try:
            return cls.from_environment(environment)
        except PolicyError as error:
            from . import settings

            if asks_to_be_stopped(environment) or settings.may_have_guards(environment):
                raise
            return cls(problem=str(error), record=_record(environment), environment=_ours(environment))

    def unknown_variables(self) -> list[str]:
        """One sentence for each variable that looks like a switch and is none."""
        return [
            f"{name} is not a hotfix setting; {_suggestion(name, VARIABLES, 'hotfix config')}"
            for name in sorted(self.environment)
            if name.startswith("HOTFIX_") and name not in VARIABLES
        ]

    def unmatched(self, ids: Collection[str], groups: Collection[str]) -> list[str]:
        """One sentence for each id or pattern in a switch that matches no fix."""
        switches = {
            "HOTFIX_ONLY": (self.only, ids),
            "HOTFIX_SKIP": (self.skip, {*ids, *groups}),
            "HOTFIX_REQUIRE": (tuple(id.removesuffix("!") for id in self.require), ids),
            "HOTFIX_OPTIN": (self.optin, {*ids, *groups}),
        }
        return [
            f"{variable}={pattern}: no fix has this id; {_suggestion(pattern, known, 'hotfix list')}"
            for variable, (patterns, known) in switches.items()
            for pattern in patterns
            if not any(fnmatchcase(name, pattern) for name in known)
        ]

    def disabled(self, fix_id: str, kind: str, optin: bool, group: str) -> Optional[str]:
        """Why this fix is switched off, as a sentence, or None if it is on."""
        if self.problem:
            return f"nothing is changed because a switch cannot be read: {self.problem}"
        if not self.enabled:
            return "HOTFIX=0 turns hotfix off."
        if self.only and not _matches(fix_id, self.only):
            return "Not among HOTFIX_ONLY (or only=...)."
        if _matches(fix_id, self.skip) or (group and _matches(group, self.skip)):
            return "Named in HOTFIX_SKIP (or skip=...)."
        if self.kinds and kind not in self.kinds:
            return f"Its kind, {kind}, is not among HOTFIX_KINDS."
        if optin and not self.asks_for(fix_id, group):
            return self.off_by_default(fix_id)
        return None

    @staticmethod
    def off_by_default(fix_id: str, why: str = "") -> str:
        """What is said of what only ``HOTFIX_OPTIN`` turns on.

        Args:
            fix_id: id of the fix.
            why: the reason, as a sentence without a full stop.
        """
        return f"{OFF_BY_DEFAULT}{why and f', because {why}'}; HOTFIX_OPTIN={fix_id} turns it on."

    def asks_for(self, fix_id: str, group: str) -> bool:
        """Whether ``HOTFIX_OPTIN`` names this fix or its group."""
        return _matches(fix_id, self.optin) or bool(group and _matches(group, self.optin))

    def restores_on_demand(self, fix: Fix, target: Target) -> bool:
        """Whether a target serves code alone that would end without it: a name, or a part of a fix of a group."""
        serves = target.way.adds_name or bool(fix.group)
        return serves and not (fix.optin or self.asks_for(fix.id, fix.group))

    @property
    def is_guarded(self) -> bool:
        """Whether the user asked to be stopped: strict mode, a required fix, a pin."""
        return self.strict or bool(self.require or self.pin)

    @property
    def observes(self) -> bool:
        """Whether nothing is repaired, and calls are counted."""
        return self.mode == "observe"

    def requires(self, fix_id: str) -> bool:
        """Whether ``HOTFIX_REQUIRE`` names this fix."""
        return _matches(fix_id, [id.removesuffix("!") for id in self.require])

    def insists_on(self, fix_id: str) -> bool:
        """Whether it names this fix with a ``!``."""
        return _matches(fix_id, [id[:-1] for id in self.require if id.endswith("!")])


def asks_to_be_stopped(environment: Mapping[str, str]) -> bool:
    """Whether a variable is a guard, or was meant as one: strict mode, required fixes, a pin, even an empty one."""
    strict, required = environment.get("HOTFIX_STRICT", "").strip(), environment.get("HOTFIX_REQUIRE", "").strip()
    return strict not in ("", "0") or required != "" or "HOTFIX_PIN" in environment


def narrowed(policy: Policy, only: Iterable[str], skip: Iterable[str]) -> Policy:
    """The same switches with the arguments of `hotfix.apply` on top."""
    only = tuple(only)
    return Policy(**{**vars(policy), "only": only or policy.only, "skip": (*policy.skip, *skip)})


# ---------------------------------------------------------------------------------------------------------------------
# Below: reading values.


def _ours(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("HOTFIX")}


def _record(values: Mapping[str, str]) -> str:
    """Under ``python -I`` the environment does not make a program write files."""
    return "" if sys.flags.isolated else values.get("HOTFIX_RECORD", "").strip()


def _choice(kind: Any, variable: str, value: str, default: str) -> Any:
    if value and value not in get_args(kind):
        raise _unreadable(variable, value, get_args(kind))
    return value or default


def _flag(values: Mapping[str, str], variable: str, default: bool) -> bool:
    value = values.get(variable, "")
    if value not in ("", "0", "1"):
        raise _unreadable(variable, value, ("0", "1"))
    return default if not value else value == "1"


def _split(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _unreadable(variable: str, value: str, allowed: Iterable[str]) -> PolicyError:
    shown = value if value.isprintable() else ascii(value)[1:-1]  # a traceback steers no terminal
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
    return PolicyError(f"{variable}={shown}: this value cannot be read; allowed are {', '.join(allowed)}")


_SHOWN = 100


def _suggestion(name: str, known: Collection[str], command: str) -> str:
    """The near match of a name, if there is one; else the known names, or the command that lists them."""
    import difflib  # only needed after a mistake

    # What all variables begin with makes any two of them similar.
    ends = {switch.removeprefix("HOTFIX_"): switch for switch in known}
    close = difflib.get_close_matches(name.removeprefix("HOTFIX_"), ends, n=1, cutoff=_NEAR)
    if close:
        return f"did you mean {ends[close[0]]}?"
    return f"known are {', '.join(sorted(known))}" if len(known) <= _LISTED else f"`{command}` lists them"


_NEAR = 0.7  # of the letters of two names are the same, in order: a typing error, not another word
_LISTED = 5
