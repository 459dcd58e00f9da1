"""Configurations of remote code with layer types of their day are refused.

Symptom   ``ValueError: The layer_types entries must be in (...) but got ['mamba', 'attention']`` while a
          configuration of remote code is built.
Cause     Two kinds of layers got other names, in the configurations of the library alone.
Releases  5.13.0
Upstream  fixed in 5.13.1
Here      Old kinds are translated where a class was not written in transformers, before they are compared, as in
          5.13.1.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: The layer_types entries must be in (...), of a configuration of remote code",
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
    """The kinds of layers of a configuration; those of remote code are brought into the words of this release.

    Args:
        config: a configuration.
        name: the attribute that has them.
    """
    from transformers.configuration_utils import remap_legacy_layer_types  # it has called us

    layers = getattr(config, name, None)
    if layers is None or not hasattr(config, "num_hidden_layers") or _is_of_the_library(config):
        return layers
    translated = remap_legacy_layer_types(layers)
    if translated != layers:
        setattr(config, name, translated)
    return translated


def _is_of_the_library(config: Any) -> bool:
    return str(type(config).__module__).startswith("transformers.")
