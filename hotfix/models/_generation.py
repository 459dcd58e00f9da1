"""What the fixes of generation under FlashAttention-2 share: the block of 4.54.0 to 4.55.2 that goes, and a case."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed

PREPARE = "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"


def without_lengths(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Delete what computes the lengths of the sequences once for all layers.

    It is an ``if`` without ``else`` that asks for a flash attention and does nothing but compute ``cu_seq_lens_q`` and
    its like from the position ids and add them to the inputs of the model. Without them each layer takes them from the
    attention mask, or needs none.
    """
    if not isinstance(node, ast.If) or node.orelse or _asked(node) != "'flash' in self.config._attn_implementation":
        return None
    *computing, adding = node.body
    only_computes = all(isinstance(one, ast.Assign) for one in computing)
    if not only_computes or not isinstance(adding, ast.Expr) or not isinstance(adding.value, ast.Call):
        return None
    added = {keyword.arg for keyword in adding.value.keywords}
    adds = ast.unparse(adding.value.func) == "model_inputs.update" and not adding.value.args
    return [] if adds and added == _LENGTHS else None


_LENGTHS = {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"}


def _asked(node: ast.If) -> str:
    first = node.test.values[0] if isinstance(node.test, ast.BoolOp) else node.test
    return ast.unparse(first)


def calls(node: ast.AST, name: str) -> bool:
    """Whether a function of this name is called below a node."""
    return any(isinstance(one, ast.Call) and getattr(one.func, "id", "") == name for one in ast.walk(node))


def generated(testbed: Testbed, attn: str = "flash_attention_2", dtype: Optional[torch.dtype] = None) -> dict[str, Any]:
    """What a Llama generates greedily for three prompts of 7 tokens.

    Args:
        testbed: where it runs.
        attn: its attention.
        dtype: of its weights.

    Returns:
        ``tokens`` of shape (3, 4) and their ``logits`` of shape (3, 4, 64); the same for prompts of which two are
        ``padded``, and for prompts that are ``continued``: 5 of the 7 tokens are in the cache already.
    """
    import torch
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
    told = {}
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
        told[f"{prefix}tokens"] = output.sequences[:, 7:]
        told[f"{prefix}logits"] = torch.stack(output.logits, dim=1)
    return told


def llama(testbed: Testbed, **options: Any) -> Any:
    """A small decoder; `options` as for `Testbed.model`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    return testbed.model(LlamaForCausalLM, config, **options)
