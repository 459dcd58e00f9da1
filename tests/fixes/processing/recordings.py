"""Cases of `test_recordings.py`: the speech recognition pipeline, and the tokens of a small Whisper."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hotfix.proofs.processing import whisper_longform_timestamps_reset as whisper

_SECONDS = 75


def times(testbed: Any, target: Any) -> dict[str, Any]:
    """Times of the chunks of a recording that is read in three windows."""
    import numpy
    import torch
    import transformers

    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ends = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 0}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = whisper.whisper(Path(folder))
        windows = (whisper._TO_THE_END, whisper._CUT_OFF, whisper._FIRST)
        tokens = [token for window in windows for token in whisper.written(tokenizer, window)]
        config = transformers.WhisperConfig(**sizes, **heads, vocab_size=len(tokenizer) + 1501, **ends)
        model = testbed.model(transformers.WhisperForConditionalGeneration, config, "eager", dtype=torch.float32)
        pipe = transformers.pipeline(
            "automatic-speech-recognition",
            model=model,
            tokenizer=tokenizer,
            feature_extractor=transformers.WhisperFeatureExtractor(),
        )
        with patch.object(model, "generate", lambda *inputs, **more: torch.tensor([tokens])):
            said = pipe(numpy.zeros(16000 * _SECONDS, dtype=numpy.float32), return_timestamps=True)
    return {"times": torch.tensor([chunk["timestamp"] for chunk in said["chunks"]], dtype=torch.float64)}
