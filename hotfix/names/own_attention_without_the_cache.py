"""An attention or a layer of one's own gets no cache in ``generate()``.

Symptom   Silent if its ``forward`` has ``**kwargs``, which takes in the cache: from the second token on it sees the
          last token alone, and the model writes nonsense. Without ``**kwargs``: ``TypeError: MyAttention.forward() got
          an unexpected keyword argument 'past_key_values'``. Methods that compress the cache, and other attentions
          that replace the library's.
Cause     4.56.0 passes ``past_key_values`` where layers had ``past_key_value``, and 5.24.0 passes ``cache``. The
          library's own layers still take the old name (``past_key_value`` to 4.57); nothing translates the new one
          for code that was written before.
Releases  4.56.0 and later
Upstream  adapters#824; not repaired
Here      From the first ``generate()`` with a cache on, such a part of a model gets the cache by the name that it
          knows. That is so if its ``forward`` was not written in transformers, has no word of the release's name, and
          uses the older one itself; one that passes ``**kwargs`` on, and the older name beside them, is left alone. A
          layer of the library within one of the program's takes the older name as well. A strict ``forward`` is left
          alone if the program handles the TypeError. By the code alone nobody can tell whether an attention wants the
          cache of ``generate()`` or has one of its own.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import wraps
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, NamedTuple, Optional
from weakref import WeakSet

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.names import cache_names, overrides
from hotfix.names.cache_names import mentions

_NEWER = "the model is newer than code with the older names"

FIX = Fix(
    title="An attention or a layer of your own gets no cache, and generate() writes nonsense",
    kind="silent",
    upstream=("adapters#824",),
    optin="an attention may have a cache of its own, and read the argument for another purpose",
    errors=(
        "TypeError: …forward() got an unexpected keyword argument 'past_key_values'",
        "TypeError: …forward() got an unexpected keyword argument 'cache'",
    ),
    prefilter="_prepare_cache_for_generation",
    exempt={
        "transformers.models.diffusion_gemma.generation_diffusion_gemma:"
        "DiffusionGemmaGenerationMixin._prepare_cache_for_generation": _NEWER,
        "transformers.models.vibevoice.generation_vibevoice:VibeVoiceGenerationMixin._prepare_cache_for_generation": (
            _NEWER
        ),
    },
)

OLDER = {
    "past_key_values": ("past_key_value",),
    "cache": ("past_key_values", "cache_params", "past_key_value"),
}
"""By the name that a release passes: the names that it passed before, the latest first."""


# `generate()` calls it before the first step.
@FIX.wraps(("transformers.generation.utils:GenerationMixin._prepare_cache_for_generation", ">=4.56.0,<=5.24.0"))
def for_older_parts(original: Callable[..., Any]) -> Callable[..., Any]:
    """Find the parts of the model that know the cache by an older name, and translate for them."""

    @wraps(original)
    def prepare(self: Any, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):  # an object of the program's may refuse to be looked at, or to be changed
            needs_it = generation_config.use_cache and generation_config.max_new_tokens != 1
            parts = [part for part in parts_without_the_cache(self) if needs_it or part.is_strict]
            if not any(part.is_strict for part in parts) or overrides.would_end(TypeError):
                translate(parts)
        return original(self, generation_config, *args, **kwargs)

    return prepare


class Part(NamedTuple):
    """A module, or a model, with a ``forward`` of the program's that knows the cache by an older name."""

    module: Any
    keeper: Any
    """The module or the class that has ``forward``."""
    holder: Any
    """Where ``forward`` is kept: the class, the module, or the cell of a wrapper."""
    attribute: str
    old: str
    new: str
    is_strict: bool
    """Whether ``forward`` refuses unknown arguments."""
    passes_it_on: bool
    """Whether it has the older name in a call, perhaps of a layer of the library's."""


def parts_without_the_cache(model: Any) -> Iterator[Part]:
    """The parts of a model that the library gives a cache by a name that they do not know.

    Args:
        model: the model that generates; its own ``forward`` gets what ``prepare_inputs_for_generation`` returns.
    """
    new, module_class = name_here(), sys.modules["torch"].nn.Module
    for module in module_class.modules(model) if isinstance(model, module_class) else ():
        for keeper, holder, attribute in places(module) if module is not model else ():
            function = own_function(getattr(holder, attribute))
            old = None if function is None else older_name_used(function.__code__, new)
            if function is not None and old is not None:
                is_strict, passes_it_on = not overrides.takes(function, new), mentions(function.__code__, old)
                yield Part(module, keeper, holder, attribute, old, new, is_strict, passes_it_on)


def name_here() -> str:
    """The name by which this release passes a cache to a layer."""
    mixin = sys.modules["transformers.generation.utils"].GenerationMixin
    prepare = overrides.below_wrappers(mixin.prepare_inputs_for_generation)
    return "cache" if "cache" in cache_names.parameters_of(prepare.__code__) else "past_key_values"


def places(module: Any) -> Iterator[tuple[Any, Any, str]]:
    """Where a module's ``forward`` is kept: in the module itself, in its class, or in both.

    Yields:
        The module or the class; and an object and its attribute, which is a cell within the class from 5.24 on.
    """
    for attribute in ("forward", "_old_forward"):  # accelerate keeps the second one, and calls it
        kept = vars(module).get(attribute)
        # A function that pickle finds by its name has to stay what it is.
        if isinstance(kept, MethodType) or (isinstance(kept, FunctionType) and "<locals>" in kept.__qualname__):
            yield module, module, attribute
    owner = next(cls for cls in type(module).__mro__ if "forward" in vars(cls))
    yield from ((owner, *place) for place in place_in(owner))


