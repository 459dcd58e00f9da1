"""The instruments: `edit` and `wrap` on a toy module; `replace` is what the other files use."""

from __future__ import annotations

import pytest

from tests.facts import lacking

from .conftest import TOY, World

EDIT = """
import ast
from hotfix.fix import Fix

FIX = Fix(id="toy-padding", title="false alarm", kind="crash")

@FIX.edits("transformers.toy:Layer.forward"{count})
def drop(node):
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
        return {new}

@FIX.recognises
def is_broken(node):
    return True
"""

WRAP = """
from hotfix.fix import Fix

FIX = Fix(id="toy-wrap", title="wrapped", kind="crash")

@FIX.wraps("transformers.toy:{name}")
def around(original):
    def wrapper({arguments}):
        return ["wrapped", original(x)]
    return wrapper
"""

DECORATOR = """
import ast
from hotfix.fix import Fix

FIX = Fix(id="toy-logged", title="logs", kind="crash")

@FIX.edits("transformers.toy:{name}", fingerprint_of=("{name}",), decorator="transformers.toy:logged")
def listed(node):
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        return ast.Return({new})
"""

SKIP = {"HOTFIX_SKIP": "toy-scale"}


def plant_edit(world: World, count: str = "", new: str = "[]") -> None:
    text = EDIT.replace("{count}", count).replace("{new}", new)
    name = "transformers.toy:Layer.forward"
    world.plant("toy-padding", text, {name: ""}, {name: "Layer.forward"})


def plant_wrap(world: World, name: str = "scale", arguments: str = "x, factor=2") -> None:
    text = WRAP.replace("{name}", name).replace("{arguments}", arguments)
    world.plant("toy-wrap", text, {f"transformers.toy:{name}": ""}, {f"transformers.toy:{name}": name})


def plant_decorator(world: World, name: str = "Layer.forward", new: str = "ast.List([node.value], ast.Load())") -> None:
    text = DECORATOR.replace("{name}", name).replace("{new}", new)
    world.plant("toy-logged", text, {f"transformers.toy:{name}": ""}, {f"transformers.toy:{name}": name})


def test_an_edit_keeps_super_decorators_and_the_function_itself(world: World) -> None:
    plant_edit(world)
    code = """
    import transformers.toy as toy
    layer, method = toy.Layer(), toy.Layer.forward
    bound = layer.forward
    import hotfix
    with hotfix.apply(only=["toy-padding"]):
        print(layer.forward(1, mask=[0]), bound(1, mask=[0]), toy.Layer.forward is method)
    try:
        layer.forward(1, mask=[0])
    except ValueError as error:
        print(error)
    """
    assert world.run(code).stdout.splitlines() == ["2 2 True", "padding"]


def test_a_traceback_out_of_an_edited_function_shows_the_users_file_and_line(world: World) -> None:
    plant_edit(world)
    code = """
    import hotfix.auto, traceback
    import transformers.toy as toy
    toy.Base.forward = None
    try:
        toy.Layer().forward(1, mask=[0])
    except TypeError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        print(last.filename == toy.__file__, last.line)
    """
    assert world.run(code, **SKIP).stdout == "True return super().forward(x) + 1\n"


@pytest.mark.parametrize("count", [", count=2", ", count=0"])
def test_an_edit_that_does_not_match_as_often_as_declared_touches_nothing(world: World, count: str) -> None:
    plant_edit(world, count)
    code = """
    import hotfix.auto, hotfix
    import transformers.toy as toy
    try:
        toy.Layer().forward(1, mask=[0])
    except ValueError as error:
        print(error, *[(one.fix, one.state.value) for one in hotfix.report()][1:])
    """
    done = world.run(code, **SKIP)
    assert done.stdout == "padding ('toy-padding', 'failed')\n"
    assert lacking(done.stderr, "matches 1 times", f"not {count[-1]}") == []


def test_an_edit_is_refused_if_the_file_no_longer_matches_the_running_code(world: World) -> None:
    plant_edit(world)
    code = """
    import transformers.toy as toy, pathlib
    file = pathlib.Path(toy.__file__)
    file.write_text(file.read_text().replace("+ 1", "+ 100"))
    import hotfix.auto
    print(toy.Layer().forward(1))
    """
    done = world.run(code, HOTFIX_UNKNOWN="apply", **SKIP)
    assert done.stdout == "2\n"
    assert "not what runs" in done.stderr


