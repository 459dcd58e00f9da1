"""The additional special tokens of a tokenizer that 4.x has saved are not special in 5.x.

Symptom   Silent. ``all_special_tokens`` and ``all_special_ids`` lack the ``additional_special_tokens`` of
          ``tokenizer_config.json``; masks of special tokens and stop tokens are wrong.
Cause     4.47 to 4.57 also write ``"extra_special_tokens": {}``, and the release drops the list if that key exists,
          empty or not.
Releases  5.1.0 to 5.17.0
Upstream  fixed in 5.18.0
Here      The list replaces an empty key. Equal to 5.18.0. If both keys list tokens, nothing changes, nor for a class of
          your own whose ``__init__`` reads the newer key: it may expect a dictionary, as 4.x wrote it.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.loading._constructors import words
from hotfix.patching import scope

FIX = Fix(
    title="Special tokens of a tokenizer that 4.x has saved are not special tokens in 5.x",
    kind="silent",
    fixed_in="5.18.0",
    everyone="only where the newer key is empty, and no custom constructor reads it: the new code tests it",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained", ">=5.1.0,<=5.17.0"),
    old="""
        if "additional_special_tokens" in init_kwargs:
            init_kwargs.setdefault("extra_special_tokens", init_kwargs.pop("additional_special_tokens"))
        """,
    new=f"""
        if "additional_special_tokens" in init_kwargs:
            if not init_kwargs.get("extra_special_tokens") and "extra_special_tokens" not in kwargs:
                import {__name__} as _own
                if not _own.is_read_by(cls):
                    init_kwargs.pop("extra_special_tokens", None)
            init_kwargs.setdefault("extra_special_tokens", init_kwargs.pop("additional_special_tokens"))
        """,
)


def is_read_by(cls: type) -> bool:
    """Whether the constructor of a class outside of the library, or a function that it calls, names the newer key."""
    own = [kind for kind in cls.__mro__ if not scope.was_written_in("transformers", kind)]
    return any("extra_special_tokens" in words(kind) for kind in own)
