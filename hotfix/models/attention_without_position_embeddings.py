"""A decoder layer that is called by itself, without position embeddings, raises a TypeError.

Symptom   ``TypeError: cannot unpack non-iterable NoneType object`` at ``cos, sin = position_embeddings``, in code that
          runs a model layer by layer: ``layer(hidden, attention_mask=mask, position_ids=positions)[0]``, as pruning and
          quantization do (SparseGPT, Wanda, GPTQ, AWQ).
Cause     To 4.47, each attention had rotary embeddings of its own. Since then, the model computes cosine and sine once
          for all layers, and a layer cannot do without them.
Releases  4.48.0 and later, in Llama, Mistral, OLMo 2, Phi, Phi-3, Qwen2 and StarCoder2
Upstream  transformers#34135; dropped on purpose, after a warning
Here      Where an attention raises this error, it computes cosine and sine from the positions that its layer was given,
          as in 4.47; without any, the positions count from 0, as in 4.36.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from hotfix.fix import Fix

_OTHERS = "its layers need more than positions, or are newer than such code"

FIX = Fix(
    title="A decoder layer called without position_embeddings raises a TypeError",
    kind="crash",
    upstream=("transformers#34135",),
    errors=("TypeError: cannot unpack non-iterable NoneType object",),
    on_error=True,
    exempt={
        "transformers.models.*:*": _OTHERS,
        "transformers.models.deepseek_v4.modeling_deepseek_v4:DeepseekV4Attention.forward": _OTHERS,
        "transformers.models.modernbert.modeling_modernbert:eager_attention_forward": _OTHERS,
        "transformers.exporters.exporter_dynamo:_reshaped_vision_attention_forward": _OTHERS,
    },
)

# The folder of each model, and the beginning of the names of its classes.
MODELS = {
    "llama": "Llama",
    "mistral": "Mistral",
    "olmo2": "Olmo2",
    "phi": "Phi",
    "phi3": "Phi3",
    "qwen2": "Qwen2",
    "starcoder2": "Starcoder2",
}

for _folder, _name in MODELS.items():
    FIX.edits(
        (f"transformers.models.{_folder}.modeling_{_folder}:{_name}Attention.forward", ">=4.48.0,<=5.24.0"),
        old="cos, sin = position_embeddings",
        unless="position_embeddings is None",
        new=f"""
            from {__name__} import rotary
            cos, sin = rotary(self, {_name}RotaryEmbedding, hidden_states, kwargs.get("position_ids"))
            """,
    )

_made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def rotary(attention: Any, cls: Any, hidden_states: Any, position_ids: Any) -> Any:
    """Cosine and sine for an attention that was given none.

    Args:
        attention: the attention.
        cls: the class of its model's rotary embeddings.
        hidden_states: its input, of shape ``(batch, length, hidden size)``.
        position_ids: the positions, of shape ``(batch, length)``, or None.
    """
    if position_ids is None:
        import torch

        position_ids = torch.arange(hidden_states.shape[1], device=hidden_states.device)[None]
    embedding = _made.get(attention)
    if embedding is None:
        embedding = _made[attention] = cls(config=attention.config)
    return embedding.to(hidden_states.device)(hidden_states, position_ids)
