"""The proof: custom loops choose the tokens that ``generate`` chooses."""

from typing import Any

import torch

from hotfix.names.loop_without_cache_position import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import class_of, gpt2, small_llama

_MIXIN = "transformers.generation.utils:GenerationMixin"


@FIX.case(
    raises="KeyError: 'cache_position'|'NoneType' object (is not subscriptable|has no attribute 'shape')",
    packages={"flash-attn": None},
    oracles={
        f"{_MIXIN}._update_model_kwargs_for_generation": "4.40.2",
        "*": "4.42.4",
    },
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Token ids of shape (2, 10)."""
    ids = testbed.randint(0, 32, 2, 5)
    if target.qualname.endswith("prepare_inputs_for_generation"):
        model = _decoder(testbed, class_of(target)) if "modeling_" in target.module else small_llama(testbed)
        return {name: decoded(model, ids, name) for name in ("all tokens", "the last token")}
    model = small_llama(testbed)
    return {
        "cache": _updated(gpt2(testbed, attn="eager"), ids, use_cache=True),
        "no cache": _updated(model, ids, use_cache=False),
    }


def _decoder(testbed: Testbed, cls: Any) -> Any:
    sizes = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 32}
    config = cls.config_class(
        **sizes, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0
    )
    return testbed.fill(cls(config))


def _updated(model: Any, ids: torch.Tensor, **arguments: Any) -> torch.Tensor:
    arguments["attention_mask"] = torch.ones_like(ids)
    for _ in range(5):
        with torch.no_grad():
            outputs = model(**model.prepare_inputs_for_generation(ids, **arguments), return_dict=True)
        ids = torch.cat([ids, outputs.logits[:, -1].argmax(-1)[:, None]], dim=-1)
        arguments = model._update_model_kwargs_for_generation(outputs, arguments, is_encoder_decoder=False)
    return ids


def decoded(model: Any, ids: torch.Tensor, given: str) -> torch.Tensor:
    """The tokens of a loop that keeps its cache itself.

    Args:
        model: on the device of the tokens.
        ids: the prompts, of shape (batch, length).
        given: to the model after the first step: ``all tokens`` or ``the last token``.

    Returns:
        The prompts and five tokens each.
    """
    from transformers import DynamicCache

    cache = DynamicCache()
    for step in range(5):
        new = ids if step == 0 or given == "all tokens" else ids[:, -1:]
        inputs = model.prepare_inputs_for_generation(
            new, past_key_values=cache, attention_mask=torch.ones_like(ids), use_cache=True
        )
        with torch.no_grad():
            outputs = model(**inputs, return_dict=True)
        cache = outputs.past_key_values
        ids = torch.cat([ids, outputs.logits[:, -1].argmax(-1)[:, None]], dim=-1)
    return ids
