"""The object of ``apply_chat_template`` answers for the token ids that it was in 4.x, where a program would end.

Symptom   ``AttributeError`` without a message, below ``KeyError: 'shape'``, from ``model.generate(input_ids)`` and
          ``input_ids.shape[-1]``, in the examples of model cards for Llama 3, Mistral and others:
          ``input_ids = tokenizer.apply_chat_template(messages, return_tensors="pt")``.
Cause     The default of ``return_dict`` was changed: the result is a ``BatchEncoding`` with the ids.
Releases  5.0.0 and later
Upstream  transformers#41626, transformers#42567 (by design)
Here      An object that the method of a tokenizer has returned, without ``return_dict``, answers for the attributes of
          its ids, and ``generate`` takes the ids from it, as 4.57.6 did; both only where the program would end. From
          then on length, index, loop and ``in`` are those of the ids, too; before, and for ``decode``, those of the
          object: ``v5-apply-chat-template-returns-dict``, if it is asked for, changes these from the outset. A call of
          the model, ``model(input_ids)``, and functions of torch raise as before.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from copyreg import __newobj__  # type: ignore[attr-defined]
from functools import cache, wraps
from typing import Any, Callable, Optional
from weakref import WeakValueDictionary

from hotfix.fix import Fix
from hotfix.patching import compiling, restoring, scope

FIX = Fix(
    title="AttributeError from generate() or .shape with the result of apply_chat_template",
    kind="removed-api",
    group="removed-names",
    upstream=("transformers#41626", "transformers#42567"),
    prefilter="def apply_chat_template",
    everyone="it remembers by weak references the objects that apply_chat_template has returned",
    errors=("KeyError: 'shape'",),
    exempt={
        "transformers.tokenization_mistral_common:MistralCommonBackend.apply_chat_template": (
            "not covered: the package mistral-common would be needed to prove it"
        ),
    },
)

BASE = "transformers.tokenization_utils_base"
_BEFORE = ("return_dict", "return_assistant_tokens_mask")

_returned: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by id


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """A dictionary is the default, of tokenizers; or a function that gets such a dictionary."""
    if function.name != "apply_chat_template":
        return False
    arguments = function.args
    defaults = dict(zip([argument.arg for argument in arguments.args][::-1], arguments.defaults[::-1]))
    default = defaults.get("return_dict")
    return isinstance(default, ast.Constant) and default.value is True


@FIX.wraps((f"{BASE}:PreTrainedTokenizerBase.apply_chat_template", ">=5.0.0"))
def remembering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the object, if the call does not ask for one."""

    @wraps(original)
    def apply_chat_template(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        is_asked_for = len(args) > 2 or any(name in kwargs for name in _BEFORE)
        if not is_asked_for and not compiling.is_compiling() and type(made).__name__ == "BatchEncoding":
            _returned[id(made)] = made
        return made

    return apply_chat_template


@FIX.wraps(
    (f"{BASE}:BatchEncoding.__getattr__", ">=5.0.0"), fingerprint_of=("PreTrainedTokenizerBase.apply_chat_template",)
)
def answering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Answer with an attribute of the ids for a name that the object lacks."""

    @wraps(original)
    def __getattr__(self: Any, item: str) -> Any:  # noqa: N807
        try:
            return original(self, item)
        except AttributeError:
            if item.startswith("_") or compiling.is_compiling() or not _is_of_ids(self):
                raise
            ids, frame = self.data["input_ids"], _outside(sys._getframe(1))
            if frame is None or not hasattr(ids, item) or not restoring.would_end(AttributeError, frame, item):
                raise
            restoring.note(f"{BASE}:BatchEncoding.{item}", FIX.id, frame)
        _becomes_ids(self)
        return getattr(ids, item)

    return __getattr__


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin.generate", ">=5.0.0"),
    fingerprint_of=(f"{BASE}:PreTrainedTokenizerBase.apply_chat_template",),
)
def taking_the_ids(original: Callable[..., Any]) -> Callable[..., Any]:
    """Generate from the ids, where the release has failed with the object."""

    @wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except AttributeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            given = args[:1] + tuple(kwargs[name] for name in ("inputs", "input_ids") if name in kwargs)
            if not any(map(_is_of_ids, given)) or _hotfix_error.args:
                raise
            if scope.is_handled(FIX.id, AttributeError, sys._getframe().f_back):
                raise
        kwargs.update({name: _ids(kwargs[name]) for name in ("inputs", "input_ids") if name in kwargs})
        return original(self, *map(_ids, args[:1]), *args[1:], **kwargs)

    # Programs that need gradients call `generate.__wrapped__`, the function below `torch.no_grad`.
    generate.__wrapped__ = getattr(original, "__wrapped__", original)
    return generate


@FIX.cleans_up
def forget() -> None:
    """Forget the objects."""
    _returned.clear()


def _is_of_ids(value: Any) -> bool:
    return _returned.get(id(value), _returned) is value


def _ids(value: Any) -> Any:
    if not _is_of_ids(value):
        return value
    _becomes_ids(value)
    return value.data["input_ids"]


def _becomes_ids(value: Any) -> None:
    """Give the object the length, the items and the loop of its ids; its keys and texts stay."""
    kind: Any = type(value)
    if kind.__name__ == "BatchEncoding":
        value.__class__ = _like_ids(kind)


@cache
def _like_ids(kind: Any) -> Any:
    class BatchEncodingLikeIds(kind):  # type: ignore[misc]
        """The result of ``apply_chat_template`` in a program that uses it as ids."""

        def __len__(self) -> int:
            return len(self.data["input_ids"])

        def __iter__(self) -> Iterator[Any]:
            return iter(self.data["input_ids"])

        def __contains__(self, item: Any) -> bool:
            return item in (self.data if isinstance(item, str) else self.data["input_ids"])

        def __getitem__(self, item: Any) -> Any:
            return super().__getitem__(item) if isinstance(item, str) else self.data["input_ids"][item]

        def __reduce__(self) -> Any:
            """Copy and pickle it as the object that it was."""
            return __newobj__, (kind,), self.__getstate__()

    return BatchEncodingLikeIds


def _outside(frame: Optional[types.FrameType]) -> Optional[types.FrameType]:
    """The frame that reads the attribute, if the library does not."""
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("hotfix."):
        if str(frame.f_globals.get("__name__")).startswith("hotfix.proofs."):
            break
        frame = frame.f_back
    is_own = frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] != "transformers"
    return frame if is_own else None
