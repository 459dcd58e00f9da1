"""Programs that run without a name which their release lacks, and programs that would crash: without torch.

`fallbacks.txt` has the former, whose output is the same with the names restored; `plain.txt` the latter, which end
without them and run with them. Both are shapes of public code.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from hotfix.fix import Fix
from hotfix.patching import restoring
from hotfix.patching.journal import Journal

HERE = Path(__file__).parent
KIT = {
    "__init__": """
import importlib, sys, types
class Lazy(types.ModuleType):
    def __dir__(self):
        return [*super().__dir__(), *self._class_to_module]
    def __getattr__(self, name):
        if name not in self._class_to_module:
            raise AttributeError(f"module {self.__name__} has no attribute {name}")
        value = getattr(importlib.import_module("kit." + self._class_to_module[name]), name)
        setattr(self, name, value)
        return value
module = Lazy(__name__)
module.__dict__.update(__path__=__path__, __file__=__file__, __spec__=__spec__, __all__=["Other"])
module._class_to_module = {"Other": "optim", "Dynamic": "caches"}
sys.modules[__name__] = module
""",
    "optim": """
class Other:
    decay = 0.01
""",
    "caches": """
class Cache:
    def __init__(self, layers=()):
        self.layers = list(layers)
    def length(self):
        return len(self.layers)
class Dynamic(Cache):
    def __iter__(self):
        return iter(self.layers)
class Static(Cache):
    pass
""",
    "models": """
class Module:
    def __init__(self):
        self.parts = {}
    def __getattr__(self, name):
        parts = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
class Model(Module):
    pass
""",
    "tokens": """
class Base:
    def __getattr__(self, key):
        if key == "special":
            return "a token"
        for cls in type(self).__mro__:
            if key in vars(cls):
                return vars(cls)[key]
        raise AttributeError(f"{self.__class__.__name__} has no attribute {key}")
class Tokens(Base):
    late = property(lambda self: self.missing)
