"""Whether torch.compile traces a call, with every torch that the releases run on."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

import hotfix
from hotfix.patching import compiling, scope

ON_NEW_TORCH_ALONE = {
    "models/qwenvl_v5_stale_rope_deltas_forward.py",  # transformers 5 needs torch 2.4
    "neighbours/is_compiling_old_torch.py",  # the code that it repairs
}


def module(name: str, **members: object) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(members)
    return made


def guards(reader: str, context: object) -> types.ModuleType:
    return module("torch._guards", TracingContext=types.SimpleNamespace(**{reader: lambda: context}))


TORCH = module("torch")


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ((), False),
        ((TORCH, module("torch.compiler", is_compiling=lambda: True)), True),
        ((TORCH, module("torch.compiler", is_compiling=lambda: False), guards("try_get", 1)), False),
        ((TORCH, module("torch.compiler")), False),
        ((TORCH, module("torch.compiler"), guards("try_get", None)), False),  # torch 2.2
        ((TORCH, module("torch.compiler"), guards("try_get", object())), True),
        ((TORCH, guards("get", None)), False),  # torch 2.0
        ((TORCH, guards("get", object())), True),
    ],
)
def test_the_question_has_an_answer_with_every_torch(monkeypatch, modules, expected):
    for name in ("torch", "torch.compiler", "torch._guards"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for made in modules:
        monkeypatch.setitem(sys.modules, made.__name__, made)
    assert compiling.is_compiling() is expected
    assert scope._is_compiling() is expected


def test_no_repair_asks_a_torch_that_may_not_know():
    root = Path(hotfix.__file__).parent
    asking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "proofs" not in path.parts and "torch.compiler.is_compiling()" in path.read_text(encoding="utf-8")
    }
    assert asking == ON_NEW_TORCH_ALONE | {"asking/__init__.py"}  # that one in a docstring
