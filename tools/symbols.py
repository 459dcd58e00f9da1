"""The names that some releases have and others lack: one table for `scan-code` and for `explain`.

    python -m tools.symbols            read the wheels in the cache, write hotfix/releases/symbols.txt.xz
    python -m tools.symbols --check    compare the written file with the wheels; nothing is written

Nothing is imported from a wheel. A module has the names that its statements bind, wherever in its `if`, `try` and
`with`; a lazy package has those that it declares, and its submodules. Names bound by `convert_*` scripts and by the
dummy objects for missing backends are left out, and so are names that a module always has: the module's own row covers
them.
"""

from __future__ import annotations

import argparse
import ast
import lzma
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import decode_source
from pathlib import Path
from typing import Optional

from packaging.version import Version

from hotfix.releases import symbols as names
from hotfix.versions import source

from . import wheels

PACKAGE = "transformers"
KEYWORDS = {
    "training_args": ("TrainingArguments",),
    "training_args_seq2seq": ("Seq2SeqTrainingArguments",),
    "trainer": ("Trainer",),
    "trainer_seq2seq": ("Seq2SeqTrainer",),
}
"""Classes whose keyword arguments are recorded, by module; what a subclass does not declare it has of its base."""
BASES = {"Seq2SeqTrainingArguments": "TrainingArguments", "Seq2SeqTrainer": "Trainer"}
OLDER = {
    "models.bloom.modeling_bloom": ("_expand_mask", "_make_causal_mask"),
    "models.opt.modeling_opt": ("_expand_mask", "_make_causal_mask"),
    "trainer": ("ShardedDDPOption",),
    "trainer_utils": ("ShardedDDPOption",),
}
"""Names that code still asks for and that went away before the first examined release."""
LEFT_OUT = re.compile(r"(^|\.)(convert_(?!slow_tokenizer$)\w+|dummy_\w+_objects|testing_utils|test_\w+)$")
Names = Mapping[str, frozenset[str]]


def main(arguments: Optional[list[str]] = None) -> int:
    """Run the command; returns 1 if the written file differs from the wheels."""
    parser = argparse.ArgumentParser(prog="python -m tools.symbols", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="the folder of the wheels")
    chosen = parser.parse_args(arguments)
    text = table(wheels.cached(PACKAGE, chosen.cache))
    if chosen.check:
        same = lzma.decompress(names.FILE.read_bytes()).decode("utf-8") == text
        print("the same" if same else f"{names.FILE} is not what the wheels say: python -m tools.symbols")
        return int(not same)
    write(text)
    print(f"{names.FILE}: {text.count(chr(10))} lines, {names.FILE.stat().st_size} bytes")
    return 0


def table(releases: Mapping[Version, Path]) -> str:
    """The text of the table.

    Args:
        releases: their wheels.
    """
    library = wheels.catalogue(PACKAGE, releases)
    names = {version: dict(_of_wheel(path)) for version, path in releases.items()}
    return "\n".join([rendered(library, read(library)).rstrip("\n"), *ages(names), ""])


def write(text: str) -> None:
    """Write the table."""
    names.FILE.write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))


def read(library: wheels.Library) -> dict[int, Surface]:
    """The bindings of each text, by its number."""
    surfaces: dict[int, Surface] = {}
    by_wheel: dict[Path, list[wheels.Content]] = defaultdict(list)
    for content in library.contents:
        if not LEFT_OUT.search(content.modules[0]):
            by_wheel[content.wheel].append(content)
    for contents in by_wheel.values():
        for content, data in wheels.texts(contents):
            surfaces[content.number] = Surface(_tree(decode_source(data)))
    return surfaces


# ---------------------------------------------------------------------------------------------------------------------
# Below: the names of a text, and of a release.


