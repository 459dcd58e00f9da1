"""Hundreds of programs that look up a missing name, run for real; `shapes.txt` has them and the right answers."""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from hotfix import asking

TEXT = (Path(__file__).parent / "shapes.txt").read_text(encoding="utf-8")
HEADERS = re.compile(r"^== (.+): (end|leave|either)\n", re.MULTILINE)
LAZY = """
import importlib

def __getattr__(name):
    if name != "Thing":
        raise AttributeError(name)
    return importlib.import_module("usesattr").x
"""
FILES = {
    "plainmod.py": "import os\nfrom gonelib import Gone\n",
    "plainmod2.py": "import plainmod\n",
    "usesattr.py": "import gonelib\nx = gonelib.Gone\n",
    "lazypkg.py": LAZY,
    "lazypkg2/__init__.py": LAZY,
}


def shapes() -> dict[str, tuple[str, str]]:
    """The programs and the right answers, by name."""
    _, *parts = HEADERS.split(TEXT)
    programs = {name: (text, answer) for name, answer, text in zip(parts[::3], parts[1::3], parts[2::3])}
    long = "".join(f"    x{n} = {n}\n" for n in range(600))
    tries = "try:\n    x = 1\nexcept ImportError:\n    pass\n"
    programs["a long try"] = (f"try:\n{long}    from gonelib import Gone\nexcept ImportError:\n    pass\n", "leave")
    programs["after a long try"] = (f"try:\n{long}except ImportError:\n    pass\nfrom gonelib import Gone\n", "end")
    programs["after a thousand tries"] = (tries * 1000 + "from gonelib import Gone\n", "end")
    names = "".join(f"try:\n    x{n}\nexcept NameError:\n    pass\n" for n in range(300))
    programs["after three hundred names"] = (f"{names}from gonelib import Gone\n", "end")
    programs["after three hundred names, in a try"] = (
        f"{names}try:\n    from gonelib import Gone\nexcept ImportError:\n    pass\n",
        "leave",
    )
    return programs


SHAPES = shapes()


class Missing:
    """A missing name: a descriptor that records whether the program would end, and returns no value."""

    def __init__(self, name: str, answers: list[bool]) -> None:
        self.name = name
        self.answers = answers

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None and issubclass(owner, types.ModuleType):
            return self
        of_module = issubclass(owner, types.ModuleType)
        self.answers.append(asking.would_end(AttributeError, asking=2, name=self.name, of_module=of_module))
        raise AttributeError(self.name)


class Finder(importlib.abc.MetaPathFinder):
    """A finder for a module that is gone."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers

    def find_spec(self, name, path=None, target=None):
        if name == "gonepkg.sub":
            self.answers.append(asking.would_end(ModuleNotFoundError, asking=2))


@pytest.fixture
def answers(tmp_path, monkeypatch):
    answers: list[bool] = []

    def module(name: str, **names: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        made.__class__ = type("Module", (types.ModuleType,), {key: Missing(key, answers) for key in ("Gone", "Gone2")})
        vars(made).update(names)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    members = {name: Missing(name, answers) for name in ("seen_tokens", "get_usable", "seen")}
    kind = type("Cache", (), members)
    module("gonelib", __all__=["here", "Gone"], here=1, Cache=kind, Thing=kind, thing=kind())
    module("gonepkg", __path__=[])
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [Finder(answers), *sys.meta_path])
    yield answers
    for name in ("plainmod", "plainmod2", "usesattr", "lazypkg", "lazypkg2"):
        sys.modules.pop(name, None)


def run(text: str, name: str, file: Path) -> None:
    file.write_text(text)
    code = compile(text, str(file), "exec")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, {"__name__": name, "__file__": str(file)})


def run_to_its_end(text: str, name: str, file: Path) -> None:
    """Run a program without the name, as a test runner does: a broad handler that reports the error."""
    try:
        run(text, name, file)
    except BaseException as error:
        print(error)


@pytest.mark.filterwarnings("ignore")  # threads that finish
@pytest.mark.parametrize("name", SHAPES)
def test_the_answer_is_right(name: str, answers: list[bool], tmp_path: Path) -> None:
    if name.startswith("match-class") and sys.version_info < (3, 10):
        pytest.skip("the statement is of Python 3.10")
    text, answer = SHAPES[name]
    run_to_its_end(text, "__main__" if "script" in name else "a_shape", tmp_path / "shape.py")
    if answer == "end":
        assert any(answers)  # importlib may first check whether a package has the name
    elif answer == "leave":
        assert answers[0] is False


def test_the_answer_is_the_same_when_it_is_kept(answers: list[bool], tmp_path: Path) -> None:
    text = "import gonelib\nfor n in range(2):\n    try:\n        gonelib.Gone\n    except KeyError:\n        pass\n"
    code = compile(text + "    except AttributeError:\n        pass\n", "kept", "exec")
    exec(code, {"__name__": "kept"})
    assert answers == [False, False]


def test_a_place_that_is_called_from_inside_a_try_is_judged_again(answers: list[bool], tmp_path: Path) -> None:
    text = "import gonelib\ndef ask():\n    return gonelib.Gone\n"
    text += "for _ in (1, 2):\n    try:\n        ask()\n    except {}:\n        pass\n"
    for error, expected in (("KeyError", True), ("AttributeError", False)):
        answers.clear()
        run_to_its_end(__import__("textwrap").dedent(text.format(error)), "a_shape", tmp_path / "shape.py")
        assert set(answers) == {expected}


LEARNING = """import contextlib, gonelib
class Settings: kinds = ()
KINDS = KeyError
def ask(): return gonelib.thing.seen_tokens
def f():
    {}
