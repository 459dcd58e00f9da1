"""A configuration class that annotates an attribute without a default cannot be defined.

Symptom   ``TypeError: non-default argument 'vision_config' follows default argument`` while remote code, vLLM or SGLang
          defines a configuration.
Cause     Every configuration becomes a dataclass, and the fields of the base class have defaults.
Releases  5.4.0 and 5.5.0
Upstream  sglang#20748 (fixed in 5.5.1)
Here      The fields are taken by name alone, as in 5.5.1, for a class that cannot be defined otherwise.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: non-default argument 'vision_config' follows default argument",
    kind="loading",
    upstream=("sglang#20748",),
    fixed_in="5.5.1",
    errors=("TypeError: non-default argument 'vision_config' follows default argument",),
    on_error=("TypeError: non-default argument '…' follows default argument…",),
)

FIX.edits(
    ("transformers.configuration_utils:PreTrainedConfig.__init_subclass__", ">=5.4.0,<5.5.1"),
    old="cls = dataclass(cls, repr=False)",
    new="cls = dataclass(cls, repr=False, kw_only=True)",
)
