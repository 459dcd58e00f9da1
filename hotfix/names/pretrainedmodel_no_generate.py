"""Models outside of transformers have lost ``generate``.

Symptom   ``AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'``: InternVL, moondream, Tag2Text,
          XTTS, tortoise, IndexTTS and others. Models that ``AutoModel`` loads are not affected; inner models and
          classes of your own are.
Cause     ``PreTrainedModel`` does not inherit from ``GenerationMixin`` any more. When an instance of a class is made
          that would need it, because it has a ``prepare_inputs_for_generation``, a warning says so.
Releases  4.52.1 and later
Upstream  InternVL#1068, ms-swift#4324, ms-swift#7019 and 14 more (not put back)
Here      Code that would fail without it gets ``generate`` of such a model, if the class has a
          ``prepare_inputs_for_generation`` that was not written in transformers. With the first call the class inherits
          from ``GenerationMixin``, as in 4.51.3, and a model without settings gets the ``GenerationConfig`` of its
          checkpoint, or one from its configuration. From 5.0.0 on, where such models have no ``generation_config``, the
          same holds for that. Until then the class stays as it is. A model that was written for tuples gets None for a
          cache (see `tuple-model-given-a-cache`), which it would take for one with the prompt, and in 5.x what
          `v5-older-prepare-inputs` describes. With the opt-in, such a class gets
          ``GenerationMixin`` at its first instance, and ``can_generate()`` is true, for programs that ask before they
          generate. Without hotfix, the bases are what they were. A class without a ``prepare_inputs_for_generation``
          has the general one for code that would crash without it, as PEFT does for causal language models.
"""

from __future__ import annotations

import ast
import os
import sys
import weakref
from collections.abc import Iterator
from functools import cache, wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.names import tuple_model_given_a_cache as of_tuples
from hotfix.names import v5_older_prepare_inputs as of_older
from hotfix.patching import restoring, scope

FIX = Fix(
    title="AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'",
    kind="removed-api",
    upstream=("InternVL#1068", "ms-swift#4324", "ms-swift#7019"),
    group="removed-names",
    errors=(
        "AttributeError: '…ForCausalLM' object has no attribute 'generate'",
        "AttributeError: '…InferenceModel' object has no attribute 'generate'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'generate'",
        "AttributeError: '…LMHeadModel' object has no attribute 'generate'",
        "AttributeError: '…' object has no attribute 'prepare_inputs_for_generation'",
    ),
    everyone="only classes that define the old hooks of generate() and have lost it: the new code tests it",
)

MODEL = "transformers.modeling_utils:PreTrainedModel"

FIX.edits(
    (f"{MODEL}.can_generate", ">=4.52.1"),
    old="""
        if hasattr(cls, "prepare_inputs_for_generation"):
            logger.warning(__MESSAGE)
    """,
    new=f"""
        if hasattr(cls, "prepare_inputs_for_generation"):
            from {__name__} import now_inherits
            if now_inherits(cls):
                return True
            logger.warning(__MESSAGE)
    """,
    optin="it gives classes another base, and models that run without generate() a GenerationConfig",
)


@FIX.wraps((f"{MODEL}.__init__", ">=4.52.1"), fingerprint_of=("PreTrainedModel.can_generate",))
def beside_the_constructor(original: Callable[..., None]) -> Callable[..., None]:
    """Give a class of transformers that lost it the general method, when a model of it is built."""
    base = getattr(sys.modules.get(original.__module__), "PreTrainedModel", None)
    if base is not None and "__init_subclass__" not in vars(base):
        _give(base, *_names())

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        kind = type(self)
        is_of_the_library = base is not None and scope.was_written_in("transformers", kind)
        if is_of_the_library and not _inherits(kind) and not any(_PREPARE in vars(each) for each in kind.__mro__):
            _give(kind, _PREPARE)
        original(self, *args, **kwargs)

    return initialise


@FIX.wraps(
    (f"{MODEL}.__init_subclass__", ">=4.54.0"),
    fingerprint_of=("PreTrainedModel.__init_subclass__", "PreTrainedModel.can_generate"),
)
def beside_new_classes(original: Callable[..., None]) -> Callable[..., None]:
    """Give `PreTrainedModel` the names, for the first class of the program's own that may need them."""
    base = getattr(sys.modules.get(original.__module__), "PreTrainedModel", None)
    for kind in _all_below(base):
        _look_at(kind, base)

    @wraps(original)
    def of_subclass(cls: Any, **kwargs: Any) -> None:
        original(cls, **kwargs)
        _look_at(cls, base)

    return of_subclass


def _look_at(kind: type, base: Any) -> None:
    if base is not None and not scope.was_written_in("transformers", kind) and not _inherits(kind):
        _give(base, *_names())


def _all_below(kind: Any) -> Iterator[type]:
    for each in kind.__subclasses__() if kind is not None else ():
        yield each
        yield from _all_below(each)


def _inherits(kind: type) -> bool:
    return any(each.__name__ == "GenerationMixin" for each in kind.__mro__)


_PREPARE = "prepare_inputs_for_generation"
_GIVEN: dict[type, tuple[str, ...]] = {}
"""The names that classes have been given. In `PreTrainedModel` they hide those of `GenerationMixin` from a search of
``__mro__``, so it has them only in programs with a class of their own that does not inherit from that."""


