"""RoFormer, BigBird, RemBERT and MegatronBert as decoders attend to later tokens.

Symptom   Silent. With ``is_decoder=True``, alone or as the decoder of an ``EncoderDecoderModel``, the logits of a token
          depend on the tokens after it: losses are far too low, and a prompt is read in another way than in training.
Cause     The mask became that of an encoder, also where the configuration asks for a decoder.
Releases  5.9.0 to 5.17.0
Upstream  transformers#48745 (fixed in 5.18.0)
Here      The model of a decoder takes a causal mask, as in 5.18.0, bitwise equal to it. That needs several tokens and a
          mask of padding with a place for each key. A mask with four dimensions is the program's own. The release's
          mask also stays for one token, which sees all keys anyway; under a configuration with ``is_causal=False``;
          where a module or a hook of the program's can change the mask on its way; where the program has replaced a
          function of masks; and with a cache class of the program's. BigBird's sparse blocks see later tokens in all
          releases.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.models import _hooks
from hotfix.patching import scope

FIX = Fix(
    title="RoFormer, BigBird, RemBERT and MegatronBert with is_decoder=True attend to future tokens",
    kind="silent",
    upstream=("transformers#48745",),
    fixed_in="5.18.0",
    everyone="only for several tokens in a decoder of the library's own parts: the new code tests it",
    prefilter="create_bidirectional_mask",
)

# Models whose folder and classes have these names.
_MODELS = {"big_bird": "BigBird", "megatron_bert": "MegatronBert", "rembert": "RemBert", "roformer": "RoFormer"}

_OF_AN_ENCODER = """
attention_mask = create_bidirectional_mask(
    config=self.config, inputs_embeds=embedding_output, attention_mask=attention_mask
)
"""

FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}Model.forward", ">=5.9.0,<=5.17.0")
        for folder, name in _MODELS.items()
    ),
    old=_OF_AN_ENCODER,
    new=f"""
    from {__name__} import is_of_a_decoder
    if is_of_a_decoder(self, attention_mask, embedding_output, past_key_values, create_bidirectional_mask):
        from transformers.masking_utils import create_causal_mask
        attention_mask = create_causal_mask(
            config=self.config,
            inputs_embeds=embedding_output,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
        )
    else:
        {_OF_AN_ENCODER.strip().replace(chr(10), chr(10) + " " * 8)}
    """,
    beside="self.config.is_decoder",
    unless="create_causal_mask",
)


def is_of_a_decoder(model: Any, mask: Any, states: Any, cache: Any, made_by: Any) -> bool:
    """Whether a mask of padding, together with that of an encoder, lets the tokens of a decoder see later ones.

    Args:
        model: one of the models above.
        mask: what the program has passed, or ones for all keys.
        states: the embeddings of the tokens of this call, of shape (batch, tokens, width).
        cache: the cache, or None.
        made_by: the function of the model's module that makes its mask.
    """
    config, tokens = model.config, states.shape[1]
    if not config.is_decoder or not getattr(config, "is_causal", True) or config._attn_implementation != "eager":
        return False
    if tokens < 2 or getattr(mask, "ndim", 0) != 2 or not scope.is_class_of(FIX.id, cache):
        return False
    if mask.shape[-1] != (tokens if cache is None else cache.get_mask_sizes(tokens, 0)[0]):
        return False
    makers = sys.modules["transformers.masking_utils"].ALL_MASK_ATTENTION_FUNCTIONS
    if not scope.is_own(FIX.id, made_by) or not scope.is_own(FIX.id, makers["eager"]):
        return False
    parts = _readers(model.encoder)
    return all(scope.is_own(FIX.id, part, "forward") and _hooks.only_read(part, FIX.id) for part in parts)


def _readers(encoder: Any) -> list[Any]:
    """The modules that pass the mask on, or read it."""
    parts = [encoder]
    for layer in getattr(encoder, "layer", ()):
        attention = getattr(layer, "attention", None)
        parts += [layer, attention, getattr(attention, "self", None)]
    return [part for part in parts if part is not None]
