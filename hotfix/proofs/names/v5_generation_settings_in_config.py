"""The proof: models whose configurations the program changes between calls: a decoder, Bart and Whisper."""

from typing import Any

import torch

from hotfix.names.v5_generation_settings_in_config import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    raises="ValueError: You have modified the pretrained model",
    oracles={"*": "4.57.6"},
    with_fixes=("v5-model-max-length-extended",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens, by the settings of the configuration, by changed ones, by arguments, and by those of a file."""
    if "whisper" in target.module:
        model = _whisper(testbed)
        model.config.max_length = 9
        model.config.num_beams = 2
        return {"said": model.generate(testbed.randn(1, 8, 40, seed=1), max_new_tokens=4)}
    from transformers import GenerationConfig

    results = {}
    for name, model in (("decoder", _decoder(testbed)), ("both", _both(testbed))):
        prompt = testbed.randint(3, 60, 2, 5, seed=3)
        more = {"attention_mask": torch.ones_like(prompt)}
        model.config.max_length = 9
        model.config.num_beams = 2
        model.config.pad_token_id = 0
        results[f"{name} set"] = model.generate(prompt, **more)
        results[f"{name} argument"] = model.generate(prompt, max_length=7, **more)
        results[f"{name} again"] = model.generate(prompt, **more)
        model.config.max_length = 12
        model.config.no_repeat_ngram_size = 2
        model.config.num_beams = 1
        results[f"{name} changed"] = model.generate(prompt, **more)
        results[f"{name} length"] = torch.tensor(model.generation_config.max_length)
        model.generation_config = GenerationConfig(max_new_tokens=3, pad_token_id=0, decoder_start_token_id=2)
        results[f"{name} file"] = model.generate(prompt, **more)
    return results


def _decoder(testbed: Testbed) -> Any:
    from transformers import LlamaForCausalLM

    # The testbed's own model has a generation_config that was changed after it was made.
    config = llama(testbed, attn="eager", dtype=torch.float32).config
    return testbed.fill(LlamaForCausalLM(config)).eval()


def _both(testbed: Testbed) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=64,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        forced_eos_token_id=None,
    )
    return testbed.fill(BartForConditionalGeneration(config)).eval()


def _whisper(testbed: Testbed) -> Any:
    from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

    special = {"pad_token_id": 50, "bos_token_id": 50, "eos_token_id": 50, "decoder_start_token_id": 51}
    config = WhisperConfig(
        vocab_size=60,
        d_model=16,
        num_mel_bins=8,
        encoder_layers=1,
        encoder_attention_heads=2,
        encoder_ffn_dim=32,
        max_source_positions=20,
        decoder_layers=1,
        decoder_attention_heads=2,
        decoder_ffn_dim=32,
        max_target_positions=24,
        begin_suppress_tokens=None,
        **special,
    )
    model = testbed.fill(WhisperForConditionalGeneration(config)).eval()
    model.generation_config = GenerationConfig(**special, max_length=12)
    return model
