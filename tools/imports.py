"""Import all modules of published packages on releases of transformers that they were not written for.

    python -m tools.imports                     every package and release without a result
    python -m tools.imports --package trl       only this one; may be repeated
    python -m tools.imports --page              only write the page

Without hotfix, one process tries every module. Of the modules that fail at the same line with the same error, and for
no package that is not there, one is then imported by a process of its own, without hotfix and with it, by code that
handles no error.

The results are ``docs/data/imports.json``, and a table of them ``docs/imports.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tools.testbed.overlay import overlay
from tools.testbed.run import run_script

ROOT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).with_name("imports_child.py")
RESULTS = ROOT / "docs" / "data" / "imports.json"
PAGE = ROOT / "docs" / "imports.md"
RELEASES = ("5.0.0", "5.24.0")

_DATA = ("datasets", "pyarrow==19.0.1")


class Package(NamedTuple):
    """A package at a release from before transformers 5, with the packages of its month.

    Attributes:
        name: as it is imported.
        transformers: the release of its month.
        with_others: what is installed with it, the package itself first.
    """

    name: str
    transformers: str
    with_others: tuple[str, ...]


PACKAGES = (
    Package("accelerate", "4.57.6", ("accelerate==1.11.0",)),
    Package("adapters", "4.57.6", ("adapters==1.3.0", "accelerate==1.11.0", *_DATA)),
    Package("diffusers", "4.57.6", ("diffusers==0.35.2", "accelerate==1.11.0")),
    Package(
        "FlagEmbedding",
        "4.49.0",
        ("FlagEmbedding==1.3.4", "peft==0.14.0", "accelerate==1.4.0", "datasets==3.2.0", "pyarrow==19.0.1"),
    ),
    Package("gliner", "4.51.3", ("gliner==0.2.21",)),
    Package("liger_kernel", "4.57.6", ("liger-kernel==0.6.3",)),
    Package("llamafactory", "4.52.4", ("llamafactory==0.9.3", "datasets==3.6.0", "pyarrow==19.0.1")),
    Package("lm_eval", "4.57.6", ("lm-eval==0.4.9.1", "accelerate==1.11.0")),
    Package("optimum", "4.40.2", ("optimum==1.19.2", "accelerate==0.29.3", *_DATA)),
    Package("peft", "4.57.6", ("peft==0.17.1", "accelerate==1.11.0", *_DATA)),
    Package("sentence_transformers", "4.51.3", ("sentence-transformers==4.1.0", "accelerate==1.6.0", *_DATA)),
    Package(
        "setfit",
        "4.46.3",
        (
            "setfit==1.1.1",
            "sentence-transformers==3.3.1",
            "accelerate==1.1.1",
            "datasets==3.1.0",
            "pyarrow==19.0.1",
        ),
    ),
    Package("spacy_transformers", "4.49.0", ("spacy-transformers==1.3.8", "spacy==3.8.4", "click")),
    Package("swift", "4.56.0", ("ms-swift==3.8.0", "datasets==3.6.0", "pyarrow==19.0.1")),
    Package("trl", "4.51.3", ("trl==0.17.0", "accelerate==1.6.0", *_DATA, "rich")),
)


def tried(package: Package, release: str) -> dict[str, Any]:
    """Import the modules of a package on a release.

    Args:
        package: the package.
        release: of transformers.

    Returns:
        ``modules``: how many there are. ``needs``: how many need a package that is not there. ``failing``: for the
        first module of each cause, how many modules have this cause, and the last line of the error without hotfix
        and with it; empty if the module is then imported.
    """
    of_its_month = overlay(package.transformers, package.with_others)
    how: dict[str, Any] = {"transformers": release, "flash_attn": None, "behind": [of_its_month]}
    walked = run_script(CHILD, [package.name], timeout=1500, **how).require()
    facts = json.loads(walked.stdout.splitlines()[-1])
    causes = list(facts["failing"].values())
    names = [of_cause[0] for of_cause in causes]
    errors = [
        json.loads(run_script(CHILD, [mode, *names], timeout=1500, **how).require().stdout.splitlines()[-1])
        for mode in ("--stock", "--armed")
    ]
    failing = {
        of_cause[0]: [len(of_cause), *(_short(error[of_cause[0]]) for error in errors)]
        for of_cause in causes
        if errors[0][of_cause[0]]
    }
    return {"modules": facts["modules"], "needs": facts["needs"], "failing": failing}


def _short(error: str) -> str:
    """The last line of an error without paths of this machine."""
    return re.sub(r"\s*\(/[^)]*\)|/\S+/(?=\w)", "", error)[:200]


_HEAD = """# Packages on releases that they were not written for

All modules of {packages} published packages, at releases from before transformers 5, are imported on {releases},
without hotfix and with `import hotfix.auto`. Nothing else is set. Modules that fail at the same line with one error
count as one cause, and one of them is tried with hotfix. `python -m tools.imports` writes this page.

| package | transformers | modules | need another package | fail | causes | left with hotfix | modules of these |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def page(results: dict[str, Any]) -> str:
    """Write the page.

    Args:
        results: by release and package, as from `tried`.
    """
    rows: list[tuple[Any, ...]] = []
    rest: list[tuple[int, str, str]] = []
    for release in RELEASES:
        total: Counter[int] = Counter()
        for package in PACKAGES:
            result = results.get(release, {}).get(package.name)
            if result is None:
                continue
            of_causes = result["failing"].values()
            left = [(count, armed) for count, _, armed in of_causes if armed]
            rest += [(count, f"{package.with_others[0]} on {release}", error) for count, error in left]
            failing, modules_left = (sum(row[0] for row in cause) for cause in (of_causes, left))
            numbers = (result["modules"], result["needs"], failing, len(of_causes), len(left), modules_left)
            total.update(dict(enumerate(numbers)))
            rows.append((package.with_others[0], release, *numbers))
        rows.append(("all", release, *(total[at] for at in range(6))))
    lines = [_HEAD.format(packages=len(PACKAGES), releases=" and ".join(RELEASES))]
    lines += [f"| {' | '.join(map(str, row))} |\n" for row in rows]
    lines.append("\n## The causes that are left\n\n| modules | package and release | error |\n| --- | --- | --- |\n")
    lines += [f"| {count} | {where} | `{error.replace('|', '/')}` |\n" for count, where, error in sorted(rest)[::-1]]
    return "".join(lines)


def main() -> int:
    """Run what has no result, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", action="append", help="only this package, run again; may be repeated")
    parser.add_argument("--page", action="store_true", help="run nothing, and write the page")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for package in () if args.page else PACKAGES:
        for release in RELEASES:
            of_release = results.setdefault(release, {})
            if package.name in of_release if not args.package else package.name not in args.package:
                continue
            of_release[package.name] = tried(package, release)
            causes = of_release[package.name]["failing"].values()
            left = sum(bool(armed) for _, _, armed in causes)
            print(f"{package.name} on {release}: {len(causes)} causes, {left} with hotfix", flush=True)
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