class Surface:
    """The bindings of one text of a module.

    Attributes:
        bound: the names, with the module that each is imported from, as written; an empty string if it is defined here.
        stars: the modules from which it imports everything, as written, with leading dots.
        exported: ``__all__`` and the names marked as exported, which a lazy package takes from its files.
        lazy: whether it replaces itself by a lazy module, which has `declared` and no other names.
        declared: the names that the lazy module declares.
        by_files: whether the lazy module takes the exports of its files.
        is_open: whether it resolves names that it does not bind.
        legacy: the names of its submodules that are created on demand.
        fallbacks: suffixes of names for which a lazy package of this release also has another name.
        converters: the tokenizers in its table of converters.
        keywords: those of `KEYWORDS` that it defines, with the arguments that they declare.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.bound: dict[str, str] = {}
        self.stars: list[str] = []
        self.exported: set[str] = set()
        self.declared: set[str] = set()
        self.legacy: set[str] = set()
        self.fallbacks: set[str] = set()
        self.converters: set[str] = set()
        self.keywords: dict[str, set[str]] = {}
        self.is_open = False
        for statement in _flat(tree.body):
            self._take(statement)
        calls = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        self.lazy = "_LazyModule" in calls
        self.by_files = self.lazy and "define_import_structure" in calls
        if "_LazyModule" in self.bound:
            asked = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "endswith")
            self.fallbacks = {text for node in asked for text in _strings(node) if re.fullmatch(r"[A-Z]\w+Fast", text)}
        if self.lazy:
            self._take_declared(tree)

    def _take(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.bound[statement.name] = ""
            self.is_open = self.is_open or statement.name == "__getattr__"
            if any(_name(decorator) in ("requires", "export") for decorator in statement.decorator_list):
                self.exported.add(statement.name)
            if isinstance(statement, ast.ClassDef) and statement.name in sum(KEYWORDS.values(), ()):
                self.keywords[statement.name] = _arguments(statement)
        elif isinstance(statement, ast.Import):
            self.bound.update({(alias.asname or alias.name).partition(".")[0]: alias.name for alias in statement.names})
        elif isinstance(statement, ast.ImportFrom):
            source = "." * statement.level + (statement.module or "")
            if statement.names[0].name == "*":
                self.stars.append(source)
            else:
                self.bound.update({alias.asname or alias.name: source for alias in statement.names})
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for child in (node for target in targets for node in ast.walk(target)):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    self.bound[child.id] = ""
            if isinstance(statement.value, ast.Dict) and _name(targets[0]) == "SLOW_TO_FAST_CONVERTERS":
                self.converters = _strings(ast.Tuple([key for key in statement.value.keys if key], ast.Load()))
            if any(_name(target) == "__all__" for target in targets) and statement.value is not None:
                self.exported.update(_strings(statement.value))
            if any(isinstance(target, ast.Name) and target.id == "__getattr__" for target in targets):
                self._take_answered(statement.value)

    def _take_answered(self, made: Optional[ast.expr]) -> None:
        """The names in the tables of ``__getattr__ = deprecate_attr(__name__, rename={...})``, for which it answers."""
        tables = [word.value for word in made.keywords] if isinstance(made, ast.Call) else []
        self.is_open = self.is_open or not tables or not all(isinstance(each, ast.Dict) for each in tables)
        for each in tables:
            self.bound.update(dict.fromkeys(_strings(ast.Tuple(getattr(each, "keys", []), ast.Load())), ""))

    def _take_declared(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
                for statement in _flat(node.body):
                    if isinstance(statement, ast.ImportFrom):
                        self.declared.update(
                            alias.asname or alias.name for alias in statement.names if alias.name != "*"
                        )
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any("_import_structure" in ast.dump(target) for target in targets):
                    self.declared.update(_strings(node.value))
                if any("ALIASES" in (_name(target) or "") for target in targets) and isinstance(node.value, ast.Dict):
                    self.legacy.update(_strings(ast.Tuple([key for key in node.value.keys if key], ast.Load())))
            if isinstance(node, ast.Call) and _called(node).endswith("_alias") and node.args:
                made = (text.rpartition(".")[2] for text in _strings(node.args[0]))
                self.legacy.update(
                    name for name in made if name and not name.startswith("_")
                )  # the rest of an f-string


def _tree(text: str) -> ast.Module:
    """The tree for a `Surface`: without the bodies of definitions, unless they matter."""
    return source.parse(text) if _DEEPER.search(text) else source.outline(text)


# Lazy packages, marks that a definition is exported, and the classes whose arguments are recorded.
_DEEPER = re.compile(
    rf"_LazyModule|^@[\w.]*\b(?:requires|export)\b|^class (?:{'|'.join(sum(KEYWORDS.values(), ()))})\b", re.M
)


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that are executed with these, in whichever branch."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for field in ("body", "orelse", "finalbody"):
                yield from _flat(getattr(statement, field, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _flat(handler.body)


def _name(node: ast.AST) -> Optional[str]:
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _called(node: ast.Call) -> str:
    return _name(node.func) or ""


def _strings(node: ast.AST) -> set[str]:
    return {child.value for child in ast.walk(node) if isinstance(child, ast.Constant) and isinstance(child.value, str)}


def _arguments(node: ast.ClassDef) -> set[str]:
    """The keywords of its ``__init__``, or the fields of a dataclass."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return {argument.arg for argument in (*statement.args.args, *statement.args.kwonlyargs)} - {"self"}
    return {
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def _of_release(modules: Mapping[str, int], surfaces: Mapping[int, Surface]) -> Names:
    here = {module: surfaces[number] for module, number in modules.items() if number in surfaces}
    children: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        parent, _, last = module.rpartition(".")
        children[parent].add(last)

    def all_of(module: str, seen: tuple[str, ...] = ()) -> set[str]:
        surface = here.get(module)
        if surface is None or module in seen:
            return set()
        package = module if module in children else module.rpartition(".")[0]
        if surface.lazy:
            names = surface.declared | children[module] | surface.legacy
            if surface.by_files:
                names |= {name for file in _files(module) for name in here[file].exported}
            return names | _made_up(names) | converted
        names = {*surface.bound, *children.get(module, ())}
        for star in surface.stars:
            there = _absolute(star, package)
            taken = all_of(there, (*seen, module)) if there in here else set()
            there_exports = here[there].exported if there in here else set()
            names |= there_exports or {name for name in taken if not name.startswith("_")}
        return names

    def _files(module: str) -> list[str]:
        return [other for other in here if other.startswith(f"{module}.")]

    def _made_up(names: set[str]) -> set[str]:
        """The names that a lazy package resolves to another one."""
        return {f"{name}Fast" for name in names for end in fallbacks if f"{name}Fast".endswith(end)}

    fallbacks = here[f"{PACKAGE}.utils.import_utils"].fallbacks
    converters = here[f"{PACKAGE}.convert_slow_tokenizer"].converters if fallbacks else set()
    converted = converters | {f"{name}Fast" for name in converters}

    names: dict[str, frozenset[str]] = {}
    legacy: dict[str, set[str]] = {}
    for module, surface in here.items():
        names_of_module = all_of(module)
        if surface.is_open or surface.legacy:
            legacy[module] = surface.legacy
        names[module] = frozenset(name for name in names_of_module if not name.startswith("__")) | {
            "*" for _ in range(surface.is_open)
        }
    if f"{PACKAGE}.models" in here and here[PACKAGE].by_files:
        files = _files(f"{PACKAGE}.models")
        exported = {name for file in files for name in here[file].exported}
        names[PACKAGE] |= frozenset(exported | _made_up(exported))
    for module, aliases in legacy.items():
        names.update({f"{module}.{alias}": frozenset({"*"}) for alias in aliases if f"{module}.{alias}" not in here})
    keywords: dict[str, set[str]] = {}
    for module, classes in KEYWORDS.items():
        for class_ in classes:
            own = here[f"{PACKAGE}.{module}"].keywords.get(class_)
            keywords[class_] = (own or set()) | keywords.get(BASES.get(class_, ""), set())
            names[f"{PACKAGE}.{module}:{class_}()"] = frozenset(keywords[class_])
    return names


def _absolute(star: str, package: str) -> str:
    level = len(star) - len(star.lstrip("."))
    if not level:
        return star
    base = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*base, *filter(None, [star.lstrip(".")])])


