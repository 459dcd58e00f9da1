"""A BPE whose merges are pairs, and one whose merges are words."""

import copy

import torch

from hotfix.loading.tokenizers_modelwrapper_merges_list import FIX
from hotfix.proofs.loading._speaking import spoken
from hotfix.proofs.loading._written import SETTINGS, TOKENIZER, folder
from hotfix.proofs.testbed import Target, Testbed

PARTS = [
    "w",
    "h",
    "o",
    "wh",
    "who",
    "r",
    "e",
    "a",
    "d",
    "s",
    "re",
    "ad",
    "read",
    "reads",
    "i",
    "t",
    "it",
    ":",
    "u",
    ".",
]
MERGES = [["w", "h"], ["wh", "o"], ["r", "e"], ["a", "d"], ["re", "ad"], ["read", "s"], ["i", "t"]]


@FIX.case(raises="data did not match any variant of untagged enum ModelWrapper", oracles={"*": "4.45.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Both are loaded, and read a text."""
    from transformers import PreTrainedTokenizerFast

    skipped = ("backend", "extra_special_tokens", "tokenizer_class")
    settings = {key: value for key, value in SETTINGS.items() if key not in skipped}
    settings["clean_up_tokenization_spaces"] = False
    names = [token["content"] for token in TOKENIZER["added_tokens"]] + PARTS
    results = {}
    for name, merges in (("words", [" ".join(pair) for pair in MERGES]), ("pairs", MERGES)):
        written = copy.deepcopy(TOKENIZER)
        written["model"] = {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {word: number for number, word in enumerate(names)},
            "merges": merges,
        }
        with folder(tokenizer_config_json=settings, tokenizer_json=written) as place:
            results.update(spoken(PreTrainedTokenizerFast.from_pretrained(place), name))
    return results
