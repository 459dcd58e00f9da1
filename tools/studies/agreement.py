"""Is a bug triggered exactly where the result differs from the repaired one? Compared with random draws.

    python -m tools.studies.agreement                       what is not done yet, on the first and last broken release
    python -m tools.studies.agreement --all                 one release of each distinct broken source
    python -m tools.studies.agreement --fix ID --release R  part of it (may be repeated); --fresh: also what is done
    python -m tools.studies.agreement --page                only write the table on docs/audit.md

For each fix that has a trigger, and each release, 200 small configurations and batches are drawn
(`tools.studies.draws`), and computed in one child: observed, which is what the release computes, and repaired. A draw
agrees if the trigger was met and the result differs, or neither. A false alarm is a draw on which it was met for
nothing, a miss one on which it was not. Where the release raises an error there is nothing to compare. Releases whose
broken functions have the same text are one source: one of them represents all. A result differs where it is not equal
to the bit, but a difference within the tolerance of its dtype is no miss: repairs may compute in another order.

The results are docs/data/agreement.json. A fix whose trigger, or draws, have another text is done again.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from packaging.version import Version

from hotfix.fix import Fix
from hotfix.reports.digest import code_digest
from hotfix.reports.tables import markdown_table
from hotfix.trigger import HOME
from tools import evidence, matrix
from tools.studies import draws
from tools.studies.agreement_child import ORDER

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "data" / "agreement.json"
PAGE = ROOT / "docs" / "audit.md"
NUMBER = 200
SHOWN = 3  # disagreements of a kind that are kept in full

_PICTURE = "a false alarm where the picture does not reach the limit, and would have as many tokens without it."
_LAST_OF_WINDOW = (
    "a miss where `generate` of Gemma 2 comes to the last token of the window: there the release is right, and the "
    "cache of {fixed}, which the repaired one is equal to, drops the first token too early."
)
_SHORT_STEP = (
    "a false alarm where an epoch has one micro-batch left for its last step, which the Trainer of these releases does "
    "not tell."
)
REASONS: Mapping[str, str] = {
    "qwen25vl-second-per-grid-int-truncation": (
        "a false alarm in 5.3.0 to 5.5.3 where a picture stands before the video: there each picture takes an entry of "
        "`second_per_grid_ts`, too (`qwen25vl-image-temporal-positions`), and has used up that of the video."
    ),
    "vision-lora-checkpointing-no-grad": (
        "a false alarm where the positions of the tower are what is trained: they have their gradient without a hook."
    ),
    "deepspeed-double-gas-scaling": (
        "a false alarm where an epoch ends in the middle of a step: DeepSpeed's engine does not take that step at all."
    ),
    "fa-sliding-window-off-by-one": (
        "a false alarm in 4.55.1 to 4.55.4, where a batch is longer than the window with its padding alone, "
        "or a row whose sequences are all shorter: the function that is broken there knows of neither. In "
        "4.44.0, where all sequences in a row but the last one have one token."
    ),
    "gemma2-cohere2-window-crash": _LAST_OF_WINDOW.format(fixed="4.48.2"),
    "gemma2-sliding-layer-parity": _LAST_OF_WINDOW.format(fixed="4.42.4"),
    "llama-gemma-rope-autocast": "a false alarm where two tokens are so few that the rounded angles give the same.",
    "modernbert-local-rope-theta": (
        "a false alarm where no text has more than one token: the rotation of one token changes no score."
    ),
    "phi-lm-head-bias": (
        "a false alarm where the bias in the checkpoint is zero, or there is none: the model has no place for it, and "
        "cannot tell."
    ),
    "qwen2vl-max-pixels-ignored": _PICTURE,
    "qwen2vl-processor-pixels-ignored": _PICTURE,
    "trainer-ga-multiplied-loss": _SHORT_STEP,
    "trainer-ga-num-items-dropped": _SHORT_STEP,
    "v5-debertav2-no-special-tokens": (
        "a false alarm where no text is to have special tokens: what is counted is that a tokenizer was made."
    ),
}
"""Why a trigger and a result disagree on some draws, by fix."""


@dataclass(frozen=True)
class Unit:
    """One source of one fix.

    Attributes:
        fix: it is about.
        module: that defines it.
        releases: that have this source; the first one represents all.
        targets: the functions that are broken there.
    """

    fix: Fix
    module: str
    releases: tuple[str, ...]
    targets: tuple[str, ...]


def units(problem: Any = print) -> list[Unit]:
    """Every distinct broken source of every fix whose trigger judges calls, oldest first."""
    units = []
    known = draws.load()
    for module, fix in sorted(evidence.discover(problem, proofs=True).items(), key=lambda item: item[1].id):
        if fix.id not in known:
            continue
        by_release: dict[str, list[matrix.Cell]] = {}
        for cell in matrix.cells({module: fix}):
            if cell.verdict == "broken":
                by_release.setdefault(str(cell.release), []).append(cell)
        sources: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for release in sorted(by_release, key=Version):
            key = tuple(sorted((str(cell.target), cell.digest) for cell in by_release[release]))
            sources.setdefault(key, []).append(release)
        units += [
            Unit(fix, module, tuple(releases), tuple(name for name, _ in key)) for key, releases in sources.items()
        ]
    return units


def first_and_last(every: Sequence[Unit]) -> list[Unit]:
    """Of each fix the oldest source, and the newest in its newest release."""
    chosen = []
    for fix in dict.fromkeys(unit.fix.id for unit in every):
        own = [unit for unit in every if unit.fix.id == fix]
        chosen += own[:1] if len(own) == 1 else [own[0], own[-1]]
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    if not options.page:
        every = units()
        chosen = every if options.all or options.release else first_and_last(every)
        chosen = [unit for unit in chosen if not options.fix or unit.fix.id in options.fix]
        chosen = [unit for unit in chosen if not options.release or unit.releases[0] in options.release]
        _run(chosen, options)
    if options.results == RESULTS:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read(options.results)), encoding="utf-8")
    return 0


def read(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The results, by fix and release."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def measured(unit: Unit, number: int = NUMBER, timeout: float = 3600) -> dict[str, Any]:
    """The result of a unit, as it is written down.

    Args:
        unit: the source to measure.
        number: of draws.
        timeout: seconds.

    Raises:
        AssertionError: the child has failed.
    """
    from tools.testbed.run import run

    packages = {**matrix.PACKAGES, **unit.fix.case_spec.packages}
    beside: dict[str, Any] = {name.replace("-", "_"): packages.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" if version else name for name, version in packages.items() if version is not None]
    order = {"fix": unit.fix.id, "targets": unit.targets, "draws": number, "seed": 1}
    result = run(
        "tools.studies.agreement_child:measure",
        transformers=unit.releases[0],
        **beside,
        extras=extras,
        hotfix=False,
        env={ORDER: json.dumps(order)},
        timeout=timeout,
    ).require()
    return summary(json.loads(bytes(result.tensors["told"].tolist())), unit)


def summary(rows: Sequence[Mapping[str, Any]], unit: Unit) -> dict[str, Any]:
    """The summary of the draws of a unit, as the data file has it."""
    of: dict[str, list[Mapping[str, Any]]] = {name: [] for name in _NUMBERS}
    for row in rows:
        name = ("struck" if row["differs"] else "alarms") if row["struck"] else "misses" if row["over"] else "silent"
        untold = row["untold"] and not row["struck"]
        of["raise" if row["raises"] else "untold" if untold else name].append(row)
    entry: dict[str, Any] = {
        "releases": list(unit.releases),
        "targets": len(unit.targets),
        "draws": len(rows),
        **{name: len(draws_of_kind) for name, draws_of_kind in of.items()},
        "never called": sum(not row["calls"] for row in rows),
        "raise and struck": sum(bool(row["struck"]) for row in of["raise"]),
        "rounded": sum(row["differs"] for row in of["silent"]),
        "text": text_of(unit),
    }
    for name in ("alarms", "misses", "raise"):
        if of[name]:
            entry[f"some {name}"] = [_shown(row) for row in of[name][:SHOWN]]
    return entry


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    extra = {key: row[key] for key in ("relative", "of", "raises") if row[key]}
    return {**row["drawn"], "calls": row["calls"], "struck": row["struck"], **extra}


def text_of(unit: Unit) -> str:
    """A digest of the code that decides a result: the trigger of a fix, with what it shares, and its draws."""
    drawn = inspect.getsource(draws.load()[unit.fix.id].function)
    trigger = code_digest(f"{HOME}.{unit.module.partition('.')[2]}")
    return hashlib.sha256(f"{trigger}\n{drawn}".encode()).hexdigest()[:12]


def _run(chosen: Sequence[Unit], options: argparse.Namespace) -> None:
    lock = Lock()

    def run_unit(unit: Unit) -> None:
        done = read(options.results).get(unit.fix.id, {}).get(unit.releases[0])
        if done and done["text"] == text_of(unit) and done["draws"] >= options.draws and not options.fresh:
            return
        try:
            result = measured(unit, options.draws)
        except AssertionError as error:
            print(f"{unit.fix.id} {unit.releases[0]}: FAILED {error}"[-3000:], flush=True)
            return
        with lock:
            data = read(options.results)
            data.setdefault(unit.fix.id, {})[unit.releases[0]] = result
            options.results.write_text(rendered(data), encoding="utf-8")
        print(unit.fix.id, unit.releases[0], {key: result[key] for key in ("draws", *_NUMBERS)}, flush=True)

    ordered = sorted(chosen, key=lambda unit: Version(unit.releases[0])) if options.by_release else chosen
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run_unit, ordered))


_NUMBERS = ("struck", "silent", "alarms", "misses", "untold", "raise")


def rendered(data: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each release."""
    fixes = []
    for fix, releases in sorted(data.items()):
        rows = (
            f"  {json.dumps(release)}: {json.dumps(releases[release])}" for release in sorted(releases, key=Version)
        )
        fixes.append(f" {json.dumps(fix)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(fixes) + "\n}\n"


