"""Finds a definition in the source of a module, and computes a digest of it that is the same on every Python.

This module imports and executes nothing. It avoids parsing whole files: parsing a modeling file of 2,000 lines takes
about 25 ms, one function in it less than 1 ms.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Optional, Union

from .._support import parsing
from .._support.memo import memo, recent
from .._support.words import parts

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WITH_DOCSTRING = {*_DEFINITIONS, ast.Module}
_DIGEST_LENGTH = 20  # hexadecimal digits: 80 bits identify a source, but do not sign it

# Fields that differ between Python versions or do not change the program.
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}


class Found(NamedTuple):
    """A definition in the text of a module.

    Attributes:
        node: its syntax tree; line numbers and columns are those of the file.
        lineno: its first line in the file, counted from 1, with decorators; Python's ``co_firstlineno``.
        text: its lines in the file.
    """

    node: Definition
    lineno: int
    text: str


class Block(NamedTuple):
    """The lines of a definition.

    Attributes:
        lineno: its first line in the file, counted from 1, with decorators.
        text: its lines.
    """

    lineno: int
    text: str


class Module:
    """The source of a module for many queries: it is parsed once, and each definition is searched for once.

    Args:
        text: the whole source.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[str, Optional[Found]] = {}
        self._members: dict[str, frozenset[str]] = {}
        self._set: dict[str, frozenset[str]] = {}
        self._scopes: dict[str, Optional[Definition]] = {}

    def find(self, qualname: str) -> Optional[Found]:
        """See the function `find`."""
        if qualname not in self._found:
            self._found[qualname] = find(self.text, qualname)
        return self._found[qualname]

    @property
    def outline(self) -> ast.Module:
        """Its statements, parsed; functions and classes without their bodies."""
        return outline(self.text)

    @cached_property
    def bound(self) -> set[str]:
        """The names that its statements bind."""
        return set(_bound(self.outline))

    def members(self, qualname: str) -> frozenset[str]:
        """The names that the statements of one of its classes bind; none if there is no such class."""
        if qualname not in self._members:
            scope = self.scope(qualname)
            self._members[qualname] = frozenset(_bound(scope) if scope else ())
        return self._members[qualname]

    def set_on_self(self, qualname: str) -> frozenset[str]:
        """The names that the methods of one of its classes set on ``self``; none if there is no such class."""
        if qualname not in self._set:
            definition = self.find(qualname)
            self._set[qualname] = frozenset(
                node.attr
                for node in (ast.walk(definition.node) if definition else ())
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            )
        return self._set[qualname]

    def scope(self, qualname: str) -> Optional[Definition]:
        """One of its classes, parsed; its functions and classes may lack their bodies."""
        if qualname not in self._scopes:
            definition = _class_cut_short(self.text, qualname) or self.find(qualname)
            self._scopes[qualname] = definition.node if isinstance(definition, Found) else definition
        return self._scopes[qualname]

    @cached_property
    def strings(self) -> set[str]:
        """All string constants in it."""
        constants = (node.value for node in ast.walk(parse(self.text)) if isinstance(node, ast.Constant))
        return {value for value in constants if isinstance(value, str)}


def parse(text: str) -> ast.Module:
    """Parse without repeating the warnings about invalid escapes that compiling the file has given.

    `warnings.catch_warnings` would do, but two threads that use it at the same time lose the filters of the process.
    """
    return parsing.parse(with_valid_escapes(text))


def with_valid_escapes(text: str) -> str:
    """The same source with each invalid escape in a string written as two backslashes; columns after it move."""
    return _with_valid_escapes(text) if _INVALID_ESCAPE.search(text) else text


@recent(16)
def find(text: str, qualname: str) -> Optional[Found]:
    """Find a function, method or class in the source of a module. Do not change the result.

    Args:
        text: the whole source of the module.
        qualname: dotted name as in ``__qualname__``, for instance ``Qwen2Model._update_causal_mask``. Definitions
            inside functions do not count; those under ``if``, ``try`` and ``with`` do.

    Returns:
        The last definition of the name in the file, or None.
    """
    if qualname.rpartition(".")[2] not in _heads(text):
        return None
    return _find_quickly(text, qualname) or _find_surely(text, qualname)


