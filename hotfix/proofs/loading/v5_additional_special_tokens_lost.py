"""Tokenizers as 4.57 writes them: special tokens in a list next to an empty key, without that key, and none."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_additional_special_tokens_lost import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

NAMES = ("[UNK]", "<|turn|>", "<image>")
TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
        {
            "id": number,
            "content": name,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, name in enumerate(NAMES)
    ],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordLevel",
        "vocab": {**{name: n for n, name in enumerate(NAMES)}, "a": 3},
        "unk_token": "[UNK]",
    },
}
SAID = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
LISTED = {"additional_special_tokens": list(NAMES[1:])}
SETTINGS: dict[str, dict[str, Any]] = {
    "beside an empty key": {**LISTED, "extra_special_tokens": {}},
    "alone": LISTED,
    "none": {"extra_special_tokens": {}},
}


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Special tokens, ids and text."""
    from transformers import AutoTokenizer

    results = {}
    for name, settings in SETTINGS.items():
        with TemporaryDirectory() as folder:
            Path(folder, "tokenizer.json").write_text(json.dumps(TOKENIZER))
            Path(folder, "tokenizer_config.json").write_text(json.dumps({**SAID, **settings}))
            tokenizer = AutoTokenizer.from_pretrained(folder)
        ids = tokenizer("a <|turn|> a <image>")["input_ids"]
        results[f"{name}: special"] = words(*sorted(tokenizer.all_special_tokens))
        results[f"{name}: ids"] = torch.tensor(ids)
        results[f"{name}: text"] = words(tokenizer.decode(ids, skip_special_tokens=True))
    return results
