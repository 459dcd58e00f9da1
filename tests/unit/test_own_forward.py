"""What a forward does with the cache that it is given, on every version of Python."""

from __future__ import annotations

from typing import Any

import pytest

from hotfix.names.own_forward_with_past_key_values import hands_on


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("return f(x, past)", True),
        ("return f(x, g(x), past=past, y=g(1))", True),
        ("return f(past=past if x else None, y=x)", True),
        ("return f.g(1, past, x + 1)", True),
        ("k = past.update(x, x, 0); return k", True),
        ("kw = {'past': past, 'x': x}; return f(**kw)", True),
        ("kw = dict(x=1); kw['past'] = past; return f(**kw)", True),
        ("cache = past; return f(x, cache)", True),
        ("return [f(x, past) for _ in x]", True),
        ("return f(*x, past=past, **x)", True),
        ("if past is None: past = g()\n    return f(past)", True),
        ("if past is not None: raise ValueError('none')\n    return f(x)", False),
        ("if past is not None: raise ValueError(f'{past}')\n    return f(x)", False),
        ("if past: print('cache')\n    return f(x)", False),
        ("assert not past; return f(x)", False),
        ("if isinstance(past, tuple): raise TypeError\n    return f(x)", False),
        ("state = past if past is not None else g(); state = state * 0.5 + f(x); return state", False),
        ("return f(x, past is None)", False),
        ("return f(x) + past", False),
    ],
)
def test_a_value_that_is_handed_on(body: str, does: bool) -> None:
    names: dict[str, Any] = {}
    exec(f"def function(x, past=None, f=None, g=None):\n    {body}", names)
    assert hands_on(names["function"].__code__, "past") is does
