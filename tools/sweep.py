"""The static sweep: every fix against every release, from the source in the wheels.

    python -m tools.sweep                 examine all releases, write hotfix/versions/evidence/
    python -m tools.sweep --report-new    also report the fixes that are affected by releases since the last sweep
    python -m tools.sweep --fix ID        only this fix (may be repeated)
    python -m tools.sweep --index         rewrite index.json from the fixes; no wheel is needed
    python -m tools.sweep --check         compare the written files with the fixes; needs no wheel, writes nothing

Nothing is imported from a wheel. Each distinct text of a file is read once, however many releases carry it. The exit
status is 1, with a line on stdout for each, if

- the releases that a fix declares broken differ from the broken ones;
- a function that the matcher of a fix calls broken, in any module of any release, is neither in its table nor exempt
  (a forgotten copy);
- a target cannot be repaired where it is broken: an edit does not match exactly as often as declared or leaves source
  that does not compile, a replacement has another signature or uses a name that the module does not have;
- a matcher raises, or calls the same source both broken and fixed.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import gc
import hashlib
import inspect
import multiprocessing
import os
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.util import decode_source
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from packaging.version import Version

from hotfix.errors import Refusal
from hotfix.fix import Fix, Target
from hotfix.patching import code
from hotfix.reports.digest import RECORDED
from hotfix.versions import files, source

from . import evidence, wheels
from .wheels import Content, Library


@dataclass
class Findings:
    """The findings of the sweep.

    Attributes:
        states: for each fix, by id, and each of its targets, by key: verdict and digest in each release.
        problems: the reasons for exit status 1, a line each.
        notes: remarks that are not problems.
    """

    states: dict[str, dict[str, dict[Version, tuple[str, str]]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def file(self, fix: Fix, old: Mapping[str, Any], examined: Sequence[Version]) -> dict[str, Any]:
        """The evidence file of a fix; targets without releases are taken over from the old one."""
        targets: dict[str, Any] = {}
        for target in sorted(fix.targets, key=lambda target: target.key):
            if not evidence.has_releases(target):
                targets[target.key] = old.get("targets", {}).get(target.key, {"broken": {}, "fixed": {}})
                continue
            where: dict[tuple[str, str], list[Version]] = defaultdict(list)
            for version, state in self.states[fix.id][target.key].items():
                where[state].append(version)
            entry: dict[str, Any] = {"absent": evidence.runs(where.pop(("absent", ""), ()), examined)}
            for verdict in evidence.VERDICTS:
                digests = sorted(
                    (min(versions), digest) for (kind, digest), versions in where.items() if kind == verdict
                )
                entry[verdict] = {digest: evidence.runs(where[verdict, digest], examined) for _, digest in digests}
            targets[target.key] = entry
        return {"fix": fix.id, "targets": targets}


@dataclass(frozen=True)
class Before:
    """The findings of earlier sweeps, for a sweep of only a new release.

    Attributes:
        releases: the examined ones, oldest first.
        states: as in `Findings`.
    """

    releases: Sequence[Version]
    states: Mapping[str, Mapping[str, Mapping[Version, tuple[str, str]]]]


def sweep(fixes: Sequence[Fix], library: Library, jobs: int = 1, before: Before | None = None) -> Findings:
    """Examine all releases, or some more.

    Args:
        fixes: the fixes.
        library: the releases of one package; with `before`, the new ones, and the examined predecessor of each.
        jobs: the number of processes that read wheels; 1 means only this one.
        before: the findings for the other releases. Copies are searched only in changed files, and copies of bugs in
            several definitions only if one of these releases has the bug.
    """
    findings = Findings()
    seen = _Seen()
    scanned = None if before is None else _changed(library)
    releases = sorted({*library.releases, *(before.releases if before else ())})
    for report in _run(_Examiner(fixes, library, scanned), jobs):
        seen.merge(report)
    contents = wheels.Reader(library)
    _judge_across_modules(fixes, library, contents, seen)
    where = _places(library)
    for number, fix in enumerate(fixes):
        findings.states[fix.id] = {}
        for index, target in enumerate(fix.targets):
            if evidence.has_releases(target):
                known = before.states[fix.id][target.key] if before else {}
                states = _states(number, index, target, library, releases, known, seen)
                _compare(fix, target, states, releases, findings)
                findings.problems += _contradictions(fix, target, states, known)
        _same_source_two_verdicts(fix, findings)
        _forgotten_copies(number, fix, library, contents, where, seen, findings, scanned)
    _problems_by_release(fixes, library, seen, findings)
    return findings


def changes(
    states: Mapping[str, Mapping[Version, tuple[str, str]]], new: Iterable[Version]
) -> Iterator[tuple[str, Version, tuple[str, str], tuple[str, str]]]:
    """The changes of a fix's targets from one release to the next: target, release, before, after.

    Args:
        states: by target, as in `Findings`.
        new: the releases to compare.
    """
    for key, by_release in states.items():
        examined = list(by_release)
        for version in new:
            position = examined.index(version)
            before = by_release[examined[position - 1]] if position else ("absent", "")
            if by_release[version] != before:
                yield key, version, before, by_release[version]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    started = time.perf_counter()
    options = _parser().parse_args(arguments)
    problems: list[str] = []
    modules = evidence.discover(problems.append)
    if options.check:
        problems += evidence.disagreements(modules, options.output)
        return _verdict(problems, f"{len(modules)} fixes agree with what is written.")
    index_path = options.output / "index.json"
    index = evidence.read(index_path)
    if options.index:
        examined = {package: evidence.examined_releases(index, package) for package in wheels.SWEPT}
        evidence.write(index_path, evidence.index_of(modules, examined))
        _record_cures(options.output, modules)
        if options.output == evidence.FOLDER:
            for package in list(evidence.stale_files(modules, examined)):
                library = wheels.catalogue(package, _wheels(package, options, examined[package]))
                record_files(package, library, modules)
            problems += [f"wheels of {package} are missing" for package in evidence.stale_files(modules, examined)]
        return _verdict(problems, f"{index_path.name} has {len(modules)} fixes.")
    unknown = set(options.fix) - {fix.id for fix in modules.values()}
    if unknown:
        problems.append(f"there is no fix {', '.join(sorted(unknown))}")
    chosen = {module: fix for module, fix in modules.items() if not options.fix or fix.id in options.fix}
    examined = {}
    for package in wheels.SWEPT:
        of_index = evidence.examined_releases(index, package) if options.fix else []
        library = wheels.catalogue(package, _wheels(package, options, of_index))
        examined[package] = library.releases
        findings = sweep(list(chosen.values()), library, options.jobs)
        if options.output == evidence.FOLDER and (not options.fix or any(evidence.stale_files(modules, examined))):
            record_files(package, library, modules)
        problems += findings.problems
        for note in findings.notes:
            print(f"note: {note}")
        previous = evidence.examined_releases(index, package)
        if options.report_new:
            _report_new(chosen.values(), findings, library.releases, previous)
        for fix in chosen.values():
            path = options.output / f"{fix.id}.json"
            if evidence.write(path, findings.file(fix, evidence.read(path), library.releases)):
                print(f"written: {path.name}")
    if options.fix and examined != {package: evidence.examined_releases(index, package) for package in examined}:
        problems.append("the releases are others than those in index.json; run the sweep over all fixes")
    else:
        fresh = evidence.index_of(modules, examined)
        if options.fix:  # other processes may work on the rest
            ids = {fix.id for fix in chosen.values()}
            entries = {**index.get("fixes", {}), **{id: fresh["fixes"][id] for id in ids}}
            fresh["fixes"] = dict(sorted(entries.items()))
        if evidence.write(index_path, fresh):
            print(f"written: {index_path.name}")
    _record_cures(options.output, modules)
    problems += [problem for fix in chosen.values() for problem in _by_hand(fix, options.output / f"{fix.id}.json")]
    count = sum(map(len, examined.values()))
    spent = sum(os.times()[:4])
    print(
        f"{len(chosen)} fixes, {count} releases, {time.perf_counter() - started:.1f} s "
        f"({spent:.1f} s of processor time), {_peak(options.jobs)}"
    )
    return _verdict(problems, "No mismatch.")


def _record_cures(output: Path, modules: Mapping[str, Fix]) -> None:
    """Write the digests of the cures, if the evidence is that of this checkout."""
    if output == evidence.FOLDER:
        evidence.write(evidence.beside(RECORDED), evidence.cures_of(modules))


def record_files(
    package: str, library: Library, modules: Mapping[str, Fix], known: Mapping[str, Any] | None = None
) -> None:
    """Write the digests of the files that decide verdicts: of all releases, or of some besides those already known."""
    path = evidence.beside(files.RECORDED)
    entry = evidence.files_of(modules, library, package, known)
    if evidence.write(path, {**evidence.read(path), package: entry}):
        print(f"written: {path.name}")


# ----------------------------------------------------------------------------------------------------------------------
# Below: one text at a time: the work of a process, and its result.


@dataclass
class _Seen:
    """The findings in the texts, by number of the content.

    Attributes:
        judged: verdict and digest by fix, target and content; no entry where a judged definition is missing.
        components: by fix and digest of the whole: the name and digest of each part of a joint judgment.
        matching: by fix: content and qualified name of each function that the matcher calls broken.
        alike: by fix: content, qualified name and digest of functions that have the name of a judged part.
        problems: fix, target, sentence, content.
    """

    judged: dict[tuple[int, int, tuple[int, ...]], tuple[str, str]] = field(default_factory=dict)
    components: dict[tuple[int, str], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    matching: set[tuple[int, int, str]] = field(default_factory=set)
    alike: set[tuple[int, int, str, str]] = field(default_factory=set)
    problems: set[tuple[int, str, str, int]] = field(default_factory=set)

    def merge(self, other: _Seen) -> None:
        self.judged.update(other.judged)
        self.components.update(other.components)
        self.matching |= other.matching
        self.alike |= other.alike
        self.problems |= other.problems


@dataclass(frozen=True)
class _Piece:
    """A definition at column 0 with its decorators and the lines after it, or the lines before the first definition.

    Attributes:
        key: digest of the text. Most pieces are the same in many releases and many files.
        text: its lines.
        name: that of the definition; empty for the piece before all definitions.
        names: the names in its heads, its own and nested ones.
    """

    key: bytes
    text: str
    name: str
    names: tuple[str, ...]


class _Text(source.Module):
    """The text of one content.

    Args:
        data: the content of the file.
        names: name and names of the pieces seen so far, by their keys.
    """

    def __init__(self, data: bytes, names: dict[bytes, tuple[str, tuple[str, ...]]] | None = None) -> None:
        super().__init__(decode_source(data))
        self._names = {} if names is None else names

    @cached_property
    def pieces(self) -> list[_Piece]:
        """The whole text, piece by piece."""
        return [self._piece(part) for part in _parts(self.text)]

    def _piece(self, text: str) -> _Piece:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self._names:
            heads = _HEADS.findall(text)
            own = next((name for indent, name in heads if not indent), "")
            self._names[key] = own, tuple(name for _, name in heads)
        return _Piece(key, text, *self._names[key])

    @cached_property
    def holders(self) -> dict[str, _Piece | None]:
        """The piece that has a name in a head of a definition; None if several heads have it."""
        pieces: dict[str, _Piece | None] = {}
        for piece in self.pieces:
            for name in piece.names:
                pieces[name] = None if name in pieces else piece
        return pieces

    def holder(self, qualname: str) -> _Piece | None:
        """The one piece that can have a definition of this name; None if only the whole text can show it."""
        first = qualname.partition(".")[0]
        piece = self.holders.get(first)
        return piece if piece and piece.name == first else None

    def lacks(self, qualname: str) -> bool:
        """Whether some part of a name is in no head."""
        return "\f" not in self.text and any(name not in self.holders for name in qualname.split("."))

    def find(self, qualname: str) -> source.Found | None:
        """Like the function of `source`, with positions within the piece, and parsing no more than that."""
        if qualname not in self._found:
            piece = self.holder(qualname)
            if self.lacks(qualname):
                self._found[qualname] = None
            elif piece and ((definition := source.find(piece.text, qualname)) or _parses(piece.text)):
                self._found[qualname] = definition
            else:
                super().find(qualname)
        return self._found[qualname]


def _parts(text: str) -> list[str]:
    cuts, done = [0], 0
    for head in _TOP.finditer(f"\n{text}"):
        passed, done = text[done : head.start()], head.start()
        own = 0
        if passed.startswith("@") or "\n@" in passed:
            lines = [*source.lines_of(passed), "def decorated(): ...\n"]
            own = len(source.block_at(lines, len(lines) - 1)) - len(lines[-1])
        cuts.append(head.start() - own)
    return [text[first:last] for first, last in pairwise([*cuts, len(text)]) if first < last]


_TOP = re.compile(r"\n(?:async[ \t]+def|def|class)[ \t]+\w")
_HEADS = re.compile(r"^([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.M)


def _parses(text: str) -> bool:
    try:
        source.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _definition(block: str) -> ast.stmt | None:
    """The tree of a definition that `source.block_at` has cut out; None if it is not Python, as in a string."""
    indented = block[:1].isspace()
    try:
        first = source.parse(f"if True:\n{block}" if indented else block).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
    return first.body[0] if indented and isinstance(first, ast.If) else first


class _Examiner:
    """Judges targets and looks for copies, in the contents of one wheel after the other."""

    def __init__(self, fixes: Sequence[Fix], library: Library, scanned: Set[int] | None = None) -> None:
        self.fixes = fixes
        self.scanned = scanned
        self.wanted: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, fix in enumerate(fixes):
            for index, target in enumerate(fix.targets):
                if evidence.has_releases(target) and _in_one_module(target) and not target.way.neighbour(target):
                    self.wanted[target.fingerprint_names()[0][0]].append((number, index))
        self.scans = [_Scan(fix) for fix in fixes]
        self.words = [(word, number) for number, scan in enumerate(self.scans) for word in scan.words]
        self.bytes = list(dict.fromkeys(word.encode() for word, _ in self.words))
        # Most pieces and most definitions are the same in many releases: each is searched, or judged, once.
        self.names: dict[bytes, tuple[str, tuple[str, ...]]] = {}
        self.scanned_pieces: dict[bytes, list[_Hit]] = {}
        self.examined: dict[tuple[int, str, bytes], tuple[str, bool, str]] = {}
        self.judged: dict[tuple[int, int, tuple[bytes, ...]], _Judged] = {}
        self.parcels: dict[Path, list[Content]] = defaultdict(list)
        for content in library.contents:
            self.parcels[content.wheel].append(content)

    def examine(self, wheel: Path) -> _Seen:
        seen = _Seen()
        for content, data in wheels.texts(self.parcels[wheel]):
            wanted = [target_ for module in content.modules for target_ in self.wanted.get(module, ())]
            looked_through = self.scanned is None or content.number in self.scanned
            looked_through = looked_through and any(word in data for word in self.bytes)
            if wanted or looked_through:
                text = _Text(data, self.names)
                self._judge(content.number, text, wanted, seen)
                if looked_through:
                    self._scan(content.number, text, seen)
        return seen

    def _judge(self, content: int, text: _Text, wanted: list[tuple[int, int]], seen: _Seen) -> None:
        edits: dict[str, list[tuple[Fix, Target]]] = defaultdict(list)
        for number, index in wanted:
            fix, target = self.fixes[number], self.fixes[number].targets[index]
            definitions = self._judge_once(number, index, text)
            for sentence in definitions.sentences:
                seen.problems.add((number, target.key, sentence, content))
            if definitions.state is None:
                continue
            if definitions.components:
                seen.components[number, definitions.state[1]] = definitions.components
            seen.judged[number, index, (content,)] = definitions.state
            if definitions.state[0] == "broken" and target.way.edits_source:
                edits[target.qualname].append((fix, target))
        for qualname, several in edits.items():
            if len(several) > 1:
                several.sort(key=lambda pair: (pair[0].order, pair[0].id))
                for sentence in _edit_problems(text.find(qualname), qualname, [target for _, target in several]):
                    names = " and ".join(dict.fromkeys(fix.id for fix, _ in several))
                    first = self.fixes.index(several[0][0])
                    seen.problems.add((first, several[0][1].key, f"edited by {names} together: {sentence}", content))

    def _judge_once(self, number: int, index: int, text: _Text) -> _Judged:
        fix, target = self.fixes[number], self.fixes[number].targets[index]
        if target.way.adds_name:
            return _Judged(_judge_addition(target, text))
        names = [qualname for _, qualname in target.fingerprint_names()]
        if any(map(text.lacks, names)):
            return _Judged(None)
        # Other code than these definitions matters only for edits of them.
        pieces = [text.holder(name) for name in (*names, target.edited_name()[1])]
        key = number, index, tuple(piece.key for piece in pieces if piece)
        known = target.way.edits_source and all(pieces)
        if known and key in self.judged:
            return self.judged[key]
        judged = _judge(fix, target, [text.find(name) for name in names])
        if judged.state and judged.state[0] == "broken":
            judged = replace(judged, sentences=(*judged.sentences, *_cannot_be_repaired(target, text)))
        if known:
            self.judged[key] = judged
        return judged

    def _scan(self, content: int, text: _Text, seen: _Seen) -> None:
        for piece in text.pieces:
            if piece.key not in self.scanned_pieces:
                self.scanned_pieces[piece.key] = list(self._hits(piece.text))
            for hit in self.scanned_pieces[piece.key]:
                if hit.alike:
                    seen.alike.add((hit.fix, content, hit.qualname, hit.alike))
                if hit.matching:
                    seen.matching.add((hit.fix, content, hit.qualname))
                if hit.sentence:
                    seen.problems.add((hit.fix, "", hit.sentence, content))

    def _hits(self, text: str) -> Iterator[_Hit]:
        numbers = dict.fromkeys(number for word, number in self.words if word in text)
        lines = source.lines_of(text) if numbers else []
        heads = heads_in(lines)
        trees: dict[str, ast.stmt | None] = {}
        for number in numbers:
            for qualname, head in self.scans[number].candidates(text, lines, heads):
                block = source.block_at(lines, head)
                digest = hashlib.blake2b(block.encode("utf-8", "surrogatepass"), digest_size=16).digest()
                key = number, qualname, digest
                if key not in self.examined:
                    part = qualname.rpartition(".")[2] in self.scans[number].parts
                    worth_it = part or self.fixes[number].may_be_broken(block)
                    if worth_it and block not in trees:
                        trees[block] = _definition(block)
                    self.examined[key] = self._examine(number, qualname, trees[block] if worth_it else None)
                if any(self.examined[key]):
                    yield _Hit(number, qualname, *self.examined[key])

    def _examine(self, number: int, qualname: str, node: ast.AST | None) -> tuple[str, bool, str]:
        """The findings in a definition: its digest if it is a part of something, whether it matches, a problem."""
        scan = self.scans[number]
        if node is None or not isinstance(node, scan.kinds):
            return "", False, ""
        alike = source.digest(node) if qualname.rpartition(".")[2] in scan.parts else ""
        try:
            return alike, scan.alone and self.fixes[number].is_broken(node), ""
        except Exception as error:
            return alike, False, f"its matcher raises {type(error).__name__} ({error}) on {qualname}"


@dataclass(frozen=True)
class _Judged:
    """The findings on a target: verdict and digest (None: absent), the digests of its parts, problems."""

    state: tuple[str, str] | None
    components: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Hit:
    """The findings in a definition that a fix searches; the fields are those of `_Examiner._examine`."""

    fix: int
    qualname: str
    alike: str
    matching: bool
    sentence: str


class _Scan:
    """How one fix looks for forgotten copies.

    Attributes:
        alone: whether its matcher judges single definitions.
        parts: names of the definitions that are judged together with others.
        kinds: the judged kinds: functions, or also classes.
        words: texts, one of which is in each copy; none if there is no search.
    """

    def __init__(self, fix: Fix) -> None:
        targets = [target for target in fix.targets if evidence.has_releases(target) and not target.way.adds_name]
        judged = [target.fingerprint_names() for target in targets]
        names = {qualname.rpartition(".")[2] for names in judged for _, qualname in names}
        self.prefilters = fix.prefilters()
        heads = "|".join(sorted(map(re.escape, names)))
        self.head = re.compile(rf"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(?:{heads})\b", re.M)
        self.words = (self.prefilters or [f" {name}" for name in sorted(names)]) if targets else ()
        self.alone = any(len(names) == 1 for names in judged)
        self.parts = {qualname.rpartition(".")[2] for names in judged if len(names) > 1 for _, qualname in names}
        self.kinds: tuple[type, ...] = (ast.FunctionDef, ast.AsyncFunctionDef)
        if any(name[:1].isupper() for name in names):
            self.kinds += (ast.ClassDef,)

    def candidates(self, text: str, lines: Sequence[str], heads: Sequence[_Head]) -> set[tuple[str, int]]:
        """The definitions around each occurrence of a prefilter, without the classes if only functions are judged."""
        places = [place for prefilter in self.prefilters for place in _occurrences(text, prefilter)]
        if not self.prefilters:
            places = [hit.end() for hit in self.head.finditer(text)]
        classes = ast.ClassDef in self.kinds
        return {
            (qualname, head)
            for number in {text.count("\n", 0, place) for place in places}
            for qualname, head in enclosing(lines, number, heads)
            if classes or not lines[head].lstrip().startswith("class")
        }


def enclosing(lines: Sequence[str], number: int, heads: Sequence[_Head] | None = None) -> list[tuple[str, int]]:
    """The definitions that may contain line `number` (counted from 0), innermost last, with the lines of their heads.

    Uses indentation, and stops at the outermost function: nested definitions have no qualified name that could be a
    target.

    Args:
        lines: of the text.
        number: of the line; a blank one belongs to the one above.
        heads: those of the lines, for callers that query many of them.
    """
    while number >= 0 and not lines[number].strip():
        number -= 1
    if number < 0:
        return []
    above = [head for head in (heads_in(lines) if heads is None else heads) if head.place <= number]
    enclosing: list[_Head] = []
    limit = None
    if not above or above[-1].place != number:  # a closing bracket has the indentation of its head
        stripped = lines[number].lstrip()
        limit = len(lines[number]) - len(stripped) + (stripped[0] in ")]}")
    for head in reversed(above):
        if limit == 0:
            break
        if limit is None or head.indent < limit:
            enclosing.append(head)
            limit = head.indent
    names: list[str] = []
    around = []
    for head in reversed(enclosing):
        names.append(head.name)
        around.append((".".join(names), head.place))
        if head.kind != "class":
            break
    return around


@dataclass(frozen=True)
class _Head:
    """The head of a definition: its line (counted from 0), its indentation, the name that it defines."""

    place: int
    indent: int
    kind: str
    name: str


def heads_in(lines: Sequence[str]) -> list[_Head]:
    """The heads of definitions among lines, in their order."""
    heads = []
    for place, line in enumerate(lines):
        stripped = line.lstrip()
        if head := _HEAD.match(stripped):
            heads.append(_Head(place, len(line) - len(stripped), head[1], head[2]))
    return heads


_HEAD = re.compile(r"(async[ \t]+def|def|class)[ \t]+(\w+)")


def _occurrences(text: str, words: str) -> Iterator[int]:
    place = text.find(words)
    while place >= 0:
        yield place
        place = text.find(words, place + 1)


def _in_one_module(target: Target) -> bool:
    return {module for module, _ in target.fingerprint_names()} == {target.module}


def _judge_addition(target: Target, text: _Text | None, leaf: _Text | None = None) -> tuple[str, str] | None:
    """The same for a name that a release may lack."""
    if text is None:
        return None
    there = source.has_name(text.text, target.qualname, text)
    if there is False and target.implementation.of_instances:
        there = source.is_set(text.text, target.qualname, text)
    if not there and target.implementation.is_module:
        there = source.is_submodule(text.text, leaf.text if leaf is not None else None)
    elif not there and target.way.neighbour(target):
        there = source.is_exported(text.text, leaf.text if leaf is not None else None, target.qualname, leaf)
    if there is None:
        return None
    return "fixed" if there else "broken", source.digest_of_name(target.qualname, there)


def _judge(fix: Fix, target: Target, definitions: Sequence[source.Found | None]) -> _Judged:
    """Verdict and digest, exactly as `hotfix.versions.verdict.judge` finds them; None is absent."""
    nodes = [definition.node for definition in definitions if definition]
    if len(nodes) < len(definitions):
        return _Judged(None)
    digest = source.digest(*nodes)
    components: tuple[tuple[str, str], ...] = ()
    if len(nodes) > 1:
        names = [qualname.rpartition(".")[2] for _, qualname in target.fingerprint_names()]
        here = [module == target.module for module, _ in target.fingerprint_names()]
        parts = zip(names, map(source.digest, nodes), here, strict=True)
        components = tuple((name, part) for name, part, local in parts if local)
    try:
        return _Judged(("broken" if fix.is_broken(*nodes, target=target) else "fixed", digest), components)
    except Exception as error:
        return _Judged(None, (), (f"its matcher raises {type(error).__name__} ({error})",))


# -- whether a broken target can be repaired ---------------------------------------------------------------------------


def _cannot_be_repaired(target: Target, text: _Text) -> Iterator[str]:
    if target.way.adds_name:
        return
    _, qualname = target.edited_name()
    definition = text.find(qualname)
    if target.way.is_around:
        name = qualname.partition(".")[0]
        if not definition and not re.search(rf"\b{re.escape(name)}\b", text.text):
            yield f"{qualname} is not there to be wrapped"
    elif not definition or isinstance(definition.node, ast.ClassDef):
        yield f"{qualname} is not there as a function"
    elif target.way.edits_source:
        yield from _edit_problems(definition, qualname, [target])
    else:
        yield from _replacement_problems(definition.node, target.implementation, text.text)


def _edit_problems(definition: source.Found | None, qualname: str, targets: Sequence[Target]) -> Iterator[str]:
    """The reasons why `hotfix.patching.code.edited_code` would refuse."""
    assert definition is not None
    tree = source.parse(code.standing_alone(definition, qualname))
    before = code.compiled(tree, qualname)
    try:
        for target in targets:
            tree = code.edited_tree(tree, target)
        after = code.compiled(tree, qualname)
    except Refusal as refusal:
        yield str(refusal)
    except (SyntaxError, ValueError, TypeError, LookupError) as error:
        yield f"the edited source does not compile: {type(error).__name__}: {error}"
    except Exception as error:
        yield f"the edit raises {type(error).__name__} ({error})"
    else:
        if code.frame(before) != code.frame(after):
            yield "the edit changes the arguments of the function or what it closes over"


def _replacement_problems(node: ast.AST, body: Any, text: str) -> Iterator[str]:
    """The reasons why `hotfix.patching.replacement_code` would refuse, as far as the text shows them."""
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    there, here = _shape_in_source(node.args), code.shape(body)
    if there != here:
        yield f"its arguments are ({ast.unparse(node.args)}), those of the replacement {inspect.signature(body)}"
    lacking = [name for name in sorted(code.global_names(body.__code__)) if not _is_known(name, text)]
    if lacking:
        yield f"the replacement uses {', '.join(lacking)}, which the module does not have"


def _shape_in_source(args: ast.arguments) -> list[tuple[str, Any, bool]]:
    kinds = inspect.Parameter
    positional = [*args.posonlyargs, *args.args]
    first_default = len(positional) - len(args.defaults)
    shape: list[tuple[str, Any, bool]] = []
    for number, argument in enumerate(positional):
        kind = kinds.POSITIONAL_ONLY if argument in args.posonlyargs else kinds.POSITIONAL_OR_KEYWORD
        shape.append((argument.arg, kind, number >= first_default))
    if args.vararg:
        shape.append((args.vararg.arg, kinds.VAR_POSITIONAL, False))
    shape += [
        (argument.arg, kinds.KEYWORD_ONLY, default is not None)
        for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        shape.append((args.kwarg.arg, kinds.VAR_KEYWORD, False))
    return shape


def _is_known(name: str, text: str) -> bool:
    import builtins

    return hasattr(builtins, name) or re.search(rf"\b{re.escape(name)}\b", text) is not None


# ----------------------------------------------------------------------------------------------------------------------
# Below: all texts together, back to releases.

_examiner: _Examiner  # inherited by the worker processes, because functions of fixes cannot be sent to them


def _run(examiner: _Examiner, jobs: int) -> Iterator[_Seen]:
    global _examiner
    _examiner = examiner
    # Neighbouring releases share most of their pieces: each worker takes a run of releases, not one after the other.
    runs = _runs_of_wheels(examiner.parcels, jobs)
    # Syntax trees are many small objects without cycles; looking for cycles takes a fifth of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        if jobs == 1:
            yield from map(_examine, runs)
            return
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            yield from pool.imap_unordered(_examine, runs)
    finally:
        if collecting:
            gc.enable()


def _examine(run: Sequence[Path]) -> _Seen:
    seen = _Seen()
    for wheel in run:
        seen.merge(_examiner.examine(wheel))
    return seen


def _runs_of_wheels(parcels: Mapping[Path, Sequence[Content]], jobs: int) -> list[list[Path]]:
    """The wheels in their order, in as many runs as there are workers, each with about as many new texts."""
    runs: list[list[Path]] = [[] for _ in range(jobs)]
    share, done = sum(map(len, parcels.values())) / jobs, 0
    for wheel, contents in parcels.items():
        runs[min(jobs - 1, int(done / share))].append(wheel)
        done += len(contents)
    return [run for run in runs if run]


def _judge_across_modules(fixes: Sequence[Fix], library: Library, contents: wheels.Reader, seen: _Seen) -> None:
    """Targets whose verdict uses definitions of several modules: once for each combination of texts."""

    @lru_cache(maxsize=16)
    def text(number: int) -> _Text:
        return _Text(contents[number])

    # By content, since many targets are judged on the same few large files: each is read and parsed about once.
    combinations: dict[tuple[tuple[int, ...], int, int], Version] = {}
    for number, fix in enumerate(fixes):
        for index, target in enumerate(fix.targets):
            if evidence.has_releases(target) and (target.way.neighbour(target) or not _in_one_module(target)):
                for version in library.releases:
                    if numbers := _content_numbers(target, library.modules[version]):
                        combinations.setdefault((numbers, number, index), version)
    for (numbers, number, index), version in sorted(combinations.items()):
        fix, target = fixes[number], fixes[number].targets[index]
        if target.way.neighbour(target):
            texts = [text(content) if content >= 0 else None for content in numbers]
            if addition := _judge_addition(target, *texts):
                seen.judged[number, index, numbers] = addition
            continue
        judged = zip(numbers, target.fingerprint_names(), strict=True)
        definitions = [text(content).find(qualname) for content, (_, qualname) in judged]
        verdict = _judge(fix, target, definitions)
        for sentence in verdict.sentences:
            seen.problems.add((number, target.key, sentence, numbers[0]))
        state = verdict.state
        if state is None:
            continue
        if verdict.components:
            seen.components[number, state[1]] = verdict.components
        seen.judged[number, index, numbers] = state
        own = library.modules[version].get(target.edited_name()[0])
        if state[0] == "broken" and own is None:
            seen.problems.add((number, target.key, f"there is no module {target.edited_name()[0]}", numbers[0]))
        elif state[0] == "broken" and own is not None:
            for sentence in _cannot_be_repaired(target, text(own)):
                seen.problems.add((number, target.key, sentence, own))


def _content_numbers(target: Target, modules: Mapping[str, int]) -> tuple[int, ...]:
    """The contents in which a target is judged in one release; empty where a module is missing."""
    if target.way.neighbour(target):
        package, leaf = modules.get(target.module), modules.get(target.way.neighbour(target), -1)
        return () if package is None else (package, leaf)
    names = [target.fingerprint_names()[0]] if _in_one_module(target) else target.fingerprint_names()
    numbers = tuple(modules.get(module, -1) for module, _ in names)
    return () if -1 in numbers else numbers


def _states(
    number: int,
    index: int,
    target: Target,
    library: Library,
    releases: Sequence[Version],
    known: Mapping[Version, tuple[str, str]],
    seen: _Seen,
) -> dict[Version, tuple[str, str]]:
    states = {}
    for version in releases:
        if version in library.modules:
            numbers = _content_numbers(target, library.modules[version])
            states[version] = seen.judged.get((number, index, numbers), ("absent", ""))
        else:
            states[version] = known[version]
    if target.way.adds_name:
        # Releases older than a name have not lost it; and if a name is missing twice, a fix may be for one period only.
        # A name that no release has had is missing where the fix says so.
        declared = set(evidence.declared(target, releases))
        never = all(state != "fixed" for state, _ in states.values())
        for lacks, run in groupby(releases, key=lambda version: states[version][0] == "broken"):
            lacking = list(run)
            if lacks and (never or not declared.intersection(lacking)):
                states.update((version, ("absent", "")) for version in lacking if version not in declared)
    return states


def _changed(library: Library) -> set[int]:
    """The contents of modules that differ from the release before: the new ones and the old ones."""
    changed: set[int] = set()
    for older, newer in pairwise(library.releases):
        before, after = set(library.modules[older].items()), set(library.modules[newer].items())
        changed.update(content for _, content in before ^ after)
    return changed


def _contradictions(
    fix: Fix, target: Target, states: Mapping[Version, tuple[str, str]], known: Mapping[Version, tuple[str, str]]
) -> Iterator[str]:
    """The differences between the evidence and the wheels of releases that were read again."""
    for version, state in known.items():
        if states[version] != state:
            said, read = (" ".join(filter(None, words)) for words in (state, states[version]))
            yield f"{fix.id}: {target.key} in {version} is {read}, the evidence says {said}; sweep all releases"


def _compare(
    fix: Fix, target: Target, states: dict[Version, tuple[str, str]], releases: Sequence[Version], findings: Findings
) -> None:
    """Enter the states of a target, and compare them with the releases that the fix declares."""
    known = findings.states[fix.id].setdefault(target.key, states)
    if known != states:
        findings.problems.append(f"{fix.id}: {target.key} stands in the table twice and is judged differently")
    broken = [version for version, (verdict, _) in states.items() if verdict == "broken"]
    claimed = evidence.declared(target, releases)
    if broken == claimed:
        return
    surplus, missing = sorted(set(broken) - set(claimed)), sorted(set(claimed) - set(broken))
    details = []
    if surplus:
        details.append(f"broken and not declared: {', '.join(evidence.runs(surplus, releases))}")
    if missing:
        verdicts = ", ".join(sorted({states[version][0] for version in missing}))
        details.append(f"declared and {verdicts}: {', '.join(evidence.runs(missing, releases))}")
    right = evidence.specifier(broken, releases)
    findings.problems.append(
        f"{fix.id}: {target.key} declares {target.releases!r}; {'; '.join(details)}; right would be {right!r}"
    )


def _same_source_two_verdicts(fix: Fix, findings: Findings) -> None:
    for key, states in findings.states[fix.id].items():
        verdicts: dict[str, set[str]] = defaultdict(set)
        for verdict, digest in states.values():
            verdicts[digest].add(verdict)
        for digest, several in verdicts.items():
            if len(several) > 1:
                findings.problems.append(f"{fix.id}: {key}: the matcher calls {digest} {' and '.join(sorted(several))}")


def _places(library: Library) -> dict[int, list[tuple[Version, str]]]:
    """The places of each content: releases and modules."""
    places: dict[int, list[tuple[Version, str]]] = defaultdict(list)
    for version in library.releases:
        for module, content in library.modules[version].items():
            places[content].append((version, module))
    return places


def _forgotten_copies(
    number: int,
    fix: Fix,
    library: Library,
    contents: wheels.Reader,
    where: Mapping[int, Sequence[tuple[Version, str]]],
    seen: _Seen,
    findings: Findings,
    scanned: Set[int] | None,
) -> None:
    table = {name for target in fix.targets if evidence.has_releases(target) for name in target.fingerprint_names()}
    copies: dict[str, set[Version]] = defaultdict(set)
    places = {(content, qualname) for owner, content, qualname in seen.matching if owner == number}
    places |= _alike(number, fix, contents, seen)
    for content, qualname in places:
        for version, module in where[content]:
            if (module, qualname) not in table:
                copies[f"{module}:{qualname}"].add(version)
    for name, versions in sorted(copies.items()):
        if name not in fix.exempt and not _never_repaired(name, versions, fix, library, contents):
            releases = ", ".join(evidence.runs(versions, library.releases))
            findings.problems.append(
                f"{fix.id}: forgotten copy {name} in {releases} ({evidence.specifier(versions, library.releases)!r})"
            )
    if scanned is None:
        for name in sorted(name for name in fix.exempt if not fnmatch.filter(copies, name)):
            findings.problems.append(f"{fix.id}: spares {name}, which is no copy of the bug")
    _check_prefilters(number, fix, seen, places, scanned)


def _never_repaired(name: str, versions: set[Version], fix: Fix, library: Library, contents: wheels.Reader) -> bool:
    """Whether a pattern spares a copy: upstream has not repaired it as long as it was there."""
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in fix.exempt):
        return False
    module, _, qualname = name.partition(":")
    later = [version for version in library.releases if version > max(versions) and module in library.modules[version]]
    texts = (contents[library.modules[version][module]].decode("utf-8") for version in later[:1])
    return not any(source.find(text, qualname) for text in texts)


def _alike(number: int, fix: Fix, contents: wheels.Reader, seen: _Seen) -> set[tuple[int, str]]:
    """The other modules that have all parts of something that was judged broken as a whole."""
    broken = {
        digest
        for (owner, _, _), (verdict, digest) in seen.judged.items()
        if owner == number and verdict == "broken" and (number, digest) in seen.components
    }
    wholes = {seen.components[number, digest] for digest in broken}
    numbers = set()

    @lru_cache(maxsize=2)
    def functions(content: int) -> list[tuple[str, source.Definition]]:
        return list(source.functions(source.parse(decode_source(contents[content]))))

    for owner, content, qualname, digest in sorted(seen.alike):
        part = (qualname.rpartition(".")[2], digest)
        here = [whole for whole in wholes if part in whole] if owner == number else []
        if not here:
            continue
        names = {name for whole in here for name, _ in whole}
        named = [(q.rpartition(".")[2], node) for q, node in functions(content)]
        there = {(name, source.digest(node)) for name, node in named if name in names}
        if any(set(whole) <= there for whole in here):
            numbers.add((content, qualname))
    return numbers


def _check_prefilters(
    number: int, fix: Fix, seen: _Seen, places: set[tuple[int, str]], scanned: Set[int] | None
) -> None:
    """The scan must find at least the known broken targets, or it would not find a copy of them either."""
    broken: dict[int, set[int]] = defaultdict(set)
    for (owner, index, (content, *_)), (verdict, _) in seen.judged.items():
        if owner == number and verdict == "broken" and (scanned is None or content in scanned):
            broken[index].add(content)
    for index, target in enumerate(fix.targets):
        if not evidence.has_releases(target) or len(target.fingerprint_names()) > 1 or target.way.adds_name:
            continue
        qualname = target.fingerprint_names()[0][1]
        missed = {content for content in broken[index] if (content, qualname) not in places}
        seen.problems.update((number, target.key, _no_prefilter(fix), content) for content in missed)


def _no_prefilter(fix: Fix) -> str:
    texts = ", ".join(fix.prefilters())
    return f"the scan for copies misses it: its prefilter {texts!r} does not stand in the broken source"


def _problems_by_release(fixes: Sequence[Fix], library: Library, seen: _Seen, findings: Findings) -> None:
    where: dict[tuple[int, str, str], set[int]] = defaultdict(set)
    for number, key, sentence, content in seen.problems:
        where[number, key, sentence].add(content)
    for (number, key, sentence), contents in sorted(where.items()):
        versions = [release for release in library.releases if contents & set(library.modules[release].values())]
        name = f" {key}:" if key else ""
        releases = ", ".join(evidence.runs(versions, library.releases))
        findings.problems.append(f"{fixes[number].id}:{name} {sentence}, in {releases}")


# ----------------------------------------------------------------------------------------------------------------------
# Below: the command line.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.sweep", description="Examine every release for every fix.")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="folder of the wheels")
    parser.add_argument("--offline", action="store_true", help="only the wheels that are in the cache")
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only this fix; may be repeated")
    parser.add_argument("--output", type=Path, default=evidence.FOLDER, help="folder of the evidence")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--report-new", action="store_true", help="say which fixes are touched by new releases")
    parser.add_argument("--index", action="store_true", help="rewrite index.json, and nothing else")
    parser.add_argument("--check", action="store_true", help="only compare what is written with the fixes")
    return parser


def _wheels(package: str, options: argparse.Namespace, wanted: Sequence[Version] = ()) -> dict[Version, Path]:
    """The wheels to examine: of the wanted releases if there are any, else of all that are published."""
    paths = wheels.cached(package, options.cache)
    if options.offline:
        return {version: path for version, path in paths.items() if not wanted or version in wanted}
    try:
        published = list(wanted) or wheels.published(package)
        missing = [version for version in published if version not in paths]
        if missing:
            print(f"fetching {len(missing)} releases of {package}", file=sys.stderr)
            wheels.fetch(package, missing, options.cache)
    except wheels.CannotFetch as error:
        print(f"note: {error}; the {len(paths)} releases in the cache are examined", file=sys.stderr)
        return paths
    paths = wheels.cached(package, options.cache)
    withdrawn = sorted(set(paths) - set(published))
    if withdrawn and not wanted:
        print(f"note: no longer on the index and left out: {', '.join(map(str, withdrawn))}", file=sys.stderr)
    return {version: path for version, path in paths.items() if version in published}


def _report_new(
    fixes: Iterable[Fix], findings: Findings, examined: Sequence[Version], previous: Sequence[Version]
) -> None:
    """Report which fixes change in releases that were not examined before."""
    new = [version for version in examined if version not in previous]
    print(f"new releases: {', '.join(map(str, new)) or 'none'}")
    if not report_changes(fixes, findings, new) and new:
        print("no fix changes")


def report_changes(fixes: Iterable[Fix], findings: Findings, new: Sequence[Version]) -> list[str]:
    """Report which targets of which fixes change in new releases; returns the ids of these fixes."""
    touched = []
    for fix in fixes:
        lines = [
            f"  {key} in {version}: {' -> '.join(' '.join(filter(None, state)) for state in (before, after))}"
            for key, version, before, after in changes(findings.states[fix.id], new)
        ]
        if lines:
            touched.append(fix.id)
            print("\n".join([f"{fix.id} changes:", *lines]))
    return touched


def _by_hand(fix: Fix, path: Path) -> Iterator[str]:
    """The errors in evidence that is written by hand: the targets without releases."""
    data = evidence.read(path)
    for target in fix.targets:
        if not evidence.has_releases(target):
            entry = data["targets"].get(target.key, {})
            for sentence in evidence.malformed(entry):
                yield f"{fix.id}: {path.name}: {target.key}: {sentence}"
            if not entry.get("broken"):
                yield f"{fix.id}: {path.name}: {target.key}: no broken source is written down"


def _peak(jobs: int) -> str:
    scale = 1024 if sys.platform != "darwin" else 1024**2
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // scale
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // scale
    return f"at most {own} MB here and {worker} MB in each of {jobs} workers" if jobs > 1 else f"at most {own} MB"


def _verdict(problems: Sequence[str], good: str) -> int:
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems." if problems else good)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
