"""A tiny Whisper with languages and tasks."""

from __future__ import annotations

from typing import Any

from hotfix.proofs.testbed import Testbed

START, ENGLISH, FRENCH, TRANSCRIBE, TRANSLATE, NO_TIMESTAMPS, END = 51, 52, 53, 56, 57, 59, 50
SPECIAL = {"pad_token_id": END, "bos_token_id": END, "eos_token_id": END, "decoder_start_token_id": START}
_ENCODER = {"encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "max_source_positions": 20}
_DECODER = {"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32, "max_target_positions": 24}


def whisper(testbed: Testbed, **generation: Any) -> Any:
    """The model, with further generation parameters."""
    from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

    sizes = {"vocab_size": 60, "d_model": 16, "num_mel_bins": 8, **_ENCODER, **_DECODER}
    model = testbed.fill(WhisperForConditionalGeneration(WhisperConfig(**sizes, **SPECIAL, begin_suppress_tokens=None)))
    model.generation_config = GenerationConfig(
        **SPECIAL,
        max_length=16,
        no_timestamps_token_id=NO_TIMESTAMPS,
        lang_to_id={"<|en|>": ENGLISH, "<|fr|>": FRENCH},
        task_to_id={"transcribe": TRANSCRIBE, "translate": TRANSLATE},
        is_multilingual=True,
        **generation,
    )
    return model
