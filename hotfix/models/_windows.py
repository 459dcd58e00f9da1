"""What the fixes of sliding windows share: a tiny decoder of each family, and which keys its attention has seen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed

WINDOW = 4  # keys that a query sees, itself included

_DECODER = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "sliding_window": WINDOW,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Every expert sees every token: a choice between experts may fall either way when rounding differs.
_MIXTURE = {"num_local_experts": 2, "num_experts_per_tok": 2}
_MIXTURE_OF_QWEN = {
    "num_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "decoder_sparse_step": 1,
}
_JAMBA = {
    "num_experts": 1,
    "num_experts_per_tok": 1,
    "attn_layer_period": 1,
    "attn_layer_offset": 0,
    "use_mamba_kernels": False,
}

_WITH_VISION = {
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
    "vision_config": {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 4},
    "image_token_id": 60,
    "video_token_id": 61,
    "vision_start_token_id": 62,
    "vision_end_token_id": 63,
}

# For the last part of a package's name: how its classes begin and end, and what is added to `_DECODER`.
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gemma2": ("Gemma2", "ForCausalLM", {"head_dim": 16, "query_pre_attn_scalar": 16}),
    "jamba": ("Jamba", "ForCausalLM", _JAMBA),
    "mistral": ("Mistral", "ForCausalLM", {}),
    "mixtral": ("Mixtral", "ForCausalLM", _MIXTURE),
    "phi3": ("Phi3", "ForCausalLM", {}),
    "qwen2": ("Qwen2", "ForCausalLM", {"use_sliding_window": True}),
    "qwen2_moe": ("Qwen2Moe", "ForCausalLM", {"use_sliding_window": True, **_MIXTURE_OF_QWEN}),
    "qwen2_vl": ("Qwen2VL", "ForConditionalGeneration", {"use_sliding_window": True, **_WITH_VISION}),
    "starcoder2": ("Starcoder2", "ForCausalLM", {}),
}


def decoder(testbed: Testbed, family: str, layers: int = 2, **options: Any) -> Any:
    """A small decoder all of whose layers, or in Gemma2 every second from the first on, have a sliding window.

    Args:
        testbed: where it runs.
        family: the last part of the name of its package, such as ``qwen2_moe``.
        layers: how many it has.
        options: as for `Testbed.model`.
    """
    from packaging.version import Version

    transformers = import_module("transformers")
    name, kind, particular = _FAMILIES[family]
    given: dict[str, Any] = {**_DECODER, **particular, "num_hidden_layers": layers}
    if "use_sliding_window" in given:
        # Up to 4.42.4 the layers below this number have the window, later those from it on.
        given["max_window_layers"] = layers if Version(transformers.__version__) < Version("4.43.0") else 0
    config = getattr(transformers, name + "Config")(**given)
    return testbed.model(getattr(transformers, name + kind), config, **options)


def keys_seen(model: Any, input_ids: torch.Tensor) -> torch.Tensor:
    """Which tokens the logits of each token depend on, found by changing one token after the other.

    Args:
        model: a decoder of one layer, where that is which keys each query sees.
        input_ids: of one sample, (1, tokens).

    Returns:
        A matrix (tokens, tokens) of 0 and 1: 1 where the logits of the row's token change with the column's.
    """
    import torch

    with torch.no_grad():
        logits = model(input_ids, use_cache=False).logits[0]
        columns = []
        for token in range(input_ids.shape[1]):
            changed = input_ids.clone()
            changed[0, token] = (changed[0, token] + 1) % model.config.vocab_size
            columns.append((model(changed, use_cache=False).logits[0] != logits).any(dim=-1))
    return torch.stack(columns, dim=1).long()
