"""Which names a release of transformers has, of those that some release has taken away.

The table, ``symbols.txt.xz``, is written by ``tools/symbols.py`` from the wheels. Its first line lists the releases;
every other one is a module, the releases that have it where not all do, and the names that are gone in some release
which has the module still::

    modeling_utils|0-67 Conv1D find_pruneable_heads_and_indices|0-36 shard_checkpoint

Releases are numbers in the first line, in runs (``0-36,77-119``). ``TF*`` stands for all names that begin so and have
no row of their own. What is not in the table was never there, or always since it came: of that nothing is said. The
arguments of a few classes stand as the names of a module ``training_args:TrainingArguments()``.

What begins with ``@`` is about more names, and only about when they came, and when they went: model types, folders of
models, public names, shared modules and what is in these. ``+`` is before the first release, ``-`` before the last::

    @model types|+3 qwen2|+6 gemma|-76 tvlt
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .._support.memo import memo

FILE = Path(__file__).with_name("symbols.txt.xz")
PACKAGE = "transformers"
AGES = "@"
"""Before the rows that say only when names came and went."""


@dataclass(frozen=True)
class Row:
    """What the table says of a module.

    Attributes:
        present: the releases that have it; None if that is not known: all, or none.
        names: of the names that not all of these have, the releases that do.
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
        """The releases, as numbers, that have a module; None where nothing is known that lacks it."""
        rows = [self.modules[pattern] for pattern in _patterns(module) if pattern in self.modules]
        return next((row.present for row in rows if row.present is not None), None)

    def with_name(self, module: str, name: str) -> Optional[frozenset[int]]:
        """The releases that have a name of a module, or a submodule; None where nothing is known that lacks it."""
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
    """The rows that may say of a module where it is: its own, and the one for its framework."""
    last = module.rpartition(".")[2]
    return (
        module,
        *(f"{PACKAGE}.models.{prefix}*" for prefix in ("modeling_tf_", "modeling_flax_") if last.startswith(prefix)),
    )


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


@memo
def table() -> Table:
    """The table, read.

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
    """By place and name the first and the last release that have it; empty where that is the end of what is examined.

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
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs) or "-"