def block(text: str, qualname: str) -> Optional[Block]:
    """The lines of the definition that `find` would find, by indentation alone; None if they are not certain.

    Nothing is parsed, so the caller must check that these lines compile to the expected code.
    """
    place = _place(text, qualname)
    return Block(place.decorators + 1, "".join(lines_of(text)[place.decorators : place.end])) if place else None


def begins_at(text: str, qualname: str, lineno: int) -> bool:
    """Whether a definition, with its decorators, begins on a line of the file, counted from 1."""
    place = _place(text, qualname)
    if place is not None and place.decorators + 1 == lineno:
        return True
    definition = find(text, qualname)
    return definition is not None and definition.lineno == lineno


def digest(*nodes: ast.AST) -> str:
    """Digest of one or more syntax trees: 20 hexadecimal digits.

    Comments, docstrings and layout do not count; every other change of the source does. The digest of a source is the
    same on every Python version from 3.9 on.
    """
    return digest_of(*map(canonical, nodes))


def canonical(node: object) -> str:
    """The text whose digest `digest` computes; for callers that use the text of one tree in several digests."""
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({_canonical_fstring(node.values)})"
    if isinstance(node, ast.AST):
        kind, fields = type(node), []
        for name in kind._fields:
            value: Any = getattr(node, name, None)
            if name in _IGNORED_FIELDS or (value is None and kind is not ast.Constant):
                continue
            if name == "body" and kind in _WITH_DOCSTRING:
                value = without_docstring(value)
            if value == [] and name != "body":
                continue  # newer versions added lists (type_params) that are empty for older source
            fields.append(f"{name}={repr(value) if type(value) is str else canonical(value)}")
        return f"{kind.__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(canonical, node))}]"
    return hex(node) if type(node) is int else repr(node)


