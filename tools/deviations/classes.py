"""User classes and functions that replace the library's: subclasses, mix-ins, overrides, re-executed copies."""

from __future__ import annotations

import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import HOME, NotHere, Scene

NAMED = ("Config", "Tokenizer", "TokenizerFast", "Processor", "ImageProcessor", "FeatureExtractor")


@deviation(bases=("case", "unaffected", "trainer"))
def plain(scene: Scene) -> None:
    """Nothing: the case as it is."""
    scene.touch()


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def subclass_in_another_module(scene: Scene) -> None:
    """A subclass in another module, which adds nothing, takes the place of the target's class."""
    owner = scene.owner()
    scene.put_class(owner, scene.own_class(owner, {}))


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def subclass_with_attribute(scene: Scene) -> None:
    """A subclass that takes any arguments, passes them on, and sets an attribute."""
    owner = scene.owner()

    def initialise(self: Any, *arguments: Any, **options: Any) -> None:
        super(own, self).__init__(*arguments, **options)
        self.my_attribute = 1

    own = scene.own_class(owner, {"__init__": initialise})
    scene.put_class(owner, own)


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def mixin_before_the_class(scene: Scene) -> None:
    """A subclass with a mix-in whose method calls `super()` with the arguments that it gets."""
    owner = scene.owner()
    mixin = types.new_class("MyMixin", (), {}, lambda held: held.update({"__module__": HOME}))
    name, member = _passing(owner, scene.method(), lambda: mixin)
    setattr(mixin, name, member)
    scene.put_class(owner, scene.own_class(owner, {}, mixin))


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def override_with_super(scene: Scene) -> None:
    """A subclass overrides the target with the same signature and calls `super()`."""
    owner = scene.owner()
    own: type[Any]
    name, member = _passing(owner, scene.method(), lambda: own, signature=True)
    own = scene.own_class(owner, {name: member})
    scene.put_class(owner, own)


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def override_of_any_arguments(scene: Scene) -> None:
    """A subclass overrides the target with `*args, **kwargs` and calls `super()`."""
    owner = scene.owner()
    own: type[Any]
    name, member = _passing(owner, scene.method(), lambda: own)
    own = scene.own_class(owner, {name: member})
    scene.put_class(owner, own)


@deviation("models", "training", "processing", "loading", "neighbours")
def override_without_super(scene: Scene) -> None:
    """A subclass overrides the target with a copy of the release's own source."""
    owner, name = scene.owner(), scene.method()
    own = scene.own_class(owner, {})
    setattr(own, name, copied(inspect.getattr_static(owner, name), sys.modules[owner.__module__], own))
    scene.put_class(owner, own)


@deviation("models", "training", "processing", "loading", "neighbours")
def all_copied_from_source(scene: Scene) -> None:
    """Every function that the fix repairs is a re-executed copy of its source, put where the original was."""
    for holder, name, value in list(scene.functions()):
        _put_copy(scene, holder, name, value)


@deviation("models", "training", "processing", "loading", "neighbours")
def first_copied_from_source(scene: Scene) -> None:
    """Of several functions that the fix repairs, the first is a re-executed copy of its source."""
    _copy_one(scene, 0)


@deviation("models", "training", "processing", "loading", "neighbours")
def last_copied_from_source(scene: Scene) -> None:
    """Of several functions that the fix repairs, the last is a re-executed copy of its source."""
    _copy_one(scene, -1)


@deviation("models", "training", "loading", "processing", transparent=True)
def function_wrapped(scene: Scene) -> None:
    """Each function that the fix repairs is wrapped with `functools.wraps`, in every module that has it."""
    wrapped = False
    for holder, name, value in list(scene.functions()):
        if not isinstance(value, types.FunctionType):
            continue
        own = _wrapper(value)
        wrapped = True
        if isinstance(holder, types.ModuleType):
            scene.put_function(value, own)
        else:
            setattr(holder, name, own)
            scene.touch()
    if not wrapped:
        raise NotHere("the targets are not plain functions")


@deviation("models", "training", "processing", "loading", transparent=True)
def own_classes_of_the_case(scene: Scene) -> None:
    """The models that the case names are subclasses in another module."""
    _own_classes(scene, lambda cls: any(base.__name__ == "PreTrainedModel" for base in cls.__mro__))


