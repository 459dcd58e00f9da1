"""The functions of the module ``transformers.modeling_attn_mask_utils``, which transformers 5.24.0 removed.

A mask here is a bias on the attention scores: 0 where a query attends to a key, the lowest number of its dtype
elsewhere. Users replace static methods of `AttentionMaskConverter` (optimum does so for exports), so each of them is
called by its name and with the keywords of 5.23.0. torch is imported in the functions: hotfix imports this module
without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    import torch


@dataclass
class AttentionMaskConverter:
    """Make masks for attention scores.

    Args:
        is_causal: whether a query attends only to the keys up to its own position.
        sliding_window: how many keys before its own position a query attends to; None for all of them.

    Raises:
        ValueError: the window is not positive.
    """

    is_causal: bool
    sliding_window: Optional[int]

    def __init__(self, is_causal: bool, sliding_window: Optional[int] = None) -> None:
        if sliding_window is not None and not sliding_window > 0:
            raise ValueError(f"`sliding_window` is {sliding_window}: pass a positive integer, or None for no window")
        self.is_causal, self.sliding_window = is_causal, sliding_window

    def to_causal_4d(
        self,
        batch_size: int,
        query_length: int,
        key_value_length: int,
        dtype: torch.dtype,
        device: Union[torch.device, str] = "cpu",
    ) -> Optional[torch.Tensor]:
        """The mask of texts without padding.

        Args:
            batch_size: the number of texts.
            query_length: the number of queries of each; they have the last positions.
            key_value_length: the number of keys.
            dtype: the dtype of the mask.
            device: its device.

        Returns:
            A mask (batch_size, 1, query_length, key_value_length), or None if it would mask nothing: for one query
            without a window.

        Raises:
            ValueError: the converter is not causal.
        """
        if self.is_causal:
            return _order(self, batch_size, query_length, key_value_length, dtype, device)
        raise ValueError(f"to_causal_4d needs a causal converter: create the {type(self).__name__} with is_causal=True")

    def to_4d(
        self,
        attention_mask_2d: torch.Tensor,
        query_length: int,
        dtype: torch.dtype,
        key_value_length: Optional[int] = None,
    ) -> torch.Tensor:
        """The mask of texts with padding.

        Args:
            attention_mask_2d: 1 for tokens and 0 for padding (texts, keys).
            query_length: the number of queries.
            dtype: the dtype of the mask.
            key_value_length: the number of keys, which a causal mask needs.

        Returns:
            A mask (texts, 1, query_length, keys).

        Raises:
            NotImplementedError: the converter has a window and is not causal.
            ValueError: the number of keys is missing.
        """
        if not self.is_causal and self.sliding_window is not None:
            raise NotImplementedError("a mask with `sliding_window` has to be causal: pass is_causal=True")
        later = None
        if self.is_causal:
            texts, device = attention_mask_2d.shape[0], attention_mask_2d.device
            later = _order(self, texts, query_length, key_value_length, dtype, device)
        padding = self._expand_mask(attention_mask_2d, dtype, tgt_len=query_length)
        return padding if later is None else later.masked_fill(padding.bool(), _lowest(dtype))

    @staticmethod
    def _make_causal_mask(
        input_ids_shape: Sequence[int],
        dtype: torch.dtype,
        device: Union[torch.device, str],
        past_key_values_length: int = 0,
        sliding_window: Optional[int] = None,
    ) -> torch.Tensor:
        """A mask by position alone: an expanded view (texts, 1, queries, earlier keys and queries).

        Args:
            input_ids_shape: the numbers of texts and of queries.
            dtype: the dtype of the mask.
            device: its device.
            past_key_values_length: the number of keys before the first query.
            sliding_window: as in the class.
        """
        import torch

        texts, length = input_ids_shape
        # Made in torch's default dtype, as in 5.23.0: for masks of a larger one that is an error.
        mask = torch.full((length, length), _lowest(dtype), device=device).triu(1).to(dtype)
        if past_key_values_length > 0:
            mask = torch.nn.functional.pad(mask, (past_key_values_length, 0))
        if sliding_window is not None:
            last = torch.arange(length, device=device) + (past_key_values_length - sliding_window)
            mask = mask.masked_fill(torch.arange(mask.shape[1], device=device) < last.unsqueeze(1), _lowest(dtype))
        return mask[None, None].expand(texts, 1, length, past_key_values_length + length)

    @staticmethod
    def _expand_mask(mask: torch.Tensor, dtype: torch.dtype, tgt_len: Optional[int] = None) -> torch.Tensor:
        """A mask by padding alone (texts, 1, queries, keys).

        Args:
            mask: 1 for tokens and 0 for padding (texts, keys).
            dtype: the dtype of the mask.
            tgt_len: the number of queries; by default, that of the keys.
        """
        texts, keys = mask.size()
        shape = (texts, 1, keys if tgt_len is None else tgt_len, keys)
        padding = 1.0 - mask.unsqueeze(1).unsqueeze(1).expand(shape).to(dtype)
        return padding.masked_fill(padding.bool(), _lowest(dtype))

    @staticmethod
    def _unmask_unattended(expanded_mask: torch.Tensor, min_dtype: float) -> torch.Tensor:
        """Let queries without any key attend to all keys: one of torch's kernels computes NaN for them.

        Args:
            expanded_mask: a mask (…, queries, keys).
            min_dtype: its value for masked keys.

        Raises:
            ValueError: the mask is boolean.
        """
        import torch

        if expanded_mask.dtype is torch.bool:
            raise ValueError("_unmask_unattended cannot change a boolean mask: pass one of floating-point numbers")
        attends = expanded_mask.ne(min_dtype).any(-1, keepdim=True)
        return expanded_mask * attends

    @staticmethod
    def _ignore_causal_mask_sdpa(
        attention_mask: Optional[torch.Tensor],
        inputs_embeds: torch.Tensor,
        past_key_values_length: int,
        sliding_window: Optional[int] = None,
        is_training: bool = False,
    ) -> bool:
        """Whether torch's attention needs no mask, only its argument ``is_causal``.

        Args:
            attention_mask: 1 for tokens and 0 for padding (texts, keys); a mask of four dimensions; or None.
            inputs_embeds: the inputs (texts, queries, …).
            past_key_values_length: the number of keys before the first query.
            sliding_window: as in the class.
            is_training: whether a graph that is being recorded is for training only, with this number of queries.
        """
        from transformers.utils.import_utils import is_tracing

        length = inputs_embeds.shape[1]
        keys = past_key_values_length + length
        if sliding_window is not None and keys >= sliding_window:
            return False
        is_recorded = is_tracing(inputs_embeds)
        if attention_mask is None:
            if is_recorded and not is_training:
                return False
        elif attention_mask.dim() == 4 or is_recorded or not (attention_mask == 1).all():
            return False
        return bool(length == 1 or keys == length)


def _prepare_4d_causal_attention_mask(
    attention_mask: Optional[torch.Tensor],
    input_shape: Sequence[int],
    inputs_embeds: torch.Tensor,
    past_key_values_length: int,
    sliding_window: Optional[int] = None,
) -> Optional[torch.Tensor]:
    """The causal mask of a decoder.

    Args:
        attention_mask: 1 for tokens and 0 for padding (texts, keys), or (texts, 1, queries, keys); or None.
        input_shape: the numbers of texts and queries.
        inputs_embeds: the inputs, with the dtype and, without an attention mask, the device of the result.
        past_key_values_length: the number of keys before the first query.
        sliding_window: as in `AttentionMaskConverter`.

    Returns:
        A mask (texts, 1, queries, keys), or None if nothing is masked and there is one query.

    Raises:
        ValueError: the mask of four dimensions has another shape.
    """
    converter, keys = AttentionMaskConverter(True, sliding_window), input_shape[-1] + past_key_values_length
    dimensions = 0 if attention_mask is None else attention_mask.dim()
    if attention_mask is None or dimensions not in (2, 4):  # one of three dimensions was ignored
        return converter.to_causal_4d(input_shape[0], input_shape[-1], keys, inputs_embeds.dtype, inputs_embeds.device)
    if dimensions == 2:
        return converter.to_4d(attention_mask, input_shape[-1], inputs_embeds.dtype, keys)
    expected, given = (input_shape[0], 1, input_shape[1], keys), tuple(attention_mask.shape)
    if given != expected:
        raise ValueError(f"the attention mask has shape {given}: pass one of shape {expected}")
    masked = 1.0 - attention_mask
    return masked.masked_fill(masked.bool(), _lowest(inputs_embeds.dtype))


def _prepare_4d_causal_attention_mask_for_sdpa(
    attention_mask: Optional[torch.Tensor],
    input_shape: Sequence[int],
    inputs_embeds: torch.Tensor,
    past_key_values_length: int,
    sliding_window: Optional[int] = None,
) -> Optional[torch.Tensor]:
    """The same for ``scaled_dot_product_attention``.

    Args:
        attention_mask: as there; a mask of four dimensions is the bias itself.
        input_shape: as there.
        inputs_embeds: as there.
        past_key_values_length: as there.
        sliding_window: as there.

    Returns:
        A mask (texts, 1, queries, keys), or None if ``is_causal`` is enough.
    """
    from transformers.utils.import_utils import is_tracing

    converter, dtype = AttentionMaskConverter(True, sliding_window), inputs_embeds.dtype
    masks_nothing = AttentionMaskConverter._ignore_causal_mask_sdpa(
        attention_mask=attention_mask,
        inputs_embeds=inputs_embeds,
        past_key_values_length=past_key_values_length,
        sliding_window=sliding_window,
    )
    if masks_nothing:
        return None
    if attention_mask is None:
        device = inputs_embeds.device
        return _create_4d_causal_attention_mask(input_shape, dtype, device, past_key_values_length, sliding_window)
    keys, mask = input_shape[-1] + past_key_values_length, attention_mask
    if mask.dim() != 4:
        mask = converter.to_4d(mask, input_shape[-1], dtype, keys)
    if is_tracing(inputs_embeds) or mask.device.type not in ("cuda", "xpu"):
        return mask
    return AttentionMaskConverter._unmask_unattended(mask, min_dtype=_lowest(dtype))


def _prepare_4d_attention_mask(mask: torch.Tensor, dtype: torch.dtype, tgt_len: Optional[int] = None) -> torch.Tensor:
    """The mask of an encoder, or of the attention to it.

    Args:
        mask: 1 for tokens and 0 for padding (texts, keys).
        dtype: the dtype of the result.
        tgt_len: the number of queries; by default, that of the keys.

    Returns:
        A mask (texts, 1, queries, keys).
    """
    return AttentionMaskConverter._expand_mask(mask=mask, dtype=dtype, tgt_len=tgt_len)


def _prepare_4d_attention_mask_for_sdpa(
    mask: torch.Tensor, dtype: torch.dtype, tgt_len: Optional[int] = None
) -> Optional[torch.Tensor]:
    """The same for ``scaled_dot_product_attention``: None if there is no padding, unless a graph is being recorded."""
    from transformers.utils.import_utils import is_tracing

    _, keys = mask.shape
    if is_tracing(mask) or not (mask == 1).all():
        return AttentionMaskConverter._expand_mask(mask=mask, dtype=dtype, tgt_len=keys if tgt_len is None else tgt_len)
    return None


def _create_4d_causal_attention_mask(
    input_shape: Sequence[int],
    dtype: torch.dtype,
    device: torch.device,
    past_key_values_length: int = 0,
    sliding_window: Optional[int] = None,
) -> Optional[torch.Tensor]:
    """The causal mask of texts without padding.

    Args:
        input_shape: the numbers of texts and queries.
        dtype: the dtype of the result.
        device: its device.
        past_key_values_length: the number of keys before the first query.
        sliding_window: as in `AttentionMaskConverter`.

    Returns:
        A mask (texts, 1, queries, keys), or None for one query without a window.
    """
    texts, length = input_shape[0], input_shape[-1]
    keys = length + past_key_values_length
    return AttentionMaskConverter(True, sliding_window).to_causal_4d(texts, length, keys, dtype, device)


def _order(
    converter: AttentionMaskConverter,
    texts: int,
    length: int,
    keys: Optional[int],
    dtype: torch.dtype,
    device: Union[torch.device, str],
) -> Optional[torch.Tensor]:
    """The mask by position that a causal converter needs, or None."""
    if not length > 1 and converter.sliding_window is None:
        return None
    if keys is None:
        raise ValueError("a causal mask depends on the number of keys: pass `key_value_length`")
    return converter._make_causal_mask(
        (texts, length),
        dtype,
        device=device,
        past_key_values_length=keys - length,
        sliding_window=converter.sliding_window,
    )


def _lowest(dtype: torch.dtype) -> float:
    import torch

    lowest: float = torch.finfo(dtype).min
    return lowest
