"""The similarity of the repairs' functions to the library's: facts may be copied, text may not.

    python -m tools.similarity              the whole catalogue
    python -m tools.similarity --fix ID     only the code of this fix and its helpers (may be repeated)

Lists each function of a fix whose body is more than 0.6 similar to one of the library. The exit status is 1 if one is
more than 0.8 similar and `ONLY_WAY` gives no reason for it, or if an entry of `ONLY_WAY` is out of date.

Two bodies are compared as sequences of syntax nodes (`difflib.SequenceMatcher`). Names of variables and values of
literals do not count, and docstrings, annotations and imports are left out: to change only those is not to rewrite. The
attributes and keywords that a body uses keep their names: they are facts, and a body that uses others is different. A
nested function is a separate body. Bodies of fewer than ten nodes are left out, and single statements of fewer than
twenty: there are few ways to write them.

A fix is compared with every function in the modules of its targets, in the first and the last release with the bug, in
the last release before it (which still had a removed name) and in the first after it (which has upstream's repair). If
a target is a package, or belongs to a model, that includes the modules next to it. Modules that the fix names are
examined in the first and the last of all these releases. Code that was copied from another module is not found, nor
code of repositories without releases. Missing wheels are downloaded.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.version import Version

from . import evidence, wheels
from .wheels import Content, Library

LISTED, ALLOWED = 0.6, 0.8
SHORTEST, SHORTEST_STATEMENT = 10, 20  # nodes of a body that is compared, and of one that is a single statement
ROOTS = ("transformers", "transformers.models")  # packages in which neighbouring modules have nothing in common

ONLY_WAY = {
    "hotfix.names.feature_extractors_of_pictures_removed:module_of.make.made": (
        "A class that is an old name of another warns and passes its arguments on."
    ),
    "hotfix.processing.chat_template_sandbox_escape:guard._allow": (
        "A string with an underscore in front raises jinja2's SecurityError: one condition and one error."
    ),
}
"""Why there is only one way to write a function that is more similar than allowed, by ``module:qualname``."""

_CURE = re.compile(rf"\b(?:{'|'.join(map(re.escape, evidence.PACKAGES))})\.\w+")
_MENTIONED = re.compile(r"\btransformers(?:\.\w+)+")


@dataclass(frozen=True)
class Function:
    """The body of one function.

    Attributes:
        name: its name, with those of the classes and functions around it.
        line: where it is defined.
        nodes: the nodes of its body, in the order of the source.
        statements: how many statements it has.
    """

    name: str
    line: int
    nodes: tuple[str, ...]
    statements: int

    @property
    def is_short(self) -> bool:
        """Whether there are too few ways to write it."""
        return len(self.nodes) < (SHORTEST if self.statements > 1 else SHORTEST_STATEMENT)


@dataclass(frozen=True)
class Match:
    """A function of a fix and the most similar function of the library.

    Attributes:
        similarity: 1.0 for equal nodes.
        module: the module of the fix.
        function: the function of the fix.
        original: the name of the library's function.
        content: the file that has it.
    """

    similarity: float
    module: str
    function: Function
    original: str
    content: Content

    @property
    def key(self) -> str:
        """The name of the fix's function, as in `ONLY_WAY`."""
        return f"{self.module}:{self.function.name}"

    def __str__(self) -> str:
        release = self.content.wheel.name.split("-")[1]
        where = f"{self.key}  (line {self.function.line})"
        return f"{self.similarity:.2f}  {where} is like {self.original} of {release}, {self.content.member}"


# -- functions ---------------------------------------------------------------------------------------------------------


def functions(tree: ast.AST, outside: str = "") -> Iterator[Function]:
    """Every function in a syntax tree, including nested ones."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = _body(node)
            nodes = tuple(name for statement in body for name in _nodes(statement))
            statements = sum(isinstance(part, ast.stmt) for statement in body for part in ast.walk(statement))
            yield Function(outside + node.name, node.lineno, nodes, statements)
        inside = f"{outside}{node.name}." if isinstance(node, _DEFINITIONS) else outside
        yield from functions(node, inside)


def similarity(ours: Collection[str], theirs: Collection[str], least: float = 0.0) -> float:
    """The similarity of two sequences of nodes, from 0 to 1; 0 if it is not more than `least`."""
    both = len(ours) + len(theirs)
    if not both or 2 * min(len(ours), len(theirs)) <= least * both:
        return 0.0
    if 2 * (Counter(ours) & Counter(theirs)).total() <= least * both:
        return 0.0
    ratio = SequenceMatcher(None, tuple(theirs), tuple(ours), autojunk=False).ratio()
    return ratio if ratio > least else 0.0


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements of a function, without its docstring and imports."""
    has_docstring = ast.get_docstring(function, clean=False) is not None
    statements = function.body[1:] if has_docstring else function.body
    return [statement for statement in statements if not isinstance(statement, (ast.Import, ast.ImportFrom))]


