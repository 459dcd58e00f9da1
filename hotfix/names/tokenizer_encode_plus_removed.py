"""Tokenizers no longer have ``encode_plus`` and ``batch_encode_plus``.

Symptom   ``AttributeError: BertTokenizer has no attribute batch_encode_plus`` from OpenCompass, pyterrier,
          neural-cherche and much code that was written before tokenizers could be called.
Cause     The methods were removed; calling the tokenizer does what they did.
Releases  5.0.0 and later
Upstream  opencompass#2635 (not put back)
Here      The call, of one text or of a batch. A list of words is one text with ``is_split_into_words=True``, as before;
          a batch is a list of texts, or of pairs of texts. Inputs that the call would interpret in another way raise an
          error with an explanation: a list of tokens, a string as a batch, texts mixed with pairs, pairs of lists of
          words. ``pad_to_max_length=True`` pads, as in 4.51.3; calling the tokenizer of 5.x ignores it.
          ``build_inputs_with_special_tokens`` is not restored: its result depended on the class.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.refusing import Gone

FIX = Fix(
    title="AttributeError: BertTokenizer has no attribute batch_encode_plus",
    kind="removed-api",
    upstream=("opencompass#2635",),
    group="removed-names",
    errors=(
        "AttributeError: …Tokenizer… has no attribute batch_encode_plus",
        "AttributeError: …Tokenizer… has no attribute encode_plus",
    ),
)

LACKING = ">=5.0.0"
BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"
POSITIONS = (
    "add_special_tokens",
    "padding",
    "truncation",
    "max_length",
    "stride",
    "is_split_into_words",
    "pad_to_multiple_of",
    "padding_side",
    "return_tensors",
    "return_token_type_ids",
    "return_attention_mask",
    "return_overflowing_tokens",
    "return_special_tokens_mask",
    "return_offsets_mapping",
    "return_length",
    "verbose",
)


@FIX.adds((f"{BASE}.encode_plus", LACKING))
def encode_plus(self: Any, text: Any, text_pair: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Encode one text, or one pair.

    Args:
        self: the tokenizer.
        text: a string; a list of words, with ``is_split_into_words=True``; or, for tokenizers in Python, ids.
        text_pair: the same.
        args: positional arguments, in the order of 4.57.6.
        kwargs: all arguments of the tokenizer.
    """
    how = _padded(_named(args, kwargs))
    for item in (text, text_pair):
        words = how.get("is_split_into_words") and _is_words(item)
        if isinstance(item, (list, tuple)) and item and not isinstance(item[0], int) and not words:
            raise Gone(
                "The tokenizer would take this list for a batch, where encode_plus took it for the tokens of one text. "
                "Pass tokenizer.convert_tokens_to_ids(tokens) for tokens, is_split_into_words=True for words, or call "
                "the tokenizer for a batch."
            )
    return self(text, text_pair, **how)


@FIX.adds((f"{BASE}.batch_encode_plus", LACKING))
def batch_encode_plus(self: Any, batch_text_or_text_pairs: Any, *args: Any, **kwargs: Any) -> Any:
    """Encode a batch.

    Args:
        self: the tokenizer.
        batch_text_or_text_pairs: strings, or pairs of strings; lists of words, with ``is_split_into_words=True``.
        args: positional arguments, in the order of 4.57.6.
        kwargs: all arguments of the tokenizer.
    """
    how = {"split_special_tokens": False, **_padded(_named(args, kwargs))}
    batch = batch_text_or_text_pairs
    if isinstance(batch, (list, tuple)):
        if how.get("is_split_into_words"):
            if all(map(_is_words, batch)):
                return self(batch, **how)
        elif all(isinstance(item, str) for item in batch):
            return self(batch, **how)
        elif all(_is_words(item) and len(item) == 2 for item in batch):
            firsts, seconds = zip(*batch)
            return self(list(firsts), list(seconds), **how)
    raise Gone(
        "batch_encode_plus takes a list of strings, a list of pairs of strings, or, with is_split_into_words=True, a "
        "list of lists of words. Call the tokenizer itself for anything else."
    )


def _padded(how: dict[str, Any]) -> dict[str, Any]:
    """The arguments with ``padding`` in place of ``pad_to_max_length``, which a call of 5.x ignores."""
    if how.pop("pad_to_max_length", False) and how.get("padding", False) is False:
        has_length = how.get("max_length") is not None
        how["padding"] = "max_length" if has_length else "longest"
        if has_length and how.get("truncation") is None:
            how["truncation"] = "longest_first"
    return how


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    named = dict(zip(POSITIONS, args))
    if len(args) > len(POSITIONS) or named.keys() & kwargs.keys():
        raise TypeError(f"too many arguments, or one of them twice: {args}, {sorted(kwargs)}")
    return {**named, **kwargs}


def _is_words(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and all(isinstance(word, str) for word in item)
