"""Draws for models that compute something wrong whatever they are given, or with a configuration."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.loading import _written
from hotfix.proofs.models import (
    hybrid_cache_window_hole,
    lfm2vl_layernorm_though_off,
    mask_of_the_step_alone,
    v5_model_max_length_extended,
)
from hotfix.proofs.names import (
    empty_cache_is_true,
    own_attention_without_the_cache,
    own_forward_with_past_key_values,
    prepared_inputs_without_past_key_values,
)
from tools.studies.draws import Draw, Tensors, batch, of


def _of_text(draw: Draw, cls: Any, config: Any) -> Any:
    import torch

    model = draw.testbed.model(cls, config, draw.of("attention", "eager", "sdpa"), torch.float32)
    ids, mask, real = batch(draw, tokens=9)
    return model(ids, attention_mask=mask).logits[real]


@of("gptbigcode-inverse-scale")
def gptbigcode(draw: Draw) -> Tensors:
    """A tiny GPTBigCode with and without scaled scores."""
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(
        vocab_size=48,
        n_embd=draw.of("size", 4, 16, 32),
        n_layer=draw.number("layers", 1, 2),
        n_head=4,
        n_positions=64,
        scale_attn_weights=draw.of("scales", True, True, False),
        multi_query=draw.of("multi_query", True, False),
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return {"logits": _of_text(draw, GPTBigCodeForCausalLM, config)}


@of("opt-double-scaling")
def opt(draw: Draw) -> Tensors:
    """A tiny OPT, whose heads may have one number."""
    from transformers import OPTConfig, OPTForCausalLM

    size = draw.of("size", 4, 16, 32)
    config = OPTConfig(
        vocab_size=48,
        hidden_size=size,
        ffn_dim=48,
        num_hidden_layers=draw.number("layers", 1, 2),
        num_attention_heads=4,
        word_embed_proj_dim=size,
        do_layer_norm_before=draw.of("norm before", True, False),
        dropout=0.0,
    )
    return {"logits": _of_text(draw, OPTForCausalLM, config)}


@of("phi-lm-head-bias")
def phi(draw: Draw) -> Tensors:
    """A tiny Phi; the weights of its head have a bias, which may be zero."""
    import torch
    from transformers import PhiConfig, PhiForCausalLM

    config = PhiConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=draw.number("layers", 1, 2),
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    model = draw.testbed.model(PhiForCausalLM, config, draw.of("attention", "eager", "sdpa"), torch.float32)
    if draw.of("bias", "some", "zero") == "zero" and model.lm_head.bias is not None:
        model.lm_head.bias.data.zero_()
    ids, mask, real = batch(draw, tokens=9)
    return {"logits": model(ids, attention_mask=mask).logits[real]}


@of("llama4-moe-score-order")
def llama4(draw: Draw) -> Tensors:
    """A tiny Llama 4 with one to four experts."""
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    experts = draw.of("experts", 1, 2, 4)
    config = Llama4TextConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        intermediate_size_mlp=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_local_experts=experts,
        num_experts_per_tok=min(experts, draw.number("chosen", 1, 2)),
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        attention_chunk_size=16,
    )
    return {"logits": _of_text(draw, Llama4ForCausalLM, config)}


@of("vision-hidden-states-post-ln")
def towers(draw: Draw) -> Tensors:
    """A tower that returns its hidden states, by argument or configuration, or does not."""
    name = draw.target.qualname.partition(".")[0]
    model = zoo.tower(draw.testbed, import_module(draw.target.module), name)
    asked = draw.of("asked", "argument", "configuration", "not", "not by argument")
    if asked in ("configuration", "not by argument"):
        model.config.output_hidden_states = True
    options = {"argument": {"output_hidden_states": True}, "not by argument": {"output_hidden_states": False}}
    inputs = zoo.tower_inputs(draw.testbed, name)
    output = model(**inputs, **options.get(asked, {}))
    states = output.hidden_states or ()
    return {"last": output.last_hidden_state, **{f"state {number}": state for number, state in enumerate(states)}}


@of("idefics-smolvlm-position-ids")
def patches(draw: Draw) -> Tensors:
    """Images of some rows and columns of patches, some with padding, in several dtypes."""
    import torch

    module, name = import_module(draw.target.module), draw.target.qualname.partition("Embeddings")[0]
    dtype = draw.of("dtype", torch.float32, torch.bfloat16, torch.float16)
    side = draw.of("side", 8, 16, 26, 32)
    model = zoo.patch_tower(draw.testbed, module, name, dtype, side)
    images = draw.number("images", 1, 2)
    rows, columns = draw.number("rows", 1, side), draw.number("columns", 1, side)
    mask = torch.ones(images, rows, columns, dtype=torch.bool)
    if draw.of("padding", True, False):
        mask[0, draw.number("below", 1, rows) :] = False
        mask[0, :, draw.number("right", 1, columns) :] = False
    pixels = draw.testbed.randn(images, 3, rows, columns, dtype=dtype, seed=draw.seed)
    embedded = model.embeddings(pixel_values=pixels, patch_attention_mask=mask)
    return {"embedded": embedded[mask.flatten(1)]}


@of("v5-gpt-neox-rotary-pct-lost")
def gpt_neox(draw: Draw) -> Tensors:
    """A configuration as 5.x or as 4.x has written it, with another part of the head that is rotated."""
    import torch
    import transformers

    new = dict(_written.CONFIGURATIONS["GPTNeoXForCausalLM"])
    part, base = draw.of("part", 0.25, 0.25, 0.5, 1.0, None), draw.of("base", 10000.0, 20000.0)
    if draw.of("written by", "5.x", "4.x") == "5.x":
        new["rope_parameters"] = {"rope_theta": base, "rope_type": "default"}
        if part is not None:
            new["rope_parameters"]["partial_rotary_factor"] = part
    else:
        del new["rope_parameters"]
        new["rotary_emb_base"] = base
        if part is not None:
            new["rotary_pct"] = part
    if draw.of("way", "file", "arguments") == "file":
        with _written.folder(config_json=new) as place:
            config = transformers.AutoConfig.from_pretrained(place)
    else:
        config = transformers.GPTNeoXConfig(**{key: value for key, value in new.items() if key != "model_type"})
    model = draw.testbed.model(transformers.GPTNeoXModel, config, attn="eager", dtype=torch.float32)
    ids = draw.testbed.randint(3, 48, 2, draw.number("tokens", 2, 12), seed=draw.seed)
    return {"states": model(ids).last_hidden_state}


@of("gemma4-kv-share-no-cache", trains=True)
def gemma4(draw: Draw) -> Tensors:
    """A tiny Gemma 4 whose last layers share keys and values, or none do: a forward, a training step, `generate`."""
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig

    config = Gemma4TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        global_head_dim=16,
        sliding_window=draw.number("window", 2, 8),
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_kv_shared_layers=draw.of("layers that share", 0, 1, 2),
        vocab_size_per_layer_input=64,
        hidden_size_per_layer_input=8,
        max_position_embeddings=64,
    )
    model = draw.testbed.model(Gemma4ForCausalLM, config, draw.of("attention", "eager", "sdpa"), torch.float32)
    way = draw.of("way", "forward", "forward", "training", "generate")
    cache = draw.of("cache", True, False)
    sides = ("none", "ones", "left") if way == "generate" else ()
    ids, mask, real = batch(draw, tokens=9, fewest=2, sides=sides)
    if way == "generate":
        count = draw.number("new tokens", 1, 4)
        model.generation_config.eos_token_id = None
        model.generation_config.pad_token_id = 0
        output = model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=count,
            do_sample=False,
            use_cache=cache,
            output_logits=True,
            return_dict_in_generate=True,
        )
        return {"tokens": output.sequences, "logits": torch.stack(output.logits, dim=1)}
    if way == "forward":
        return {"logits": model(ids, attention_mask=mask, use_cache=cache).logits[real]}
    model.train()
    if draw.of("checkpointing", True, False):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    output = model(ids, attention_mask=mask, labels=ids, use_cache=cache)
    output.loss.backward()
    return {"loss": output.loss, "gradient": model.get_input_embeddings().weight.grad}


@of("cache-from-batch-splits-values")
def caches(draw: Draw) -> Tensors:
    """Caches of one to three parts of a batch, with none to two layers."""
    from transformers import DynamicCache

    parts, layers = [], draw.number("layers", 0, 2)
    for part in range(draw.number("parts", 1, 3)):
        cache = DynamicCache()
        for layer in range(layers):
            seed = draw.seed + 10 * part + layer
            shape = (draw.number(f"rows {part}", 1, 2) if layer == 0 else cache.key_cache[0].shape[0], 2, 5, 8)
            keys, values = (draw.testbed.randn(*shape, seed=more + seed) for more in (0, 5))
            cache.update(keys, values, layer)
        parts.append(cache)
    whole = DynamicCache.from_batch_splits(parts, layers)
    keys_ = {f"keys {number}": keys for number, keys in enumerate(whole.key_cache)}
    return {**keys_, **{f"values {number}": values for number, values in enumerate(whole.value_cache)}}


@of("gemma2-attn-softcap-missing", beside=("gemma2-noncausal-sliding-layers",))
def capped(draw: Draw) -> Tensors:
    """A tiny Gemma 2 with a cap or none, in eager attention or another."""
    import torch

    model = zoo.windowed(draw.testbed, "gemma2", attn=draw.of("attention", "eager", "sdpa"), dtype=torch.float32)
    model.config.attn_logit_softcapping = draw.of("cap", None, 50.0, 5.0)
    ids, mask, real = batch(draw, tokens=9, fewest=2)
    return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}


@of("gemma2-noncausal-sliding-layers")
def causal(draw: Draw) -> Tensors:
    """A tiny Gemma 2 that reads a batch, of one token or more."""
    import torch

    model = zoo.windowed(draw.testbed, "gemma2", attn=draw.of("attention", "eager", "sdpa"), dtype=torch.float32)
    ids, mask, real = batch(draw, tokens=9 if draw.of("long", True, False) else 1)
    return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[real]}


@of("modernbert-local-rope-theta")
def local_bases(draw: Draw) -> Tensors:
    """A tiny ModernBERT with one base or two, and layers of one sort or two."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    config = ModernBertConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=draw.number("layers", 1, 3),
        num_attention_heads=2,
        max_position_embeddings=64,
        local_attention=8,
        local_rope_theta=draw.of("local base", 10000.0, 160000.0, None),
        global_attn_every_n_layers=draw.number("every", 1, 3),
        pad_token_id=0,
        reference_compile=False,
    )
    return {"logits": _of_text(draw, ModernBertForMaskedLM, config)}


