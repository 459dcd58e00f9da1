"""A small text model of Gemma 3n is saved and loaded again; a Llama is saved."""

import tempfile

import torch

from hotfix.loading.v5_conversion_reverse import FIX
from hotfix.proofs._llava import in_files
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Saved weights by name, and a loaded one."""
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    config = Gemma3nTextConfig(
        vocab_size=64,
        vocab_size_per_layer_input=64,
        hidden_size=32,
        hidden_size_per_layer_input=8,
        intermediate_size=[48, 48],
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_kv_shared_layers=0,
        head_dim=16,
        laurel_rank=4,
        layer_types=["sliding_attention", "full_attention"],
        activation_sparsity_pattern=[0.0, 0.0],
    )
    model = testbed.fill(Gemma3nForCausalLM(config))
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        loaded = Gemma3nForCausalLM.from_pretrained(place).state_dict()
    return {
        "loaded": loaded["model.per_layer_model_projection.weight"].float(),
        **{f"Gemma 3n: {name}": weight for name, weight in in_files(model).items()},
        **{f"Llama: {name}": weight for name, weight in in_files(small_llama(testbed)).items()},
    }
