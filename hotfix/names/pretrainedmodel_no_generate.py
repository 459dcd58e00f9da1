"""Models outside of transformers have lost ``generate``.

Symptom   ``AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'``: InternVL, moondream, Tag2Text,
          XTTS, tortoise, IndexTTS and others. Models that ``AutoModel`` loads are not affected; inner models and
          classes of your own are.
Cause     ``PreTrainedModel`` does not inherit from ``GenerationMixin`` any more. When an instance of a class is made
          that would need it, because it has a ``prepare_inputs_for_generation``, a warning says so.
Releases  4.52.1 and later
Upstream  InternVL#1068, ms-swift#4324, ms-swift#7019 and 14 more (not put back)
Here      This concerns only classes whose ``prepare_inputs_for_generation`` was not written in transformers. At their
          first instance they get a last base with ``generate`` and ``generation_config``, for code that would fail
          without them. Once a program has received one, ``GenerationMixin`` takes the place of that base, as in 4.51.3,
          and the models get the ``GenerationConfig`` of their checkpoint, or one from their configuration. With the
          opt-in, such a class gets ``GenerationMixin`` itself at its first instance, and ``can_generate()`` is true,
          for programs that ask before they generate. Without hotfix, the bases are what they were.
"""

from __future__ import annotations

import ast
import os
import types
import weakref
from functools import wraps
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import asked

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
    ),
)

MODEL = "transformers.modeling_utils:PreTrainedModel"
NAMES = (f"{MODEL}.generate", f"{MODEL}.generation_config")  # as reports call them

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
def initialised(original: Callable[..., None]) -> Callable[..., None]:
    """The class gets the base that has ``generate`` for code that would fail without it."""

    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        cls = type(self)
        if _lacks_generate(cls):
            _give_base(cls, Heir)
        if issubclass(cls, Heir):
            _MODELS.add(self)

    return initialise


@FIX.recognises
def only_warns(function: ast.AST) -> bool:
    """A ``can_generate`` that only warns about a class with a ``prepare_inputs_for_generation``."""
    if not isinstance(function, ast.FunctionDef) or function.name != "can_generate":
        return False
    asks = "hasattr(cls, 'prepare_inputs_for_generation')"
    branches = (node for node in ast.walk(function) if isinstance(node, ast.If) and ast.unparse(node.test) == asks)
    return any("return" not in ast.unparse(branch) for branch in branches)


def now_inherits(cls: Any) -> bool:
    """Give a class what it had, unless it is one of transformers. Returns whether it has it now."""
    if not _is_foreign(cls):
        return False
    from transformers.generation import GenerationMixin  # not before a model needs it

    return _give_base(cls, GenerationMixin)


class _Generate(asked.Restored):
    """The method for code that would fail without it; the first such code makes the class inherit it."""

    def answer(self, instance: Any, owner: type, frame: Optional[types.FrameType]) -> Any:
        """`GenerationMixin.generate`, as the class inherits it from now on.

        Raises:
            AttributeError: the program works without it, or `torch.compile` traces the code.
        """
        if frame is None:
            raise asked.missing(instance, owner, self.name)
        value = super().answer(instance, owner, frame)
        if self.target in asked.received():
            _inherit(owner)
        return value


class _Configured(_Generate):
    """The settings for ``generate()``, which 5.0.0 and later set only in models that inherit it."""

    def answer(self, instance: Any, owner: type, frame: Optional[types.FrameType]) -> Any:
        """The `GenerationConfig` of a model.

        Raises:
            AttributeError: the program works without it, or it is a class.
        """
        super().answer(instance, owner, frame)
        settings = None if instance is None else vars(instance).get(self.name)
        if settings is None:
            raise asked.missing(instance, owner, self.name)
        return settings


def _method() -> Any:
    from transformers.generation import GenerationMixin

    return GenerationMixin.generate


class Heir:
    """The last base of a class that can get ``generate``."""

    generate = _Generate("generate", find=_method, target=NAMES[0], fix=FIX.id)
    generation_config = _Configured("generation_config", find=_method, target=NAMES[1], fix=FIX.id)


_CHANGED: weakref.WeakSet[type] = weakref.WeakSet()
_MODELS: weakref.WeakSet[Any] = weakref.WeakSet()  # that were made while their class did not inherit


def _is_foreign(cls: type) -> bool:
    """Whether a class has a ``prepare_inputs_for_generation`` that was not written in transformers."""
    method = getattr(cls, "prepare_inputs_for_generation", None)
    return method is not None and not str(getattr(method, "__module__", "")).startswith("transformers.")


def _lacks_generate(cls: type) -> bool:
    """Whether a class has lost ``generate``."""
    if issubclass(cls, Heir) or not _is_foreign(cls):
        return False
    from transformers.generation import GenerationMixin

    return not issubclass(cls, GenerationMixin)


def _give_base(cls: type, base: type) -> bool:
    """Give a class one more base, the last one. Returns whether it has it."""
    try:
        cls.__bases__ = (*(kind for kind in cls.__bases__ if kind is not Heir), base)
    except TypeError:  # no order of the bases agrees with it
        return False
    _CHANGED.add(cls)
    return True


def _inherit(cls: type) -> None:
    """Exchange the base of a class, or of one that it is derived from, and configure the models that it has."""
    from transformers.generation import GenerationMixin

    for kind in cls.__mro__:
        if Heir in kind.__bases__:
            _give_base(kind, GenerationMixin)
    for model in list(_MODELS):
        if isinstance(model, GenerationMixin) and vars(model).get("generation_config") is None:
            model.generation_config = _configuration_for(model)
            _MODELS.discard(model)


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
        cls.__bases__ = tuple(base for base in cls.__bases__ if base not in (GenerationMixin, Heir))
    _CHANGED.clear()
    _MODELS.clear()
    for name in NAMES:
        asked.forget(name)