@of("v5-t5-scaled-outputs")
def heads_of_t5(draw: Draw) -> Tensors:
    """A tiny T5 whose head is its table, or is not, or that does not say."""
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 48, "d_model": draw.of("width", 16, 32), "d_kv": 16, "d_ff": 48, "num_heads": 2}
    said = draw.of("tied", True, False, "not said")
    more = {} if said == "not said" else {"tie_word_embeddings": said}
    config = T5Config(**sizes, num_layers=draw.number("layers", 1, 2), decoder_start_token_id=0, **more)
    model = draw.testbed.fill(T5ForConditionalGeneration(config)).to(draw.testbed.device).eval()
    ids = draw.testbed.randint(1, 48, 2, draw.number("tokens", 1, 7), seed=draw.seed)
    return {"logits": model(input_ids=ids, decoder_input_ids=ids).logits}


@of("hybrid-cache-window-hole")
def windows(draw: Draw) -> Tensors:
    """A cache with a window of eight, a prompt that is shorter, as long or longer, and some tokens."""
    prompt = draw.number("prompt", 1, 10)
    steps = [prompt] + [1] * draw.number("tokens", 0, 8)
    return hybrid_cache_window_hole.steps(draw.testbed, zoo.class_of(draw.target), steps)


@of("lfm2vl-layernorm-though-off")
def projectors(draw: Draw) -> Tensors:
    """A projector whose configuration turns the LayerNorm on or off, or does not name it."""
    asked = draw.of("LayerNorm", True, False, None, "not named")
    settings = {} if asked == "not named" else {"projector_use_layernorm": asked}
    factor = draw.number("factor", 1, 2)
    projector = lfm2vl_layernorm_though_off.projector(draw.testbed, downsample_factor=factor, **settings)
    images = draw.testbed.randn(draw.number("images", 1, 2), 4, 2 * draw.number("columns", 1, 3), 32, seed=draw.seed)
    return {"features": projector(images)}


