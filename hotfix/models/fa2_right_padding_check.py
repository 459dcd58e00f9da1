"""Decoders under FlashAttention-2 refuse every right-padded batch in a forward that has a cache.

Symptom   ``ValueError: You are attempting to perform batched generation with padding_side='right' this may lead to
          unexpected behaviour for Flash Attention version of ...``, in evaluation, in DPO, in the log-probabilities of
          an actor: ``use_cache`` is on by default, so every such forward has a cache.
Cause     A check that is meant for `generate` is part of the forward. There it is a false alarm: with padding on the
          right every real token is computed exactly, with and without a cache. Only `generate` goes wrong, since it
          samples from the logits of the last position, which is padding (under every attention).
Releases  21 classes in 17 models, 4.36.0 to 5.1.0: the table below.
Upstream  transformers#37866 (dropped in 4.53.0). It stayed in JetMoe to 4.56.1, in Qwen2-MoE and PhiMoE to 4.57.6, in
          Moshi and Kyutai's speech-to-text to 5.1.0.
Here      Where a forward raises this error, it runs again without the check. The result is bitwise equal to the same
          release without a cache, and to the first fixed release (except for the gradients of grouped keys and values
          in Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and the Mistral of 4.41, which 4.53.0 sums elsewhere; and except for
          PhiMoE, which 5.0.0 turned into another model).
          Inside `generate` the error stays, for exactly the calls that the release refuses; ``HOTFIX_PADDING=warn``
          turns it into a warning.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix import session
from hotfix.fix import Fix

FIX = Fix(
    title="FlashAttention-2 refuses batches with padding_side='right' in a forward outside generate()",
    kind="crash",
    upstream=("transformers#37866",),
    fixed_in="4.53.0, 4.56.2, 5.0.0, 5.2.0",
    errors=("ValueError: You are attempting to perform batched generation with padding_side='right'…",),
    on_error=True,
)


def _model(name: str, qualname: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{qualname}", releases


TABLE = (
    # The check is a statement in the middle of forward.
    _model("jetmoe", "JetMoeModel.forward", ">=4.41.0,<=4.56.1"),
    _model("mistral", "MistralModel.forward", ">=4.36.0,<=4.41.2"),
    _model("mixtral", "MixtralModel.forward", ">=4.36.0,<=4.41.2"),
    _model("phi3", "Phi3Model.forward", ">=4.41.0,<=4.41.2"),
    _model("qwen2", "Qwen2Model.forward", ">=4.37.0,<=4.41.2"),
    _model("qwen2_moe", "Qwen2MoeModel.forward", ">=4.40.0,<=4.41.2"),
    _model("starcoder2", "Starcoder2Model.forward", ">=4.39.0,<=4.41.2"),
    # The check is the first thing in the method that makes the causal mask.
    _model("kyutai_speech_to_text", "KyutaiSpeechToTextModel._update_causal_mask", ">=4.53.0,<=5.1.0"),
    _model("mimi", "MimiTransformerModel._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("mistral", "MistralModel._update_causal_mask", ">=4.42.0,<=4.52.4"),
    _model("mixtral", "MixtralModel._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("moshi", "MoshiDepthDecoder._update_causal_mask", ">=4.48.0,<=5.1.0"),
    _model("moshi", "MoshiModel._update_causal_mask", ">=4.48.0,<=5.1.0"),
    _model("phi3", "Phi3Model._update_causal_mask", ">=4.48.0,<=4.52.4"),
    _model("phi4_multimodal", "Phi4MultimodalModel._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("phimoe", "PhimoeModel._update_causal_mask", ">=4.48.0,<=4.57.6"),
    _model("qwen2", "Qwen2Model._update_causal_mask", ">=4.49.0,<=4.52.4"),
    _model("qwen2_5_omni", "Qwen2_5OmniTalkerModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_5_omni", "Qwen2_5OmniThinkerTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_5_vl", "Qwen2_5_VLModel._update_causal_mask", ">=4.49.0,<=4.51.3"),
    _model("qwen2_5_vl", "Qwen2_5_VLTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen2_moe", "Qwen2MoeModel._update_causal_mask", ">=4.48.0,<=4.57.6"),
    _model("qwen2_vl", "Qwen2VLModel._update_causal_mask", ">=4.48.0,<=4.51.3"),
    _model("qwen2_vl", "Qwen2VLTextModel._update_causal_mask", ">=4.52.1,<=4.52.4"),
    _model("qwen3", "Qwen3Model._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("qwen3_moe", "Qwen3MoeModel._update_causal_mask", ">=4.51.0,<=4.52.4"),
    _model("starcoder2", "Starcoder2Model._update_causal_mask", ">=4.48.0,<=4.52.4"),
)

_CHECK = """
if __UNDER_FLASH_ATTENTION_WITH_A_CACHE:
    is_padding_right = attention_mask[:, -1].sum().item() != __SAMPLES
    if is_padding_right:
        raise ValueError(__SENTENCE)
"""
_CHECK_OF_JETMOE = """
if __UNDER_FLASH_ATTENTION_WITH_A_CACHE:
    batch_size = inputs_embeds.shape[0]
    is_padding_right = attention_mask[:, -1].sum().item() != batch_size
    if is_padding_right:
        raise ValueError(__SENTENCE)
"""

_REFUSE = f"""
from {__name__} import refuse_in_generation
refuse_in_generation(self, __SENTENCE)
"""

# Mimi encodes sound inside other models; nothing is generated from its last position.
_SOUND = [target for target in TABLE if "Mimi" in target[0]]
_TEXT = [target for target in TABLE if "Mimi" not in target[0]]
FIX.edits(*_SOUND, old=_CHECK, new="")
FIX.edits(*_TEXT, old=(_CHECK, _CHECK_OF_JETMOE), new=(_REFUSE, _REFUSE), alternatives=True)


def refuse_in_generation(decoder: Any, sentence: str) -> None:
    """Keep the error of a right-padded forward from which `generate` would continue.

    Args:
        decoder: the module that refused the batch.
        sentence: its error message.

    Raises:
        ValueError: a method of `GenerationMixin` is running, for a model that `decoder` is part of.
    """
    if not _generates(decoder):
        return
    advice = (
        f"{sentence.strip()} Some samples end in padding, and generation would continue from there. Pad on the left: "
        f"set tokenizer.padding_side = 'left' before tokenizing, or move the padding of input_ids and attention_mask. "
        f"(hotfix: {FIX.id}; HOTFIX_PADDING=warn makes this a warning.)"
    )
    if session.current().policy.padding == "raise":
        raise ValueError(advice)
    session.current().log.warn_once(advice)


def _generates(decoder: Any) -> bool:
    """Whether a caller of this function is a method of `GenerationMixin`, of a decoder that `decoder` is part of."""
    mixin = sys.modules.get("transformers.generation.utils")
    file = getattr(mixin, "__file__", None)
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == file:
            model = frame.f_locals.get("self")
            config = getattr(model, "config", None)
            modules = () if getattr(config, "is_encoder_decoder", True) else model.modules()
            if any(module is decoder for module in modules):
                return True
        frame = frame.f_back
    return False
