"""The releases of transformers that have a name, for all names that some release has removed.

``tools/symbols.py`` writes the table, ``symbols.txt.xz``, from the wheels. Its first line lists the releases. Every
other line has a module, the releases that have it (if not all do), and the names that are missing in some release that
still has the module::

    modeling_utils|0-67 Conv1D find_pruneable_heads_and_indices|0-36 shard_checkpoint

Releases are positions in the first line, in runs (``0-36,77-119``). ``TF*`` means all names with this beginning and
without an entry of their own. A name that is not in the table never existed, or was never removed. The arguments of a
few classes are listed as names of a module ``training_args:TrainingArguments()``.

Lines that begin with ``@`` only have the first and last release of further names: model types, folders of models,
public names, shared modules and their names. ``+`` precedes the first release, ``-`` the last::

    @model types|+3 qwen2|+6 gemma|-76 tvlt
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .._support.memo import memo

FILE = Path(__file__).with_name("symbols.txt.xz")
PACKAGE = "transformers"
AGES = "@"
"""The beginning of lines that only have the first and last release of names."""


@dataclass(frozen=True)
class Row:
    """The line of a module.

    Attributes:
        present: the releases that have the module; None if that is not known: all, or none.
        names: the releases that have each name, for names that not all of these releases have.
    """

    present: Optional[frozenset[int]]
    names: Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Table:
    """The table.

    Attributes:
        releases: the releases, oldest first.
        modules: the rows, by name of the module.
    """

    releases: tuple[str, ...]
    modules: Mapping[str, Row]

    def with_module(self, module: str) -> Optional[frozenset[int]]:
        """The releases that have a module, as numbers; None if no release is known to lack it."""
        rows = [self.modules[pattern] for pattern in _patterns(module) if pattern in self.modules]
        return next((row.present for row in rows if row.present is not None), None)

    def with_name(self, module: str, name: str) -> Optional[frozenset[int]]:
        """The releases that have a name or a submodule of a module; None if no release is known to lack it."""
        there = self.with_module(module)
        row = self.modules.get(module)
        named = None
        if row is not None:
            named = next(
                (
                    row.names[pattern]
                    for pattern in (name, "TF*", "Flax*")
                    if _fits(name, pattern) and pattern in row.names
                ),
                None,
            )
        if named is None:
            named = self.with_module(f"{module}.{name}")
        if there is None or named is None:
            return named if there is None else there
        return there & named


def _patterns(module: str) -> tuple[str, ...]:
    """The lines that may have the releases of a module: its own, and that of its framework."""
    last = module.rpartition(".")[2]
    return (
        module,
        *(f"{PACKAGE}.models.{prefix}*" for prefix in ("modeling_tf_", "modeling_flax_") if last.startswith(prefix)),
    )


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


@memo
def table() -> Table:
    """Read the table.

    Raises:
        ImportError: this Python was built without lzma.
    """
    first, *lines = _lines()
    rows = {}
    for line in lines:
        if line.startswith(AGES):
            continue
        head, *groups = line.split("|")
        module, _, present = head.partition(" ")
        names = {}
        for group in groups:
            runs, *members = group.split(" ")
            names.update(dict.fromkeys(members, read(runs)))
        rows[f"{PACKAGE}.{module}".rstrip(".")] = Row(read(present) if present else None, names)
    return Table(tuple(first.split(" ")), rows)


@memo
def ages() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """The first and the last release that have a name, by place and name; empty at the ends of the examined range.

    Raises:
        ImportError: this Python was built without lzma.
    """
    first, *lines = _lines()
    releases = first.split(" ")
    places = {}
    for line in lines:
        if not line.startswith(AGES):
            continue
        place, *groups = line[len(AGES) :].split("|")
        came: dict[str, str] = {}
        went: dict[str, str] = {}
        for group in groups:
            number, *members = group.split(" ")
            (came if number[0] == "+" else went).update(dict.fromkeys(members, releases[int(number[1:])]))
        places[place] = {name: (came.get(name, ""), went.get(name, "")) for name in {**came, **went}}
    return places


def _lines() -> list[str]:
    import lzma  # here, because some Pythons were built without it

    return lzma.decompress(FILE.read_bytes()).decode("utf-8").splitlines()


def read(runs: str) -> frozenset[int]:
    """Numbers from runs: ``0-2,5`` are 0, 1, 2 and 5."""
    numbers: set[int] = set()
    for run in runs.split(",") if runs != "-" else ():
        begin, _, end = run.partition("-")
        numbers.update(range(int(begin), int(end or begin) + 1))
    return frozenset(numbers)


def written(numbers: frozenset[int]) -> str:
    """Runs from numbers; ``-`` for none."""
    texts = (f"{first}-{last}" if last > first else str(first) for first, last in runs(numbers))
    return ",".join(texts) or "-"


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last number of each run of consecutive numbers."""
    made: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if made and made[-1][1] == number - 1:
            made[-1] = made[-1][0], number
        else:
            made.append((number, number))
    return made
