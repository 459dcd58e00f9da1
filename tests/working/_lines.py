"""Lines of programs for other releases, run stock and armed, and compared with the numbers in ``docs/lines.md``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection
from pathlib import Path

from tools.testbed.run import run

HERE = Path(__file__).parent


def check(file: str, release: str, still_end: Collection[str], folder: Path) -> None:
    """A line that runs stock prints the same armed, a line that ends armed is known, and the page has the numbers.

    Args:
        file: its name, in this folder.
        release: of transformers.
        still_end: names of lines that may end with hotfix, in any release.
        folder: an empty one.
    """
    _, *parts = re.split(r"^== (\w+)\n", (HERE / file).read_text("utf-8"), flags=re.M)
    cases = dict(zip(parts[::2], parts[1::2]))
    assert still_end <= cases.keys()
    program = program_of(cases, folder)
    stock, armed = (lines_of(program, release, hotfix) for hotfix in (False, True))
    assert stock.keys() == armed.keys() == cases.keys()
    if differ := _differences(stock, armed):  # some lines differ once in twenty runs; harm does so every time
        stock, armed = (lines_of(program, release, hotfix) for hotfix in (False, True))
        differ &= _differences(stock, armed)
    assert not differ, [(stock[name], armed[name]) for name in differ]
    assert {name for name, line in armed.items() if line.startswith("ends")} <= {*still_end}
    counts = [sum(line.startswith("runs") for line in every.values()) for every in (stock, armed)]
    page = (HERE.parents[1] / "docs" / "lines.md").read_text("utf-8")
    section = page.partition(f"`tests/working/{file}`")[2].partition("\n## ")[0]
    row = f"| {release} | {counts[0]} | {counts[1]} |"
    assert row in section, f"docs/lines.md has another row than {row!r}"


def _differences(stock: dict[str, str], armed: dict[str, str]) -> set[str]:
    """The lines that run stock and print something else armed."""
    return {name for name, line in stock.items() if line.startswith("runs") and armed[name] != line}


def program_of(cases: dict[str, str], folder: Path) -> Path:
    functions = [f"def {name}():\n{textwrap.indent(body.strip(), '    ')}\n\n\n" for name, body in cases.items()]
    written = folder / "program.py"
    start = (HERE / "_lines_start.py").read_text("utf-8")
    written.write_text(f"{start}\n\n{''.join(functions)}main([{', '.join(cases)}])\n", encoding="utf-8")
    return written


def lines_of(program: Path, release: str, hotfix: bool) -> dict[str, str]:
    """The output of each case, by its name."""
    extras = ["accelerate==1.10.1", "pillow==11.3.0"]
    env = {"PYTHONHASHSEED": "0"}  # 5.0.0 takes one of two tokenizer classes out of a set
    result = run(program, transformers=release, flash_attn=None, extras=extras, hotfix=hotfix, env=env).require()
    every = (line for line in result.stdout.splitlines() if line.startswith(("runs ", "ends ")))
    return {line.split()[1]: line for line in every}
