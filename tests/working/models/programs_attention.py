"""Correct programs for attention and caches, run on a release without repairs and on the same release repaired."""

from __future__ import annotations

import inspect
import linecache
from contextlib import suppress
from importlib import import_module

import torch

from hotfix.proofs.zoo import WINDOW, gpt2, llama, windowed, windowed_cohere2


def executed_again(function):
    """A copy of a function: its source, executed in a copy of its module's names, as some packages do."""
    names = dict(vars(import_module(function.__module__)))
    file = f"<copy of {function.__qualname__}>"
    source = inspect.getsource(function)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names[function.__name__]


def right_padded(testbed, rows=2, tokens=9):
    """Prompts, the last one padded on the right, and their mask."""
    ids = testbed.randint(3, 64, rows, tokens, seed=1)
    mask = torch.ones_like(ids)
    mask[-1, tokens - 4 :] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


# -- fa2-right-padding-check -------------------------------------------------------------------------------------------


def generated_without_a_cache(testbed, target):
    """Tokens are scored and generated without a cache, a case that the release does not refuse."""
    model = windowed(testbed, "qwen2")
    given = {"use_cache": False, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    scored = model.generate(
        **right_padded(testbed), max_new_tokens=1, output_logits=True, return_dict_in_generate=True, **given
    )
    written = model.generate(**right_padded(testbed), max_new_tokens=4, **given)
    return {"scored": scored.logits[0], "written": written}


def padded_on_the_left_when_refused(testbed, target):
    """A program that moves padding that the release refuses, and computes different numbers than a repair."""
    model = windowed(testbed, "qwen2")
    batch = right_padded(testbed)
    with torch.no_grad():
        try:
            return {"logits": model(**batch, use_cache=True).logits}
        except ValueError:
            turned = {name: value.flip(0).roll(4, dims=1) for name, value in batch.items()}
            return {"logits": model(**turned, use_cache=False).logits}


# -- fa2-posids-varlen-unpadded-batch, generate-fa2-nameerror ----------------------------------------------------------


def greedy(model, ids, **given):
    """Four tokens and their logits."""
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=4,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
        output_logits=True,
        return_dict_in_generate=True,
        **given,
    )
    return {"tokens": output.sequences, "logits": torch.stack(output.logits, dim=1)}


def common_function_executed_again(testbed, target):
    """Flash attention runs a re-executed copy of the common function, for a batch of one."""
    integration = import_module("transformers.integrations.flash_attention")
    model = llama(testbed)
    integration._flash_attention_forward = executed_again(integration._flash_attention_forward)
    return greedy(model, testbed.randint(3, 64, 1, 7, seed=1))


def common_function_replaced(testbed, target):
    """The same, with the copy also in the module that defines the function."""
    utils = import_module("transformers.modeling_flash_attention_utils")
    integration = import_module("transformers.integrations.flash_attention")
    model = llama(testbed)
    utils._flash_attention_forward = executed_again(utils._flash_attention_forward)
    integration._flash_attention_forward = utils._flash_attention_forward
    return greedy(model, testbed.randint(3, 64, 1, 7, seed=1))


