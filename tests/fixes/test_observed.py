"""Each trigger on a broken release: its case strikes, a harmless input does not, and results are equal to the bit."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from hotfix.engine.catalogue import INDEX
from tests.fixes import harmless
from tools import matrix
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FIXES = json.loads(INDEX.read_text(encoding="utf-8"))["fixes"]
STEP = "transformers.trainer:Trainer.training_step"
UTILS = "transformers.modeling_flash_attention_utils:_flash_attention_forward"
OF_THE_DAY = {"accelerate": "1.1.1"}
LATER = {"accelerate": "1.15.0"}


def _model(name: str, what: str) -> str:
    return f"transformers.models.{name}.modeling_{name}:{what}"


# Release, what is installed beside, and the fixes whose cases are run in one process, each on one target.
RUNS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "4.44.0": (
        {},
        {
            "gemma2-fa2-no-window": _model("gemma2", "Gemma2FlashAttention2.forward"),
            "fa2-sliding-window-mask-slicing": _model("mistral", "MistralFlashAttention2.forward"),
        },
    ),
    "4.46.2": (OF_THE_DAY, {"trainer-ddp-no-sync-inverted": "transformers.trainer:Trainer._inner_training_loop"}),
    "4.47.1": (OF_THE_DAY, {"trainer-ga-multiplied-loss": STEP}),
    "4.48.0": (
        LATER,
        {
            "trainer-ga-num-items-dropped": STEP,
            "labels-shifted-twice": _model("moonshine", "MoonshineForConditionalGeneration.forward"),
            "phi-lm-head-bias": _model("phi", "PhiForCausalLM.__init__"),
        },
    ),
    "4.50.0": (
        {},
        {"gemma3-bidirectional-across-images": _model("gemma3", "Gemma3ForConditionalGeneration._update_causal_mask")},
    ),
    "4.52.1": (LATER, {"opt-double-scaling": _model("opt", "OPTAttention.forward")}),
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
            "gptbigcode-inverse-scale": _model("gpt_bigcode", "GPTBigCodeAttention.__init__"),
            "llama4-moe-score-order": _model("llama4", "Llama4TextMoe.forward"),
            "num-items-off-by-one": "transformers.trainer:Trainer.get_batch_samples",
            "qwen2vl-decode-delta-left-padding": _model(
                "qwen2_vl", "Qwen2VLForConditionalGeneration.prepare_inputs_for_generation"
            ),
            "qwen2vl-text-position-ids-from-mrope": _model("qwen2_vl", "Qwen2VLTextModel.forward"),
            "trainer-dp-loss-mean-num-items": "transformers.trainer:Trainer.compute_loss",
            "vision-hidden-states-post-ln": _model("got_ocr2", "GotOcr2VisionEncoder.forward"),
        },
    ),
    "4.57.1": ({}, {"gpt2-fa2-padding-loses-causality": _model("gpt2", "GPT2Attention.forward")}),
    "5.4.0": (
        LATER,
        {
            "ga-loss-kwargs-swallowed-seq2seq-v5": _model("t5", "T5ForConditionalGeneration.__init__"),
            "qwen25vl-image-temporal-positions": _model("qwen2_5_vl", "Qwen2_5_VLModel.get_rope_index"),
            "qwen25vl-v5-temporal-position-collapse": _model("qwen2_vl", "Qwen2VLModel.get_vision_position_ids"),
            "v5-trainer-ga-double-division": STEP,
        },
    ),
    "5.12.1": (LATER, {"v5-num-items-undercount-seq2seq": "transformers.trainer:Trainer.__init__"}),
}
CASES = [(release, fix) for release, (_, fixes) in RUNS.items() for fix in fixes]


@cache
def ran(release, observing):
    packages, fixes = RUNS[release]
    chosen = {**matrix.PACKAGES, **packages}
    beside: dict[str, Any] = {name.replace("-", "_"): chosen.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" if version else name for name, version in chosen.items() if version is not None]
    cases = [(fix, FIXES[fix]["module"], place) for fix, place in fixes.items()]
    switches = {"HOTFIX_MODE": "observe", "HOTFIX_OPTIN": ",".join(fixes)} if observing else {}
    env = {"OBSERVED": json.dumps(cases), **switches}
    return run(
        "tests.fixes.observed:every", transformers=release, **beside, extras=extras, env=env, hotfix=observing
    ).require()


def part(result, fix, way):
    start = f"{fix} {way}: "
    return {name[len(start) :]: value for name, value in result.tensors.items() if name.startswith(start)}


def counts(told):
    return {name: int(told.pop(name)) for name in ("calls", "struck", "untold")}


@pytest.mark.parametrize(("release", "fix"), CASES)
def test_the_case_strikes_and_nothing_changes(release, fix):
    told = part(ran(release, True), fix, "case")
    counted = counts(told)
    without = part(ran(release, False), fix, "case")
    assert counted["struck"] > 0
    assert counted["untold"] == 0
    assert told.keys() == without.keys()
    assert [name for name, value in told.items() if not torch.equal(value, without[name])] == []


@pytest.mark.parametrize(("release", "fix"), [one for one in CASES if one[1] in harmless.CASES])
def test_a_harmless_input_does_not_strike(release, fix):
    counted = counts(part(ran(release, True), fix, "harmless"))
    assert counted["calls"] > 0
    assert (counted["struck"], counted["untold"]) == (0, 0)
