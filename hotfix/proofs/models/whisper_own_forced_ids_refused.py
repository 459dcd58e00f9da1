"""A tiny Whisper whose generation configuration has ids to begin with, with and without a language."""

import torch

from hotfix.models.whisper_own_forced_ids_refused import FIX
from hotfix.proofs.testbed import Target, Testbed

_START, _ENGLISH, _FRENCH, _TRANSCRIBE, _TRANSLATE, _NO_TIMESTAMPS, _END = 51, 52, 53, 56, 57, 59, 50
_SPECIAL = {"pad_token_id": _END, "bos_token_id": _END, "eos_token_id": _END, "decoder_start_token_id": _START}
_ENCODER = {"encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "max_source_positions": 20}
_DECODER = {"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32, "max_target_positions": 24}


@FIX.case(raises="ValueError: You have explicitly specified `forced_decoder_ids`", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Generated tokens, and their scores: with the ids of the model, and with a language and a task of the call."""
    from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

    sizes = {"vocab_size": 60, "d_model": 16, "num_mel_bins": 8, **_ENCODER, **_DECODER}
    model = testbed.fill(
        WhisperForConditionalGeneration(WhisperConfig(**sizes, **_SPECIAL, begin_suppress_tokens=None))
    )
    model.generation_config = GenerationConfig(
        **_SPECIAL,
        max_length=16,
        forced_decoder_ids=[[1, _ENGLISH], [2, _TRANSCRIBE], [3, _NO_TIMESTAMPS]],
        no_timestamps_token_id=_NO_TIMESTAMPS,
        lang_to_id={"<|en|>": _ENGLISH, "<|fr|>": _FRENCH},
        task_to_id={"transcribe": _TRANSCRIBE, "translate": _TRANSLATE},
        is_multilingual=True,
    )
    sound = testbed.randn(1, 8, 40)
    results = {}
    for name, given in (("own", {}), ("french", {"language": "fr", "task": "translate"})):
        output = model.generate(sound, return_dict_in_generate=True, output_scores=True, **given)
        results[name], results[f"{name} scores"] = output["sequences"], torch.stack(output["scores"])
    return results