# ---------------------------------------------------------------------------------------------------------------------
# Below: the written table.

PATTERNS = {"TF*": "TF", "Flax*": "Flax"}
"""Names that went together: where a package had most of them until one release, one row says so."""
_OUTSIDE = re.compile(r"^(?!\.|transformers\b|flash_attn\b).")
_INTERNAL = re.compile(
    r"(^|\.)(agents|benchmark|cli|commands|data\.test_\w+|onnx|sagemaker|tools|exporters|models\.deprecated\.\w+)\."
)
_OF_DOCUMENTATION = re.compile(
    r"_(CHECKPOINT|EXPECTED|SEQ|QA|IMAGE_CLASS|TOKEN_CLASS|PRETRAINED|REAL|FEAT|CTC|FRAME|XVEC)_"
)


def rendered(library: wheels.Library, surfaces: Mapping[int, Surface]) -> str:
    """The table as text; `hotfix.releases.symbols` reads it."""
    releases = library.releases
    collected = {release: _of_release(library.modules[release], surfaces) for release in releases}
    origins: dict[str, dict[str, str]] = {}
    for release in releases:
        for module, number in library.modules[release].items():
            if number in surfaces and not surfaces[number].lazy:
                origins.setdefault(module, {}).update(surfaces[number].bound)
    last = len(releases) - 1
    had: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, release in enumerate(releases):
        for module, names_of_module in collected[release].items():
            had[module][""].add(number)
            for name in names_of_module:
                if f"{module}.{name}" not in library.modules[release]:
                    had[module][name].add(number)
    for module, older in OLDER.items():
        for name in older:
            had[f"{PACKAGE}.{module}"].setdefault(name, set())
    lines = []
    for module, rows in sorted(had.items()):
        exists, answering = frozenset(rows.pop("")), rows.pop("*", set())
        arguments = module.endswith("()")
        groups: dict[str, list[str]] = defaultdict(list)
        gone = {}
        if not _INTERNAL.search(module) and module != f"{PACKAGE}.models":
            for name, bound in rows.items():
                present = bound | answering
                counts = arguments or (
                    _is_gone(present, exists) and _is_asked_for(module, name, origins.get(module, {}).get(name, ""))
                )
                if present != exists and counts:
                    gone[name] = frozenset(present)
        for pattern, prefix in PATTERNS.items():
            members = [name for name in gone if name.startswith(prefix) and max(gone[name]) == _LAST_OF_4]
            if len(members) > 1:
                gone[pattern] = frozenset(range(_LAST_OF_4 + 1)) & exists
                for name in members:
                    del gone[name]
        for name, holding in sorted(gone.items()):
            groups[names.written(holding)].append(name)
        whole = names.written(exists) if last not in exists or len(exists) != last + 1 - min(exists) else ""
        if re.search(r"\.modeling_(tf|flax)_", module) and max(exists) == _LAST_OF_4:
            whole = ""
        if whole or groups:
            parts = [f"{runs} {' '.join(names)}" for runs, names in sorted(groups.items())]
            lines.append("|".join([f"{module.partition('.')[2]} {whole}".rstrip(), *parts]))
    lines += [f"models.{prefix}* 0-{_LAST_OF_4}" for prefix in ("modeling_flax_", "modeling_tf_")]
    return "\n".join([" ".join(map(str, releases)), *lines, ""])


