"""A tokenizer with a boolean ``add_special_tokens``: in its file, and as an argument."""

import json
import tempfile
from pathlib import Path

import torch

from hotfix.loading.tokenizer_boolean_named_as_a_method import FIX
from hotfix.proofs.testbed import Target, Testbed

_SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


@FIX.case(
    raises=r"AttributeError: add_special_tokens conflicts with the method|ImportError:\s+requires the protobuf library",
    packages={"flash-attn": None},
    oracles={"*": "4.43.4"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The ids of a text, with special tokens and without."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoTokenizer

    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<unk>": 2, "<pad>": 3, "a": 4}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **_SPECIAL}
    results = {}
    for name, written, given in (
        ("file", {"add_special_tokens": True}, {}),
        ("call", {}, {"add_special_tokens": False}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save(f"{folder}/tokenizer.json")
            Path(folder, "tokenizer_config.json").write_text(json.dumps({**settings, **written}))
            loaded = AutoTokenizer.from_pretrained(folder, **given)
        results[f"{name}: ids"] = torch.tensor(loaded("a a")["input_ids"])
        results[f"{name}: alone"] = torch.tensor(loaded("a a", add_special_tokens=False)["input_ids"])
    return results
