"""A tiny Llama and a tiny T5 whose files say how long a text may be; what they write, and asked for another length."""

from tempfile import TemporaryDirectory
from typing import Any, Optional

import torch

from hotfix.models.v5_model_max_length_extended import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Texts of a model that says 12 tokens, 20 and none, with and without a length of the caller's."""
    from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration

    small = {"vocab_size": 32, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2}
    t5 = testbed.fill(T5ForConditionalGeneration(T5Config(**small, decoder_start_token_id=0)))
    ways: dict[str, dict[str, Any]] = {
        "nothing": {},
        "two beams": {"num_beams": 2},
        "new tokens": {"max_new_tokens": 3},
        "length": {"max_length": 9},
        "a configuration": {"generation_config": GenerationConfig(max_length=9, decoder_start_token_id=0)},
        "another configuration": {"generation_config": GenerationConfig(do_sample=False, decoder_start_token_id=0)},
    }
    results = {}
    for name, model in (("llama", small_llama(testbed)), ("t5", t5)):
        model = model.to(testbed.device).eval()
        prompt = testbed.randint(3, 32, 2, 5, seed=1)
        for length in (12, 20, None):
            limit(model, length)
            for way, said in ways.items():
                key = f"{name} of {length}, asked for {way}"
                results[key] = model.generate(prompt, pad_token_id=0, eos_token_id=-1, **said)
    return results


def limit(model: Any, length: Optional[int]) -> None:
    """Give a model the generation configuration of a file that says this length, or none."""
    from transformers import GenerationConfig

    with TemporaryDirectory() as folder:
        said = {**model.generation_config.to_dict(), "max_length": length}
        GenerationConfig(**said).save_pretrained(folder)
        model.generation_config = GenerationConfig.from_pretrained(folder)
