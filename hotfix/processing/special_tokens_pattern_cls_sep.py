"""A tokenizer in Python that has no [CLS] and no [SEP] puts None around every text.

Symptom   ``tokenizer("a text")`` gives ids that begin and end with None. With ``return_tensors="pt"``:
          ``ValueError: type of None unknown``. Tokenizers from custom code, Wav2Vec2Phoneme, Pop2Piano.
Cause     A tokenizer that chooses no pattern for special tokens gets that of BERT, "cls_sep", even where it has
          neither token. Before 5.0 and from 5.2.0 on it gets none.
Releases  5.0.0 to 5.1.0
Upstream  fixed in 5.2.0
Here      Nothing is added around a text or a pair, and the mask of special tokens has zeros, as in 5.2.0. Each call
          looks for the tokens, since a program may set them later. A program that calls
          ``build_inputs_with_special_tokens``, ``num_special_tokens_to_add`` or ``get_special_tokens_mask`` itself gets
          the release's answer, and may count on the two extra places. A tokenizer that has one of the two tokens keeps
          the release's code, and so does one with a method of its own for the ids or the mask. A tokenizer that
          chooses this pattern itself and lacks both tokens cannot be distinguished from one that chooses none: it gets
          no tokens either, where 5.2.0 raises an error.
"""

from __future__ import annotations

import sys
import types
from typing import Optional

from hotfix.fix import Fix
from hotfix.patching.compiling import is_compiling

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
    when=f"""
import hotfix.patching.scope as _scope
from {__name__} import is_for_a_text
(
    self.special_tokens_pattern == "cls_sep"
    and self.cls_token_id is None
    and self.sep_token_id is None
    and is_for_a_text()
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


def is_for_a_text() -> bool:
    """Whether the tokenizer itself calls, because the program has given it a text or ids."""
    if is_compiling():
        return False
    frame: Optional[types.FrameType] = sys._getframe(1)
    entered = ""
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in ("hotfix", "transformers"):
            break
        if package == "transformers":
            entered = frame.f_code.co_name
        frame = frame.f_back
    return entered not in _ASKED


_ASKED = (
    _IDS,
    _MASK,
    "create_token_type_ids_from_sequences",
    "max_len_sentences_pair",
    "max_len_single_sentence",
    "num_special_tokens_to_add",
)
"""Methods that a program calls to learn what would be added."""
