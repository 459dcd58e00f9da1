"""Four Llama tokenizers as 5.x writes them: with no special token around a text, the first, the last, or both."""

from typing import Any

import torch

from hotfix.loading.v5_add_bos_token_not_written import FIX
from hotfix.proofs.loading._speaking import spoken
from hotfix.proofs.loading._written import TOKENIZER, folder
from hotfix.proofs.testbed import Target, Testbed

SETTINGS: dict[str, Any] = {
    "add_prefix_space": None,
    "backend": "tokenizers",
    "bos_token": "<s>",
    "clean_up_tokenization_spaces": False,
    "eos_token": "</s>",
    "model_max_length": 1000000000000000019884624838656,
    "tokenizer_class": "LlamaTokenizer",
    "unk_token": "<unk>",
    "use_default_system_prompt": False,
}


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Each of them reads a text."""
    from transformers import PreTrainedTokenizerFast
    from transformers.models.llama import LlamaTokenizerFast

    results = {}
    for name, ends in (("none", ""), ("first", "A"), ("last", "Z"), ("both", "AZ")):
        written = {**TOKENIZER, "model": _pairs(), "post_processor": _template("A" in ends, "Z" in ends)}
        # In 5.x, LlamaTokenizerFast takes only the vocabulary from the file; PreTrainedTokenizerFast does what it says.
        cls = PreTrainedTokenizerFast if _is_later() else LlamaTokenizerFast
        kind = "TokenizersBackend" if _is_later() else "LlamaTokenizer"
        with folder(tokenizer_config_json={**SETTINGS, "tokenizer_class": kind}, tokenizer_json=written) as place:
            results.update(spoken(cls.from_pretrained(place), name))
    return results


def _is_later() -> bool:
    import transformers

    return int(transformers.__version__.partition(".")[0]) >= 5


def _template(begins: bool, ends: bool) -> dict[str, Any]:
    names = {"<s>": 1, "</s>": 2}

    def around(part: str, number: int) -> list[dict[str, Any]]:
        first = [{"SpecialToken": {"id": "<s>", "type_id": number}}] * begins
        last = [{"SpecialToken": {"id": "</s>", "type_id": number}}] * ends
        return [*first, {"Sequence": {"id": part, "type_id": number}}, *last]

    used = {name: number for name, number in names.items() if (begins if number == 1 else ends)}
    return {
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": around("A", 0) + around("B", 1),
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in used.items()},
    }


def _pairs() -> dict[str, Any]:
    """A BPE of single signs, which the class asks for."""
    signs = [token["content"] for token in TOKENIZER["added_tokens"]] + sorted("whoreadsitlufm:.")
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": False,
        "vocab": {sign: number for number, sign in enumerate(dict.fromkeys(signs))},
        "merges": [],
    }
