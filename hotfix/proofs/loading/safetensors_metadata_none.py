"""A small Llama whose file of weights names no format, in one file and in two, and one whose file does."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.safetensors_metadata_none import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="AttributeError: 'NoneType' object has no attribute 'get'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the loaded models."""
    from safetensors.torch import save_file
    from transformers import LlamaForCausalLM

    ids = testbed.randint(0, 32, 1, 7)
    model = small_llama(testbed)
    weights = {name: weight.clone().contiguous() for name, weight in model.state_dict().items()}
    halves = [dict(list(weights.items())[part::2]) for part in (0, 1)]
    results = {}

    def loaded(place: str) -> torch.Tensor:
        with torch.no_grad():
            return LlamaForCausalLM.from_pretrained(place).to(testbed.device).eval()(ids).logits

    for metadata in ({"format": "pt"}, None):
        with TemporaryDirectory() as place:
            model.config.save_pretrained(place)
            save_file(weights, f"{place}/model.safetensors", metadata)
            results[f"{metadata}, one file"] = loaded(place)
            Path(place, "model.safetensors").unlink()
            files = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
            for name, half in zip(files, halves):
                save_file(half, f"{place}/{name}", metadata)
            index = {name: file for file, half in zip(files, halves) for name in half}
            text = json.dumps({"metadata": {"total_size": 1}, "weight_map": index})
            Path(place, "model.safetensors.index.json").write_text(text)
            results[f"{metadata}, two files"] = loaded(place)
    return results