@deviation("models", "processing", "loading", transparent=True)
def own_readers_of_the_case(scene: Scene) -> None:
    """The configurations, tokenizers and processors that the case names are subclasses in another module."""
    _own_classes(scene, lambda cls: cls.__name__.endswith(NAMED) and not cls.__name__.startswith("Auto"))


@deviation("models", "training", "processing", "loading", "neighbours", transparent=True)
def attributes_of_the_same_names(scene: Scene) -> None:
    """A subclass that has class attributes with names the fix knows and the class lacks."""
    owner = scene.owner()
    own = {name: "mine" for name in scene.keys if name.isidentifier() and not hasattr(owner, name)}
    own = {name: value for name, value in own.items() if not name.startswith("__")}
    if not own:
        raise NotHere("the fix knows no other names")
    scene.put_class(owner, scene.own_class(owner, dict(own)))


# -- below: how they are made ------------------------------------------------------------------------------------------


def copied(value: Any, module: types.ModuleType, owner: Any = None) -> Any:
    """A function made again from its source, with the globals of its module, as a project that patches does it.

    Args:
        value: the function, staticmethod, classmethod or property.
        module: whose globals it gets.
        owner: what `super()` refers to.
    """
    function = getattr(value, "__func__", getattr(value, "fget", value))
    source = textwrap.indent(textwrap.dedent(inspect.getsource(function)), "    ")
    text = f"def _made(__class__):\n{source}\n    return {function.__name__}\n"
    namespace: dict[str, Any] = {**vars(module), "__name__": HOME}
    exec(compile(text, "<own code>", "exec"), namespace)
    return namespace["_made"](owner)


def _put_copy(scene: Scene, holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, types.ModuleType):
        scene.put_function(value, copied(value, holder))
    else:
        setattr(holder, name, copied(value, sys.modules[holder.__module__], holder))
        scene.touch()


def _copy_one(scene: Scene, number: int) -> None:
    functions = list(scene.functions())
    if len(functions) < 2:
        raise NotHere("the fix repairs one function here")
    _put_copy(scene, *functions[number])


def _wrapper(function: Any) -> Any:
    @functools.wraps(function)
    def own(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    own.__module__ = HOME
    return own


def _passing(owner: type[Any], name: str, cls: Any, signature: bool = False) -> tuple[str, Any]:
    """The name and a member that does nothing but call the next one."""
    value = inspect.getattr_static(owner, name)
    if isinstance(value, property):
        return name, property(lambda self: getattr(super(cls(), self), name))

    def member(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(super(cls(), self), name)(*arguments, **options)

    member.__name__ = name
    if signature:
        inner = getattr(value, "__func__", value)
        member = functools.update_wrapper(member, inner, assigned=("__name__", "__qualname__", "__doc__"))
    if isinstance(value, staticmethod):
        return name, staticmethod(lambda *arguments, **options: value.__func__(*arguments, **options))
    return name, classmethod(member) if isinstance(value, classmethod) else member


def _own_classes(scene: Scene, wanted: Any) -> None:
    import transformers

    for name in sorted(set(_names(scene.case))):
        if name not in getattr(transformers, "_class_to_module", {}):
            continue
        try:
            cls = getattr(transformers, name)
        except (ImportError, AttributeError, RuntimeError):
            continue
        if isinstance(cls, type) and wanted(cls) and cls.__module__.startswith("transformers.models."):
            scene.put_class(cls, scene.own_class(cls, {}))
            vars(transformers)[name] = getattr(scene.home, f"My{name}")
    if not scene.touched:
        raise NotHere("the case names no such class")


def _names(case: Any) -> Iterator[str]:
    """What the functions of the case's module, and of helpers next to it, name."""
    modules = [sys.modules[case.__module__]]
    package = case.__module__.rpartition(".")[0]
    modules += [sys.modules[value.__module__] for value in vars(modules[0]).values() if _is_helper(value, package)]
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
                yield from _names_in(value.__code__)


def _is_helper(value: Any, package: str) -> bool:
    return isinstance(value, types.FunctionType) and value.__module__.startswith(f"{package}._")


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names_in(inner)
        elif isinstance(inner, str):
            yield inner
        elif isinstance(inner, tuple):
            yield from (name for name in inner if isinstance(name, str))
