"""Makes new code objects from old ones. Nothing here changes a live object.

Each function refuses (`errors.Refusal`) input that does not fit.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import dis
import inspect
import linecache
import sys
import types
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial, update_wrapper
from typing import Any, Callable, NamedTuple, Optional, Union
from weakref import ref

from .. import asking
from .._support.memo import recent
from ..errors import Refusal
from ..fix import ALWAYS, Condition, Target
from ..pattern import Rewrite
from ..versions import source
from . import binding, conditional, scope


def replacement_code(
    function: types.FunctionType, before: types.CodeType, ours: types.FunctionType, edits: Sequence[Target] = ()
) -> types.CodeType:
    """The code of our function, with edits, ready to run inside `function`.

    It runs in the namespace of the module that it repairs, so its global names are that module's. A traceback shows our
    file and line, under the name of the target.

    Raises:
        Refusal: the signatures differ, ours closes over a variable, or ours uses a name that the module lacks; an edit
            does not match ours.
    """
    code = ours.__code__
    if edits or binding.imports(code):
        text = "".join(linecache.getlines(code.co_filename, ours.__globals__))
        if text or edits:  # a bytecode-only installation has no source; its imports stay
            code = edited_code(written(code, ours.__qualname__, text), edits)
    check_replacement(function, before, ours, code)
    if sys.version_info >= (3, 11):
        return code.replace(co_name=before.co_name, co_qualname=before.co_qualname)
    return code.replace(co_name=before.co_name)


def check_replacement(
    function: types.FunctionType,
    before: types.CodeType,
    ours: types.FunctionType,
    made: Optional[types.CodeType] = None,
) -> None:
    """Check that our function can run inside another one.

    Args:
        function: the function to replace.
        before: its code before any repair.
        ours: the replacement.
        made: the code to run; that of the replacement if None.

    Raises:
        Refusal: the signatures differ, ours closes over a variable, or ours uses a name that the module lacks.
    """
    there, here = shape(function), shape(ours)
    if there != here:
        raise Refusal(f"its signature is {inspect.signature(function)}, the replacement's {inspect.signature(ours)}")
    made = made or ours.__code__
    if made.co_freevars or before.co_freevars:
        raise Refusal("a replacement can neither close over variables nor use super()")
    known = function.__globals__.keys() | vars(builtins).keys()
    missing = sorted(global_names(made) - known - binding.names(made))
    if missing:
        raise Refusal(f"the replacement uses {', '.join(missing)}, which {function.__module__} does not have")


def closure(make: Callable[[Any], Any], original: Any, condition: Condition = ALWAYS, library: str = "") -> Any:
    """The wrapper that `make` puts around `original`, under the names of the original.

    Args:
        make: takes the original and returns the wrapper.
        original: the object to wrap.
        condition: when to run the wrapper; else the original is called.
        library: name of the package whose code counts as the library's own.

    Raises:
        Refusal: the wrapper is not a plain function, or takes other arguments.
    """
    wrapper = make(original)
    if not isinstance(wrapper, types.FunctionType):
        raise Refusal(f"a wrapper must be a plain function, not {type(wrapper).__name__}")
    if isinstance(original, types.FunctionType) and not _takes_anything(wrapper) and shape(wrapper) != shape(original):
        raise Refusal(f"the signature is {inspect.signature(original)}, the wrapper's {inspect.signature(wrapper)}")
    asking.register(wrapper)
    if condition.pieces:
        wrapper = _under(condition, original, wrapper, library)
    below = vars(wrapper).get("__wrapped__", original)
    if isinstance(original, types.FunctionType) and original.__name__ == "forward" and _names_nothing(wrapper):
        wrapper = _in_its_namespace(wrapper, original)
    # Without __dict__: attributes that others have set on the original do not hold for the wrapper.
    wrapped: Any = update_wrapper(wrapper, original, updated=())
    wrapped.__wrapped__ = below
    with suppress(ValueError, TypeError, NameError):  # written in C; annotations that cannot be evaluated
        signature = inspect.signature(original)
        if signature == inspect.signature(original, follow_wrapped=False):
            wrapped.__signature__ = signature  # for `inspect.getfullargspec`, which does not look below a wrapper
    return wrapped


def _in_its_namespace(wrapper: Any, original: types.FunctionType) -> types.FunctionType:
    """A function that calls a wrapper, with the globals and the file of the original, which programs read.

    A program may also make a copy of the function that looks up names elsewhere, to replace a function that it calls.
    Then the copy is one of the original. Programs do both to the ``forward`` of a module; a wrapper of another function
    may look at its caller's frame, which this function would be.
    """
    home, namespace, copied = original.__globals__, globals, _copied  # `call` has no globals of this module
    it: Any = ref(original)  # another strong reference would count as one of the program's
    is_compiling = getattr(sys.modules.get("torch.compiler"), "is_compiling", _no)  # the compiler knows no `globals()`

    def call(*args: Any, **kwargs: Any) -> Any:  # two lines: a traceback shows those of the original
        function = wrapper if is_compiling() or namespace() is home else copied(it(), namespace())
        return function(*args, **kwargs)

    first = original.__code__
    code = call.__code__.replace(
        co_name=first.co_name, co_filename=first.co_filename, co_firstlineno=first.co_firstlineno
    )
    made = types.FunctionType(code, home, original.__name__, None, call.__closure__)
    asking.register(made)
    return made


def _no() -> bool:
    return False


def _copied(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    """A copy of a function that looks up its global names elsewhere."""
    copied = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _under(condition: Condition, original: Any, wrapper: Any, library: str) -> Any:
    """A function that calls a wrapper under a condition, and the original otherwise.

    Raises:
        Refusal: the condition has a part that a wrapper cannot evaluate.
    """
    if condition.when or any(path.partition(".")[0] != "self" for path in condition.own):
        raise Refusal("a wrapper evaluates `when` itself, and takes paths of `own` that begin with `self` only")
    names = [path.partition(".")[2] for path in condition.own]
    owners = library, getattr(original, "__module__", "")  # a kernel that the library imports is of another package

    def conditional(*args: Any, **kwargs: Any) -> Any:
        checks = (*(partial(_is_own, condition.fix, args[0], name, library) for name in names),)
        places = (partial(scope.is_in_place, condition.fix, place) for place in condition.along)
        if not all(check() for check in (*checks, *places)):
            return original(*args, **kwargs)
        if condition.on_error:
            try:
                return original(*args, **kwargs)
            except Exception as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
                if not scope.is_declared(_hotfix_error, condition.fix, condition.on_error, *owners):
                    raise
        return wrapper(*args, **kwargs)

    return conditional


def _is_own(fix: str, owner: Any, name: str, library: str) -> bool:
    return scope.is_own(fix, owner, name, library) if name else scope.is_class_of(fix, owner, library)


class Written(NamedTuple):
    """A function whose running code matches its file.

    It keeps the source, which is parsed at each edit. A syntax tree has thousands of objects, and would have to survive
    every garbage collection for as long as the function stays changed.

    Attributes:
        qualname: the qualified name of the function.
        text: source that compiles to the same code: the definition alone, on its own lines, and the imports it needs.
        code: the running code.
    """

    qualname: str
    text: str
    code: types.CodeType


def written(code: types.CodeType, qualname: str, text: str) -> Written:
    """Find the source of a running function.

    Args:
        code: the running code.
        qualname: the qualified name of the function.
        text: the source of its module.

    Raises:
        Refusal: the source lacks the function, or differs from the running code.
    """
    return _written(code, code.co_filename, qualname, text)


@recent(32)
def _written(code: types.CodeType, filename: str, qualname: str, text: str) -> Written:
    """The same, with the file name in the cache key: equal code may come from another file."""
    block = source.block(text, qualname)
    if block is not None:
        with suppress(SyntaxError, ValueError):
            alone, runs = _compiled_alone(code, qualname, text, block)
            if same_program(runs, code):
                return Written(qualname, alone, code)
    definition = source.find(text, qualname)
    if definition is None:
        raise Refusal(f"the source of {qualname} cannot be read from {filename}")
    try:
        alone, runs = _compiled_alone(code, qualname, text, source.Block(definition.lineno, definition.text))
    except (SyntaxError, ValueError) as error:
        raise Refusal(f"the source of {qualname} does not compile on its own: {error}") from None
    if not same_program(runs, code):
        raise Refusal(f"the file {filename} is not what runs: it has changed, or changed while it was loaded")
    return Written(qualname, alone, code)


def _compiled_alone(code: types.CodeType, qualname: str, text: str, block: source.Block) -> tuple[str, types.CodeType]:
    """The source of a definition with the imports that it needs, and the code that it compiles to."""
    alone = f"{standing_alone(block, qualname)}\n{_imports(text, code)}"
    return alone, compiled(source.with_valid_escapes(alone), qualname, code)


def _imports(text: str, code: types.CodeType) -> str:
    """An import statement for the imported names that code uses, since these are compiled differently.

    The statement may import anything under these names: it is never executed.
    """
    if sys.version_info < (3, 11):
        return ""
    bound = {alias.asname or alias.name.partition(".")[0] for node in source.imports(text) for alias in node.names}
    names = sorted(bound & _names_in(code))
    return f"import {', '.join(f'_ as {name}' for name in names)}\n" if names else ""


def _names_in(code: types.CodeType) -> set[str]:
    return {*code.co_names}.union(*(_names_in(const) for const in code.co_consts if isinstance(const, types.CodeType)))


def edited_code(original: Written, targets: Iterable[Target]) -> types.CodeType:
    """The code of a function after edits of its syntax tree; file name, lines and columns do not change.

    Args:
        original: the function.
        targets: the edits, in their order.

    Raises:
        Refusal: an edit does not match exactly as often as declared, gives code that does not fit, or changes nothing
            that runs.
    """
    targets = list(targets)
    counting = [target for target in targets if getattr(target.implementation, "counts", False)]
    tree = _changed(source.parse(original.text), original, [target for target in targets if target not in counting])
    for target in counting:
        tree = edited_tree(tree, target)
    tree = binding.bound(tree)
    try:
        code = compiled(tree, original.qualname, original.code)
    except SyntaxError as error:
        raise Refusal(f"the edited source does not compile: {error}") from None
    if targets and same_program(code, original.code):
        raise Refusal("the edit changes nothing that runs: the matched code is never reached")
    if frame(code) != frame(original.code):
        raise Refusal("the edit would change the arguments of the function or what it closes over")
    return code


def _changed(tree: ast.Module, original: Written, targets: Sequence[Target]) -> ast.Module:
    """A tree after edits, each under its condition."""
    if not any(target.condition.pieces for target in targets):
        return _after(tree, original, [(target, "") for target in targets])
    if any(target.decorator for target in targets):
        raise Refusal("a function made by a decorator cannot be changed under a condition")
    guards = [f"_hotfix_{number}" if target.condition.is_guarded else "" for number, target in enumerate(targets)]
    pairs = list(zip(targets, guards))
    early = [(target, guard) for target, guard in pairs if not target.condition.on_error]
    late = [(guard, target) for target, guard in pairs if target.condition.on_error]
    tree = _after(tree, original, early)
    if late:
        again = copy.deepcopy(tree) if early else source.parse(original.text)
        repaired = _after(again, original, [(target, "") for _, target in late])
        function = conditional.definition(tree, original.qualname)
        conditional.fall_back(function, conditional.definition(repaired, original.qualname), late)
    guarded = [(guard, target) for target, guard in pairs if guard]
    conditional.add_guards(conditional.definition(tree, original.qualname), guarded)
    return tree


def _after(tree: ast.Module, original: Written, targets: Iterable[tuple[Target, str]]) -> ast.Module:
    for target, guard in targets:
        if not target.way.edits_source:
            function = conditional.definition(tree, original.qualname)
            conditional.with_body_of(function, _definition_of(target.implementation), guard)
        else:
            tree = edited_tree(tree, target, guard)
    return tree


def _definition_of(ours: types.FunctionType) -> Any:
    text = "".join(linecache.getlines(ours.__code__.co_filename, ours.__globals__))
    definition = source.find(text, ours.__qualname__)
    if definition is None:
        raise Refusal(f"the source of the replacement {ours.__qualname__} cannot be read")
    return definition.node


def same_program(first: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects begin on the same line and do the same.

    Columns do not count, since an interpreter option drops them. Neither does padding at the end, which a profiler adds
    to distinguish functions.
    """
    if any(getattr(first, name) != getattr(other, name) for name in _OF_A_PROGRAM):
        return False
    if _without_padding(first.co_code) != _without_padding(other.co_code):
        return False
    if getattr(first, "co_exceptiontable", b"") != getattr(other, "co_exceptiontable", b""):
        return False
    return len(first.co_consts) == len(other.co_consts) and all(map(_same_const, first.co_consts, other.co_consts))


