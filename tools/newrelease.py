"""From "there is a new transformers" to a commit.

    python -m tools.newrelease                  every release that the evidence has not examined
    python -m tools.newrelease --offline        those of them with a wheel in the cache
    python -m tools.newrelease --release R      only this one (may be repeated)
    python -m tools.newrelease --no-cells       runs only the sweep
    python -m tools.newrelease --list           only lists these releases

It handles one release after the other, each compared with the examined release before it. It judges all targets in the
release and looks for copies of the bugs in the changed files. It reports the fixes whose targets have changed, and
writes evidence, pages and a fragment for the changelog, which together are a commit; with `--tables` also the tables of
each release's names and configurations. Of the matrix it runs

- the cells that need a new run: of fixes that are broken there, the neighbours of broken releases, and cells that had
  failed before, perhaps for lack of a correct release;
- one control for every other fix: on a target that is fixed there, or absent, hotfix must not change anything.

A problem (a release that is broken and not declared, a forgotten copy) ends the run before anything of that release is
written, with exit status 1: a person has to decide. It does not look for copies of bugs that take several functions in
unchanged files; `nox -s sweep` examines everything.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from hotfix.fix import Fix
from hotfix.releases import by_release as forms
from hotfix.versions.files import RECORDED

from . import by_release, evidence, matrix, pages, sweep, symbols, wheels
from . import results as files

PACKAGE = "transformers"
FORMS = forms.DATA
NONE: dict[Version, set[str]] = {}
CHANGES = Path(__file__).resolve().parent.parent / "changes"


class Stopped(Exception):
    """Problems for a person to inspect; each argument is a sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        modules = _fixes()
        releases = _new(options)
        print(f"new releases: {', '.join(map(str, releases)) or 'none'}", flush=True)
        if options.list or not releases:
            return 0
        for release in releases:
            touched = examine(modules, release, options.cache, options.offline, options.jobs)
            _write_fragment(modules, release, touched)
        if options.tables:
            write_tables(options.cache, options.offline)
        if not options.no_cells:
            run_cells(modules, releases, options.fix, options.jobs, options.timeout, options.results)
        _write_pages()
    except (Stopped, wheels.CannotFetch) as stop:
        print(*stop.args, sep="\n")
        return 1
    return 0


def examine(
    modules: Mapping[str, Fix], release: Version, cache: Path, offline: bool, jobs: int
) -> dict[str, dict[str, int]]:
    """Sweep one release, and write the evidence.

    Args:
        modules: all fixes, by the module that defines them.
        release: a release that was not examined.
        cache: folder of the wheels.
        offline: whether to download nothing.
        jobs: processes.

    Returns:
        For each fix with changed targets: the number of changes, by new state.

    Raises:
        Stopped: the sweep has found a problem, and nothing was written.
    """
    began, spent = time.perf_counter(), sum(os.times()[:4])
    fixes = list(modules.values())
    index = evidence.read(evidence.FOLDER / "index.json")
    examined = evidence.examined_releases(index, PACKAGE)
    older = [earlier for earlier in examined if earlier < release]
    if not older:
        raise Stopped(f"{release} is older than all releases that were examined; sweep all of them")
    library = wheels.catalogue(PACKAGE, _wheels([older[-1], release], cache, offline))
    findings = sweep.sweep(fixes, library, jobs, sweep.Before(examined, _written(fixes, examined)))
    if findings.problems:
        raise Stopped(*findings.problems, f"{release} is not entered: {len(findings.problems)} problems.")
    print(f"{release}, after {older[-1]}:")
    if not sweep.report_changes(fixes, findings, [release]):
        print("no fix changes")
    touched: dict[str, dict[str, int]] = {}
    for fix in fixes:
        for _, _, _, (verdict, _) in sweep.changes(findings.states[fix.id], [release]):
            counts = touched.setdefault(fix.id, {})
            counts[verdict] = counts.get(verdict, 0) + 1
    examined = sorted([*examined, release])
    for fix in fixes:
        path = evidence.FOLDER / f"{fix.id}.json"
        evidence.write(path, findings.file(fix, evidence.read(path), examined))
    swept = {package: evidence.examined_releases(index, package) for package in wheels.SWEPT} | {PACKAGE: examined}
    evidence.write(evidence.FOLDER / "index.json", evidence.index_of(modules, swept))
    known = evidence.read(evidence.beside(RECORDED)).get(PACKAGE)
    sweep.record_files(PACKAGE, library, modules, known)
    print(
        f"swept in {time.perf_counter() - began:.0f} s, {sum(os.times()[:4]) - spent:.0f} s of processor time",
        flush=True,
    )
    return touched


