"""Models no longer make their causal mask with a method.

Symptom   ``AttributeError: 'LlavaQwenModel' object has no attribute '_update_causal_mask'`` from a model that inherits
          from Qwen2, Llama or Mistral and has its own ``forward`` (variants of LLaVA and NVILA, pruned or streaming
          attention); the same of ``_prepare_4d_causal_attention_mask_with_cache_position``, which 33 modules also had
          as a function: ``ImportError`` from ``transformers.models.llama.modeling_llama``.
Cause     ``transformers.masking_utils`` has functions instead. Most models lost the methods in 4.53.0, and all modules
          but that of PaliGemma the function in 4.46.0, where it became the method.
Releases  The function: 4.46.1 and later. The methods: 4.53.0 and later; 5.0.0 for Qwen2-MoE; 5.2.0 for BLOOM, GPT-J,
          OPT, Persimmon and StableLM
Upstream  HoliTom#6, RoboRefer#4, Lazy-Llama#4 (not put back)
Here      The masks of 4.52.4, for 27 classes and what inherits from them. Without a padding mask they are as long as
          the keys, and not one column longer. If the cache has dropped keys that a sliding window does not reach, there
          is an error with an explanation. The false alarm about padding on the right is left out.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.names import attention_masks
from hotfix.names.refusing import Gone

if TYPE_CHECKING:
    import torch

_UPDATE = "_update_causal_mask"
_PREPARE = "_prepare_4d_causal_attention_mask_with_cache_position"

FIX = Fix(
    title="AttributeError: 'Qwen2Model' object has no attribute '_update_causal_mask'",
    kind="removed-api",
    upstream=("HoliTom#6", "RoboRefer#4", "Lazy-Llama#4"),
    group="removed-names",
    errors=tuple(
        f"AttributeError: {owner} has no attribute '{name}'"
        for owner in ("'…' object", "type object '…'")
        for name in (_UPDATE, _PREPARE)
    ),
)

CLASSES = {
    "4.53.0": """
        cohere:CohereModel deepseek_v3:DeepseekV3Model gemma:GemmaModel glm:GlmModel glm4:Glm4Model
        gpt_neox:GPTNeoXModel granite:GraniteModel llama:LlamaModel mistral:MistralModel mixtral:MixtralModel
        olmo:OlmoModel olmo2:Olmo2Model phi:PhiModel phi3:Phi3Model qwen2:Qwen2Model qwen2_vl:Qwen2VLTextModel
        qwen2_5_vl:Qwen2_5_VLTextModel qwen3:Qwen3Model qwen3_moe:Qwen3MoeModel starcoder2:Starcoder2Model
        whisper:WhisperDecoder
    """,
    "5.0.0": "qwen2_moe:Qwen2MoeModel",
    "5.2.0": """
        bloom:BloomModel gptj:GPTJModel opt:OPTDecoder persimmon:PersimmonModel stablelm:StableLmModel
    """,
}
"""Folder and name of each class, by the first release without the methods."""
_ALL = [
    (f"transformers.models.{folder}.modeling_{folder}:{name}", f">={first}")
    for first, entries in CLASSES.items()
    for folder, _, name in (entry.partition(":") for entry in entries.split())
]
FUNCTIONS = """
    bloom chameleon codegen cohere dbrx falcon gemma gemma2 gpt_neo gpt_neox gpt_neox_japanese gptj granite granitemoe
    idefics jetmoe llama mimi mixtral mllama nemotron olmo olmoe persimmon phi phi3 qwen2 qwen2_moe qwen2_vl stablelm
    starcoder2 whisper