def standing_alone(definition: Union[source.Block, source.Found], qualname: str) -> str:
    """The source of a module with one definition alone, under its class headers; line numbers match the file."""
    *owners, _ = qualname.split(".")
    head = definition.text[: len(definition.text) - len(definition.text.lstrip())]
    return source.under_owners(definition.text, owners, definition.lineno, head)


def edited_tree(tree: ast.Module, target: Target, guard: str = "") -> ast.Module:
    """A tree after one edit; it is changed in place.

    Args:
        tree: the source.
        target: the edit.
        guard: a local variable that selects between old and new code at each place of the edit.

    Raises:
        Refusal: the pattern does not match exactly as often as declared, or the edit changes nothing.
    """
    edit, choose = target.implementation, partial(conditional.either, guard) if guard else None
    unchanged = False  # a rewrite always inserts its declared code
    if isinstance(edit, Rewrite):
        tree, counts = edit.apply(tree, choose)  # it sets the locations of all new nodes
    else:
        editor = Editor(edit, choose)
        counting = choose is not None or getattr(edit, "counts", False)  # the matches show that it changes something
        before = "" if counting else ast.dump(tree)
        tree = editor.visit(tree)
        counts = [editor.matches]
        unchanged = not counting and before == ast.dump(tree)
    for matches in counts:
        if matches != target.occurrences:
            raise Refusal(f"the pattern of the edit matches {matches} times, not {target.occurrences}")
    if unchanged:
        raise Refusal("the edit fits, and changes nothing")
    return tree


