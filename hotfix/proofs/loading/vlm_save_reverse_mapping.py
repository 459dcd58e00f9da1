"""A small LLaVA and a small Qwen2-VL are saved; a Llama, whose names are nobody's but its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.loading.vlm_save_reverse_mapping import FIX
from hotfix.proofs.loading._llava import in_files, llava
from hotfix.proofs.zoo import small_llama

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What is in the files, by name."""
    models = {"LLaVA": llava(testbed), "Qwen2-VL": _qwen(testbed), "Llama": small_llama(testbed)}
    return {f"{kind}: {name}": one for kind, model in models.items() for name, one in in_files(model).items()}


def _qwen(testbed: Testbed) -> Any:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    vision = {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 1}
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    scaling = {"type": "mrope", "mrope_section": [2, 3, 3]}
    text = {"vocab_size": 64, "num_key_value_heads": 1, "rope_scaling": scaling, **sizes}
    return testbed.fill(Qwen2VLForConditionalGeneration(Qwen2VLConfig(vision_config=vision, **text)))
