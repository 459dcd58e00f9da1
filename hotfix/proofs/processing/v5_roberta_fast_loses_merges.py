"""A small tokenizer of RoBERTa's kind, read from tokenizer.json, read from two files, and made of them."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.v5_roberta_fast_loses_merges import FIX
from hotfix.proofs.testbed import Target, Testbed

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXTS = ["hello hell", " hello", "hole  he"]


@FIX.case(packages={"flash-attn": None}, oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids of three texts for each way, alone and as a pair, with and without a space before the first word."""
    from transformers import RobertaTokenizer, RobertaTokenizerFast

    words = [*SPECIAL, *"heloĠ", "he", "ll", "Ġhe", "Ġhell"]
    results: dict[str, torch.Tensor] = {}
    with tempfile.TemporaryDirectory() as folder:
        two = [Path(folder, "two", name) for name in ("vocab.json", "merges.txt")]
        two[0].parent.mkdir()
        two[0].write_text(json.dumps({word: number for number, word in enumerate(words)}))
        two[1].write_text("#version: 0.2\nh e\nl l\nĠ he\nĠhe ll\n", encoding="utf-8")
        _whole(RobertaTokenizer, RobertaTokenizerFast, two, Path(folder, "one"))
        for space in (False, True):
            ways = {
                "one file": RobertaTokenizerFast.from_pretrained(Path(folder, "one"), add_prefix_space=space),
                "old file": RobertaTokenizerFast.from_pretrained(_old(folder), add_prefix_space=space),
                "two files": RobertaTokenizerFast.from_pretrained(Path(folder, "two"), add_prefix_space=space),
                "made": RobertaTokenizerFast(*map(str, two), add_prefix_space=space),
            }
            for way, tokenizer in ways.items():
                ids = [tokenizer(text).input_ids for text in TEXTS] + [tokenizer("he", "hello").input_ids]
                results[f"{way}, {space}"] = torch.tensor([number for text in ids for number in (*text, -1)])
                results[f"{way}, {space}: decoded"] = torch.tensor([*tokenizer.decode(ids[0]).encode()])
    return results


def _old(folder: str) -> Path:
    """The same tokenizer.json without the kind of its model, as in the file of roberta-base."""
    parts = json.loads(Path(folder, "one", "tokenizer.json").read_text("utf-8"))
    del parts["model"]["type"]
    Path(folder, "old").mkdir(exist_ok=True)
    Path(folder, "old", "tokenizer.json").write_text(json.dumps(parts), encoding="utf-8")
    return Path(folder, "old")


def _whole(slow: Any, fast: Any, two: list[Path], folder: Path) -> None:
    """Write the tokenizer.json of the two files by the class that is right in the release."""
    import transformers

    kind = slow if transformers.__version__ >= "5" else fast
    kind.from_pretrained(two[0].parent).save_pretrained(folder)
    for name in ("vocab.json", "merges.txt"):
        Path(folder, name).unlink(missing_ok=True)
