"""The command line: ``python -m tools.deviations``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.deviations import judge, page, table
from tools.deviations.registry import FOLDERS
from tools.testbed import overlay


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested action; returns the exit status."""
    options = _parser().parse_args(arguments)
    every, fixes = table.default_on(lambda problem: print(problem, file=sys.stderr))
    programs = table.chosen(
        every,
        fixes,
        names=options.fix,
        deviations=options.deviation,
        releases=options.release,
        folders=options.folder,
        bases=options.base,
    )
    book = table.Book(options.results)
    if options.page:
        page.write(book, fixes, every)
        return 0
    todo = [item for item in programs if options.fresh or not book.is_done(item)]
    print(f"{len(programs)} programs, {len(programs) - len(todo)} of them done")
    if options.list:
        for program in todo:
            print(program)
        return 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core for each run
    cache = None if options.no_cache else overlay.cache() / "deviations"
    table.Table(every, book, cache=cache).carry_out(todo, options.jobs, lambda line: print(line, flush=True))
    harmed = [item for item in programs if (book.entry(item) or {}).get("result") == judge.HARM]
    print(f"{len(harmed)} harms." if harmed else f"{len(programs)} programs without a harm.")
    return 1 if harmed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.deviations", description="Run programs that differ from the library's own code."
    )
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only this fix; may be repeated")
    parser.add_argument(
        "--deviation", action="append", default=[], metavar="NAME", help="only this deviation; may be repeated"
    )
    parser.add_argument("--release", action="append", default=[], help="only this release; may be repeated")
    parser.add_argument(
        "--folder", action="append", default=[], choices=FOLDERS, help="only fixes of this folder; may be repeated"
    )
    parser.add_argument(
        "--base", action="append", default=[], help="only this input: case, unaffected, trainer; may be repeated"
    )
    parser.add_argument("--fresh", action="store_true", help="also run programs that have a result")
    parser.add_argument("--no-cache", action="store_true", help="also run again what ran in stock before")
    parser.add_argument("--list", action="store_true", help="only list what would be run")
    parser.add_argument("--page", action="store_true", help="run nothing; write docs/deviations.md from the results")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--results", type=Path, default=table.FOLDER, help="folder of the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
