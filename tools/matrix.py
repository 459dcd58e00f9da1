"""The dynamic matrix: the case of every fix, run on the CPU testbed on every release that the fix repairs.

    python -m tools.matrix                          all cells without a result; may be interrupted and resumed
    python -m tools.matrix --fix ID --release R     part of it (both may be repeated)
    python -m tools.matrix --slice                  for every fix the first and last broken release and the next one
    python -m tools.matrix --alive                  one broken release of every fix, run anew; writes no results
    python -m tools.matrix --shard 2/8              the second of eight parts, which are the same on every machine
    python -m tools.matrix --list                   lists the cells that would run
    python -m tools.matrix --carry-over             runs nothing: see below

On a release where a target is broken, the case is run without hotfix, where it must fail, and with it, where it must
equal the oracle: the same case, weights and inputs in the next release that is not broken, in which it runs and returns
tensors of the same names; if there is no such later release, the last such earlier one. On the neighbours, the releases
next to a broken one, hotfix must not have changed anything in the package. Only the one fix is armed, and on broken
releases those that its case names for other bugs (`CaseSpec.with_fixes`). Every run is a fork of a process that has
armed hotfix, or not, and then imported the common part of the release's models (`tools.testbed.servers`).

The results are in docs/data/matrix, a file for each fix (`tools.results`). A cell whose result belongs to another text
of the fix is run again. The tests run these cells as well, all of them, and a sample of the others, which differs for
every commit. A result does not depend on the text of the engine: after a change of it, `--alive` shows that every fix
still repairs.

`--carry-over` stores the current text of the fixes with results that were good with another text. Use it only after a
change for which it was shown by other means that the repaired syntax trees and the case are the same: afterwards these
results cannot be distinguished from those that were run.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import math
import os
import platform
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from packaging.version import Version

import hotfix
from hotfix import session
from hotfix.fix import Addition, Fix, Target
from hotfix.proofs import load as load_proof
from hotfix.proofs.compare import difference
from hotfix.reports.digest import code_digest, cure_digest, patch_set_digest

from . import evidence, results

if TYPE_CHECKING:
    from tools.testbed.run import Result

PROBE = "tools.probes:untouched"
GOOD = ("repaired", "untouched")
PACKAGES: dict[str, str | None] = {"flash-attn": "2.7.4.post1"}
RELEASES_DRAWN = 3  # for a sample
ORACLES_TRIED = 5  # later ones, and as many earlier ones

Runner = Callable[..., "list[Result]"]


@dataclass(frozen=True)
class Cell:
    """One target in one release.

    Attributes:
        fix: the fix.
        module: the module that defines it.
        target: the target.
        release: of transformers.
        verdict: its verdict in the evidence: broken, or fixed or absent on a neighbour.
        digest: of the source that was judged.
    """

    fix: Fix
    module: str
    target: Target
    release: Version
    verdict: str
    digest: str

    @property
    def path(self) -> tuple[str, str, str]:
        """The key of the result."""
        return self.fix.id, self.target.key, str(self.release)

    def __str__(self) -> str:
        return f"{self.fix.id} {self.target.module.rpartition('.')[2]}:{self.target.qualname} {self.release}"


def opted_in(ids: str) -> str:
    """Those of some fixes that have opt-in parts: fixes that are off by default, and the groups.

    Names that are restored for code that would crash are proven as restored for all code, including parts that change a
    running program; tests/engine/restored and tests/working/names test that by default only such code gets them.
    """
    entries = session.current().catalogue.entries
    return ",".join(id for id in ids.split(",") if id not in entries or entries[id].optin or entries[id].group)


def cells(modules: Mapping[str, Fix], folder: Path = evidence.FOLDER) -> list[Cell]:
    """Every cell of the matrix, from the evidence.

    A missing name is the same in all releases that lack it: the first and the last of each run have a cell.

    Args:
        modules: the fixes, by the module that defines them; those without a case have no cells.
        folder: of the evidence.
    """
    examined = evidence.examined_releases(evidence.read(folder / "index.json"))
    cells = []
    for module, fix in modules.items():
        if fix.proof is None:
            continue
        data = evidence.read(folder / f"{fix.id}.json")
        own = []
        lacking: set[Version] = set()  # releases that lack some name of the fix: hotfix changes them
        for target in filter(evidence.has_releases, fix.targets):
            states = evidence.by_release(data.get("targets", {}).get(target.key, {}), examined)
            broken = [release in states and states[release][0] == "broken" for release in examined]
            if target.way.adds_name:
                lacking.update(release for release, is_broken in zip(examined, broken, strict=True) if is_broken)
            for number, release in enumerate(examined):
                inside = target.way.adds_name and all(broken[max(0, number - 1) : number + 2])
                if any(broken[max(0, number - 1) : number + 2]) and not (inside and 0 < number < len(examined) - 1):
                    own.append(Cell(fix, module, target, release, *states[release]))
        elsewhere = {(cell.target.module, cell.release) for cell in own if cell.verdict == "broken"}
        # A bug may move from one function of a module to another; a release in between is a neighbour of neither.
        cells += [
            cell
            for cell in own
            if cell.verdict == "broken" or not (elsewhere & _places(cell) or cell.release in lacking)
        ]
    return cells


@functools.cache
def every_cell() -> list[Cell]:
    """The cells of all fixes of this checkout. The sweep reports a module that cannot be imported."""
    return cells(evidence.discover(lambda problem: None, proofs=True))


def _places(cell: Cell) -> set[tuple[str, Version]]:
    """The place where a cell would see a repair: an exported name works like the module's."""
    modules = {cell.target.module}
    if isinstance(cell.target.implementation, Addition):
        modules.add(cell.target.implementation.leaf)
    return {(module, cell.release) for module in modules}


