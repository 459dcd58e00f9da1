"""Cases that the matrix runs on the testbed in addition to those of the fixes."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def untouched(testbed: Any, target: Any) -> dict[str, Any]:
    """Import a target's module, and compare the running code with its file.

    Returns:
        ``functions``: the number of compared functions and methods of the module, 0 if there is no such module or it
        cannot be imported. ``changed``: how many of them run code that differs from the compiled file. ``ours``: the
        number of hotfix functions anywhere in the package. ``operations``: the number of operations by hotfix.
    """
    import torch

    import hotfix
    from hotfix import session

    journal = session.current().journal
    package = target.module.partition(".")[0]
    compared = changed = 0
    try:
        module = import_module(target.module)
    except ImportError:
        import_module(package)
    else:
        loader: Any = module.__spec__ and module.__spec__.loader
        # Modules that the package creates itself, as an alias of another, have no loader, or one without code.
        code_of = getattr(loader, "get_code", None)
        upstream = set(_codes(code_of(target.module))) if code_of else set()
        for function in _functions(module) if code_of else ():
            if function.__code__.co_filename == module.__file__:
                compared += 1
                changed += journal.first_code(function) is not function.__code__ or function.__code__ not in upstream
    home = str(Path(hotfix.__file__ or "").parent)
    loaded = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]
    modules = [module for module in loaded if type(module) is types.ModuleType]  # a lazy module imports names on demand
    functions = [function for module in modules for function in _functions(module)]
    ours = {id(function) for function in functions if function.__code__.co_filename.startswith(home)}
    counts = {"functions": compared, "changed": changed, "ours": len(ours), "operations": len(journal)}
    return {name: torch.tensor(count) for name, count in counts.items()}


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    from hotfix.patching import live

    for value in list(vars(module).values()):
        held = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        for item in held:
            inner = live.below_descriptor(item)  # no attribute is read: a lazy package may import for it
            if type(inner) is types.FunctionType:
                yield inner


def _codes(code: Any) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