def test_a_wrapper_reaches_copies_and_maps_and_everything_is_restored(world: World) -> None:
    plant_wrap(world)
    world.write("third.py", "from transformers.toy import scale\n")
    code = """
    import third, transformers.toy as toy, inspect, pickle
    original = toy.scale
    import hotfix
    with hotfix.apply(only=["toy-wrap"]) as handle:
        print(third.scale(5), toy.scale(5), toy.SCALERS["plain"](5), inspect.signature(toy.scale))
        print(pickle.loads(pickle.dumps(toy.scale)) is toy.scale, toy.scale.__qualname__)
    print(third.scale is toy.scale is toy.SCALERS["plain"] is original)
    """
    lines = world.run(code).stdout.splitlines()
    assert lines == ["['wrapped', 7] ['wrapped', 7] ['wrapped', 7] (x, factor=2)", "True scale", "True"]


def test_copies_are_reached_in_a_module_that_has_a_class_of_its_own(world: World) -> None:
    # As in the lazy packages of transformers, and in modules that hint at missing names.
    plant_wrap(world)
    world.write("third.py", "from transformers.toy import scale\n")
    code = """
    import third, types, transformers.toy as toy
    toy.__class__ = type("Module", (types.ModuleType,), {"__module__": "elsewhere"})
    original = toy.scale
    import hotfix
    with hotfix.apply(only=["toy-wrap"]) as handle:
        print(third.scale(5), toy.SCALERS["plain"](5))
    print(third.scale is toy.scale is toy.SCALERS["plain"] is original)
    """
    assert world.run(code).stdout == "['wrapped', 7] ['wrapped', 7]\nTrue\n"


def test_references_that_a_wrapper_cannot_reach_are_counted(world: World) -> None:
    plant_wrap(world)
    code = """
    import functools, transformers.toy as toy
    held = functools.partial(toy.scale, factor=3)
    import hotfix.auto, hotfix
    print([one.reason for one in hotfix.report() if one.fix == "toy-wrap"])
    """
    assert lacking(world.run(code, **SKIP).stdout, "1 closures", "the original") == []


def test_a_static_method_stays_one(world: World) -> None:
    plant_wrap(world, "Layer.halve", "x")
    code = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.Layer.halve(4), toy.Layer().halve(4))\n"
    assert world.run(code).stdout == "['wrapped', 2] ['wrapped', 2]\n"


def test_the_getter_of_a_property_is_wrapped_and_the_setter_stays(world: World) -> None:
    member = "    @property\n    def size(x):\n        return x._size\n\n    @size.setter\n    def size(x, value):\n"
    world.write("transformers/toy.py", f"{TOY}\n{member}        x._size = value + 1\n")
    text = WRAP.replace("{name}", "Layer.size").replace("{arguments}", "x")
    text = text.replace('.size")', '.size", fingerprint_of=("Layer.halve",))')
    world.plant("toy-wrap", text, {"transformers.toy:Layer.size": ""}, {"transformers.toy:Layer.size": "Layer.halve"})
    code = """
    import transformers.toy as toy
    original = toy.Layer.size
    import hotfix
    with hotfix.apply(only=["toy-wrap"]):
        layer = toy.Layer()
        layer.size = 3
        print(layer.size, toy.Layer.size.fset is original.fset)
    print(layer.size, toy.Layer.size is original)
    """
    assert world.run(code).stdout.splitlines() == ["['wrapped', 4] True", "4 True"]


def test_a_fix_cleans_up_when_the_last_of_its_steps_is_gone(world: World) -> None:
    more = '@FIX.cleans_up\ndef clean():\n    print("cleaned")\n'
    world.plant(
        "toy-wrap",
        WRAP.replace("{name}", "scale").replace("{arguments}", "x, factor=2") + more,
        {"transformers.toy:scale": ""},
        {"transformers.toy:scale": "scale"},
    )
    code = """
    import transformers.toy as toy
    import hotfix
    first, second = hotfix.apply(only=["toy-wrap"]), hotfix.apply(only=["toy-wrap"])
    first.revert()
    print("still", toy.scale(1))
    second.revert()
    print("gone", toy.scale(1))
    """
    assert world.run(code).stdout.splitlines() == ["still ['wrapped', 3]", "cleaned", "gone 3"]


