"""What is installed here, found out without importing it.

Asking ``importlib.metadata`` costs 50 ms and more in a large environment, importing a package to ask for its version
costs seconds; looking at one file beside the code costs under a millisecond and tells what would really be imported.
"""

from __future__ import annotations

import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Optional

from packaging.version import InvalidVersion, Version

from ..memo import memo

_VERSION = re.compile(r"""^__version__(?:\s*:\s*str)?\s*=\s*["']([^"']+)["']""", re.M)
_VERSION_FILES = ("version.py", "_version.py", "_version/__init__.py")


def find_spec(module: str) -> Optional[ModuleSpec]:
    """The spec with which `module` would be imported. Unlike importlib's function it imports no parent package."""
    path = None
    parent, _, _ = module.rpartition(".")
    if parent:
        package = find_spec(parent)
        if package is None or package.submodule_search_locations is None:
            return None
        path = list(package.submodule_search_locations)
    for finder in sys.meta_path:
        try:
            spec: Optional[ModuleSpec] = finder.find_spec(module, path) if hasattr(finder, "find_spec") else None
        except KeyError:
            # A folder without __init__.py in a package that is not imported, as an interrupted installation leaves it.
            continue
        if spec is not None:
            return spec
    return None


def source_of(spec: Optional[ModuleSpec]) -> Optional[str]:
    """The text of the module that `spec` describes, also from a zip file; None where only bytecode is installed."""
    get_source: Any = getattr(spec and spec.loader, "get_source", None)
    if get_source is None or spec is None:
        return None
    try:
        text: Optional[str] = get_source(spec.name)
    except (ImportError, SyntaxError):  # unreadable, or not in the encoding that it declares
        return None
    return text


@memo
def version(distribution: str) -> Optional[Version]:
    """The version of an installed distribution, for instance ``version("flash-attn")``; None if it is not there.

    What the package says of itself comes first, since it belongs to the code that will run; an editable checkout says
    ``4.50.0.dev0`` there. The name of the ``*.dist-info`` folder beside the package comes second.
    """
    package = distribution.replace("-", "_")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    for text in _own_words(spec, folder):
        said = _VERSION.search(text)
        if said and (parsed := _parsed(said[1])):
            return parsed
    for entry in sorted(folder.parent.glob(f"{package}-*.dist-info")):
        if parsed := _parsed(entry.name[len(package) + 1 : -len(".dist-info")]):
            return parsed
    return None


def _own_words(spec: ModuleSpec, folder: Path) -> list[str]:
    texts = [source_of(spec) or ""]
    for name in _VERSION_FILES:
        file = folder / name
        if file.is_file():
            texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return texts


def _parsed(text: str) -> Optional[Version]:
    try:
        return Version(text)
    except InvalidVersion:
        return None