def slice_of(every: Sequence[Cell]) -> list[Cell]:
    """For every fix the first and the last broken release, and the one after it."""
    chosen: dict[tuple[str, str, str], Cell] = {}
    by_fix: dict[str, list[Cell]] = {}
    for cell in every:
        by_fix.setdefault(cell.fix.id, []).append(cell)
    for own in by_fix.values():
        broken = [cell for cell in own if cell.verdict == "broken"]
        picked = [min(broken, key=lambda cell: cell.release)] if broken else []
        last = max((cell.release for cell in broken), default=None)
        target = next((cell.target for cell in broken if cell.release == last), None)
        if last is not None:
            same = [cell for cell in own if cell.target is target]
            picked += [cell for cell in same if cell.release == last]
            picked += sorted((cell for cell in same if cell.release > last), key=lambda cell: cell.release)[:1]
        chosen.update({cell.path: cell for cell in picked})
    return list(chosen.values())


def alive_of(every: Iterable[Cell]) -> list[Cell]:
    """One broken cell of every fix, from few releases: a release costs more to prepare than a cell."""
    left: dict[str, list[Cell]] = {}
    for cell in every:
        if cell.verdict == "broken":
            left.setdefault(cell.fix.id, []).append(cell)
    chosen: list[Cell] = []
    while left:
        fixes = Counter(release for own in left.values() for release in {cell.release for cell in own})
        best = max(fixes, key=lambda release: (fixes[release], release))
        here = [next((cell for cell in own if cell.release == best), None) for own in left.values()]
        chosen += filter(None, here)
        left = {id: own for (id, own), cell in zip(left.items(), here, strict=True) if cell is None}
    return chosen


