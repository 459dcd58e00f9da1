"""Whisper's output for one window and for three, whose last words end with their window or before it."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.whisper_longform_timestamps_reset import FIX
from hotfix.proofs.processing._tokenizers import _model
from hotfix.proofs.testbed import Target, Testbed

_SPECIAL = ("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|startofprev|>", "<|notimestamps|>")
# Words with their begin and end; a word may begin at the end of the previous one.
_FIRST = (("hello", 0.0, 4.0), (" world", 4.0, 12.5))
_TO_THE_END = (("hello", 0.0, 9.0), (" world", 9.5, 30.0))
_CUT_OFF = (("numbers", 0.0, 20.0), (" hello", 21.0, 26.0), "unfinished")


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Times of the chunks, and their texts, letter by letter."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = whisper(Path(folder))
        for name, windows in (
            ("one window", [_FIRST]),
            ("to the end", [_TO_THE_END, _FIRST, _TO_THE_END]),
            ("cut off", [_CUT_OFF, _TO_THE_END, _CUT_OFF, _FIRST]),
        ):
            tokens = [tokenizer.convert_tokens_to_ids(token) for token in _SPECIAL[1:4]]
            tokens += [token for window in windows for token in written(tokenizer, window)]
            outputs = [{"tokens": torch.tensor([tokens])}]
            told_to = {"return_timestamps": True, "return_language": None, "time_precision": 0.02}
            text, more = tokenizer._decode_asr(outputs, **told_to)
            times = [[-1.0 if time is None else time for time in chunk["timestamp"]] for chunk in more["chunks"]]
            results[f"{name}: times"] = torch.tensor(times, dtype=torch.float64)
            results[f"{name}: text"] = torch.tensor([*text.encode()])
    return results


def written(tokenizer: Any, window: Any) -> list[int]:
    """The tokens of a window: a time, words, a time, for each; where the last is unfinished, its beginning as well."""
    zero = tokenizer.convert_tokens_to_ids(_SPECIAL[-1]) + 1
    tokens: list[int] = []
    for segment in window:
        if segment == "unfinished":
            tokens.append(tokens[-1])
        else:
            words, start, end = segment
            tokens += [zero + round(start / 0.02), *tokenizer.encode(words, add_special_tokens=False)]
            tokens.append(zero + round(end / 0.02))
    return tokens


def whisper(folder: Path) -> Any:
    """A tokenizer of Whisper's class, with some words."""
    from transformers import WhisperTokenizer

    vocabulary, merges = _model()
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "merges.txt").write_text(
        "\n".join(["#version: 0.2", *(" ".join(pair) for pair in merges)]), encoding="utf-8"
    )
    tokenizer = WhisperTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    for token in _SPECIAL:  # 4.36 numbers them in another order if they are added together
        tokenizer.add_special_tokens({"additional_special_tokens": [token]}, replace_additional_special_tokens=False)
    return tokenizer