def write_tables(cache: Path, offline: bool) -> None:
    """Write the tables of each release's names and configurations; each changes as a whole.

    Args:
        cache: folder of the wheels. It takes those of all examined releases.
        offline: whether nothing is fetched.

    Raises:
        Stopped: a wheel is missing.
    """
    began, spent = time.perf_counter(), sum(os.times()[:4])
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"), PACKAGE)
    releases = _wheels(examined, cache, offline)
    symbols.write(symbols.table(releases))
    by_release.write(by_release.build(wheels.catalogue(PACKAGE, releases), PACKAGE), FORMS)
    print(
        f"tables in {time.perf_counter() - began:.0f} s, {sum(os.times()[:4]) - spent:.0f} s of processor time",
        flush=True,
    )


def controls(modules: Mapping[str, Fix], every: Iterable[matrix.Cell], release: Version) -> list[matrix.Cell]:
    """One cell on a release for each fix that has none there in the matrix: a fixed target if there is one.

    Args:
        modules: the fixes with their cases, by the module that defines them.
        every: the cells of the matrix.
        release: the release.
    """
    covered = {cell.fix.id for cell in every if cell.release == release}
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"), PACKAGE)
    chosen = []
    for module, fix in modules.items():
        if fix.proof is None or fix.id in covered:
            continue
        targets = evidence.read(evidence.FOLDER / f"{fix.id}.json")["targets"]
        cells = [
            matrix.Cell(fix, module, target, release, *evidence.by_release(targets[target.key], examined)[release])
            for target in fix.targets
            if evidence.has_releases(target)
        ]
        kept = [cell for cell in cells if cell.verdict != "broken"]
        chosen += sorted(kept, key=lambda cell: cell.verdict != "fixed")[:1]
    return chosen


def together(control: Iterable[matrix.Cell]) -> dict[Version, set[str]]:
    """The fixes that are armed at once, by release: those of the controls that have nothing to repair there.

    A process that has armed one fix and imported a release serves only one control; a process with all fixes serves
    all.
    """
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"), PACKAGE)
    idle: dict[Version, set[str]] = {}
    for cell in control:
        targets = evidence.read(evidence.FOLDER / f"{cell.fix.id}.json")["targets"]
        written = [
            evidence.by_release(targets[target.key], examined)
            for target in cell.fix.targets
            if evidence.has_releases(target)
        ]
        if all(states[cell.release][0] != "broken" for states in written):
            idle.setdefault(cell.release, set()).add(cell.fix.id)
    return idle