def digest_of(*texts: str) -> str:
    """The same for trees that `canonical` has turned into text."""
    text = "\n".join(texts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Every function and method under `tree` with its qualified name, in the order of the file."""
    for node in _statements(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, _DEFINITIONS):
            yield prefix + node.name, node


@recent(2)
def outline(text: str) -> ast.Module:
    """The statements of a module, parsed; functions and classes without their bodies. Do not change the result.

    This takes 2 ms for a file of 3,000 lines, instead of 60 ms.
    """
    cut = _cut_short(text)
    if cut is not None:
        with suppress(SyntaxError, ValueError):
            return parse(cut)
    return parse(text)


@recent(2)
def imports(text: str) -> list[ast.stmt]:
    """The import statements in a module's own scope, including those under ``if`` and ``try``.

    Do not change the result.
    """
    return [node for node in _statements(outline(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]


def decorators(text: str, qualname: str) -> list[ast.expr]:
    """The decorators of the definition that `find` would find, without parsing its body."""
    lines, place = lines_of(text), _place(text, qualname)
    if place is not None:
        block = textwrap.dedent("".join(lines[place.decorators : place.head]))
        with suppress(SyntaxError, ValueError):
            (node,) = parse(f"{block}\ndef decorated(): ...").body
            return node.decorator_list  # type: ignore[attr-defined, no-any-return]
    definition = find(text, qualname)
    return definition.node.decorator_list if definition else []


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module, class or function, without its docstring."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return body[1:] if isinstance(first, ast.Constant) and isinstance(first.value, str) else body


def has_name(text: str, qualname: str, module: Optional[Module] = None) -> Optional[bool]:
    """Whether a module defines, assigns, imports or lazily exports a name, or one of its classes has a member.

    Args:
        text: the whole source of the module.
        qualname: ``name``, ``Class.name`` or ``DICT['name']``. Members inherited from a class of the same module
            count. Keys that are added to a dictionary later do not.
        module: the same source, for callers that ask for many names.

    Returns:
        None if there is no such class or dictionary.
    """
    module = module or _module(text)
    *owner, name = parts(qualname)
    if qualname.endswith("]"):
        return _has_key(module.outline, owner[0], name)
    if owner:
        return _has_member(module, ".".join(owner), name)
    if not _has_word(text, name):  # the usual case, which must be fast
        return False
    # A lazy package has its exports in strings.
    return name in module.bound or ("_LazyModule" in text and _is_quoted(module, name))


def is_set(text: str, qualname: str, module: Optional[Module] = None) -> bool:
    """Whether methods of a class set a member on ``self``.

    Args:
        text: the whole source of the module.
        qualname: ``Class.name``.
        module: the same source, for callers that ask for many names.
    """
    *owner, name = parts(qualname)
    if not _has_word(text, name) or not re.search(rf"\bself[\s\\]*\.[\s\\]*{name}\b", text):
        return False  # the usual case: parsing a class takes up to 10 ms
    return name in (module or _module(text)).set_on_self(".".join(owner))


def is_exported(package: str, leaf: Optional[str], name: str, module: Optional[Module] = None) -> bool:
    """Whether a lazy package that exports the ``__all__`` of its modules exports a name of one of them.

    Args:
        package: the whole source of the package.
        leaf: the source of the module, or None if there is no such module.
        name: the name.
        module: the same source, for callers that ask for many names.
    """
    if leaf is None or "define_import_structure(" not in package:
        return False
    module = module or _module(leaf)
    return bool(has_name(leaf, name, module)) and _is_quoted(module, name)


def is_submodule(package: str, text: Optional[str]) -> bool:
    """Whether a lazy package that exports all of its modules has a module.

    Args:
        package: the whole source of the package.
        text: the source of the module, or None if there is no such module.
    """
    return text is not None and "define_import_structure(" in package


@recent(2)
def _module(text: str) -> Module:
    """A module, kept because a release often lacks many names of one module."""
    return Module(text)


def _has_word(text: str, name: str) -> bool:
    """Whether a text contains a name, not as a part of another name."""
    at = text.find(name)
    while at >= 0:
        around = text[max(at - 1, 0) : at], text[at + len(name) : at + len(name) + 1]
        if not any(character and f"_{character}".isidentifier() for character in around):
            return True
        at = text.find(name, at + 1)
    return False


def _is_quoted(module: Module, name: str) -> bool:
    """Whether a module has a string that is equal to a name."""
    return any(f"{quote}{name}{quote}" in module.text for quote in "'\"") and name in module.strings


def digest_of_name(qualname: str, is_there: bool) -> str:
    """The digest that evidence has for a name: only its presence in the source counts."""
    return digest_of(f"{'has' if is_there else 'lacks'} {qualname}")


def block_at(lines: list[str], head: int) -> str:
    """The lines of a definition and its decorators, by the line of its head, counted from 0.

    Indentation decides, as in `find`; nothing is parsed.
    """
    indent = lines[head][: len(lines[head]) - len(lines[head].lstrip())]
    last = next((number for number in range(head + 1, len(lines)) if _leaves(lines[number], indent)), len(lines))
    return "".join(lines[_first_decorator(lines, head, indent) : last])


@recent(2)
def lines_of(text: str) -> list[str]:
    """The lines of a source with their line ends, as Python counts them, not `str.splitlines`.

    Do not change the result.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


# ---------------------------------------------------------------------------------------------------------------------
# Below: the quick search for a definition, the sure search, and strings with fields.


class _Head(NamedTuple):
    """The head of a definition: its line, counted from 0, its indentation, and its position in the text."""

    number: int
    indent: str
    position: int


@recent(2)
def _heads(text: str) -> dict[str, list[_Head]]:
    """The lines that look like heads of definitions, by name."""
    heads: dict[str, list[_Head]] = {}
    number = position = 0
    # A line end in the pattern instead of ``^`` makes the search ten times as fast.
    # A form feed counts as a space.
    for match in re.finditer(r"\n([ \t\f]*)(?:async[ \t\f]+def|def|class)[ \t\f]+(\w+)", f"\n{text}"):
        number += text.count("\n", position, match.start())
        position = match.start()
        heads.setdefault(match[2], []).append(_Head(number, match[1], position))
    return heads


class _Place(NamedTuple):
    """The lines of a definition, counted from 0."""

    decorators: int
    head: int
    end: int
    indent: str


def _find_quickly(text: str, qualname: str) -> Optional[Found]:
    """Cut a definition out by its indentation and parse only that; None if the result is not certain."""
    lines, place = lines_of(text), _place(text, qualname)
    if place is None:
        return None
    block, owners = "".join(lines[place.decorators : place.end]), qualname.split(".")[:-1]
    try:
        return _parse_block(block, owners, place.decorators + 1, place.indent)
    except (SyntaxError, ValueError):  # null bytes, lone surrogates
        return None


@recent(16)
def _place(text: str, qualname: str) -> Optional[_Place]:
    """The place of a definition, by indentation; None if it is not certain."""
    lines, heads = lines_of(text), _heads(text)
    first, last, indent = 0, len(lines), ""
    names = qualname.split(".")
    for depth, part in enumerate(names):
        within = [head for head in heads.get(part, ()) if first <= head.number < last]
        deeper = [head.number for head in within if head.indent.startswith(indent) and head.indent != indent]
        here = [head.number for head in within if head.indent == indent]
        if len(here) != 1 or _is_in_scope(lines, first, deeper, indent):
            return None
        first = here[0]
        last = min(_end(text, next(head for head in within if head.number == first)), last)
        if depth < len(names) - 1:
            body = next((line for line in lines[first + 1 : last] if line.strip()), "")
            inner = body[: len(body) - len(body.lstrip())]
            if len(inner) <= len(indent):
                return None
            indent = inner
    return _Place(_first_decorator(lines, first, indent), first, last, indent)


@recent(16)
def _end(text: str, head: _Head) -> int:
    """The first line after the block of a head, as `_leaves` defines it, without reading each line in between."""
    begin = text.find("\n", head.position)
    leaves = _leaving(len(head.indent)).search(text, begin) if begin >= 0 else None
    return head.number + text.count("\n", head.position, leaves.start() + 1) if leaves else len(lines_of(text))


@memo
def _leaving(width: int) -> re.Pattern[str]:
    return re.compile(rf"\n[^\S\n]{{0,{width}}}(?=[^\s#)\]}}])")


def _cut_short(text: str) -> Optional[str]:
    """The source without the bodies of its functions and classes; None if it is not certain."""
    return _without_bodies(text, 0, len(lines_of(text)), "")


def _class_cut_short(text: str, qualname: str) -> Optional[Definition]:
    """A class at the top of a module, parsed without the bodies of its members; None if it is not certain."""
    place = None if "." in qualname else _place(text, qualname)
    if place is None:
        return None
    lines = lines_of(text)
    body = next((line for line in lines[place.head + 1 : place.end] if line.strip()), "")
    inner = body[: len(body) - len(body.lstrip())]
    cut = _without_bodies(text, place.head, place.end, inner) if inner else None
    with suppress(SyntaxError, ValueError):
        tree = parse(cut or "")
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef):
            return tree.body[0]
    return None


