"""Models whose configuration does not call the constructor of the library's cannot be loaded.

Symptom   ``AttributeError: 'Config' object has no attribute 'is_encoder_decoder'`` from ``from_pretrained`` of BiRefNet
          and other remote code that sets ``self.config`` to such a configuration.
Cause     ``get_text_config``, which tying calls, reads an attribute that only the constructor sets.
Releases  4.56.0 to 5.3.0
Upstream  ComfyUI_LayerStyle_Advance#120; since 5.4.0, the class has the attribute
Here      The attribute counts as False where it is missing, as in 5.4.0. A program that handles the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Config' object has no attribute 'is_encoder_decoder'",
    kind="loading",
    upstream=("ComfyUI_LayerStyle_Advance#120",),
    fixed_in="5.4.0",
    errors=("AttributeError: '…' object has no attribute 'is_encoder_decoder'",),
    on_error=True,
)

for _class, _releases in (("PretrainedConfig", ">=4.56.0,<5.0.0"), ("PreTrainedConfig", ">=5.0.0,<5.4.0")):
    FIX.edits(
        (f"transformers.configuration_utils:{_class}.get_text_config", _releases),
        old="config_to_return.is_encoder_decoder",
        new="getattr(config_to_return, 'is_encoder_decoder', False)",
        beside="self.is_encoder_decoder = is_encoder_decoder",
        fingerprint_of=(f"{_class}.get_text_config", f"{_class}.__init__"),
    )
