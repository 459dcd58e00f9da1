"""Whether the live function matches the file of its module.

Two things can be wrong. Other code has replaced the function, or put a layer around it that no decorator in the source
explains. Or the running code differs from the file: the file was replaced after the import, or a tool rewrote the
module.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any, Optional

from ..errors import Refusal
from ..versions import source
from . import code, live
from .journal import Journal


def foreign(module: types.ModuleType, qualname: str, text: str, journal: Journal) -> Optional[str]:
    """By what a function or class of a module was replaced, as a sentence; None if it is the module's own.

    Args:
        module: the loaded module.
        qualname: the qualified name of the function or class.
        text: the source of the module.
        journal: our own changes, which do not count.
    """
    try:
        site = live.resolve(module, qualname)
    except Refusal as refusal:
        return f"{refusal}."
    if isinstance(site.raw, type) and site.raw.__module__ == module.__name__:
        return None  # a class of this module, judged as a whole
    layers = [layer for layer in live.layers(site.raw) if not journal.has_installed(layer)]
    function = layers[-1] if layers else site.function
    if not isinstance(function, types.FunctionType):
        return f"{qualname} is no longer a Python function but {live.place_of(site.raw)}."
    first = journal.first_code(function)
    if first.co_filename != module.__file__ or not source.begins_at(text, qualname, first.co_firstlineno):
        return f"Somebody else has put the function at {first.co_filename}:{first.co_firstlineno} in its place."
    around = layers[:-1]
    if around:
        explained = {*_packages_of_decorators(module, qualname, text, journal), *_packages_of_bases(site)}
        for layer in around:
            if not explained.intersection(_packages(layer)):
                return f"Somebody else has put {live.place_of(layer)} around it."
    return None


def wrapped_by_a_base(module: types.ModuleType, qualname: str) -> Optional[str]:
    """Which class puts a wrapper around this method of each subclass, as a sentence; None if there is none.

    The wrapper may ask whether it is the outermost one, as that of ``GradientCheckpointingLayer`` does in 5.23.0.
    """
    site = live.resolve(module, qualname)
    for base in _bases_with_a_hook(site):
        home = vars(base)["__init_subclass__"].__func__.__globals__
        if any(getattr(layer, "__globals__", None) is home for layer in live.layers(site.raw)[:-1]):
            return f"{base.__qualname__} has put a wrapper around it, which may have to be the outermost one."
    return None


def rewritten(module: types.ModuleType, qualname: str, text: str, journal: Journal) -> Optional[str]:
    """Why a function or class of a module does not match its source, as a sentence, or None."""
    try:
        site = live.resolve(module, qualname)
        for name, function in _functions(site, qualname):
            is_ours = str(function.__globals__.get("__name__")).startswith("hotfix.")
            if (is_ours or function.__code__.co_filename == "<string>") and source.find(text, name) is None:
                continue  # another fix has added it, or a dataclass has made it
            code.written(journal.first_code(function), name, text)
    except Refusal as refusal:
        return f"{str(refusal)[0].upper()}{str(refusal)[1:]}."
    return None


# ---------------------------------------------------------------------------------------------------------------------


def _functions(site: live.Site, qualname: str) -> Iterator[tuple[str, types.FunctionType]]:
    """The functions to check under a name: the function itself, or the methods that a class defines."""
    if not isinstance(site.raw, type):
        if site.function is not None:
            yield qualname, site.function
        return
    for name, member in list(vars(site.raw).items()):
        accessors = (member.fdel, member.fset, member.fget) if isinstance(member, property) else (member,)
        inner = [
            live.function_inside(accessor)
            for accessor in accessors
            if accessor is not None and not isinstance(accessor, type)
        ]
        functions = [
            function for function in inner if function is not None and function.__qualname__ == f"{qualname}.{name}"
        ]
        if functions:
            # The functions of a property share one name; only the last one in the file is compared.
            yield f"{qualname}.{name}", max(functions, key=lambda function: function.__code__.co_firstlineno)


def _bases_with_a_hook(site: live.Site) -> Iterator[type]:
    """The bases of the class that has a method, as far as they do something with each subclass."""
    bases = site.owner.__mro__[1:] if isinstance(site.owner, type) else ()
    return (base for base in bases if isinstance(vars(base).get("__init_subclass__"), classmethod))


def _packages_of_bases(site: live.Site) -> Iterator[str]:
    for base in _bases_with_a_hook(site):
        yield from _packages(vars(base)["__init_subclass__"].__func__)


def _packages_of_decorators(module: types.ModuleType, qualname: str, text: str, journal: Journal) -> Iterator[str]:
    """The packages that define the decorators of a definition and of its enclosing classes.

    Packages, not files: a decorator and the wrapper that it returns may be in different files. A decorator that we have
    changed counts as what it was.
    """
    parts = qualname.split(".")
    for depth in range(len(parts)):
        for decorator in source.decorators(text, ".".join(parts[: depth + 1])):
            thing = _named(module, decorator.func if isinstance(decorator, ast.Call) else decorator)
            if type(thing) is types.FunctionType and journal.has_installed(thing):  # others may compare as they like
                thing = live.layers(thing)[-1]
            yield from _packages(thing)


def _named(module: types.ModuleType, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_named(module, node.value), node.attr, None)
    return None


def _packages(thing: Any) -> Iterator[str]:
    """The packages that define a function, a class and its bases, or the class of an object."""
    if type(thing) is types.FunctionType:  # not isinstance: a proxy pretends to be the object it wraps
        yield str(thing.__globals__.get("__name__")).partition(".")[0]
    elif thing is not None:
        for kind in (thing if isinstance(thing, type) else type(thing)).__mro__:
            if kind is not object:
                yield str(kind.__module__).partition(".")[0]