def inner_code(decorator: types.CodeType, before: types.CodeType) -> types.CodeType:
    """The code that replaces `before` in the edited code of a decorator."""
    named = [
        const for const in decorator.co_consts if isinstance(const, types.CodeType) and const.co_name == before.co_name
    ]
    if len(named) != 1 or frame(named[0]) != frame(before):
        raise Refusal(f"the edit would change the arguments of {before.co_name} or what it closes over")
    return named[0]


class Editor(ast.NodeTransformer):
    """Applies an edit to every node of a tree and counts how often it matched.

    Args:
        edit: takes a node and returns None if it does not match, else the node or the list of statements that
            replaces it. Beside `choose`, it leaves the node as it is.
        choose: makes one statement of a node and its replacement, that selects between them.
    """

    def __init__(self, edit: Callable[[ast.AST], Any], choose: Optional[Callable[[Any, Any], Any]] = None) -> None:
        self.edit = edit
        self.choose = choose
        self.matches = 0

    def visit(self, node: ast.AST) -> Any:
        """Edit one node and the nodes below it."""
        new = self.edit(node)
        if new is None:
            return self.generic_visit(node)
        if self.choose and isinstance(new, ast.AST) and ast.dump(new) == ast.dump(node):
            return self.generic_visit(node)  # there is nothing to choose
        self.matches += 1
        if new == []:
            new = [ast.Pass()]
        for statement in new if isinstance(new, list) else [new]:
            # In tracebacks, new code has the line of the code that it replaces.
            ast.fix_missing_locations(ast.copy_location(statement, node))
        return self.choose(node, new) if self.choose else new


