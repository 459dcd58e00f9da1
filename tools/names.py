"""The replacement for each name that a release of transformers has lost, as far as a machine can determine it.

    python -m tools.names                  read the wheels in the cache, write hotfix/names/removed.txt and the page
    python -m tools.names --check          compare the written files with the wheels; nothing is written
    python -m tools.names --prove 5.23.0   have rows checked by a program on a release; all rows with --every 1
    python -m tools.names --count FOLDER   count again which packages use which name, in the wheels of a folder

A name belongs to a module that exists in some release and lacks the name in a later one, or to a module that is gone as
a whole. Nothing is imported from a wheel. For each name and each later release the first of these that exists counts:

- *alias*: the module had imported the name, and it still exists where it is defined; or the same definition (by digest)
  is elsewhere in the first release without the name, and its later fate there counts;
- *constant*: a literal of the last release that had it. Longer texts are documentation, and become empty strings;
- *hollow*: a class of attention for one implementation: nothing in the release is an instance of it;
- *output*: a class of results that is nothing but a list of fields;
- *empty*: a class or function of a module that is gone with all of its family: only the name is left.

Every other name gets a word for the reason (`REASONS`). Names that fixes in `hotfix/names` restore are left to them.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import decode_source
from pathlib import Path
from typing import Any, NamedTuple, Optional

from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from hotfix.patching import tabled
from hotfix.versions import source

from . import symbols, wheels

PACKAGE = symbols.PACKAGE
TABLE = tabled.FILE
ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "data" / "names.json"
PAGE = ROOT / "docs" / "names.md"

REASONS = {
    "answers": "the release answers for it in its own way",
    "body": "a function or class whose code is gone: it needs one of our own",
    "conditional": "its meaning depended on the installed packages",
    "fix": "a fix of its own restores it",
    "flax": "Flax is gone",
    "made": "its value was computed",
    "module": "the release has nothing of what the module had",
    "opt-in": "an opt-in fix restores it",
    "outside": "a name of another package that is not known to be there",
    "tensorflow": "TensorFlow is gone",
}
"""Why a name is not in the table."""

LONGEST_TEXT = 80
"""Of a string that is a fact, such as the name of a class or a checkpoint; what is longer is documentation."""
LONGEST_VALUE = 1500
_OUTSIDE = {"torch", "numpy", "packaging", "tokenizers", "huggingface_hub", "safetensors", "tqdm", "regex", "requests"}
"""Packages that are there whenever transformers is, or torch models are run."""
_IS_OF_OTHER_FRAMEWORKS = re.compile(r"(^|[._])(modeling_)?(tf|flax)(_|$)|\.(keras_callbacks|optimization_tf)$")
_NAME_OF_ATTENTION = re.compile(r"(?:Flash|Sdpa)(?:Self)?Attention2?$")


class Bound(NamedTuple):
    """The binding of a name by a statement of a module.

    Attributes:
        kind: ``def``, ``class``, ``value`` (a literal), ``text`` (a long string), ``import``, ``same`` (another name of
            the module) or ``made``.
        detail: digest, bases and, of a class of results, fields of a definition; the value; the origin of an import.
        conditional: whether the statement is in an `if` or a `try`.
    """

    kind: str
    detail: Any = None
    conditional: bool = False


class Facts(NamedTuple):
    """The facts in one source of a module.

    Attributes:
        bound: the last binding of each name.
        stars: modules of which it imports everything.
        surface: its entry in `tools.symbols`.
        declared: where a lazy package declares its names, as far as it does.
    """

    bound: dict[str, Bound]
    surface: symbols.Surface
    declared: dict[str, str]


def facts_of(text: str) -> Facts:
    """The bindings of a source. Bodies of functions and classes are not parsed: that would take ten times as long."""
    blocks, rest = _cut(text)
    tree = source.parse(rest)
    bound: dict[str, Bound] = {}
    declared: dict[str, str] = {}
    for statement, conditional in _statements(tree.body, False):
        for name, binding in _bindings(statement, blocks):
            earlier = bound.get(name)
            twice = earlier is not None and earlier.kind not in ("import", "def", "class")
            if earlier is not None and earlier.kind == "import" and binding.detail == _around(name, binding):
                continue  # ``class GenerationMixin(GenerationMixin)``, which warns
            is_second = earlier is not None and earlier.kind == binding.kind == "import"
            if is_second and bound[name].detail != binding.detail and (conditional or bound[name].conditional):
                bound[name] = Bound("made", conditional=True)  # one for each device, as of flash-attn and of NPUs
                continue
            if earlier is not None and binding.kind in ("value", "made", "same"):
                # ``try: from x import name`` / ``except ImportError: name = None``
                bound[name] = earlier._replace(conditional=True)
            else:
                bound[name] = binding._replace(conditional=conditional or twice)
    surface = symbols.Surface(source.parse(text) if "\nclass _LazyModule" in text else tree)
    surface.exported.update(name for name, block in blocks.items() if block.is_exported)
    if surface.lazy:
        for statement, _ in _statements(tree.body, False, everywhere=True):
            if isinstance(statement, ast.ImportFrom):
                origin = "." * statement.level + (statement.module or "")
                for alias in statement.names:
                    declared.setdefault(alias.asname or alias.name, origin)
    return Facts(bound, surface, declared)


def _around(name: str, binding: Bound) -> Any:
    """The detail of a class that wraps the class of the same name."""
    return (binding.detail[0], (name,), binding.detail[2]) if binding.kind == "class" else None


class _Block(NamedTuple):
    """A definition at the left margin: whether it is a class, its bases as text, the hash of its source.

    Of a class of results also its fields, if it has nothing else and all of them are None by default.
    """

    is_class: bool
    bases: tuple[str, ...]
    digest: int
    is_exported: bool
    fields: Optional[tuple[str, ...]] = None


def _cut(text: str) -> tuple[dict[str, _Block], str]:
    """The definitions of a module, and the module with nothing in them."""
    lines, kept, done = source.lines_of(text), list[str](), 0
    blocks: dict[str, _Block] = {}
    heads = ((head, name) for name, ones in source._heads(text).items() for head in ones if not head.indent)
    for head, name in sorted(heads, key=lambda pair: pair[0].number):
        if head.number < done:
            continue
        first = source._first_decorator(lines, head.number, "")
        last = source._end_of_block(text, head)
        between = "".join(lines[done:first])
        if first < done or last is None or between.count('"""') % 2 or between.count("'''") % 2:
            return _cut_slowly(text)
        blocks[name] = _block(name, lines[first:last], head.number - first)
        kept += [between, f"def {name}(): ...\n"]
        done = last
    rest = "".join([*kept, *lines[done:]])
    try:
        source.parse(rest)
    except (SyntaxError, ValueError):
        return _cut_slowly(text)
    return blocks, rest


