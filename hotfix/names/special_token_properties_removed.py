"""The special tokens of a tokenizer are no longer properties of its class.

Symptom   ``AttributeError: 'super' object has no attribute 'pad_token'`` from a tokenizer with a property of that name;
          ``AttributeError: 'SpanMarkerTokenizer' object has no attribute 'pad_token_id'`` from a wrapper that calls
          ``__getattribute__``. In ESM3 and ESM C, ``mask_token`` and others are None: their tokenizers have a protocol
          among their bases, and its empty properties hide the tokens.
Cause     The properties were replaced by ``__getattr__``, which Python asks last, and never for ``super()``.
Releases  4.47.0 and later
Upstream  SpanMarkerNER#70, esm#285, GENzyme#2 (not put back)
Here      A property for each, with the answer of the release's own ``__getattr__``. A class further down in the method
          resolution order answers first, as in these releases, unless it is a protocol whose property gives None. A
          tokenizer with a ``__getattr__`` of its own is left alone.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, cast

from hotfix.fix import Fix
from hotfix.patching import compiling, restoring, scope

TOKENS = [f"{kind}_token{end}" for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask") for end in ("", "_id")]

FIX = Fix(
    title="AttributeError: 'super' object has no attribute 'pad_token'",
    kind="removed-api",
    upstream=("SpanMarkerNER#70", "esm#285", "GENzyme#2"),
    group="removed-names",
    errors=(
        *(f"AttributeError: 'super' object has no attribute '{name}'" for name in TOKENS),
        *(f"AttributeError: 'SpanMarkerTokenizer' object has no attribute '{name}'" for name in TOKENS),
    ),
)

_PAST_THE_HOOK = frozenset(("super", "__getattribute__"))
"""The names in code that may ask past ``__getattr__``."""


class Token(restoring.Restored):
    """A property that gives what the ``__getattr__`` of the library gives."""

    def __init__(self, name: str, anchor: type) -> None:
        super().__init__(name, property(lambda tokenizer: cast(Any, anchor).__getattr__(tokenizer, name)))
        self.__set_name__(anchor, name)
        self._foreign: weakref.WeakKeyDictionary[type, tuple[type, ...]] = weakref.WeakKeyDictionary()

    def __get__(self, instance: Any, owner: type) -> Any:
        anchor: Any = self.anchor
        frame = None if compiling.is_compiling() else sys._getframe(1)
        if instance is None:
            return self.answer(None, owner, frame)
        for kind in self._later(owner):
            if self.name in vars(kind):  # the release has no class with it: whatever is there is the program's
                value = getattr(super(anchor, instance), self.name)
                if value is not None or not getattr(kind, "_is_protocol", False):
                    return value
        hook: Any = getattr(owner, "__getattr__", None)
        if hook is not anchor.__getattr__:
            raise restoring.missing(instance, owner, self.name)  # Python then calls the `__getattr__` of the class
        words = _PAST_THE_HOOK.intersection(frame.f_code.co_names) if frame is not None else ()
        if frame is not None and words and not _is_known(frame.f_globals.get("__name__")):
            by_method = "__getattribute__" in words and not scope.is_handled(FIX.id, AttributeError, frame)
            if not (by_method or restoring.would_end(AttributeError, frame, self.name)):
                if "super" in words:
                    raise AttributeError(f"'super' object has no attribute {self.name!r}")
                raise restoring.missing(instance, owner, self.name)
            self.give(frame)
        return hook(instance, self.name)

    def _later(self, owner: type) -> tuple[type, ...]:
        """The classes after the library's in the method resolution order of a tokenizer's class."""
        if owner not in self._foreign:
            later = owner.__mro__[owner.__mro__.index(self.anchor or object) + 1 : -1]
            self._foreign[owner] = tuple(later)
        return self._foreign[owner]


def _is_known(module: object) -> bool:
    """Whether a module is the library's or hotfix's own."""
    return str(module).startswith(("transformers.", "hotfix."))


def _property(name: str) -> Callable[[Any], Token]:
    return lambda module: Token(name, module.PreTrainedTokenizerBase)


for _name in TOKENS:
    FIX.adds_made((f"transformers.tokenization_utils_base:PreTrainedTokenizerBase.{_name}", ">=4.47.0"))(
        _property(_name)
    )
