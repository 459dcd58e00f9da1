"""The switches: the environment variables ``HOTFIX_*`` and the arguments of `hotfix.apply`.

The environment is read once, when hotfix is armed. hotfix never guesses the meaning of an invalid value. In strict mode
it raises; otherwise it changes nothing in the process and logs one error with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Optional, get_args

from .._support.words import KINDS, shown
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


# Not enums: creating five of them costs more than reading all switches, and every program imports this module.

Unknown = Literal["skip", "apply", "raise"]
"""What to do with source that nobody has examined: leave it alone and log that once; apply the fix anyway, if it fits
the function; raise HotfixError when the module is imported."""

Verbosity = Literal["quiet", "summary", "info", "debug"]
"""How much is written to stderr: only requests that hotfix could not fulfill; warnings, and one line at the end of the
process; also a line for each applied fix; every target that was judged."""

LogFormat = Literal["text", "json"]
"""The form of the log: lines for people, on stderr; one JSON object per line, on stdout, for log collectors of
containers."""

Mode = Literal["repair", "observe"]
"""What to do with a function that has a known bug: repair it; leave it as it is, and count its calls and those that
trigger the bug."""

Padding = Literal["raise", "warn"]
"""What ``generate()`` does with a right-padded batch, in place of the padding check: ValueError, as in the release; one
warning, as in newer releases."""


class Policy:
    """The switches of one process. They are read once and do not change.

    Attributes:
        enabled: False under ``HOTFIX=0``.
        only: patterns of ids of fixes; empty means all.
        skip: patterns of ids or groups of fixes to leave out.
        kinds: kinds of bugs to repair; empty means all.
        optin: patterns of ids or groups of fixes that are off by default, or that do more on request.
        strict: whether to raise instead of logging.
        require: ids of fixes that must be in place once their module is imported. With a ``!`` at the end, a bug that
            cannot occur because another package is not installed does not count as repaired.
        unknown: what to do with source that nobody has examined.
        log: how much is written to stderr.
        log_format: the form of the log.
        padding: what ``generate()`` does with a right-padded batch.
        mode: what to do with a function that has a known bug.
        counts: whether to count the calls of repaired functions, and those that would have triggered the bug.
        record: the folder for the record of each process; empty means none.
        pin: the digest of the only patch set that this program may run with; empty means any.
        problem: why nothing is changed in this process, if a switch is invalid; else an empty string.
        environment: the variables, as they were read.
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
            raise TypeError(f"{name} is not a switch")
        vars(self).update(switches)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Policy:
        """Read the switches.

        Args:
            environment: variables by name; those that do not begin with ``HOTFIX`` are ignored.

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
            empty = shown(get("HOTFIX_REQUIRE"))
            raise PolicyError(f"HOTFIX_REQUIRE={empty}: this names no fix; give ids, separated by commas, or unset it")
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
        """Read the switches; an invalid one disables everything.

        Raises:
            PolicyError: a value cannot be read and there is a guard: strict mode, a required fix, a pin.
        """
        try:
            return cls.from_environment(environment)
        except PolicyError as error:
            from . import settings

            if asks_to_be_stopped(environment) or settings.may_have_guards(environment):
                raise
            return cls(problem=str(error), record=_record(environment), environment=_ours(environment))

    def unknown_variables(self) -> list[str]:
        """A sentence for each variable that looks like a switch but is not one."""
        return [
            f"{shown(name)} is not a hotfix setting; {_suggestion(name, VARIABLES, 'hotfix config')}"
            for name in sorted(self.environment)
            if name.startswith("HOTFIX_") and name not in VARIABLES
        ]

    def unmatched(self, ids: Collection[str], groups: Collection[str]) -> list[str]:
        """A sentence for each id or pattern in a switch that matches no fix."""
        switches = {
            "HOTFIX_ONLY": (self.only, ids),
            "HOTFIX_SKIP": (self.skip, {*ids, *groups}),
            "HOTFIX_REQUIRE": (tuple(id.removesuffix("!") for id in self.require), ids),
            "HOTFIX_OPTIN": (self.optin, {*ids, *groups}),
        }
        return [
            f"{variable}={shown(pattern)}: no fix has this id; {_suggestion(pattern, known, 'hotfix list')}"
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
        """The sentence about a fix that only ``HOTFIX_OPTIN`` turns on.

        Args:
            fix_id: id of the fix.
            why: the reason, as a sentence without a full stop.
        """
        return f"{OFF_BY_DEFAULT}{why and f', because {why}'}; HOTFIX_OPTIN={fix_id} turns it on."

    def asks_for(self, fix_id: str, group: str) -> bool:
        """Whether ``HOTFIX_OPTIN`` names this fix or its group."""
        return _matches(fix_id, self.optin) or bool(group and _matches(group, self.optin))

    def restores_on_demand(self, fix: Fix, target: Target) -> bool:
        """Whether a target only serves code that would fail without it: a name, or a target of a fix with a group."""
        serves = target.way.adds_name or bool(fix.group)
        return serves and not (fix.optin or self.asks_for(fix.id, fix.group))

    @property
    def is_guarded(self) -> bool:
        """Whether there is a guard: strict mode, a required fix, a pin."""
        return self.strict or bool(self.require or self.pin)

    @property
    def observes(self) -> bool:
        """Whether calls are counted and nothing is repaired."""
        return self.mode == "observe"

    def requires(self, fix_id: str) -> bool:
        """Whether ``HOTFIX_REQUIRE`` names this fix."""
        return _matches(fix_id, [id.removesuffix("!") for id in self.require])

    def insists_on(self, fix_id: str) -> bool:
        """Whether ``HOTFIX_REQUIRE`` names this fix with a ``!``."""
        return _matches(fix_id, [id[:-1] for id in self.require if id.endswith("!")])


def asks_to_be_stopped(environment: Mapping[str, str]) -> bool:
    """Whether a variable is a guard or was meant as one: strict mode, required fixes, a pin, even an empty pin."""
    strict, required = environment.get("HOTFIX_STRICT", "").strip(), environment.get("HOTFIX_REQUIRE", "").strip()
    return strict not in ("", "0") or required != "" or "HOTFIX_PIN" in environment


def narrowed(policy: Policy, only: Iterable[str], skip: Iterable[str]) -> Policy:
    """The same switches, narrowed by the arguments of `hotfix.apply`."""
    only = tuple(only)
    return Policy(**{**vars(policy), "only": only or policy.only, "skip": (*policy.skip, *skip)})


# ---------------------------------------------------------------------------------------------------------------------
# Below: reading values.


def _ours(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("HOTFIX")}


def _record(values: Mapping[str, str]) -> str:
    """The folder for records. With ``python -I``, the environment must not make a program write files."""
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
    return PolicyError(f"{variable}={shown(value)}: this value cannot be read; allowed are {', '.join(allowed)}")


def _suggestion(name: str, known: Collection[str], command: str) -> str:
    """The closest match for a name, if there is one; else the known names, or the command that lists them."""
    import difflib  # only needed after a mistake

    # Their common beginning makes any two variables similar.
    ends = {switch.removeprefix("HOTFIX_"): switch for switch in known}
    close = difflib.get_close_matches(name.removeprefix("HOTFIX_"), ends, n=1, cutoff=_NEAR)
    if close:
        return f"did you mean {ends[close[0]]}?"
    return f"known are {', '.join(sorted(known))}" if len(known) <= _LISTED else f"`{command}` lists them"


_NEAR = 0.7  # the share of letters that two names have in common, in order: a typing error, not another word
_LISTED = 5
