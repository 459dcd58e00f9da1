"""A tiny encoder-decoder, whose tokens, length and beams are set in its configuration, generates from its files."""

import tempfile
from typing import Any

import torch

from hotfix.models.start_token_of_the_configuration import FIX
from hotfix.proofs.testbed import Target, Testbed

SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}


@FIX.case(
    raises="ValueError: `decoder_start_token_id` or `bos_token_id` has to be defined",
    packages={"flash-attn": None},
    oracles={"*": "4.44.2"},
    with_fixes=("from-pretrained-without-accelerate",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens up to an end and a length that the configuration names, and by greedy search."""
    from transformers import EncoderDecoderModel

    with tempfile.TemporaryDirectory() as folder:
        model_of(testbed).save_pretrained(folder)
        model = EncoderDecoderModel.from_pretrained(folder).eval()
    prompt = testbed.randint(3, 32, 2, 5)
    return {"by beams": model.generate(prompt), "greedy": model.generate(prompt, num_beams=1, max_length=7)}


def model_of(testbed: Testbed) -> Any:
    """An encoder-decoder, as the tutorials make it."""
    from transformers import BertConfig, BertLMHeadModel, BertModel, EncoderDecoderModel

    text = {**SIZES, "vocab_size": 32}
    encoder = BertModel(BertConfig(**text))
    decoder = BertLMHeadModel(BertConfig(**text, is_decoder=True, add_cross_attention=True))
    testbed.fill(encoder)
    testbed.fill(decoder)
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder).eval()
    model.config.decoder_start_token_id, model.config.eos_token_id, model.config.pad_token_id = 1, 2, 0
    model.config.max_length, model.config.num_beams = 9, 2
    return model
