"""The proof: a small Llama with transposed weights is saved, in one file and in several, and loaded again."""

from tempfile import TemporaryDirectory

import torch

from hotfix.loading.tensors_not_contiguous_saved import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="ValueError: You are trying to save a non contiguous tensor")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the loaded models, and whether the model was left as it is."""
    from transformers import LlamaForCausalLM

    ids = testbed.randint(0, 32, 1, 7)
    model = small_llama(testbed)
    results = {}
    for name, size in (("one file", "5GB"), ("several files", "2KB")):
        weight = model.model.layers[0].mlp.down_proj.weight
        weight.data = weight.data.t().contiguous().t()
        with TemporaryDirectory() as place:
            model.save_pretrained(place, safe_serialization=True, max_shard_size=size)
            with torch.no_grad():
                results[name] = LlamaForCausalLM.from_pretrained(place).to(testbed.device).eval()(ids).logits
        results[f"{name}: kept"] = torch.tensor(not weight.is_contiguous())
    return results
