"""Names that files use and some releases lack, the fixes that restore them, and the releases on which the files run.

The names of each release come from the table in `hotfix.releases.symbols` and from the fixes that add names; files are
read and parsed, never imported. A name that is in neither table is assumed to exist. The code is untrusted: only
regular files below the folder are read (`hotfix.reports.trees`), up to a size, and the others are listed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Any, Optional

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ..._support.memo import memo
from ...patching import tabled
from ...releases import symbols
from ...reports.files import read_regular
from ...reports.trees import Tree
from ...versions import installed
from .. import CommandError, bugs
from ..bugs import Bug
from .references import Taken, TooMuch, taken

MAX_BYTES, MAX_FILES = 640 * 1024, 50_000  # a syntax tree takes up to 600 times the size of its text
_NAMED = 20  # files that are named with the reason why they were not read
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages"}
_INHERITED = {
    "PreTrainedModel": ("PreTrainedModel", "ModuleUtilsMixin"),
    "PreTrainedTokenizer": ("PreTrainedTokenizer", "PreTrainedTokenizerBase"),
    "PreTrainedTokenizerFast": ("PreTrainedTokenizerFast", "PreTrainedTokenizerBase"),
}
"""The classes of the library whose members a class has, by the end of the name of its base."""
_ALIASES = {"transformers.tokenization_utils_sentencepiece": ("transformers.tokenization_utils",)}
"""The modules that 5.x makes of another one, with its names."""


@dataclass(frozen=True)
class Use:
    """Where a name is taken.

    Attributes:
        file: the file, as the user would name it.
        taken: the rest.
    """

    file: str
    taken: Taken

    @property
    def place(self) -> str:
        """``FILE:LINE``."""
        return f"{self.file}:{self.taken.line}"


@dataclass(frozen=True)
class MissingName:
    """A name that some release lacks.

    Attributes:
        name: ``module:name``, or the module.
        releases: the examined releases that have it, as numbers.
        fix: the fix that restores it, if there is one.
        restored: the releases in which the fix does.
        bug: the known, unrepaired bug that this missing name is, or None.
        uses: where it is used.
    """

    name: str
    releases: frozenset[int]
    fix: Optional[Bug]
    restored: frozenset[int]
    bug: Optional[Bug]
    uses: tuple[Use, ...]

    @property
    def is_needed(self) -> bool:
        """Whether a file cannot do without it."""
        return any(not use.taken.guarded and not use.taken.instead_of for use in self.uses)

    @property
    def is_needed_at_import(self) -> bool:
        """Whether a file cannot even be imported without it."""
        return any(not (use.taken.guarded or use.taken.called or use.taken.instead_of) for use in self.uses)


@dataclass(frozen=True)
class Scan:
    """The missing names below a path.

    Attributes:
        source: the path.
        files: how many files were read.
        taking: how many of them take something from the package.
        taken: how many different names they take.
        findings: the names that some release lacks: needed ones first.
        imports_on: the releases, as numbers, that have all names that are needed when the files are imported.
        runs_on: those that have the names that are needed later, too.
        repaired_on: those that have them with hotfix and its opt-ins.
        release: the release to judge for, if there is one; as a number, None if it was not examined.
        asked: that release as text; empty if there is none.
        notes: the parts that could not be judged.
    """

    source: str
    files: int
    taking: int
    taken: int
    findings: tuple[MissingName, ...]
    imports_on: frozenset[int]
    runs_on: frozenset[int]
    repaired_on: frozenset[int]
    release: Optional[int]
    asked: str
    notes: tuple[str, ...] = ()

    def lacking(self) -> list[MissingName]:
        """The needed names that the release to judge for lacks; the newest one, if there is none."""
        release = len(releases()) - 1 if self.release is None else self.release
        return [finding for finding in self.findings if finding.is_needed and release not in finding.releases]


def judge(path: str, release: str = "") -> Scan:
    """Judge a file, or all files below a folder.

    Args:
        path: of it.
        release: the release to judge for; that which is installed, if any, if empty.

    Raises:
        CommandError: there is no such path, or no such release; or this Python cannot read the table of names.
    """
    number, asked = _release(release)
    notes: list[str] = []
    uses: dict[tuple[str, str], list[Use]] = {}
    files, taking = 0, set()
    unread: list[str] = []
    for file, data in sources_of(path, notes, unread):
        files += 1
        for reference in taken_by(file, data, unread):
            uses.setdefault((reference.module, reference.name), []).append(Use(file, reference))
            taking.add(file)
    notes += unread[:_NAMED]
    notes += [f"{len(unread) - _NAMED} more files were not read"] if len(unread) > _NAMED else []
    findings = tuple(
        sorted(_findings(uses), key=lambda finding: (not finding.is_needed, finding.fix is None, finding.name))
    )
    return Scan(
        path,
        files=files,
        taking=len(taking),
        taken=sum(bool(name) for _, name in uses),
        findings=findings,
        imports_on=_everywhere() - _lacking(findings, at_import=True, repaired=False),
        runs_on=_everywhere() - _lacking(findings, at_import=False, repaired=False),
        repaired_on=_everywhere() - _lacking(findings, at_import=False, repaired=True),
        release=number,
        asked=asked,
        notes=tuple(notes),
    )


@memo
def releases() -> tuple[str, ...]:
    """The releases that the table knows, oldest first."""
    return _table().releases


def text_of(numbers: Iterable[int]) -> str:
    """Releases as runs: ``4.36.0 to 4.47.1, 4.49.0``."""
    return ", ".join(map(_run_text, symbols.runs(numbers)))


def _run_text(run: tuple[int, int]) -> str:
    first, last = run
    return releases()[first] + (f" to {releases()[last]}" if last > first else "")


def gone_in(finding: MissingName) -> str:
    """The releases that lack a name, in words."""
    parts = []
    for first, last in symbols.runs(_everywhere() - finding.releases):
        if first == 0:
            parts.append(f"before {releases()[last + 1]}" if last + 1 < len(releases()) else "all")
        elif last == len(releases()) - 1:
            parts.append(f"from {releases()[first]} on")
        else:
            parts.append(_run_text((first, last)))
    return ", ".join(parts)


def to_dict(scan: Scan) -> dict[str, Any]:
    """The public form, which ``--format json`` prints for each path."""

    def listed(numbers: Iterable[int]) -> list[str]:
        return [releases()[number] for number in sorted(numbers)]

    return {
        "source": scan.source,
        "files": scan.files,
        "files_with_names": scan.taking,
        "names": scan.taken,
        "release": scan.asked,
        "imports_on": listed(scan.imports_on),
        "runs_on": listed(scan.runs_on),
        "newest": _newest(listed(scan.runs_on)),
        "newest_with_hotfix": _newest(listed(scan.repaired_on)),
        "findings": [
            {
                "name": finding.name,
                "needed": finding.is_needed,
                "needed_at_import": finding.is_needed_at_import,
                "gone": gone_in(finding),
                "lacking": listed(_everywhere() - finding.releases),
                "fix": finding.fix.id if finding.fix else None,
                "optin": finding.fix.optin if finding.fix else None,
                "bug": finding.bug.id if finding.bug else None,
                "uses": [
                    {
                        "file": use.file,
                        "line": use.taken.line,
                        "called": use.taken.called,
                        "guarded": use.taken.guarded or bool(use.taken.instead_of),
                    }
                    for use in finding.uses
                ],
            }
            for finding in scan.findings
        ],
        "notes": list(scan.notes),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Below: names and the releases that lack them.


@memo
def _everywhere() -> frozenset[int]:
    """The numbers of all releases."""
    return frozenset(range(len(releases())))


def _table() -> symbols.Table:
    try:
        return symbols.table()
    except ImportError as error:
        raise CommandError(f"this Python cannot read the table of names: {error}; use another Python") from error


def _release(text: str) -> tuple[Optional[int], str]:
    if text:
        try:
            version: Optional[Version] = Version(text)
        except ValueError:  # InvalidVersion, and a number of thousands of digits
            raise CommandError(f"--release {text[:60]}: not a release; write it like 4.49.0") from None
    else:
        version = installed.version(bugs.PACKAGE)
    known = {Version(text): number for number, text in enumerate(releases())}
    if version is not None and version not in known and text:
        raise CommandError(f"--release {text}: not an examined release; those are {releases()[0]} to {releases()[-1]}")
    return (None, "") if version is None else (known.get(version), str(version))


def _findings(uses: Mapping[tuple[str, str], list[Use]]) -> Iterator[MissingName]:
    by_name: dict[str, list[Use]] = {}
    having: dict[str, frozenset[int]] = {}
    for (module, name), places in uses.items():
        for full, releases_with in _known(module, name):
            by_name.setdefault(full, []).extend(places)
            having[full] = releases_with
    for full, places in by_name.items():
        fix, restored = _restored_by(full, _everywhere() - having[full])
        bug = None if fix else _bugs_by_place().get(full)
        places = sorted(dict.fromkeys(places), key=lambda use: (use.file, use.taken.line))
        yield MissingName(full, having[full], fix, restored, bug, tuple(places))


def _known(module: str, name: str) -> Iterator[tuple[str, frozenset[int]]]:
    """The module or the name, if some release lacks it, each with the releases that have it."""
    everywhere = _everywhere()
    there = _table().with_module(module)
    if there is not None and there != everywhere:
        yield module, there
    if not name:
        return
    for full in _members(module, name):
        owner, _, last = full.partition(":")
        if last.endswith("()"):
            continue
        if "(" in last:
            called, _, keyword = last[: -len("=)")].partition("(")
            having = _keyword(called, keyword)
        else:
            having = _table().with_name(owner, last)
        if having is None:
            having = _from_fixes(full)
        if having is None:
            continue
        without = (there if there is not None else everywhere) - having
        if without:
            yield full, everywhere - without


def _keyword(called: str, keyword: str) -> Optional[frozenset[int]]:
    """The releases in which a class of the package takes an argument."""
    for module, row in _table().modules.items():
        if module.endswith(f":{called}()") and keyword in row.names:
            return row.names[keyword]
    return None


def _members(module: str, name: str) -> list[str]:
    """The key of a name in the tables; for a member of a class, the key in the class that defines it."""
    if "(" in name or ("." not in name and "[" not in name):
        return [f"{module}:{name}"]
    if "[" in name:
        return [full for full in _targets() if full.partition(":")[2] == name][:1]
    owner, _, member = name.partition(".")
    owners = {owner, *(base for end, above in _INHERITED.items() if owner.endswith(end) for base in above)}
    qualnames = {f"{base}.{member}" for base in owners}
    return [full for full in _targets() if full.partition(":")[2] in qualnames][:1]


@memo
def _targets() -> dict[str, tuple[Bug, SpecifierSet]]:
    """The names that fixes add, and the releases that lack them, by ``module:name``."""
    from ... import session

    targets = {}
    for entry in session.current().catalogue.entries.values():
        if entry.kind != "removed-api" and "neighbours" not in entry.module:
            continue
        for target in entry.load().targets:
            if target.way.adds_name and target.module.partition(".")[0] == bugs.PACKAGE:
                for module in (target.module, *_ALIASES.get(target.module, ())):
                    full = f"{module}:{target.qualname}"
                    targets[full] = bugs.known()[entry.id], SpecifierSet(target.releases)
    return targets


@memo
def _bugs_by_place() -> dict[str, Bug]:
    """Known bugs that are not repaired, by the name that they are about."""
    return {bug.where[0]: bug for bug in bugs.known().values() if bug.where and not bug.repaired}


def _from_fixes(full: str) -> Optional[frozenset[int]]:
    if full not in _targets():
        return None
    lacking = _targets()[full][1]
    return frozenset(number for number, release in enumerate(releases()) if not lacking.contains(release))


def _restored_by(full: str, lacking: frozenset[int]) -> tuple[Optional[Bug], frozenset[int]]:
    """The fix that restores a name, and the releases in which it does."""
    bug = _refusing(full)
    if bug is not None:
        return bug, frozenset(number for number in lacking if bug.is_in(Version(releases()[number])))
    key = full if ":" in full else ":".join(full.rpartition(".")[::2])
    if key not in _targets():
        return _by_table(full, lacking)
    bug, broken = _targets()[key]
    return bug, frozenset(number for number in lacking if broken.contains(releases()[number]))


def _by_table(full: str, lacking: frozenset[int]) -> tuple[Optional[Bug], frozenset[int]]:
    """The same for a name that the table of removed names restores."""
    module, _, name = full.partition(":")
    kinds = (
        tabled.kinds(module, name, (releases()[number] for number in lacking))
        if name.isidentifier() or not name
        else {}
    )
    if not kinds:
        return None, frozenset()
    bug = bugs.known()[tabled.FIXES[next(iter(kinds.values()))]]
    return bug, frozenset(number for number in lacking if releases()[number] in kinds)


def _refusing(full: str) -> Optional[Bug]:
    """The repaired bug that is raised for an argument (``module:Class(name=)``), by the message that it declares."""
    asked = re.fullmatch(r"(?:Seq2Seq)?(\w+)\((\w+)=\)", full.partition(":")[2])
    if asked is None:
        return None
    message = f"{asked[1]}.__init__() got an unexpected keyword argument '{asked[2]}'"
    return next((bug for bug in bugs.known().values() if bug.repaired and _raises(bug, message)), None)


def _raises(bug: Bug, message: str) -> bool:
    return any(error.endswith(message) for error in bug.errors)


def _lacking(findings: Iterable[MissingName], at_import: bool, repaired: bool) -> frozenset[int]:
    """The releases in which something that is needed is missing."""
    everywhere = _everywhere()
    missing = {
        finding.name: everywhere - finding.releases - (finding.restored if repaired else frozenset())
        for finding in findings
    }
    lacking: set[int] = set()
    first_choices: dict[int, frozenset[int]] = {}  # the releases that lack one of them, by the id of the tuple
    for finding in findings:
        for use in finding.uses:
            if use.taken.guarded or (at_import and use.taken.called):
                continue
            without = missing[finding.name]
            if use.taken.instead_of:  # it is only needed in releases that lack the first choice
                key = id(use.taken.instead_of)
                if key not in first_choices:
                    first = (name for other in use.taken.instead_of for name in _names_of(other))
                    first_choices[key] = frozenset().union(*(missing.get(name, frozenset()) for name in first))
                without &= first_choices[key]
            lacking |= without
    return frozenset(lacking)


def _names_of(taken: Taken) -> Iterator[str]:
    yield taken.module
    if taken.name:
        yield f"{taken.module}:{taken.name}"


# ---------------------------------------------------------------------------------------------------------------------
# Below: files.


def sources_of(path: str, notes: list[str], unread: list[str]) -> Iterator[tuple[str, bytes]]:
    """The Python files of a folder that are read, or the file itself, each with its content.

    Args:
        path: of the file or folder.
        notes: gets the folders that are left out on purpose.
        unread: gets the files that are not read, with the reason.

    Raises:
        CommandError: there is no such path, or it is a file that cannot be read.
    """
    top = Path(path)
    if not top.is_dir():
        if not top.exists():
            raise CommandError(f"{path}: no such file or folder")
        yield path, _read_alone(top)
        return
    tree = Tree(top)
    copies: list[str] = []

    def is_skipped(folder: Path) -> bool:
        if folder.name in _SKIPPED or folder.name.startswith(".") or (folder / "pyvenv.cfg").exists():
            return True
        if folder.name == bugs.PACKAGE and (folder / "__init__.py").exists():
            copies.append(f"{folder} is a copy of the library, and not read")
            return True
        return False

    count = 0
    for folder, members in tree.walk(is_skipped, notes):
        for member in members:
            if not member.endswith(".py"):
                continue
            count += 1
            if count > MAX_FILES:
                notes += [*copies, f"only the first {MAX_FILES} files were read"]
                return
            try:
                yield str(folder / member), tree.read(folder / member, MAX_BYTES)
            except OSError as error:
                unread.append(f"{folder / member}: not read ({error.strerror or error})")
    notes += copies


def _read_alone(file: Path) -> bytes:
    """The content of a file that the user has named: it may be a link to anywhere."""
    try:
        return read_regular(file, MAX_BYTES)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from None


def taken_by(file: str, data: bytes, unread: list[str]) -> list[Taken]:
    """The names that a file uses from the package; empty for a file that is not Python, which is put into `unread`."""
    if bugs.PACKAGE.encode() not in data:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of strings that others wrote
            return taken(ast.parse(decode_source(data)))
    except (RecursionError, TooMuch):
        unread.append(f"{file}: nested too deeply, not read")
    except (SyntaxError, ValueError, MemoryError, LookupError):  # the last of an encoding that does not exist
        unread.append(f"{file}: not the Python of this interpreter, not read")
    return []


def _newest(texts: Sequence[str]) -> Optional[str]:
    return texts[-1] if texts else None
