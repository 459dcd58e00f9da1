"""Models no longer have ``_reorder_cache``, with which beam searches of a program's own choose rows of a cache.

Symptom   ``AttributeError: 'LlamaForCausalLM' object has no attribute '_reorder_cache'``.
Cause     Caches reorder themselves; the methods of the models were removed, and in 4.54.0 the one that refuses.
Releases  4.54.0 and later
Upstream  not put back
Here      The method returns the chosen rows of a cache or of tuples, and leaves what it was given as it is, as the
          methods of the models did. For caches of other kinds than dynamic ones it is a NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names._reordering import is_reordered, reordered

FIX = Fix(
    title="AttributeError: 'LlamaForCausalLM' object has no attribute '_reorder_cache'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.generation.utils:GenerationMixin._reorder_cache", ">=4.54.0"), only_needed=True)
def reorder_cache(utils: Any) -> Any:
    """The method, which some models had as a static one."""

    @staticmethod  # type: ignore[misc]
    def _reorder_cache(past_key_values: Any, beam_idx: Any) -> Any:
        """The rows of a cache that a beam search goes on with.

        Args:
            past_key_values: a cache, or tuples of tensors with the shape ``(batch, heads, length, width)``.
            beam_idx: for each row of the result, its row now; a tensor with the shape ``(batch,)``.

        Raises:
            NotImplementedError: it is something else.
        """
        if is_reordered(past_key_values):
            return reordered(past_key_values, beam_idx)
        kind = type(past_key_values)
        raise NotImplementedError(f"rows of {kind.__module__}.{kind.__name__} cannot be chosen: it is no dynamic cache")

    return _reorder_cache