try:
    f()
except AttributeError:
    KINDS = Settings.kinds = AttributeError
    f()
"""


@pytest.mark.parametrize(
    "text",
    [
        "try: return ask()\n    except KINDS as error: print(error)",
        "try: return ask()\n    except Settings.kinds as error: print(error)",
        "with contextlib.suppress(KINDS): return ask()",
        "with contextlib.suppress(Settings.kinds): return ask()",
    ],
)
def test_classes_that_a_program_learns_count_from_then_on(text: str, answers: list[bool], tmp_path: Path) -> None:
    for _ in range(2):
        run_to_its_end(LEARNING.format(text), "a_shape", tmp_path / "shape.py")
    assert answers == [False] * 4  # the first one is handled below


def test_classes_of_a_module_that_change_are_read_each_time(answers: list[bool], tmp_path: Path) -> None:
    text = "import gonelib\nKINDS = KeyError\ndef ask(): return gonelib.thing.seen_tokens\ndef f():\n"
    text += "    try: return ask()\n    except KINDS as error: print(error)\n"
    space: dict[str, Any] = {"__name__": "a_shape"}
    exec(text, space)
    for kind in (KeyError, AttributeError, (OSError,), (OSError, AttributeError)):
        space["KINDS"] = kind
        try:
            space["f"]()
        except BaseException as error:
            print(error)
    assert answers == [True, False, True, False]


# ---------------------------------------------------------------------------------------------------------------------
# Errors during a call.


def call(handled: list[bool], error: type[BaseException] = TypeError) -> None:
    handled.append(asking.is_handled(error, sys._getframe(1)))


def test_a_handler_in_the_frame_that_calls_counts() -> None:
    handled: list[bool] = []
    try:
        call(handled)
    except Exception:
        print("a fallback")
    assert handled == [True]


def test_a_handler_that_names_the_error_counts_further_up() -> None:
    handled: list[bool] = []

    def calls() -> None:
        call(handled)

    try:
        calls()
    except (KeyError, TypeError):
        print("a fallback")
    assert handled == [True]


def test_a_broad_handler_that_reports_the_error_does_not_count_further_up() -> None:
    handled: list[bool] = []

    def calls() -> None:
        call(handled)

    try:
        calls()
    except Exception as error:
        print("this is reported", error)
    assert handled == [False]


def test_a_broad_handler_around_a_module_counts_like_one_around_a_function() -> None:
    nn: Any = pytest.importorskip("torch.nn")
    handled: list[bool] = []

    class Layer(nn.Module):
        def forward(self) -> int:
            handled.append(asking.is_handled(TypeError, sys._getframe(1)))
            return 1

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Layer()

        def forward(self) -> int:
            return int(self.layer())

    for module in (Layer(), Model()):
        module.register_forward_hook(lambda *arguments: None)  # torch has a function of its own for modules with hooks
        try:
            print(module())
        except Exception as error:
            print("a substitute", error)
    assert handled == [True, False]  # the second one is further up


def test_a_handler_for_another_error_does_not_count() -> None:
    handled: list[bool] = []
    try:
        call(handled)
    except KeyError:
        print("a fallback")
    assert handled == [False]


# ---------------------------------------------------------------------------------------------------------------------
# Code that Python specializes after many runs.


@pytest.mark.parametrize("text", ["hasattr(it, 'Gone')", "getattr(it, 'Gone', None)", "it.Gone", "getattr(it, 'Gone')"])
def test_a_place_that_is_run_often_is_judged_as_before(text: str) -> None:
    answers: list[bool] = []

    class It:
        @property
        def Gone(self) -> int:
            answers.append(asking.would_end(AttributeError, asking=2, name="Gone"))
            return 1

    exec(f"def ask(it):\n    for _ in range(100):\n        {text}\nask(it)", {"it": It()})
    assert set(answers) == {"Gone'," not in text and "hasattr" not in text}


def test_a_property_with_a_fallback_gets_the_same_answer_each_time() -> None:
    answers: list[bool] = []

    class Cache:
        @property
        def gone(self) -> int:
            answers.append(asking.would_end(AttributeError, asking=2, name="gone"))
            raise AttributeError("gone")

    text = """class Model:
    @property
    def length(self):
        return cache.gone
    def __getattr__(self, name):
        return 0