def _is_gone(present: set[int], exists: frozenset[int]) -> bool:
    return any(number not in present for number in exists if number > min(present, default=-1))


def _is_asked_for(module: str, name: str, origin: str) -> bool:
    """Whether a user might import a name from a module: not names for its own documentation, or of other packages."""
    if _OUTSIDE.match(origin) or _OF_DOCUMENTATION.search(name):
        return False
    if not origin:
        return name != "logger"
    if module.startswith(f"{PACKAGE}.models."):
        return origin.rpartition(".")[2] in _ASKED_OF_MODELS or origin.startswith(
            ("flash_attn", ".modeling", ".config")
        )
    return module.partition(".")[2] in _FACADES


_LAST_OF_4 = 76
_ASKED_OF_MODELS = {"modeling_attn_mask_utils", "modeling_flash_attention_utils"}
_FACADES = {
    *("cache_utils", "configuration_utils", "file_utils", "generation.utils", "image_transforms", "image_utils"),
    *("modeling_flash_attention_utils", "modeling_outputs", "modeling_utils", "processing_utils", "pytorch_utils"),
    *("tokenization_utils", "tokenization_utils_base", "tokenization_utils_fast", "trainer", "trainer_utils"),
    *("training_args", "utils", "utils.generic", "utils.hub", "utils.import_utils"),
}
"""Modules of which others import what these have imported themselves."""

