"""The case of `generate-encoder-mask-dropped`."""

from typing import Any

import torch

from hotfix.models.generate_encoder_mask_dropped import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The output of a T5 and a BART for two texts, one of them padded: greedy and beam search."""
    texts = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(texts)
    mask[1, 3:] = texts[1, 3:] = 0
    written = {}
    for name, model in _models().items():
        testbed.fill(model).to(testbed.device).eval().generation_config.eos_token_id = None
        for beams in (1, 2):
            output = model.generate(
                texts,
                attention_mask=mask,
                num_beams=beams,
                max_new_tokens=5,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
            written[f"{name} {beams} tokens"] = output.sequences
            written[f"{name} {beams} logits"] = torch.stack(output.logits, dim=1)
    return written


def _models() -> dict[str, Any]:
    from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

    both = {"vocab_size": 64, "d_model": 32, "decoder_start_token_id": 0, "pad_token_id": 0}
    t5 = T5Config(d_kv=16, d_ff=48, num_layers=1, num_heads=2, **both)
    layers = {f"{part}_{what}": count for part in ("encoder", "decoder") for what, count in _LAYERS.items()}
    bart = BartConfig(
        max_position_embeddings=32, bos_token_id=1, eos_token_id=2, forced_eos_token_id=None, **layers, **both
    )
    return {"T5": T5ForConditionalGeneration(t5), "BART": BartForConditionalGeneration(bart)}


_LAYERS = {"layers": 1, "attention_heads": 2, "ffn_dim": 48}