def use(model):
    return [model.length for _ in range(3)]
use(Model())
"""
    exec(text, {"cache": Cache(), "__name__": "program"})
    assert answers == [False] * 3


@pytest.mark.parametrize(("package", "expected"), [("hotfix.names.anything", False), ("torch.nn", True)])
def test_a_mix_in_behind_a_hook_of_a_repair_is_a_fallback(package: str, expected: bool) -> None:
    answers: list[bool] = []

    class It:
        @property
        def gone(self) -> None:
            answers.append(asking.would_end(AttributeError, asking=2, name="gone"))

    space: dict[str, Any] = {"__name__": package}
    exec("def hook(self, name): raise AttributeError(name)", space)
    base = type("Base", (), {"__getattr__": space["hook"], "__module__": "transformers"})
    text = """class Settings:
    def __getattr__(self, name): return "from the settings"
class Config(Base, Settings):
    @property
    def theta(self): return it.gone
Config().theta
"""
    exec(text, {"it": It(), "Base": base, "__name__": "program"})
    assert answers == [expected]


@pytest.mark.parametrize(("variable", "expected"), [("_hotfix_error", True), ("error", False)])
def test_a_handler_that_a_tool_has_put_into_a_function_does_not_count(variable, expected) -> None:
    answers: list[bool] = []

    class It:
        @property
        def gone(self) -> None:
            answers.append(asking.would_end(AttributeError, asking=2, name="gone"))

    text = "def ask(it):\n    try:\n        it.gone\n"
    text += f"    except (TypeError, AttributeError) as {variable}:\n        return {variable}\nask(it)"
    exec(text, {"it": It()})
    assert answers == [expected]


LIBRARY = """
def calls_back(callback):
    return callback()

def fails():
    handled.append(asking.is_handled(TypeError, sys._getframe(0), library="thelibrary"))
"""


@pytest.mark.parametrize("handles", [True, False])
def test_any_handler_of_a_method_counts_that_runs_within_the_library(handles: bool) -> None:
    library: dict[str, Any] = {"__name__": "thelibrary.part", "handled": [], "asking": asking, "sys": sys}
    exec(LIBRARY, library)

    def prepared() -> None:
        try:
            library["fails"]()
        except Exception as error:
            print(error)

    library["calls_back"](prepared if handles else library["fails"])
    assert library["handled"] == [handles]
