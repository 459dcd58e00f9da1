"""A processor of Whisper with a fast tokenizer, and with a subclass of it."""

import json
import tempfile
from pathlib import Path

import torch

from hotfix.processing.whisper_processor_fast_tokenizer import FIX
from hotfix.proofs.testbed import Target, Testbed

_VOCABULARY = ("a", "b", "c", "ab", "<|endoftext|>")


@FIX.case(
    raises="(Type|Value)Error: Received a WhisperTokenizerFast for argument tokenizer, but a WhisperTokenizer was",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Text and sound through the processor, also after saving and loading."""
    from transformers import WhisperFeatureExtractor, WhisperProcessor, WhisperTokenizerFast

    class Cached(WhisperTokenizerFast):
        """As vLLM makes one."""

    results: dict[str, torch.Tensor] = {}
    sound = testbed.randn(1600, seed=1).cpu().numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        words = {word: number for number, word in enumerate(_VOCABULARY)}
        (path / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
        (path / "merges.txt").write_text("#version: 0.2\na b\n", encoding="utf-8")
        for cls in (WhisperTokenizerFast, Cached):
            tokenizer = cls.from_pretrained(folder)
            processor = WhisperProcessor(WhisperFeatureExtractor(feature_size=4, chunk_length=1), tokenizer)
            assert processor.tokenizer is tokenizer
            results[f"{cls.__name__} text"] = torch.tensor(processor(text="abc")["input_ids"])
            features = processor(audio=sound, sampling_rate=16000, return_tensors="pt")["input_features"]
            results[f"{cls.__name__} sound"] = features
        processor = WhisperProcessor(feature_extractor=processor.feature_extractor, tokenizer=tokenizer)
        processor.save_pretrained(path / "saved")
        again = WhisperTokenizerFast.from_pretrained(path / "saved")
        results["loaded"] = torch.tensor(again("abcab")["input_ids"])
    return results