def run_cells(
    modules: Mapping[str, Fix],
    releases: Sequence[Version],
    only: Sequence[str],
    jobs: int,
    timeout: float,
    results: Path = files.FOLDER,
) -> None:
    """Run the cells that new releases require, and their controls; the results of the controls are not kept.

    Args:
        modules: the fixes with their cases, by the module that defines them.
        releases: new ones, with evidence.
        only: ids of fixes; empty for all.
        jobs: runs at a time.
        timeout: seconds for each run.
        results: folder of the matrix.

    Raises:
        Stopped: a cell has failed.
    """
    began = time.perf_counter()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    every = matrix.cells(modules, evidence.FOLDER)
    book = matrix.Book(results)
    book.forget(every)
    near = _with_neighbours(releases)
    # A failed cell may have lacked an oracle: the new release may be the first correct one.
    todo = [cell for cell in every if not book.is_done(cell) and (cell.release in near or book.has_failed(cell))]
    control = [cell for release in releases for cell in controls(modules, every, release)]
    if only:
        todo, control = ([cell for cell in cells if cell.fix.id in only] for cells in (todo, control))
    print(f"{len(todo)} cells of the matrix and {len(control)} controls", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        aside = matrix.Book(Path(folder) / "controls.json")
        problems = []
        for kept, cells, armed in ((book, todo, NONE), (aside, control, together(control))):
            matrix.Trials(kept, every, timeout, armed=armed).carry_out(cells, jobs)
            for cell in cells:
                entry = kept.entry(cell)
                if entry is None or entry["result"] not in matrix.GOOD:
                    problems.append(f"{cell}: {entry['reason'] if entry else 'not run'}")
    print(f"run in {time.perf_counter() - began:.0f} s")
    if problems:
        raise Stopped(*problems, f"{len(problems)} problems.")


def fragment(release: Version, touched: Mapping[str, Mapping[str, int]], titles: Mapping[str, str]) -> str:
    """The changelog entry for a new release.

    Args:
        release: the release.
        touched: for each changed fix, the number of its changed targets, by new state.
        titles: of the fixes, by id.
    """
    head = f"transformers {release} is examined"
    if not touched:
        return f"{head}: nothing has changed for any fix.\n"
    lines = []
    for id, counts in sorted(touched.items()):
        said = " and ".join(f"{count} {_SAYS[verdict]}" for verdict, count in sorted(counts.items()))
        lines.append(f"`{id}` ({titles[id]}): {said}")
    if len(lines) == 1:
        return f"{head}. Functions that have changed: {lines[0]}.\n"
    return f"{head}. Functions that have changed:\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


# ----------------------------------------------------------------------------------------------------------------------

_SAYS = {"absent": "gone", "broken": "broken, and repaired", "fixed": "not broken"}


def _fixes() -> dict[str, Fix]:
    problems: list[str] = []
    modules = evidence.discover(problems.append, proofs=True)
    problems += evidence.disagreements(modules, evidence.FOLDER)
    if problems:
        raise Stopped(*problems, "The evidence has to agree with the fixes before a release can be added to it.")
    return modules


def _new(options: argparse.Namespace) -> list[Version]:
    """The releases to examine, oldest first."""
    known = set(evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"), PACKAGE))
    there = list(wheels.cached(PACKAGE, options.cache)) if options.offline else wheels.published(PACKAGE)
    new = [release for release in there if release not in known]
    if options.release:
        lacking = sorted(set(options.release) - set(map(str, new)))
        if lacking:
            raise Stopped(f"not a new release: {', '.join(lacking)}")
        new = [release for release in new if str(release) in options.release]
    if not options.offline and not options.list:
        missing = [release for release in new if release not in wheels.cached(PACKAGE, options.cache)]
        withdrawn = wheels.fetch(PACKAGE, missing, options.cache)
        new = [release for release in new if release not in withdrawn]
    return new


def _wheels(releases: Sequence[Version], cache: Path, offline: bool) -> dict[Version, Path]:
    missing = [release for release in releases if release not in wheels.cached(PACKAGE, cache)]
    if missing and not offline:
        wheels.fetch(PACKAGE, missing, cache)
    paths = wheels.cached(PACKAGE, cache)
    missing = [release for release in releases if release not in paths]
    if missing:
        raise Stopped(f"no wheel of {', '.join(map(str, missing))}")
    return {release: paths[release] for release in releases}


def _written(fixes: Iterable[Fix], examined: Sequence[Version]) -> dict[str, dict[str, dict[Version, tuple[str, str]]]]:
    states: dict[str, dict[str, dict[Version, tuple[str, str]]]] = {}
    for fix in fixes:
        targets = evidence.read(evidence.FOLDER / f"{fix.id}.json")["targets"]
        states[fix.id] = {
            target.key: evidence.by_release(targets[target.key], examined)
            for target in fix.targets
            if evidence.has_releases(target)
        }
    return states


def _with_neighbours(releases: Iterable[Version]) -> set[Version]:
    """Releases, and those that come right before and after them."""
    examined = evidence.examined_releases(evidence.read(evidence.FOLDER / "index.json"), PACKAGE)
    places = [examined.index(release) for release in releases]
    return {release for place in places for release in examined[max(0, place - 1) : place + 2]}


def _write_fragment(modules: Mapping[str, Fix], release: Version, touched: Mapping[str, Mapping[str, int]]) -> None:
    titles = {fix.id: fix.title for fix in modules.values()}
    path = CHANGES / f"{PACKAGE}-{release}.changed.md"
    path.write_text(fragment(release, touched, titles), encoding="utf-8")
    print(f"written: changes/{path.name}")


def _write_pages() -> None:
    if pages.main([]):
        raise Stopped("The pages cannot be written.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.newrelease", description="Examine new releases.")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="folder of the wheels")
    parser.add_argument("--offline", action="store_true", help="only the wheels that are in the cache")
    parser.add_argument("--release", action="append", default=[], help="only this release; may be repeated")
    parser.add_argument("--no-cells", action="store_true", help="run no cell of the matrix")
    parser.add_argument("--tables", action="store_true", help="write the tables of names and configurations, too")
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only the cells of this fix")
    parser.add_argument("--list", action="store_true", help="only say which releases are new")
    parser.add_argument("--jobs", type=int, default=2, help="processes, and runs at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each run")
    parser.add_argument("--results", type=Path, default=files.FOLDER, help="folder of the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
