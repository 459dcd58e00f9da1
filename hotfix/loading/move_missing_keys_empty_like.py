"""Buffers and new weights of a custom model are uninitialized after from_pretrained.

Symptom   Silent. After ``from_pretrained``, a model of remote code or of a class of your own has weights that the file
          lacks (query tokens, gates, the norms of a new head) and that are random memory: 1e-45, NaN, or zeros. Under
          5.x so are rotary frequencies and other buffers with ``persistent=False``; logits are NaN or subtly wrong. So
          has a model of the library in which a module of your own was put in place of one of its own.
Cause     Models are built on the meta device, where nothing is computed. What no checkpoint has is allocated
          afterwards, and gets values only from ``_init_weights``, which knows the library's own layers.
Releases  4.51.0 and later for weights, 5.0.0 and later for buffers
Upstream  transformers#42418, transformers#45902, transformers#48892, transformers#48932, unsloth#4112; not changed:
          custom models should set them in ``_init_weights``
Here      They are marked before ``_init_weights`` runs. Where it leaves a mark as it is, nothing has set this tensor:
          the model is built once more, with the other weights on the meta device, and the tensor gets the value that
          its constructor computes. Left alone are tensors that ``_init_weights`` sets, models without such tensors, the
          library's own modules, those of timm, FSDP, and a model that cannot be built in this way, whose constructor
          gets more than plain data in addition to the configuration, since it may change that, too, or in which a
          constructor writes to a global or to a class, or passes the module on, as to a registry. Weights are also left
          alone where a constructor is not seen to do nothing but build, and very large ones.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Callable, NamedTuple
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.loading._built_again import Kind, built_again
from hotfix.loading._constructors import leave_traces
from hotfix.loading._only_builds import only_builds
from hotfix.patching import scope
from hotfix.pattern import occurs

ALL = ">=4.51.0,<=5.24.0"
MODEL = "transformers.modeling_utils:PreTrainedModel"
MARK = 0xA7
"""The value of each byte of a tensor that waits for ``_init_weights``."""
LARGE = 2**27
"""With more elements than this, weights that are made alike are not computed."""
ALLOCATES = (
    (f"{MODEL}._move_missing_keys_from_meta_to_cpu", ">=4.51.0,<=4.57.6"),
    (f"{MODEL}._move_missing_keys_from_meta_to_device", ">=5.0.0,<=5.24.0"),
)
INITIALIZES = f"{MODEL}._initialize_missing_keys"

FIX = Fix(
    title="Buffers and new weights of custom models are random memory after from_pretrained",
    kind="silent",
    upstream=("transformers#42418", "transformers#45902", "transformers#48892", "transformers#48932", "unsloth#4112"),
    everyone="only tensors of custom models and modules to which nothing has given a value",
    prefilter="is_quantized",
)

_BUILDS = "model = cls(config, *model_args, **model_kwargs)"
_LOADS = "_load_parameter_into_model"  # releases with this function build every model on the meta device
FIX.edits(
    (f"{MODEL}.from_pretrained", ALL),
    old=_BUILDS,
    new=f"""
        from {__name__} import Recipe
        _hotfix_recipe = Recipe.of(cls, config, model_args, model_kwargs)
        {_BUILDS}
        if _hotfix_recipe is not None:
            _hotfix_recipe.has_made(model)
        """,
    fingerprint_of=("PreTrainedModel.from_pretrained", _LOADS),
)


@FIX.wraps(*ALLOCATES)
def marks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the tensors that get memory here."""

    def _move_missing_keys(self: Any, *args: Any, **kwargs: Any) -> Any:
        recipe = _recipes.get(self)
        if recipe is None:
            return original(self, *args, **kwargs)
        before = {held.name: held.tensor for held in tensors_of(self)}
        result = original(self, *args, **kwargs)
        recipe.mark(tensors_of(self), before)
        return result

    _move_missing_keys.__name__ = original.__name__
    return _move_missing_keys