def attention_that_reads_lengths(testbed, target):
    """A custom attention with "flash" in its name, which receives the lengths that `generate` computes."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    seen = []

    def attention(module, query, key, value, attention_mask, cu_seq_lens_q, cu_seq_lens_k, scaling=None, **kwargs):
        seen.append(torch.stack([cu_seq_lens_q, cu_seq_lens_k]))
        keys, values = (tensor.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for tensor in (key, value))
        output = torch.nn.functional.scaled_dot_product_attention(
            query, keys, values, is_causal=query.shape[2] > 1, scale=scaling
        )
        return output.transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS["my_flash"] = attention
    model = llama(testbed, attn="sdpa", dtype=torch.float32)
    model.config._attn_implementation = "my_flash"
    model.set_attn_implementation("my_flash") if hasattr(model, "set_attn_implementation") else None
    made = greedy(model, testbed.randint(3, 64, 2, 7, seed=1))
    return {**made, "lengths": torch.cat(seen)}


def layers_that_read_lengths(testbed, target):
    """FlashAttention-2, and custom attention modules that need the lengths that `generate` computes."""
    model, seen = llama(testbed), []

    class Mine(type(model.model.layers[0].self_attn)):
        def forward(self, *args, **kwargs):
            seen.append(kwargs["cu_seq_lens_q"])
            return super().forward(*args, **kwargs)

    for layer in model.model.layers:
        layer.self_attn.__class__ = Mine
    ids = testbed.randint(3, 64, 2, 7, seed=1)
    given = {"attention_mask": torch.ones_like(ids), "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    return {"tokens": model.generate(ids, max_new_tokens=1, **given), "lengths": torch.stack(seen)}


def static_cache_of_one_sample(testbed, target):
    """A batch of one behind a static cache, which has more slots than there are tokens: generated, and by forwards.

    The prompts have seven tokens and one token. Stock is right: the results of a dynamic cache are in the facts.
    """
    from transformers import StaticCache

    model, results = llama(testbed), {}
    for tokens in (7, 1):
        ids = testbed.randint(3, 64, 1, tokens, seed=1)
        made = greedy(model, ids, cache_implementation="static")
        results.update({f"{name}, {tokens}": value for name, value in made.items()})
        cache = StaticCache(config=model.config, max_batch_size=1, max_cache_len=16, dtype=model.dtype, device="cpu")
        results[f"prompt, {tokens}"] = model(ids, past_key_values=cache, use_cache=True).logits
        assert torch.equal(results[f"prompt, {tokens}"], model(ids).logits)
    return results


# -- fa2-varlen-kwargs-ignored, fa-peft-dtype-check, fa-sliding-window-off-by-one --------------------------------------


def states(testbed, queries, keys, dtype=torch.bfloat16):
    shapes = ((1, queries, 4, 16), (1, keys, 2, 16), (1, keys, 2, 16))
    return [testbed.randn(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def lengths_of_the_prompt(testbed, target):
    """Later generation steps receive the lengths of the prompt, which the release ignores without positions."""
    from transformers.modeling_flash_attention_utils import _flash_attention_forward

    ends = torch.tensor([0, 9], dtype=torch.int32)
    lengths = {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": 9, "max_length_k": 9}
    return {
        f"{queries} of {keys}": _flash_attention_forward(
            *states(testbed, queries, keys), None, queries, is_causal=True, **lengths
        )
        for queries, keys in ((1, 10), (3, 12), (9, 18))
    }


def values_in_float32(testbed, target):
    """Only the values are in float32; the caller has chosen the dtype to which all are cast."""
    from transformers.modeling_flash_attention_utils import _flash_attention_forward

    query, key, value = states(testbed, 9, 9)
    return {
        "output": _flash_attention_forward(
            query, key, value.float(), None, 9, is_causal=True, target_dtype=torch.bfloat16
        )
    }


def window_to_both_sides(testbed, target):
    """A custom encoder, whose window is the number of keys on each side."""
    from transformers.modeling_flash_attention_utils import _flash_attention_forward

    given = states(testbed, 12, 12)
    return {"output": _flash_attention_forward(*given, None, 12, is_causal=False, sliding_window=WINDOW)}


def window_without_the_token_itself(testbed, target):
    """A custom attention that calls the library's flash attention, and counts the window as flash-attn does."""
    from transformers.modeling_flash_attention_utils import _flash_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def own(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
        states = (query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2))
        window = module.config.sliding_window - 1
        settings = {"query_length": query.shape[2], "is_causal": True, "softmax_scale": scaling}
        return _flash_attention_forward(*states, None, sliding_window=window, **settings), None

    model = windowed(testbed, "mistral")
    ALL_ATTENTION_FUNCTIONS["own"] = own
    model.config._attn_implementation = "own"
    with torch.no_grad():
        return {"logits": model(testbed.randint(1, 60, 1, 3 * WINDOW, seed=1), use_cache=False).logits}


# -- fa2-sliding-window-mask-slicing -----------------------------------------------------------------------------------


