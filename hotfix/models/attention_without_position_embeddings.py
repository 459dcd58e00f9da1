"""A decoder layer that is called by itself, without position embeddings, raises a TypeError.

Symptom   ``TypeError: cannot unpack non-iterable NoneType object`` at ``cos, sin = position_embeddings``, in code that
          runs a model layer by layer: ``layer(hidden, attention_mask=mask, position_ids=positions)[0]``, as pruning and
          quantization do (SparseGPT, Wanda, GPTQ, AWQ).
Cause     To 4.47, each attention had rotary embeddings of its own. Since then, the model computes cosine and sine once
          for all layers, and a layer cannot do without them.
Releases  4.48.0 and later, in Llama, Mistral, OLMo 2, Phi, Phi-3, Qwen2 and StarCoder2
Upstream  transformers#34135; dropped on purpose, after a warning
Here      Where an attention raises this error, it computes cosine and sine from the positions that its layer was given,
          as in 4.47; without any, the positions count from 0, as in 4.36. Its layer then returns the tuple of 4.47: the
          hidden states, the attentions if asked for, and the cache if it is used. Since 4.54.0 it returns a tensor, of
          which ``[0]`` is the first row of the batch. With a cache under a name that the release does not know, and
          would not fill, the error stays.
"""

from __future__ import annotations

from collections.abc import Mapping
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
            from {__name__} import in_a_layer
            cos, sin = in_a_layer(self, {_name}RotaryEmbedding, hidden_states, kwargs)
            """,
    )

for _folder, _name in MODELS.items():
    FIX.edits(
        (f"transformers.models.{_folder}.modeling_{_folder}:{_name}DecoderLayer.forward", ">=4.48.0,<=5.24.0"),
        fingerprint_of=(f"{_name}DecoderLayer.forward", f"{_name}Attention.forward"),
        beside="cos, sin = position_embeddings",
        unless="position_embeddings is None",
        old=("return hidden_states", "return outputs"),
        new=(f"from {__name__} import returned\nreturn returned(locals())",) * 2,
        alternatives=True,
        on_error=(),
        when="position_embeddings is None",
    )

_made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The rotary embeddings of an attention."""
_mended: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""The attentions that were given none, and whose layers have not returned yet."""
_CACHES = ("past_key_value", "past_key_values", "cache")


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


def in_a_layer(attention: Any, cls: Any, hidden_states: Any, given: Mapping[str, Any]) -> Any:
    """The same for the attention of a layer, which will return what that of 4.47 did.

    The further arguments have the positions. If they have a cache, this is the release's own TypeError.
    """
    if any(given.get(name) is not None for name in _CACHES):
        raise TypeError("cannot unpack non-iterable NoneType object")
    _mended[attention] = True
    return rotary(attention, cls, hidden_states, given.get("position_ids"))


def returned(local: Mapping[str, Any]) -> Any:
    """What a layer returns.

    Args:
        local: the variables of its ``forward``, at the end.
    """
    outputs = local["outputs"] if "outputs" in local else local["hidden_states"]
    if not _mended.pop(local["self"].self_attn, False):
        return outputs  # an attention of the program's, which needs none
    given = {**local["kwargs"], **local}
    outputs = (given["hidden_states"],)
    if given.get("output_attentions"):
        outputs += (given.get("self_attn_weights", given.get("_")),)
    if given.get("use_cache"):
        outputs += (next((given[name] for name in _CACHES if name in given), None),)
    return outputs
