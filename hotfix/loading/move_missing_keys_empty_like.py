"""Buffers that a custom model computes in its constructor are uninitialized after from_pretrained.

Symptom   Silent. After ``from_pretrained``, a model of remote code or of a class of your own has rotary frequencies (or
          other buffers with ``persistent=False``) of 1e-45, NaN or other uninitialized memory; logits are NaN or subtly
          wrong. So has a model of the library in which a module of your own was put in place of one of its own.
Cause     Models are built on the meta device, where nothing is computed. Buffers that no checkpoint has are allocated
          afterwards, and get values only from ``_init_weights``, as in the library's own models.
Releases  5.0.0 and later
Upstream  transformers#45902, transformers#48892, transformers#48932, unsloth#4112; not changed: custom models should
          set such buffers in ``_init_weights``
Here      Such buffers are marked before ``_init_weights`` runs. If it leaves a mark as it is, nothing has set this
          buffer: the model is built once more, with its weights on the meta device and everything else as in 4.57, and
          the buffer gets the value from there. Left alone are buffers that ``_init_weights`` sets, models without such
          buffers, the library's own modules, those of timm, FSDP, and a model that cannot be built in this way, whose
          constructor gets more than plain data in addition to the configuration, since it may change that, too, or in
          which a constructor writes to a global or to a class, or passes the module on, as to a registry.
"""

from __future__ import annotations

import ast
import copy
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Callable
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.loading._constructors import leave_traces
from hotfix.pattern import occurs

RELEASES = ">=5.0.0,<=5.24.0"
MODEL = "transformers.modeling_utils:PreTrainedModel"
MARK = 0xA7
"""The value of each byte of a buffer that waits for ``_init_weights``."""

FIX = Fix(
    title="Non-persistent buffers of custom models are random memory after from_pretrained",
    kind="silent",
    upstream=("transformers#45902", "transformers#48892", "transformers#48932", "unsloth#4112"),
    everyone="only buffers of custom models and modules to which nothing has given a value",
    prefilter="is_deepspeed_zero3_enabled",
)

_ALLOCATES = "PreTrainedModel._move_missing_keys_from_meta_to_device"
_BUILDS = "model = cls(config, *model_args, **model_kwargs)"

FIX.edits(
    (f"{MODEL}.from_pretrained", RELEASES),
    old=_BUILDS,
    new=f"""
        from {__name__} import Recipe
        _hotfix_recipe = Recipe.of(cls, config, model_args, model_kwargs)
        {_BUILDS}
        if _hotfix_recipe is not None:
            _hotfix_recipe.has_made(model)
        """,
    fingerprint_of=("PreTrainedModel.from_pretrained", _ALLOCATES),
)


