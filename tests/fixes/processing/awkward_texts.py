"""Cases of `test_tokenizers.py` on the testbed: ids of awkward texts, by transformers and by the library alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hotfix.proofs.processing._tokenizers import LAYOUTS, TEXTS, folder_of


def ids_by_layout(testbed: Any, target: Any) -> dict[str, Any]:
    """``LAYOUT: transformers`` and ``LAYOUT: tokenizers``: of shape (texts, 64), filled up with -1."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    tokens = {}
    with tempfile.TemporaryDirectory() as folder:
        for layout in LAYOUTS:
            place = folder_of(layout, Path(folder, layout))
            loaded, read = AutoTokenizer.from_pretrained(place), Tokenizer.from_file(str(place / "tokenizer.json"))
            for name, rows in (
                ("transformers", [loaded(text, add_special_tokens=False)["input_ids"] for text in TEXTS]),
                ("tokenizers", [read.encode(text, add_special_tokens=False).ids for text in TEXTS]),
            ):
                tokens[f"{layout}: {name}"] = torch.tensor([row + [-1] * (64 - len(row)) for row in rows])
    return tokens
