"""An error with the text of a repaired bug, raised by the program's own code, is the program's."""

from __future__ import annotations

import sys
from typing import Any, Callable

import pytest

from hotfix.patching import scope

_PATTERN = ("TypeError: …__init__() got an unexpected keyword argument …", "KeyError: …")


def _declared(run: Callable[[], Any], patterns: tuple[str, ...] = _PATTERN) -> bool:
    try:
        run()
    except Exception as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        return scope.is_declared(_hotfix_error, "some-fix", patterns, "transformers")
    raise AssertionError("no error")


def _in(module: str, text: str) -> Callable[..., Any]:
    """A function of a module of this name."""
    namespace: dict[str, Any] = {"__name__": module}
    exec(compile(text, f"/home/someone/{module}.py", "exec"), namespace)
    function: Callable[..., Any] = namespace["run"]
    return function


_TRACKER = "class Tracker:\n    def __init__(self): pass\n"


@pytest.mark.parametrize(
    ("module", "text", "is_declared"),
    [
        ("transformers.trainer", f"{_TRACKER}def run(): Tracker(entity=1)", True),
        ("__main__", f"{_TRACKER}def run(): Tracker(entity=1)", False),
        ("my.project", f"{_TRACKER}def run(): Tracker(entity=1)", False),
        ("transformers_modules.mine", "def run(): return {}['type']", False),
        ("transformers.models.llama", "def run(): return {}['type']", True),
    ],
)
def test_the_code_that_raises_decides(module: str, text: str, is_declared: bool) -> None:
    """The module of the frame that raises."""
    assert _declared(_in(module, text)) is is_declared


@pytest.mark.parametrize(("caller", "is_declared"), [("transformers.models.llama", True), ("__main__", False)])
def test_a_module_of_torch_stands_for_its_caller(caller: str, is_declared: bool) -> None:
    """``self.layer(x)`` fails within torch, for the code that calls the layer."""
    called = _in("torch.nn.modules.module", f"{_TRACKER}def run(): Tracker(entity=1)")
    calling = _in(caller, "def run(called): called()")
    assert _declared(lambda: calling(called)) is is_declared


def test_the_library_is_one_for_a_wrapper_of_ours_too() -> None:
    """A cure that asks by itself is in a module of hotfix, and the release's code raises."""
    refused = _in("transformers.modeling_utils", f"{_TRACKER}def run(): Tracker(entity=1)")
    wrapper = """
from hotfix.patching import scope
def run(refused, patterns):
    try:
        refused()
    except TypeError as _hotfix_error:
        return scope.is_declared(_hotfix_error, "some-fix", patterns)
"""
    assert _in("hotfix.names.some", wrapper)(refused, _PATTERN) is True


def test_any_error_of_a_constructor() -> None:
    """A fix that waits for whatever a class of the program raises gets it."""
    assert _declared(_in("__main__", "def run(): return {}['type']"), ("Exception: …",))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the error does not name the class")
@pytest.mark.parametrize(("above", "is_declared"), [("Library", True), ("Other", False)])
def test_a_method_that_passes_its_call_on_stands_for_its_caller(above: str, is_declared: bool) -> None:
    """The override of a subclass hands its arguments to the library's method, or to another class of its own."""
    text = (
        "class Library:\n    def pad(self): pass\n"
        "class Other:\n    def pad(self): pass\n"
        f"class Mine(Library):\n    def pad(self, **kwargs): {above}.pad(self, **kwargs)\n"
        "def run(): return Mine()"
    )
    mine = _in("__main__", text)()
    call = _in("transformers.tokenization", "def run(mine): mine.pad(side=1)")
    assert _declared(lambda: call(mine), ("TypeError: …pad() got an unexpected keyword argument …",)) is is_declared


@pytest.mark.parametrize(
    ("text", "is_declared"),
    [
        ("def run(): import not_there_at_all", True),
        ("def run(): raise ModuleNotFoundError(\"No module named 'not_there_at_all'\")", False),
    ],
)
def test_a_module_that_is_not_found_is_an_error_of_python(text: str, is_declared: bool) -> None:
    """Remote code that imports its neighbour has not raised the error itself."""
    patterns = ("ModuleNotFoundError: No module named '…'",)
    assert _declared(_in("transformers_modules.mine", text), patterns) is is_declared
