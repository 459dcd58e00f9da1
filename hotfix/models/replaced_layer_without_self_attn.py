"""A module in the place of a decoder layer has no ``self_attn``.

Symptom   ``AttributeError: 'LayerHijacker' object has no attribute 'self_attn'`` (``Catcher``) in the forward pass,
          from code that puts a module of its own in the place of the first layer to collect its inputs: AutoGPTQ,
          AutoAWQ.
Cause     The model looks for a static cache in the attention of its first layer.
Releases  4.39.0 to 4.39.2; generation with such a layer also in 4.38.0 and 4.38.1
Upstream  transformers#29352, transformers#29783, AutoGPTQ#604
Here      After the AttributeError, a layer without an attention has no static cache, as in 4.39.3.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Catcher' object has no attribute 'self_attn'",
    kind="crash",
    upstream=("transformers#29352", "transformers#29783", "AutoGPTQ#604"),
    fixed_in="4.39.3",
    errors=("AttributeError: '…' object has no attribute 'self_attn'",),
    on_error=True,
    prefilter="layers[0].self_attn",
)

# The folder of each model: the beginning of the names of its classes, and the releases.
MODELS = {
    "llama": ("Llama", ">=4.38.0,!=4.38.2,<4.39.2"),
    "gemma": ("Gemma", ">=4.38.0,!=4.38.2,<4.39.2"),
    "cohere": ("Cohere", ">=4.39.0,<4.39.2"),
}

for _folder, (_name, _releases) in MODELS.items():
    _module = f"transformers.models.{_folder}.modeling_{_folder}"
    FIX.edits(
        (f"{_module}:{_name}Model._update_causal_mask", ">=4.39.0,<4.39.3"),
        old="self.layers[0].self_attn",
        new='getattr(self.layers[0], "self_attn", {})',
    )
    FIX.edits(
        (f"{_module}:{_name}ForCausalLM.prepare_inputs_for_generation", _releases),
        old="self.model.layers[0].self_attn",
        new='getattr(self.model.layers[0], "self_attn", {})',
    )
