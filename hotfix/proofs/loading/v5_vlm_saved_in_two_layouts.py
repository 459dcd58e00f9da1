"""A small LLaVA and a small Qwen2-VL are saved; a Llama, whose names are nobody's but its own."""

import torch

from hotfix.loading.v5_vlm_saved_in_two_layouts import FIX
from hotfix.proofs._llava import in_files, llava, qwen2_vl
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "5.3.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Saved weights, by name."""
    models = {"LLaVA": llava(testbed), "Qwen2-VL": qwen2_vl(testbed), "Llama": small_llama(testbed)}
    return {f"{kind}: {name}": weight for kind, model in models.items() for name, weight in in_files(model).items()}
