"""Qwen3-VL moves labels by itself where they were moved before a text was cut up: each part loses a target.

Symptom   Silent. Under context or sequence parallelism the loss leaves out one label in each part of a text, and
          is not that of the whole text.
Cause     Code that splits a text shifts its labels first, and passes them on as ``shift_labels``, which the loss takes
          as they are. The model does not pass them on, and the loss moves the ``labels`` of its part.
Releases  Qwen3-VL and Qwen3-VL MoE, 4.57.1 to 5.16.1
Upstream  transformers#48491, transformers#48493 (fixed in 5.17.0)
Here      ``shift_labels`` of the shape of ``labels`` are passed on to the library's loss, and nothing else. Equal to
          5.17.0 where the number of labels is not given, as the Trainer does not give it to these models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

_WITHOUT_CASE = (
    "cosmos3_omni Cosmos3OmniForConditionalGeneration",
    "ernie4_5_vl_moe Ernie4_5_VL_MoeForConditionalGeneration",
    "ernie4_5_vl_moe Ernie4_5_VLMoeForConditionalGeneration",
    "glm46v Glm46VForConditionalGeneration",
    "glm4v Glm4vForConditionalGeneration",
    "glm4v_moe Glm4vMoeForConditionalGeneration",
    "glm_image GlmImageForConditionalGeneration",
    "glm_ocr GlmOcrForConditionalGeneration",
    "janus JanusForConditionalGeneration",
    "minicpmv4_6 MiniCPMV4_6ForConditionalGeneration",
    "minimax_m3_vl MiniMaxM3SparseForConditionalGeneration",
    "qwen3_5 Qwen3_5ForConditionalGeneration",
    "qwen3_5_moe Qwen3_5MoeForConditionalGeneration",
    "qwen4_exp Qwen4ExpForConditionalGeneration",
    "vipllava VipLlavaForConditionalGeneration",
)


def _forward(words: str) -> str:
    model, name = words.split()
    return f"transformers.models.{model}.modeling_{model}:{name}.forward"


FIX = Fix(
    title="Qwen3-VL drops shift_labels: under context or sequence parallelism the loss lacks a label in each part",
    kind="silent",
    upstream=("transformers#48491", "transformers#48493"),
    fixed_in="5.17.0",
    everyone="only calls with shift_labels of the shape of the labels are affected",
    exempt=dict.fromkeys(map(_forward, _WITHOUT_CASE), "It is broken; there is no case that shows it yet."),
)

_CALL = "loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.text_config.vocab_size{})"

FIX.edits(
    (_forward("qwen3_vl Qwen3VLForConditionalGeneration"), ">=4.57.1,<=5.16.1"),
    (_forward("qwen3_vl_moe Qwen3VLMoeForConditionalGeneration"), ">=4.57.1,<=5.16.1"),
    old=_CALL.format(""),
    new=f"from {__name__} import moved\n" + _CALL.format(", **moved(self.loss_function, labels, kwargs)"),
)


def moved(loss_function: Any, labels: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The labels that were moved before, for a loss of the library; nothing where they were not, or for another loss.

    Args:
        loss_function: of the model; the arguments of a user's function are not known.
        labels: int64 of shape ``(batch, tokens)``.
        given: further arguments of the model.
    """
    from transformers.loss.loss_utils import ForCausalLMLoss  # the model has imported it

    shifted: Any = given.get("shift_labels")
    if loss_function is not ForCausalLMLoss or getattr(shifted, "shape", None) != labels.shape:
        return {}
    if not scope.is_own(FIX.id, loss_function):  # the user has put it in the place of the library's
        return {}
    # The loss of these releases cannot flatten a slice of labels, which ran before, if it was not looked at.
    return {"shift_labels": shifted.contiguous()}
