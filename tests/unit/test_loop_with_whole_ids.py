"""What code does with the inputs that it gets, on every version of Python."""

from __future__ import annotations

import sys
from typing import Any, Optional

import pytest

from hotfix.names.v5_loop_with_whole_ids import called, use_of_result


@pytest.mark.parametrize("kind", ["function", "module"])
@pytest.mark.parametrize(
    ("body", "use"),
    [
        ("m(**p(ids))", "passed"),
        ("inputs = p(ids); m(**inputs)", "passed"),
        ("inputs = p(ids); ids = m(**inputs, return_dict=True)", "passed"),
        ("inputs = p(ids); inputs.pop('labels', None); inputs['labels'] = 3; m(**inputs)", "passed"),
        ("inputs = p(ids); inputs['input_ids'] = inputs['input_ids'][:, 3:]; m(**inputs)", None),
        ("inputs = p(ids); inputs['past_key_values'] = ids; m(**inputs)", None),
        ("inputs = p(ids); inputs.pop('attention_mask'); m(**inputs)", None),
        ("inputs = p(ids); inputs.update(labels=3); m(**inputs)", None),
        ("inputs = p(ids); m(**{**inputs, 'labels': 3})", None),
        ("inputs = p(ids); m(inputs); m(**inputs)", None),
        ("inputs = p(ids); m.crop(0); m(**inputs)", None),
        ("return p(ids)", "returned"),
        ("inputs = p(ids); return inputs", "returned"),
    ],
)
def test_use_of_the_inputs(kind: str, body: str, use: Optional[str]) -> None:
    answers: list[Any] = []

    def prepare(ids: Any) -> Any:
        frame = sys._getframe(1)
        answers.append(use_of_result(frame.f_code, frame.f_lasti))
        raise StopIteration

    names: dict[str, Any] = {"p": prepare, "m": None, "ids": None}
    if "return" in body and kind == "module":
        pytest.skip("a module returns nothing")
    code = body if kind == "module" else f"def function(p, m, ids):\n    {body}\nfunction(p, m, ids)"
    with pytest.raises(StopIteration):
        exec(code, names)
    assert answers == [use]


@pytest.mark.parametrize("kind", ["function", "module"])
@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("m(**p(ids))", [("m",)]),
        ("inputs = p(ids); m(**inputs)", [("m",)]),
        ("inputs = p(ids); m.inner.model(**inputs, return_dict=bool(1))", [("m", "inner", "model")]),
        ("inputs = p(ids); ids = m.forward(ids, **inputs).logits", [("m", "forward")]),
        ("inputs = p(ids); m.get()(**inputs)", [()]),
        ("inputs = p(ids); m[0](**inputs)", [()]),
        ("inputs = p(ids); m(**inputs); ids(**inputs)", [("m",), ("ids",)]),
    ],
)
def test_what_is_called_with_the_inputs(kind: str, body: str, names: list[tuple[str, ...]]) -> None:
    answers: list[Any] = []

    def prepare(ids: Any) -> Any:
        answers.append(called(sys._getframe(1)))
        raise StopIteration

    space: dict[str, Any] = {"p": prepare, "m": None, "ids": None}
    code = body if kind == "module" else f"def function(p, m, ids):\n    {body}\nfunction(p, m, ids)"
    with pytest.raises(StopIteration):
        exec(code, space)
    assert answers == [tuple(names)]
