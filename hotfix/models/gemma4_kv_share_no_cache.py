"""Gemma 4 without a cache, as in training, uses keys and values from untrained weights.

Symptom   Silent. Losses and logits are wrong with ``use_cache=False``, and in training with gradient checkpointing,
          which disables the cache.
Cause     The last layers share the keys and values of an earlier one, which only the cache passes on. Without a cache
          they compute their own, with weights that no checkpoint has, or that were never trained.
Releases  5.5.0 to 5.5.1
Upstream  fixed in 5.5.2; again in 5.6.0 and 5.10.1, since hooks rebuild a dict that is passed from layer to layer
Here      Without a cache, the layers pass on the shared keys and values in an object that no hook rebuilds, and that is
          valid in this forward and its backward. Bitwise equal to 5.5.2. With a cache, in a layer that is called by
          itself, with arguments caught from a forward as well, and if a layer or an attention is your own, the
          release's code runs. The unused weights stay, and are saved as before.
"""

from __future__ import annotations

import collections
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.models import _hooks
from hotfix.patching import scope

FIX = Fix(
    title="Gemma 4: wrong loss and logits with use_cache=False or gradient checkpointing",
    kind="silent",
    fixed_in="5.5.2",
    everyone="only without a cache, in layers of the library: the new code tests it",
    exempt={
        "transformers.models.gemma3n.modeling_gemma3n:Gemma3nTextAttention.forward": (
            "It is broken, but no case shows it yet."
        ),
    },
)

_RELEASES = ">=5.5.0,<=5.5.1"
_GEMMA4 = "transformers.models.gemma4.modeling_gemma4:Gemma4Text"
_FORWARDS = ("Gemma4TextModel.forward", "Gemma4TextAttention.forward")
_SHARED = "_hotfix_shared_states"

FIX.edits(
    (f"{_GEMMA4}Attention.forward", _RELEASES),
    old=(
        """
        if self.is_kv_shared_layer and past_key_values is not None:
            key_states, value_states = past_key_values.shared_layers[self.kv_shared_layer_index]
            *__MOVED
        else:
            *__OWN
        """,
        """
        if past_key_values is not None:
            if not self.is_kv_shared_layer:
                key_states, value_states = past_key_values.update(key_states, value_states, self.layer_idx)
            if self.store_full_length_kv:
                *__STORED
        """,
    ),
    new=(
        f"""
        shared = kwargs.pop("{_SHARED}", None)
        states_of = shared.now() if hasattr(shared, "now") and past_key_values is None else None
        if self.is_kv_shared_layer and (past_key_values is not None or states_of is not None):
            all_states = past_key_values.shared_layers if states_of is None else states_of
            key_states, value_states = all_states[self.kv_shared_layer_index]
            *__MOVED
        else:
            *__OWN
        """,
        """
        if past_key_values is not None:
            if not self.is_kv_shared_layer:
                key_states, value_states = past_key_values.update(key_states, value_states, self.layer_idx)
            if self.store_full_length_kv:
                *__STORED
        elif states_of is not None and self.store_full_length_kv:
            states_of[self.layer_idx] = key_states, value_states
        """,
    ),
)

# Each layer passes its keyword arguments on. The model is judged together with the attention, which has to read them.
# Gradient checkpointing removes the cache from the layers, not from the model.
FIX.edits(
    (f"{_GEMMA4}Model.forward", _RELEASES),
    old=(
        "hidden_states = inputs_embeds",
        """
        for i, decoder_layer in enumerate(self.layers[: self.config.num_hidden_layers]):
            *__CALLED
        """,
    ),
    new=(
        f"""
        hidden_states = inputs_embeds
        _shared = None
        if past_key_values is None or self.training:
            import {__name__} as _own
            if _own.is_shared_by(self.layers, past_key_values):
                _shared = _own.States()
                kwargs = {{**kwargs, "{_SHARED}": _shared}}
        """,
        """
        try:
            for i, decoder_layer in enumerate(self.layers[: self.config.num_hidden_layers]):
                *__CALLED
        finally:
            if _shared is not None:
                _shared.is_open = False
        """,
    ),
    beside="past_key_values.shared_layers[self.kv_shared_layer_index]",
    fingerprint_of=_FORWARDS,
    along=(f"{_GEMMA4}Attention.forward",),
)


class States:
    """Keys and values that later layers use as well, by layer number, in one forward of a model.

    Its layers get it as an argument, which a program may catch and use for other inputs. So it is open until the
    forward ends; after that, only for layers that checkpointing runs again in the backward.

    It is neither a dict nor a mapping, since hooks such as those of accelerate and FSDP rebuild these for each layer.
    A copy is the same object, since tensors in a graph cannot be copied. A pickle names no package and is empty.
    """

    def __init__(self) -> None:
        self.of_layers: dict[int, Any] = {}
        self.is_open = True

    def now(self) -> Optional[dict[int, Any]]:
        """The keys and values by layer number, or None after the end of the forward."""
        if self.is_open:
            return self.of_layers
        import torch

        is_in_backward = torch._C._current_graph_task_id() != -1
        return self.of_layers if is_in_backward else None

    def __copy__(self) -> States:
        return self

    def __deepcopy__(self, memo: Any) -> States:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return collections.OrderedDict, ()  # which torch.load(weights_only=True) reads


def is_shared_by(layers: Any, cache: Any) -> bool:
    """Whether layers share keys and values without a cache, and every layer and attention is the library's own."""
    if not _hooks.is_plain_list(type(layers)):
        return False
    attentions = [getattr(layer, "self_attn", None) for layer in layers]
    if not any(getattr(attention, "is_kv_shared_layer", False) for attention in attentions):
        return False
    if cache is not None and not any(getattr(layer, "gradient_checkpointing", False) for layer in layers):
        return False  # the layers share by the cache
    return all(
        attention is not None and scope.is_own(FIX.id, layer, "forward") and scope.is_own(FIX.id, attention, "forward")
        for layer, attention in zip(layers, attentions)
    )