def rolling_cache(testbed, target):
    """A cache that keeps at most as many keys as the window: the mask that the release cuts fits its keys."""
    from transformers import DynamicCache

    class Rolling(DynamicCache):
        """Drops the keys beyond the window."""

        def update(self, key_states, value_states, layer_idx, cache_kwargs=None):
            keys, values = super().update(key_states, value_states, layer_idx, cache_kwargs)
            if keys.shape[-2] > WINDOW and key_states.shape[-2] == 1:
                keys, values = keys[:, :, -WINDOW:], values[:, :, -WINDOW:]
            self.key_cache[layer_idx], self.value_cache[layer_idx] = keys, values
            return keys, values

    model = windowed(testbed, "mistral", layers=1)
    ids = testbed.randint(3, 64, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    cache, steps = Rolling(), []
    with torch.no_grad():
        for start, end in ((0, WINDOW), *((at, at + 1) for at in range(WINDOW, 9))):
            output = model(
                ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, start:end],
                cache_position=torch.arange(start, end),
                past_key_values=cache,
                use_cache=True,
            )
            steps.append(output.logits)
    return {"logits": torch.cat(steps, dim=1)}


# -- cache-from-batch-splits-values ------------------------------------------------------------------------------------


def keys_that_are_values(testbed, target):
    """A cache that keeps one tensor per layer, from which its model computes keys and values."""
    from transformers import DynamicCache

    class Latent(DynamicCache):
        """As for multi-head latent attention."""

        def update(self, key_states, value_states, layer_idx, cache_kwargs=None):
            self.key_cache.append(key_states)
            self.value_cache.append([])
            return key_states, key_states

    parts = []
    for seed in range(2):
        part = Latent()
        part.update(testbed.randn(1, 2, 3, 4, seed=seed), None, 0)
        parts.append(part)
    joined = Latent.from_batch_splits(parts, num_hidden_layers=1)
    return {"latent": joined.key_cache[0]}


# -- gpt2-fa2-padding-loses-causality ----------------------------------------------------------------------------------


def gpt2_batch(testbed):
    ids = testbed.randint(0, 64, 3, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[0, :3] = mask[1, 5:] = 0
    return ids, mask


def prefix_attention(testbed, target):
    """A custom attention with "flash" in its name, and a mask that lets all tokens see a prefix."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ids, _ = gpt2_batch(testbed)
    seen = torch.ones(9, 9).tril()
    seen[:, :4] = 1
    mask = torch.zeros(3, 1, 9, 9).masked_fill(seen == 0, torch.finfo(torch.float32).min)

    def attention(module, query, key, value, attention_mask, is_causal=False, **kwargs):
        order = torch.ones(9, 9).tril().log() if is_causal else 0
        output = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask + order)
        return output.transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS["sdpa_flash"] = attention
    model = gpt2(testbed, attn="sdpa", dtype=torch.float32)
    model.config._attn_implementation = "sdpa_flash"
    with torch.no_grad():
        return {"logits": model(ids, attention_mask=mask, use_cache=False).logits}


def layers_that_are_not_causal(testbed, target):
    """GPT-2 as an encoder, as in LLM2Vec: each layer is set to non-causal, and batches have padding."""
    ids, mask = gpt2_batch(testbed)
    model = gpt2(testbed)
    for block in model.transformer.h:
        block.attn.is_causal = False
    with torch.no_grad():
        return {"logits": model(ids, attention_mask=mask, use_cache=False).logits * mask[..., None]}


# -- Gemma 2 and Cohere 2 ----------------------------------------------------------------------------------------------


def layer_by_itself(testbed, target):
    """One layer of Gemma 2 and one of Cohere 2, without the optional ``cache_position``."""
    results = {}
    hidden = testbed.randn(2, 6, 64, seed=1)
    mask = torch.full((6, 6), torch.finfo(torch.float32).min).triu(1)[None, None].expand(2, 1, -1, -1)
    for name, build in (("gemma2", windowed), ("cohere2", None)):
        options = {"attn": "eager", "dtype": torch.float32}
        model = windowed(testbed, name, **options) if build else windowed_cohere2(testbed, **options)
        positions = torch.arange(6)[None]
        tables = model.model.rotary_emb(hidden, positions)
        with torch.no_grad():
            results[name] = model.model.layers[0](hidden, position_embeddings=tables, attention_mask=mask)[0]
    return results


def dynamic_cache_past_the_window(testbed, target):
    """Gemma 2 and Cohere 2 write past the window with a cache that keeps everything."""
    from transformers import DynamicCache

    results = {}
    ids = testbed.randint(3, 60, 2, 6, seed=1)
    for name in ("gemma2", "cohere2"):
        options = {"attn": "eager", "dtype": torch.float32}
        model = windowed(testbed, name, **options) if name == "gemma2" else windowed_cohere2(testbed, **options)
        cache, steps = DynamicCache(), []
        with torch.no_grad():
            for start, end in ((0, 3), *((at, at + 1) for at in range(3, 6))):
                mask = torch.ones_like(ids[:, :end])
                output = model(ids[:, start:end], attention_mask=mask, past_key_values=cache, use_cache=True)
                steps.append(output.logits)
        results[name] = torch.cat(steps, dim=1)
    return results


def attention_of_ones_own_under_a_window(testbed, target):
    """Gemma 2 with a custom attention in each layer, which uses the mask as the release cuts it."""
    model = windowed(testbed, "gemma2")
    shapes = []

    class Mine(type(model.model.layers[0].self_attn)):
        """Looks at its mask, and attends without it."""

        def forward(self, hidden_states, attention_mask=None, **kwargs):
            shapes.append(torch.tensor(attention_mask.shape if attention_mask is not None else (0, 0)))
            return super().forward(hidden_states, attention_mask=None, **kwargs)

    for layer in model.model.layers:
        layer.self_attn.__class__ = Mine
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    from transformers import DynamicCache

    with torch.no_grad():
        logits = model(ids, attention_mask=mask, past_key_values=DynamicCache(), use_cache=True).logits
    return {"logits": logits, "shapes": torch.stack(shapes)}


def gemma2_to_both_sides(testbed, target):
    """Gemma 2 under FlashAttention-2 as an encoder of whole texts: each attention is set to non-causal."""
    model = windowed(testbed, "gemma2")
    for layer in model.model.layers:
        layer.self_attn.is_causal = False
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    with torch.no_grad():
        return {"logits": model(ids, use_cache=False).logits}


def gemma2_without_the_number(testbed, target):
    """Gemma 2 created from a configuration of this release, which has no cap, with scores that a cap would change."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        pad_token_id=0,
    )
    model = testbed.model(Gemma2ForCausalLM, config, attn="eager", dtype=torch.float32)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_proj.weight.mul_(20)
        return {"logits": model(testbed.randint(3, 60, 1, 3, seed=1), use_cache=False).logits}


