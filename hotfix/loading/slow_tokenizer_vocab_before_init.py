"""Custom tokenizers that read their vocabulary after ``super().__init__()`` cannot be loaded.

Symptom   ``AttributeError: 'BaichuanTokenizer' object has no attribute 'sp_model'``, ``'ChatGLMTokenizer' object has no
          attribute 'tokenizer'``, later ``BaichuanTokenizer has no attribute sp_model``, from
          ``AutoTokenizer.from_pretrained(…, trust_remote_code=True)``.
Cause     Since 4.34 the base class adds special tokens that the vocabulary lacks, and asks for the vocabulary in its
          own ``__init__``. Classes from before that have none yet.
Releases  4.36.0 to 4.57.6 (and since 4.34.0); 5.x, which asks in more places, is left alone
Upstream  Baichuan2#192, Langchain-Chatchat#1665, LLaMA-Factory#1102 and eight more (not repaired; the classes were)
Here      A class that has no vocabulary yet gets its special tokens when it is complete, before ``from_pretrained``
          hands it over: the same ids as those of a class that reads its vocabulary first. Made by hand, without
          ``from_pretrained``, it fails as before.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar
from typing import Any, Callable

from hotfix import asking
from hotfix.fix import Fix

FIX = Fix(
    title="Custom tokenizers from before 4.34 do not load: they have no attribute 'sp_model', or 'tokenizer'",
    kind="loading",
    upstream=("baichuan-inc/Baichuan2#192", "chatchat-space/Langchain-Chatchat#1665", "hiyouga/LlamaFactory#1102"),
    group="removed-names",
    everyone="only after the AttributeError, and where no class of the program's handles it: the new code tests it",
    errors=(
        "AttributeError: '…Tokenizer' object has no attribute 'sp_model'",
        "AttributeError: '…Tokenizer' object has no attribute 'tokenizer'",
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

# The tokenizers that wait for their tokens; None where nothing is being loaded.
_waiting: ContextVar[Any] = ContextVar("_waiting", default=None)


def add_now_or_later(tokenizer: Any, tokens: list[Any]) -> None:
    """Add special tokens; where the class has no vocabulary yet, and is being loaded, when it is complete."""
    waiting = _waiting.get()
    try:
        tokenizer._add_tokens(tokens, special_tokens=True)
    except AttributeError as error:
        is_left = waiting is None or not _lacks(tokenizer, error)
        if is_left or asking.is_handled(AttributeError, sys._getframe(1)):
            raise
        waiting.append((tokenizer, tokens))


def _lacks(tokenizer: Any, error: AttributeError) -> bool:
    """Whether the error is about an attribute that this very object does not have."""
    said = re.fullmatch(r"'?(\w+)'?(?: object)? has no attribute '?(\w+).*", str(error), re.S)
    return said is not None and said[1] == type(tokenizer).__name__ and said[2] not in vars(tokenizer)


@FIX.accompanies("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained")
def completed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around what makes a tokenizer of files."""

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
