"""Decoders under FlashAttention-2 refuse every right-padded batch in a forward that has a cache.

Symptom   ``ValueError: You are attempting to perform batched generation with padding_side='right' this may lead to
          unexpected behaviour for Flash Attention version of ...``, in evaluation, in DPO, in the log-probabilities of
          an actor: ``use_cache`` is on by default, so every such forward has a cache.
Cause     A check that means `generate` stands in the forward. There it is a false alarm: with padding on the right
          every real token is computed exactly, with and without a cache. Only `generate` goes wrong, since it samples
          from the logits of the last position, which is padding (it does so under every attention).
Releases  21 classes in 17 models, 4.36.0 to 5.1.0: the table below.
Upstream  transformers#37866 (dropped in 4.53.0). It stayed in JetMoe to 4.56.1, in Qwen2-MoE and PhiMoE to 4.57.6, in
          Moshi and Kyutai's speech-to-text to 5.1.0.
Here      The check is taken out of the forwards, and the device synchronisation that it cost with it. What they compute
          is bitwise equal to the same release without a cache, and to the first fixed release (but for the gradients of
          grouped keys and values in Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and the Mistral of 4.41, which 4.53.0 adds up
          elsewhere; and but for PhiMoE, which 5.0.0 has made another model).
          `generate` checks once, before its first forward, with or without a cache, and still raises;
          ``HOTFIX_PADDING=warn`` turns that into a warning.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix, Target

if TYPE_CHECKING:
    import torch


FIX = Fix(
    id="fa2-right-padding-check",
    title="FlashAttention-2 forwards refuse right-padded batches (padding_side='right') outside of generation",
    kind="crash",
    upstream=("transformers#37866",),
    fixed_in="4.53.0, 4.56.2, 5.0.0, 5.2.0",
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

FIX.edits(*TABLE, old=(_CHECK, _CHECK_OF_JETMOE), new=("", ""), alternatives=True)


# ---------------------------------------------------------------------------------------------------------------------
# Below: generation, which keeps its check. Once per call, before the first forward; a caller who passes no mask has it
# made by `_prepare_attention_mask_for_generation`, from the padding tokens.


@FIX.accompanies("transformers.generation.utils:GenerationMixin.generate")
def generate_guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around `generate`: the mask that the caller passes is looked at."""

    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_padding_on_the_right(self, kwargs.get("attention_mask"))
        return original(self, *args, **kwargs)

    return generate


@FIX.accompanies("transformers.generation.utils:GenerationMixin._prepare_attention_mask_for_generation")
def mask_guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that makes the mask: the mask that it has made is looked at."""

    def _prepare_attention_mask_for_generation(self: Any, *args: Any, **kwargs: Any) -> Any:
        mask = original(self, *args, **kwargs)
        refuse_padding_on_the_right(self, mask)
        return mask

    return _prepare_attention_mask_for_generation


def refuse_padding_on_the_right(model: Any, mask: Optional[torch.Tensor]) -> None:
    """Stop a generation that would continue from padding.

    Args:
        model: what `generate` was called on.
        mask: its attention mask; only one of shape (batch, tokens) is looked at.

    Raises:
        ValueError: the model runs a repaired decoder under FlashAttention-2 and some sample ends in padding.
    """
    if getattr(mask, "ndim", 0) != 2 or not mask.shape[1]:  # type: ignore[union-attr]
        return
    guarded = _repaired_decoder(model)
    if guarded is None or mask[:, -1].sum().item() == mask.shape[0]:  # type: ignore[index, union-attr]
        return
    sentence = (
        f"You are attempting to perform batched generation with padding_side='right': some samples end in padding, "
        f"and {guarded} under FlashAttention-2 would continue them from there. Pad on the left instead: set "
        f"tokenizer.padding_side = 'left' before tokenizing, or move the padding of input_ids and attention_mask. "
        f"(hotfix: {FIX.id}; HOTFIX_PADDING=warn makes this a warning.)"
    )
    if session.current().policy.padding == "raise":
        raise ValueError(sentence)
    session.current().log.warn_once(sentence)


def _repaired_decoder(model: Any) -> Optional[str]:
    """The name of a class in `model` that used to refuse padding on the right and was repaired, or None."""
    import torch

    if not isinstance(model, torch.nn.Module) or getattr(model.config, "is_encoder_decoder", False):
        return None
    for module in model.modules():
        for target in _targets_run_by(type(module)):
            if _under_flash_attention(module, target) and session.current().is_in_place(FIX, target):
                return target.qualname.partition(".")[0]
    return None


def _targets_run_by(kind: type) -> Iterator[Target]:
    """The targets that an object of this class runs: not those that a subclass has overridden for good."""
    for method in ("_update_causal_mask", "forward"):
        for owner in kind.__mro__:
            if method not in vars(owner):
                continue
            target = _GUARDED.get(f"{owner.__module__}:{owner.__qualname__}.{method}")
            if target is not None:
                yield target
            if target is not None or not _calls_super(vars(owner)[method]):
                break


def _calls_super(method: Any) -> bool:
    code = getattr(inspect.unwrap(method) if callable(method) else method, "__code__", None)
    return code is not None and "__class__" in code.co_freevars


def _under_flash_attention(module: Any, target: Target) -> bool:
    """Whether the check would have looked at this module, in the words of its release."""
    requested = vars(sys.modules[target.module]).get("is_flash_attention_requested")
    if requested is not None:  # 5.0.0 and later
        return bool(requested(module.config))
    said = [getattr(module, "_attn_implementation", None), getattr(module.config, "_attn_implementation", None)]
    return "flash_attention_2" in said or getattr(module, "_use_flash_attention_2", False)  # the latter up to 4.36.2


def _guarded(targets: Iterable[Target]) -> dict[str, Target]:
    """Mimi encodes sound inside of other models; it never had the mask of the tokens that are generated."""
    return {target.key: target for target in targets if "Mimi" not in target.qualname}


_GUARDED = _guarded(FIX.targets)
