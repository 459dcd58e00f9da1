"""The verdict is about the code that runs.

- A function that a project has wrapped is the project's own affair: it is `foreign`, and stays as it is.
- A function that decorators in the source have wrapped is not foreign, wherever these are written.
- Code that cannot be read (bytecode alone, a rewritten module) is `unknown`, never `absent`: a required fix is missing.
- A lazily loaded module is repaired like any other.
- If the file differs from the running code (an upgrade under a running process, stale bytecode), nothing is changed or
  called good.
- Bytecode without columns, and with the padding of a profiler, is the same program.
- A version number vouches only for the files that the installer has listed.
- Form feeds and Unicode's line ends do not count as lines, and of two definitions of a name the last one is judged.
- An editable installation and a distribution under another name are found, with their version.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import dis
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import py_compile
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from hotfix._support import memo
from hotfix.errors import HotfixError
from hotfix.versions import installed, source
from tests.facts import lacking

from .conftest import FIX, TOY, Lab, World, digest_of, handled, said

BROKEN = """
def scale(x, factor=2):
    return x + factor


class Layer:
    def forward(self, x):
        return x + 2
"""
GOOD = BROKEN.replace("+ factor", "* factor")
REQUIRED = {"HOTFIX_STRICT": "1", "HOTFIX_REQUIRE": "toy-scale"}
IMPORT = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n"


def scale(x, factor=2):
    return x * factor


def broken_scale(lab: Lab, text: str = BROKEN):
    fix = lab.fix(scale=text)
    fix.replaces("toys.toy:scale")(scale)
    return fix


def broken_layer(lab: Lab, text: str = BROKEN):
    fix = lab.fix(Layer__forward=text)
    fix.edits("toys.toy:Layer.forward", old="x + 2", new="x * 2")
    return fix


# -- somebody else's layers ----------------------------------------------------------------------------------------


def test_a_projects_own_workaround_is_not_corrected_a_second_time(lab: Lab) -> None:
    toy = lab.module(text=BROKEN)
    lab.write("theirs.py", "")
    theirs = importlib.import_module("theirs")
    wrapper = """
    import functools
    def around(function):
        @functools.wraps(function)
        def wrapper(x, factor=2):
            return (function(x, factor) - factor) * factor
        return wrapper
    """
    exec(compile(textwrap.dedent(wrapper), str(theirs.__file__), "exec"), vars(theirs))
    toy.scale = theirs.around(toy.scale)
    (outcome,) = handled(lab.session(broken_scale(lab)))
    assert said([outcome]) == [("foreign", "skipped")]
    assert f"{theirs.__file__}:4" in outcome.reason
    assert toy.scale(5) == 10  # their repair, once


@pytest.mark.parametrize("kind", ["object", "proxy"])
def test_a_workaround_that_is_no_function_is_not_corrected_a_second_time_either(lab: Lab, kind: str) -> None:
    import wrapt

    toy = lab.module(text=BROKEN)

    class Around:
        def __init__(self, function):
            functools.update_wrapper(self, function)

        def __call__(self, x, factor=2):
            return (self.__wrapped__(x, factor) - factor) * factor

    def around(wrapped, instance, args, kwargs):
        return (wrapped(*args, **kwargs) - 2) * 2

    toy.scale = Around(toy.scale) if kind == "object" else wrapt.FunctionWrapper(toy.scale, around)
    assert said(handled(lab.session(broken_scale(lab)))) == [("foreign", "skipped")]
    assert toy.scale(5) == 10


def test_decorators_in_the_source_do_not_count_as_foreign(lab: Lab) -> None:
    lab.write(
        "theirs/__init__.py",
        """
        from contextlib import ContextDecorator
        class watched(ContextDecorator):  # what it puts around a function is written in contextlib
            def __enter__(self):
                pass
            def __exit__(self, *error):
                pass
        def _around(function):
            from theirs.inner import around
            return around(function)
        logged = _around
        """,
    )
    lab.write(
        "theirs/inner.py",
        """
        import functools
        def around(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper
        """,
    )
    text = "import functools, theirs\n" + BROKEN.replace(
        "def scale", "@theirs.watched()\n@theirs.logged\n@functools.lru_cache(None)\ndef scale"
    )
    toy = lab.module(text=text)
    assert said(handled(lab.session(broken_scale(lab, text)))) == [("broken", "applied")]
    assert toy.scale(5) == 10


# -- what cannot be read -------------------------------------------------------------------------------------------


def only_bytecode(world: World) -> None:
    file = world.package / "toy.py"
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")), doraise=True)
    file.unlink()


def test_an_installation_of_bytecode_alone_is_unknown_and_not_absent(world: World) -> None:
    only_bytecode(world)
    code = IMPORT + "import hotfix\nfor one in hotfix.report(): print(one.verdict.value, one.state.value, one.reason)\n"
    done = world.run(code)
    assert lacking(done.stdout, "7\nunknown skipped", "source cannot be") == []
    assert "cannot be read" in done.stderr


@pytest.mark.parametrize("switch", REQUIRED)
def test_bytecode_alone_stops_a_program_that_insists(world: World, switch: str) -> None:
    only_bytecode(world)
    done = world.run(IMPORT, check=False, **{switch: REQUIRED[switch]})
    assert (done.returncode, done.stdout) == (1, "")
    assert "source cannot be" in done.stderr


@pytest.mark.parametrize("first", ["hotfix", "pytest"])
def test_a_module_that_pytest_has_rewritten_is_unknown(world: World, first: str) -> None:
    text = TOY.replace('"""Scale x."""', "assert x is not None")
    world.write("transformers/toy.py", text)
    world.plant("toy-scale", FIX, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    world.write("inner/conftest.py", "import pytest\npytest.register_assert_rewrite('transformers')\n")
    world.write(
        "inner/test_inner.py",
        """
        def test_it():
            import hotfix.auto, hotfix
            import transformers.toy as toy
            print("SAID", toy.scale(5), *[(one.verdict.value, one.state.value) for one in hotfix.report()])
        """,
    )
    arm = "import hotfix.auto\n" if first == "hotfix" else ""
    done = world.run(arm + "import pytest\npytest.main(['-q', '-s', '-p', 'no:cacheprovider', 'inner'])\n")
    assert "SAID 7 ('unknown', 'skipped')" in done.stdout, done.stdout


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_lazily_loaded_module_is_repaired(world: World, order: str) -> None:
    lazily = """
    import importlib.machinery, importlib.util, sys
    class Lazily(importlib.machinery.PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            spec = super().find_spec(name, path, target)
            if name == "transformers.toy":
                spec.loader = importlib.util.LazyLoader(spec.loader)
            return spec
    sys.meta_path.insert(0, Lazily)
    """
    code = "import transformers.toy as toy, hotfix\nhotfix.report()\nprint(toy.scale(5))\n"
    parts = [textwrap.dedent(lazily), "import hotfix.auto\n"]
    parts = parts[:: 1 if order == "before" else -1]
    assert world.run("".join(parts) + code).stdout == "10\n"
    foretold = "import hotfix\nprint([(one.verdict.value, one.state.value) for one in hotfix.report()])\n"
    assert world.run("".join(parts) + foretold).stdout == "[('broken', 'pending')]\n"


# -- the file differs from the running code ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "on_disk"), [(BROKEN, GOOD), (GOOD, BROKEN), (BROKEN, BROKEN.replace("x +", "x  +  0 +"))]
)
def test_a_file_that_was_exchanged_under_a_running_process_is_not_judged(lab: Lab, runs: str, on_disk: str) -> None:
    fix = broken_scale(lab)
    good = digest_of(GOOD, "scale")
    known = json.loads(fix.evidence.read_text())
    known["targets"]["toys.toy:scale"]["fixed"] = {good: ["2.0"]}
    fix.evidence.write_text(json.dumps(known))
    fix.recognises(lambda node: True)
    memo.forget()
    toy = lab.module(text=runs)
    before = toy.scale.__code__
    lab.write("toys/toy.py", on_disk)
    (outcome,) = handled(lab.session(fix))
    assert said([outcome]) == [("unknown", "skipped")]
    assert "not what runs" in outcome.reason
    assert outcome.is_news
    assert toy.scale.__code__ is before


def test_a_required_fix_is_missing_where_a_good_file_lies_over_broken_code(lab: Lab) -> None:
    fix = broken_scale(lab)
    lab.module(text=BROKEN)
    lab.write("toys/toy.py", GOOD)
    fix.evidence.write_text(
        fix.evidence.read_text()
        .replace('"broken"', '"fixed"')
        .replace(digest_of(BROKEN, "scale"), digest_of(GOOD, "scale"))
    )
    memo.forget()
    session = lab.session(fix, require=("a-bug",))
    for _ in range(2):
        with pytest.raises(HotfixError, match=r"not in place in toys.toy: .*is not what runs"):
            session.module_imported("toys.toy")


def test_stale_bytecode_that_holds_a_sites_own_repair_is_left_alone(lab: Lab) -> None:
    file = lab.write("toys/toy.py", GOOD.replace("x * factor", "x * factor + 0"))
    py_compile.compile(str(file), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    toy = lab.module(text=BROKEN)
    assert toy.scale(5) == 10
    assert said(handled(lab.session(broken_scale(lab)))) == [("unknown", "skipped")]
    assert toy.scale(5) == 10


def test_an_upgrade_under_a_running_process_is_not_vouched_for_by_its_number(world: World) -> None:
    """The release on disk is a good one; the release before it runs."""
    install(world, "1.0")
    code = """
    import pathlib, transformers.toy as toy
    here = pathlib.Path(toy.__file__).parent
    (here / "__init__.py").write_text('__version__ = "2.0"\\n')
    (here.parent / "transformers-1.0.dist-info").rename(here.parent / "transformers-2.0.dist-info")
    import hotfix
    hotfix.apply()
    print(toy.scale(5))
    """
    index = world.folder / "evidence/index.json"
    index.write_text(index.read_text().replace('"transformers": ["1.0"]', '"transformers": ["1.0", "2.0"]'))
    assert world.run(code).stdout == "10\n"


# -- the same program ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 bytecode has no columns")
def test_an_edit_fits_bytecode_that_was_built_without_columns(world: World) -> None:
    text = (
        FIX.partition("@FIX.replaces")[0]
        + """
FIX.edits(("transformers.toy:scale", "==1.0"), old="x + factor", new="x * factor")
"""
    )
    world.plant("toy-scale", text, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    world.run("import transformers.toy", PYTHONNODEBUGRANGES="1", PYTHONDONTWRITEBYTECODE="")
    done = world.run("import transformers.toy as toy\nprint(list(toy.scale.__code__.co_positions())[-1][2])\n" + IMPORT)
    assert done.stdout == "None\n10\n"


def test_an_edit_fits_code_that_a_profiler_has_padded(lab: Lab) -> None:
    toy = lab.module(text=BROKEN)
    method = toy.Layer.forward
    padding = bytes([dis.opmap["NOP"], 0]) * 3
    method.__code__ = method.__code__.replace(co_code=method.__code__.co_code + padding)
    assert said(handled(lab.session(broken_layer(lab)))) == [("broken", "applied")]
    assert toy.Layer().forward(5) == 10


# -- what vouches for a release ------------------------------------------------------------------------------------


def install(world: World, release: str) -> Path:
    """The list of files that an installer would write, and evidence of two releases."""
    rows = []
    for file in sorted(world.package.rglob("*.py")):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        rows.append(f"{file.relative_to(world.folder)},sha256={digest},{file.stat().st_size}")
    record = world.write(f"transformers-{release}.dist-info/RECORD", "\n".join([*rows, ""]))
    index = world.folder / "evidence/index.json"
    index.write_text(index.read_text().replace('"transformers": []', f'"transformers": ["{release}"]'))
    return record


GOOD_TOY = TOY.replace("x + factor", "x * factor")


@pytest.mark.parametrize("time", ["later", "the same", "earlier"])
def test_an_edited_file_of_an_examined_good_release_is_read_and_repaired(world: World, time: str) -> None:
    file = world.write("transformers/toy.py", GOOD_TOY)
    world.write("transformers/__init__.py", '__version__ = "1.1"\n')
    install(world, "1.1")
    before = file.stat().st_mtime
    world.write("transformers/toy.py", TOY + "\n")  # broken again, whatever the number says
    os.utime(file, (before, before + {"later": 60, "the same": 0, "earlier": -60}[time]))
    done = world.run(IMPORT)
    assert done.stdout == "10\n"


def test_a_file_that_changes_before_its_module_is_wanted_is_read_and_repaired(world: World) -> None:
    world.write("transformers/toy.py", GOOD_TOY)
    world.write("transformers/__init__.py", '__version__ = "1.1"\n')
    install(world, "1.1")
    broken = world.write("broken.txt", TOY + "\n")
    code = f"""
    import hotfix.auto, shutil, transformers
    shutil.copyfile({str(broken)!r}, {str(world.package / "toy.py")!r})
    import transformers.toy as toy
    print(toy.scale(5))
    """
    assert world.run(code).stdout == "10\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [True, False])
def test_a_list_of_files_is_read_with_any_line_ends_and_at_any_place(lab: Lab, end: str, first: bool) -> None:
    file = lab.write("toys/toy.py", TOY)
    row = f"toys/toy.py,sha256=abc,{file.stat().st_size}"
    rows = [row, "toys/toy.pyi,sha256=def,1"] if first else ["toys/another/toys/toy.py,sha256=def,1", row]
    record = lab.folder / "toys-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_bytes(end.join(rows).encode())  # without one at its end
    memo.forget()
    assert installed.is_as_released("toys.toy")
    record.write_bytes(end.join(rows).replace(row, "toys/other.py,sha256=abc,3").encode())
    memo.forget()
    assert not installed.is_as_released("toys.toy")


def test_files_are_looked_at_when_they_are_wanted_and_not_sooner(world: World) -> None:
    world.write("transformers/toy.py", GOOD_TOY)
    world.write("transformers/__init__.py", '__version__ = "1.1"\n')
    install(world, "1.1")
    code = """
    import hotfix.auto
    from hotfix.versions import installed
    looked_at, ask = [], installed.is_as_released
    installed.is_as_released = lambda module: looked_at.append(module) or ask(module)
    import transformers
    print(looked_at)
    import transformers.toy
    print(set(looked_at))
    """
    assert world.run(code).stdout == "[]\n{'transformers.toy'}\n"


def test_a_file_that_its_installer_vouches_for_is_not_even_watched(world: World) -> None:
    world.write("transformers/toy.py", GOOD_TOY)
    world.write("transformers/__init__.py", '__version__ = "1.1"\n')
    record = install(world, "1.1")
    code = IMPORT + "import sys\nprint('toy_scale' in sys.modules)\n"
    assert world.run(code).stdout == "10\nFalse\n"
    record.unlink()  # as an editable installation has none
    assert world.run(code).stdout == "10\nTrue\n"


def test_where_nothing_is_broken_nothing_is_loaded_that_repairs(world: World) -> None:
    world.write("transformers/toy.py", GOOD_TOY)
    world.write("transformers/__init__.py", '__version__ = "1.1"\n')
    record = install(world, "1.1")
    names = ("fix", "engine.repairs", "engine.ledger", "engine.log", "engine.apply", "patching.journal")
    repairing = [*(f"hotfix.{name}" for name in names), "packaging.specifiers", "configparser"]
    code = (
        f"import sys\nbefore = set(sys.modules)  # a start-up file may have loaded some of it\n{IMPORT}import hotfix\n"
    )
    code += f"print([one for one in {repairing} if one in sys.modules.keys() - before])\nhotfix.revert()\n"
    assert world.run(code).stdout == "10\n[]\n"
    record.unlink()
    assert world.run(code).stdout == f"10\n{repairing[:6]}\n"


def test_a_module_that_is_read_for_one_fix_is_not_read_for_those_that_it_has_right(world: World) -> None:
    world.plant("toy-again", FIX.replace("toy-scale", "toy-again"), {"transformers.toy:scale": "==0.9"}, {})
    record = install(world, "1.0")
    code = IMPORT + "import sys\nprint('toy_again' in sys.modules, 'toy_scale' in sys.modules)\n"
    assert world.run(code).stdout == "10\nFalse True\n"
    record.unlink()
    assert world.run(code).stdout == "10\nTrue True\n"


@pytest.mark.parametrize("release", ["1.1.dev0", "1.1+vendor.3"])
def test_development_versions_and_vendors_builds_are_read(world: World, release: str) -> None:
    world.write("transformers/__init__.py", f'__version__ = "{release}"\n')
    install(world, "1.1")
    assert world.run(IMPORT).stdout == "10\n"


# -- what is installed ---------------------------------------------------------------------------------------------


def test_an_editable_installation_with_a_computed_version_is_installed(lab: Lab) -> None:
    lab.write("checkout/toys_beside/__init__.py", "__version__ = '.'.join(['3', '1'])\n")
    lab.write("toys_beside-3.1.dist-info/METADATA", "Name: toys-beside\nVersion: 3.1\n")
    sys.path.append(str(lab.folder / "checkout"))
    try:
        memo.forget()
        assert str(installed.version("toys-beside")) == "3.1"
    finally:
        sys.path.remove(str(lab.folder / "checkout"))


@pytest.mark.parametrize("list_of_files", ["top_level.txt", "RECORD"])
def test_a_distribution_is_found_whose_package_has_another_name(lab: Lab, list_of_files: str) -> None:
    lab.write("PyToys-6.0.1.dist-info/METADATA", "Name: PyToys\n")
    lab.write(f"PyToys-6.0.1.dist-info/{list_of_files}", "toys\n" if "top" in list_of_files else "toys/toy.py,,\n")
    assert str(installed.version("PyToys")) == "6.0.1"
    assert str(installed.version("pytoys")) == "6.0.1"


def test_a_distribution_that_was_uninstalled_is_not_found_by_its_empty_folder(lab: Lab) -> None:
    lab.write("gone-1.0.dist-info/top_level.txt", "gone_for_good\n")
    assert installed.version("gone") is None


# -- finding the definition ----------------------------------------------------------------------------------------

SEPARATORS = {"form feed": "\x0c", "vertical tab": "\x0b", "U+2028": "\u2028", "U+0085": "\x85", "U+001C": "\x1c"}


@pytest.mark.parametrize("name", SEPARATORS)
def test_characters_that_look_like_line_ends_move_no_line(lab: Lab, name: str) -> None:
    text = f'NOTE = """one{SEPARATORS[name]}two"""  # {SEPARATORS[name] if name != "form feed" else ""}\n' + BROKEN
    toy = lab.module(text=text)
    assert (
        said(handled(lab.session(broken_scale(lab, text), broken_layer_of(lab, text)))) == [("broken", "applied")] * 2
    )
    assert (toy.scale(5), toy.Layer().forward(5)) == (10, 10)


def broken_layer_of(lab: Lab, text: str):
    fix = lab.fix("another-bug", Layer__forward=text)
    fix.edits("toys.toy:Layer.forward", old="x + 2", new="x * 2")
    return fix


def test_a_form_feed_at_the_head_of_a_line_moves_nothing(lab: Lab) -> None:
    text = BROKEN.replace("\ndef scale", "\n\x0c\ndef scale")
    lab.module(text=text)
    assert said(handled(lab.session(broken_scale(lab, text)))) == [("broken", "applied")]


DEEPER = {
    "under if": "def f():\n    return 1\n\nif True:\n    def f():\n        return 2\n",
    "under else": "def f():\n    return 1\n\nif False:\n    pass\nelse:\n    def f():\n        return 2\n",
    "under try": "try:\n    def f():\n        return 1\nfinally:\n    pass\ndef f():\n    return 2\n",
    "under with": "def f():\n    return 1\nwith open(__file__):\n    def f():\n        return 2\n",
    "in a function": "def f():\n    return 2\n\ndef g():\n    def f():\n        return 3\n",
    "in a class": "def f():\n    return 2\n\nclass G:\n    def f(self):\n        return 3\n",
    "in a class under if": "def f():\n    return 2\nif True:\n    class G:\n        def f(self):\n            pass\n",
}


def test_a_comment_at_column_zero_does_not_part_a_method_from_its_decorators() -> None:
    text = "class A:\n    @first(\n# one\n    )\n# two\n    @second\n# three\n    def f(self):\n        pass\n"
    definition = source.find(text, "A.f")
    assert definition is not None
    assert [ast.unparse(decorator) for decorator in definition.node.decorator_list] == ["first()", "second"]
    assert definition.lineno == 2


@pytest.mark.parametrize("text", ["def f():\n    '\ud800'\n", "def f():\n    '\x00'\n"], ids=["surrogate", "null"])
def test_definitions_that_python_cannot_read_are_not_found(text: str) -> None:
    assert source.find(text, "f") is None


@pytest.mark.parametrize("where", DEEPER)
def test_the_definition_that_is_judged_is_the_one_that_is_in_force(where: str) -> None:
    definition = source.find(DEEPER[where], "f")
    assert definition is not None
    assert ast.unparse(definition.node) == "def f():\n    return 2"
    with contextlib.suppress(AttributeError):  # no quick answer is fine, a different one is not
        quick: Any = source._find_quickly(DEEPER[where], "f")
        assert ast.dump(quick.node) == ast.dump(definition.node)


# -- what is kept --------------------------------------------------------------------------------------------------


def test_of_the_texts_of_modules_nothing_is_kept(lab: Lab) -> None:
    # Sources, trees and line lists of judged code once came to 13 MB in a process that loads a model.
    lab.module(text=BROKEN)
    session = lab.session(broken_layer(lab))
    session.module_imported("toys.toy")
    assert said(handled(session))[0][1] == "applied"
    session.module_imported("toys.toy")
    kept: list[Any] = [source.find, source.imports, source.outline, source.lines_of, source._heads]
    assert [function.cache_info().currsize for function in kept] == [0] * len(kept)