@of("mask-of-the-step-alone")
def masks_of_steps(draw: Draw) -> Tensors:
    """A prompt and steps of some tokens, with a mask of the step or of the whole text."""
    attention = draw.of("attention", "eager", "sdpa")
    model = mask_of_the_step_alone.small_model(draw.testbed, draw.target.qualname, attention)
    ids = draw.testbed.randint(3, 60, draw.number("rows", 1, 2), draw.number("tokens", 1, 8), seed=draw.seed)
    is_whole, prompt, step = draw.of("mask", True, False), draw.number("prompt", 1, 8), draw.number("step", 1, 3)
    return {"logits": mask_of_the_step_alone.decoded(model, ids, is_whole, prompt, step)}


@of("v5-model-max-length-extended")
def model_that_says_how_long(draw: Draw) -> Tensors:
    """The text of a tiny Llama; the model, the caller, or both may limit its length."""
    from transformers import GenerationConfig

    model = zoo.small_llama(draw.testbed).eval()
    v5_model_max_length_extended.limit(model, draw.of("length of the model", None, 10, 14, 20))
    if draw.of("set by", "the file", "the file", "the program") == "the program":
        model.generation_config.max_length = draw.of("another length", 11, 15, 21)
    said: dict[str, Any] = {"num_beams": draw.number("beams", 1, 2)}
    asked = draw.of("asked for", "nothing", "nothing", "nothing", "max_length", "max_new_tokens", "both", "beams")
    if asked in ("max_length", "both"):
        said["max_length"] = draw.number("max_length", 9, 16)
    if asked in ("max_new_tokens", "both"):
        said["max_new_tokens"] = draw.number("max_new_tokens", 1, 6)
    if asked == "beams":
        said = {"generation_config": GenerationConfig(num_beams=2)}
    prompt = draw.testbed.randint(3, 32, draw.number("rows", 1, 3), draw.number("tokens", 1, 8), seed=draw.seed)
    return {"tokens": model.generate(prompt, pad_token_id=0, eos_token_id=-1, **said)}


