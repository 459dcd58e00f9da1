"""The configuration of a tiny model, made, saved and read again: what it says of itself, and what of its text."""

import tempfile

import torch

from hotfix.loading.qwen2vl_config_model_type import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Names, letter by letter, and numbers that only the text configuration has."""
    from transformers import AutoConfig

    made = class_of(target)(hidden_size=64, num_hidden_layers=2, vocab_size=96)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        made.save_pretrained(folder)
        read = AutoConfig.from_pretrained(folder)
        where = read._name_or_path == folder
    for way, config in (("made", made), ("read", read)):
        for name, text in (("model_type", config.model_type), ("text", config.text_config.model_type)):
            results[f"{way}: {name}"] = torch.tensor(list(text.encode()))
        results[f"{way}: numbers"] = torch.tensor([config.text_config.hidden_size, config.text_config.vocab_size])
    return {**results, "read from where it was saved": torch.tensor(where)}
