"""Files that import all of a module of the library, whose ``__all__`` lists less than they use: without torch."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hotfix.patching import restoring, tabled

HERE = Path(__file__).parent
NAME = "transformers.modeling_kit"
KIT = """
class Attention: pass
class Model: pass
def repeat(x): return x * 2
_own = 1
__all__ = ["Model"]
"""
ROWS = """1.0.0 modeling_kit other_kit
@modeling_kit
Gone 1.0.0 alias collections:OrderedDict
"""
FILES = [
    (head, text)
    for head, text in re.findall(r"^== (.+)\n((?:(?!== |Below).*\n)*)", (HERE / "star_imports.txt").read_text(), re.M)
]
needs_bytecode = pytest.mark.skipif(sys.version_info >= (3, 14), reason="nothing is restored there")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tabled.Removed]:
    """The table of a release, which has given the module its class."""
    (tmp_path / "rows.txt").write_text(ROWS)
    made = tabled.Removed((2, 0, 0), tabled.FIXES, tmp_path / "rows.txt")
    for name in (NAME, "transformers.other_kit"):
        module = types.ModuleType(name)
        exec(KIT, vars(module))
        monkeypatch.setitem(sys.modules, name, module)
        made.put(module)
    monkeypatch.setitem(sys.modules, "transformers", types.ModuleType("transformers"))
    yield made
    made.clear()


def executed(text: str, first: str = f"from {NAME} import *\n") -> dict[str, Any]:
    """The public names of a file after it ran."""
    space: dict[str, Any] = {"__name__": "mine", "__builtins__": __builtins__}
    exec(compile(first + text, "mine.py", "exec", dont_inherit=True), space)
    return {name: value for name, value in space.items() if not name.startswith("__")}


@needs_bytecode
@pytest.mark.parametrize(("head", "text"), FILES, ids=[head for head, _ in FILES])
def test_a_file_gets_what_it_would_fail_without(table: tabled.Removed, head: str, text: str) -> None:
    names = {"Attention", "Gone", "Optional", "Tuple", "_own", "math", "never_heard_of", "repeat"}
    expected = head.partition(", gives ")[2].split()
    after = executed(text)
    if expected:
        assert sorted(names & after.keys()) == expected
        assert after.get("Attention") in (None, vars(sys.modules[NAME])["Attention"])
        return
    table.clear()
    before = executed(text)
    assert {name: type(value) for name, value in after.items()} == {name: type(value) for name, value in before.items()}


@needs_bytecode
def test_the_last_of_two_modules_counts(table: tabled.Removed) -> None:
    both = f"from {NAME} import *\nfrom transformers.other_kit import *\n"
    assert executed("Attention", both)["Attention"] is vars(sys.modules["transformers.other_kit"])["Attention"]
    own = f"from {NAME} import *\nrepeat = 1\nfrom transformers.other_kit import *\n"
    assert executed("repeat", own)["repeat"] == 1


@needs_bytecode
def test_code_that_expects_the_failure_of_a_file_gets_nothing(table: tabled.Removed) -> None:
    for handler, is_given in (("NameError", False), ("Exception", False), ("ImportError", True)):
        space: dict[str, Any] = {"__name__": "outer"}
        inner = f"from {NAME} import *\nAttention\n"
        text = f"try:\n    exec(compile({inner!r}, 'inner.py', 'exec'), space)\nexcept {handler}:\n    given = False"
        exec(compile(f"given, space = True, {{}}\n{text}", "outer.py", "exec"), space)
        assert space["given"] is is_given, handler


@needs_bytecode
def test_what_is_given_is_recorded(table: tabled.Removed) -> None:
    executed("Attention, Gone")
    received = restoring.received()
    assert received[f"{NAME}:Attention"] == ("star-imports-of-modules", "mine.py:1")
    assert received[f"{NAME}:Gone"].fix == "names-elsewhere"


def test_the_list_of_a_module_behaves_as_before(table: tabled.Removed) -> None:
    module: Any = sys.modules[NAME]
    assert module.__all__ is vars(module)["__all__"]
    module.__all__ = ["repeat"]
    assert vars(module)["__all__"] == ["repeat"]
    assert "Model" not in executed("")
    del module.__all__
    assert not hasattr(module, "__all__")
    with pytest.raises(AttributeError, match="has no attribute '__all__'"):
        del module.__all__
    assert {"Model", "Attention", "repeat"} <= executed("").keys()
    table.clear()
    assert type(module) is types.ModuleType


@needs_bytecode
def test_names_that_modules_imported_from_elsewhere(table: tabled.Removed) -> None:
    from typing import Optional

    space: dict[str, Any] = {}
    exec(f"from {NAME} import Optional", space)
    assert space["Optional"] is Optional
    assert not hasattr(sys.modules[NAME], "Optional")
    with pytest.raises(ImportError):
        exec(f"from {NAME} import never_heard_of", space)
