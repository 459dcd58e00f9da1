"""``WhisperProcessor`` refuses a fast tokenizer.

Symptom   ``TypeError: Received a WhisperTokenizerFast for argument tokenizer, but a WhisperTokenizer was expected.``, a
          ValueError in the first releases; also for a subclass of the fast class, such as the one that vLLM makes.
Cause     The processor names the slow class alone, and the fast one does not inherit from it.
Releases  4.36.0 to 4.53.3
Upstream  vllm#19538 (first fixed in 4.54.0)
Here      After the error, the processor is made with both classes allowed, as in 4.54.0. Other tokenizers are refused
          as before. A subclass that names its own class of tokenizers, and a program that handles the error, stay as
          they are.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any, Callable

from hotfix.fix import Fix

_REFUSED = "Received a {} for argument tokenizer, but a WhisperTokenizer was expected."
_NAMED, _ANY = _REFUSED.format("…WhisperTokenizerFast"), _REFUSED.format("…")  # a subclass may have any name

FIX = Fix(
    title="WhisperProcessor: Received a WhisperTokenizerFast, but a WhisperTokenizer was expected",
    kind="crash",
    upstream=("vllm#19538",),
    fixed_in="4.54.0",
    errors=(f"TypeError: {_NAMED}", f"ValueError: {_NAMED}"),
    on_error=(f"TypeError: {_ANY}", f"ValueError: {_ANY}"),
    prefilter="WhisperTokenizer",
)

_SLOW, _FAST = "WhisperTokenizer", "WhisperTokenizerFast"


@FIX.wraps(
    ("transformers.models.whisper.processing_whisper:WhisperProcessor.__init__", ">=4.36.0,<=4.53.3"),
    fingerprint_of=("WhisperProcessor",),
)
def with_both_classes(original: Callable[..., Any]) -> Callable[..., Any]:
    """While it is made, the processor names both classes itself; what it saves later is as before."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        tokenizer = kwargs.get("tokenizer", args[1] if len(args) > 1 else None)
        fast = getattr(import_module("transformers"), _FAST)
        if not isinstance(tokenizer, fast) or self.tokenizer_class != _SLOW:
            return original(self, *args, **kwargs)
        self.tokenizer_class = (_SLOW, _FAST)
        try:
            return original(self, *args, **kwargs)
        finally:
            del self.tokenizer_class

    return __init__


@FIX.recognises
def names_the_slow_class(definition: ast.AST) -> bool:
    """The class of the processor names one class of tokenizers."""
    if not isinstance(definition, ast.ClassDef) or definition.name != "WhisperProcessor":
        return False
    return any(ast.unparse(statement) == f"tokenizer_class = '{_SLOW}'" for statement in definition.body)
