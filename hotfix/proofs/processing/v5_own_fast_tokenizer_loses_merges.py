"""Two classes of one's own, of which one has a setting and another a post-processor of its own, read their files."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.processing.v5_own_fast_tokenizer_loses_merges import FIX
from hotfix.proofs.testbed import Target, Testbed

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXTS = ["Hello hell", " hello", "hole  he"]


@FIX.case(packages={"flash-attn": None}, oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids and decoded texts of a byte-level tokenizer, of each class."""
    results: dict[str, torch.Tensor] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {"bytes": _of_bytes()}
        for name, tokenizer in files.items():
            at = Path(folder, name)
            at.mkdir()
            tokenizer.save(str(at / "tokenizer.json"))
            (at / "tokenizer_config.json").write_text(json.dumps({"unk_token": "<unk>", "pad_token": "<pad>"}))
            for kind in _classes():
                read = kind.from_pretrained(at)
                ids = [read(text).input_ids for text in TEXTS] + [read("he", "hello").input_ids]
                results[f"{name}, {kind.__name__}"] = torch.tensor([n for text in ids for n in (*text, -1)])
                decoded = read.decode(ids[0], clean_up_tokenization_spaces=False)
                results[f"{name}, {kind.__name__}: decoded"] = torch.tensor([*decoded.encode()])
    return results


def _classes() -> tuple[Any, Any]:
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    class Setting(PreTrainedTokenizerFast):
        def __init__(self, *args: Any, language: str = "en", **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.language = language

    class Ended(PreTrainedTokenizerFast):
        def __init__(self, tokenizer_file: Any = None, **kwargs: Any) -> None:
            super().__init__(tokenizer_file=tokenizer_file, **kwargs)
            single = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
            self.backend_tokenizer.post_processor = single

    return Setting, Ended


def _of_bytes() -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    words = [*SPECIAL, *"heloĠ", "he", "ll", "Ġhe", "Ġhell"]
    merges = [("h", "e"), ("l", "l"), ("Ġ", "he"), ("Ġhe", "ll")]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(SPECIAL)
    return made


def _of_words() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = [*SPECIAL, "Hello", "hello", "hell", "he", "hole"]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(SPECIAL)
    return made