@of("own-attention-without-the-cache")
def layers_of_several_ages(draw: Draw) -> Tensors:
    """The text of a tiny Llama with attentions or layers of one's own that were written to 4.55 or to 5.23."""
    import torch

    kind = draw.of("written as", "class", "class", "instance", "layer", "library")
    model = own_attention_without_the_cache.model_of(
        draw.testbed, kind, draw.of("name", "past_key_value", "past_key_values")
    )
    said: dict[str, Any] = {"max_new_tokens": draw.number("tokens to come", 1, 5)}
    said["num_beams"] = draw.number("beams", 1, 2)
    if draw.of("cache", True, True, False) is False:
        said["use_cache"] = False
    prompt = draw.testbed.randint(3, 32, draw.number("rows", 1, 3), draw.number("tokens", 1, 8), seed=draw.seed)
    said |= {"return_dict_in_generate": True, "output_scores": True}
    made = model.generate(prompt, do_sample=False, pad_token_id=0, eos_token_id=-1, **said)
    return {"tokens": made.sequences, "scores": torch.stack(made.scores)}


@of("empty-cache-is-true")
def models_that_ask_their_cache(draw: Draw) -> Tensors:
    """The text of a tiny Llama, or of a subclass that asks whether its cache is true, or how long it is."""
    import torch

    kind = draw.of("model", "bool", "len", "Llama")
    model: Any = zoo.small_llama(draw.testbed)
    if kind != "Llama":
        model = empty_cache_is_true.model_of(draw.testbed, {"bool": bool, "len": len}[kind])
    said: dict[str, Any] = {"max_new_tokens": draw.number("tokens to come", 1, 5)}
    said["num_beams"] = draw.number("beams", 1, 2)
    if draw.of("cache", True, True, False) is False:
        said["use_cache"] = False
    prompt = draw.testbed.randint(3, 32, draw.number("rows", 1, 3), draw.number("tokens", 1, 5), seed=draw.seed)
    mask = torch.ones_like(prompt)
    mask[0, : prompt.shape[1] - 1 and 1] = 0  # 5.18.0 passes no mask of ones
    said |= {"return_dict_in_generate": True, "output_scores": True, "attention_mask": mask}
    if draw.of("given", "tokens", "tokens", "embeddings") == "embeddings":
        said["inputs_embeds"], prompt = model.get_input_embeddings()(prompt), None
    made = model.generate(prompt, do_sample=False, pad_token_id=0, eos_token_id=-1, **said)
    return {"tokens": made.sequences, "scores": torch.stack(made.scores)}