@FIX.wraps((INITIALIZES, ALL), fingerprint_of=("PreTrainedModel._initialize_missing_keys", _LOADS))
def fills(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give the tensors that are still marked their values."""

    def _initialize_missing_keys(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        recipe = _recipes.pop(self, None)
        if recipe is not None:
            recipe.fill(self)
        return result

    return _initialize_missing_keys


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether it allocates memory for what no checkpoint has, or hands it to the function that puts it into a model."""
    return any(
        function.name == _LOADS
        or occurs("value = torch.empty_like(buffer, device=buffer_device)", function)
        or occurs('value = torch.empty_like(param, dtype=dtype, device="cpu")', function)
        for function in functions
    )


@dataclass
class Recipe:
    """How a custom model was built.

    Attributes:
        cls: its class.
        config: its configuration, as it was before.
        args: further arguments of the class.
        kwargs: further arguments by name.
        dtype: the default dtype meanwhile.
        marked: its tensors that wait for a value.
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
        """Remember it, if the model has tensors that may get new memory."""
        import torch

        if any(True for _ in tensors_of(model)):
            self.dtype = torch.get_default_dtype()
            try:
                self.config = copy.deepcopy(self.config) if is_of_the_library(self.cls) else self.config
            except Exception as _hotfix_error:  # a module of the program's has put something into it
                return
            _recipes[model] = self

    def mark(self, tensors: Iterable[Held], before: Mapping[str, Any]) -> None:
        """Mark the new tensors of a model, but for those of which there are too many.

        Args:
            tensors: what it has now.
            before: what it had until memory was allocated, by name.
        """
        kinds: dict[Kind, list[Held]] = {}
        for held in tensors:
            kinds.setdefault(held.kind, []).append(held)
        for alike in kinds.values():
            new = [held for held in alike if before.get(held.name) is not held.tensor]
            if new and sum(held.tensor.numel() for held in alike) <= LARGE:
                self.marked += map(_Marked, new)

    def fill(self, model: Any) -> None:
        """Give the tensors of a model that have no value the one that its constructor computes."""
        present = {held.name: held.tensor for held in tensors_of(model)}
        waiting = [marked for marked in self.marked if marked.is_in(present) and marked.is_unchanged()]
        for marked in waiting:
            marked.restore()
        try:
            values = self._computed(model, [marked.held for marked in waiting])
        except (
            Exception
        ) as _hotfix_error:  # of this name: a handler of the program would keep names from its constructor
            return
        for marked in waiting:
            marked.fill(values.get(marked.held.name))

    def _computed(self, model: Any, waiting: list[Held]) -> dict[str, Any]:
        """The tensors of the model that is built once more."""
        wanted = {held.kind for held in waiting if held.is_weight}
        if not waiting or leave_traces(model.modules()):
            return {}
        if wanted and not _only_builds(model):
            wanted.clear()
        if not wanted and all(held.is_weight for held in waiting):
            return {}
        with built_again(self.dtype, wanted):
            computed = self.cls(self.config, *self.args, **self.kwargs)
        return {held.name: held.tensor for held in tensors_of(computed)}


_recipes: WeakKeyDictionary[Any, Recipe] = WeakKeyDictionary()
"""The models that are being loaded."""


class Held(NamedTuple):
    """A parameter or a buffer of a model.

    Attributes:
        name: its path in the model.
        tensor: itself.
        kind: the class of its module, its name there, and its shape.
        is_weight: whether it is a parameter.
    """

    name: str
    tensor: Any
    kind: Kind
    is_weight: bool


class _Marked:
    """A tensor with the same byte in all of its memory. One without contiguous memory of its own is not marked."""

    def __init__(self, held: Held) -> None:
        import torch

        self.held = held
        self.bytes = self.before = None
        is_plain = type(held.tensor) in (torch.Tensor, torch.nn.Parameter) and type(held.tensor.data) is torch.Tensor
        if not is_plain or held.tensor.is_meta or not held.tensor.numel():
            return
        try:
            memory = held.tensor.detach().view(-1).view(torch.uint8)
        except RuntimeError:  # no such view: sparse, quantized, not contiguous
            return
        self.bytes, self.before = memory, memory.clone() if memory.any() else None
        self.bytes.fill_(MARK)

    def is_in(self, present: dict[str, Any]) -> bool:
        """Whether a model still has this tensor."""
        return present.get(self.held.name) is self.held.tensor

    def is_unchanged(self) -> bool:
        """Whether all of its memory is as it was marked."""
        return self.bytes is not None and bool((self.bytes == MARK).all())

    def restore(self) -> None:
        """Put back what the memory held."""
        if self.bytes is not None and self.before is None:
            self.bytes.zero_()
        elif self.bytes is not None:
            self.bytes.copy_(self.before)

    def fill(self, value: Any) -> None:
        """Take a value, if there is one of this shape."""
        import torch

        if value is not None and not value.is_meta and value.shape == self.held.tensor.shape:
            with torch.no_grad():
                self.held.tensor.copy_(value)


def tensors_of(model: Any) -> Iterator[Held]:
    """The tensors of a custom model; in one of the library, the buffers of the program's modules and all their weights.

    A model may have methods of its own that list them: these are not asked.
    """
    import torch

    own = "" if not is_of_the_library(type(model)) else None  # path of the program's module that this one is part of
    for path, part in torch.nn.Module.named_modules(model):
        is_own = type(part).__module__.partition(".")[0] not in _KNOWN
        if is_own and (own is None or not path.startswith(own)):
            own = f"{path}."
        is_inside = own is not None and f"{path}.".startswith(own)
        tensors = [*part._parameters.items()] if is_inside else []
        tensors += part._buffers.items() if is_own or own == "" else ()
        for name, tensor in tensors:
            if tensor is not None and not torch.nn.parameter.is_lazy(tensor):
                kind = (type(part), name, tuple(tensor.shape))
                yield Held(f"{path}.{name}".lstrip("."), tensor, kind, name in part._parameters)


_KNOWN = ("timm", "torch", "transformers")
"""Packages whose modules the library initializes."""


def is_of_the_library(kind: type) -> bool:
    """Whether a class is one of the library's own."""
    return scope.was_written_in("transformers", kind)


def _only_builds(model: Any) -> bool:
    return only_builds({base for part in model.modules() for base in type(part).__mro__})


def _is_plain(value: Any) -> bool:
    """Whether a value is plain data, of which a copy is as good."""
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, str, bytes, torch.dtype, torch.device))
