"""Custom tokenizers that read their vocabulary after ``super().__init__()`` cannot be loaded.

Symptom   ``AttributeError: 'BaichuanTokenizer' object has no attribute 'sp_model'``, ``'ChatGLMTokenizer' object has no
          attribute 'tokenizer'``, later ``BaichuanTokenizer has no attribute sp_model``, from
          ``AutoTokenizer.from_pretrained(…, trust_remote_code=True)``.
Cause     Since 4.34 the base class reads the vocabulary in its own ``__init__``, to add missing special tokens.
          Older classes have no vocabulary yet.
Releases  4.36.0 to 4.57.6 (and since 4.34.0); 5.x, which asks in more places, is left alone
Upstream  Baichuan2#192, Langchain-Chatchat#1665, LLaMA-Factory#1102 and eight more (not repaired; the classes were)
Here      A class without a vocabulary gets its special tokens once it is complete, before ``from_pretrained`` returns
          it. Its ids are those of a class that reads its vocabulary first. Built without ``from_pretrained``, it fails
          as before.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar
from typing import Any, Callable

from hotfix import asking
from hotfix.fix import Fix

FIX = Fix(
    title="trust_remote_code tokenizers (Baichuan, ChatGLM): object has no attribute 'sp_model' or 'tokenizer'",
    kind="loading",
    upstream=("baichuan-inc/Baichuan2#192", "chatchat-space/Langchain-Chatchat#1665", "hiyouga/LlamaFactory#1102"),
    group="removed-names",
    everyone="only after the AttributeError, and where no class of the program's handles it: the new code tests it",
    errors=(
        "AttributeError: '…Tokenizer' object has no attribute 'sp_model'",
        "AttributeError: '…Tokenizer' object has no attribute 'tokenizer'",
        "AttributeError: '…Tokenizer' object has no attribute 'sp_tokenizer'",
        "AttributeError: …Tokenizer has no attribute sp_model",
        "AttributeError: …Tokenizer has no attribute tokenizer",
    ),
)

_TOKENS = "[token for token in self.all_special_tokens_extended if token not in self._added_tokens_encoder]"

FIX.edits(
    ("transformers.tokenization_utils:PreTrainedTokenizer.__init__", "<=4.57.6"),
    old=f"self._add_tokens({_TOKENS}, special_tokens=True)",
    new=f"""
        from {__name__} import add_now_or_later
        add_now_or_later(self, {_TOKENS})
        """,
)

# Tokenizers with postponed tokens; None while nothing is being loaded.
_waiting: ContextVar[Any] = ContextVar("_waiting", default=None)


def add_now_or_later(tokenizer: Any, tokens: list[Any]) -> None:
    """Add special tokens, or postpone it if the class is being loaded and has no vocabulary yet."""
    waiting = _waiting.get()
    try:
        tokenizer._add_tokens(tokens, special_tokens=True)
    except AttributeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        is_left = waiting is None or not _lacks(tokenizer, _hotfix_error)
        if is_left or asking.is_handled(AttributeError, sys._getframe(1)):
            raise
        waiting.append((tokenizer, tokens))


def _lacks(tokenizer: Any, error: AttributeError) -> bool:
    """Whether the error is about an attribute that this very object does not have."""
    parts = re.fullmatch(r"'?(\w+)'?(?: object)? has no attribute '?(\w+).*", str(error), re.S)
    return parts is not None and parts[1] == type(tokenizer).__name__ and parts[2] not in vars(tokenizer)


@FIX.accompanies("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained")
def completed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Add the postponed tokens once the tokenizer is complete."""

    def _from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        waiting: list[tuple[Any, list[Any]]] = []
        token = _waiting.set(waiting)
        try:
            made = original(cls, *args, **kwargs)
        finally:
            _waiting.reset(token)
        for tokenizer, tokens in waiting:
            tokenizer._add_tokens(tokens, special_tokens=True)
        return made

    return _from_pretrained