def test_a_wrapper_whose_signature_does_not_fit_is_refused(world: World) -> None:
    plant_wrap(world, arguments="x, other")
    done = world.run("import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))", **SKIP)
    assert done.stdout == "7\n"
    assert lacking(done.stderr, "(x, factor=2)", "(x, other)") == []


def test_a_replacement_and_a_wrapper_of_one_function_compose_and_revert_apart(world: World) -> None:
    plant_wrap(world)
    code = """
    import transformers.toy as toy
    original = toy.scale
    import hotfix
    scale = hotfix.apply(only=["toy-scale"])
    wrap = hotfix.apply(only=["toy-wrap"])
    print(toy.scale(5)); scale.revert()
    print(toy.scale(5)); wrap.revert()
    print(toy.scale(5), toy.scale is original)
    """
    assert world.run(code).stdout.splitlines() == ["['wrapped', 10]", "['wrapped', 7]", "7 True"]


def test_the_wrapper_of_one_target_is_edited_and_those_of_others_are_not(world: World) -> None:
    plant_decorator(world)
    code = """
    import transformers.toy as toy
    other, layer = toy.logged(lambda x: x), toy.Layer()
    bound, method, body = layer.forward, toy.Layer.forward, toy.Layer.forward.__code__
    import hotfix
    with hotfix.apply(only=["toy-logged"]):
        print(layer.forward(1), bound(1), toy.Layer.forward is method, other(1), toy.logged(abs)(-1))
    print(layer.forward(1), method.__code__ is body)
    """
    assert world.run(code).stdout == "[2] [2] True 1 1\n2 True\n"


MAKER = """
from hotfix.fix import Fix

FIX = Fix(id="toy-maker", title="loses what it returns", kind="silent", fixed_in="2.0")
FIX.edits(
    ("transformers.toy:logged", "==1.0"),
    old="return function(*args, **kwargs)",
    new="return [function(*args, **kwargs)]",
)
"""


@pytest.mark.parametrize("late", [True, False])
def test_functions_decorated_before_the_edit_are_counted(world: World, late: bool) -> None:
    world.plant("toy-maker", MAKER, {"transformers.toy:logged": "==1.0"}, {"transformers.toy:logged": "logged"})
    first, then = "import transformers.toy as toy", "import hotfix.auto, hotfix"
    code = f"""
    {first if late else then}
    {then if late else first}
    print([one.reason for one in hotfix.report() if one.fix == "toy-maker"])
    print(toy.Layer().forward(1), toy.logged(abs)(-1))
    """
    said, given = world.run(code, **SKIP).stdout.splitlines()
    assert given == "2 [1]"  # by the decorator at the time when the class was created
    assert lacking(said, "created earlier", "keep the old code: 1") == []


def test_an_edit_in_the_target_and_one_in_its_decorator_compose_and_revert_apart(world: World) -> None:
    plant_edit(world)
    plant_decorator(world)
    code = """
    import transformers.toy as toy, hotfix
    layer = toy.Layer()
    inner, outer = hotfix.apply(only=["toy-padding"]), hotfix.apply(only=["toy-logged"])
    print(layer.forward(1, mask=[0])); inner.revert()
    print(layer.forward(1)); outer.revert()
    print(layer.forward(1))
    """
    assert world.run(code).stdout == "[2]\n[2]\n2\n"


@pytest.mark.parametrize(
    ("name", "new", "why"),
    [
        ("Layer.halve", "node.value", "logged has put nothing around halve"),
        ("Layer.forward", "ast.Constant(1)", "would change the arguments of wrapper or what it closes over"),
    ],
)
def test_an_edit_in_a_decorator_that_does_not_fit_is_refused(world: World, name: str, new: str, why: str) -> None:
    plant_decorator(world, name, new)
    done = world.run("import hotfix.auto\nimport transformers.toy as toy\nprint(toy.Layer().forward(1))", **SKIP)
    assert done.stdout == "2\n"
    assert why in done.stderr
