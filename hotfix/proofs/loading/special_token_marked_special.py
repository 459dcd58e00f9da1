"""A tokenizer with a file in which special tokens are marked as special."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.special_token_marked_special import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: .*got multiple values for keyword argument 'special'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its special tokens, and a padded batch."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "<s>": 2, "a": 3, "b": 4}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    with TemporaryDirectory() as folder:
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)
        flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
        tokens = {name: {"content": text, **flags, "special": True} for name, text in _TOKENS.items()}
        Path(folder, "special_tokens_map.json").write_text(json.dumps(tokens), encoding="utf-8")
        settings = json.loads(Path(folder, "tokenizer_config.json").read_text(encoding="utf-8"))
        settings.pop("added_tokens_decoder", None)
        Path(folder, "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
        tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [getattr(tokenizer, f"{name}_id") for name in _TOKENS]
    return {"tokens": torch.tensor(ids), "batch": torch.tensor(tokenizer(["a b", "a"], padding=True)["input_ids"])}


_TOKENS = {"pad_token": "<pad>", "bos_token": "<s>"}