def _cut_slowly(text: str) -> tuple[dict[str, _Block], str]:
    blocks, lines = {}, source.lines_of(text)
    for statement in source.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([statement.lineno, *(each.lineno for each in statement.decorator_list)]) - 1
            blocks[statement.name] = _block(
                statement.name, lines[first : statement.end_lineno], statement.lineno - 1 - first
            )
    return blocks, text


def _block(name: str, lines: list[str], head: int) -> _Block:
    squeezed = "".join("".join(lines).split())
    match = re.match(r"class\s+\w+\s*\(([^)]*)\)", "".join(lines[head : head + 8]))
    bases = tuple(part.strip() for part in match[1].split(",") if "=" not in part) if match else ()
    is_exported = any(re.match(r"@(requires|export)\b", line) for line in lines[:head])
    digest = hash(squeezed.replace(name, "_"))
    is_class = lines[head].startswith("class")
    fields = _fields("".join(lines)) if is_class and any(_OUTPUT.search(base) for base in bases) else None
    return _Block(is_class, bases, digest, is_exported, fields)


_OUTPUT = re.compile(r"(Output\w*)$")


def _fields(text: str) -> Optional[tuple[str, ...]]:
    """The fields of a class of results; None if it has anything else."""
    try:
        [statement] = source.parse(text).body
    except (SyntaxError, ValueError):
        return None
    assert isinstance(statement, ast.ClassDef)
    if not any("dataclass" in ast.unparse(decorator) for decorator in statement.decorator_list):
        return None
    fields = []
    for inner in statement.body:
        if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
            continue
        if not isinstance(inner, ast.AnnAssign) or not isinstance(inner.target, ast.Name):
            return None
        if not isinstance(inner.value, ast.Constant) or inner.value.value is not None:
            return None
        fields.append(inner.target.id)
    return tuple(fields)


def _statements(
    body: Iterable[ast.stmt], conditional: bool, everywhere: bool = False
) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in body:
        yield statement, conditional
        if isinstance(statement, ast.If) and not everywhere and _is_for_types(statement.test):
            continue
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, ()), True, everywhere)
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body, True, everywhere)


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _bindings(statement: ast.stmt, blocks: Mapping[str, _Block]) -> Iterator[tuple[str, Bound]]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        block = blocks.get(statement.name)
        if block is not None:
            detail = (block.digest, block.bases, block.fields)
            yield statement.name, Bound("class" if block.is_class else "def", detail)
        else:  # under an `if`
            yield statement.name, Bound("def", (0, (), None))
    elif isinstance(statement, ast.ImportFrom):
        origin = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            if alias.name != "*":
                yield alias.asname or alias.name, Bound("import", (origin, alias.name))
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield name, Bound("import", (alias.name if alias.asname else name, ""))
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, _value(statement.value)
            else:
                stored = (node for node in ast.walk(target) if isinstance(node, ast.Name))
                yield from ((node.id, Bound("made")) for node in stored if isinstance(node.ctx, ast.Store))
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, Bound("made")