# ----------------------------------------------------------------------------------------------------------------------
# Below: the table.

_SECTION = re.compile(r"(<!-- agreement -->\n).*?(<!-- end: agreement -->)", re.S)


def page(text: str, data: Mapping[str, Mapping[str, Any]]) -> str:
    """The page with its table rewritten."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{table(data)}\n\n{match[2]}", text)


def table(data: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each fix, and why some draws disagree."""
    columns = ("bug", "in", "draws", "both", "neither", "false alarms", "misses", "unclear", "raise")
    rows = []
    for fix, releases in sorted(data.items()):
        numbers = [sum(entry[key] for entry in releases.values()) for key in ("draws", *_NUMBERS)]
        rows.append((f"`{fix}`", ", ".join(releases), *map(str, numbers)))
    lines = [markdown_table(columns, rows), "", *_reasons(data)]
    lines += ["", "Not held against draws: " + "; ".join(f"`{fix}` ({why})" for fix, why in draws.CANNOT.items()) + "."]
    return "\n".join(lines)


def _reasons(data: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for fix, releases in sorted(data.items()):
        if any(entry["alarms"] or entry["misses"] for entry in releases.values()):
            yield f"- `{fix}`: {REASONS.get(fix, 'not looked into yet.')}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.studies.agreement", description="Hold triggers against draws."
    )
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only this fix; may be repeated")
    parser.add_argument("--release", action="append", default=[], help="only this release; may be repeated")
    parser.add_argument("--all", action="store_true", help="every distinct source, not the first and last alone")
    parser.add_argument("--draws", type=int, default=NUMBER, help="how many for each source")
    parser.add_argument("--fresh", action="store_true", help="run what is done already, too")
    parser.add_argument("--by-release", action="store_true", help="in the order of releases, not of fixes")
    parser.add_argument("--jobs", type=int, default=1, help="sources at a time")
    parser.add_argument("--page", action="store_true", help="only write the table on the page")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
