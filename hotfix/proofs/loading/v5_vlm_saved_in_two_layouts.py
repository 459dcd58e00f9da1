"""A small LLaVA and a small Qwen2-VL are saved; a Llama, whose names are nobody's but its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.loading.v5_vlm_saved_in_two_layouts import FIX
from hotfix.proofs.loading._llava import in_files, llava, qwen2_vl
from hotfix.proofs.zoo import small_llama

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(oracles={"*": "5.3.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What is in the files, by name."""
    models = {"LLaVA": llava(testbed), "Qwen2-VL": qwen2_vl(testbed), "Llama": small_llama(testbed)}
    return {f"{kind}: {name}": one for kind, model in models.items() for name, one in in_files(model).items()}
