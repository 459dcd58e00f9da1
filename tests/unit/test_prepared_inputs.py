"""How code asks whether the prepared inputs have a cache, on every version of Python."""

from __future__ import annotations

from typing import Any

import pytest

from hotfix.names.prepared_inputs_without_past_key_values import asks_for_none


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("if x.get('past') is None: x['a'] = 1", True),
        ("if x.get('past', None) is None: x['a'] = 1", True),
        ("if not x.get('past'): x['a'] = 1", True),
        ("first = x.get('past') is None; return first", True),
        ("first = not x.get('past'); return first", True),
        ("return x.get('past')", False),
        ("if x.get('other') is None: return x.get('past')", False),
        ("if x.get('past') is not None: x['a'] = 1", False),
        ("if x.get('past'): x['a'] = 1", False),
        ("return f(x, x.get('past'), None)", False),
        ("return x['past']", False),
    ],
)
def test_a_question_for_none(body: str, does: bool) -> None:
    names: dict[str, Any] = {}
    exec(f"def function(x, f=None):\n    {body}", names)
    assert asks_for_none("past", names["function"].__code__) is does
