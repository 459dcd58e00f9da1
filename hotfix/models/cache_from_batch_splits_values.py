"""Beam search with ``low_memory=True`` writes other texts than without.

Symptom   Silent. Text that is nearly right at first, and falls apart.
Cause     When the caches of parts of a batch are put together, the keys are taken for the values, too.
Releases  4.45.0 to 4.46.3
Upstream  transformers#34232 (fixed in 4.47.0)
Here      The values are. Equal to 4.47.0, and to ``low_memory=False``. A cache of your own that keeps its values in
          another form than its keys is left alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Beam search with low_memory=True writes wrong tokens",
    kind="silent",
    upstream=("transformers#34232",),
    fixed_in="4.47.0",
    when="all([type(key) for key in part.key_cache] == [type(value) for value in part.value_cache] for part in splits)",
)

FIX.edits(
    ("transformers.cache_utils:DynamicCache.from_batch_splits", ">=4.45.0,<=4.46.3"),
    old="value_cache = [current.key_cache[idx] for current in splits if current.key_cache[idx] != []]",
    new="value_cache = [current.value_cache[idx] for current in splits if current.value_cache[idx] != []]",
)