def _without_bodies(text: str, first: int, last: int, indent: str) -> Optional[str]:
    """Lines of a source without the bodies of the definitions at an indentation; None if it is not certain."""
    lines, kept, done = lines_of(text), list[str](), first
    heads = (
        (head, name)
        for name, ones in _heads(text).items()
        for head in ones
        if head.indent == indent and first <= head.number < last
    )
    for head, name in sorted(heads, key=lambda pair: pair[0].number):
        if head.number < done:
            continue
        begin = _first_decorator(lines, head.number, indent)
        end = _end_of_block(text, head)
        between = "".join(lines[done:begin])
        if begin < done or end is None or end > last or any(between.count(quotes) % 2 for quotes in _LONG_QUOTES):
            return None  # it may be in a string
        kept += [between, f"{indent}def {name}(): ...\n"]
        done = end
    return "".join([*kept, *lines[done:last]])


def _end_of_block(text: str, head: _Head) -> Optional[int]:
    """The line after the block of a head, once no string is open; None if there is none."""
    done, open_quotes = head.position, ""
    while True:
        begin = text.find("\n", done)
        leaves = _leaving(len(head.indent)).search(text, begin) if begin >= 0 else None
        end = leaves.start() + 1 if leaves else len(text)
        for quotes in _LONG_QUOTE.findall(text, done, end):
            if open_quotes in ("", quotes):
                open_quotes = "" if open_quotes else quotes
        if leaves is None:
            return None if open_quotes else len(lines_of(text))
        if not open_quotes:
            return head.number + text.count("\n", head.position, end)
        done = end


