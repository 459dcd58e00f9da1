"""A model that sets ``self.config`` to a class of its own, as BiRefNet does, cannot be loaded.

Symptom   ``AttributeError: 'Config' object has no attribute 'model_type'`` from ``from_pretrained``, with remote code
          whose configuration is no `PreTrainedConfig`.
Cause     The kind of each submodel decides which names of weights are changed at loading.
Releases  5.6.0 and later
Upstream  ComfyUI_LayerStyle_Advance#120; not repaired as of 5.24.0
Here      Without a kind no names are changed, as in 5.5.4, and as for a kind that the release does not know. A program
          that handles the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Config' object has no attribute 'model_type', as BiRefNet is loaded",
    kind="loading",
    upstream=("ComfyUI_LayerStyle_Advance#120",),
    errors=("AttributeError: 'Config' object has no attribute 'model_type'",),
    on_error=("AttributeError: '…' object has no attribute 'model_type'",),
)

_READ = "submodule.config.model_type"
_READ_SAFELY = "getattr(submodule.config, 'model_type', None)"

FIX.edits(
    ("transformers.conversion_mapping:get_model_conversion_mapping", ">=5.6.0"),
    old=(f"{_READ} not in seen_model_types", f"model_type = {_READ}"),
    new=(f"{_READ_SAFELY} not in seen_model_types", f"model_type = {_READ_SAFELY}"),
    alternatives=True,
    unless="seen_model_types.add(model.config.model_type)",  # asked only of a kind that the release knows
)
