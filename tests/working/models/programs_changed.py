"""Correct programs that have changed a part of the library themselves, before or after they learned of its bug."""

from __future__ import annotations

from importlib import import_module

import torch

from hotfix.proofs.zoo import WINDOW, windowed


def own_kernel(q, k, v, dropout=0.0, scale=None, causal=False, window_size=(-1, -1), **options):
    """Custom attention in place of flash-attn's, which always computes in float32."""
    queries, keys = q.shape[1], k.shape[1]
    heads = [value.float().transpose(1, 2) for value in (q, k, v)]
    heads[1:] = [head.repeat_interleave(q.shape[2] // k.shape[2], dim=1) for head in heads[1:]]
    apart = torch.arange(keys)[None, :] - torch.arange(keys - queries, keys)[:, None]
    seen = apart <= 0 if causal else torch.ones_like(apart, dtype=torch.bool)
    if window_size[0] >= 0:
        seen = seen & (apart >= -window_size[0])
    output = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=seen)
    return output.transpose(1, 2).to(v.dtype)


def states(testbed, tokens=12, dtype=torch.bfloat16):
    shapes = ((1, tokens, 4, 16), (1, tokens, 2, 16), (1, tokens, 2, 16))
    return [testbed.randn(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


# -- fa-peft-dtype-check -----------------------------------------------------------------------------------------------


def kernel_that_takes_two_dtypes(testbed, target):
    """A custom kernel takes queries and keys in float32, as the rotary embedding leaves them under autocast."""
    utils = import_module("transformers.modeling_flash_attention_utils")
    utils.flash_attn_func = own_kernel
    query, key, value = states(testbed)
    query, key = (torch.nn.functional.normalize(tensor.float(), dim=-1) * 3 for tensor in (query, key))
    given = {"is_causal": True, "target_dtype": torch.bfloat16}
    return {"output": utils._flash_attention_forward(query, key, value, None, 12, **given)}


# -- fa-sliding-window-off-by-one --------------------------------------------------------------------------------------


def counting(*args, window_size=(-1, -1), **options):
    """The workaround: the query itself is one of the keys of its window."""
    return own_kernel(*args, window_size=tuple(width - 1 for width in window_size), **options)


def kernel_that_counts_the_query(testbed, target):
    """The kernel of the module is replaced."""
    utils = import_module("transformers.modeling_flash_attention_utils")
    utils.flash_attn_func = utils.flash_attn_2_func = counting
    return {"output": utils._flash_attention_forward(*states(testbed), None, 12, is_causal=True, sliding_window=WINDOW)}


def kernel_of_the_package_replaced(testbed, target):
    """The kernel of flash-attn is replaced before the library imports it in its first call."""
    import_module("flash_attn").flash_attn_func = counting
    utils = import_module("transformers.modeling_flash_attention_utils")
    given = {"is_causal": True, "sliding_window": WINDOW, "implementation": "flash_attention_2"}
    return {call: utils._flash_attention_forward(*states(testbed), None, 12, **given) for call in ("first", "second")}


def compiled_in_one_graph(testbed, target):
    """The common function is part of one graph: the check for the kernels does not break it."""
    utils = import_module("transformers.modeling_flash_attention_utils")

    def attend(*given):
        return utils._flash_attention_forward(*given, None, 12, is_causal=True, implementation="flash_attention_2")

    return {"output": torch.compile(attend, backend="eager", fullgraph=True)(*states(testbed))}


def windows_of_nothing(testbed, target):
    """A window of 0 lets a query see itself alone, and one of -1 is none."""
    utils = import_module("transformers.modeling_flash_attention_utils")
    return {
        str(window): utils._flash_attention_forward(*states(testbed), None, 12, is_causal=True, sliding_window=window)
        for window in (0, -1)
    }


# -- fa2-sliding-window-mask-slicing -----------------------------------------------------------------------------------


def cache_cut_by_hand(testbed, target):
    """The program cuts the library's cache to the window after each step: the mask that the release cuts fits it."""
    from transformers import DynamicCache

    model = windowed(testbed, "mistral", layers=2)
    ids = testbed.randint(3, 64, 2, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    cache, steps = DynamicCache(), []
    with torch.no_grad():
        for start, end in ((0, WINDOW), *((at, at + 1) for at in range(WINDOW, 12))):
            output = model(
                ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, start:end],
                cache_position=torch.arange(start, end),
                past_key_values=cache,
                use_cache=True,
            )
            steps.append(output.logits[:, -1])
            for kept in (cache.key_cache, cache.value_cache):
                kept[:] = [tensor[:, :, 1 - WINDOW :] for tensor in kept]
    return {"logits": torch.stack(steps, dim=1)}


# -- opt-double-scaling ------------------------------------------------------------------------------------------------


def opt(testbed):
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=64,
        hidden_size=32,
        word_embed_proj_dim=32,
        ffn_dim=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
        dropout=0.0,
    )
    return testbed.model(OPTForCausalLM, config, attn="sdpa", dtype=torch.float32)


class Unscaled(torch.nn.Linear):
    """The workaround: the value that is multiplied once too often is divided first."""

    def forward(self, states):
        return super().forward(states) * 8**0.5


def projection_of_ones_own(testbed, target):
    """The projection of the queries is replaced by one that compensates for the second scaling."""
    model = opt(testbed)
    for layer in model.model.decoder.layers:
        own = Unscaled(32, 32)
        own.load_state_dict(layer.self_attn.q_proj.state_dict())
        layer.self_attn.q_proj = own
    return {"logits": model(testbed.randint(3, 64, 2, 9, seed=1)).logits.detach()}


def projection_with_another_forward(testbed, target):
    """The same, by a function that is assigned to the projection."""
    model = opt(testbed)
    for layer in model.model.decoder.layers:
        own = layer.self_attn.q_proj
        own.forward = lambda states, forward=own.forward: forward(states) * 8**0.5
    return {"logits": model(testbed.randint(3, 64, 2, 9, seed=1)).logits.detach()}


# -- gptbigcode-inverse-scale ------------------------------------------------------------------------------------------


def scale_turned_around(testbed, target):
    """The workaround: the wrong factor is inverted."""
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4)
    model = testbed.model(GPTBigCodeForCausalLM, config, attn="sdpa", dtype=torch.float32)
    for block in model.transformer.h:
        block.attn.scaling = 1 / block.attn.scaling
    return {"logits": model(testbed.randint(0, 64, 2, 9, seed=1)).logits.detach()}


# -- qwen2vl-decode-delta-left-padding ---------------------------------------------------------------------------------


def second_turn_behind_padding(testbed, target):
    """A cache holds answers of two lengths, the shorter one padded on the right; the next turn continues from its
    words.
    """
    model = windowed(testbed, "qwen2_vl", attn="sdpa", dtype=torch.float32)
    given = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None, "max_new_tokens": 4}
    ids = testbed.randint(3, 56, 2, 14, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 6:9] = 0
    first = model.generate(
        ids[:, :9],
        attention_mask=torch.ones_like(ids[:, :9]),
        **{**given, "max_new_tokens": 1},
        return_dict_in_generate=True,
    )
    output = model.generate(
        ids,
        attention_mask=mask,
        past_key_values=first.past_key_values,
        output_logits=True,
        return_dict_in_generate=True,
        **given,
    )
    return {"logits": torch.stack(output.logits, 1), "tokens": output.sequences}


# -- flash-rotary-dtype ------------------------------------------------------------------------------------------------


def rotation_of_ones_own(testbed, target):
    """The workaround: the kernel that asserts one dtype is replaced by one that rotates in the dtype of the tables."""
    module = import_module("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl")

    def rotated(x, cos, sin):
        x = x.to(cos.dtype)
        cos, sin = cos[:, None], sin[:, None]
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    module.apply_rotary_emb = rotated
    q, k = (testbed.randn(1, 6, 2, 16, dtype=torch.bfloat16, seed=seed) for seed in range(2))
    angles = testbed.randn(6, 16, seed=3)
    tables = angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)
    q, k = module.apply_rotary_pos_emb_flashatt(q, k, *tables)
    return {"q": q, "k": k}
