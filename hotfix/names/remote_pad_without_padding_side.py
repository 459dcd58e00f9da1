"""Tokenizers that override ``_pad`` get an argument that they do not accept.

Symptom   ``TypeError: ChatGLM4Tokenizer._pad() got an unexpected keyword argument 'padding_side'`` from every call that
          pads: ChatGLM3, GLM-4, Kolors, CogVLM tokenizers.
Cause     ``pad`` got an argument ``padding_side`` and passes it on.
Releases  4.45.0 and later; the tokenizers named above fail earlier on 5.x, others get there
Upstream  GLM-4#578, ChatGLM3#1324, ms-swift#2151 and nine more (not repaired)
Here      An override is called by its own signature: without the argument it pads on its own side, as in 4.44.2. If the
          caller requests the other side, a ValueError is raised, since the override cannot obey.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="TypeError: ChatGLM4Tokenizer._pad() got an unexpected keyword argument 'padding_side'",
    kind="loading",
    upstream=("GLM-4#578", "ChatGLM3#1324", "ms-swift#2151"),
    group="removed-names",
    errors=("TypeError: …_pad() got an unexpected keyword argument 'padding_side'",),
    when=f"from {__name__} import knows_no_sides; knows_no_sides(self._pad)",
    exempt={
        "transformers.tokenization_mistral_common:MistralCommonTokenizer.pad": (
            "it calls the _pad of its own class, which knows the argument"
        ),
    },
)

_CALL = """
    self._pad(
        __ONE,
        max_length=max_length,
        padding_strategy=padding_strategy,
        pad_to_multiple_of=pad_to_multiple_of,
        padding_side=padding_side,
        return_attention_mask=return_attention_mask,
    )
"""

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase.pad", ">=4.45.0"),
    old=[f"{name} = {_CALL.strip()}" for name in ("encoded_inputs", "outputs")],
    new=[
        f"from {__name__} import by_signature\n{name} = {_CALL.strip().replace('self._pad', 'by_signature(self)')}"
        for name in ("encoded_inputs", "outputs")
    ],
)


def by_signature(tokenizer: Any) -> Callable[..., Any]:
    """A function that calls the ``_pad`` of a tokenizer without ``padding_side``.

    Args:
        tokenizer: the tokenizer. The function raises a ValueError for a side other than its own.
    """

    def pad(inputs: Any, *, padding_side: Any, **how: Any) -> Any:
        if padding_side not in (None, tokenizer.padding_side):
            raise ValueError(
                f"{type(tokenizer).__name__}._pad does not know padding_side={padding_side!r}: it pads on the "
                f"{tokenizer.padding_side}. Set tokenizer.padding_side instead."
            )
        return tokenizer._pad(inputs, **how)

    return pad


def knows_no_sides(method: Any) -> bool:
    """Whether a ``_pad`` does not accept ``padding_side``, and the program would crash at that."""
    return not overrides.takes(method, "padding_side") and overrides.would_end(TypeError)
