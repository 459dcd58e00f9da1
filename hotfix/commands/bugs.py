"""The known bugs by release: the ones that hotfix repairs, and the ones that need another release or package.

The former come from the fixes, the latter from ``releases/unrepaired.json``: facts by id, with a range of releases
where it is certain. Their titles are in ``releases/titles.json``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Optional

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from .. import session
from .._support.memo import memo
from ..engine.entry import Entry
from ..fix import Fix, Target
from . import CommandError

UNREPAIRED = Path(__file__).parents[1] / "releases" / "unrepaired.json"
TITLES = UNREPAIRED.with_name("titles.json")
PACKAGE = "transformers"
_LONGEST = 100  # characters of an id that are shown
SECTIONS = ("Symptom", "Cause", "Releases", "Upstream", "Here")


@dataclass(frozen=True, eq=False)
class Bug:
    """A known bug.

    Attributes:
        id: of the fix, or of the entry in the catalogue.
        kind: one of `words.KINDS`.
        title: one line.
        broken: the releases of `PACKAGE` that have it; a release is broken if any of the specifiers holds.
        needs: specifiers of other packages that the bug needs to show, by canonical name.
        fixed_in: the first releases with a fix of upstream; empty if there is none.
        refs: issues and pull requests.
        where: the functions that have it, or the first of them, as ``module:qualname``.
        errors: the messages that the user sees, with ``…`` for any text.
        names: the messages for the names that a release lacks.
        repaired: whether hotfix repairs it.
        optin: whether the repair is off by default.
        why_not: why it is not repaired, if the reason is known; a sentence.
    """

    id: str
    kind: str
    title: str
    broken: tuple[SpecifierSet, ...]
    needs: Mapping[str, SpecifierSet]
    fixed_in: tuple[Version, ...]
    refs: tuple[str, ...]
    where: tuple[str, ...]
    errors: tuple[str, ...]
    names: tuple[str, ...]
    repaired: bool
    optin: bool = False
    why_not: str = ""

    @property
    def error(self) -> str:
        """The first of the messages; empty if there is none."""
        return next(iter((*self.errors, *self.names)), "")

    def is_in(self, release: Version) -> bool:
        """Whether this release has it."""
        counted = counts_as(release)
        return any(specifier.contains(counted, prereleases=True) for specifier in self.broken)

    def cure(self) -> str:
        """The repair in a word or two; a dash if there is none."""
        if not self.repaired:
            return "-"
        return "repaired (opt-in)" if self.optin else "repaired"

    def to_dict(self) -> dict[str, object]:
        """The public form, as in ``hotfix list --json``."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "broken": [str(specifier) for specifier in self.broken],
            "needs": {name: str(specifier) for name, specifier in self.needs.items()},
            "fixed_in": [str(version) for version in self.fixed_in],
            "repaired": self.repaired,
            "optin": self.optin,
            "why_not": self.why_not,
            "refs": list(self.refs),
            "where": list(self.where),
        }


def counts_as(release: Version) -> Version:
    """The release that a version counts as: a pre-release or a local build counts as its release."""
    return Version(release.base_version) if release.is_prerelease or release.local else release


@memo
def known() -> dict[str, Bug]:
    """Every known bug by id, the repaired ones first."""
    repaired = {entry.id: _of_fix(entry) for entry in session.current().catalogue.entries.values()}
    others = {id: _of_catalogue(id, entry) for id, entry in _catalogue()["bugs"].items() if id not in repaired}
    return {**repaired, **others}


