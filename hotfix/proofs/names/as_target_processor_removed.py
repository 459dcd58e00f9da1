"""The proof: the labels of a script that fine-tunes Wav2Vec2."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.names.as_target_processor_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute 'as_target_processor'", oracles={"*": "4.44.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Encode texts within the block; for Wav2Vec2, also pad labels, and take a sound after it."""
    from transformers import Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor

    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", "A", "B"]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.json"
        file.write_text(json.dumps({letter: number for number, letter in enumerate(letters)}))
        tokenizer = Wav2Vec2CTCTokenizer(str(file))
    owner = target.qualname.partition(".")[0]
    kind: Any = getattr(import_module(target.module), owner)
    is_whole = owner == "Wav2Vec2Processor"
    if is_whole:
        processor = kind(Wav2Vec2FeatureExtractor(), tokenizer)
    else:  # the others check the classes of their parts, and some of these need further packages
        processor = kind.__new__(kind)
        processor.tokenizer = tokenizer
        setattr(
            processor, "image_processor" if owner in ("DonutProcessor", "TrOCRProcessor") else "feature_extractor", None
        )
    with processor.as_target_processor():
        results = {"labels": processor(["AB A", "B"], padding=True, return_tensors="pt").input_ids}
        if is_whole:
            padded = processor.pad([{"input_ids": [5, 6]}, {"input_ids": [5]}], padding=True, return_tensors="pt")
            results["padded"] = padded["input_ids"]
    if is_whole:
        results["sound"] = processor([0.5] * 8, sampling_rate=16000, return_tensors="pt").input_values
    return results
