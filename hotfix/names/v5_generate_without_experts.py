"""``generate`` asks models for the implementation of their experts that have no such method.

Symptom   ``AttributeError: 'MultimodalGenerationWrapper' object has no attribute 'get_experts_implementation'``
          from a module that inherits from ``GenerationMixin`` alone (open_clip).
Cause     ``generate`` calls a method of ``PreTrainedModel`` where it read an attribute of the configuration.
Releases  5.14.0 and later
Upstream  open_clip#1199
Here      A model that has none of the two methods for it is asked for that of its configuration, as in 5.13.1, where
          nothing handles the error.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="AttributeError: 'MultimodalGenerationWrapper' object has no attribute 'get_experts_implementation'",
    kind="crash",
    upstream=("open_clip#1199",),
    errors=("AttributeError: '…' object has no attribute 'get_experts_implementation'",),
)

FIX.edits(
    ("transformers.generation.utils:GenerationMixin._optimize_model_for_decode", ">=5.14.0"),
    old="original_experts_implementation = self.get_experts_implementation()",
    new='original_experts_implementation = {"": self.config._experts_implementation}',
    when=f"from {__name__} import is_no_model; is_no_model(self)",
)


def is_no_model(owner: Any) -> bool:
    """Whether it has no methods for experts, and an error would crash the program."""
    names = ("get_experts_implementation", "set_experts_implementation")
    return not any(hasattr(owner, name) for name in names) and overrides.would_end(AttributeError)
