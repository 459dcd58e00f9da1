"""Change a live function, and change it back.

Three instruments, least invasive first:

- `replace`: the function gets the body of a small function of ours.
- `wrap`: a closure of ours takes the place of a name; it calls what stood there before.
- `edit`: the function gets its own body with a checked change of its syntax tree. So can the function that a decorator
  has put around one target: what the decorator has put around others stays as it is.

`replace` and `edit` exchange ``function.__code__``. The function object stays the same one, so that everything that
holds it (from-imports, class maps, partials, closures, live bound methods, decorators around it) has the new body at
once, pickling and ``inspect.signature`` are as they were, and ``torch.compile`` sees the change, since it guards on the
code object. `wrap` has to put another object in place; copies of the name in other loaded modules are rebound.

Every operation is checked first and refuses (`errors.Refusal`) rather than fit halfway. All of them are kept in one
journal, behind one lock, and `take_out` undoes them in reverse order, down to the identical objects.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import gc
import inspect
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import ledger, policy
from .errors import Refusal
from .ledger import Outcome, State, Verdict
from .versions import source

if TYPE_CHECKING:
    from .registry import Fix, Target
    from .versions.gate import Judgement


def treat(fix: Fix, target: Target, judgement: Judgement, module: types.ModuleType, late: bool) -> None:
    """Do what the verdict calls for, and enter the outcome in the ledger."""
    state, reason = State.SKIPPED, judgement.reason
    forced = judgement.verdict is Verdict.UNKNOWN and policy.current().unknown is policy.Unknown.APPLY
    if judgement.verdict is Verdict.BROKEN or forced:
        try:
            _bring_companions(fix)
            reason = operate(fix, target, module, late)
            state = State.APPLIED
            if fix.kind == "silent":
                reason += " Numbers change with it: those of this release are wrong."
        except Refusal as refusal:
            state, reason = State.FAILED, f"Refused, nothing was touched: {refusal}"
            _dismiss_companions(fix)
    name = str(target.in_module(module.__name__))
    ledger.enter(Outcome(fix.id, name, judgement.verdict, state, late, reason, judgement.source))


def operate(fix: Fix, target: Target, module: types.ModuleType, late: bool = False) -> str:
    """Apply one fix to one target of a loaded module, once.

    Returns:
        One sentence: what was done.

    Raises:
        Refusal: the live object is not what the fix was written for.
    """
    site = resolve(module, target.qualname)
    with _lock:
        operation = _operation_on(site, target)
        if any(step.fix is fix and step.target is target for step in operation.steps):
            return "It was in place already."
        operation.add(_Step(fix, target))
        if operation not in _journal:
            _journal.append(operation)
    return operation.sentence(target, late)


def take_out(fix_ids: Optional[set[str]] = None) -> None:
    """Undo the operations of these fixes, or of all, in reverse order."""
    with _lock:
        for operation in reversed(list(_journal)):
            operation.remove(fix_ids)
            if not operation.steps:
                _journal.remove(operation)


def in_place(fix: Fix, target: Target) -> bool:
    """Whether this target of this fix is repaired in this process."""
    with _lock:
        return any(step.fix is fix and step.target is target for operation in _journal for step in operation.steps)


@dataclass(frozen=True)
class Site:
    """Where a target lives.

    Attributes:
        owner: the module or class that has the name.
        name: the last component of the qualified name.
        raw: what ``owner.__dict__`` holds there: a function, a staticmethod, a decorated function, anything.
        function: the plain Python function inside of `raw`, or None.
    """

    owner: Any
    name: str
    raw: Any
    function: Optional[types.FunctionType]


def resolve(module: types.ModuleType, qualname: str) -> Site:
    """Find a target in a loaded module without running any attribute hook of it.

    Raises:
        Refusal: the name is not there.
    """
    import wrapt  # here, because it costs 70 ms and is needed only where something is broken

    try:
        owner, name, _ = wrapt.resolve_path(module, qualname)
    except AttributeError:
        raise Refusal(f"{module.__name__} has no {qualname} at run time") from None
    if name not in vars(owner):
        raise Refusal(f"{qualname} is inherited in {module.__name__}, not defined there")
    raw = vars(owner)[name]
    return Site(owner, name, raw, _function_inside(raw))


def first_code(function: types.FunctionType) -> types.CodeType:
    """The code that a function had before any operation of ours."""
    with _lock:
        for operation in _journal:
            if isinstance(operation, _Recoding) and operation.function is function:
                return operation.before
    return function.__code__


# ---------------------------------------------------------------------------------------------------------------------
# Below: companions, what must change together with a target.


def _bring_companions(fix: Fix) -> None:
    for companion in fix.companions:
        if in_place(fix, companion):
            continue
        try:
            module = import_module(companion.module)
        except ImportError as error:
            raise Refusal(f"{companion} has to change along and cannot be imported: {error}") from error
        operate(fix, companion, module, late=True)


def _dismiss_companions(fix: Fix) -> None:
    if not any(in_place(fix, target) for target in fix.targets):
        take_out({fix.id})


# ---------------------------------------------------------------------------------------------------------------------
# Below: operations. One for each function whose code, or each name whose object, is exchanged.


@dataclass(frozen=True)
class _Step:
    fix: Fix
    target: Target


@dataclass(eq=False)
class _Recoding:
    """A function that has got another body: by one replacement, or by any number of edits.

    Attributes:
        decorator: the function that has made it, if that is what the edits are made in.
    """

    function: types.FunctionType
    before: types.CodeType
    steps: list[_Step] = field(default_factory=list)
    decorator: Any = None

    def add(self, step: _Step) -> None:
        steps = sorted([*self.steps, step], key=lambda one: (one.fix.order, one.fix.id))
        self.function.__code__ = self._built(steps)  # the check comes first: _built refuses before anything changes
        self.steps = steps

    def remove(self, fix_ids: Optional[set[str]]) -> None:
        self.steps = [step for step in self.steps if fix_ids is not None and step.fix.id not in fix_ids]
        self.function.__code__ = self._built(self.steps)

    def _built(self, steps: list[_Step]) -> types.CodeType:
        if not steps:
            return self.before
        replacing = [step for step in steps if step.target.instrument == "replace"]
        if replacing and len(steps) > 1:
            raise Refusal(f"{' and '.join(step.fix.id for step in steps)} cannot both change {self.before.co_name}")
        if replacing:
            return replacement_code(self.function, self.before, replacing[0].target.body)
        targets = [step.target for step in steps]
        if self.decorator is None:
            return edited_code(self.function, self.before, targets)
        return _inner_code(edited_code(self.decorator, first_code(self.decorator), targets), self.before)

    def sentence(self, target: Target, late: bool) -> str:
        """What was done."""
        if self.decorator is not None:
            return f"What {self.decorator.__qualname__} has put around it was edited; every copy has the new body."
        verb = "replaced" if target.instrument == "replace" else "edited"
        return f"Its body was {verb}; every copy of the function has the new one."


@dataclass(eq=False)
class _Wrapping:
    """A name whose object was exchanged for closures around it."""

    site: Site
    original: Any
    steps: list[_Step] = field(default_factory=list)
    installed: Any = None

    def is_on(self, site: Site) -> bool:
        """Whether what stands at this site now is what this operation has put there."""
        here = self.site.owner is site.owner and self.site.name == site.name
        return here and self.installed is site.raw

    def add(self, step: _Step) -> None:
        self._install(sorted([*self.steps, step], key=lambda one: (one.fix.order, one.fix.id)))

    def remove(self, fix_ids: Optional[set[str]]) -> None:
        self._install([step for step in self.steps if fix_ids is not None and step.fix.id not in fix_ids])

    def _install(self, steps: list[_Step]) -> None:
        present = self.original if self.installed is None else self.installed
        wanted = _unwrapped_descriptor(self.original)
        for step in steps:
            wanted = closure(step.target.body, wanted)
        if not steps:
            wanted = self.original
        elif isinstance(self.original, (staticmethod, classmethod)):
            wanted = type(self.original)(wanted)
        self.steps = steps
        if vars(self.site.owner).get(self.site.name) is present:
            setattr(self.site.owner, self.site.name, wanted)
        if self._is_defined_here():
            _rebind(present, wanted)
        self.installed = wanted if steps else None

    def _is_defined_here(self) -> bool:
        """An imported name is ours to change in this module only; a function of this module everywhere."""
        module = getattr(self.site.owner, "__module__", getattr(self.site.owner, "__name__", None))
        return getattr(_unwrapped_descriptor(self.original), "__module__", None) == module

    def sentence(self, target: Target, late: bool) -> str:
        """What was done, and what could not be reached."""
        if not late or not self._is_defined_here():
            return "It was wrapped."
        held = _unreachable(self.original)
        rest = f"; {held} closures, partials or bound methods still hold the original" if held else ""
        return f"It was wrapped and its copies in loaded modules rebound{rest}."


_Operation = Union[_Recoding, _Wrapping]
_journal: list[_Operation] = []
_lock = threading.RLock()


def _operation_on(site: Site, target: Target) -> _Operation:
    """The operation that has this site already, or a new one."""
    if target.instrument == "wrap":
        for one in _journal:
            if isinstance(one, _Wrapping) and one.is_on(site):
                return one
        if not callable(_unwrapped_descriptor(site.raw)):
            raise Refusal(f"{target.qualname} is {site.raw!r} and cannot be wrapped")
        return _Wrapping(site, site.raw)
    decorator = _decorator_of(target) if target.decorator else None
    function = _made_by(decorator, site) if decorator else site.function
    for one in _journal:
        if isinstance(one, _Recoding) and one.function is function:
            return one
    if function is None:
        raise Refusal(f"{target.qualname} is {type(site.raw).__name__}, not a Python function")
    return _Recoding(function, function.__code__, decorator=decorator)


# ---------------------------------------------------------------------------------------------------------------------
# Below: the three instruments, each with its refusals.


def replacement_code(function: types.FunctionType, before: types.CodeType, ours: types.FunctionType) -> types.CodeType:
    """The code of our function, fit to run inside of `function`.

    It runs in the namespace of the module that it repairs: its global names are that module's. What it shows in a
    traceback is our file and line, under the name of the target.

    Raises:
        Refusal: the signatures differ, ours closes over a variable, or ours uses a name that the module lacks.
    """
    there, here = _shape(function), _shape(ours)
    if there != here:
        raise Refusal(f"its signature is {inspect.signature(function)}, the replacement's {inspect.signature(ours)}")
    code = ours.__code__
    if code.co_freevars or before.co_freevars:
        raise Refusal("a replacement can neither close over variables nor use super()")
    known = function.__globals__.keys() | vars(builtins).keys()
    missing = sorted(_global_names(code) - known)
    if missing:
        raise Refusal(f"the replacement uses {', '.join(missing)}, which {function.__module__} does not have")
    if sys.version_info >= (3, 11):
        return code.replace(co_name=before.co_name, co_qualname=before.co_qualname)
    return code.replace(co_name=before.co_name)


def closure(make: Callable[[Any], Any], original: Any) -> Any:
    """What `make` puts around `original`, under the names of the original.

    Raises:
        Refusal: it is not a plain function, or takes other arguments.
    """
    wrapper = make(original)
    if not isinstance(wrapper, types.FunctionType):
        raise Refusal(f"a wrapper must be a plain function, not {type(wrapper).__name__}")
    if (
        isinstance(original, types.FunctionType)
        and not _takes_anything(wrapper)
        and _shape(wrapper) != _shape(original)
    ):
        raise Refusal(f"the signature is {inspect.signature(original)}, the wrapper's {inspect.signature(wrapper)}")
    # No __dict__: what others have stored on the original is not true of the wrapper.
    return update_wrapper(wrapper, original, updated=())


def edited_code(function: types.FunctionType, before: types.CodeType, targets: list[Target]) -> types.CodeType:
    """The code of a function after edits of its syntax tree; file name, lines and columns stay.

    Raises:
        Refusal: the source on disk is not what runs, or an edit does not match exactly as often as declared.
    """
    import linecache

    qualname = function.__qualname__
    text = "".join(linecache.getlines(before.co_filename, function.__globals__))
    found = source.find(text, qualname)
    if found is None:
        raise Refusal(f"the source of {qualname} cannot be read from {before.co_filename}")
    *owners, _ = qualname.split(".")
    head = found.text[: len(found.text) - len(found.text.lstrip())]
    tree = source.parse(source.under_owners(found.text, owners, found.lineno, head))
    # Attributes of imported names are compiled differently from those of other names.
    tree.body[:0] = source.imports(text)
    unedited = _compiled(tree, before, qualname)
    if unedited != before:
        raise Refusal(f"the file {before.co_filename} has changed since it was imported")
    for target in targets:
        editor = Editor(target.body)
        tree = ast.fix_missing_locations(editor.visit(tree))
        if editor.matches != target.count:
            raise Refusal(f"the pattern of the edit matches {editor.matches} times, not {target.count}")
    code = _compiled(tree, before, qualname)
    if _frame(code) != _frame(before):
        raise Refusal("the edit would change the arguments of the function or what it closes over")
    return code


def _inner_code(decorator: types.CodeType, before: types.CodeType) -> types.CodeType:
    """What has taken the place of `before` in the edited code of a decorator."""
    named = [one for one in decorator.co_consts if isinstance(one, types.CodeType) and one.co_name == before.co_name]
    if len(named) != 1 or _frame(named[0]) != _frame(before):
        raise Refusal(f"the edit would change the arguments of {before.co_name} or what it closes over")
    return named[0]


class Editor(ast.NodeTransformer):
    """Applies an edit to every node of a tree and counts how often it matched.

    Args:
        edit: takes a node and returns None where it is not the pattern, else a node or a list of statements to put
            in its place.
    """

    def __init__(self, edit: Callable[[ast.AST], Any]) -> None:
        self.edit = edit
        self.matches = 0

    def visit(self, node: ast.AST) -> Any:
        """Edit one node, and what is below it."""
        new = self.edit(node)
        if new is None:
            return self.generic_visit(node)
        self.matches += 1
        if new == []:
            new = [ast.Pass()]
        for one in new if isinstance(new, list) else [new]:
            # What is new stands, for tracebacks, on the line of what it replaces.
            ast.copy_location(one, node)
        return new


def statements(text: str, at: ast.AST) -> list[ast.stmt]:
    """Statements of ours for an edit to put in, from text; for tracebacks all of them stand where `at` does."""
    written = source.parse(text).body
    for statement in written:
        for node in ast.walk(statement):
            ast.copy_location(node, at)
    return written


def _frame(code: types.CodeType) -> tuple[Any, ...]:
    arguments = code.co_argcount + code.co_kwonlyargcount
    return code.co_freevars, code.co_flags & 0x0F, code.co_varnames[:arguments]


def _compiled(tree: ast.Module, like: types.CodeType, qualname: str) -> types.CodeType:
    """Compile as `like` was compiled, and take the one function out. Nothing is executed."""
    features = (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
    flags = sum(flag for flag in features if flag & like.co_flags)
    code: types.CodeType = compile(tree, like.co_filename, "exec", flags=flags, dont_inherit=True)
    for part in qualname.split("."):
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType) and const.co_name == part]
        if not inner:
            raise Refusal(f"{qualname} cannot be compiled on its own")
        code = inner[-1]
    return code


# ---------------------------------------------------------------------------------------------------------------------
# Below: looking at objects.


def _unwrapped_descriptor(raw: Any) -> Any:
    return raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw


def _function_inside(raw: Any) -> Optional[types.FunctionType]:
    """The innermost plain function: below staticmethod, classmethod, property and decorators that keep __wrapped__."""
    inner = _layers(raw)[-1]
    return inner if isinstance(inner, types.FunctionType) else None


def _layers(raw: Any) -> list[Any]:
    """What decorators that keep __wrapped__ have put around a function, outermost first, and last the function."""
    layers = [_unwrapped_descriptor(raw.fget if isinstance(raw, property) else raw)]
    while "__wrapped__" in getattr(layers[-1], "__dict__", {}):
        inner = layers[-1].__wrapped__
        layers.append(inner)
        if any(one is inner for one in layers[:-1]):
            break
    return layers


def _decorator_of(target: Target) -> types.FunctionType:
    name, qualname = target.edited_name()
    module = sys.modules.get(name)
    function = resolve(module, qualname).function if module else None
    if function is None:
        raise Refusal(f"{target.decorator} is not a Python function that was imported")
    return function


def _made_by(decorator: types.FunctionType, site: Site) -> types.FunctionType:
    """The function that a decorator has put around what stands at a site."""
    inner = [const for const in first_code(decorator).co_consts if isinstance(const, types.CodeType)]
    for layer in _layers(site.raw):
        if isinstance(layer, types.FunctionType) and first_code(layer) in inner:
            return layer
    raise Refusal(f"{decorator.__qualname__} has put nothing around {site.name}")


def _shape(function: types.FunctionType) -> list[tuple[str, Any, bool]]:
    """Names, kinds and presence of defaults: what decides whether a call fits."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    return [(one.name, one.kind, one.default is not one.empty) for one in parameters]