def place_in(owner: type) -> Iterator[tuple[Any, str]]:
    """Where a class keeps its ``forward``, as an object and its attribute."""
    holder: Any = owner
    attribute, function = "forward", vars(owner)["forward"]
    # 5.24 calls the `forward` of a layer from a wrapper of its own, which has to stay in the class.
    while getattr(function, "__globals__", {}).get("__name__") == "transformers.modeling_layers" and (
        function.__code__.co_name == "forward_with_checkpointing"
    ):
        holder = function.__closure__[function.__code__.co_freevars.index("forward")]
        attribute, function = "cell_contents", holder.cell_contents
    if isinstance(function, FunctionType):
        yield holder, attribute


def own_function(forward: Any) -> Any:
    """The function below the wrappers of a ``forward``; None if it was written in transformers."""
    function = overrides.below_wrappers(getattr(forward, "__func__", forward))
    return function if isinstance(function, FunctionType) and not overrides.is_of_the_library(function) else None


@weakly
def older_name_used(code: CodeType, new: str) -> Optional[str]:
    """The older name of the cache that a function uses itself; None if the cache may reach its goal in ``**kwargs``."""
    old = cache_names.older_name(code, OLDER[new], new)
    if old is None or not code.co_flags & inspect.CO_VARKEYWORDS:
        return old
    fills, passes_it = cache_names.calls_update(old, code), mentions(code, old)
    others = code.co_varnames[len(cache_names.parameters_of(code)) + bool(code.co_flags & inspect.CO_VARARGS)]
    if not cache_names.is_loaded(others, code):
        return old if fills or passes_it else None
    passes_both = passes_it and cache_names.passes_keywords_on(code)
    replaces = cache_names.is_stored(old, code)  # perhaps by what is in `**kwargs`
    return None if "super" in code.co_names or passes_both or replaces or not fills else old


def translate(parts: Iterable[Part]) -> None:
    """Give the parts the cache by the name that they know.

    Args:
        parts: the parts. Layers of the library within them take the older name as well.
    """
    for part in parts:
        wrap(part.keeper, part.holder, part.attribute, part.new, part.old, part.is_strict)
        for module in part.module.modules() if part.passes_it_on else ():
            for keeper, holder, attribute in places(module):
                if is_of_the_library(getattr(holder, attribute), part):
                    wrap(keeper, holder, attribute, part.old, part.new)


def is_of_the_library(forward: Any, part: Part) -> bool:
    """Whether a ``forward`` of the library takes a cache by the new name only."""
    function = getattr(forward, "__func__", forward)
    code = getattr(overrides.below_wrappers(function), "__code__", None)
    if code is None or part.new not in cache_names.parameters_of(code):
        return False
    while overrides.is_of_the_library(function):
        # the library's own wrapper for an older name
        if any(part.old == cell.cell_contents for cell in function.__closure__ or ()):
            return False
        if not hasattr(function, "__wrapped__"):
            return True
        function = function.__wrapped__
    return False


_wrappers: WeakSet[Any] = WeakSet()
_keepers: WeakSet[Any] = WeakSet()


def is_ours(function: Any) -> bool:
    """Whether a function, or one that it wraps, is a wrapper of this fix."""
    while function not in _wrappers and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function in _wrappers


def wrap(keeper: Any, holder: Any, attribute: str, given: str, wanted: str, always: bool = False) -> None:
    """Pass an argument of a ``forward`` on by another name.

    Args:
        keeper: the module or the class that has ``forward``.
        holder: where ``forward`` is kept.
        attribute: by which name.
        given: the name by which the argument comes.
        wanted: the name that ``forward`` knows.
        always: whether None is renamed, too.
    """
    forward = getattr(holder, attribute)
    function = getattr(forward, "__func__", forward)
    if is_ours(function):
        return
    index = cache_names.parameters_of(overrides.below_wrappers(function).__code__).index(wanted)

    kinds = sys.modules["transformers.cache_utils"].Cache

    @wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        is_free = len(args) <= index and kwargs.get(wanted) is None
        if is_free and given in kwargs and (isinstance(kwargs[given], kinds) or (always and kwargs[given] is None)):
            kwargs[wanted] = kwargs.pop(given)
        return function(*args, **kwargs)

    _wrappers.add(renamed)
    setattr(holder, attribute, MethodType(renamed, forward.__self__) if function is not forward else renamed)
    _keepers.add(keeper)


def put_back(holder: Any, attribute: str) -> None:
    """Put the original back in the place of a wrapper of this fix; nothing, if it is none.

    Args:
        holder: where it is kept.
        attribute: by which name.
    """
    forward = holder.cell_contents if attribute == "cell_contents" else vars(holder).get(attribute)
    function = getattr(forward, "__func__", forward)
    if isinstance(function, FunctionType) and function in _wrappers:
        original = function.__wrapped__  # type: ignore[attr-defined]  # `wraps` has set it
        setattr(holder, attribute, MethodType(original, forward.__self__) if function is not forward else original)


@FIX.cleans_up
def restore() -> None:
    """Put back each ``forward`` that is still where it was replaced."""
    for keeper in list(_keepers):
        ways = (
            place_in(keeper) if isinstance(keeper, type) else ((keeper, name) for name in ("forward", "_old_forward"))
        )
        for holder, attribute in ways:
            put_back(holder, attribute)
    _keepers.clear()


@FIX.recognises
def is_of_4_56_or_later(function: ast.AST) -> bool:
    """The names are those of the layers. In this module, the same release gives a cache the model's configuration."""
    return "dynamic_cache_kwargs" in ast.unparse(function)