def _value(node: ast.expr) -> Bound:
    if isinstance(node, ast.Name):
        return Bound("same", node.id)
    deprecated = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("DeprecatedDict", "DeprecatedList")
    try:
        value = ast.literal_eval(node.args[0] if deprecated else node)  # type: ignore[attr-defined]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return Bound("made")
    if isinstance(value, str) and (len(value) > LONGEST_TEXT or "\n" in value):
        return Bound("text")
    if value is None:  # a placeholder for a value that is assigned later
        return Bound("made")
    if len(repr(value)) > LONGEST_VALUE or not _is_short(value):
        return Bound("made")
    return Bound("value", value)


def _is_short(value: Any) -> bool:
    """Whether nothing in a literal is a text."""
    if isinstance(value, str):
        return len(value) <= 2 * LONGEST_TEXT and "\n" not in value
    if isinstance(value, dict):
        return all(map(_is_short, [*value.keys(), *value.values()]))
    return all(map(_is_short, value)) if isinstance(value, (list, tuple, set)) else True


def read(library: wheels.Library) -> dict[int, Facts]:
    """The facts of each source, by its number; modules that nobody imports from are left out."""
    facts: dict[int, Facts] = {}
    by_wheel: dict[Path, list[wheels.Content]] = defaultdict(list)
    for content in library.contents:
        module = content.modules[0]
        if not symbols.LEFT_OUT.search(module) and not _IS_OF_OTHER_FRAMEWORKS.search(module):
            by_wheel[content.wheel].append(content)
    for contents in by_wheel.values():
        for content, data in wheels.texts(contents):
            facts[content.number] = facts_of(decode_source(data))
    return facts


# ---------------------------------------------------------------------------------------------------------------------
# Below: the meaning of a name in a release.


class Origin(NamedTuple):
    """Where a name is defined.

    Attributes:
        kind: as in `Bound`, or ``module`` for a module, ``outside`` for a name of another package.
        module, name: where.
        bound: the binding there; None for the last two.
        conditional: whether a statement on the way is in an `if` or a `try`.
    """

    kind: str
    module: str
    name: str
    bound: Optional[Bound] = None
    conditional: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """Module and name."""
        return self.module, self.name


class Release:
    """One release: its modules, their names, and the origin of these.

    Args:
        modules: the number of the text of each.
        facts: the facts of the texts.
        restored: ``module:name`` of the names that fixes restore in it.
    """

    def __init__(
        self, modules: Mapping[str, int], facts: Mapping[int, Facts], restored: frozenset[str] = frozenset()
    ) -> None:
        self.restored = restored
        self.modules = frozenset(modules)
        self.facts = {module: facts[number] for module, number in modules.items() if number in facts}
        surfaces = {number: facts[number].surface for number in modules.values() if number in facts}
        self.names = symbols._of_release(modules, surfaces)
        self._packages = {module.rpartition(".")[0] for module in modules}
        self._resolved: dict[tuple[str, str], Optional[Origin]] = {}
        self._exported: dict[str, list[str]] = defaultdict(list)
        for module, facts_of_module in self.facts.items():
            for name in facts_of_module.surface.exported:
                self._exported[name].append(module)
        self._same: dict[int, list[tuple[str, str]]] = {}

    def has(self, module: str, name: str) -> bool:
        """Whether a module has a name."""
        return name in self.names.get(module, ())

    def defines(self, place: tuple[str, str]) -> bool:
        """Whether a module defines a name itself."""
        facts = self.facts.get(place[0])
        bound = facts.bound.get(place[1]) if facts else None
        return bound is not None and bound.kind != "import"

    def resolve(self, module: str, name: str) -> Optional[Origin]:
        """The place where a name of a module is defined; None if that is unknown."""
        key = module, name
        if key not in self._resolved:
            self._resolved[key] = None  # for cycles
            self._resolved[key] = self._resolve(module, name)
        return self._resolved[key]

    def _resolve(self, module: str, name: str) -> Optional[Origin]:
        facts = self.facts.get(module)
        if facts is None:
            return None
        package = module if module in self._packages else module.rpartition(".")[0]
        if facts.surface.lazy:
            if name in facts.declared:
                return self._imported(symbols._absolute(facts.declared[name], package), name)
            inside = [inner for inner in self._exported.get(name, ()) if inner.startswith(f"{module}.")]
            if inside:
                return self.resolve(inside[0], name)
        bound = facts.bound.get(name)
        if bound is not None and bound.kind == "import":
            place = self._imported(symbols._absolute(bound.detail[0], package), bound.detail[1])
            return place._replace(conditional=True) if place and bound.conditional else place
        if bound is not None and bound.kind == "same":
            return self.resolve(module, bound.detail)
        if bound is not None:
            return Origin(bound.kind, module, name, bound, bound.conditional)
        if f"{module}.{name}" in self.modules:
            return Origin("module", f"{module}.{name}", "")
        for star in facts.surface.stars:
            there = symbols._absolute(star, package)
            if self.has(there, name):
                return self.resolve(there, name)
        return None

    def _imported(self, module: str, name: str) -> Optional[Origin]:
        if module.partition(".")[0] != PACKAGE:
            return Origin("outside", module, name)
        if not name:
            return Origin("module", module, "")
        place = self.resolve(module, name)
        if place is None and f"{module}.{name}" in self.modules:
            return Origin("module", f"{module}.{name}", "")
        return place

    def same_as(self, digest: int) -> list[tuple[str, str]]:
        """The definitions with this source, whatever their names."""
        if not self._same:
            self._same = defaultdict(list)
            for module, facts in self.facts.items():
                for name, bound in facts.bound.items():
                    if bound.kind in ("def", "class") and not bound.conditional:
                        self._same[bound.detail[0]].append((module, name))
        return self._same.get(digest, [])