def _nodes(node: ast.AST) -> Iterator[str]:
    """The names of the kinds of nodes, with facts about the library or Python."""
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.expr_context)):
        return
    if isinstance(node, ast.Constant):
        yield type(node.value).__name__
        return
    if isinstance(node, ast.JoinedStr):
        yield "str"
        return
    if isinstance(node, _DEFINITIONS):
        yield "definition"
        return
    if isinstance(node, ast.AnnAssign):
        if node.value is None:
            return
        yield "Assign"
        parts = (node.target, node.value)
    elif isinstance(node, ast.Attribute):
        yield f".{node.attr}"
    elif isinstance(node, ast.keyword):
        yield f"{node.arg}="
    else:
        yield type(node).__name__
    for part in parts:
        yield from _nodes(part)


class Reader:
    """The functions of the library's files. A function that several releases share is parsed once.

    Args:
        library: the library.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._of_text: dict[bytes, list[Function]] = {}
        self._of_content: dict[int, list[Function]] = {}

    def read(self, numbers: Iterable[int]) -> None:
        """Read the files for `functions_of`."""
        of_wheel: dict[Path, list[Content]] = defaultdict(list)
        for number in numbers:
            of_wheel[self._library.contents[number].wheel].append(self._library.contents[number])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about the library's string literals
            for contents in of_wheel.values():
                for content, text in wheels.texts(contents):
                    self._of_content[content.number] = self._parsed(text)

    def functions_of(self, numbers: Iterable[int]) -> dict[tuple[str, ...], tuple[str, Content]]:
        """Name and file of the functions in these files, by their nodes."""
        functions: dict[tuple[str, ...], tuple[str, Content]] = {}
        for number in sorted(numbers):
            for function in self._of_content[number]:
                functions.setdefault(function.nodes, (function.name, self._library.contents[number]))
        return functions

    def _parsed(self, text: bytes) -> list[Function]:
        parsed: list[Function] = []
        for piece in _pieces(text):
            if piece not in self._of_text:
                try:
                    self._of_text[piece] = list(functions(ast.parse(piece)))
                except SyntaxError:  # a string literal that looks like code
                    return list(functions(ast.parse(text)))
            parsed += self._of_text[piece]
        return parsed


def _pieces(text: bytes) -> Iterator[bytes]:
    """The source of each outermost function, from its ``def`` on, as a separate program."""
    lines: list[bytes] = []
    indent, in_string = 0, False
    for line in text.splitlines():
        code = line.lstrip()
        if lines:
            # A line that is not indented further may close the signature, or be in a docstring.
            if in_string or not code or code[:1] in b"#)]}" or len(line) - len(code) > indent:
                lines.append(line)
                in_string ^= (code.count(b'"""') + code.count(b"'''")) % 2 == 1
                continue
            yield b"\n".join(lines).rstrip()
            lines = []
        if code.startswith((b"def ", b"async def ")):
            indent, in_string = len(line) - len(code), False
            lines = [b"if True:", line] if indent else [line]
    if lines:
        yield b"\n".join(lines).rstrip()


# -- the compared files ------------------------------------------------------------------------------------------------


def cures() -> dict[str, str]:
    """The text of every module of the packages of fixes, by its name."""
    texts = {}
    for package in evidence.PACKAGES:
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(folder).glob("*.py")):
                texts[f"{package}.{path.stem}"] = path.read_text(encoding="utf-8")
    return texts


def modules_of(module: str, texts: Mapping[str, str]) -> set[str]:
    """A module of a fix and the modules of fixes that it uses, also in the code of its edits."""
    modules: set[str] = set()
    waiting = {module}
    while waiting:
        importer = waiting.pop()
        modules.add(importer)
        named = set(_CURE.findall(texts[importer]))
        for node in ast.walk(ast.parse(texts[importer])):
            if isinstance(node, ast.ImportFrom) and node.module in evidence.PACKAGES:
                named |= {f"{node.module}.{alias.name}" for alias in node.names}
        waiting |= {name for name in named if name in texts} - modules
    return modules


def places(targets: Mapping[str, Any], examined: list[Version]) -> set[tuple[Version, str]]:
    """Release and module of the files with which a fix's targets are compared.

    Args:
        targets: the entries of the evidence, by the key of the target.
        examined: the examined releases.
    """
    places = set()
    for key, entry in targets.items():
        module = key.partition(":")[0]
        if "*" in module:
            continue  # of repositories without releases
        states = evidence.by_release(entry, examined)
        broken = [version for version, (verdict, _) in states.items() if verdict == "broken"]
        right = [version for version, (verdict, _) in states.items() if verdict == "fixed"]
        if broken:
            chosen = [broken[0], broken[-1]]
            chosen += [version for version in right if version < broken[0]][-1:]
            chosen += [version for version in right if version > broken[-1]][:1]
            places |= {(version, module) for version in chosen}
    return places


