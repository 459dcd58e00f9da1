"""docs/parity.md, from the files of results that `python -m tools.studies.parity` writes.

    python -m tools.studies.parity.page            reads tools/studies/parity/results/*.json and writes docs/parity.md
    python -m tools.studies.parity.page --check    only says whether it is up to date

Every number on the page is in one of those files. Results of a CPU are a rehearsal of the runner, and are called so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RESULTS, PAGE = ROOT / "tools" / "studies" / "parity" / "results", ROOT / "docs" / "parity.md"

HEAD = """\
# CUDA parity

<!-- Written by `python -m tools.studies.parity.page` from tools/studies/parity/results/. -->

Every fix, on a GPU and at the sizes of real models: broken without hotfix, and with it the same as the first fixed
release of upstream, the same as the same release where the bug is out of the way, and as near to float32 as eager
attention is. `tools/studies/parity/plan.py` lists the comparisons.
"""
NOT_RUN = """\
## On a GPU: not run

There is no result of a CUDA device yet. To make one: `nox -s cuda`, then on the GPU machine, in the folder
`build/cuda-bundle`, `python3 -m tools.studies.parity --device cuda --cost --out result.json`; put the file into
`tools/studies/parity/results/` and run `python -m tools.studies.parity.page`.
"""
KINDS = {
    "cuda": "## On a GPU: {device}",
    "cpu": """\
## Rehearsal on a CPU

The same runner and the same plan with tiny sizes, on the CPU testbed. It shows that the runner works, and says nothing
about a GPU.""",
}


def render(books: Sequence[Mapping[str, Any]]) -> str:
    """The text of the page.

    Args:
        books: the files of results.
    """
    parts = [HEAD]
    if not any(book["machine"]["kind"] == "cuda" for book in books):
        parts.append(NOT_RUN)
    ordered = sorted(books, key=lambda book: (book["machine"]["kind"] != "cuda", book["machine"]["date"]))
    parts += ["\n".join(_section(book)) + "\n" for book in ordered]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.studies.parity", description="docs/parity.md from results.")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of files of results")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args(arguments)
    text = render([json.loads(path.read_text()) for path in sorted(options.results.glob("*.json"))])
    if options.check:
        current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE} is {'up to date' if current else 'not what the results say'}")
        return 0 if current else 1
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)
    return 0


# ---------------------------------------------------------------------------------------------------------------------


def _section(book: Mapping[str, Any]) -> Iterator[str]:
    machine = book["machine"]
    yield KINDS[machine["kind"]].format(device=machine["device"])
    yield ""
    yield f"Date {machine['date']}; device {machine['device']}; driver {machine['driver'] or 'none'}."
    yield (
        "Versions: " + ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version) + "."
    )
    entries = book.get("entries", {})
    if entries:
        right = sum(not entry["problems"] for entry in entries.values())
        yield ""
        yield f"{right} of {len(entries)} entries are right."
        yield ""
        yield from _entries(entries)
        yield ""
        yield "Bitwise means the same dtype, too. Distance: norm(difference) / norm(reference) of the worst tensor."
        yield ""
        yield "Kernels that ran, with the versions of their packages:"
        yield ""
        yield from sorted({_kernels(entry) for entry in entries.values()})
    for name, cost in book.get("cost", {}).items():
        yield ""
        yield from _cost(name, cost, machine["kind"])


def _entries(entries: Mapping[str, Any]) -> Iterator[str]:
    yield "| entry | dtype | without hotfix | against | release | bitwise | max abs | distance | eager, same dtype |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, entry in entries.items():
        before = entry["before"].partition("\n")[0]
        before = before if len(before) < 60 else before[:57] + "..."
        first = [f"`{name}`", entry["dtype"], before.replace("|", "\\|") or "no error"]
        if entry["problems"]:
            first[0] += " **wrong**: " + "; ".join(entry["problems"]).replace("|", "\\|").replace("\n", " ")[:300]
        for against, measured in entry["against"].items() or [("itself: no error", {})]:
            numbers = [_number(measured.get(key)) for key in ("max_abs", "distance", "eager in the same dtype")]
            same = {True: "yes", False: "no"}.get(measured.get("bitwise"), "")
            release = measured.get("release") or ""
            yield "| " + " | ".join([*first, against, release, same, *numbers]) + " |"
            first = ["", "", ""]


def _kernels(entry: Mapping[str, Any]) -> str:
    ran = sorted({f"{name}: {words.rpartition(',')[0]}" for name, words in entry["kernels"].items()})
    beside = {name: version for name, version in entry["versions"].items() if name in ("flash_attn", "xformers")}
    return f"- {'; '.join(ran) or 'none'} ({', '.join(f'{name} {version}' for name, version in beside.items())})"


def _cost(name: str, cost: Mapping[str, Any], kind: str) -> Iterator[str]:
    yield f"### Cost: {name}"
    yield ""
    if kind != "cuda":
        yield "The script ran to its end; times on a CPU with tiny sizes mean nothing and are not shown."
        return
    ran = {words for results in cost["variants"].values() for words in results["kernels"].values()}
    kernels = "; ".join(sorted({word.rpartition(",")[0] for word in ran}))
    yield f"{cost['turns']} turns of fresh interpreters; {kernels}."
    yield ""
    counts = ("operations", "launches", "synchronisations", "bytes", "least bytes", "peak bytes")
    yield "| part | variant | median ms | tenth | ninetieth | until return ms | " + " | ".join(counts) + " |"
    yield "| --- | --- |" + " --- |" * (4 + len(counts))
    for part, numbers in cost["parts"].items():
        for variant in cost["variants"]:
            number = numbers[variant]
            clock = number["milliseconds"]
            cells = [clock["median"], clock["tenth"], clock["ninetieth"], number["host milliseconds"]["median"]]
            cells = [f"{value:.4g}" for value in cells] + [str(number.get(count, "")) for count in counts]
            yield f"| {part} | {variant} | " + " | ".join(cells) + " |"
    yield ""
    for part, numbers in cost["parts"].items():
        yield f"- {part}: ratio {numbers['ratio']:.3f}; the same code against itself within {numbers['noise']:.3f}."


def _number(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.2e}"


if __name__ == "__main__":
    raise SystemExit(main())
