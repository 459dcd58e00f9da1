"""A tiny model with the kind of mask that is repaired decodes token by token with a mask of the step."""

from typing import Any

import torch

from hotfix.models.mask_of_the_step_alone import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "4.52.4"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of three texts in one batch, with a mask of the step, and of the whole text."""
    ids = testbed.randint(3, 60, 3, 9, seed=1)
    results = {}
    for attention in ("eager", "sdpa"):
        model = small_model(testbed, target.qualname, attention)
        results[f"{attention}: the step alone"] = decoded(model, ids, is_whole=False)
        results[f"{attention}: the whole text"] = decoded(model, ids, is_whole=True)
    return results


def decoded(model: Any, ids: torch.Tensor, is_whole: bool, prompt: int = 3, step: int = 1) -> torch.Tensor:
    """Logits of a text of shape (rows, tokens): of the prompt, then of some tokens at a time."""
    logits, cache, start = [], _cache(), 0
    while start < ids.shape[1]:
        new = ids[:, start : start + (step if start else prompt)]
        mask = torch.ones_like(ids[:, : start + new.shape[1]] if is_whole else new)
        output = model(new, attention_mask=mask, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        logits.append(output.logits)
        start += new.shape[1]
    return torch.cat(logits, dim=1)


def small_model(testbed: Testbed, function: str, attention: str) -> Any:
    """A tiny model whose layers use the mask of a function; Llama 4 is chunked, Mistral has a window."""
    import transformers

    sizes: dict[str, Any] = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
    }
    name = "Llama"
    if function == "create_sliding_window_causal_mask":
        name, sizes["sliding_window"] = "Mistral", 16
    if function == "create_chunked_causal_mask":
        return _llama4(testbed, sizes, attention)
    config = getattr(transformers, f"{name}Config")(**sizes)
    return testbed.model(getattr(transformers, f"{name}ForCausalLM"), config, attention, torch.float32)


def _llama4(testbed: Testbed, sizes: dict[str, Any], attention: str) -> Any:
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    config = Llama4TextConfig(
        **sizes,
        intermediate_size_mlp=48,
        head_dim=16,
        num_local_experts=2,
        attention_chunk_size=16,
        no_rope_layers=[1, 0],
        moe_layers=[],
        pad_token_id=0,
    )
    return testbed.model(Llama4ForCausalLM, config, attention, torch.float32)


def _cache() -> Any:
    from transformers import DynamicCache

    return DynamicCache()
