"""Names for copies of ``transformers.generation.utils`` are gone: ``QuantizedCacheConfig`` and tables of caches.

Symptom   ``ImportError: cannot import name 'QuantizedCacheConfig' from 'transformers.cache_utils'``, the same of
          ``NEED_SETUP_CACHE_CLASSES_MAPPING``, ``QUANT_BACKEND_CLASSES_MAPPING`` and ``_crop_past_key_values``, from
          IndexTTS, its ComfyUI nodes, and others that carry a copy of the library's ``generate``; then
          ``AttributeError: 'GenerationConfig' object has no attribute 'forced_decoder_ids'``.
Cause     The settings of a quantized cache became a dictionary, and the classes of caches were merged.
Releases  4.56.0 and later; ``_crop_past_key_values`` 4.54.0 and later, ``forced_decoder_ids`` 4.53.0 and later,
          ``HammingDiversityLogitsProcessor`` 5.0.0 and later
Upstream  ComfyUI-Easy-IndexTTS2#38 (not put back)
Here      The settings of 4.55.4 as a plain object. The tables have those of their classes that the release still has. A
          cache is cropped by its own method, and tuples as in 4.53.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'QuantizedCacheConfig' from 'transformers.cache_utils'",
    kind="removed-api",
    upstream=("ComfyUI-Easy-IndexTTS2#38",),
    group="removed-names",
)

CACHES, SETTINGS = "transformers.cache_utils", "transformers.generation.configuration_utils"
LACKING = ">=4.56.0"
STATIC = {
    "static": "StaticCache",
    "offloaded_static": "OffloadedStaticCache",
    "sliding_window": "SlidingWindowCache",
    "hybrid": "HybridCache",
    "hybrid_chunked": "HybridChunkedCache",
    "offloaded_hybrid": "OffloadedHybridCache",
    "offloaded_hybrid_chunked": "OffloadedHybridCache",
}
QUANTIZED = {"quanto": "QuantoQuantizedCache", "HQQ": "HQQQuantizedCache"}
DEFAULTS = {
    "backend": "quanto",
    "nbits": 4,
    "axis_key": 0,
    "axis_value": 0,
    "q_group_size": 64,
    "residual_length": 128,
    "compute_dtype": None,
    "device": "cpu",
}


class Classes(Mapping[str, type]):
    """Those classes of a table that the release still has, looked up on use: their module may be loading now.

    Args:
        names: of the classes, by key.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def _there(self) -> dict[str, type]:
        there = vars(import_module(CACHES))
        return {key: there[name] for key, name in self._names.items() if name in there}

    def __getitem__(self, key: str) -> type:
        return self._there()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there())

    def __len__(self) -> int:
        return len(self._there())


@FIX.adds_made((f"{CACHES}:QuantizedCacheConfig", LACKING), exported_by=("transformers",), only_needed=True)
def quantized_cache_config(cache_utils: Any) -> type:
    """The settings of a quantized cache; ``compute_dtype`` is float16 unless it is given."""

    class QuantizedCacheConfig:
        """The settings of a quantized cache, as attributes."""

        def __init__(self, *values: Any, **named: Any) -> None:
            import torch

            given = {**dict(zip(DEFAULTS, values)), **named}
            if len(values) > len(DEFAULTS) or set(given) > set(DEFAULTS):
                raise TypeError(f"QuantizedCacheConfig takes {', '.join(DEFAULTS)}, and got {', '.join(given)}")
            vars(self).update({**DEFAULTS, "compute_dtype": torch.float16, **given})

        def to_dict(self) -> dict[str, Any]:
            """The settings by name."""
            return dict(vars(self))

        @classmethod
        def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
            """Settings from a dictionary; named arguments come first."""
            return cls(**{**config_dict, **{name: value for name, value in kwargs.items() if name in DEFAULTS}})

    QuantizedCacheConfig.__module__ = CACHES
    QuantizedCacheConfig.__qualname__ = "QuantizedCacheConfig"
    return QuantizedCacheConfig


@FIX.adds_made((f"{SETTINGS}:NEED_SETUP_CACHE_CLASSES_MAPPING", LACKING), only_needed=True)
def static_caches(configuration: Any) -> Classes:
    """The static caches by the value of ``cache_implementation``."""
    return Classes(STATIC)