statements = conditional.statements


def compiled(module: Union[str, ast.Module], qualname: str, like: Optional[types.CodeType] = None) -> types.CodeType:
    """Compile a module and return the code of one function. Executes nothing.

    Args:
        module: its source or tree, with the function under its class headers.
        qualname: the qualified name of the function.
        like: code that was compiled with the same file name and ``__future__`` features.

    Raises:
        Refusal: there is no such function in the compiled module.
        SyntaxError: it does not compile.
    """
    features = (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
    flags = sum(flag for flag in features if like is not None and flag & like.co_flags)
    name = "<source>" if like is None else like.co_filename
    code: types.CodeType = compile(module, name, "exec", flags=flags, dont_inherit=True)
    for part in qualname.split("."):
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType) and const.co_name == part]
        if not inner:
            raise Refusal(f"{qualname} cannot be compiled on its own")
        code = inner[-1]
    return code


_OF_A_PROGRAM = (
    "co_name",
    "co_filename",
    "co_firstlineno",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
)
_NOP = bytes([dis.opmap["NOP"], 0])


def _without_padding(instructions: bytes) -> bytes:
    while instructions.endswith(_NOP):
        instructions = instructions[: -len(_NOP)]
    return instructions


def _same_const(first: Any, other: Any) -> bool:
    if isinstance(first, types.CodeType) and isinstance(other, types.CodeType):
        return same_program(first, other)
    if type(first) is not type(other):
        return False
    if isinstance(first, (tuple, frozenset)):
        pairs = zip(first, other) if isinstance(first, tuple) else zip(sorted(first, key=repr), sorted(other, key=repr))
        return len(first) == len(other) and all(_same_const(a, b) for a, b in pairs)
    if isinstance(first, (float, complex)):
        return repr(first) == repr(other)  # 0.0 is equal to -0.0, NaN not to itself
    return bool(first == other)


# Whether a function has its own locals, takes *args or **kwargs, and is a generator or a coroutine.
_KIND = 0x0F | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


def frame(code: types.CodeType) -> tuple[Any, ...]:
    """The properties that an edit may not change: closure variables, kind and arguments."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    return code.co_freevars, code.co_flags & _KIND, code.co_varnames[:arguments]


def shape(function: types.FunctionType) -> list[tuple[str, Any, bool]]:
    """Names, kinds and presence of defaults, which decide whether a call fits."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default is not parameter.empty) for parameter in parameters]


def _takes_anything(function: types.FunctionType) -> bool:
    kinds = {kind for _, kind, _ in shape(function)}
    return {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds


def _names_nothing(wrapper: types.FunctionType) -> bool:
    """Whether the names of a wrapper's arguments, which programs read from its code, tell nothing."""
    return wrapper.__code__.co_argcount <= 1 and not wrapper.__code__.co_kwonlyargcount and _takes_anything(wrapper)


def global_names(code: types.CodeType) -> set[str]:
    """The global names that code, or a function in it, looks up."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= global_names(const)
    return names