def sample_of(every: Iterable[Cell], size: int, seed: str) -> list[Cell]:
    """Some cells, sampled by a seed, from `RELEASES_DRAWN` releases: a release costs more to prepare than a cell.

    Args:
        every: the cells to sample from.
        size: how many.
        seed: each seed gives another sample; over time all cells are covered.
    """
    by_release: dict[Version, list[Cell]] = {}
    for cell in sorted(every, key=lambda cell: _drawn(seed, *cell.path)):
        by_release.setdefault(cell.release, []).append(cell)
    share = -(-size // max(1, min(RELEASES_DRAWN, len(by_release))))
    chosen: list[Cell] = []
    for release in sorted(by_release, key=lambda release: _drawn(seed, str(release))):
        chosen += by_release[release][: min(share, size - len(chosen))]
    return chosen


def shard_of(every: Iterable[Cell], shard: str) -> list[Cell]:
    """One part of the cells.

    Args:
        every: the cells.
        shard: "2/8" for the second of eight parts. The part of a cell depends only on its path.
    """
    number, count = parse_shard(shard)
    return [cell for cell in every if _drawn(*cell.path) % count == number - 1]


def parse_shard(shard: str) -> tuple[int, int]:
    """The number and the count of "2/8".

    Raises:
        ValueError: it has another form.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    number, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= count:
        raise ValueError(f"{shard!r} is not a part such as 2/8")
    return number, count


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    problems: list[str] = []
    modules = evidence.discover(problems.append, proofs=True)
    every = cells(modules)
    chosen = slice_of(every) if options.slice else every
    chosen = [cell for cell in chosen if not options.fix or cell.fix.id in options.fix]
    chosen = alive_of(chosen) if options.alive else chosen
    chosen = [cell for cell in chosen if not options.release or str(cell.release) in options.release]
    chosen = [cell for cell in chosen if not options.target or options.target in cell.target.key]
    chosen = shard_of(chosen, options.shard) if options.shard else chosen
    with tempfile.TemporaryDirectory() as thrown_away:
        book = Book(Path(thrown_away) if options.alive else options.results)
        return _work(options, book, every, chosen, problems)


def _work(options: argparse.Namespace, book: Book, every: list[Cell], chosen: list[Cell], problems: list[str]) -> int:
    """What the command line asks for, with the cells that it chose; returns the exit status."""
    if options.carry_over:
        print(f"{book.carry_over(chosen)} results carried over to today's text of the fixes")
        return 0
    if options.stale:
        first = {id(cell) for cell in slice_of(every)}
        chosen = [cell for cell in chosen if book.entry(cell) or id(cell) in first]
    todo = [cell for cell in chosen if options.fresh or not book.is_done(cell)]
    print(f"{len(chosen)} cells, {len(chosen) - len(todo)} of them done")
    if options.list:
        for cell in todo:
            print(f"{cell} ({cell.verdict})")
        return 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core for each run
    book.forget(every)
    Trials(book, every, options.timeout).carry_out(todo, options.jobs)
    for cell in chosen:
        entry = book.entry(cell)
        if entry is None or entry["result"] not in GOOD:
            problems.append(f"{cell}: {entry['reason'] if entry else 'not run'}")
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems." if problems else f"{len(chosen)} cells are good.")
    return 1 if problems else 0


# ----------------------------------------------------------------------------------------------------------------------
# Below: the results.


class Book:
    """The results. Those of a fix are written after each of its cells: an interruption loses only the running cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._data = results.read(folder)

    def entry(self, cell: Cell) -> dict[str, Any] | None:
        """The result of a cell, or None."""
        fix, key, release = cell.path
        entry: dict[str, Any] | None = self._data["fixes"].get(fix, {}).get(key, {}).get(release)
        return entry

    def is_done(self, cell: Cell) -> bool:
        """Whether there is a good result of this fix, as it is now, for this source."""
        entry = self.entry(cell)
        now = (_digest_of(cell.module), cell.digest)
        return entry is not None and entry["result"] in GOOD and (entry["fix"], entry["source"]) == now

    def has_failed(self, cell: Cell) -> bool:
        """Whether it was run, and its result was not good."""
        entry = self.entry(cell)
        return entry is not None and entry["result"] not in GOOD

    def carry_over(self, cells: Iterable[Cell]) -> int:
        """Accept good results for the current text of the fixes; returns how many belonged to another text.

        Only after the repaired syntax trees were shown to be the same.
        """
        carried = 0
        changed: set[str] = set()
        with self._lock:
            for cell in cells:
                entry, today = self.entry(cell), _digest_of(cell.module)
                if entry and entry["result"] in GOOD and entry["source"] == cell.digest and entry["fix"] != today:
                    entry["fix"] = today
                    carried += 1
                    changed.add(cell.fix.id)
            if changed:
                self._save(changed)
        return carried

    def enter(self, cell: Cell, entry: dict[str, Any]) -> None:
        """Write a result."""
        with self._lock:
            versions = entry.pop("versions", {})
            common = {name: version for name, version in versions.items() if name in _COMMON}
            self._data["versions"].update({**common, "hotfix": hotfix.__version__, "platform": platform.machine()})
            entry["with"] = {
                name: version for name, version in versions.items() if name not in (*_COMMON, "transformers")
            }
            fix, key, release = cell.path
            self._data["fixes"].setdefault(fix, {}).setdefault(key, {})[release] = entry
            self._save({fix})

    def forget(self, every: Iterable[Cell]) -> None:
        """Drop results of cells that no longer exist."""
        paths = {cell.path for cell in every}
        dropped: set[str] = set()
        with self._lock:
            for fix, targets in list(self._data["fixes"].items()):
                for key, releases in list(targets.items()):
                    for release in [release for release in releases if (fix, key, release) not in paths]:
                        del releases[release]
                        dropped.add(fix)
                    if not releases:
                        del targets[key]
                if not targets:
                    del self._data["fixes"][fix]
            if dropped:
                self._save(dropped)

    def _save(self, fixes: Collection[str]) -> None:
        """Write the changed results: those of these fixes."""
        results.write(self._data, self.folder, fixes)


_COMMON = ("python", "torch", "triton")


def _drawn(*words: str) -> int:
    return int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest()[:8], "big")