# ---------------------------------------------------------------------------------------------------------------------
# Below: the replacement for a name that is gone.


class Decision(NamedTuple):
    """The decision about a name in a release that lacks it.

    Attributes:
        kind: one of `tabled.FIXES`; empty if there is no replacement.
        value: as in `tabled.Row`; or the reason. Of an `empty` name the number of the last release that had it.
    """

    kind: str
    value: str


_FRAMEWORKS = {
    r"_?(TF|Keras|modeling_tf_|TF_)(?!_?(WEIGHTS|2_W))": "tensorflow",
    r"_?(Flax|FLAX_|modeling_flax_)(?!WEIGHTS)": "flax",
}
_READS_TENSORFLOW = re.compile(r"load_(tf|pytorch)\w*_in_\w+$")
_NOT_ASKED = re.compile(r"^(__\w+|logger|TYPE_CHECKING|[A-Z]|_import_structure|_LazyModule|annotations|\w+_fn|_)$")
_LEFT_OUT = re.compile(
    rf"^{PACKAGE}\.(agents|benchmark|cli|commands|tools|exporters|data\.test_\w+|sagemaker|onnx\.__main__)(\.|$)"
)


def decide(releases: list[Release], module: str, name: str, last: int, number: int) -> Decision:
    """The replacement for a name.

    Args:
        releases: all of them.
        module: that had it.
        name: the name.
        last: the last release that had it.
        number: the release that lacks it.
    """
    here = releases[number]
    if name.startswith("smp_"):  # defined where SageMaker's own package is
        return Decision("", "conditional")
    if _READS_TENSORFLOW.match(name):  # models that are copied from the library's import it, and hardly any calls it
        return Decision("empty", f"{last}()")
    other = next((word for begin, word in _FRAMEWORKS.items() if re.match(begin, name)), "")
    if other or _IS_OF_OTHER_FRAMEWORKS.search(module):
        return Decision("", other or "tensorflow")
    origin = releases[last].resolve(module, name)
    if origin is None:
        return Decision("", "made")
    if origin.kind in ("module", "outside"):
        return _of_another(here, origin)
    if origin.place != (module, name) and here.defines(origin.place) and _is_plain(here, origin.place):
        return Decision("alias", ":".join(origin.place))
    places = {":".join(origin.place), ":".join(origin.module.rpartition(".")[::2])}  # of itself, of its module
    if origin.place != (module, name) and not places.isdisjoint(here.restored):
        return Decision("alias", ":".join(origin.place))
    if origin.conditional:
        return Decision("", "conditional")
    if origin.kind in ("value", "text", "made"):
        return _of_value(origin)
    moved = _moved(releases, origin.place, last, number)
    if moved is not None:
        return Decision("alias", ":".join(moved))
    if releases[last].has(PACKAGE, name) and here.has(PACKAGE, name) and module != PACKAGE:
        public = releases[last].resolve(PACKAGE, name)
        if public is not None and public.place == origin.place:
            return _of_public(here, name, origin)
    if origin.kind == "class":
        now = _attention_now(here, module, name, origin)
        if now:
            return Decision("hollow", now)
        results = _of_output(releases[last], here, origin)
        if results is not None:
            return results
    return _of_removed_module(releases[last], here, origin, last)


_RESULTS = f"{PACKAGE}.utils.generic", "ModelOutput"
_LAYERS = re.compile(
    r"(\btype|Module|Model|Layer|PreTrained\w*|Enum|Error|Exception|Warning|Dict|Tuple|Protocol|Output)$"
)


