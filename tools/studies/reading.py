"""The table writer, reader, family: which release reads which checkpoints, before and after the repair.

    python -m tools.studies.reading --folder F                 write what is missing, read everything, write the table
    python -m tools.studies.reading --folder F --reader 4.51.3 only this reader (may be repeated)
    python -m tools.studies.reading --page                     write docs/reading.md from docs/data/reading.json

A release is a process of its own; it writes or reads all checkpoints (`tools.studies.reading_child`). The folder
keeps checkpoints, by writer and by the code that makes them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.testbed.overlay import cache
from tools.testbed.run import ROOT, run_script

WRITERS = ("4.57.6", "5.0.0", "5.8.1", "5.23.0")
READERS = ("4.41.2", "4.46.3", "4.49.0", "4.51.3", "4.53.3", "4.57.6", "5.3.0")
RESULTS = ROOT / "docs" / "data" / "reading.json"
PAGE = ROOT / "docs" / "reading.md"
CHILD = ROOT / "tools" / "studies" / "reading_child.py"
_READ = "import hotfix.auto, sys; from pathlib import Path; from tools.studies.reading_child import read; "
_READ += "read(*map(Path, sys.argv[1:]))"
MEANING = {
    "right": "read as its writer reads it, with and without hotfix",
    "repaired": "misread or refused without hotfix, read as its writer reads it with it",
    "refused": "an error that says what is the matter",
    "wrong": "read without an error, and not as its writer reads it",
    "cannot": "this release has no such model",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.studies.reading", description="Test which release reads the files of which other release."
    )
    parser.add_argument("--folder", type=Path, default=cache() / "reading", help="of the checkpoints")
    parser.add_argument("--reader", action="append", metavar="RELEASE", help="only this reader; may be repeated")
    parser.add_argument("--page", action="store_true", help="only write the page from what is recorded")
    options = parser.parse_args(arguments)
    if not options.page:
        made_by = hashlib.sha256(CHILD.read_bytes()).hexdigest()[:8]
        checkpoints = options.folder / made_by
        for writer in WRITERS:
            written(checkpoints, writer)
        results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
        for reader in options.reader or READERS:
            words = {when: read(checkpoints, reader, when) for when in ("before", "after")}
            results[reader] = cells(words["before"], words["after"])
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            print(reader, dict(Counter(cell["model"][0] for cell in results[reader].values())))
    PAGE.write_text(page(json.loads(RESULTS.read_text())))
    return 0


def written(folder: Path, writer: str) -> None:
    """Have a release write its checkpoints, unless it has."""
    done = folder / f".{writer}"
    if not done.exists():
        run_script(
            "-m",
            ["tools.studies.reading_child", "write", str(folder / writer)],
            transformers=writer,
            flash_attn=None,
            timeout=900,
        ).require()
        done.touch()


def read(folder: Path, reader: str, when: str) -> dict[str, Any]:
    """The results of one release for all checkpoints."""
    output = folder / f"{reader}-{when}.json"
    arguments = [str(folder), str(output)]
    if when == "after":
        result = run_script("-c", [_READ, *arguments], transformers=reader, flash_attn=None, timeout=1800)
    else:
        words = ["tools.studies.reading_child", "read", *arguments]
        result = run_script("-m", words, transformers=reader, flash_attn=None, timeout=1800)
    result.require()
    results: dict[str, Any] = json.loads(output.read_text())
    return results


def cells(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """For each checkpoint the model and the tokenizer: a word of `MEANING`, and the results before and after."""
    return {
        name: {
            part: [verdict(before[name][part], after[name][part]), before[name][part], after[name][part]]
            for part in ("model", "tokenizer")
        }
        for name in sorted(after)
    }


def verdict(before: str, after: str) -> str:
    """One word for the results before and after."""
    if _is_good(after):
        return "right" if _is_good(before) else "repaired"
    lacking = ("module transformers has no attribute", "does not recognize this architecture", "KeyError")
    if after.startswith("raises") and "are nowhere in the model" not in after:  # which is what `reading_child` found
        return "cannot" if before == after and any(name in after for name in lacking) else "refused"
    return "wrong"


def page(results: dict[str, Any]) -> str:
    """The page of the table."""
    lines = [
        "# Which release reads which file",
        "",
        "Written by `python -m tools.studies.reading`: small checkpoints (a model and a tokenizer), saved by the",
        "releases on the left and read by those above, on a CPU. The oracle is the writer: what it computes of the",
        "checkpoint that it has just saved. Logits are compared in float32 (equal to the bit, or within 1e-5 of the",
        "largest where releases compute in another order), the weights of the file with those of the model; of the",
        "tokenizer ids, text without special tokens, the special ids and a chat.",
        "",
        *(f"- **{word}**: {meaning}." for word, meaning in MEANING.items()),
        "",
    ]
    readers = sorted(results, key=lambda release: tuple(map(int, release.split("."))))
    for part in ("model", "tokenizer"):
        for writer in WRITERS:
            families = sorted(
                {name.split("/")[1] for result in results.values() for name in result if name.startswith(writer)}
            )
            lines += [f"## The {part}, written by {writer}", "", f"| | {' | '.join(readers)} |"]
            lines.append("| --- " * (len(readers) + 1) + "|")
            for family in families:
                row = [results[reader].get(f"{writer}/{family}", {}).get(part, ["-"])[0] for reader in readers]
                lines.append(f"| {family} | {' | '.join(row)} |")
            lines.append("")
    return "\n".join(lines)


def _is_good(word: str) -> bool:
    return word == "equal" or word.startswith("near")


if __name__ == "__main__":
    sys.exit(main())
