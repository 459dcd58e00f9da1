"""``SlidingWindowCache`` was gone until 5.5.1.

Symptom   ``ImportError: cannot import name 'SlidingWindowCache' from 'transformers.cache_utils'`` from remote code of
          Phi-3, Keye and others.
Cause     The class was removed. 5.5.1 restored the name in ``transformers.cache_utils``, for ``StaticCache``, but
          not at the top level.
Releases  5.0.0 to 5.5.0
Upstream  transformers#45278, fixed in 5.5.1
Here      ``StaticCache``, as in 5.5.1; the top level stays without the name, as upstream.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'SlidingWindowCache' from 'transformers.cache_utils'",
    kind="removed-api",
    upstream=("transformers#45278",),
    fixed_in="5.5.1",
    group="removed-names",
)


@FIX.adds_made(("transformers.cache_utils:SlidingWindowCache", ">=5.0.0,<=5.5.0"))
def sliding_window_cache(cache_utils: Any) -> type:
    """An alias of the class."""
    kind: type = cache_utils.StaticCache
    return kind