def _of_output(before: Release, here: Release, origin: Origin) -> Optional[Decision]:
    """The base class and the fields of a class of results, if that is all that it is."""
    fields: list[str] = []
    place: Optional[Origin] = origin
    while place is not None and place.bound is not None and place.kind == "class":
        _, bases, own = place.bound.detail
        if place.place == _RESULTS or (place is not origin and here.defines(place.place)):
            return Decision("output", " ".join([":".join(place.place), *dict.fromkeys(fields)]))
        if own is None or len(bases) != 1:
            return None
        fields = [*own, *fields]
        place = before.resolve(place.module, bases[0])
    return None


def _of_removed_module(before: Release, here: Release, origin: Origin, last: int) -> Decision:
    """The name only, if the module is gone and has no successor, so that nothing in the release is meant by it."""
    family = _family(origin.module)
    if any(_family(module) == family for module in here.modules) if family else origin.module in here.modules:
        return Decision("", "body")
    if origin.kind == "def":
        return Decision("empty", f"{last}()")
    if not family and any(_LAYERS.search(name) for name in _ancestors(before, origin)):
        return Decision("", "body")
    return Decision("empty", str(last))


def _ancestors(release: Release, origin: Origin) -> list[str]:
    """The names of the bases of a class, and of theirs."""
    names: list[str] = []
    waiting = [origin]
    while waiting and len(names) < 100:
        value = waiting.pop()
        for base in value.bound.detail[1] if value.bound and value.kind == "class" else ():
            names.append(base)
            further = release.resolve(value.module, base)
            waiting += [further] if further else []
    return names


def _of_public(here: Release, name: str, origin: Origin) -> Decision:
    """What the package offers by the name that it offered before, unless it is something else now."""
    now = here.resolve(PACKAGE, name)
    if now is None or now.bound is None or _sort_of(now.module) == _sort_of(origin.module):
        return Decision("alias", f"{PACKAGE}:{name}")
    bases = [set(value.bound.detail[1]) for value in (origin, now) if value.bound and value.kind == "class"]
    if len(bases) == 2 and all(bases) and not bases[0] & bases[1]:
        return Decision("", "body")
    return Decision("alias", ":".join(now.place))


def _of_value(origin: Origin) -> Decision:
    assert origin.bound is not None
    if origin.kind == "made" or not re.fullmatch(r"_?[A-Z][A-Z0-9_]*", origin.name):  # or a flag that changes
        return Decision("", "made")
    value = origin.bound.detail
    text = f"{{{', '.join(map(repr, sorted(value)))}}}" if isinstance(value, set) and value else repr(value)
    return Decision("constant", "''" if origin.kind == "text" else text)


def _of_another(here: Release, origin: Origin) -> Decision:
    root = origin.module.partition(".")[0]
    if root != PACKAGE and not origin.name:
        return Decision("", "outside")
    if root == PACKAGE:
        return Decision("alias", f"{origin.module}:") if origin.module in here.modules else Decision("", "module")
    if root in _OUTSIDE and not origin.conditional:
        return Decision("alias", ":".join(origin.place))
    return Decision("", "outside")


def _is_plain(here: Release, place: tuple[str, str]) -> bool:
    """Whether a name is a function or class there, or a value that does not depend on installed packages."""
    bound = here.facts[place[0]].bound[place[1]]
    return bound.kind in ("def", "class") or not bound.conditional


def _moved(releases: list[Release], place: tuple[str, str], last: int, number: int) -> Optional[tuple[str, str]]:
    """The current place of a definition: it follows moves with unchanged source, one after another."""
    for at in range(last + 1, number + 1):
        here = releases[at]
        if here.defines(place):
            continue
        bound = releases[at - 1].facts[place[0]].bound.get(place[1])
        if bound is None or bound.kind not in ("def", "class") or not bound.detail[0]:
            return None
        candidates = [candidate for candidate in here.same_as(bound.detail[0]) if not _LEFT_OUT.match(candidate[0])]
        named = [candidate for candidate in candidates if candidate[1] == place[1]]
        if not named and len(candidates) > 1:
            return None  # small functions of the same form are not the same function
        chosen = sorted(named or candidates, key=lambda candidate: _distance(place[0], candidate[0]))
        if not chosen:
            return None
        if len({"", _family(place[0]), _family(chosen[0][0])}) == 3:
            # A copy in another model: no layer here is of its class, and changes to it are made for that model.
            now = releases[number].facts.get(chosen[0][0])
            is_the_same = (
                now is not None and now.bound.get(chosen[0][1]) == here.facts[chosen[0][0]].bound[chosen[0][1]]
            )
            if not is_the_same or (bound.kind == "class" and ".modeling_" in chosen[0][0]):
                return None
        place = chosen[0]
    return place


