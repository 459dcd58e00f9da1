"""A custom class that extends LLaVA is loaded from a file with the names of the Hub, and saved; so is LLaVA."""

import tempfile
from typing import Any

import torch

from hotfix.loading.vlm_key_mapping_subclass import FIX
from hotfix.proofs._llava import ENDS, in_files, llava, named, save
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(with_fixes=("vlm-save-reverse-mapping",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Some weights of each part, as loaded and in the file that is saved."""
    from transformers import LlavaForConditionalGeneration

    extended: Any = type("Reward", (LlavaForConditionalGeneration,), {"__module__": __name__})
    results = {}
    model = llava(testbed)
    with tempfile.TemporaryDirectory() as place:
        model.config.save_pretrained(place)
        save(named(model, "old"), f"{place}/model.safetensors")
        for cls in (extended, LlavaForConditionalGeneration):
            loaded = cls.from_pretrained(place)
            weights = loaded.state_dict()
            for end in ENDS:
                name = next(key for key in weights if key.endswith(end))
                results[f"{cls.__name__}, {end}"] = weights[name].float()
            if cls is LlavaForConditionalGeneration:
                results.update((f"file: {name}", weight) for name, weight in in_files(loaded).items())
    return results