def _give(owner: type, *names: str) -> None:
    # No additions: in earlier releases the class inherits them, and its own source lacks them there, too.
    if owner in _GIVEN:
        return
    _GIVEN[owner] = names
    for name in names:
        restored = restoring.Restored(name, _names()[name], target=f"{MODEL}.{name}", fix=FIX.id)
        restoring.put_in_class(owner, name, restored)


def _names() -> dict[str, Any]:
    """What the class gets, by name."""
    return {"generate": generate, "generation_config": Settings(), "prepare_inputs_for_generation": prepared}


def prepared(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The inputs of a step, of a model whose class has no method for them: what every model had.

    Args:
        self: the model.
        args: passed on.
        kwargs: passed on.
    """
    from transformers.generation import GenerationMixin

    return GenerationMixin.prepare_inputs_for_generation(self, *args, **kwargs)


def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Generate with a model whose class has lost the method; the class inherits it from now on.

    Args:
        self: the model.
        args: passed on.
        kwargs: passed on.

    Raises:
        AttributeError: no release has the method for such a class.
    """
    from transformers.generation import GenerationMixin

    if isinstance(self, GenerationMixin) and not isinstance(self, _inherited()):  # called as a function of its own
        return GenerationMixin.generate(self, *args, **kwargs)
    if not (_is_foreign(type(self)) and inherit(type(self))):
        raise restoring.missing(self, type(self), "generate")
    return _inherited().generate(self, *args, **kwargs)


class Settings:
    """The ``generation_config`` of a model of a class that has lost ``generate``."""

    def __get__(self, model: Any, owner: Optional[type] = None) -> Any:
        """The settings, which the model has from now on.

        Raises:
            AttributeError: no release has them for such a class.
        """
        if model is None or not (_is_foreign(type(model)) and inherit(type(model))):
            raise restoring.missing(model, owner or type(model), "generation_config")
        model.generation_config = _configuration_for(model)
        return model.generation_config


@FIX.recognises
def only_warns(*definitions: ast.AST) -> bool:
    """A ``can_generate`` that only warns about a class with a ``prepare_inputs_for_generation``."""
    function = definitions[-1]
    if not isinstance(function, ast.FunctionDef) or function.name != "can_generate":
        return False
    asks = "hasattr(cls, 'prepare_inputs_for_generation')"
    branches = (node for node in ast.walk(function) if isinstance(node, ast.If) and ast.unparse(node.test) == asks)
    return any("return" not in ast.unparse(branch) for branch in branches)


def now_inherits(cls: Any) -> bool:
    """Give a class what it had, unless it is one of transformers. Returns whether it has it now."""
    return _is_foreign(cls) and inherit(cls)


_CHANGED: weakref.WeakSet[type] = weakref.WeakSet()


def _is_foreign(cls: type) -> bool:
    """Whether a class has a ``prepare_inputs_for_generation`` that was not written in transformers."""
    method = getattr(cls, "prepare_inputs_for_generation", None)
    return method is not None and not scope.was_written_in("transformers", method)


@cache
def _inherited() -> Any:
    """The base of a class that has received ``generate``: its models may have been built without settings."""
    from transformers.generation import GenerationMixin

    class RestoredGenerationMixin(GenerationMixin):  # type: ignore[misc]
        """`GenerationMixin`, for models that were built before their class inherited from it."""

        def generate(self, *args: Any, **kwargs: Any) -> Any:
            if vars(self).get("generation_config") is None:
                self.generation_config = _configuration_for(self)
            with of_tuples.without_a_cache(self), of_older.from_the_outset(self, kwargs):
                return super().generate(*args, **kwargs)

    return RestoredGenerationMixin


def inherit(cls: Any) -> bool:
    """Have a class inherit ``generate``. Returns whether it does."""
    return issubclass(cls, _inherited()) or _give_base(cls, _inherited())


def _give_base(cls: type, base: type) -> bool:
    """Give a class one more base, the last one. Returns whether it has it."""
    try:
        cls.__bases__ = (*cls.__bases__, base)
    except TypeError:  # no order of the bases agrees with it
        return False
    _CHANGED.add(cls)
    return True


def _configuration_for(model: Any) -> Any:
    """The `GenerationConfig` that a model would have got if its class had inherited before."""
    from transformers.generation import GenerationConfig

    path, revision = model.config.name_or_path, getattr(model.config, "_commit_hash", None)
    if revision or os.path.isdir(path):  # a model inside of another one was not loaded by the name in its configuration
        try:
            return GenerationConfig.from_pretrained(path, revision=revision or "main")
        except Exception:  # no such file, or no network
            pass
    try:
        return GenerationConfig.from_model_config(model.config)
    except NotImplementedError:  # so does the library
        return GenerationConfig()


@FIX.cleans_up
def restore() -> None:
    """Take it from the classes again."""
    from transformers.generation import GenerationMixin

    for cls in list(_CHANGED):
        cls.__bases__ = tuple(base for base in cls.__bases__ if base not in (GenerationMixin, _inherited()))
    _CHANGED.clear()
    for owner, names in _GIVEN.items():
        for name in names:
            restoring.take_from_class(owner, name)
            restoring.forget(f"{MODEL}.{name}")
    _GIVEN.clear()
