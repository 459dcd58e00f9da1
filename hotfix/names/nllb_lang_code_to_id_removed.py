"""Tokenizers of NLLB no longer have ``lang_code_to_id``.

Symptom   ``AttributeError: 'NllbTokenizerFast' object has no attribute 'lang_code_to_id'`` from code that translates:
          ``forced_bos_token_id=tokenizer.lang_code_to_id["fra_Latn"]``.
Cause     It was removed; ``convert_tokens_to_ids`` gives the same numbers.
Releases  4.42.0 and later
Upstream  not put back
Here      The language codes that the tokenizer was made with, and their numbers, as in 4.41.2: tokens that are added
          later are not in it, and it is made once, so that a code that the program puts in stays. The numbers are the
          tokenizer's own. The slow class of 4.38.0 to 4.41.2 assumed them, one too low for files without added tokens.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'NllbTokenizerFast' object has no attribute 'lang_code_to_id'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: 'NllbTokenizer' object has no attribute 'lang_code_to_id'",
        "AttributeError: 'NllbTokenizerFast' object has no attribute 'lang_code_to_id'",
        "AttributeError: NllbTokenizer has no attribute lang_code_to_id",
        "AttributeError: NllbTokenizerFast has no attribute lang_code_to_id",
    ),
)

_MODULE = "transformers.models.nllb.tokenization_nllb"


@FIX.adds_made(
    (f"{_MODULE}:NllbTokenizer.lang_code_to_id", ">=4.42.0"),
    (f"{_MODULE}_fast:NllbTokenizerFast.lang_code_to_id", ">=4.42.0,<=4.57.6"),
    of_instances=True,
)
def numbers(module: Any) -> property:
    """The numbers of the language codes, by code."""

    def lang_code_to_id(self: Any) -> dict[str, int]:
        """The number of each language code."""
        if "_lang_code_to_id" not in self.__dict__:
            given = self.init_kwargs
            codes = list(map(str, given.get("additional_special_tokens") or given["extra_special_tokens"]))
            self.__dict__["_lang_code_to_id"] = dict(zip(codes, self.convert_tokens_to_ids(codes)))
        kept: dict[str, int] = self.__dict__["_lang_code_to_id"]
        return kept

    return property(lang_code_to_id)
