"""Calls have arguments that this release does not know yet, and that it can do without.

Symptom   ``TypeError: …_batch_encode_plus() got an unexpected keyword argument 'padding_side'``, ``…pad() got an
          unexpected keyword argument 'padding_side'``; ``TypeError: DefaultDataCollator.__init__() got an unexpected
          keyword argument 'return_flash_attn_kwargs'``.
Cause     The arguments are those of later releases.
Releases  tokenizers before 4.45.0, the data collator from 4.44.0 to 4.51.3
Upstream  the arguments are new
Here      After the error, the call is repeated. A tokenizer pads at the given side, in this call alone; the collator
          leaves out what is False. A tokenizer that is not fast ignores ``padding_side`` in a call, as in the release.
"""

from __future__ import annotations

import ast
from functools import wraps
from typing import Any, Callable

from hotfix.fix import Fix

_CALL = "TypeError: …_batch_encode_plus() got an unexpected keyword argument 'padding_side'"
_PAD = "TypeError: …pad() got an unexpected keyword argument 'padding_side'"
_FLATTENING = ("return_flash_attn_kwargs", "return_seq_idx")
_COLLATOR = tuple(f"TypeError: …__init__() got an unexpected keyword argument '{name}'" for name in _FLATTENING)

FIX = Fix(
    title="TypeError: _batch_encode_plus() got an unexpected keyword argument 'padding_side'",
    kind="removed-api",
    fixed_in="4.52.1",
    group="removed-names",
    errors=(_CALL, _PAD, *_COLLATOR),
)

_BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"


@FIX.wraps((f"{_BASE}.__call__", "<4.45.0"), (f"{_BASE}.pad", "<4.45.0"), on_error=(_CALL, _PAD))
def at_a_side(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call that gives the side at which it pads."""

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "padding_side" in kwargs:
            side = kwargs.pop("padding_side")
            if side is not None:
                shared = vars(self)
                self = object.__new__(type(self))  # other threads pad as before
                vars(self).update(shared, padding_side=side)
        return original(self, *args, **kwargs)

    return call


@FIX.wraps(
    ("transformers.data.data_collator:DataCollatorWithFlattening.__init__", ">=4.44.0,<4.52.0"), on_error=_COLLATOR
)
def without_more_results(original: Callable[..., Any]) -> Callable[..., Any]:
    """A collator that returns neither."""

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if not any(kwargs.get(name) for name in _FLATTENING):
            for name in _FLATTENING:
                kwargs.pop(name, None)
        original(self, *args, **kwargs)

    return init


@FIX.recognises
def lacks_the_argument(function: ast.AST) -> bool:
    """One of the functions, from before it had the argument."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    if function.name == "__call__":
        others = {"boxes", "images", "src_lang"}  # of processors and other tokenizers
        return "text_pair_target" in names and not names & {"padding_side", *others}
    if function.name == "pad":
        return "encoded_inputs" in names and not names & {"padding_side", "max_entity_length"}
    return function.name == "__init__" and "return_position_ids" in names and "return_flash_attn_kwargs" not in names
