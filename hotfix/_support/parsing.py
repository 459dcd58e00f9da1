"""Parses Python in any thread.

Until 3.12, CPython counts the depth of a syntax tree in one variable for the whole interpreter. If two threads parse at
the same time, the count is wrong at the end, and valid source raises SystemError. A lock keeps our own threads apart;
against threads of the program, parsing is tried again.
"""

from __future__ import annotations

import ast

from . import locks

_one_at_a_time = locks.Lock()
_ATTEMPTS = 10


def parse(text: str) -> ast.Module:
    """`ast.parse` that works while other threads parse.

    Raises:
        SyntaxError: as in `ast.parse`.
        SystemError: other threads interfered ten times in a row.
    """
    with _one_at_a_time:
        for _ in range(_ATTEMPTS - 1):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)