def contents(places: Collection[tuple[Version, str]], texts: Iterable[str], library: Library) -> set[int]:
    """The numbers of the files with which a fix is compared.

    Args:
        places: releases and modules of its targets.
        texts: the modules of the fix.
        library: the releases.
    """
    named = set(places)
    mentioned = {name for text in texts for name in _MENTIONED.findall(text)}
    releases = sorted({version for version, _ in places})
    for version in {*releases[:1], *releases[-1:]}:
        named |= {(version, _module(name, library.modules[version])) for name in mentioned}
    numbers = set()
    for version, module in named:
        modules = library.modules[version]
        if module in modules and module not in ROOTS:
            numbers.add(modules[module])
            is_package = library.contents[modules[module]].member.endswith("/__init__.py")
            package = module if is_package else module.rpartition(".")[0]
            if package.startswith("transformers.models.") or (is_package and package not in ROOTS):
                numbers |= {number for name, number in modules.items() if name.rpartition(".")[0] == package}
    return numbers


def _module(name: str, modules: Collection[str]) -> str:
    """The module of a dotted name, or the name itself if it is a module."""
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


# -- the comparison ----------------------------------------------------------------------------------------------------


def examine(texts: Mapping[str, str], ids: Collection[str] = (), cache: Path | None = None) -> list[Match]:
    """Compare the functions of fixes with the library's.

    Args:
        texts: the modules of all fixes, by name.
        ids: the requested fixes; all if empty.
        cache: the folder of the wheels.

    Returns:
        Those that are more similar than `LISTED`, the most similar first.

    Raises:
        wheels.CannotFetch: a wheel is not in the cache and cannot be downloaded.
        KeyError: there is no fix of this id.
    """
    index = evidence.read(evidence.FOLDER / "index.json")
    examined = evidence.examined_releases(index)
    places_of = {
        id: places(evidence.read(evidence.FOLDER / f"{id}.json")["targets"], examined) for id in ids or index["fixes"]
    }
    library = _library({version for places in places_of.values() for version, _ in places}, cache)
    files: dict[str, set[int]] = defaultdict(set)  # by module of a fix
    for id, places_of_fix in places_of.items():
        modules = modules_of(index["fixes"][id]["module"], texts)
        of_fix = contents(places_of_fix, [texts[module] for module in modules], library)
        for module in modules:
            files[module] |= of_fix
    reader = Reader(library)
    reader.read(set().union(*files.values()))
    matches = []
    for module, numbers in files.items():
        theirs = reader.functions_of(numbers)
        for function in functions(ast.parse(texts[module])):
            match = _closest(module, function, theirs)
            if match:
                matches.append(match)
    return sorted(matches, key=lambda match: (-match.similarity, match.key))


def problems(matches: Iterable[Match], reasons: Mapping[str, str], complete: bool = True) -> list[str]:
    """Functions that are more similar than allowed, and outdated reasons, a sentence each.

    Args:
        matches: the result of `examine`.
        reasons: the reasons why there is only one way to write a function.
        complete: whether all fixes were examined.
    """
    problems, used = [], set()
    for match in matches:
        if match.similarity > ALLOWED:
            used.add(match.key)
            if match.key not in reasons:
                problems.append(
                    f"{match}: write it from its behaviour, or add a reason to ONLY_WAY in tools/similarity.py"
                )
    if complete:
        problems += [f"{key} is in ONLY_WAY and not too similar: remove the entry" for key in set(reasons) - used]
    return sorted(problems)


def main(arguments: list[str] | None = None) -> int:
    """Print the listed functions, and the problems."""
    parser = argparse.ArgumentParser(prog="python -m tools.similarity", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=wheels.default_cache(), help="folder of the wheels")
    parser.add_argument("--fix", action="append", default=[], metavar="ID", help="only this fix; may be repeated")
    options = parser.parse_args(arguments)
    matches = examine(cures(), options.fix, options.cache)
    lines = problems(matches, ONLY_WAY, complete=not options.fix)
    for match in matches:
        print(f"{match}{f': {ONLY_WAY[match.key]}' if match.key in ONLY_WAY else ''}")
    for problem in lines:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if lines else 0


def _library(releases: Collection[Version], cache: Path | None) -> Library:
    folder = cache or wheels.default_cache()
    missing = set(releases) - set(wheels.cached("transformers", folder))
    if missing:
        wheels.fetch("transformers", sorted(missing), folder)
    there = wheels.cached("transformers", folder)
    return wheels.catalogue("transformers", {version: there[version] for version in releases})


def _closest(module: str, function: Function, theirs: Mapping[tuple[str, ...], tuple[str, Content]]) -> Match | None:
    if function.is_short:
        return None
    best, closest = LISTED, None
    for nodes, (name, content) in theirs.items():
        ratio = similarity(function.nodes, nodes, best)
        if ratio:
            best, closest = ratio, Match(ratio, module, function, name, content)
    return closest


if __name__ == "__main__":
    sys.exit(main())