def _family(module: str) -> str:
    """The folder of a module's model, or an empty string."""
    match = re.match(rf"{PACKAGE}\.models\.(?:deprecated\.)?(\w+)\.", module)
    return match[1] if match else ""


def _sort_of(module: str) -> str:
    """What a module is for, by the first word of its name: ``tokenization``, ``configuration``, ``quantization``."""
    return module.rpartition(".")[2].partition("_")[0]


def _distance(old: str, new: str) -> tuple[bool, int, int, str]:
    """The nearest of several places of one definition."""
    shared = len([1 for part, other in zip(old.split("."), new.split(".")) if part == other])
    return new.startswith(f"{PACKAGE}.models.") and shared < 3, -shared, new.count("."), new


def _attention_now(here: Release, module: str, name: str, origin: Origin) -> str:
    """The attention class for every implementation: the base class of the name, if it exists."""
    match = _NAME_OF_ATTENTION.search(name)
    facts = here.facts.get(module)
    if match is None or facts is None:
        return ""
    begin = name[: match.start()]
    base = next(iter(origin.bound.detail[1]), "") if origin.bound else ""
    for now in (base, f"{begin}Attention", f"{begin}SelfAttention"):
        bound = facts.bound.get(now)
        if bound is not None and bound.kind == "class" and now.endswith("Attention"):
            return now
    return ""


class Row(NamedTuple):
    """The replacement for a name in some releases.

    Attributes:
        module, name: the name; an empty one for a module that is gone itself.
        first: number of the first release.
        end: number of the first later release that has the name again; None if there is none.
        decision: the decision.
    """

    module: str
    name: str
    first: int
    end: Optional[int]
    decision: Decision


def rows(releases: list[Release], kept: frozenset[str] = frozenset()) -> Iterator[Row]:
    """Every name that some release lacks and an earlier one had.

    Args:
        releases: the names of each, oldest first.
        kept: ``module:name`` of the names that fixes restore.
    """
    had: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, release in enumerate(releases):
        for module, names_of_module in release.names.items():
            if _LEFT_OUT.match(module) or module.endswith("()"):
                continue
            for name in names_of_module:
                if name.isidentifier() and not _NOT_ASKED.match(name):
                    had[module][name].append(number)
    for module, names in sorted(had.items()):
        parent, _, last = module.rpartition(".")
        whole = f"{parent}:{last}" in kept
        for name, having in sorted(names.items()):
            if len(having) == len(releases) - having[0]:
                continue
            yield from _rows_of(releases, module, name, having, whole or f"{module}:{name}" in kept)


def _rows_of(releases: list[Release], module: str, name: str, having: list[int], is_kept: bool) -> Iterator[Row]:
    there = frozenset(having)
    begun: Optional[Row] = None
    last = having[0]
    for number in range(having[0], len(releases)):
        if number in there:
            last = number
            if begun:
                yield begun._replace(end=number)
            begun = None
            continue
        if is_kept:
            decision = Decision("", "fix")
        elif "*" in releases[number].names.get(module, ()):
            decision = Decision("", "answers")  # the module handles it itself
        elif module not in releases[number].modules and any(module in release.modules for release in releases[number:]):
            decision = Decision("", "module")  # it comes back
        else:
            decision = decide(releases, module, name, last, number)
        if begun and begun.decision != decision:
            yield begun._replace(end=number)
            begun = None
        begun = begun or Row(module, name, number if number != last + 1 else last + 1, None, decision)
    if begun:
        yield begun


# ---------------------------------------------------------------------------------------------------------------------
# Below: the table.


def rendered(versions: list[Version], releases: list[Release], rows: Iterable[Row], every: list[Version]) -> str:
    """The table as text; `hotfix.patching.tabled` reads it.

    Args:
        versions: of the releases.
        releases: what each has.
        rows: the rows of the table.
        every: all releases: a row holds from the one on that follows the last that had the name.
    """
    by_module: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_module[row.module].append(row)
    since: dict[str, set[str]] = defaultdict(set)
    blocks = []
    back: set[str] = set()  # the modules that exist again
    for module, its in sorted(by_module.items()):
        known = {row.name for row in its if row.decision.kind}
        useful = [row for row in its if row.name in known]
        present = [number for number, release in enumerate(releases) if module in release.modules]
        gone = present[-1] + 1 if present and present[-1] + 1 < len(releases) else None
        short = module.partition(".")[2] or "."
        if gone is not None:
            until = [row for row in useful if row.first < gone]
            ends = {row.name: row._replace(first=gone, end=None, decision=Decision("", "module")) for row in until}
            until += ends.values()
            after = [row._replace(first=max(row.first, gone)) for row in useful if row.end is None or row.end > gone]
            parent = module.rpartition(".")[0]
            is_reached = parent in back or all(parent in release.modules for release in releases[gone:])
            if not is_reached or not _is_worth_it(releases[gone - 1], module, its):
                after = [row for row in after if is_reached and row.decision.kind in ("empty", "output")]
            if after:
                back.add(module)
        else:
            until, after = useful, []
        for mark, chosen in (("", until), ("!", after)):
            lines = []
            for removed in sorted(chosen, key=lambda row: (row.name, row.first)):
                first = str(next(release for release in every if release > versions[removed.first - 1]))
                decision = removed.decision
                value = decision.value
                if decision.kind == "empty":
                    value = f"{versions[int(value.rstrip('()'))]}{'()' * value.endswith('()')}"
                lines.append(f"{removed.name} {first} {decision.kind or '-'} {value}")
            if any(row_.decision.kind for row_ in chosen):
                begins = min(Version(line.split(" ")[1]) for line in lines)
                since[str(begins)].add(f"{short}{mark}")
                blocks.append("\n".join([f"@{short}{mark}", *lines]))
    head = ";".join(" ".join([first, *sorted(since[first])]) for first in sorted(since, key=Version))
    return "\n".join([head, *blocks, ""])


