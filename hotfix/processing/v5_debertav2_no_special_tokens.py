"""The tokenizer of DeBERTa-v2 and v3 puts no [CLS] and no [SEP] around a text.

Symptom   Silent. The ids lack the special tokens; classifiers and GLiNER give low or near-uniform scores.
Cause     The class rebuilds the tokenizer without the template that adds them.
Releases  5.0.0 to 5.3.0
Upstream  transformers#44568, transformers#44570, transformers#44618 (fixed in 5.4.0)
Here      They are added around one text and around a pair. Equal to 5.4.0. A tokenizer whose file has a template, and
          one with ``add_bos_token`` or ``add_eos_token`` from the caller, stays as it is.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="DeBERTa-v2 and v3: texts are encoded without [CLS] and [SEP]",
    kind="silent",
    upstream=("transformers#44568", "transformers#44570", "transformers#44618"),
    fixed_in="5.4.0",
    when="all(kwargs.get(name) is None for name in ('post_processor', 'add_bos_token', 'add_eos_token')) and "
    "getattr(kwargs.get('tokenizer_object'), 'post_processor', None) is None",
    own=("self.update_post_processor", "self._post_init", "self.__call__", "self.encode", "self._encode_plus"),
    prefilter="split_by_punct",
)

FIX.edits(
    ("transformers.models.deberta_v2.tokenization_deberta_v2:DebertaV2Tokenizer.__init__", ">=5.0.0,<=5.3.0"),
    old="super().__init__(**__REST)",
    new=f"""
        super().__init__(**__REST)
        from {__name__} import can_be_named, template
        if can_be_named(self.cls_token) and can_be_named(self.sep_token):
            self._tokenizer.post_processor = template(self)
    """,
)


@FIX.recognises
def is_broken(constructor: ast.AST) -> bool:
    """Whether it builds a Unigram tokenizer that splits at punctuation, without special tokens."""
    names = {node.attr for node in ast.walk(constructor) if isinstance(node, ast.Attribute)}
    takes = {node.arg for node in ast.walk(constructor) if isinstance(node, ast.arg)}
    builds = occurs("self._tokenizer.normalizer = normalizers.Sequence(__ALL)", constructor)
    return builds and "split_by_punct" in takes and "post_processor" not in names


def can_be_named(token: Any) -> bool:
    """Whether a template of tokenizers can name a token: there is one, and nothing in it has a meaning there."""
    text = "" if token is None else str(token)
    return bool(text) and not text.startswith("$") and ":" not in text and not any(map(str.isspace, text))


def template(tokenizer: Any) -> Any:
    """A template with [CLS] and [SEP] around a text and around a pair, with types 0 and 1."""
    from tokenizers.processors import TemplateProcessing

    first, last = str(tokenizer.cls_token), str(tokenizer.sep_token)
    return TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(first, tokenizer.cls_token_id or 0), (last, tokenizer.sep_token_id or 0)],
    )