def named(id: str) -> Bug:
    """The bug of this id.

    Raises:
        CommandError: there is none.
    """
    bug = known().get(id)
    if bug is None:
        id = id if len(id) <= _LONGEST else f"{id[:_LONGEST]}..."
        close = get_close_matches(id, known(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`hotfix list --all` shows all of them"
        raise CommandError(f"no known bug has the id {id!r}; {hint}")
    return bug


def left_out() -> int:
    """The number of known bugs that the catalogue leaves out, because their range of releases is not known."""
    count: int = _catalogue()["left_out"]
    return count


@memo
def examined() -> tuple[Version, ...]:
    """The examined releases of `PACKAGE`, in ascending order."""
    return tuple(sorted(map(Version, session.current().catalogue.examined(PACKAGE))))


def sections(docstring: Optional[str]) -> dict[str, str]:
    """The parts of a bug report: the text after each of `SECTIONS`, and the first line under ``title``."""
    parts: dict[str, list[str]] = {}
    lines = (docstring or "").strip().splitlines()
    current = "title"
    for line in lines:
        word = line.split(" ", 1)[0]
        if word in SECTIONS:
            current, line = word, line[len(word) :]
        elif not line.strip():
            current = "more" if current != "title" else current
        parts.setdefault(current, []).append(line.strip())
    return {name: " ".join(text).strip() for name, text in parts.items()}


def report_of(entry: Entry) -> dict[str, str]:
    """The bug report of a fix, from the docstring of its module."""
    from ..versions import installed

    text = installed.source_of(installed.find_spec(entry.module))
    return sections(ast.get_docstring(ast.parse(text)) if text else None)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the two sources.


@memo
def _catalogue() -> dict[str, Any]:
    catalogue: dict[str, Any] = json.loads(UNREPAIRED.read_text(encoding="utf-8"))
    return catalogue


@memo
def _titles() -> dict[str, str]:
    titles: dict[str, str] = json.loads(TITLES.read_text(encoding="utf-8"))
    return titles


def _of_fix(entry: Entry) -> Bug:
    fix = entry.load()
    ranges = [releases for key, releases in entry.targets.items() if key.partition(".")[0] == PACKAGE and releases]
    needs = {name: specifier for name, specifier in fix.needs.items() if name != PACKAGE}
    return Bug(
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        broken=tuple(SpecifierSet(specifier) for specifier in dict.fromkeys(ranges)),
        needs=_needs(needs),
        fixed_in=_versions(entry.fixed_in.split(",")),
        refs=fix.upstream,
        where=tuple(entry.targets),
        errors=fix.errors,
        names=_names(fix),
        repaired=True,
        optin=entry.optin,
    )


def _names(fix: Fix) -> tuple[str, ...]:
    """The messages for the names that a fix adds."""
    added = (message for target in fix.targets if target.way.adds_name for message in _messages_without(target))
    return tuple(dict.fromkeys(added))


def _messages_without(target: Target) -> Iterator[str]:
    """The errors that a release raises for a name that it lacks."""
    module, name = target.module, target.qualname
    key = re.fullmatch(r"\w+\['(.+)'\]", name)
    owner, _, attribute = name.rpartition(".")
    if key:
        yield f"KeyError: '{key[1]}'"
    elif owner:
        yield f"AttributeError: '{owner}' object has no attribute '{attribute}'"
    else:
        if target.implementation.is_module:
            yield f"ModuleNotFoundError: No module named '{module}.{name}'"
        yield f"ImportError: cannot import name '{name}' from '{module}'"


def _of_catalogue(id: str, entry: Mapping[str, Any]) -> Bug:
    where = entry.get("where", "")
    return Bug(
        id=id,
        kind=entry["kind"],
        title=_titles().get(id, id.replace("-", " ")),
        broken=tuple(SpecifierSet(specifier) for specifier in entry["broken"]),
        needs=_needs(entry.get("needs", {})),
        fixed_in=_versions([entry.get("fixed_in", "")]),
        refs=tuple(entry.get("refs", ())),
        where=(where,) if where else (),
        errors=tuple(entry.get("errors", ())),
        names=(),
        repaired=False,
        why_not=entry.get("why_not", ""),
    )


def _needs(needs: Mapping[str, str]) -> dict[str, SpecifierSet]:
    return {canonicalize_name(name): SpecifierSet(specifier) for name, specifier in needs.items()}


def _versions(texts: Sequence[str]) -> tuple[Version, ...]:
    # Any other text is a commit, or empty.
    return tuple(Version(text.strip()) for text in texts if re.fullmatch(r"\s*\d+\.[\w.]+\s*", text))
