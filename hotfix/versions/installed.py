"""Finds out what is installed, without importing it.

``importlib.metadata`` takes 50 ms and more in a large environment, and importing a package to get its version takes
seconds. Reading one file next to the code takes under a millisecond, and shows what would really be imported.
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
_SECONDS = 2.0  # between the first file that an installer writes and its list of files


def find_spec(module: str) -> Optional[ModuleSpec]:
    """The spec from which `module` would be imported. Unlike importlib's function, this imports no parent package."""
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
            # A folder without __init__.py in a package that is not imported, as after an interrupted installation.
            continue
        if spec is not None:
            return spec
    return None


def source_of(spec: Optional[ModuleSpec]) -> Optional[str]:
    """The source of the module of a spec, also from a zip file; None if only bytecode is installed."""
    loader: Any = spec and spec.loader
    while loader is not None and not hasattr(loader, "get_source"):
        loader = getattr(loader, "loader", None)  # importlib.util.LazyLoader wraps another loader
    if loader is None or spec is None:
        return None
    try:
        text: Optional[str] = loader.get_source(spec.name)
    except (ImportError, SyntaxError, OSError):  # unreadable, or not in the encoding that it declares
        return None
    return text


def normal(distribution: str) -> str:
    """The name of a distribution or of its metadata folder, normalized as in PEP 503."""
    name = distribution.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def is_executed(module: str) -> bool:
    """Whether a module was imported completely; a module that is being executed does not count."""
    loaded = sys.modules.get(module)
    if loaded is None or is_lazy(loaded):
        return False
    return not getattr(getattr(loaded, "__spec__", None), "_initializing", False)


def is_lazy(module: object) -> bool:
    """Whether a module is an unused one of `importlib.util.LazyLoader`, which reading an attribute would execute."""
    util = sys.modules.get("importlib.util")
    return util is not None and type(module) is getattr(util, "_LazyModule", None)


@memo
def version(distribution: str) -> Optional[Version]:
    """The version of an installed distribution, for instance ``version("flash-attn")``; None if it is not installed.

    The package's own ``__version__`` comes first, since it belongs to the code that will run; an editable checkout has
    ``4.50.0.dev0`` there. The name of the ``*.dist-info`` folder, next to the package or elsewhere on the path, comes
    second. It also works for distributions whose package has another name.
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
    for place in dict.fromkeys([*([beside] if beside else []), *_folders()]):
        metadata = _metadata_folders(place or ".").get(wanted)
        if metadata is None or (spec is None and not _has_code(place, metadata)):
            continue
        if parsed := _parsed(metadata.rpartition(".")[0].partition("-")[2].partition("-py")[0]):
            return parsed
    return None


def is_as_released(module: str) -> bool:
    """Whether the file of a module is unchanged since its installation, according to the installer's list of files.

    A file with the listed size that is not newer than the list counts as unchanged; a newer file must have the listed
    hash. Without a list (editable installations, other package managers) the answer is no.
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
    # Neither exists: the release has no such module, unless it is installed as bytecode.
    return not any(os.path.exists(path) for path in (f"{stem}.pyc", os.path.join(stem, "__init__.pyc")))


def _folders() -> list[str]:
    """The entries of ``sys.path`` that the import system uses: it skips those that are not strings."""
    return [folder for folder in sys.path if isinstance(folder, str)]


# ---------------------------------------------------------------------------------------------------------------------
# Below: versions in packages, and the files of installers.


def _own_words(spec: ModuleSpec, folder: Path) -> list[str]:
    texts = [source_of(spec) or ""]
    for name in _VERSION_FILES:
        file = folder / name
        if file.is_file():
            texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return texts


def _assigned(text: str) -> str:
    """The string that the first such line of a file assigns to ``__version__``; empty without such a line."""
    for line in f"\n{text}".split("\n__version__")[1:]:  # compiling a regular expression would take longer
        annotation, _, value = line.partition("\n")[0].partition("=")
        value = value.strip()
        if value[:1] in ("'", '"') and annotation.replace(" ", "") in ("", ":str"):
            return value[1:].partition(value[0])[0]
    return ""


@memo
def _metadata_folders(folder: str) -> dict[str, str]:
    """The metadata folders in a folder of the path, by normalized name of the distribution."""
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
    """Whether the package of a metadata folder exists: an uninstallation may leave the folder behind."""
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
    """The folder of a package, and the time and path of its installer's list of files; None without such a list."""
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
    """The hash and size of a file in an installer's list, as ``HASH,SIZE``; empty if it is not listed."""
    text = _text(list_file)
    begin = text.find(f"\n{path},")
    if begin < 0:
        return ""
    begin += len(path) + 2
    return text[begin : text.index("\n", begin)].rstrip()


@memo
def _text(list_file: str) -> str:
    """A list with a line end before and after each line; searching it for a few files is faster than parsing it."""
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
