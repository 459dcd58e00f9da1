"""``config.rope_scaling`` of a custom configuration is never None, and may lack ``type``.

Symptom   ``KeyError: 'type'`` while a model is built: InternLM2 of InternVL, Phi-3's and DeepSeek's remote code, and
          whatever else asks ``config.rope_scaling is None`` and then ``config.rope_scaling["type"]``.
Cause     The attribute became another name of ``rope_parameters``, which holds the base, too, and is there without any
          scaling; the kind is called ``rope_type`` in it.
Releases  5.0.0 and later
Upstream  not put back
Here      For configurations whose class is not one of transformers: None where nothing is scaled, else the same
          dictionary with ``type`` in it, so that what is written into it stays. Nothing in 5.x itself reads the
          attribute. A dictionary by kinds of layers stays as it is.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

_FILLS = "it fills the dictionary of one model; what is read is the property"
_REPLACED_SINCE = (
    "deepseek_v3.configuration_deepseek_v3:DeepseekV3Config",
    "longcat_flash.configuration_longcat_flash:LongcatFlashConfig",
    "mistral4.configuration_mistral4:Mistral4Config",
)

FIX = Fix(
    title="KeyError: 'type', from config.rope_scaling[\"type\"] of a configuration without scaling",
    kind="removed-api",
    optin="code for 5.x that reads config.rope_scaling would no longer find what the release has there",
    group="removed-names",
    errors=("KeyError: 'type'",),
    exempt={
        "*Config.convert_rope_params_to_dict": _FILLS,
        **{f"transformers.models.{place}.convert_rope_params_to_dict": _FILLS for place in _REPLACED_SINCE},
    },
    prefilter="def convert_rope_params_to_dict",
)


@FIX.wraps(
    ("transformers.configuration_utils:PreTrainedConfig.rope_scaling", ">=5.0.0"),
    fingerprint_of=("transformers.modeling_rope_utils:RotaryEmbeddingConfigMixin.convert_rope_params_to_dict",),
)
def as_before(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The value that old code expects."""

    def rope_scaling(self: Any) -> Any:
        parameters = original(self)
        if scope.was_written_in("transformers", type(self)):
            return parameters
        if not parameters:
            return None
        if any(isinstance(value, dict) for value in parameters.values()):
            return parameters
        kind = parameters.get("type", parameters.get("rope_type", "default"))
        if kind == "default":
            return None
        parameters.setdefault("type", kind)
        return parameters

    return rope_scaling


@FIX.recognises
def is_broken(function: Any) -> bool:
    """The parameters take the place of the scaling."""
    return bool(function.name == "convert_rope_params_to_dict")
