"""Whether torch.compile traces a call, with every torch that the releases run on."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

import hotfix
from hotfix.patching import asked, scope

ON_NEW_TORCH_ALONE = {"models/qwenvl_v5_stale_rope_deltas_forward.py"}  # transformers 5 needs torch 2.4


def module(name: str, answer: bool | None = None) -> types.ModuleType:
    made = types.ModuleType(name)
    if answer is not None:
        made.is_compiling = lambda: answer  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    ("compiler", "dynamo", "expected"),
    [
        (None, None, False),  # torch is not imported
        (module("torch.compiler", True), None, True),
        (module("torch.compiler", False), module("torch._dynamo", True), False),
        (module("torch.compiler"), None, False),  # torch 2.1 and 2.2, before the first compilation
        (module("torch.compiler"), module("torch._dynamo", True), True),
        (None, module("torch._dynamo", True), True),  # torch 2.0
    ],
)
def test_the_question_has_an_answer_with_every_torch(monkeypatch, compiler, dynamo, expected):
    for made, name in ((compiler, "torch.compiler"), (dynamo, "torch._dynamo")):
        monkeypatch.delitem(sys.modules, name, raising=False)
        if made is not None:
            monkeypatch.setitem(sys.modules, name, made)
    assert asked.is_compiling() is expected
    assert scope._is_compiling() is expected


def test_no_repair_asks_a_torch_that_may_not_know():
    root = Path(hotfix.__file__).parent
    asking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "proofs" not in path.parts and "torch.compiler.is_compiling()" in path.read_text(encoding="utf-8")
    }
    assert asking == ON_NEW_TORCH_ALONE | {"asking/__init__.py"}  # that one in a docstring
