"""The mask of assistant tokens covers the user's turns, or nothing, if a turn begins or ends with white space.

Symptom   Silent. ``apply_chat_template(..., return_assistant_tokens_mask=True)``, with a tokenizer that drops white
          space, or leaves it out of the places of tokens (``trim_offsets=True``: GPT-2, Llama 3): all tokens after an
          answer that ends with a line break are marked, those of the user and of padding too; an answer that begins
          with one, or that truncation has cut on the left, ends the mask. The same for an answer whose last token is
          the first of all. 4.43.0 may also leave such an answer out.
Cause     A character without a token gives None. For the last character of an answer, None and token 0 count as "up to
          the end"; None for the first one ends the loop over the answers.
Releases  4.43.0 to 5.23.0
Upstream  transformers#47325, fixed in 5.24.0
Here      For such an answer, the tokens are marked that share a character with it, as 5.24.0 does for all answers, and
          its white space at the end, which 5.24.0 leaves out. If nothing follows it, the mask is that of the release.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="return_assistant_tokens_mask marks the user's turns after an answer that ends with white space",
    kind="silent",
    upstream=("transformers#47325",),
    fixed_in="5.24.0",
    everyone="only answers whose first or last character has no token, and that something follows",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase.apply_chat_template", ">=4.43.0,<=5.23.0"),
    old="if start_token is None: break",
    new="""
if (start_token is None or not end_token) and getattr(out, "encodings", None):
    offsets = out.encodings[i].offsets
    if start_token is None or any(
        last_char > assistant_end_char or last_char <= assistant_start_char for _, last_char in offsets[start_token:]
    ):
        for token_id, (first_char, last_char) in enumerate(offsets):
            is_space = assistant_start_char < first_char == last_char <= assistant_end_char
            if is_space or (first_char < assistant_end_char and last_char > assistant_start_char):
                current_mask[token_id] = 1
        continue
if start_token is None: break
""",
    # A processor of 4.52 and 4.53 has the same lines, and they raise: what it returns knows no characters.
    unless='out.convert_to_tensors(tensor_type=kwargs.get("return_tensors", None))',
    beside="end_token = out.char_to_token(i, assistant_end_char - 1)",
)
