"""Configurations of remote code with old layer types are refused.

Symptom   ``ValueError: The layer_types entries must be in (...) but got ['mamba', 'attention']`` while a
          configuration of remote code is built.
Cause     Two kinds of layers were renamed, in the configurations of the library only.
Releases  5.13.0
Upstream  fixed in 5.13.1
Here      Old names are translated for classes outside of transformers, before they are checked, as in 5.13.1. A
          program that handles the error gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Remote code raises ValueError: The layer_types entries must be in (...) but got ['mamba', 'attention']",
    kind="loading",
    fixed_in="5.13.1",
    errors=(
        "ValueError: The layer_types entries must be in …but got …",
        "ValueError: The `layer_types` entries must be in …",
    ),
    on_error=True,
)

FIX.edits(
    ("transformers.configuration_utils:PreTrainedConfig.validate_layer_type", "==5.13.0"),
    old="layers = getattr(self, layer_types, None)",
    new=f"""
        from {__name__} import in_new_words
        layers = in_new_words(self, layer_types)
    """,
    beside="all(layer_type in ALLOWED_LAYER_TYPES for layer_type in layers)",
    unless="self.is_custom_code()",
    # Up to 5.12.1 the old kinds were allowed.
    fingerprint_of=("PreTrainedConfig.validate_layer_type", "remap_legacy_layer_types"),
)


def in_new_words(config: Any, name: str) -> Any:
    """The layer types of a configuration, for remote code under the names of this release.

    Args:
        config: a configuration.
        name: the attribute with the layer types.
    """
    from transformers.configuration_utils import remap_legacy_layer_types  # it is loaded: it calls this

    layers = getattr(config, name, None)
    if layers is None or not hasattr(config, "num_hidden_layers") or _is_of_the_library(config):
        return layers
    translated = remap_legacy_layer_types(layers)
    if translated != layers:
        setattr(config, name, translated)
    return translated


def _is_of_the_library(config: Any) -> bool:
    return scope.was_written_in("transformers", type(config))
