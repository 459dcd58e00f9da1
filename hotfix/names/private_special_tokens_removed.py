"""The special tokens of a tokenizer are no longer private attributes.

Symptom   ``AttributeError: PreTrainedTokenizerFast has no attribute _pad_token`` from code that asks whether a
          tokenizer has a token, without the warning of the public attribute.
Cause     The tokens moved into one dictionary.
Releases  4.47.0 and later
Upstream  h2ogpt#1917 (not put back)
Here      Each gives what is stored: None, the string, or the `AddedToken`; the additional ones are the list itself. To
          assign to one has its effect if it was read from the same tokenizer before; otherwise it sets an attribute, as
          in these releases. An attribute of the program's comes first.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

from hotfix.fix import Fix

TOKENS = [f"_{kind}_token" for kind in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
SEVERAL = "_additional_special_tokens"

FIX = Fix(
    title="AttributeError: PreTrainedTokenizerFast has no attribute _pad_token",
    kind="removed-api",
    upstream=("h2ogpt#1917",),
    group="removed-names",
    errors=tuple(
        f"AttributeError: {owner} has no attribute {name}"
        for name in (*TOKENS, SEVERAL)
        for owner, name in (("…", name), ("'…' object", f"'{name}'"))
    ),
)

_read: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # a tokenizer may have no hash


class _Token(property):
    """A property to which a program can assign once it has read it."""

    takes_assignments = True


def _property(name: str) -> Callable[[Any], property]:
    """What makes the property: the module is not needed."""

    def stored(self: Any) -> Any:
        _read[id(self)] = self
        if name == SEVERAL and "_extra_special_tokens" in self.__dict__:  # since 5.0.0
            return self.__dict__["_extra_special_tokens"]
        tokens = self.__dict__.get("_special_tokens_map")
        if tokens is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        return tokens[name[1:]]

    def store(self: Any, value: Any) -> None:
        if _read.get(id(self)) is not self:
            self.__dict__[name] = value
        elif name == SEVERAL and "_extra_special_tokens" in self.__dict__:
            self.__dict__["_extra_special_tokens"] = value
        else:
            self.__dict__["_special_tokens_map"][name[1:]] = value

    return lambda module: _Token(stored, store)


_BASE = "transformers.tokenization_utils_base"
for _name in (*TOKENS, SEVERAL):
    FIX.adds_made(
        (f"{_BASE}:SpecialTokensMixin.{_name}", ">=4.47.0,<=4.57.6"),
        (f"{_BASE}:PreTrainedTokenizerBase.{_name}", ">=5.0.0"),
        of_instances=True,
    )(_property(_name))