def _is_in_scope(lines: list[str], first: int, heads: list[int], indent: str) -> bool:
    """Whether one of these heads, indented more than `indent`, is in the same scope, below an ``if`` or the like."""
    for number in heads:
        depth = len(lines[number]) - len(lines[number].lstrip())
        for above in range(number - 1, first - 1, -1):
            line = lines[above].lstrip()
            width = len(lines[above]) - len(line)
            if line.strip() and not line.startswith("#") and width < depth:
                depth = width
                if _HEAD.match(line):
                    break  # a function or a class: another scope
                if width <= len(indent):
                    return True
    return False


_LONG_QUOTES = ('"""', "'''")
_LONG_QUOTE = re.compile("|".join(_LONG_QUOTES))
_HEAD = re.compile(r"(?:async[ \t\f]+def|def|class)\b")


def _leaves(line: str, indent: str) -> bool:
    """Whether `line` ends a block whose head has this indentation."""
    stripped = line.lstrip()
    if not stripped or stripped[0] in "#)]}":
        return False
    return len(line) - len(stripped) <= len(indent)


def _first_decorator(lines: list[str], head: int, indent: str) -> int:
    """The first line of the decorators of the definition at line `head` (both counted from 0)."""
    first = head
    above = next((line for line in reversed(lines[max(head - 50, 0) : head]) if line.lstrip()[:1] not in ("", "#")), "")
    if above and not above.startswith(indent + "@") and not any(bracket in above for bracket in ")]}"):
        # The line above cannot end a decorator. Most definitions have none; the loop would scan the function above.
        return first
    for number in range(head - 1, -1, -1):
        line = lines[number]
        if line.startswith(indent + "@"):
            first = number
        elif line.lstrip()[:1] not in ("", "#") and not (line.startswith(indent) and line[len(indent)] in " \t)]}"):
            break  # another statement, which the lines passed so far belong to
    return first


def _parse_block(block: str, owners: list[str], lineno: int, indent: str) -> Optional[Found]:
    """Parse a definition alone, under one class head for each owner, at its own line and columns."""
    tree = parse(under_owners(block, owners, lineno, indent))
    node: ast.AST = tree
    for _ in owners:
        node = node.body[0]  # type: ignore[attr-defined]
    body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
    if len(body) != 1 or not isinstance(body[0], _DEFINITIONS):
        return None
    return Found(body[0], lineno, block)


def under_owners(block: str, owners: list[str], lineno: int, indent: str) -> str:
    """Source with `block` at line `lineno` under the heads of its classes, so that every position matches the file."""
    heads = [f"{indent[:depth]}class {owner}:\n" for depth, owner in enumerate(owners)]
    blank = lineno - 1 - len(heads)
    if blank < 0 or len(indent) < len(owners):
        raise SyntaxError(f"no room for {len(heads)} class heads before line {lineno}")
    return "\n" * blank + "".join(heads) + block


@recent(1)
def _whole(text: str) -> Optional[ast.Module]:
    """A text, parsed; None if it is not valid. Do not change the result."""
    try:
        return parse(text)
    except (SyntaxError, ValueError):
        return None


def _find_surely(text: str, qualname: str) -> Optional[Found]:
    """Parse the whole text."""
    node: Optional[ast.AST] = _whole(text)
    if node is None:
        return None
    for part in qualname.split("."):
        named = [child for child in _statements(node) if isinstance(child, _DEFINITIONS) and child.name == part]
        if not named:
            return None
        node = named[-1]
    assert isinstance(node, _DEFINITIONS)
    first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
    lines = lines_of(text)
    return Found(node, first, "".join(lines[first - 1 : node.end_lineno]))


def _bound(scope: ast.AST) -> Iterator[str]:
    """The names that the statements in the scope of a module or class bind."""
    for statement in _statements(scope):
        if isinstance(statement, _DEFINITIONS):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _has_member(module: Module, owner: str, name: str) -> Optional[bool]:
    """Whether a class of a module has a member; None if there is no such class."""
    if not _has_word(module.text, name) and _place(module.text, owner) is not None:
        return False  # the class exists and need not be parsed
    scope = module.scope(owner)
    if scope is None:
        return None
    if name in module.members(owner):
        return True
    bases = scope.bases if isinstance(scope, ast.ClassDef) else []
    names = [base.id for base in bases if isinstance(base, ast.Name) and base.id != owner]
    return any(bool(_has_member(module, base, name)) for base in names)