""",
    "rope": 'ROPE = {"linear": "a", "dynamic": "b"}\n',
    "flags": "def is_torch():\n    return True\n",
}


class Adam:
    """An optimizer that is gone."""

    decay = 0.0


def is_tf() -> bool:
    """Whether another framework is available."""
    return False


class Lists:
    """A view of the layers of a cache, to which lists can be assigned."""

    takes_assignments = True

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else instance.layers

    def __set__(self, instance: Any, value: Any) -> None:
        instance.layers = list(value)


def gone(package: Any) -> Any:
    """The module that is gone."""
    from types import ModuleType

    module = ModuleType("kit.gone")
    vars(module)["thing"] = lambda: "a thing"
    return module


def fix_of_names() -> Fix:
    fix = Fix(id="names", title="names are gone", kind="removed-api", group="removed-names")
    fix.adds("kit.optim:Adam", exported_by=("kit",))(Adam)
    fix.adds("kit.flags:is_tf")(is_tf)
    fix.adds_modules("kit:gone")(gone)
    fix.adds_made("kit.caches:Cache.seen")(lambda module: property(lambda cache: cache.length()))
    fix.adds_made("kit.caches:Cache.lists")(lambda module: Lists())
    fix.adds_made("kit.caches:Cache.__getitem__")(lambda module: lambda cache, index: cache.layers[index])
    fix.adds_made("kit.caches:Dynamic.from_tuples")(lambda module: classmethod(lambda cls, pairs: cls(pairs)))
    fix.adds_made("kit.models:Model.head_mask")(lambda module: lambda model: "a mask")
    fix.adds_made("kit.tokens:Base.encode")(lambda module: lambda tokens, text: [len(text)])
    fix.adds_made("kit.tokens:Base.extended")(lambda module: property(lambda tokens: ["extended"]))
    fix.adds_made("kit.rope:ROPE['default']")(lambda module: lambda: "frequencies")
    return fix


def programs(file: str) -> dict[str, dict[str, str]]:
    """The files of each program by name; the main file is ``program.py``."""
    objects = {}
    _, *parts = re.split(r"^== (.+)\n", (HERE / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    for name, text in zip(parts[::2], parts[1::2]):
        first, *others = re.split(r"^-- (\S+)\n", text, flags=re.MULTILINE)
        objects[name] = {"program.py": first, **dict(zip(others[::2], others[1::2]))}
    return objects


FALLBACKS, PLAIN = programs("fallbacks.txt"), programs("plain.txt")


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Runs a program with or without the names restored; returns its output and its error."""
    for name, text in KIT.items():
        (tmp_path / "kit").mkdir(exist_ok=True)
        (tmp_path / "kit" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def run(files: dict[str, str], restores: bool) -> tuple[list[str], str]:
        for name in [module for module in sys.modules if module.startswith(("kit", "fb_", "pl_"))]:
            del sys.modules[name]
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        importlib.invalidate_caches()
        for kind in (Adam, is_tf):  # an object belongs to the module that it was added to
            kind.__module__, kind.__qualname__ = __name__, kind.__name__
        journal, fix = Journal(), fix_of_names()
        if restores:
            for target in fix.targets:
                journal.install(fix, target, importlib.import_module(target.module))
        out, error = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")
        except BaseException as raised:
            error = type(raised).__name__
        finally:
            assert all("has replaced seen" in stranded.reason for stranded in journal.uninstall())
        return out.getvalue().splitlines(), error

    return run


@pytest.mark.parametrize("name", FALLBACKS)
def test_a_program_with_a_fallback_prints_the_same_as_before(world, name):
    said, error = world(FALLBACKS[name], restores=False)
    assert (bool(said), error) == (True, "")
    assert world(FALLBACKS[name], restores=True) == (said, "")
    assert restoring.received() == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", PLAIN)
def test_a_program_that_would_end_gets_the_name(world, name):
    _, error = world(PLAIN[name], restores=False)
    assert error
    said, error = world(PLAIN[name], restores=True)
    assert (bool(said), error) == (True, "")


def test_there_are_as_many_as_were_promised():
    further_up = [name for name in FALLBACKS if name.startswith("further up")]
    assert min(len(FALLBACKS), len(PLAIN)) >= 40
    assert len(further_up) >= 10


def test_received_names_are_recorded_with_the_first_place_that_used_them(world, monkeypatch):
    names = []
    monkeypatch.setattr(restoring.receipts, "_listeners", [lambda: names.append(restoring.received())])
    kept = {}
    monkeypatch.setattr(restoring, "forget", lambda target: kept.update(restoring.received()))
    monkeypatch.setattr(restoring.receipts, "_received", {})
    text = "from kit import Adam\nimport kit.gone\nfrom kit.caches import Dynamic\nprint(Dynamic().seen)\nkit.Adam\n"
    assert world({"program.py": text}, restores=True) == (["0"], "")
    assert kept == {
        "kit:Adam": restoring.Received("names", "program.py:1"),
        "kit:gone": restoring.Received("names", "program.py:2"),
        "kit.caches:Cache.seen": restoring.Received("names", "program.py:4"),
    }
    assert len(names) == 1


def test_each_of_two_tables_finds_its_modules(monkeypatch):
    """Where a table is replaced before the old one is cleared, both are asked."""
    monkeypatch.setattr(restoring.modules, "would_end", lambda *_: True)
    finder = restoring.Modules()
    modules = {name: types.ModuleType(name) for name in ("kit.first", "kit.second")}
    tables = [{name: module}.get for name, module in modules.items()]
    for number, table in enumerate(tables):
        finder.listen(table, f"fix-{number}")
    try:
        for name, module in modules.items():
            spec = finder.find_spec(name)
            assert spec is not None
            assert importlib.util.module_from_spec(spec) is module
            assert restoring.received()[name.replace(".", ":")].fix == f"fix-{list(modules).index(name)}"
        assert finder.find_spec("kit.third") is None
    finally:
        for table in tables:
            finder.unlisten(table)
    assert finder not in sys.meta_path
