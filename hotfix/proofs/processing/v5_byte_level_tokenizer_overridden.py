"""Five byte-level tokenizers in the layouts that people publish: ids of awkward texts, loaded by both ways, and saved.

The last of them is GPT-2's own layout, in which nothing may change.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.v5_byte_level_tokenizer_overridden import FIX
from hotfix.proofs.processing._tokenizers import LAYOUTS, TEXTS, folder_of
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None}, oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids of all texts, and the bytes of the decoded texts, by layout."""
    import transformers
    from transformers import AutoTokenizer

    results: dict[str, torch.Tensor] = {}
    with tempfile.TemporaryDirectory() as folder:
        for layout in LAYOUTS:
            tokenizer = AutoTokenizer.from_pretrained(folder_of(layout, Path(folder, layout)))
            results.update({f"{layout}: {name}": value for name, value in _encoded(tokenizer).items()})
            tokenizer.save_pretrained(Path(folder, f"{layout} again"))
            again = AutoTokenizer.from_pretrained(Path(folder, f"{layout} again"))
            results.update({f"{layout}, saved: {name}": value for name, value in _encoded(again).items()})
            # Late releases route around the class; whoever names it gets it.
            named = getattr(transformers, LAYOUTS[layout][0]).from_pretrained(Path(folder, layout))
            results.update({f"{layout}, by its class: {name}": value for name, value in _encoded(named).items()})
    return results


def _encoded(tokenizer: Any) -> dict[str, torch.Tensor]:
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    decoded = [*"\0".join(tokenizer.decode(text) for text in ids).encode()]
    ends = [len(text) for text in ids]
    return {
        "lengths": torch.tensor(ends),
        "ids": torch.tensor([number for text in ids for number in text]),
        "decoded": torch.tensor(decoded),
    }