@functools.cache
def _digest_of(module: str) -> str:
    """Digest of the repair of a fix and of its case, with the code that they share with their neighbours.

    Args:
        module: that defines the fix.
    """
    fix = import_module(module).FIX
    case = load_proof(module, fix)
    assert case is not None
    return patch_set_digest([cure_digest(fix), code_digest(case.__module__, proof=True)])


# ----------------------------------------------------------------------------------------------------------------------
# Below: the runs.


class Failed(Exception):
    """A cell is not as it must be; the message says why."""


class Trials:
    """Runs cells, and keeps the results of the oracles.

    Args:
        book: for the results.
        every: all cells, from which the oracles are chosen.
        timeout: seconds for each run.
        run: the function that runs a case; `tools.testbed.run.run_many` if None.
        armed: by release, ids of fixes that are armed with each fix; for cells in which none of them changes anything.
            All these cells of a release are then forks of one process.
    """

    def __init__(
        self,
        book: Book,
        every: Iterable[Cell],
        timeout: float,
        run: Runner | None = None,
        armed: Mapping[Version, Collection[str]] = MappingProxyType({}),
    ) -> None:
        from tools.testbed import run as testbed  # imports torch, which --list needs not

        self.book, self.timeout, self._run = book, timeout, run or testbed.run_many
        self._with_each = armed
        self.examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"))
        self.broken: dict[tuple[str, str], set[Version]] = {}
        for cell in every:
            if cell.verdict == "broken":
                # Not every broken release has a cell.
                releases = _broken_releases(cell.fix, cell.target, self.examined) or {cell.release}
                self.broken.setdefault((cell.fix.id, cell.target.module), set()).update(releases)
        self._upstream: dict[tuple[str, str, Version], Result] = {}
        self._armed: dict[tuple[str, str, Version], Result] = {}
        self._probes: dict[tuple[str, str, str], Result] = {}
        self._locks: dict[tuple[str, str, Version], threading.Lock] = {}
        self._lock = threading.Lock()

    def carry_out(self, todo: Sequence[Cell], jobs: int) -> None:
        """Run cells, as many releases at a time as there are jobs, and report the result of each."""
        began, finished = time.monotonic(), 0
        groups: dict[tuple[str, Version], list[Cell]] = {}
        for cell in todo:
            groups.setdefault((cell.fix.id, cell.release), []).append(cell)
        with ThreadPoolExecutor(jobs) as pool:
            try:
                list(pool.map(self._load_oracles, self._first_oracles(todo)))
                by_release = sorted(groups.items(), key=lambda item: (item[0][1], item[0][0]))  # each is prepared once
                running = [pool.submit(self._try_release, group) for _, group in by_release]
                for done in as_completed(running):
                    for cell, entry in done.result():
                        finished += 1
                        gone = time.monotonic() - began
                        left = gone / finished * (len(todo) - finished)
                        print(
                            f"[{finished}/{len(todo)} {gone / 60:.0f} min, {left / 60:.0f} to go] {cell}: "
                            f"{entry['result']}{_told(entry)}",
                            flush=True,
                        )
            except KeyboardInterrupt:
                print("interrupted; what is running is finished, the rest is for the next time", file=sys.stderr)
                pool.shutdown(cancel_futures=True)
                raise SystemExit(130) from None

    def _first_oracles(self, todo: Sequence[Cell]) -> list[list[Cell]]:
        """The cells of one fix whose oracle is, at the first try, one release: they are run in it together."""
        groups: dict[tuple[str, Version], dict[str, Cell]] = {}
        for cell in todo:
            if cell.verdict == "broken" and (candidates := self._candidates(cell)):
                groups.setdefault((cell.fix.id, candidates[0]), {})[cell.target.key] = cell
        by_release = sorted(groups.items(), key=lambda item: (item[0][1], item[0][0]))
        return [[replace(cell, release=release) for cell in group.values()] for (_, release), group in by_release]

    def _load_oracles(self, cells: Sequence[Cell]) -> None:
        self._run_together(cells, armed=False)

    def _try_release(self, cells: Sequence[Cell]) -> list[tuple[Cell, dict[str, Any]]]:
        """Run the cells of one fix in one release."""
        neighbours = [cell for cell in cells if cell.verdict != "broken"]
        if len(neighbours) > 1:
            probes = self._bed(PROBE, neighbours, armed=True)
            self._probes.update({cell.path: probe for cell, probe in zip(neighbours, probes, strict=True)})
        for verdict in "broken", "fixed":
            together = [cell for cell in cells if cell.verdict == verdict]
            if len(together) > 1:
                self._run_together(together, armed=False)
                self._run_together(together, armed=True)
        return [(cell, self.try_cell(cell)) for cell in cells]

    def _run_together(self, cells: Sequence[Cell], armed: bool) -> None:
        """Run the case on several targets of one release, for `_case` to find the results."""
        held = self._armed if armed else self._upstream
        wanted = [cell for cell in cells if (cell.fix.id, cell.target.key, cell.release) not in held]
        by_case: dict[str, list[Cell]] = {}
        for cell in wanted:
            by_case.setdefault(_name_of_case(cell), []).append(cell)
        for case, group in by_case.items():
            results = self._bed(case, group, armed)
            for cell, result in zip(group, results, strict=True):
                held[cell.fix.id, cell.target.key, cell.release] = result

    def try_cell(self, cell: Cell) -> dict[str, Any]:
        """Run one cell and enter the result."""
        began = time.monotonic()
        entry: dict[str, Any] = {"result": "", "fix": _digest_of(cell.module), "source": cell.digest}
        try:
            if cell.verdict == "broken":
                self._repaired(cell, entry)
            else:
                self._neighbour(cell, entry)
        except Failed as failure:
            entry.update(result="failed", reason=str(failure))
        entry["seconds"] = round(time.monotonic() - began, 1)
        self.book.enter(cell, entry)
        return entry

    def _repaired(self, cell: Cell, entry: dict[str, Any]) -> None:
        trial = cell.fix.case_spec
        before = self._case(cell, cell.release, armed=False)
        entry["versions"] = before.versions
        if before.error:
            entry["before"] = f"{before.error[0]}: {_first_line(before.error[1])}"
            if not re.search(trial.raises, f"{before.error[0]}: {before.error[1]}"):
                raise Failed(f"without hotfix it raises {entry['before']}, not {trial.raises!r}")
        elif trial.raises:
            raise Failed(f"without hotfix it does not raise {trial.raises!r}")
        after = self._case(cell, cell.release, armed=True)
        self._said(cell, after, "broken", "applied")
        if after.error:
            raise Failed(f"with hotfix it raises {after.error[0]}: {_first_line(after.error[1])}")
        oracle = self._oracle(cell, after)
        if oracle is None:
            entry["oracle"] = ""
            if not before.error and not difference(before.tensors, after.tensors, trial.tolerance).over:
                raise Failed("hotfix makes no difference, and there is no oracle to tell which is right")
        else:
            release, right = oracle
            entry["oracle"] = str(release)
            self._equals(after, right, cell, entry)
            if not before.error and not difference(before.tensors, right.tensors, trial.tolerance).over:
                raise Failed(f"without hotfix it raises nothing and gives what {release} gives")
        entry["result"] = "repaired"

    def _neighbour(self, cell: Cell, entry: dict[str, Any]) -> None:
        probe = self._probes.pop(cell.path, None) or self._bed(PROBE, [cell], armed=True)[0]
        entry["versions"] = probe.versions
        if probe.error:
            raise Failed(f"the probe raises {probe.error[0]}: {_first_line(probe.error[1])}")
        self._said(cell, probe, cell.verdict, "skipped")
        counts = {name: int(count) for name, count in probe.tensors.items()}
        # A bug may move to a module that the target's module imports: repairs there are allowed.
        rows = (probe.report or {})["outcomes"]
        applied = [row["target"].partition(":")[0] for row in rows if row["state"] == "applied"]
        elsewhere = sum(module != cell.target.module for module in applied)
        counts["operations"] -= elsewhere
        counts["ours"] = max(0, counts["ours"] - elsewhere)  # one around each method that was wrapped
        if counts["changed"] or counts["ours"] or counts["operations"]:
            raise Failed(f"something was touched: {counts}")
        if cell.verdict == "fixed":
            # A package that only exports has no functions; whether it has the name, the case shows.
            if not counts["functions"] and not cell.target.way.adds_name:
                raise Failed(f"{cell.target.module} cannot be imported")
            armed, pure = self._case(cell, cell.release, armed=True), self._case(cell, cell.release, armed=False)
            if armed.error or pure.error:
                # Upstream may have fixed this bug and have another that the case triggers.
                entry["before"] = f"{(pure.error or ('no error',))[0]}"
                if _raised(armed.error) != _raised(pure.error):
                    raise Failed(f"hotfix makes a difference: {armed.error} and {pure.error}")
            else:
                if made := difference(armed.tensors, pure.tensors):
                    raise Failed(f"hotfix makes a difference of {made.relative:.2e} in {made.name}")
                entry["difference"] = 0.0
        entry["result"] = "untouched"

    def _equals(self, after: Result, right: Result, cell: Cell, entry: dict[str, Any]) -> None:
        differing = difference(after.tensors, right.tensors, cell.fix.case_spec.tolerance)
        if math.isfinite(differing.relative):  # JSON has no infinity
            entry.update(difference=differing.relative, of=differing.name)
        if differing.over:
            raise Failed(f"it differs from {entry['oracle']} by {differing.relative:.2e} in {differing.name}")

    def _oracle(self, cell: Cell, after: Result) -> tuple[Version, Result] | None:
        if not after.tensors:
            raise Failed("the case gives nothing")
        named = cell.fix.case_spec.oracles
        chosen = named.get(cell.target.key, named.get("*"))
        if chosen == "":
            return None
        tried = []
        for release in [Version(chosen)] if chosen else self._candidates(cell):
            result = self._case(cell, release, armed=False)
            if result.error:
                tried.append(f"{release} raises {result.error[0]}: {_first_line(result.error[1])[:60]}")
            elif different := sorted(set(after.tensors) ^ set(result.tensors)):
                tried.append(f"{release} differs in having {different[0]}")
            else:
                return release, result
        raise Failed(f"no oracle: {'; '.join(tried) or 'it is broken in every release'}")

    def _candidates(self, cell: Cell) -> list[Version]:
        good = [release for release in self.examined if release not in self.broken[cell.fix.id, cell.target.module]]
        later = [release for release in good if release > cell.release]
        earlier = [release for release in reversed(good) if release < cell.release]
        return later[:ORACLES_TRIED] + earlier[:ORACLES_TRIED]

    def _case(self, cell: Cell, release: Version, armed: bool) -> Result:
        case = _name_of_case(cell)
        if armed:
            key = (cell.fix.id, cell.target.key, release)
            result = self._armed.pop(key, None)
            return result or self._bed(case, [replace(cell, release=release)], armed)[0]
        # Upstream alone: the before of one cell and the oracle of others.
        key = (cell.fix.id, cell.target.key, release)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._upstream:
                self._upstream[key] = self._bed(case, [replace(cell, release=release)], armed)[0]
            return self._upstream[key]

    def _bed(self, case: str, cells: Sequence[Cell], armed: bool) -> list[Result]:
        """Run a case on the targets of cells that share fix and release."""
        fix, release = cells[0].fix, cells[0].release
        others = fix.case_spec.with_fixes if release in self.broken.get((fix.id, cells[0].target.module), ()) else ()
        own = (fix.id, *others) if armed else others
        each = self._with_each.get(release) if armed else None
        ids = ",".join(sorted({*own, *each}) if each else own)
        packages = {**PACKAGES, **fix.case_spec.packages}
        flash_attn, xformers = packages.pop("flash-attn", None), packages.pop("xformers", None)
        extras = [
            f"{name}=={version}" if version else name for name, version in packages.items() if version is not None
        ]
        return self._run(
            case,
            [cell.target for cell in cells],
            transformers=str(release),
            flash_attn=flash_attn,
            xformers=xformers,
            extras=extras,
            hotfix=bool(ids),
            env={"HOTFIX_ONLY": ids, "HOTFIX_OPTIN": opted_in(ids)} if ids else {},
            timeout=self.timeout * len(cells),
        )

    def _said(self, cell: Cell, result: Result, verdict: str, state: str) -> None:
        rows = (result.report or {}).get("outcomes", [])
        said = [(row["verdict"], row["state"]) for row in rows if (row["fix"], row["target"]) == _name(cell)]
        if said != [(verdict, state)]:
            error = f"; it raises {result.error[0]}: {_first_line(result.error[1])}" if result.error else ""
            unknown = "nothing, as of a fix that is not in index.json (`python -m tools.sweep --fix ID` enters it)"
            raise Failed(f"hotfix reports {said or unknown}, not {verdict} and {state}{error}")