def masks_that_forbid_nothing(testbed, target):
    """Gemma 2 as an encoder of short texts: masks of four dimensions that let every token see all others."""
    model = windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)
    layer = model.model.layers[1]
    hidden = testbed.randn(1, WINDOW, 64, seed=1)
    results = {}
    for dtype in (torch.float32, torch.bfloat16):
        mask = torch.zeros(1, 1, WINDOW, WINDOW, dtype=dtype)
        with torch.no_grad():
            results[str(dtype)] = layer(hidden, attention_mask=mask, position_ids=torch.arange(WINDOW)[None])[0]
    return results


def hybrid_cache_of_another_model(testbed, target):
    """A custom model with a window in its odd layers, and the release's cache for it."""
    from transformers import PretrainedConfig
    from transformers.cache_utils import HybridCache

    class Mine(PretrainedConfig):
        """A custom configuration."""

        model_type = "mine"

    config = Mine(sliding_window=WINDOW, head_dim=8, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=3)
    cache = HybridCache(config, 1, 9, "cpu", torch.float32)
    results = {"rooms": torch.tensor([keys.shape[2] for keys in cache.key_cache])}
    states = testbed.randn(1, 2, 3, 8, seed=1)
    for layer in range(3):
        given = {"cache_position": torch.arange(3), "sliding_window": WINDOW if layer % 2 else None}
        results[f"layer {layer}"], _ = cache.update(states, states, layer, given)
    return results


def unpadded_by_a_patch(testbed, target):
    """A published workaround: the function of flash-attn that returns an additional value is wrapped."""
    utils = import_module("transformers.modeling_flash_attention_utils")
    original = utils.unpad_input
    utils.unpad_input = lambda *args, **kwargs: original(*args, **kwargs)[:4]
    query, key, value = (state.repeat(2, 1, 1, 1) for state in states(testbed, 3, 9))
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :2] = 0
    with suppress(AttributeError):
        utils.unpad_input.__name__ = "unpad_input"
    return {"output": utils._flash_attention_forward(query, key, value, mask, 3, is_causal=True)}
