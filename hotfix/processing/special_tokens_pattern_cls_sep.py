"""A tokenizer in Python that has no [CLS] and no [SEP] puts None around every text.

Symptom   ``tokenizer("a text")`` gives ids that begin and end with None. With ``return_tensors="pt"``:
          ``ValueError: type of None unknown``. Tokenizers from custom code, Wav2Vec2Phoneme, Pop2Piano.
Cause     A tokenizer that chooses no pattern for special tokens gets that of BERT, "cls_sep", even where it has
          neither token. Before 5.0 and from 5.2.0 on it gets none.
Releases  5.0.0 to 5.1.0
Upstream  fixed in 5.2.0
Here      Nothing is added around a text or a pair, the mask of special tokens has zeros, and none are counted, as in
          5.2.0. Each call looks for the tokens, since a program may set them later. A tokenizer that has one of the
          two keeps the release's code, and so does one with a method of its own for the ids or the mask, which may
          count on the two extra places. A tokenizer that chooses this pattern itself and lacks both tokens cannot be
          told apart from one that chooses none: it gets no tokens either, where 5.2.0 raises an error.
"""

from __future__ import annotations

from hotfix.fix import Fix

_TOKENIZER = "transformers.tokenization_python:PythonBackend"
_IDS, _MASK = "build_inputs_with_special_tokens", "get_special_tokens_mask"
_RELEASES = ">=5.0.0,<=5.1.0"

FIX = Fix(
    title="Custom slow tokenizers put None around the ids of every text",
    kind="crash",
    fixed_in="5.2.0",
    errors=(
        "ValueError: type of None unknown: <class 'NoneType'>. Should be one of a python, numpy, or pytorch object.",
    ),
    when="""
import hotfix.patching.scope as _scope
(
    self.special_tokens_pattern == "cls_sep"
    and self.cls_token_id is None
    and self.sep_token_id is None
    and not _scope.is_handled_around("special-tokens-pattern-cls-sep", ValueError)
)
""",
    own=(f"self.{_IDS}", f"self.{_MASK}"),
)

for _method, _other in ((_IDS, _MASK), (_MASK, _IDS)):
    FIX.edits(
        (f"{_TOKENIZER}.{_method}", _RELEASES),
        old='self.special_tokens_pattern == "cls_sep"',
        new="False",  # so that the last branch runs, which adds no tokens
        beside='self.special_tokens_pattern = kwargs.pop("special_tokens_pattern", "cls_sep")',
        fingerprint_of=("PythonBackend.__init__", f"PythonBackend.{_method}"),
        along=(f"{_TOKENIZER}.{_other}",),
    )
