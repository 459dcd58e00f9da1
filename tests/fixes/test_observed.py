"""Each trigger on a broken release: its case strikes, a harmless input does not, and results are equal to the bit."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from hotfix import trigger
from hotfix.engine.catalogue import INDEX
from tests.fixes import harmless
from tools import matrix
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FIXES = json.loads(INDEX.read_text(encoding="utf-8"))["fixes"]
PREPARE = "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"
STEP = "transformers.trainer:Trainer.training_step"
UTILS = "transformers.modeling_flash_attention_utils:_flash_attention_forward"
OF_THE_DAY = {"accelerate": "1.1.1"}
LATER = {"accelerate": "1.15.0"}
PICTURES = {"torchvision": "0.28.0"}


def _model(name: str, what: str) -> str:
    return f"transformers.models.{name}.modeling_{name}:{what}"


def _qwen2_vl(what: str) -> str:
    kind = "image_processing_qwen2_vl_fast" if "Fast" in what else "image_processing_qwen2_vl"
    kind = "processing_qwen2_vl" if what.startswith("Qwen2VLProcessor.") else kind
    return f"transformers.models.qwen2_vl.{kind}:{what}"


# Release, the packages installed with it, and the fixes whose cases are run in one process, each on one target.
RUNS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "4.38.1": ({}, {"llama-gemma-rope-autocast": _model("llama", "LlamaRotaryEmbedding.forward")}),
    "4.42.0": (
        {"flash-attn": None},
        {
            "gemma2-attn-softcap-missing": _model("gemma2", "Gemma2Attention.forward"),
            "gemma2-noncausal-sliding-layers": _model("gemma2", "Gemma2DecoderLayer.forward"),
        },
    ),
    "4.42.3": ({}, {"gemma2-sliding-layer-parity": _model("gemma2", "Gemma2DecoderLayer.__init__")}),
    "4.44.0": (
        {},
        {
            "gemma2-fa2-no-window": _model("gemma2", "Gemma2FlashAttention2.forward"),
            "fa2-sliding-window-mask-slicing": _model("mistral", "MistralFlashAttention2.forward"),
            "whisper-longform-timestamps-reset": "transformers.models.whisper.tokenization_whisper:_decode_asr",
        },
    ),
    "4.45.0": (
        {"flash-attn": None},
        {
            "cache-from-batch-splits-values": "transformers.cache_utils:DynamicCache.from_batch_splits",
            "vit-attentions-under-sdpa": _model("vit", "ViTSdpaSelfAttention.forward"),
        },
    ),
    "4.46.2": (OF_THE_DAY, {"trainer-ddp-no-sync-inverted": "transformers.trainer:Trainer._inner_training_loop"}),
    "4.47.1": (OF_THE_DAY, {"trainer-ga-multiplied-loss": STEP}),
    "4.48.0": (
        LATER,
        {
            "trainer-ga-num-items-dropped": STEP,
            "trainer-last-accumulation-remainder": "transformers.trainer:Trainer._inner_training_loop",
            "labels-shifted-twice": _model("moonshine", "MoonshineForConditionalGeneration.forward"),
            "phi-lm-head-bias": _model("phi", "PhiForCausalLM.__init__"),
        },
    ),
    "4.48.1": ({}, {"gemma2-cohere2-window-crash": _model("cohere2", "Cohere2DecoderLayer.forward")}),
    "4.48.3": ({**OF_THE_DAY, "deepspeed": "0.16.2"}, {"deepspeed-double-gas-scaling": STEP}),
    "4.50.0": (
        {},
        {"gemma3-bidirectional-across-images": _model("gemma3", "Gemma3ForConditionalGeneration._update_causal_mask")},
    ),
    "4.49.0": (
        PICTURES,
        {
            "generate-encoder-mask-dropped": PREPARE,
            "qwen2vl-processor-pixels-ignored": _qwen2_vl("Qwen2VLProcessor.__call__"),
        },
    ),
    "4.50.1": (
        PICTURES,
        {
            "qwen2vl-image-processor-size-discarded": _qwen2_vl("Qwen2VLImageProcessor.__init__"),
            "qwen2vl-image-size-mutation": _qwen2_vl("Qwen2VLImageProcessor.preprocess"),
            "qwen2vl-max-pixels-ignored": _qwen2_vl("Qwen2VLImageProcessor.preprocess"),
        },
    ),
    "4.53.3": (
        PICTURES,
        {
            "assistant-mask-beyond-the-turn": (
                "transformers.tokenization_utils_base:PreTrainedTokenizerBase.apply_chat_template"
            ),
            "reduced-labels-of-the-last-map": (
                "transformers.models.beit.image_processing_beit_fast:BeitImageProcessorFast._preprocess"
            ),
            "qwen2vl-image-processor-size-discarded": _qwen2_vl("Qwen2VLImageProcessorFast.__init__"),
            "qwen2vl-max-pixels-ignored": _qwen2_vl("Qwen2VLImageProcessorFast.preprocess"),
        },
    ),
    "5.0.0": (
        {"flash-attn": None},
        {
            "move-missing-keys-empty-like": (
                "transformers.modeling_utils:PreTrainedModel._move_missing_keys_from_meta_to_device"
            ),
            "v5-own-fast-tokenizer-loses-merges": (
                "transformers.tokenization_utils_tokenizers:TokenizersBackend.convert_to_native_format"
            ),
            "v5-t5-scaled-outputs": "transformers.models.t5.configuration_t5:T5Config.__init__",
            "v5-umt5-config-unties-encoder": "transformers.models.umt5.configuration_umt5:UMT5Config.__init__",
            "v5-vocab-file-unread": "transformers.models.bert.tokenization_bert:BertTokenizer.__init__",
        },
    ),
    "5.3.0": (
        PICTURES,
        {
            "qwenvl-v5-stale-rope-deltas-forward": _model("qwen2_vl", "Qwen2VLModel.compute_3d_position_ids"),
            "qwenvl-v5-token-types-left-out": _model("qwen2_5_vl", "Qwen2_5_VLModel.compute_3d_position_ids"),
            "qwen2vl-image-size-mutation": _qwen2_vl("Qwen2VLImageProcessorFast.__init__"),
            "qwen2vl-max-pixels-ignored": _qwen2_vl("Qwen2VLImageProcessorFast._further_process_kwargs"),
            "v5-debertav2-no-special-tokens": (
                "transformers.models.deberta_v2.tokenization_deberta_v2:DebertaV2Tokenizer.__init__"
            ),
        },
    ),
    "5.17.0": (
        PICTURES,
        {
            "decoder-attends-to-the-future": _model("roformer", "RoFormerModel.forward"),
            "qwen2vl-image-size-mutation": _qwen2_vl("Qwen2VLImageProcessor.__init__"),
            "qwen2vl-max-pixels-ignored": _qwen2_vl("Qwen2VLImageProcessor._standardize_kwargs"),
        },
    ),
    "4.51.0": (
        {},
        {
            "flex-block-mask-batch": "transformers.integrations.flex_attention:make_flex_block_causal_mask",
            "hybrid-cache-window-hole": "transformers.cache_utils:HybridCache._sliding_update",
        },
    ),
    "4.52.1": (
        LATER,
        {
            "opt-double-scaling": _model("opt", "OPTAttention.forward"),
            "trainer-checkpoint-keys-not-converted": "transformers.trainer:Trainer._load_from_checkpoint",
            "vlm-key-mapping-subclass": "transformers.modeling_utils:PreTrainedModel.from_pretrained",
            "vlm-save-reverse-mapping": "transformers.modeling_utils:PreTrainedModel.save_pretrained",
        },
    ),
    "4.53.0": (
        {},
        {
            "fa2-varlen-kwargs-ignored": UTILS,
            "gemma3-mask-image-distance-heuristic": _model("gemma3", "token_type_ids_mask_function"),
            "glm4v-bool-mask": _model("glm4v", "Glm4vVisionAttention.forward"),
            "qwen25vl-second-per-grid-int-truncation": _model("qwen2_5_vl", "Qwen2_5_VLModel.get_rope_index"),
        },
    ),
    "4.54.0": (
        LATER,
        {
            "fa-sliding-window-off-by-one": UTILS,
            "fa2-posids-varlen-unpadded-batch": UTILS,
            "ga-loss-kwargs-swallowed-vlm": _model("mamba", "MambaForCausalLM.__init__"),
            "gptbigcode-inverse-scale": _model("gpt_bigcode", "GPTBigCodeAttention.forward"),
            "llama4-moe-score-order": _model("llama4", "Llama4TextMoe.forward"),
            "modernbert-local-rope-theta": _model("modernbert", "ModernBertAttention.__init__"),
            "num-items-off-by-one": "transformers.trainer:Trainer.get_batch_samples",
            "qwen2vl-decode-delta-left-padding": _model(
                "qwen2_vl", "Qwen2VLForConditionalGeneration.prepare_inputs_for_generation"
            ),
            "qwen2vl-text-position-ids-from-mrope": _model("qwen2_vl", "Qwen2VLTextModel.forward"),
            "trainer-dp-loss-mean-num-items": "transformers.trainer:Trainer.compute_loss",
            "vision-hidden-states-post-ln": _model("got_ocr2", "GotOcr2VisionEncoder.forward"),
            "vision-lora-checkpointing-no-grad": (
                "transformers.modeling_utils:PreTrainedModel.enable_input_require_grads"
            ),
        },
    ),
    "4.56.0": (
        {"flash-attn": None},
        {
            "empty-cache-is-true": "transformers.generation.utils:GenerationMixin.generate",
            "pipeline-torch-dtype-ignored": "transformers.pipelines:pipeline",
        },
    ),
    "4.57.1": (
        {},
        {
            "gpt2-fa2-padding-loses-causality": _model("gpt2", "GPT2Attention.forward"),
            "idefics-smolvlm-position-ids": _model("idefics3", "Idefics3VisionEmbeddings.forward"),
            "lfm2vl-layernorm-though-off": _model("lfm2_vl", "Lfm2VlMultiModalProjector.__init__"),
            "mask-of-the-step-alone": "transformers.masking_utils:create_causal_mask",
        },
    ),
    "5.2.0": (
        LATER,
        {
            "v5-missing-bias-not-initialised": "transformers.modeling_utils:PreTrainedModel._initialize_weights",
            "v5-model-max-length-extended": "transformers.generation.utils:GenerationMixin.generate",
        },
    ),
    "5.4.0": (
        LATER,
        {
            "v5-loop-with-whole-ids": "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation",
            "ga-loss-kwargs-swallowed-seq2seq-v5": _model("t5", "T5ForConditionalGeneration.__init__"),
            "shift-labels-dropped-by-heads": _model("qwen3_vl", "Qwen3VLForConditionalGeneration.forward"),
            "qwen25vl-image-temporal-positions": _model("qwen2_5_vl", "Qwen2_5_VLModel.get_rope_index"),
            "qwen25vl-v5-temporal-position-collapse": _model("qwen2_vl", "Qwen2VLModel.get_vision_position_ids"),
            "v5-conversion-reverse": "transformers.core_model_loading:WeightTransform.rename_source_key",
            "v5-custom-weights-initialised-again": "transformers.modeling_utils:PreTrainedModel._initialize_weights",
            "v5-dynamic-rope-not-reset": "transformers.modeling_rope_utils:dynamic_rope_update",
            "v5-vlm-saved-in-two-layouts": "transformers.core_model_loading:revert_weight_conversion",
            "v5-additional-special-tokens-lost": (
                "transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained"
            ),
            "v5-gpt-neox-rotary-pct-lost": (
                "transformers.models.gpt_neox.configuration_gpt_neox:GPTNeoXConfig.convert_rope_params_to_dict"
            ),
            "v5-trainer-ga-double-division": STEP,
        },
    ),
    "5.5.1": ({}, {"gemma4-kv-share-no-cache": _model("gemma4", "Gemma4TextAttention.forward")}),
    "5.12.1": (
        LATER,
        {
            "label-smoothing-by-micro-batch": "transformers.trainer:Trainer.compute_loss",
            "v5-num-items-undercount-seq2seq": "transformers.trainer:Trainer._get_num_items_in_batch",
        },
    ),
    "5.24.0": (
        LATER,
        {
            "own-encoder-preparation-ignored": (
                "transformers.generation.utils:GenerationMixin._maybe_prepare_encoder_kwargs_for_generation"
            ),
            "trainer-own-optimizer-ignored": "transformers.trainer:Trainer._prepare_for_training",
            "trainer-own-rotation-ignored": "transformers.trainer:Trainer._save_checkpoint",
            "update-kwargs-false-new-tokens": (
                "transformers.generation.utils:GenerationMixin._update_model_kwargs_for_generation"
            ),
            "own-attention-without-the-cache": (
                "transformers.generation.utils:GenerationMixin._prepare_cache_for_generation"
            ),
            "own-forward-with-past-key-values": "transformers.generation.utils:GenerationMixin._validate_model_kwargs",
            "prepared-inputs-without-past-key-values": (
                "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"
            ),
        },
    ),
}
ALWAYS = ("4.48.0", "4.54.0")
TWO_RANKS = "trainer-ddp-no-sync-inverted"  # in children, which have records of their own


def cases():
    parameters = []
    for release, (_, fixes) in RUNS.items():
        marks = [pytest.mark.shares(f"observed {release}"), *([] if release in ALWAYS else [pytest.mark.slow])]
        parameters += [pytest.param(release, fix, marks=marks, id=fix) for fix in fixes]
    return parameters


def with_a_harmless_input():
    return [case for case in cases() if case.values[1] in harmless.CASES]


@cache
def ran(release, mode, **more):
    packages, fixes = RUNS[release]
    chosen: dict[str, Any] = {**matrix.PACKAGES, **packages}
    beside: dict[str, Any] = {name.replace("-", "_"): chosen.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" for name, version in chosen.items()]
    cases = [(fix, FIXES[fix]["module"], place) for fix, place in fixes.items()]
    switches = {"HOTFIX_MODE": mode, "HOTFIX_OPTIN": ",".join(fixes)} if mode else {}
    env = {"CASE_OBSERVED": json.dumps(cases), **switches, **more}
    every = "tests.fixes.observed:every"
    return run(every, transformers=release, **beside, extras=extras, env=env, hotfix=bool(mode)).require()


def part(result, fix, way):
    start = f"{fix} {way}: "
    return {name[len(start) :]: value for name, value in result.tensors.items() if name.startswith(start)}


def counts(tensors):
    return {name: int(tensors.pop(name, 0)) for name in ("calls", "struck", "untold")}


def changed(first, other):
    assert first.keys() == other.keys()
    assert "raised" not in first
    return [name for name, value in first.items() if not torch.equal(value, other[name])]


@pytest.mark.parametrize(("release", "fix"), list(cases()))
def test_the_case_strikes_and_nothing_changes(release, fix):
    observed_run = part(ran(release, "observe"), fix, "case")
    counted = counts(observed_run)
    assert fix == TWO_RANKS or counted["struck"] > 0
    assert counted["untold"] == 0
    assert changed(observed_run, part(ran(release, ""), fix, "case")) == []


@pytest.mark.parametrize(("release", "fix"), with_a_harmless_input())
def test_a_harmless_input_does_not_strike_and_nothing_changes(release, fix):
    results = part(ran(release, "observe"), fix, "harmless")
    counted = counts(results)
    assert counted["calls"] > 0
    assert (counted["struck"], counted["untold"]) == (0, 0)
    assert changed(results, part(ran(release, ""), fix, "harmless")) == []


@pytest.mark.slow
@pytest.mark.parametrize(("release", "fix"), list(cases()))
def test_affected_calls_are_those_that_the_repair_changes(release, fix):
    without, repaired = ran(release, ""), ran(release, "repair", HOTFIX_COUNT="1")
    results = part(repaired, fix, "case")
    spared = counts(results)
    stock = part(without, fix, "case")
    # The names in a file are what some repairs change.
    assert results.keys() != stock.keys() or changed(results, stock)
    if fix in harmless.CASES:
        results = part(repaired, fix, "harmless")
        assert counts(results)["struck"] == 0
        assert fix in ALSO_MEETS or changed(results, part(without, fix, "harmless")) == []
    condition = trigger.load(fix, FIXES[fix]["module"])
    assert condition is not None
    wanted = counts(part(ran(release, "observe"), fix, "case"))["struck"]
    assert spared["struck"] == (wanted if condition.while_repaired else 0)


# Harmless to the one bug, and not alone in this process.
ALSO_MEETS = {
    "qwen25vl-image-temporal-positions",  # meets qwen25vl-v5-temporal-position-collapse
    "qwen2vl-image-size-mutation",  # meets the limit that its own case has left behind
}


@pytest.mark.shares("observed 4.46.2")
def test_two_ranks_are_counted_exactly(tmp_path):
    from hotfix.reports import fleet

    ran("4.46.2", "observe", HOTFIX_RECORD=str(tmp_path))
    rows = {(entry["fix"], entry["place"]): entry for entry in fleet.summarise(tmp_path).observed}
    row = rows[TWO_RANKS, STEP]
    # Each rank takes a step of one micro-batch and one of two. The process that has started them takes a step as well,
    # on which nothing strikes; the testbed ends it, before or after it has written that down.
    beside = row["processes"] - 2
    assert beside in (0, 1)
    assert (row["calls"], row["asked"], row["struck"], row["untold"]) == (6 + beside, 6 + beside, 6, 0)
    assert row["ranks"] == [0, 1]
