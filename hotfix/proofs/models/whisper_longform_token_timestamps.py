"""A tiny Whisper whose windows have 40 frames: tokens of longer recordings, their times, and those of the segments."""

from typing import Any

import torch

from hotfix.models.whisper_longform_token_timestamps import FIX
from hotfix.proofs.testbed import Target, Testbed

_START, _ENGLISH, _FRENCH, _TRANSCRIBE, _TRANSLATE, _BEFORE, _NO_TIMESTAMPS, _END = 51, 52, 53, 56, 57, 58, 59, 50
_SPECIAL = {"pad_token_id": _END, "bos_token_id": _END, "eos_token_id": _END, "decoder_start_token_id": _START}
_ENCODER = {"encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "max_source_positions": 20}
_DECODER = {"decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 32, "max_target_positions": 24}


@FIX.case(raises="AttributeError: 'tuple' object has no attribute 'cpu'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens and times of one recording and of two, of which one is shorter."""
    model = whisper(testbed)
    results: dict[str, torch.Tensor] = {}
    for rows, frames in ((1, 100), (2, 90)):
        sound = testbed.randn(rows, 8, frames, seed=rows)
        mask = torch.ones(rows, frames, dtype=torch.long, device=sound.device)
        mask[-1, frames - 20 :] = 0
        settings: dict[str, Any] = {"language": "en", "task": "transcribe", "return_timestamps": True}
        output = model.generate(
            sound, attention_mask=mask, return_token_timestamps=True, return_segments=True, **settings
        )
        results[f"{rows} tokens"] = output["sequences"]
        for row, segments in enumerate(output["segments"]):
            for name in ("start", "end", "tokens", "token_timestamps"):
                values = [torch.as_tensor(segment[name]).reshape(-1) for segment in segments]
                results[f"{rows} {name} of {row}"] = torch.cat(values)
    return results


def whisper(testbed: Testbed) -> Any:
    """The model, with attention that returns its weights."""
    from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

    sizes = {"vocab_size": 100, "d_model": 16, "num_mel_bins": 8, **_ENCODER, **_DECODER}
    config = WhisperConfig(**sizes, **_SPECIAL, begin_suppress_tokens=None, attn_implementation="eager")
    model: Any = testbed.fill(WhisperForConditionalGeneration(config)).eval()
    model.generation_config = GenerationConfig(
        **_SPECIAL,
        max_length=16,
        no_timestamps_token_id=_NO_TIMESTAMPS,
        prev_sot_token_id=_BEFORE,
        lang_to_id={"<|en|>": _ENGLISH, "<|fr|>": _FRENCH},
        task_to_id={"transcribe": _TRANSCRIBE, "translate": _TRANSLATE},
        is_multilingual=True,
        alignment_heads=[[0, 0], [1, 1]],
        max_initial_timestamp_index=10,
    )
    return model
