"""A rehearsal of `tools.newrelease`: this checkout as it was before some releases, and these one after the other.

    python -m tools.rehearsal --after 5.17.0                everything: sweep, cells, tables
    python -m tools.rehearsal --after 5.17.0 --no-cells     without the matrix
    python -m tools.rehearsal --after 5.22.2 --folder DIR   in this folder, which is kept

The checkout is copied. In the copy, evidence and matrix end at the named release, and the tables of names and
configurations are removed. Then `tools.newrelease` runs there for every later release whose wheel is in the cache, each
time with a cache that ends there; the last run writes the tables. The result is compared with the checkout: evidence
and tables byte by byte; of the matrix the cells, the repairs, the verdicts, and the text of the fix, because seconds
always differ. The checkout is not changed. The exit status is 1 if anything differs.

For each release it reports the time, in seconds of the clock and of the processor, and the cells that ran.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from hotfix.releases import by_release, symbols

from . import evidence, matrix, results, sweep, wheels

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "transformers"
TABLES = (symbols.FILE, by_release.DATA)
SAID = re.compile(r"\d+ cells of the matrix and \d+ controls|swept in .*|tables in .*|run in .*")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as passing:
        folder = options.folder or Path(passing)
        return _rehearse(folder, options)


def cut(root: Path, after: Version) -> list[Version]:
    """Truncate evidence and matrix of a copy of the checkout at a release; remove tables, which are written as a whole.

    Args:
        root: of the copy.
        after: the last release that stays.

    Returns:
        The removed releases.

    Raises:
        ValueError: it was not examined.
    """
    folder = root / evidence.FOLDER.relative_to(ROOT)
    index = evidence.read(folder / "index.json")
    whole = evidence.examined_releases(index, PACKAGE)
    if after not in whole:
        raise ValueError(f"{after} was not examined")
    kept = whole[: whole.index(after) + 1]
    modules = evidence.discover(_raise, proofs=True)
    for fix in modules.values():
        path = folder / f"{fix.id}.json"
        written = evidence.read(path)
        states = {
            target.key: dict(list(evidence.by_release(written["targets"][target.key], whole).items())[: len(kept)])
            for target in fix.targets
            if evidence.has_releases(target)
        }
        evidence.write(path, sweep.Findings({fix.id: states}).file(fix, written, kept))
    for table in TABLES:
        (root / table.relative_to(ROOT)).unlink()
    index["examined"][PACKAGE] = [str(version) for version in kept]
    evidence.write(folder / "index.json", index)
    matrix.Book(root / results.FOLDER.relative_to(ROOT)).forget(matrix.cells(modules, folder))
    return whole[len(kept) :]


def differences(here: Path, there: Path, cells: bool = True) -> Iterator[str]:
    """The differences of a copy from the checkout, a sentence each.

    Args:
        here: root of the checkout.
        there: root of the copy.
        cells: whether the matrices are compared.
    """
    folder = evidence.FOLDER.relative_to(ROOT)
    files = {path.name for root in (here, there) for path in (root / folder).glob("*.json")}
    for path in [*(folder / name for name in sorted(files)), *(table.relative_to(ROOT) for table in TABLES)]:
        contents = [(root / path).read_bytes() if (root / path).is_file() else None for root in (here, there)]
        if contents[0] != contents[1]:
            yield f"{path} is another one"
    if cells:
        fixes = [results.read(root / results.FOLDER.relative_to(ROOT))["fixes"] for root in (here, there)]
        yield from _other_cells(*map(_verdicts, fixes))


# ----------------------------------------------------------------------------------------------------------------------
# Below: the run, and the comparison of two matrices.


def _rehearse(folder: Path, options: argparse.Namespace) -> int:
    root, cache = folder / "checkout", folder / "wheels"
    if root.exists():
        print(f"{root} is there already")
        return 1
    _copy(ROOT, root)
    cache.mkdir(parents=True)
    after = Version(options.after)
    gone = cut(root, after)
    held = wheels.cached(PACKAGE, options.cache)
    for release, wheel in held.items():
        if release <= after:
            _link(wheel, cache)
    problems = []
    for release in gone:
        if release not in held:
            problems.append(f"{release} was not rehearsed: its wheel is not in the cache")
            continue
        _link(held[release], cache)
        words = ["--no-cells"] if options.no_cells else []
        words += ["--tables"] if release == gone[-1] else []  # the last ones cover all releases
        status, seconds, processor, said = _one(root, cache, release, [*words, f"--jobs={options.jobs}"])
        print(f"{release}: {seconds:.0f} s, {processor:.0f} s of processor time; {'; '.join(said)}", flush=True)
        if status:
            print(f"{release}: exit status {status}; see {folder / f'{release}.log'}", flush=True)
    problems += differences(ROOT, root, cells=not options.no_cells)
    print(*problems, sep="\n")
    print(f"{len(problems)} differences." if problems else "Evidence, tables and matrix are those of the checkout.")
    return 1 if problems else 0


def _one(root: Path, cache: Path, release: Version, words: Sequence[str]) -> tuple[int, float, float, list[str]]:
    """Run `tools.newrelease` for one release: exit status, seconds, seconds of processor time, and its messages."""
    log = root.parent / f"{release}.log"
    began, spent = time.perf_counter(), sum(os.times()[2:4])
    with log.open("w") as file:
        done = subprocess.run(
            [sys.executable, "-m", "tools.newrelease", "--offline", f"--cache={cache}", f"--release={release}", *words],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    said = [match[0] for line in log.read_text().splitlines() if (match := SAID.match(line))]
    return done.returncode, time.perf_counter() - began, sum(os.times()[2:4]) - spent, said


def _copy(root: Path, to: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)


def _link(wheel: Path, cache: Path) -> None:
    (cache / wheel.name).symlink_to(wheel)


def _verdicts(fixes: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The compared values of each cell."""
    return {
        f"{fix} {target} {release}": tuple(entry.get(name) for name in ("result", "fix", "source"))
        for fix, targets in fixes.items()
        for target, releases in targets.items()
        for release, entry in releases.items()
    }


def _other_cells(here: Mapping[str, tuple[Any, ...]], there: Mapping[str, tuple[Any, ...]]) -> Iterator[str]:
    for cell in sorted(here.keys() - there.keys()):
        yield f"{cell}: not run"
    for cell in sorted(there.keys() - here.keys()):
        yield f"{cell}: run, and not in the matrix of the checkout"
    for cell in sorted(here.keys() & there.keys()):
        if here[cell] != there[cell]:
            yield f"{cell}: {there[cell]}, not {here[cell]}"


def _raise(sentence: str) -> None:
    raise ValueError(sentence)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.rehearsal", description="Rehearse new releases.")
    parser.add_argument("--after", required=True, help="the last release that is known at the beginning")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="folder of the wheels")
    parser.add_argument("--folder", type=Path, help="where it is done, and kept; a temporary folder if not given")
    parser.add_argument("--no-cells", action="store_true", help="run no cell of the matrix")
    parser.add_argument("--jobs", type=int, default=2, help="processes, and runs at a time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
