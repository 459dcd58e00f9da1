"""Parse Python, in whichever thread.

Until 3.12, CPython counts the depth of a syntax tree that it hands over in one place for the whole interpreter. Where
another thread parses at the same time, the count is wrong at the end, and a sound text is refused with SystemError.
One lock keeps our own threads apart; what threads of the program do meanwhile is met by trying again.
"""

from __future__ import annotations

import ast

from . import locks

_one_at_a_time = locks.Lock()
_ATTEMPTS = 10


def parse(text: str) -> ast.Module:
    """`ast.parse`, also where other threads parse.

    Raises:
        SyntaxError: as `ast.parse` does.
        SystemError: other threads were in the way ten times in a row.
    """
    with _one_at_a_time:
        for _ in range(_ATTEMPTS - 1):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)