def _is_worth_it(release: Release, module: str, its: Iterable[Row]) -> bool:
    """Whether half of a removed module's own names still exist, or it only passed names on."""
    own = {name for name in release.names[module] if not name.startswith("_") and release.defines((module, name))}
    left = {row.name for row in its if row.decision.kind == "alias" and row.end is None}
    return 2 * len(left & own) >= len(own) if own else bool(left)


def sample(every: Iterable[Version]) -> list[Version]:
    """The releases that are read: the last one of each minor release, and the first one of each since 5.0.

    Names come and go with minor releases; the start of a row is still exact to the release.
    """
    ordered = sorted(every)
    last = {(version.major, version.minor): version for version in ordered}
    return [
        version
        for version in ordered
        if version == last[version.major, version.minor] or (version.major >= 5 and version.micro == 0)
    ]


def restored_by_fixes(release: Optional[Version] = None) -> frozenset[str]:
    """``module:name`` of all names that fixes restore, in some release or by default in a given one."""
    from hotfix.engine.catalogue import INDEX
    from hotfix.engine.index import Index

    index = Index(INDEX)
    restored: set[str] = set()
    for facts in (index.facts(id) for id in index.kinds if id not in tabled.FIXES.values()):
        if facts["kind"] == "removed-api" and not (release and facts["optin"]):
            restored.update(
                key
                for key, lacking in facts["targets"].items()
                if release is None or SpecifierSet(lacking).contains(release)
            )
    return frozenset(restored)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the users of such names.

JUDGED = ("4.57.6", "5.0.0", "5.23.0", "5.24.0")


def counted(folder: Path) -> dict[str, Any]:
    """The number of packages in a folder of wheels that use each name outside a handler."""
    from hotfix.commands.scan_code.missing import taken_by

    counts: Counter[str] = Counter()
    packages = []
    for wheel in sorted(folder.glob("*.whl")):
        taken = set()
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                if info.filename.endswith(".py") and not info.filename.startswith(f"{PACKAGE}/"):
                    for reference in taken_by(info.filename, archive.read(info), []):
                        if not (reference.guarded or reference.instead_of) and reference.name.isidentifier():
                            taken.add(f"{reference.module}:{reference.name}")
        counts.update(taken)
        packages += ["==".join(map(str, parse_wheel_filename(wheel.name)[:2]))] if taken else []
    return {"packages": packages, "uses": dict(sorted(counts.items()))}


def judged(known: Mapping[str, Any], versions: list[Version], releases: list[Release]) -> dict[str, Any]:
    """The fate of each name that somebody uses and that one of `JUDGED` has lost.

    Args:
        known: the result of `counted`.
        versions: of the releases.
        releases: what each has.
    """
    names: dict[str, dict[str, Any]] = {}
    for full, users in known["uses"].items():
        module, _, name = full.partition(":")
        parent, _, last = module.rpartition(".")
        for release in JUDGED:
            number = versions.index(Version(release))
            had = [number for number in range(number) if _gives(releases[number], module, name)]
            if not had or _gives(releases[number], module, name):
                continue
            by_default = restored_by_fixes(Version(release))
            if full in by_default or f"{parent}:{last}" in by_default:
                verdict = "fix"
            elif full in restored_by_fixes():
                verdict = "opt-in"
            else:
                kinds = tabled.kinds(module, name, [release])
                verdict = kinds.get(release) or decide(releases, module, name, had[-1], number).value
                verdict = verdict if verdict in kinds.values() or verdict in REASONS else "module"
            names.setdefault(full, {"users": users})[release] = verdict
    return {"packages": known["packages"], "uses": known["uses"], "names": names}