@of("own-forward-with-past-key-values")
def models_of_several_ages(draw: Draw) -> Tensors:
    """What a tiny Llama generates, or a subclass that was written for 5.23 or for 5.24."""
    import torch

    kind = draw.of("model", "Explained", "Explained", "Prepared", "Embedded", "Newer", "Llama")
    model = own_forward_with_past_key_values.model_of(draw.testbed, kind)
    said: dict[str, Any] = {"max_new_tokens": draw.number("tokens to come", 1, 5)}
    said["num_beams"] = draw.number("beams", 1, 2)
    if draw.of("cache", True, True, False) is False:
        said["use_cache"] = False
    prompt = draw.testbed.randint(3, 32, draw.number("rows", 1, 3), draw.number("tokens", 1, 8), seed=draw.seed)
    said |= {"return_dict_in_generate": True, "output_scores": True}
    if draw.of("given", "tokens", "tokens", "embeddings") == "embeddings":
        said["inputs_embeds"], prompt = model.get_input_embeddings()(prompt), None
    made = model.generate(prompt, do_sample=False, pad_token_id=0, eos_token_id=-1, **said)
    return {"tokens": made.sequences, "scores": torch.stack(made.scores)}


@of("prepared-inputs-without-past-key-values")
def soft_prompts(draw: Draw) -> Tensors:
    """The text of a tiny Llama, or of a subclass that puts a soft prompt before the tokens."""
    kind = draw.of("model", "Prompted", "Prompted", "Newer", "Passing", "Llama")
    said: dict[str, Any] = {"max_new_tokens": draw.number("tokens to come", 1, 5)}
    said["num_beams"] = draw.number("beams", 1, 2)
    if draw.of("cache", True, True, False) is False:
        said["use_cache"] = False
    return {"tokens": prepared_inputs_without_past_key_values.tokens(draw.testbed, kind, **said)}


@of("v5-loop-with-whole-ids")
def loop_of_ones_own(draw: Draw) -> Tensors:
    """The last logits of a loop around a tiny Llama that gives all tokens or the last one, with a mask or without."""
    import torch
    from transformers import DynamicCache

    model, cache = zoo.small_llama(draw.testbed).eval(), DynamicCache()
    ids = draw.testbed.randint(3, 32, draw.number("rows", 1, 3), draw.number("tokens", 1, 8), seed=draw.seed)
    given, is_masked = draw.of("given", "all tokens", "the last token"), draw.of("mask", True, True, False)
    says = draw.of("says how many are new", False, False, True)
    for step in range(draw.number("steps", 1, 4)):
        said = {"attention_mask": torch.ones_like(ids)} if is_masked else {}
        if says:
            said["next_sequence_length"] = None if step == 0 else 1
        new = ids if step == 0 or given == "all tokens" else ids[:, -1:]
        inputs = model.prepare_inputs_for_generation(new, past_key_values=cache, use_cache=True, **said)
        with torch.no_grad():
            outputs = model(**inputs, return_dict=True)
        logits = outputs.logits[:, -1]
        ids = torch.cat([ids, logits.argmax(-1)[:, None]], dim=-1)
    return {"logits": logits}