# ---------------------------------------------------------------------------------------------------------------------
# Below: since when there is a name, and until when, of model types, public names and those of shared modules.

_MAPPINGS = ("models/auto/configuration_auto.py", "models/auto/auto_mappings.py")
_EXPORTS = re.compile(r"^__all__\s*(?:\+?=|\.extend\()\s*(\[[^\]]*\])", re.M)
# Nobody imports from these by name.
_NOT_ASKED_FOR = re.compile(
    r"utils/dummy_\w+|testing_utils|test_module/.*|(?:commands|cli|agents|tools|exporters|onnx|sagemaker)/.*"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

# The content of a file, by its path and checksum: most files are the same in many releases.
_seen: dict[tuple[str, int], frozenset[str]] = {}


def ages(by_release: Mapping[Version, Mapping[str, frozenset[str]]]) -> Iterator[str]:
    """For each place a line with the added names (by first release) and the removed names (by last release).

    Args:
        by_release: the names by place and release, oldest release first.
    """
    had: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, places in enumerate(by_release.values()):
        for place, here in places.items():
            for name in here:
                had[place][name].append(number)
    for place, by_name in sorted(had.items()):
        came, went = defaultdict(list), defaultdict(list)
        for name, having in sorted(by_name.items()):
            if having[0] != 0:
                came[having[0]].append(name)
            if having[-1] != len(by_release) - 1:
                went[having[-1]].append(name)
        if came or went:
            parts = [
                f"{sign}{number} {' '.join(these)}"
                for sign, by_number in (("+", came), ("-", went))
                for number, these in sorted(by_number.items())
            ]
            yield "|".join([f"{names.AGES}{place}", *parts])


def _of_wheel(wheel: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The names of one release by place: ``model types``, ``models`` (folders), ``modules``, and the names in these."""
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
            elif not in_models and depth <= 1 and not _NOT_ASKED_FOR.fullmatch(path[: -len(".py")]):
                module = path[: -len(".py")].replace("/", ".").removesuffix(".__init__")
                yield f"{PACKAGE}.{module}", _cached(archive, info, "top level") or frozenset()
        modules = (path[: -len(".py")].removesuffix("/__init__") for path in infos)
        shared = (
            module for module in modules if not module.startswith("models/") and not _NOT_ASKED_FOR.fullmatch(module)
        )
        yield "modules", frozenset(f"{PACKAGE}.{path.replace('/', '.')}" for path in shared)
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
            for child in ast.walk(node.value):  # type: ignore[attr-defined]
                keys = (
                    [child.elts[0]]
                    if isinstance(child, ast.Tuple) and len(child.elts) == 2
                    else getattr(child, "keys", [])
                )
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
                element.value
                for element in node.elts
                if isinstance(element, ast.Constant)
                and isinstance(element.value, str)
                and _IDENTIFIER.fullmatch(element.value)
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
            yield from (
                child.id for target in node.targets for child in ast.walk(target) if isinstance(child, ast.Name)
            )
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            blocks += [*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            blocks += [statement for handler in getattr(node, "handlers", []) for statement in handler.body]


if __name__ == "__main__":
    sys.exit(main())
