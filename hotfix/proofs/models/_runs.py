"""Runs shared by several proofs: a step of training, generation, and the tokens that a decoder depends on."""

from typing import Any, Optional

import torch

from hotfix.proofs.testbed import Testbed
from hotfix.proofs.zoo import llama


def padded_step(testbed: Testbed, model: Any) -> dict[str, torch.Tensor]:
    """One step of training under FlashAttention on two samples of 9 and 6 tokens, without the optimizer's part.

    Args:
        testbed: where it runs.
        model: a decoder with a vocabulary of 64.

    Returns:
        ``logits`` of shape (2, 9, 64), ``loss``, and the gradient of each parameter.
    """
    input_ids = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(input_ids)
    mask[1, 6:] = 0
    output = model.train()(input_ids, attention_mask=mask, labels=input_ids.where(mask.bool(), -100), use_cache=False)
    output.loss.backward()
    testbed.assert_flash()
    return {"logits": output.logits, "loss": output.loss, **testbed.gradients(model)}


def generated(testbed: Testbed, attn: str = "flash_attention_2", dtype: Optional[torch.dtype] = None) -> dict[str, Any]:
    """Greedy generation of a Llama for three prompts of 7 tokens.

    Args:
        testbed: where it runs.
        attn: its attention.
        dtype: of its weights.

    Returns:
        ``tokens`` of shape (3, 4) and their ``logits`` of shape (3, 4, 64); the same for prompts of which two are
        ``padded``, and for prompts that are ``continued``: 5 of the 7 tokens are in the cache already.
    """
    from transformers import DynamicCache

    model = llama(testbed, attn=attn, dtype=dtype)
    model.generation_config.pad_token_id = 0
    input_ids = testbed.randint(3, 64, 3, 7, seed=1)
    ones = torch.ones_like(input_ids)
    padded = ones.clone()
    padded[1, :2] = padded[2, :4] = 0
    cache = DynamicCache()
    with torch.no_grad():
        # One row at a time: batches without padding are wrong in some of these releases.
        rows = [model(row[None, :5], use_cache=True).past_key_values for row in input_ids]
    for layer in range(model.config.num_hidden_layers):
        cache.update(*(torch.cat([row[layer][part] for row in rows]) for part in (0, 1)), layer)
    results = {}
    for prefix, mask, past in ("", ones, None), ("padded ", padded, None), ("continued ", ones, cache):
        output = model.generate(
            input_ids * mask,
            attention_mask=mask,
            past_key_values=past,
            max_new_tokens=4,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
        results[f"{prefix}tokens"] = output.sequences[:, 7:]
        results[f"{prefix}logits"] = torch.stack(output.logits, dim=1)
    return results


def keys_seen(model: Any, input_ids: torch.Tensor) -> torch.Tensor:
    """Which tokens the logits of each token depend on, found by changing one token after the other.

    Args:
        model: a decoder of one layer, where these are the keys that each query sees.
        input_ids: of one sample, (1, tokens).

    Returns:
        A matrix (tokens, tokens) of 0 and 1: 1 where the logits of the row's token change with the column's.
    """
    with torch.no_grad():
        logits = model(input_ids, use_cache=False).logits[0]
        columns = []
        for token in range(input_ids.shape[1]):
            changed = input_ids.clone()
            changed[0, token] = (changed[0, token] + 1) % model.config.vocab_size
            columns.append((model(changed, use_cache=False).logits[0] != logits).any(dim=-1))
    return torch.stack(columns, dim=1).long()
