"""What is installed here, found out without importing it.

Asking ``importlib.metadata`` costs 50 ms and more in a large environment, importing a package to ask for its version
costs seconds; looking at one file beside the code costs under a millisecond and tells what would really be imported.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Optional

from packaging.version import InvalidVersion, Version

from .._support.memo import memo

_VERSION_FILES = ("version.py", "_version.py", "_version/__init__.py")
_SECONDS = 2.0  # between what an installer writes first and its list of it


def find_spec(module: str) -> Optional[ModuleSpec]:
    """The spec with which `module` would be imported. Unlike importlib's function it imports no parent package."""
    path = None
    parent, _, _ = module.rpartition(".")
    if parent:
        package = find_spec(parent)
        if package is None or package.submodule_search_locations is None:
            return None
        path = list(package.submodule_search_locations)
    for finder in list(sys.meta_path):
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
    loader: Any = spec and spec.loader
    while loader is not None and not hasattr(loader, "get_source"):
        loader = getattr(loader, "loader", None)  # importlib.util.LazyLoader stands for another one
    if loader is None or spec is None:
        return None
    try:
        text: Optional[str] = loader.get_source(spec.name)
    except (ImportError, SyntaxError, OSError):  # unreadable, or not in the encoding that it declares
        return None
    return text


def normal(distribution: str) -> str:
    """The name of a distribution, normalised as PEP 503 says; of the folder of its metadata, too."""
    name = distribution.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def is_executed(module: str) -> bool:
    """Whether a module was imported and has got its functions: not one that is being executed."""
    loaded = sys.modules.get(module)
    if loaded is None or is_lazy(loaded):
        return False
    return not getattr(getattr(loaded, "__spec__", None), "_initializing", False)


def is_lazy(module: object) -> bool:
    """Whether a module is one of `importlib.util.LazyLoader` that nobody has used: to look into it would execute it."""
    util = sys.modules.get("importlib.util")
    return util is not None and type(module) is getattr(util, "_LazyModule", None)


@memo
def version(distribution: str) -> Optional[Version]:
    """The version of an installed distribution, for instance ``version("flash-attn")``; None if it is not there.

    What the package says of itself comes first, since it belongs to the code that will run; an editable checkout says
    ``4.50.0.dev0`` there. The name of the ``*.dist-info`` folder, beside the package or elsewhere on the path, comes
    second: it also knows distributions whose package has another name.
    """
    package = distribution.replace("-", "_")
    spec = find_spec(package)
    beside = None
    if spec is not None and spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations)))
        for text in _own_words(spec, folder):
            if parsed := _parsed(_assigned(text)):
                return parsed
        beside = str(folder.parent)
    wanted = normal(distribution)
    for place in dict.fromkeys([*([beside] if beside else []), *sys.path]):
        metadata = _metadata_folders(place or ".").get(wanted)
        if metadata is None or (spec is None and not _has_code(place, metadata)):
            continue
        if parsed := _parsed(metadata.rpartition(".")[0].partition("-")[2].partition("-py")[0]):
            return parsed
    return None


def is_as_released(module: str) -> bool:
    """Whether the file of a module is what its wheel has brought, as far as the installer's list vouches for it.

    A file that is as long as the list says and no younger than the list is taken for what the installer has written; a
    younger one is compared by its hash. Without a list (editable installations, other package managers) nothing is
    vouched for.
    """
    package = module.partition(".")[0]
    record = _record(package)
    if record is None:
        return False
    folder, listed_at, list_file = record
    parts = module.split(".")[1:]
    stem = os.path.join(folder, *parts)
    in_list = "/".join([os.path.basename(folder), *parts])
    for end in (".py", "/__init__.py"):
        path = stem + end
        try:
            status = os.stat(path)
        except OSError:
            continue
        digest, _, size = _listed(list_file, in_list + end).partition(",")
        if str(status.st_size) != size:
            return False
        return status.st_mtime <= listed_at + _SECONDS or _has_hash(path, digest)
    # Neither is there: the release has no such module, unless bytecode stands for it.
    return not any(os.path.exists(path) for path in (f"{stem}.pyc", os.path.join(stem, "__init__.pyc")))


# ---------------------------------------------------------------------------------------------------------------------
# Below: what packages and installers say.


def _own_words(spec: ModuleSpec, folder: Path) -> list[str]:
    texts = [source_of(spec) or ""]
    for name in _VERSION_FILES:
        file = folder / name
        if file.is_file():
            texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return texts


def _assigned(text: str) -> str:
    """What the first line of a file that assigns a text to ``__version__`` assigns; empty without such a line."""
    for line in f"\n{text}".split("\n__version__")[1:]:  # a regular expression takes longer to be made than to be used
        annotation, _, value = line.partition("\n")[0].partition("=")
        value = value.strip()
        if value[:1] in ("'", '"') and annotation.replace(" ", "") in ("", ":str"):
            return value[1:].partition(value[0])[0]
    return ""


@memo
def _metadata_folders(folder: str) -> dict[str, str]:
    """The metadata folders in a folder of the path, by normalised name of the distribution."""
    try:
        names = os.listdir(folder)
    except OSError:  # a zip file, or a folder that does not exist
        return {}
    return {
        normal(name.rpartition(".")[0].partition("-")[0]): name
        for name in names
        if name.endswith((".dist-info", ".egg-info"))
    }


def _has_code(folder: str, metadata: str) -> bool:
    """Whether what the metadata describes is there: an uninstallation may leave the folder behind."""
    for name in ("top_level.txt", "RECORD"):
        try:
            text = Path(folder, metadata, name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        tops = {line.split(",")[0].split("/")[0] for line in text.splitlines()}
        modules = (top.removesuffix(".py") for top in tops)
        return any(find_spec(module) for module in modules if module.isidentifier())
    return False


@memo
def _record(package: str) -> Optional[tuple[str, float, str]]:
    """The folder of a package, and of its installer's list of files the time and the path; None without such a list."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations or spec.origin is None:
        return None
    folder = next(iter(spec.submodule_search_locations))
    place = os.path.dirname(folder)
    metadata = _metadata_folders(place).get(normal(package))
    path = os.path.join(place, metadata or "", "RECORD")
    try:
        return (folder, os.stat(path).st_mtime, path) if metadata else None
    except OSError:
        return None


@memo
def _listed(list_file: str, path: str) -> str:
    """Hash and size, as ``HASH,SIZE``, of a file in an installer's list; empty where it is not in it."""
    text = _text(list_file)
    begin = text.find(f"\n{path},")
    if begin < 0:
        return ""
    begin += len(path) + 2
    return text[begin : text.index("\n", begin)].rstrip()


@memo
def _text(list_file: str) -> str:
    """A list, with an end of line before and after each line; to find a few files in it is quicker than to read all."""
    return f"\n{Path(list_file).read_text(encoding='utf-8', errors='replace')}\n"


def _has_hash(path: str, listed: str) -> bool:
    if not listed.startswith("sha256="):
        return False
    digest = hashlib.sha256(Path(path).read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == listed[len("sha256=") :]


def _parsed(text: str) -> Optional[Version]:
    try:
        return Version(text)
    except InvalidVersion:
        return None
