"""Models no longer have ``_extract_past_from_model_output``.

Symptom   ``AttributeError: 'ChatGLMForConditionalGeneration' object has no attribute
          '_extract_past_from_model_output'`` in the first step of ``generate()``.
Cause     The method was removed; remote code that overrides ``_update_model_kwargs_for_generation`` calls it.
Releases  4.49.0 and later
Upstream  transformers#39336, CogVLM2#218 (not put back)
Here      A caller that passes the old argument and does not unpack the result gets the cache alone, as in 4.41.2; all
          other callers get the name and the cache, as in 4.48.3.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.names import past_of_outputs

FIX = Fix(
    title="AttributeError: 'ChatGLMForConditionalGeneration' object has no attribute '_extract_past_from_model_output'",
    kind="removed-api",
    upstream=("transformers#39336", "CogVLM2#218"),
    group="removed-names",
    errors=("AttributeError: '…' object has no attribute '_extract_past_from_model_output'",),
)


@FIX.adds(("transformers.generation.utils:GenerationMixin._extract_past_from_model_output", ">=4.49.0"))
def _extract_past_from_model_output(self: Any, outputs: Any, **kwargs: Any) -> Any:
    """The cache of an output."""
    if "standardize_cache_format" in kwargs and not past_of_outputs.wants_a_pair(sys._getframe(1)):
        return past_of_outputs.alone(self, outputs, **kwargs)
    return past_of_outputs.pair(outputs)
