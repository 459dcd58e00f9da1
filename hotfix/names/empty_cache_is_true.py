"""``if past_key_values:`` in a ``prepare_inputs_for_generation`` of one's own takes an empty cache for a full one.

Symptom   Silent: other text. The model sees the last token of the prompt alone; or, with ``inputs_embeds``, no
          embeddings.
Cause     ``generate()`` makes the layers of its cache from the configuration, before there are any tokens, and a cache
          with layers is true. Up to 4.55.4 it got them with the first token, and was false until then.
Releases  4.56.0 to 4.57.6, and 5.1.0 to 5.23.0
Upstream  not repaired (5.24.0 passes the cache by another name)
Here      A method that was not written in transformers, and asks whether ``past_key_values`` is true, or how long it
          is, and slices something, is called with a cache without layers as long as there are no tokens in it. It gets
          its layers back behind the call. A method is left alone if it asks for the number of tokens, fills the cache,
          or reads which tokens are new (``cache_position``): it is right, and may take a cache that is false for none.
"""

from __future__ import annotations

import ast
import inspect
from functools import wraps
from typing import Any, Callable, Optional

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.names import overrides, restarts
from hotfix.names.cache_names import all_within, calls_update, cuts, is_loaded, mentions, parameters_of, tests_truth
from hotfix.patching import compiling, scope

FIX = Fix(
    title="A prepare_inputs_for_generation of your own cuts the prompt to one token: the empty cache is true",
    kind="silent",
    exempt={
        f"transformers.models.{name}.generation_{name}:*._prepare_cache_for_generation": "nobody has older code for it"
        for name in ("diffusion_gemma", "vibevoice")
    },
    everyone="only methods of the program's that test an empty cache and slice; they get what 4.55.4 gave them",
)

_NAME, _CACHE = "prepare_inputs_for_generation", "past_key_values"
_LENGTHS = {"get_seq_length", "get_usable_length", "seen_tokens", "_seen_tokens"}
_NEW_TOKENS = ("cache_position", "next_sequence_length", "is_first_iteration")


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin.generate", ">=4.56.0,<=5.23.0,!=5.0.0"),
    fingerprint_of=("GenerationMixin._prepare_cache_for_generation",),
)
def with_an_empty_cache(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate with a method that is called with a cache without layers, as long as it has no tokens."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or not takes_it_for_full(self):
            return original(self, *args, **kwargs)
        with restarts.changed(self, **{_NAME: without_layers}):
            return original(self, *args, **kwargs)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


@FIX.recognises
def is_broken(function: ast.AST) -> bool:
    """Whether a cache is made from the configuration for everybody, and not only where a kind of cache is set."""
    calls = (ast.Assign, ast.IfExp)
    always = [node for node in _without_kinds(function) if isinstance(node, calls) and _makes_one(node)]
    text = ast.unparse(function)
    return bool(always) and "'config'" in text and "model_kwargs['cache']" not in text


def _without_kinds(node: ast.AST) -> list[ast.AST]:
    """The nodes within a function, but those below a test whether a kind of cache is set to "dynamic…"."""
    nodes = [node]
    for inner in ast.iter_child_nodes(node):
        if not (isinstance(inner, ast.If) and "'dynamic' in " in ast.unparse(inner.test)):
            nodes += _without_kinds(inner)
    return nodes


def _makes_one(node: Any) -> bool:
    made = node.value if isinstance(node, ast.Assign) else node.body
    return ast.unparse(made) == "DynamicCache(**dynamic_cache_kwargs)"


def takes_it_for_full(model: Any) -> bool:
    """Whether a model's own method, or that of its class below a wrapper, would take an empty cache for a full one.

    Args:
        model: the model.
    """
    methods = (getattr(model, _NAME, None), getattr(type(model), _NAME, None))
    return any(callable(method) and _is_older(overrides.below_wrappers(method)) for method in methods)


def _is_older(method: Any) -> bool:
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and not overrides.is_of_the_library(method) and _reads_truth(code)


@weakly
def _reads_truth(code: Any) -> bool:
    asks = _CACHE in parameters_of(code) and tests_truth(_CACHE, code) and cuts(code)
    return asks and not _knows_the_new_tokens(code)


def _knows_the_new_tokens(code: Any) -> bool:
    fills = calls_update(_CACHE, code)
    is_told = any(is_loaded(name, code) or mentions(code, name) for name in _NEW_TOKENS)
    return fills or is_told or any(_LENGTHS & {*inner.co_names} for inner in all_within(code))


def without_layers(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is called with a cache without layers, as long as there are no tokens in it.

    Args:
        method: a method of a model, or a function in its place.
    """

    @wraps(method)
    def prepare(*args: Any, **kwargs: Any) -> Any:
        cache = _empty(kwargs.get(_CACHE))
        if cache is None:
            return method(*args, **kwargs)
        layers, cache.layers = cache.layers, []
        try:
            return method(*args, **kwargs)
        finally:
            cache.layers = cache.layers or layers

    return prepare


def _empty(cache: Any) -> Optional[Any]:
    """The dynamic cache of the decoder, if it has layers and no tokens."""
    cache = getattr(cache, "self_attention_cache", cache)
    if type(cache).__name__ != "DynamicCache" or not scope.was_written_in("transformers", type(cache)):
        return None
    layers = cache.layers
    return cache if layers and all(getattr(layer, "keys", None) is None for layer in layers) else None
