"""Inputs on which a bug does not strike, by fix: what `test_observed.py` runs beside the case that shows the bug.

Each is what a user does on another day: the same model with a shorter text, one image, one batch a step, no labels.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hotfix.proofs import _llava as _weights
from hotfix.proofs import zoo
from hotfix.proofs.loading import (
    move_missing_keys_empty_like,
    pipeline_torch_dtype_ignored,
    v5_missing_bias_not_initialised,
    v5_umt5_config_unties_encoder,
)
from hotfix.proofs.models import _positions as _positions_of_5_2
from hotfix.proofs.models import (
    hybrid_cache_window_hole,
    lfm2vl_layernorm_though_off,
    mask_of_the_step_alone,
    qwenvl_v5_stale_rope_deltas_forward,
    qwenvl_v5_token_types_left_out,
    v5_model_max_length_extended,
)
from hotfix.proofs.names import (
    loop_without_cache_position,
    own_attention_without_the_cache,
    own_encoder_preparation_ignored,
    own_forward_with_past_key_values,
    prepared_inputs_without_past_key_values,
    update_kwargs_false_new_tokens,
)
from hotfix.proofs.processing import _pictures
from hotfix.proofs.processing import assistant_mask_beyond_the_turn as masks
from hotfix.proofs.processing import v5_own_fast_tokenizer_loses_merges as own_tokenizer
from hotfix.proofs.processing import whisper_longform_timestamps_reset as whisper
from hotfix.proofs.training import (
    _counted,
    _steps,
    deepspeed_double_gas_scaling,
    shift_labels_dropped_by_heads,
    trainer_own_rotation_ignored,
    vision_lora_checkpointing_no_grad,
)
from hotfix.proofs.training._writers import writer

Case = Callable[[Any, Any], dict[str, Any]]
CASES: dict[str, Case] = {}


def of(*fixes: str) -> Callable[[Case], Case]:
    """Declare the harmless input of some fixes."""

    def declare(case: Case) -> Case:
        CASES.update(dict.fromkeys(fixes, case))
        return case

    return declare


# -- the Trainer -------------------------------------------------------------------------------------------------------


@of("trainer-ga-multiplied-loss")
def one_batch_of_an_encoder(testbed: Any, target: Any) -> dict[str, Any]:
    return _steps.one_step(zoo.small_bert(testbed), zoo.classified(testbed), per_device_train_batch_size=4)


@of(
    "label-smoothing-by-micro-batch",
    "trainer-ddp-no-sync-inverted",
    "trainer-dp-loss-mean-num-items",
    "trainer-ga-num-items-dropped",
    "trainer-last-accumulation-remainder",
    "trainer-own-optimizer-ignored",
    "v5-trainer-ga-double-division",
)
def one_batch_on_one_device(testbed: Any, target: Any) -> dict[str, Any]:
    return _steps.one_step(zoo.small_llama(testbed), zoo.texts(testbed, (1, 1, 1, 1)), per_device_train_batch_size=4)


@of("trainer-own-rotation-ignored")
def checkpoints_of_the_librarys_trainer(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import Trainer

    return {"left": trainer_own_rotation_ignored.left(testbed, Trainer)}


@of("deepspeed-double-gas-scaling")
def one_batch_under_deepspeed(testbed: Any, target: Any) -> dict[str, Any]:
    import os

    # The case has set the rest, and ended its process group: DeepSpeed and Accelerate have to begin anew.
    os.environ["MASTER_PORT"] = str(_steps.free_port())
    state: Any = import_module("accelerate.state")
    state.AcceleratorState._reset_state(reset_partial_state=True)
    communication: Any = import_module("deepspeed.comm.comm")
    groups: Any = import_module("deepspeed.utils.groups")
    communication.cdb = groups._WORLD_GROUP = None
    arguments: dict[str, Any] = {"per_device_train_batch_size": 4}
    samples = zoo.texts(testbed, (1, 1, 1, 1))
    return {"moved": deepspeed_double_gas_scaling._length_of_gradients(zoo.small_llama(testbed), samples, **arguments)}


@of("ga-loss-kwargs-swallowed-vlm", "ga-loss-kwargs-swallowed-seq2seq-v5")
def one_batch_of_the_class(testbed: Any, target: Any) -> dict[str, Any]:
    cls = zoo.class_of(target)
    return _steps.one_step(zoo.trained(testbed, cls), zoo.samples_for(testbed, cls), per_device_train_batch_size=4)


@of("num-items-off-by-one", "v5-num-items-undercount-seq2seq")
def texts_with_prompts(testbed: Any, target: Any) -> dict[str, Any]:
    samples = _counted.whole_texts(testbed)
    for sample in samples:
        sample["labels"] = sample["labels"].clone()
        sample["labels"][:1] = -100
    return _counted.padded_ways(lambda: zoo.small_llama(testbed), samples)


@of("labels-shifted-twice")
def no_labels(testbed: Any, target: Any) -> dict[str, Any]:
    model, inputs = writer(testbed, zoo.class_of(target))
    inputs["decoder_input_ids"] = inputs.pop("labels").clamp(min=0)
    return {"logits": model(**inputs).logits}


@of("shift-labels-dropped-by-heads")
def moved_labels_of_a_whole_text(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = shift_labels_dropped_by_heads._model(testbed, zoo.class_of(target))
    ids = testbed.randint(3, 50, 1, 12, seed=1)
    moved = torch.cat([ids[:, 1:], ids.new_full((1, 1), -100)], dim=1)
    return {"labels": model(ids, labels=ids).loss, "both": model(ids, labels=ids, shift_labels=moved).loss}


@of("vision-lora-checkpointing-no-grad")
def adapters_in_the_text(testbed: Any, target: Any) -> dict[str, Any]:
    return _with_adapters(testbed, in_tower=False)


def _with_adapters(testbed: Any, in_tower: bool) -> dict[str, Any]:
    """Gradients of a LLaVA that is prepared in the order of PEFT: frozen, adapted, checkpointed, and hooked at last."""
    model, inputs = vision_lora_checkpointing_no_grad.llava(testbed)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith("q_proj.weight") and (in_tower or "vision" not in name))
    model.train().gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    model(**inputs, use_cache=False).logits.float().logsumexp(-1).mean().backward()
    adapted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return {
        f"gradient {number}": (parameter * 0 if parameter.grad is None else parameter.grad)
        for number, parameter in enumerate(adapted)
    }


# -- attention ---------------------------------------------------------------------------------------------------------


@of("fa-sliding-window-off-by-one", "fa2-sliding-window-mask-slicing")
def a_text_within_the_window(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.windowed(testbed, "mistral")
    ids = testbed.randint(3, 60, 2, zoo.WINDOW - 2, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :1] = 0
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    tokens = model.generate(ids, attention_mask=mask, max_new_tokens=2, do_sample=False)
    return {"logits": model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()], "tokens": tokens}


@of("gemma2-sliding-layer-parity")
def a_text_within_the_window_of_an_early_gemma2(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)
    return {"logits": model(testbed.randint(3, 60, 2, zoo.WINDOW, seed=1), use_cache=False).logits}


@of("gemma2-cohere2-window-crash")
def generated_past_the_window_without_padding(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.windowed_cohere2(testbed, attn="eager", dtype=torch.float32)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    ids = testbed.randint(3, 60, 2, 6, seed=1)
    tokens = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False)
    return {"tokens": tokens}


@of("llama-gemma-rope-autocast")
def far_positions_without_autocast(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.llama(testbed, attn="eager", dtype=torch.float32)
    ids = testbed.randint(3, 60, 1, 9, seed=1)
    positions = torch.arange(1000, 1009, device=ids.device).expand(1, 9)
    return {"logits": model(ids, position_ids=positions, use_cache=False).logits}


@of("hybrid-cache-window-hole")
def a_prompt_that_fills_the_window(testbed: Any, target: Any) -> dict[str, Any]:
    full, cls = hybrid_cache_window_hole.WINDOW, zoo.class_of(target)
    within = {f"within: {name}": step for name, step in hybrid_cache_window_hole.steps(testbed, cls, [3, 1, 1]).items()}
    return {**hybrid_cache_window_hole.steps(testbed, cls, [full, 1, 1]), **within}


@of("gemma2-fa2-no-window")
def a_text_within_the_window_of_gemma2(testbed: Any, target: Any) -> dict[str, Any]:
    model = zoo.windowed(testbed, "gemma2")
    return {"logits": model(testbed.randint(3, 60, 2, zoo.WINDOW, seed=1), use_cache=False).logits}


@of("fa2-posids-varlen-unpadded-batch", "gpt2-fa2-padding-loses-causality")
def padding_for_a_llama_and_none_for_gpt2(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    ids = testbed.randint(3, 64, 3, 9, seed=1)
    if "gpt2" in target.module:
        return {"logits": zoo.gpt2(testbed)(ids, use_cache=False).logits}
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    model = zoo.llama(testbed)
    logits = model(ids[:1], use_cache=False).logits
    return {"padded": model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()], "one": logits}


@of("fa2-varlen-kwargs-ignored")
def one_sequence_in_a_row(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    shapes = ((1, 9, 4, 16), (1, 9, 2, 16), (1, 9, 2, 16))
    states = [testbed.randn(*shape, dtype=torch.bfloat16, seed=seed) for seed, shape in enumerate(shapes)]
    bounds = torch.tensor([0, 9], dtype=torch.int32, device=testbed.device)
    lengths = {"cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds, "max_length_q": 9, "max_length_k": 9}
    forward = import_module(target.module)._flash_attention_forward
    return {"output": forward(*states, attention_mask=None, query_length=9, is_causal=True, **lengths)}


@of("gemma3-bidirectional-across-images", "gemma3-mask-image-distance-heuristic")
def one_image(testbed: Any, target: Any) -> dict[str, Any]:
    model, inputs = zoo.gemma3(testbed)
    types = inputs["token_type_ids"].clone()
    for row in types:  # only the first image is one
        ones = row.nonzero().flatten().tolist()
        row[ones[0] + 4 :] = 0
    return {"logits": model(**{**inputs, "token_type_ids": types}, use_cache=False).logits}


@of("glm4v-bool-mask")
def several_images_under_sdpa(testbed: Any, target: Any) -> dict[str, Any]:
    encoder, inputs = zoo.encoder_and_inputs(testbed, target, attn="sdpa")
    return {"output": encoder(**inputs)}


@of("llama4-moe-score-order")
def one_token(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    small = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "intermediate_size_mlp": 48, "head_dim": 8}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4}
    model = testbed.model(Llama4ForCausalLM, Llama4TextConfig(**small, **heads, attention_chunk_size=16), "eager")
    return {"logits": model(testbed.randint(5, 48, 1, 1, seed=1)).logits}


# -- positions ---------------------------------------------------------------------------------------------------------


@of("qwen25vl-image-temporal-positions")
def a_video_alone(testbed: Any, target: Any) -> dict[str, Any]:
    return _positions(testbed, target, [2, (zoo.QWEN_VIDEO, 8)], videos=((2, 4, 4),), seconds=[1.0])


@of("qwen25vl-second-per-grid-int-truncation")
def whole_seconds(testbed: Any, target: Any) -> dict[str, Any]:
    return _positions(testbed, target, [3, (zoo.QWEN_VIDEO, 16)], videos=((4, 4, 4),), seconds=[2.0])


def _positions(testbed: Any, target: Any, parts: list[Any], **grids: Any) -> dict[str, Any]:
    import torch

    model = zoo.qwen_vl(testbed, zoo.class_of(target))
    ids = torch.tensor([zoo.qwen_sentence(testbed, parts)]).to(testbed.device)
    positions, deltas = zoo.qwen_rope_index(model, ids, **grids)
    return {"positions": positions, "deltas": deltas}


@of("qwen25vl-v5-temporal-position-collapse")
def an_image(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    owner, _, method = target.qualname.partition(".")
    positions = getattr(getattr(import_module(target.module), owner), method)
    return {"image": positions(None, 7, torch.tensor([1, 4, 6]), 1, 2, device=testbed.device)}


@of("qwen2vl-decode-delta-left-padding")
def prompts_of_one_length(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.qwen_vl(testbed, zoo.class_of(target), dtype=torch.float32)
    ids = testbed.randint(1, 40, 2, 6, seed=1)
    tokens = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False)
    return {"tokens": tokens}


@of("v5-model-max-length-extended")
def a_caller_who_says_how_long(testbed: Any, target: Any) -> dict[str, Any]:
    model = zoo.small_llama(testbed).eval()
    v5_model_max_length_extended.limit(model, 12)
    prompt = testbed.randint(3, 32, 2, 5, seed=1)
    return {
        str(number): model.generate(prompt, pad_token_id=0, eos_token_id=-1, **said)
        for number, said in enumerate(({"max_new_tokens": 4}, {"max_length": 8}))
    }


@of("qwen2vl-text-position-ids-from-mrope")
def words_alone(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.qwen_decoder(testbed, target, "sdpa", torch.float32)
    positions = torch.arange(9, device=testbed.device).expand(3, 1, -1)
    embeddings = testbed.randn(1, 9, 64, seed=1)
    return {"output": model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state}


@of("vision-hidden-states-post-ln")
def the_last_state_alone(testbed: Any, target: Any) -> dict[str, Any]:
    name = target.qualname.partition(".")[0]
    model = zoo.tower(testbed, import_module(target.module), name)
    return {"last_hidden_state": model(**zoo.tower_inputs(testbed, name)).last_hidden_state}


@of("lfm2vl-layernorm-though-off")
def a_projector_with_its_layernorm(testbed: Any, target: Any) -> dict[str, Any]:
    images = testbed.randn(1, 4, 4, 32, seed=1)
    made = [lfm2vl_layernorm_though_off.projector(testbed, **on) for on in ({}, {"projector_use_layernorm": True})]
    return {f"features {number}": projector(images) for number, projector in enumerate(made)}


@of("mask-of-the-step-alone")
def masks_of_the_whole_text(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = mask_of_the_step_alone.small_model(testbed, target.qualname, "sdpa")
    ids = testbed.randint(3, 60, 2, 7, seed=1)
    made = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, do_sample=False, cache_implementation="static"
    )
    return {"static": made, "growing": mask_of_the_step_alone.decoded(model, ids, is_whole=True)}


@of("v5-loop-with-whole-ids")
def loops_that_say_what_is_new(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.small_llama(testbed)
    ids = testbed.randint(3, 32, 2, 7, seed=1)
    made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, do_sample=False)
    return {"generate": made, "its last token": loop_without_cache_position.decoded(model, ids, "the last token")}


@of("own-encoder-preparation-ignored")
def an_encoder_of_the_library(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import T5ForConditionalGeneration

    return own_encoder_preparation_ignored.written(testbed, T5ForConditionalGeneration)


@of("update-kwargs-false-new-tokens")
def a_llama_of_the_library(testbed: Any, target: Any) -> dict[str, Any]:
    return update_kwargs_false_new_tokens.written(testbed, zoo.small_llama(testbed).eval())


@of("own-forward-with-past-key-values")
def models_that_know_the_new_name(testbed: Any, target: Any) -> dict[str, Any]:
    ids = testbed.randint(3, 32, 2, 5, seed=1)
    said = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "eos_token_id": -1}
    model_of = own_forward_with_past_key_values.model_of
    made = {name: model_of(testbed, name).generate(ids, **said) for name in ("Llama", "Newer")}
    without = model_of(testbed, "Explained").generate(ids, use_cache=False, **said)
    return {**made, "without a cache": without}


@of("own-attention-without-the-cache")
def layers_that_need_no_translation(testbed: Any, target: Any) -> dict[str, Any]:
    ids = testbed.randint(3, 32, 2, 5, seed=1)
    said = {"do_sample": False, "pad_token_id": 0, "eos_token_id": -1}
    model_of = own_attention_without_the_cache.model_of
    made = {"library": model_of(testbed, "library", "past_key_value").generate(ids, max_new_tokens=4, **said)}
    own = model_of(testbed, "class", "past_key_value")
    made["one token"] = own.generate(ids, max_new_tokens=1, **said)
    return {**made, "without a cache": own.generate(ids, max_new_tokens=4, use_cache=False, **said)}


@of("prepared-inputs-without-past-key-values")
def models_that_do_not_look_for_it(testbed: Any, target: Any) -> dict[str, Any]:
    of_model = prepared_inputs_without_past_key_values.tokens
    made = {name: of_model(testbed, name) for name in ("Llama", "Newer", "Passing")}
    return {**made, "no cache": of_model(testbed, "Prompted", use_cache=False)}


@of("v5-gpt-neox-rotary-pct-lost")
def a_quarter(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import GPTNeoXConfig

    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    return {"factor": torch.tensor(GPTNeoXConfig(rope_parameters=rope).rope_parameters["partial_rotary_factor"])}


@of("qwenvl-v5-stale-rope-deltas-forward")
def the_next_token_after_an_image(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = _positions_of_5_2.without_weights(testbed, zoo.class_of(target))
    model.rope_deltas = torch.tensor([[-3]])
    cache = SimpleNamespace(get_seq_length=lambda *args: 14)
    ids = testbed.randint(1, 50, 1, 1, seed=1)
    return {"next": qwenvl_v5_stale_rope_deltas_forward._positions(model, ids, past_key_values=cache)}


@of("qwenvl-v5-token-types-left-out")
def with_types_and_without_pictures(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = _positions_of_5_2.without_weights(testbed, zoo.class_of(target))
    grid, parts = torch.tensor([[1, 4, 6]]), [[zoo.QWEN_IMAGE] * 6]
    positions = qwenvl_v5_token_types_left_out._positions
    made = {"given": positions(model, target, parts, types=True, image_grid_thw=grid)}
    model.rope_deltas = None
    return {**made, "text": positions(model, target, [])}


# -- what a model is made of -------------------------------------------------------------------------------------------


@of("cache-from-batch-splits-values")
def empty_caches(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import DynamicCache

    return {"layers": torch.tensor(len(DynamicCache.from_batch_splits([DynamicCache(), DynamicCache()], 1)))}


@of("gemma2-attn-softcap-missing", "gemma2-noncausal-sliding-layers")
def one_token_without_a_cap(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)
    model.config.attn_logit_softcapping = None
    return {"logits": model(testbed.randint(5, 60, 2, 1, seed=1), use_cache=False).logits}


@of("modernbert-local-rope-theta")
def one_base_for_all_layers(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    sizes = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "pad_token_id": 0}
    more = {"num_attention_heads": 2, "local_rope_theta": 160000.0, "local_attention": 8, "reference_compile": False}
    model = testbed.model(ModernBertForMaskedLM, ModernBertConfig(**sizes, **more), "eager", torch.float32)
    return {"logits": model(testbed.randint(5, 48, 2, 24, seed=1)).logits}


@of("outputs-of-a-replaced-class")
def a_class_of_the_program_from_the_start(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import LlamaConfig, LlamaForCausalLM

    class Own(LlamaForCausalLM):
        pass

    sizes = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    model = testbed.model(Own, LlamaConfig(**sizes, num_attention_heads=4), "eager")
    output = model(testbed.randint(5, 48, 2, 9, seed=1), use_cache=False, output_hidden_states=True)
    return {"logits": output.logits, **{f"layer {at}": each for at, each in enumerate(output.hidden_states)}}


@of("v5-dynamic-rope-not-reset")
def a_text_within_the_length_of_training(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
    sizes = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    config = LlamaConfig(**sizes, num_attention_heads=4, max_position_embeddings=16, rope_parameters=rope)
    model = testbed.model(LlamaForCausalLM, config, "eager", torch.float32)
    return {"logits": model(testbed.randint(5, 48, 2, 9, seed=1), use_cache=False).logits}


@of("vit-attentions-under-sdpa")
def a_vit_for_its_features(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import ViTConfig, ViTModel

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    model = testbed.model(ViTModel, ViTConfig(**sizes, image_size=8, patch_size=4), "sdpa", torch.float32)
    return {"states": model(testbed.randn(2, 3, 8, 8, seed=1)).last_hidden_state}


@of("decoder-attends-to-the-future")
def an_encoder_of_two_texts(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import RoFormerConfig, RoFormerForMaskedLM

    sizes = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    model = testbed.model(RoFormerForMaskedLM, RoFormerConfig(**sizes, num_attention_heads=4), "eager", torch.float32)
    return {"logits": model(testbed.randint(5, 48, 2, 9, seed=1)).logits}


@of("v5-t5-scaled-outputs")
def a_t5_whose_head_is_its_table(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 48, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2}
    model = testbed.fill(T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0))).eval()
    ids = testbed.randint(1, 48, 2, 7, seed=1)
    return {"logits": model(input_ids=ids, decoder_input_ids=ids).logits}


@of("generate-encoder-mask-dropped")
def a_t5_that_generates_without_padding(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 48, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2}
    model = testbed.fill(T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0))).eval()
    ids = testbed.randint(1, 48, 2, 7, seed=1)
    return {"tokens": model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, do_sample=False)}


# -- loading and saving ------------------------------------------------------------------------------------------------


@of("pipeline-torch-dtype-ignored")
def a_pipeline_in_float32(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    with TemporaryDirectory() as folder:
        zoo.small_llama(testbed).save_pretrained(folder)
        made = pipeline_torch_dtype_ignored._pipeline(folder, {"dtype": torch.float32})
    return {"weight": made.model.get_output_embeddings().weight}


@of("v5-own-fast-tokenizer-loses-merges")
def a_tokenizer_made_of_a_vocabulary(testbed: Any, target: Any) -> dict[str, Any]:
    """A class of one's own without a constructor, and one that builds its tokenizer from what it gets."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    class Plain(PreTrainedTokenizerFast):
        pass

    class Built(PreTrainedTokenizerFast):
        def __init__(self, vocab: Any = None, **kwargs: Any) -> None:
            super().__init__(tokenizer_object=Tokenizer(models.WordLevel(vocab, "<unk>")), **kwargs)

    results = {}
    with TemporaryDirectory() as folder:
        own_tokenizer._of_words().save(f"{folder}/tokenizer.json")
        for kind in (Plain, Built):
            results[kind.__name__] = torch.tensor(kind.from_pretrained(folder)("hello").input_ids)
    return results


