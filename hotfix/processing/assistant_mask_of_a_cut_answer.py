"""The mask of assistant tokens is zero for an answer that truncation has cut.

Symptom   Silent. ``apply_chat_template(..., return_assistant_tokens_mask=True, truncation=True)`` marks no token of an
          answer that is longer than ``max_length``. In a large batch it marks some, or ends in ``IndexError: list
          assignment index out of range``. An answer at the end of the text whose last white space has no token is
          treated in the same way.
Cause     The last character of such an answer has no token. The number of texts is then taken for the number of tokens.
Releases  4.43.0 to 4.46.3
Upstream  transformers#34494, transformers#34531 (first fixed in 4.47.0)
Here      The tokens from the beginning of the answer to its last token are marked, as in 4.47.0; padding after it is
          not, as in 5.24.0. An answer that another text follows is left alone. So is a batch in which the release
          raises, if the program handles the error.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="return_assistant_tokens_mask is all zero for an answer that truncation has cut",
    kind="silent",
    upstream=("transformers#34494", "transformers#34531"),
    fixed_in="4.47.0",
    everyone="only an answer whose last character has no token, and that nothing follows: the new code tests it",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase.apply_chat_template", ">=4.43.0,<=4.46.3"),
    old="""
for token_id in range(start_token, end_token + 1 if end_token else len(input_ids)):
    current_mask[token_id] = 1
""",
    new=f"""
if end_token:
    last_token = end_token + 1
else:
    from {__name__} import end_of_answer
    last_token = end_of_answer(out, i, (assistant_start_char, assistant_end_char), len(current_mask), len(input_ids))
for token_id in range(start_token, last_token):
    current_mask[token_id] = 1
""",
)


def end_of_answer(out: Any, row: int, answer: tuple[int, int], length: int, texts: int) -> int:
    """The place after the last token of an answer whose last character has no token, or is in the first token.

    Args:
        out: what the tokenizer has returned.
        row: number of the text.
        answer: the first character of the answer, and the one after its last.
        length: number of tokens of the text.
        texts: number of texts, where the release ends; the result if the text goes on after the answer.
    """
    encodings = getattr(out, "encodings", None)
    offsets = encodings[row].offsets if encodings else ()
    if len(offsets) != length or any(end > answer[1] for _, end in offsets):
        return texts
    if texts > length and scope.is_handled_around(FIX.id, IndexError):
        return texts
    return max((token for token, (_, end) in enumerate(offsets, 1) if end > answer[0]), default=texts)