@FIX.wraps((f"{MODEL}._move_missing_keys_from_meta_to_device", RELEASES))
def marks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the buffers that get memory here."""

    def _move_missing_keys_from_meta_to_device(self: Any, *args: Any, **kwargs: Any) -> Any:
        recipe = _recipes.get(self)
        if recipe is None:
            return original(self, *args, **kwargs)
        without_memory = {name for name, buffer in self.named_buffers() if buffer.is_meta}
        result = original(self, *args, **kwargs)
        without_memory.intersection_update(names_of_buffers(self))
        recipe.marked = [_Marked(name, buffer) for name, buffer in self.named_buffers() if name in without_memory]
        return result

    return _move_missing_keys_from_meta_to_device


@FIX.wraps(
    (f"{MODEL}._initialize_missing_keys", RELEASES),
    fingerprint_of=(
        "PreTrainedModel._initialize_missing_keys",
        "PreTrainedModel._move_missing_keys_from_meta_to_device",
    ),
)
def fills(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give the buffers that are still marked their values."""

    def _initialize_missing_keys(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        recipe = _recipes.pop(self, None)
        if recipe is not None:
            recipe.fill(self)
        return result

    return _initialize_missing_keys


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether it builds models on the meta device, or leaves their buffers uninitialized."""
    return any(occurs("value = torch.empty_like(buffer, device=buffer_device)", function) for function in functions)


@dataclass
class Recipe:
    """How a custom model was built.

    Attributes:
        cls: its class.
        config: its configuration, as it was before.
        args: further arguments of the class.
        kwargs: further arguments by name.
        dtype: the default dtype meanwhile.
        marked: its buffers that wait for a value.
    """

    cls: type
    config: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dtype: Any = None
    marked: list[_Marked] = field(default_factory=list)

    @classmethod
    def of(cls, kind: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The recipe of a model that is about to be built; None if it is left alone."""
        if import_module("transformers.modeling_utils").is_fsdp_enabled() or not _is_plain([*args, *kwargs.values()]):
            return None
        if is_of_the_library(kind):  # its constructor changes nothing, and few of these models have such modules
            return cls(kind, config, args, kwargs)
        try:
            return cls(kind, *copy.deepcopy((config, args, kwargs)))
        except Exception:  # what cannot be copied is left alone
            return None

    def has_made(self, model: Any) -> None:
        """Remember it, if the model has buffers without memory."""
        import torch

        names = names_of_buffers(model)
        if any(buffer.is_meta for name, buffer in model.named_buffers() if name in names):
            self.dtype = torch.get_default_dtype()
            try:
                self.config = copy.deepcopy(self.config) if is_of_the_library(self.cls) else self.config
            except Exception as _hotfix_error:  # a module of the program's has put something into it
                return
            _recipes[model] = self

    def fill(self, model: Any) -> None:
        """Give the buffers of a model that have no value the one that its constructor computes."""
        import torch

        present = dict(model.named_buffers())
        waiting = [marked for marked in self.marked if marked.is_in(present) and marked.is_unchanged()]
        if not waiting:
            return
        for marked in waiting:
            marked.restore()
        if leave_traces(model.modules()):
            return
        try:
            with _random_numbers_kept(), _weights_without_memory(self.dtype):
                computed = dict(self.cls(self.config, *self.args, **self.kwargs).named_buffers())
        except (
            Exception
        ) as _hotfix_error:  # of this name: a handler of the program would keep names from its constructor
            return
        with torch.no_grad():
            for marked in waiting:
                value = computed.get(marked.name)
                if value is not None and not value.is_meta and value.shape == marked.buffer.shape:
                    marked.buffer.copy_(value)


_recipes: WeakKeyDictionary[Any, Recipe] = WeakKeyDictionary()
"""The models that are being loaded."""


class _Marked:
    """A buffer with the same byte in all of its memory.

    Args:
        name: its path in the model.
        buffer: the buffer. One without contiguous memory of its own is not marked.
    """

    def __init__(self, name: str, buffer: Any) -> None:
        import torch

        self.name, self.buffer = name, buffer
        self.bytes = self.before = None
        if type(buffer) is torch.Tensor and buffer.numel() and buffer.is_contiguous() and not buffer.is_meta:
            self.bytes = buffer.detach().reshape(-1).view(torch.uint8)
            self.before = self.bytes.clone()
            self.bytes.fill_(MARK)

    def is_in(self, present: dict[str, Any]) -> bool:
        """Whether a model still has this buffer."""
        return present.get(self.name) is self.buffer

    def is_unchanged(self) -> bool:
        """Whether all of its memory is as it was marked."""
        return self.bytes is not None and bool((self.bytes == MARK).all())

    def restore(self) -> None:
        """Put back what the memory held."""
        if self.bytes is not None:
            self.bytes.copy_(self.before)


def names_of_buffers(model: Any) -> set[str]:
    """The buffers of a custom model; in a model of the library, those of modules of the program's."""
    if not is_of_the_library(type(model)):
        return {name for name, _ in model.named_buffers()}
    own = [
        (path, part) for path, part in model.named_modules() if type(part).__module__.partition(".")[0] not in _KNOWN
    ]
    return {f"{path}.{name}" for path, part in own for name, _ in part.named_buffers(recurse=False)}


_KNOWN = ("timm", "torch", "transformers")
"""Packages whose modules the library initializes."""


def is_of_the_library(kind: type) -> bool:
    """Whether a class is one of the library's own."""
    return kind.__module__.partition(".")[0] == "transformers"


def _is_plain(value: Any) -> bool:
    """Whether a value is plain data, of which a copy is as good."""
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, str, bytes, torch.dtype, torch.device))


class _Building(threading.local):
    """Whether this thread builds a model for the values of its buffers."""

    depth = 0


_building = _Building()
_builders: list[int] = []  # a thread for each such model
_changing = threading.Lock()
_replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, the function before, and ours


@contextmanager
def _weights_without_memory(dtype: Any) -> Iterator[None]:
    """In this thread, parameters are on the meta device in here, buffers are not, and nothing is initialized.

    Args:
        dtype: the default dtype.
    """
    import torch

    before = torch.get_default_dtype()
    with _changing:
        if not _builders:
            _replace()
        _builders.append(threading.get_ident())
    _building.depth += 1
    if dtype != before:
        torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        if dtype != before:
            torch.set_default_dtype(before)
        _building.depth -= 1
        with _changing:
            _builders.remove(threading.get_ident())
            if not _builders:
                _put_back()


def _replace() -> None:
    """Replace what registers a parameter, and what initializes a model, by functions that differ for builders alone."""
    import torch

    module: Any = torch.nn.Module
    model: Any = import_module("transformers.modeling_utils").PreTrainedModel
    registers, initializes = module.register_parameter, model.init_weights

    def register_parameter(self: Any, name: str, parameter: Any) -> None:
        registers(self, name, parameter)
        if parameter is not None and not parameter.is_meta and _building.depth:
            self._parameters[name] = torch.nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)

    def init_weights(self: Any) -> None:
        if not _building.depth:
            initializes(self)

    _replaced[:] = (
        (module, "register_parameter", registers, register_parameter),
        (model, "init_weights", initializes, init_weights),
    )
    for owner, name, _, ours in _replaced:
        setattr(owner, name, ours)


def _put_back() -> None:
    for owner, name, before, ours in _replaced:
        if vars(owner).get(name) is ours:  # otherwise somebody else has replaced ours, which does nothing from now on
            setattr(owner, name, before)
    _replaced.clear()


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    """What draws random numbers in here takes none from the program."""
    import torch

    numpy: Any = sys.modules.get("numpy")
    states = random.getstate(), numpy and numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=()):
            yield
    finally:
        random.setstate(states[0])
        if numpy:
            numpy.random.set_state(states[1])