def _name(cell: Cell) -> tuple[str, str]:
    return cell.fix.id, str(cell.target)


@functools.cache
def _written(id: str) -> dict[str, Any]:
    targets: dict[str, Any] = evidence.read(evidence.FOLDER / f"{id}.json").get("targets", {})
    return targets


def _broken_releases(fix: Fix, target: Target, examined: Sequence[Version]) -> set[Version]:
    states = evidence.by_release(_written(fix.id).get(target.key, {}), examined)
    return {release for release, (verdict, _) in states.items() if verdict == "broken"}


def _name_of_case(cell: Cell) -> str:
    case = cell.fix.proof
    assert case is not None
    return f"{case.__module__}:{case.__qualname__}"


def _raised(error: tuple[str, str, str] | None) -> tuple[str, str]:
    """The error; if several processes raise the same one, the first of them varies from run to run."""
    kind, message, *_ = error or ("", "")
    if kind == "ProcessRaisedException":
        return kind, (message.strip().splitlines() or [""])[-1]
    return kind, message


def _first_line(message: str) -> str:
    line = (message.strip().splitlines() or [""])[0]
    return re.sub(r" \((?:/|[A-Z]:)[^)]*\)", "", line)[:200]  # an ImportError contains a path on this machine


def _told(entry: Mapping[str, Any]) -> str:
    if "reason" in entry:
        return f" ({entry['reason']})"
    if entry.get("oracle"):
        return f", {entry['difference']:.1e} from {entry['oracle']}, {entry['seconds']} s"
    return f", {entry['seconds']} s"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description="Run the cases on the CPU testbed.")
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only this fix; may be repeated")
    parser.add_argument("--release", action="append", default=[], help="only this release; may be repeated")
    parser.add_argument("--target", default="", help="only targets whose name contains this")
    parser.add_argument("--slice", action="store_true", help="first and last broken release, and the one after it")
    parser.add_argument(
        "--alive", action="store_true", help="one broken release of every fix, run anew; writes no results"
    )
    parser.add_argument(
        "--stale", action="store_true", help="the slice, and entries of an earlier text: what the tests would run"
    )
    parser.add_argument("--shard", default="", metavar="I/N", help="only the I-th of N parts")
    parser.add_argument(
        "--carry-over",
        action="store_true",
        help="run nothing; take the good results for today's text of the fixes. Only after the repaired syntax trees "
        "were shown to be the same",
    )
    parser.add_argument("--fresh", action="store_true", help="run what is done already, too")
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each run")
    parser.add_argument("--results", type=Path, default=results.FOLDER, help="folder of the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