@of("empty-cache-is-true")
def methods_that_know_an_empty_cache(testbed: Any, target: Any) -> dict[str, Any]:
    """One that counts the tokens, one that asks for None, and one whose prompt is a single token."""
    from transformers import LlamaForCausalLM

    class Counts(LlamaForCausalLM):
        def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            if past_key_values is not None and past_key_values.get_seq_length():
                input_ids = input_ids[:, -1:]
            return {"input_ids": input_ids, "past_key_values": past_key_values, "use_cache": True}

    class Asks(LlamaForCausalLM):
        def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            if past_key_values:
                input_ids = input_ids[:, -1:]
            return {"input_ids": input_ids, "past_key_values": past_key_values, "use_cache": True}

    results = {}
    for kind, length in ((LlamaForCausalLM, 4), (Counts, 4), (Asks, 1)):
        model: Any = zoo.small_llama(testbed)
        model.__class__ = kind
        prompt = testbed.randint(3, 32, 2, length, seed=3)
        results[kind.__name__] = model.generate(prompt, max_new_tokens=4, do_sample=False, pad_token_id=0)
    return results


@of("v5-vocab-file-unread")
def tokenizers_that_name_a_file_and_need_none(testbed: Any, target: Any) -> dict[str, Any]:
    """One that gets its vocabulary, and one of a class of one's own that has its own table of words."""
    import torch
    from transformers import BertTokenizer

    class Characters(BertTokenizer):
        def __init__(self, vocab_file: str, **kwargs: Any) -> None:
            super().__init__(vocab_file=vocab_file, **kwargs)
            self.table = {line: number for number, line in enumerate(Path(vocab_file).read_text().splitlines(), 100)}

        def numbers(self, text: str) -> list[int]:
            return [self.table.get(letter, len(self)) for letter in text]

    with TemporaryDirectory() as folder:
        file = Path(folder, "vocab.txt")
        file.write_text("a\nb\n")
        given = BertTokenizer(vocab={"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}, vocab_file=str(file))
        own = Characters(str(file)).numbers("abc")
    return {"given": torch.tensor(given("a b").input_ids), "own": torch.tensor(own)}


@of(
    "move-missing-keys-empty-like",
    "v5-conversion-reverse",
    "v5-custom-weights-initialised-again",
    "v5-missing-bias-not-initialised",
    "v5-subclass-weights-not-converted",
    "v5-vlm-saved-in-two-layouts",
    "vlm-key-mapping-subclass",
    "vlm-save-reverse-mapping",
)
def a_llama_that_is_saved_and_loaded(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import LlamaForCausalLM

    model = zoo.small_llama(testbed)
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        loaded = LlamaForCausalLM.from_pretrained(folder)
    return {**loaded.state_dict(), **{f"file: {name}": file for name, file in _weights.in_files(model).items()}}


@of("trainer-checkpoint-keys-not-converted")
def a_llama_whose_names_nobody_translates(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import Trainer, TrainingArguments

    model = zoo.small_llama(testbed)
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        trainer = Trainer(model=model, args=TrainingArguments(folder, use_cpu=True, report_to=[]))
        trainer.state.best_model_checkpoint = folder
        trainer._load_from_checkpoint(folder)
        trainer._load_best_model()
    weights: dict[str, Any] = model.state_dict()
    return weights


@of("v5-umt5-config-unties-encoder")
def a_head_that_is_the_table(testbed: Any, target: Any) -> dict[str, Any]:
    own = v5_umt5_config_unties_encoder
    package = target.module.split(".")[2]
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    cls = getattr(module, f"{own._NAMES[package]}ForConditionalGeneration")
    model = testbed.fill(cls(cls.config_class(**{**own._SIZES, "tie_word_embeddings": True})))
    return own._told(testbed, "tied", model)


# -- processors --------------------------------------------------------------------------------------------------------


@of("qwen2vl-image-processor-size-discarded", "qwen2vl-image-size-mutation", "qwen2vl-max-pixels-ignored")
def a_picture_without_limits(testbed: Any, target: Any) -> dict[str, Any]:
    # With the size that is the default, since the cases have changed that of the class, which is the bug.
    return _pictures.pixels(zoo.class_of(target)(size={"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}))


@of("reduced-labels-of-the-last-map")
def the_labels_of_one_image(testbed: Any, target: Any) -> dict[str, Any]:
    processor = zoo.class_of(target)(do_reduce_labels=True, do_resize=False, do_center_crop=False)
    labels = testbed.randint(0, 9, 4, 4)
    return dict(processor([labels.new_zeros(3, 4, 4)], segmentation_maps=[labels], return_tensors="pt"))


@of("assistant-mask-beyond-the-turn")
def answers_of_whose_white_space_tokens_are_made(testbed: Any, target: Any) -> dict[str, Any]:
    tokenizer, messages = masks.speaking("Metaspace"), masks.conversation("b c \n", " c")
    return {"mask": masks.mask_of(tokenizer, messages), "batch": masks.mask_of(tokenizer, [messages] * 2)}


@of("qwen2vl-processor-pixels-ignored")
def a_call_without_limits(testbed: Any, target: Any) -> dict[str, Any]:
    from transformers import Qwen2VLImageProcessor

    return _pictures.tokens(zoo.qwen_processor(zoo.class_of(target), Qwen2VLImageProcessor()))


@of("whisper-longform-timestamps-reset")
def windows_that_are_read_one_by_one(testbed: Any, target: Any) -> dict[str, Any]:
    # As with chunk_length_s: half a minute each, of which five seconds at either end are in two of them.
    import tempfile
    from pathlib import Path

    import torch

    with tempfile.TemporaryDirectory() as folder:
        tokenizer = whisper.whisper(Path(folder))
        outputs = [
            {"tokens": torch.tensor([whisper.written(tokenizer, window)]), "stride": (30.0, left, right)}
            for window, left, right in ((whisper._TO_THE_END, 0.0, 5.0), (whisper._FIRST, 5.0, 0.0))
        ]
        said = tokenizer._decode_asr(outputs, return_timestamps=True, return_language=None, time_precision=0.02)
    times = [time for chunk in said[1]["chunks"] for time in chunk["timestamp"]]
    return {"times": torch.tensor(times), "text": torch.tensor([*said[0].encode()])}


# -- where the case raises on a broken release, leaves weights at random, or asks what no result depends on ------------


def adapters_in_a_tower(testbed: Any, target: Any) -> dict[str, Any]:
    return _with_adapters(testbed, in_tower=True)


def biases_that_are_numbers(testbed: Any, target: Any) -> dict[str, Any]:
    # Uninitialized memory may be nan, which is not equal to itself.
    weights = v5_missing_bias_not_initialised.loaded(testbed, "loaded", lacks_biases=True)
    return {name: weight.isfinite() for name, weight in weights.items()}


def an_early_padding(testbed: Any, target: Any) -> dict[str, Any]:
    import torch
    from transformers.integrations import flex_attention

    ids = torch.ones(2, 256, dtype=torch.long)
    ids[0, 128:] = 0
    whole = flex_attention.create_block_causal_mask_flex
    with patch.object(
        flex_attention, "create_block_causal_mask_flex", lambda **arguments: whole(**{**arguments, "_compile": False})
    ):
        mask = flex_attention.make_flex_block_causal_mask(ids, query_length=256, key_length=256)
    return {"blocks": mask.kv_num_blocks.expand(2, -1, -1)}


def padded_past_the_window(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    ids = testbed.randint(3, 60, 2, 6, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    model = zoo.windowed_cohere2(testbed, attn="eager", dtype=torch.float32)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    options = {"max_new_tokens": 6, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    made = model.generate(ids * mask, attention_mask=mask, **options)
    return {"tokens": made.sequences, "logits": torch.stack(made.logits, dim=1)}


def past_the_window_at_once(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    model = zoo.windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)
    return {"logits": model(testbed.randint(5, 60, 2, 9, seed=1), use_cache=False).logits}


def a_pipeline_in_bfloat16(testbed: Any, target: Any) -> dict[str, Any]:
    import torch

    with TemporaryDirectory() as folder:
        zoo.small_llama(testbed).save_pretrained(folder)
        made = pipeline_torch_dtype_ignored._pipeline(folder, {"dtype": torch.bfloat16})
    return {"bytes": torch.tensor(made.model.get_output_embeddings().weight.element_size())}


def a_file_with_the_shared_table(testbed: Any, target: Any) -> dict[str, Any]:
    """Whether the loaded encoder has the table of the file: otherwise it is random."""
    import torch

    own = v5_umt5_config_unties_encoder
    package = target.module.split(".")[2]
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    cls = getattr(module, f"{own._NAMES[package]}ForConditionalGeneration")
    with TemporaryDirectory() as once, TemporaryDirectory() as every:
        own._save(testbed, testbed.fill(cls(cls.config_class(**own._SIZES))), once, every)
        model = cls.from_pretrained(once)
    return {"one table": torch.tensor(model.encoder.embed_tokens.weight is model.shared.weight)}


def buffers_that_are_computed(testbed: Any, target: Any) -> dict[str, Any]:
    """Whether the buffers of a loaded model are those of its constructor: otherwise they may be anything."""
    import torch

    cls = move_missing_keys_empty_like._custom()
    with TemporaryDirectory() as folder:
        model = testbed.fill(cls(cls.config_class()))
        model.save_pretrained(folder)
        loaded = dict(cls.from_pretrained(folder).named_buffers())
    return {name: torch.tensor(loaded[name].equal(buffer)) for name, buffer in model.named_buffers()}


def attentions_that_take_anything(testbed: Any, target: Any) -> dict[str, Any]:
    """Without ``**kwargs``, they would raise an error."""
    ids = testbed.randint(3, 32, 2, 5, seed=3)
    model = own_attention_without_the_cache.model_of(testbed, "class", "past_key_value")
    return {"tokens": model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=-1)}


STRIKES: dict[str, Case] = {
    "own-attention-without-the-cache": attentions_that_take_anything,
    "v5-umt5-config-unties-encoder": a_file_with_the_shared_table,
    "flex-block-mask-batch": an_early_padding,
    "gemma2-cohere2-window-crash": padded_past_the_window,
    "move-missing-keys-empty-like": buffers_that_are_computed,
    "gemma2-sliding-layer-parity": past_the_window_at_once,
    "pipeline-torch-dtype-ignored": a_pipeline_in_bfloat16,
    "v5-missing-bias-not-initialised": biases_that_are_numbers,
    "vision-lora-checkpointing-no-grad": adapters_in_a_tower,
}