def _takes_anything(function: types.FunctionType) -> bool:
    kinds = {kind for _, kind, _ in _shape(function)}
    return {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds


def _global_names(code: types.CodeType) -> set[str]:
    names = {str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _global_names(const)
    return names


def _rebind(old: Any, new: Any) -> None:
    """Put `new` where `old` is held by name: in modules, in their classes, and in dictionaries and lists of both.

    Only what the containers really hold is looked at, below their own methods: transformers has dictionaries that
    import every model when their items are asked for, and torch has objects that warn when an attribute is.
    """
    for namespace in _namespaces():
        _rebind_in(namespace, old, new)
        for value in list(namespace.values()):
            if issubclass(type(value), type) and value.__module__ == namespace.get("__name__"):
                for name, held in list(vars(value).items()):
                    if held is old:
                        setattr(value, name, new)
                    else:
                        _rebind_in(held, old, new)
            elif value is not namespace:
                _rebind_in(value, old, new)


def _rebind_in(container: Any, old: Any, new: Any) -> None:
    if issubclass(type(container), dict):
        for key, held in list(dict.items(container)):
            if held is old:
                dict.__setitem__(container, key, new)
    elif type(container) is list:
        for index, held in enumerate(container):
            if held is old:
                container[index] = new


def _namespaces() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        # Not getattr and not vars() of lazy modules: looking at them imports what they stand for.
        namespace = getattr(module, "__dict__", None) if type(module) is types.ModuleType else None
        if namespace is not None:
            yield namespace


def _unreachable(original: Any) -> int:
    """How many closures, partials and bound methods hold the original besides our own wrapper."""
    kinds = (types.CellType, types.MethodType, partial)
    return sum(isinstance(holder, kinds) for holder in gc.get_referrers(original)) - 1