def _gives(release: Release, module: str, name: str) -> bool:
    names = release.names.get(module, frozenset())
    return name in names or "*" in names or f"{module}.{name}" in release.modules


WORKS = ("fix", *tabled.FIXES)


def page(known: Mapping[str, Any]) -> str:
    """The page of the names that are gone, by number of users."""
    lines = [
        "# Names that are gone, by number of users",
        "",
        f"The names that {len(known['packages'])} published packages import from transformers outside of",
        "a handler, and what becomes of them on releases that have lost them.",
        "`python -m tools.names` writes this page. `fix`: a fix of its own restores it; `alias`, `constant`, `output`,",
        "`hollow`, `empty`: the table of removed names does ([Names that are gone](no-harm.md#names-that-are-gone));",
        "everything else is a reason why nothing does:",
        "",
        *(f"- `{word}`: {text}" for word, text in sorted(REASONS.items()) if word != "fix"),
        "",
        "| release | uses that fail | work with hotfix | of these by a fix of their own | share |",
        "| --- | --- | --- | --- | --- |",
    ]
    for release in JUDGED:
        its = [(entry["users"], entry[release]) for entry in known["names"].values() if release in entry]
        every, work, own = (
            sum(users for users, verdict in its if verdict in which) for which in ((*WORKS, *REASONS), WORKS, ("fix",))
        )
        lines.append(f"| {release} | {every} | {work} | {own} | {100 * work // max(every, 1)} % |")
    lines += ["", f"| name | users | {' | '.join(JUDGED)} |", f"| --- | --- |{' --- |' * len(JUDGED)}"]
    ordered = sorted(known["names"].items(), key=lambda pair: (-pair[1]["users"], pair[0]))
    for name, entry in ordered:
        lines.append(f"| `{name}` | {entry['users']} | {' | '.join(entry.get(release, '') for release in JUDGED)} |")
    return "\n".join([*lines, ""])


def prove(release: str, every: int) -> int:
    """Have rows checked by a program on a release: all rows with users, and one in `every` of the others.

    Returns:
        The number of wrong rows.
    """
    table = tabled.Removed(Version(release).release, {})
    used = json.loads(DATA.read_text(encoding="utf-8"))["uses"]
    chosen = []
    for module in sorted(module.rstrip(tabled.GONE) for module in table.modules):
        for number, (name, row) in enumerate(sorted(table.rows(module).items())):
            if row.kind != tabled.NOTHING and (f"{module}:{name}" in used or number % every == 0):
                chosen.append([module, name, row.kind, row.value])
    print(f"{release}: {len(chosen)} rows")
    wrong = proved(release, chosen)
    print("\n".join(wrong))
    return len(wrong)


def proved(release: str, chosen: list[list[str]]) -> list[str]:
    """The errors in rows on a release, a line each; see `tools.names_child`."""
    from tools.testbed.run import run_script

    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(chosen, file)
        file.flush()
        script = Path(__file__).with_name("names_child.py")
        result = run_script(script, [file.name], transformers=release, flash_attn="2.7.4.post1", timeout=3600)
    return result.require().stdout.splitlines()


def main(arguments: Optional[list[str]] = None) -> int:
    """Run the command; returns 1 if the written files differ from the wheels, or a row is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.names", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--prove", metavar="RELEASE", action="append", help="check rows on a release instead")
    parser.add_argument("--every", type=int, default=40, metavar="N", help="with --prove: one in N rows without users")
    parser.add_argument("--count", type=Path, metavar="FOLDER", help="count the uses in the wheels of a folder first")
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="the folder of the wheels")
    chosen = parser.parse_args(arguments)
    if chosen.prove:
        return int(sum(prove(release, chosen.every) for release in chosen.prove) > 0)
    every = wheels.cached(PACKAGE, chosen.cache)
    versions = sample(every)
    library = wheels.catalogue(PACKAGE, {version: every[version] for version in versions})
    facts = read(library)
    releases = [Release(library.modules[version], facts, restored_by_fixes(version)) for version in versions]
    text = rendered(versions, releases, rows(releases, restored_by_fixes()), list(every))
    if chosen.check:
        same = TABLE.read_text(encoding="utf-8") == text
        print("the same" if same else f"{TABLE} is not what the wheels say: python -m tools.names")
        return int(not same)
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE}: {text.count(chr(10))} lines, {len(text.encode())} bytes")
    write_page(counted(chosen.count) if chosen.count else json.loads(DATA.read_text("utf-8")), versions, releases)
    return 0


def write_page(known: Mapping[str, Any], versions: list[Version], releases: list[Release]) -> None:
    """Write the counts with the fate of each name, and the page."""
    decisions = judged(known, versions, releases)
    DATA.write_text(json.dumps(decisions, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(decisions), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
