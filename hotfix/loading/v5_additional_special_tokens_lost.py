"""Special tokens without a name of their own are no special tokens any more when 5.x reads what 4.x has written.

Symptom   Silent. ``all_special_tokens`` and ``all_special_ids`` lack what ``tokenizer_config.json`` lists under
          ``additional_special_tokens``; what goes by them (masks of special tokens, stop tokens) is wrong.
Cause     4.47 to 4.57 write ``"extra_special_tokens": {}`` beside it, and the list is given up where that key is there,
          empty or not.
Releases  5.1.0 to 5.17.0
Upstream  fixed in 5.18.0
Here      An empty key gives way to the list. Equal to 5.18.0. Where both keys list tokens, nothing changes.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Special tokens of a tokenizer that 4.x has saved are no special tokens in 5.x",
    kind="silent",
    fixed_in="5.18.0",
    everyone="only where the newer key is there and empty: the new code tests it",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained", ">=5.1.0,<=5.17.0"),
    old="""
        if "additional_special_tokens" in init_kwargs:
            init_kwargs.setdefault("extra_special_tokens", init_kwargs.pop("additional_special_tokens"))
        """,
    new="""
        if "additional_special_tokens" in init_kwargs:
            if not init_kwargs.get("extra_special_tokens") and "extra_special_tokens" not in kwargs:
                init_kwargs.pop("extra_special_tokens", None)
            init_kwargs.setdefault("extra_special_tokens", init_kwargs.pop("additional_special_tokens"))
        """,
)
