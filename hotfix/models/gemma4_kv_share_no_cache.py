"""Gemma 4 without a cache, as in training, uses keys and values that nobody has trained.

Symptom   Silent. Losses and logits are wrong with ``use_cache=False``, and in training with gradient checkpointing,
          which takes the cache away.
Cause     The last layers share the keys and values of an earlier one, which they find in the cache alone. Without one
          they compute their own, with weights that are in no file, or that were never trained.
Releases  5.5.0 to 5.5.1
Upstream  fixed in 5.5.2
Here      What is shared is handed from layer to layer beside the cache, as in 5.5.2. Bitwise equal to it. The weights
          that are not used any more stay where they are, and are saved as before.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="gemma4-kv-share-no-cache",
    title="Gemma 4 without a cache, as in training, uses keys and values that nobody has trained",
    kind="silent",
    fixed_in="5.5.2",
    exempt={
        "transformers.models.gemma3n.modeling_gemma3n:Gemma3nTextAttention.forward": (
            "It is broken; there is no case that shows it yet."
        ),
    },
)

_RELEASES = ">=5.5.0,<=5.5.1"
_GEMMA4 = "transformers.models.gemma4.modeling_gemma4:Gemma4Text"
_FORWARDS = ("Gemma4TextModel.forward", "Gemma4TextAttention.forward")

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
        """
        shared_kv_states = kwargs.pop("shared_kv_states")
        if self.is_kv_shared_layer:
            key_states, value_states = shared_kv_states[self.kv_shared_layer_index]
            *__MOVED
        else:
            *__OWN
        """,
        """
        if past_key_values is not None and not self.is_kv_shared_layer:
            key_states, value_states = past_key_values.update(key_states, value_states, self.layer_idx)
        if self.store_full_length_kv:
            shared_kv_states[self.layer_idx] = key_states, value_states
        """,
    ),
)

# Each layer hands on what it is given by name. The model is judged with the attention, which has to look for it.
FIX.edits(
    (f"{_GEMMA4}Model.forward", _RELEASES),
    old="hidden_states = inputs_embeds",
    new='hidden_states = inputs_embeds\nkwargs = {**kwargs, "shared_kv_states": {}}',
    beside="past_key_values.shared_layers[self.kv_shared_layer_index]",
    fingerprint_of=_FORWARDS,
)
