"""``Qwen2_5_VLFlashAttention2``, ``Gemma2FlashAttention2`` and their sdpa counterparts are gone.

Symptom   ``ImportError: cannot import name 'Qwen2_5_VLFlashAttention2' from
          'transformers.models.qwen2_5_vl.modeling_qwen2_5_vl'`` (copies of verl), ``ImportError: cannot import name
          'Gemma2FlashAttention2' from 'transformers.models.gemma2.modeling_gemma2'`` (FlagEmbedding, deepcompressor).
Cause     One class serves every attention implementation, with another signature and another number of results.
Releases  Gemma 2 4.48.0 and later, Qwen2.5-VL 4.53.0 and later
Upstream  verl#2213, DeepEyes#119, deepcompressor#62, FlagEmbedding#1356 (not put back)
Here      Classes that inherit from that one, as before, for imports and `isinstance`. Building one is an error with an
          explanation, and so is setting a method of one, as verl and its copies do for sequence parallelism: no layer
          of the release has the class, so the model would ignore it. Llama: llama-flash-attention2-removed; tables:
          model-attention-classes-removed; other models: attention-classes-by-kind-removed.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.attention_classes import attention_class

FIX = Fix(
    title="ImportError: cannot import name 'Qwen2_5_VLFlashAttention2' from '...qwen2_5_vl.modeling_qwen2_5_vl'",
    kind="removed-api",
    upstream=("verl#2213", "DeepEyes#119", "deepcompressor#62", "FlagEmbedding#1356"),
    group="removed-names",
)

# Package, the class for every kind of attention, the releases that lack those for one kind, and the last with them.
CLASSES = {
    "gemma2": ("Gemma2Attention", ">=4.48.0", "4.47.1"),
    "qwen2_5_vl": ("Qwen2_5_VLAttention", ">=4.53.0", "4.52.4"),
}


def _add(package: str, now: str, kind: str, lacking: str, last: str) -> None:
    module = f"transformers.models.{package}.modeling_{package}"
    name = now.replace("Attention", kind)

    @FIX.adds_made((f"{module}:{name}", lacking), only_needed=True)
    def attention(loaded: Any) -> type:
        """The class for one kind of attention."""
        instead = (
            f"{now} is the class for every kind of attention; it takes position_embeddings and returns two values. "
            f"Code that needs the old class needs transformers {last}."
        )
        return attention_class(name, module, getattr(loaded, now), instead)


for _package, (_now, _lacking, _last) in CLASSES.items():
    for _kind in ("FlashAttention2", "SdpaAttention"):
        _add(_package, _now, _kind, _lacking, _last)
