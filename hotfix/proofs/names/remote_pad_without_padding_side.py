"""The proof: a tokenizer in the manner of GLM pads a text and a batch; one without an override, too."""

from typing import Any

import torch

from hotfix.names.remote_pad_without_padding_side import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: .*_pad\\(\\) got an unexpected keyword argument 'padding_side'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Pad as a collator and as a call does."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    class Glm(PreTrainedTokenizerFast):
        def _pad(
            self,
            encoded_inputs: Any,
            max_length: Any = None,
            padding_strategy: Any = None,
            pad_to_multiple_of: Any = None,
            return_attention_mask: Any = None,
        ) -> Any:
            short = (max_length or 0) - len(encoded_inputs["input_ids"])
            if pad_to_multiple_of:
                short += -(short + len(encoded_inputs["input_ids"])) % pad_to_multiple_of
            encoded_inputs["attention_mask"] = [0] * short + [1] * len(encoded_inputs["input_ids"])
            encoded_inputs["input_ids"] = [self.pad_token_id] * short + encoded_inputs["input_ids"]
            return encoded_inputs

    core = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    results = {}
    for name, cls in (("own", Glm), ("plain", PreTrainedTokenizerFast)):
        tokenizer = cls(tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", padding_side="left")
        row = tokenizer.pad({"input_ids": [2, 3]}, padding="max_length", max_length=5)
        many = tokenizer.pad({"input_ids": [[2], [2, 3, 2]]}, pad_to_multiple_of=4, return_tensors="pt")
        results[f"{name} one"] = torch.tensor([row["input_ids"], row["attention_mask"]])
        results[f"{name} many"] = torch.stack([many["input_ids"], many["attention_mask"]])
    return results