@FIX.adds_made((f"{SETTINGS}:QUANT_BACKEND_CLASSES_MAPPING", LACKING), only_needed=True)
def quantized_caches(configuration: Any) -> Classes:
    """The quantized caches by their backend."""
    return Classes(QUANTIZED)


class _Unset:
    """An attribute that is None until an object has its own."""

    def __get__(self, instance: Any, owner: Any = None) -> None:
        return None


@FIX.adds_made((f"{SETTINGS}:GenerationConfig.forced_decoder_ids", ">=4.53.0"))
def forced_decoder_ids(configuration: Any) -> _Unset:
    """None, unless the program has set it: then it is the object's own."""
    return _Unset()


@FIX.adds_made(
    ("transformers.generation.logits_process:HammingDiversityLogitsProcessor", ">=5.0.0"),
    exported_by=(("transformers", ">=4.57.1"), ("transformers.generation", ">=4.57.1")),
    only_needed=True,
)
def hamming_diversity(logits_process: Any) -> type:
    """Tokens that earlier groups of beams have chosen in this step cost a penalty."""
    base: Any = logits_process.LogitsProcessor

    class HammingDiversityLogitsProcessor(base):  # type: ignore[misc] # the base is known at run time only
        """Lower the scores of tokens that earlier groups of beams have chosen in this step.

        Args:
            diversity_penalty: subtracted for each beam that has chosen the token; above 0.
            num_beams: number of beams of a text; at least 2.
            num_beam_groups: number of groups; at least 2, at most `num_beams`.
        """

        def __init__(self, diversity_penalty: float, num_beams: int, num_beam_groups: int) -> None:
            for name, value in (("num_beams", num_beams), ("num_beam_groups", num_beam_groups)):
                if not isinstance(value, int) or value < 2:
                    raise ValueError(f"`{name}` should be an integer above 1, and is {value!r}")
            if not isinstance(diversity_penalty, float) or not diversity_penalty > 0 or num_beam_groups > num_beams:
                raise ValueError("`diversity_penalty` should be a float above 0, and no group without a beam")
            self._diversity_penalty = diversity_penalty
            self._num_beams = num_beams
            self._num_sub_beams = num_beams // num_beam_groups

        def __call__(self, input_ids: Any, scores: Any, current_tokens: Any, beam_group_idx: int) -> Any:
            """The scores of a group.

            Args:
                input_ids: not used.
                scores: of shape (texts times beams of the group, words).
                current_tokens: tokens of this step, of shape (texts times beams).
                beam_group_idx: number of the group.
            """
            import torch

            earlier = beam_group_idx * self._num_sub_beams
            if not earlier:
                return scores
            chosen = current_tokens.view(-1, self._num_beams)[:, :earlier].to(scores.device)
            counts = torch.zeros(len(chosen), scores.shape[-1], device=scores.device)
            counts.scatter_add_(1, chosen, torch.ones_like(chosen, dtype=counts.dtype))
            by_text = scores.view(len(chosen), -1, scores.shape[-1])
            return (by_text - self._diversity_penalty * counts[:, None]).view_as(scores).to(scores.dtype)

    HammingDiversityLogitsProcessor.__module__ = "transformers.generation.logits_process"
    HammingDiversityLogitsProcessor.__qualname__ = "HammingDiversityLogitsProcessor"
    return HammingDiversityLogitsProcessor


@FIX.adds(("transformers.generation.candidate_generator:_crop_past_key_values", ">=4.54.0"))
def crop(model: Any, past_key_values: Any, max_length: int) -> Any:
    """The first `max_length` tokens of a cache.

    Args:
        model: of the cache.
        past_key_values: a cache, which is cropped itself, or a tuple of tensors of shape (batch, heads, tokens, width)
            for each layer. Of four tensors in a layer, the last two belong to the encoder, and stay.
        max_length: number of tokens.
    """
    if past_key_values is None:
        return None
    if hasattr(past_key_values, "crop"):
        surplus = past_key_values.get_seq_length() - max_length
        if surplus > 0:
            past_key_values.crop(-surplus)  # a negative number, for which later releases ask
        return past_key_values
    return tuple(
        (*(part[:, :, :max_length] if len(part) else part for part in layer[:2]), *layer[2:])
        for layer in past_key_values
    )