"""
"""The folders of the modules that had the function."""
_INSTEAD = "Use create_sliding_window_causal_mask of transformers.masking_utils."


@FIX.adds(*((f"{owner}.{_UPDATE}", releases) for owner, releases in _ALL))
def update_causal_mask(
    self: Any,
    attention_mask: Any,
    input_tensor: torch.Tensor,
    cache_position: torch.Tensor,
    past_key_values: Any = None,
    output_attentions: bool = False,
) -> Any:
    """The mask that the attentions of this model expect.

    Args:
        self: the model.
        attention_mask: 1 for tokens and 0 for padding (texts, keys); a mask (texts, 1, queries, keys); or None.
        input_tensor: the embeddings (texts, queries, width).
        cache_position: the position of each query (queries).
        past_key_values: the cache, if there is one.
        output_attentions: whether the weights are returned, which torch's attention cannot do.

    Returns:
        None if no mask is needed; for flash attention, the padding; for flex attention, a mask of its blocks; else
        numbers to add to the scores (texts, 1, queries, keys).

    Raises:
        Gone: the cache has dropped keys that a sliding window does not reach.
    """
    how, is_mask = self.config._attn_implementation, hasattr(attention_mask, "dim")
    if re.fullmatch(r"flash_attention_\d", how):
        return attention_mask if attention_mask is not None and (attention_mask == 0).any() else None
    if how == "flex_attention":
        from transformers.integrations.flex_attention import make_flex_block_causal_mask

        return make_flex_block_causal_mask(attention_mask) if is_mask else attention_mask
    past = 0 if past_key_values is None else int(past_key_values.get_seq_length())
    texts, queries = input_tensor.shape[:2]
    window = _window(self.config)
    longest = _fixed_length(past_key_values)
    if window is not None and past and past + queries > window and (longest or _slides(past_key_values)):
        raise Gone(f"The cache of {type(self).__name__} has dropped keys, and hotfix cannot tell which. {_INSTEAD}")
    if how == "sdpa" and not longest and not output_attentions:
        length = getattr(self.config, "sliding_window", None)  # also if it is not in use
        facts: dict[str, Any] = {"past_key_values_length": past, "sliding_window": length, "is_training": self.training}
        if _converter()._ignore_causal_mask_sdpa(attention_mask, inputs_embeds=input_tensor, **facts):
            return None
    keys = longest or (attention_mask.shape[-1] if is_mask else past + queries)
    mask = _masked(attention_mask, keys, input_tensor.dtype, cache_position, texts, window)
    if how == "sdpa" and is_mask and attention_mask.device.type in ("cuda", "xpu", "npu") and not output_attentions:
        return _converter()._unmask_unattended(mask, attention_masks._lowest(mask.dtype))
    return mask


@FIX.adds_made(*((f"{owner}.{_PREPARE}", releases) for owner, releases in _ALL))
def static_method(module: Any) -> staticmethod[..., torch.Tensor]:
    """`prepare_4d_causal_attention_mask_with_cache_position`, for instances and classes."""
    return staticmethod(prepare_4d_causal_attention_mask_with_cache_position)


def prepare_4d_causal_attention_mask_with_cache_position(
    attention_mask: Any,
    sequence_length: int,
    target_length: int,
    dtype: torch.dtype,
    cache_position: torch.Tensor,
    batch_size: int,
    config: Any = None,
    past_key_values: Any = None,
    **kwargs: Any,
) -> torch.Tensor:
    """A causal mask with padding.

    Args:
        attention_mask: 1 for tokens and 0 for padding (texts, keys); a mask of four dimensions, which is returned; or
            None.
        sequence_length: the number of queries; `cache_position` says it as well.
        target_length: the number of keys.
        dtype: the dtype of the mask.
        cache_position: the position of each query (queries).
        batch_size: the number of texts.
        config: the configuration of a model with a sliding window.
        past_key_values: without effect.
        kwargs: without effect, as in 4.52.4.

    Returns:
        0 where a query sees a key, and the lowest number of the dtype elsewhere (texts, 1, queries, keys).
    """
    window = None if config is None else _window(config)
    return _masked(attention_mask, target_length, dtype, cache_position, batch_size, window)


@FIX.adds_made(
    *((f"transformers.models.{folder}.modeling_{folder}:{_PREPARE}", ">=4.46.1") for folder in FUNCTIONS.split()),
    ("transformers.models.paligemma.modeling_paligemma:" + _PREPARE, ">=4.52.0"),
)
def module_function(module: Any) -> Any:
    """`prepared`, the function of 4.44 and 4.45."""
    return prepared


def prepared(
    attention_mask: Any,
    sequence_length: int,
    target_length: int,
    dtype: torch.dtype,
    device: Any,
    min_dtype: float,
    cache_position: torch.Tensor,
    batch_size: int,
) -> torch.Tensor:
    """A causal mask with padding (texts, 1, queries, keys): 0 where a query sees a key, and `min_dtype` elsewhere.

    The arguments are those of `prepare_4d_causal_attention_mask_with_cache_position`, with a device.
    """
    position = cache_position.to(device)
    return _masked(attention_mask, target_length, dtype, position, batch_size, None, min_dtype)


# ---------------------------------------------------------------------------------------------------------------------


def _window(config: Any) -> Optional[int]:
    """The length of the sliding window, if a configuration has one that is in use."""
    text = config.get_text_config()
    window: Optional[int] = getattr(text, "sliding_window", None) if getattr(text, "use_sliding_window", True) else None
    return window


def _fixed_length(cache: Any) -> int:
    """The length of a static cache; 0 for others."""
    cache = getattr(cache, "self_attention_cache", cache)
    if not isinstance(cache, sys.modules["transformers.cache_utils"].StaticCache):
        return 0
    ask = getattr(type(cache), "get_max_cache_shape", None) or type(cache).get_max_length  # its name from 5.20 on
    return int(ask(cache))


def _slides(cache: Any) -> bool:
    """Whether a cache drops keys that a sliding window does not reach, as those of 4.56 and later do."""
    return any(getattr(cache, "is_sliding", ()))


def _converter() -> Any:
    """The class that knows when torch's attention needs a mask: the release's before 5.0, ours after that."""
    if hasattr(sys.modules["transformers.utils.import_utils"], "is_tracing"):
        return attention_masks.AttentionMaskConverter
    return import_module("transformers.modeling_attn_mask_utils").AttentionMaskConverter


def _masked(
    attention_mask: Any,
    keys: int,
    dtype: torch.dtype,
    cache_position: torch.Tensor,
    texts: int,
    window: Optional[int],
    lowest: Optional[float] = None,
) -> Any:
    import torch

    if attention_mask is not None and attention_mask.dim() == 4:
        return attention_mask
    at, position = torch.arange(keys, device=cache_position.device), cache_position.reshape(-1, 1)
    hidden = at > position
    if window is not None:
        hidden = hidden | (at <= position - window)
    hidden = hidden[None, None].expand(texts, 1, -1, -1)
    if attention_mask is not None:
        padding = attention_mask[:, None, None, :keys].to(hidden.device) == 0
        hidden = hidden | torch.nn.functional.pad(padding, (0, keys - padding.shape[-1]))
    mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
    return mask.masked_fill(hidden, attention_masks._lowest(dtype) if lowest is None else lowest)
