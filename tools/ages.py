"""Which names each release of transformers has: model types, public names, and those of its shared modules.

Half of the messages that people paste come from no bug at all: the release is too old for the model, or too new for the
code. ``hotfix explain --error`` says so with the first, or the last, release that has the name. Only names that came or
went within the releases that are examined are kept, each once: ``hotfix/versions/names.json``.

    python -m tools.ages              from the wheels in the cache
"""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Optional

from packaging.version import Version

from tools import wheels

OUT = Path(__file__).parents[1] / "hotfix" / "versions" / "names.json"
PACKAGE = "transformers"
_MAPPINGS = ("models/auto/configuration_auto.py", "models/auto/auto_mappings.py")
_EXPORTS = re.compile(r"^__all__\s*(?:\+?=|\.extend\()\s*(\[[^\]]*\])", re.M)
# Nobody imports from these by name.
_LEFT_OUT = re.compile(
    r"utils/dummy_\w+|testing_utils|test_module/.*|(?:commands|cli|agents|tools|exporters|onnx|sagemaker)/.*"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

# What stands in a file, by its path and checksum: most files are the same in many releases.
_seen: dict[tuple[str, int], frozenset[str]] = {}


def main() -> None:
    """Write the file anew."""
    found = {version: dict(_names(path)) for version, path in wheels.cached(PACKAGE, wheels.default_cache()).items()}
    OUT.write_text(json.dumps(summed_up(found), indent=1) + "\n", encoding="utf-8")


def summed_up(found: Mapping[Version, Mapping[str, frozenset[str]]]) -> dict[str, object]:
    """For each place, the names that came (by first release) and that went (by last release).

    Args:
        found: the names by place and release, oldest release first.
    """
    releases = list(found)
    names: dict[str, dict[str, list[Version]]] = defaultdict(lambda: defaultdict(list))
    for release, places in found.items():
        for place, here in places.items():
            for name in here:
                names[place][name].append(release)
    listed: dict[str, dict[str, dict[str, str]]] = {}
    for place, by_name in sorted(names.items()):
        came, went = defaultdict(list), defaultdict(list)
        for name, having in sorted(by_name.items()):
            if having[0] != releases[0]:
                came[having[0]].append(name)
            if having[-1] != releases[-1]:
                went[having[-1]].append(name)
        if came or went:
            listed[place] = {
                "first": {str(release): " ".join(these) for release, these in sorted(came.items())},
                "last": {str(release): " ".join(these) for release, these in sorted(went.items())},
            }
    return {"package": PACKAGE, "examined": [str(releases[0]), str(releases[-1])], "places": listed}


def _names(wheel: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The names of one release by place: ``model types``, ``models`` (folders), ``modules``, what is in these."""
    with zipfile.ZipFile(wheel) as archive:
        infos = {
            info.filename.partition("/")[2]: info
            for info in archive.infolist()
            if info.filename.startswith(f"{PACKAGE}/") and info.filename.endswith(".py")
        }
        types: set[str] = set()
        public: set[str] = set()
        for path, info in infos.items():
            depth, in_models = path.count("/"), path.startswith("models/")
            if path in _MAPPINGS:
                types |= _cached(archive, info, "types") or set()
            if in_models and depth >= 2:
                public |= _cached(archive, info, "exports") or set()
            if path == "__init__.py":
                public |= _cached(archive, info, "public") or set()
            elif not in_models and depth <= 1 and not _LEFT_OUT.fullmatch(path[: -len(".py")]):
                module = path[: -len(".py")].replace("/", ".").removesuffix(".__init__")
                yield f"{PACKAGE}.{module}", _cached(archive, info, "top level") or frozenset()
        modules = (path[: -len(".py")].removesuffix("/__init__") for path in infos)
        shared = (one for one in modules if not one.startswith("models/") and not _LEFT_OUT.fullmatch(one))
        yield "modules", frozenset(f"{PACKAGE}.{one.replace('/', '.')}" for one in shared)
        yield PACKAGE, frozenset(public)
        yield "model types", frozenset(types)
        yield (
            "models",
            frozenset(path.split("/")[1] for path in infos if path.startswith("models/") and "/" in path[7:]),
        )


def _cached(archive: zipfile.ZipFile, info: zipfile.ZipInfo, what: str) -> Optional[frozenset[str]]:
    key = f"{what}:{info.filename}", info.CRC
    if key not in _seen:
        text = archive.read(info).decode("utf-8")
        _seen[key] = frozenset(
            {"types": _types, "exports": _exports, "public": _public, "top level": _top_level}[what](text)
        )
    return _seen[key]


def _types(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        named = isinstance(node, (ast.Assign, ast.AnnAssign)) and ast.unparse(
            node.targets[0] if isinstance(node, ast.Assign) else node.target
        )
        if named == "CONFIG_MAPPING_NAMES" and node.value is not None:  # type: ignore[attr-defined]
            for one in ast.walk(node.value):  # type: ignore[attr-defined]
                keys = [one.elts[0]] if isinstance(one, ast.Tuple) and len(one.elts) == 2 else getattr(one, "keys", [])
                yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _exports(text: str) -> Iterator[str]:
    for listed in _EXPORTS.findall(text):
        yield from (name for name in re.findall(r"""["'](\w+)["']""", listed))


def _public(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names if alias.name != "*")
        elif isinstance(node, (ast.List, ast.Set, ast.Tuple)):
            yield from (
                one.value
                for one in node.elts
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and _IDENTIFIER.fullmatch(one.value)
            )


def _top_level(text: str) -> Iterator[str]:
    blocks: list[ast.stmt] = [*ast.parse(text).body]
    while blocks:
        node = blocks.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Assign):
            yield from (one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            blocks += [*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            blocks += [one for handler in getattr(node, "handlers", []) for one in handler.body]


if __name__ == "__main__":
    main()
