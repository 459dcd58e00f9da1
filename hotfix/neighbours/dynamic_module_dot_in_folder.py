"""Remote code from a folder with a dot in its name cannot import its own files.

Symptom   ``ModuleNotFoundError: No module named 'transformers_modules.MiniCPM-V-2'`` for a model in a folder
          ``MiniCPM-V-2.6``; the same for names on the Hub such as ``Phi-3.5-vision-instruct``.
Cause     The name of the folder becomes part of the name of a module, in which a dot separates packages. The code's
          imports from its own folder look for a package that does not exist.
Releases  4.36.0 to 4.56.2
Upstream  first fixed in 4.57.1, which writes ``_dot_`` for a dot
Here      Where the import fails, the packages are made, and it is tried again. Modules keep the names that the release
          gives them, which pickles and the files of adapters contain.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="ModuleNotFoundError: No module named 'transformers_modules.MiniCPM-V-2'",
    kind="crash",
    fixed_in="4.57.1",
    errors=(
        "ModuleNotFoundError: No module named 'transformers_modules.MiniCPM-V-2'",
        "ModuleNotFoundError: No module named 'transformers_modules.Phi-3'",
        "ModuleNotFoundError: No module named 'transformers_modules.microsoft.Phi-3'",
    ),
    on_error=("ModuleNotFoundError: No module named 'transformers_modules.…",),
    prefilter="submodule = os.path.basename(pretrained_model_name_or_path)",
)

MODULE = "transformers.dynamic_module_utils"


@FIX.wraps((f"{MODULE}:get_class_in_module", ">=4.36.0,<=4.56.2"), fingerprint_of=(f"{MODULE}:get_cached_module_file",))
def with_packages(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the packages that the name of the module speaks of."""

    @wraps(original)
    def get_class_in_module(class_name: str, module_path: Any, *args: Any, **kwargs: Any) -> Any:
        make_packages(Path(sys.modules[MODULE].HF_MODULES_CACHE), Path(module_path))
        return original(class_name, module_path, *args, **kwargs)

    return get_class_in_module


def make_packages(home: Path, file: Path) -> None:
    """Make a package for each part between dots in the names of folders.

    Args:
        home: folder that the names of modules begin from.
        file: of a module, from there.
    """
    outer = ""
    for folder in file.parts[:-1]:
        inside = ""
        for part in folder.split("."):
            inside = f"{inside}.{part}" if inside else part
            if folder != part:
                _make(outer + inside, home / inside)
        outer, home = f"{outer}{folder}.", home / folder


def _make(name: str, folder: Path) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        spec = ModuleSpec(name, None, origin="hotfix", is_package=True)
        spec.submodule_search_locations = [str(folder)]
        _made[name] = sys.modules[name] = importlib.util.module_from_spec(spec)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The name of the folder is taken as it is."""
    return occurs("submodule = os.path.basename(pretrained_model_name_or_path)", function)


@FIX.cleans_up
def take_away() -> None:
    """Remove the packages; modules imported from them stay."""
    for name, package in _made.items():
        if sys.modules.get(name) is package:
            del sys.modules[name]
    _made.clear()


_made: dict[str, ModuleType] = {}
