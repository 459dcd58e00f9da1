"""The proof: texts are padded at a side, and sequences become one, each with the later arguments."""

import tempfile
from pathlib import Path

import torch

from hotfix.names.arguments_of_later_releases import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*unexpected keyword argument",
    packages={"flash-attn": None},
    oracles={"*": "4.52.4"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens, their masks, and what follows without the argument."""
    if target.qualname.startswith("DataCollator"):
        from transformers import DataCollatorWithFlattening

        rows = [{"input_ids": [3, 4, 5], "labels": [3, 4, 5]}, {"input_ids": [6, 7], "labels": [6, 7]}]
        first = DataCollatorWithFlattening(return_flash_attn_kwargs=False)(rows)
        two = DataCollatorWithFlattening(return_seq_idx=False, return_position_ids=False, separator_id=-7)(rows)
        return {f"{name} {key}": value for name, batch in (("1", first), ("2", two)) for key, value in batch.items()}
    from transformers import BertTokenizerFast

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.txt"
        file.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]))
        tokenizer = BertTokenizerFast(str(file))
    results = {}
    if target.qualname.endswith("pad"):
        batches = {"input_ids": [[5], [5, 6, 6]]}
        for side in ("left", "right", None):
            batch = tokenizer.pad(batches, padding_side=side, return_tensors="pt")
            results.update({f"{side} {key}": value for key, value in batch.items()})
        results["after"] = tokenizer.pad(batches, return_tensors="pt")["input_ids"]
        return results
    texts = ["a", "a b b"]
    for side in ("left", "right", None):
        batch = tokenizer(texts, padding=True, padding_side=side, return_tensors="pt")
        results.update({f"{side} {key}": value for key, value in batch.items()})
    results["longer"] = tokenizer(
        texts, padding="max_length", max_length=8, padding_side="left", return_tensors="pt"
    ).input_ids
    results["one"] = tokenizer(
        "a", padding="max_length", max_length=8, padding_side="left", return_tensors="pt"
    ).input_ids
    results["after"] = tokenizer(texts, padding=True, return_tensors="pt").input_ids
    return {**results, "side": torch.tensor(tokenizer.padding_side == "right")}
