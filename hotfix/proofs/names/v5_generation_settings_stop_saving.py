"""The proof: models and a configuration with settings for generation are saved, and read again."""

import tempfile
from typing import Any

import torch

from hotfix.names.v5_generation_settings_stop_saving import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    raises="ValueError: Some generation parameters are set in the model config",
    oracles={"*": "4.57.6"},
    with_fixes=("v5-model-max-length-extended",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the read model generates by, and whether a model that does not generate is saved."""
    from transformers import BertConfig, BertForSequenceClassification, GenerationConfig

    written = llama(testbed, attn="eager", dtype=torch.float32)
    written.generation_config = GenerationConfig(pad_token_id=0)
    written.config.max_length = 9
    written.config.num_beams = 2
    read = _read(written)
    prompt = testbed.randint(3, 60, 1, 5, seed=3)
    sizes = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    classifier = BertForSequenceClassification(BertConfig(num_attention_heads=1, **sizes))
    classifier.config.max_length = 64
    return {
        "settings": torch.tensor([read.generation_config.max_length, read.generation_config.num_beams]),
        "tokens": read.generate(prompt, attention_mask=torch.ones_like(prompt)),
        "classes": torch.tensor(_read(classifier).config.num_labels),
    }


def _read(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder)