def _has_key(module: ast.Module, owner: str, key: str) -> Optional[bool]:
    """Whether a dictionary literal of a module has a key; None if there is no such dictionary."""
    for statement in _statements(module):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(statement.value, ast.Dict):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == owner for target in targets):
            return any(isinstance(node, ast.Constant) and node.value == key for node in statement.value.keys)
    return None


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements in the scope of `node`, including those under if, try, with and loops, but not in functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
            if not isinstance(child, _DEFINITIONS):
                yield from _statements(child)
        elif isinstance(child, ast.ExceptHandler):
            yield from _statements(child)


# An invalid escape; the second of two backslashes looks like one, too.
_INVALID_ESCAPE = re.compile(r"\\[^\n\\'\"abfnrtv0-7xNuU]")
_ESCAPE = re.compile(r"\\(.)")


@memo
def _strings() -> re.Pattern[str]:
    """Comments and strings, as before f-strings could contain their own quotes."""
    return re.compile(
        r"""
        \#[^\n]*
        | (?: (?<!\w) (?P<prefix>[A-Za-z]{1,2}) )?
          (?: \"{3} (?:[^"\\]|\\.|"(?!""))* \"{3} | \'{3} (?:[^'\\]|\\.|'(?!''))* \'{3}
            | " (?:[^"\\\n]|\\.)* " | ' (?:[^'\\\n]|\\.)* ' )
        """,
        re.X | re.S,
    )


_HAVE_NESTED_QUOTES = sys.version_info >= (3, 12)


@recent(32)
def _with_valid_escapes(text: str) -> str:
    pieces, done = [], 0
    for match in _strings().finditer(text):
        prefix = (match["prefix"] or "").lower()
        if _HAVE_NESTED_QUOTES and ("f" in prefix or "t" in prefix):
            return _with_valid_escapes_surely(text)
        if match[0][0] != "#" and "r" not in prefix and _INVALID_ESCAPE.search(match[0]):
            pieces += [text[done : match.start()], _ESCAPE.sub(_valid, match[0])]
            done = match.end()
    return "".join([*pieces, text[done:]])


def _with_valid_escapes_surely(text: str) -> str:
    """The same with Python's tokenizer, which takes a hundred times as long for long strings."""
    lines = list(lines_of(text))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text  # the parser will report the error
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        kind = tokenize.tok_name[token.type]
        if kind not in ("STRING", "FSTRING_MIDDLE") or not _INVALID_ESCAPE.search(token.string):
            continue
        head = token.string if kind == "STRING" else _start_of(tokens, index)
        if "r" in re.split("['\"]", head, maxsplit=1)[0].lower():
            continue
        (row, start), (last_row, end) = token.start, token.end
        for number in range(row - 1, last_row):
            left = start if number == row - 1 else 0
            right = end if number == last_row - 1 else len(lines[number])
            part = _ESCAPE.sub(_valid, lines[number][left:right])
            lines[number] = lines[number][:left] + part + lines[number][right:]
    return "".join(lines)


def _valid(escape: re.Match[str]) -> str:
    return f"\\{escape[0]}" if _INVALID_ESCAPE.match(escape[0]) else escape[0]


def _start_of(tokens: list[tokenize.TokenInfo], middle: int) -> str:
    """The beginning of the f-string that a part belongs to."""
    depth = 0
    for token in reversed(tokens[:middle]):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START" and depth == 0:
            return token.string
        depth += (kind == "FSTRING_END") - (kind == "FSTRING_START")
    return ""


def _canonical_fstring(values: list[ast.expr]) -> str:
    """Join literal parts, since Python versions split them in different ways."""
    parts: list[str] = []
    literal = ""
    for value in values:
        if isinstance(value, ast.Constant):
            literal += str(value.value)
            continue
        if literal:
            parts.append(repr(literal))
        literal = ""
        parts.append(canonical(value))
    if literal:
        parts.append(repr(literal))
    return ",".join(parts)
