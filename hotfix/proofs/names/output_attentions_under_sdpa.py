"""The proof: a model asks for its attentions by its configuration, which has chosen SDPA."""

from typing import Any

import torch

from hotfix.names.output_attentions_under_sdpa import FIX
from hotfix.proofs.testbed import Target, Testbed

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


@FIX.case(
    raises="ValueError: The `output_attentions` attribute is not supported",
    oracles={"*": "4.52.4"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, Any]:
    """The attentions of a decoder, and of an encoder of speech."""
    from transformers import LlamaConfig, LlamaModel, Wav2Vec2Config, Wav2Vec2Model

    decoder = testbed.fill(LlamaModel(LlamaConfig(vocab_size=32, **SIZES))).eval()
    assert decoder.config._attn_implementation == "sdpa"
    decoder.config.output_attentions = True
    words = decoder(torch.arange(6)[None])
    speech = Wav2Vec2Config(
        conv_dim=(8, 8),
        conv_kernel=(4, 3),
        conv_stride=(4, 2),
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        **SIZES,
    )
    encoder = testbed.fill(Wav2Vec2Model(speech)).eval()
    encoder.config.output_attentions = True
    sounds = encoder(testbed.randn(1, 64, seed=1))
    every = {"words": words.attentions, "sounds": sounds.attentions}
    weights = {f"{name} {number}": layer for name, layers in every.items() for number, layer in enumerate(layers)}
    return {**weights, "last": words.last_hidden_state}
