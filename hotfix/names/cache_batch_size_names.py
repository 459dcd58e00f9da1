"""Caches of a fixed size have ``batch_size`` in some releases, and ``max_batch_size`` in others.

Symptom   ``AttributeError: 'StaticCache' object has no attribute 'max_batch_size'`` (Parler-TTS), or ``'batch_size'``
          from code of 4.45 to 4.50.
Cause     4.45.0 renamed ``max_batch_size``, 4.47.0 put it back, and 4.51.0 removed the new name.
Releases  ``max_batch_size`` is missing from 4.45.0 to 4.46.3, ``batch_size`` from 4.51.0 to 5.12.1.
Upstream  put back in 4.47.0 and in 5.13.0
Here      Each name gives the number that the other one has.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names import caches

FIX = Fix(
    title="AttributeError: 'StaticCache' object has no attribute 'max_batch_size', or 'batch_size'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: '…Cache' object has no attribute 'max_batch_size'",
        "AttributeError: '…Cache' object has no attribute 'batch_size'",
    ),
)

_UTILS = "transformers.cache_utils"
_SEPARATE = ("StaticCache", "HybridCache", "MambaCache")
_OLD = [(f"{_UTILS}:{kind}.max_batch_size", ">=4.45.0,<=4.46.3") for kind in _SEPARATE]
_NEW = [
    (f"{_UTILS}:HybridCache.batch_size", ">=4.51.0,<=4.57.6"),  # before its base class: it would have the name then
    (f"{_UTILS}:StaticCache.batch_size", ">=4.51.0,<=5.12.1"),
    (f"{_UTILS}:MambaCache.batch_size", ">=4.51.0,<=4.53.3"),
]


@FIX.adds_made(*_OLD, of_instances=True)
def max_batch_size(cache_utils: Any) -> caches.ReadOnly:
    """The number of rows that the cache has room for."""
    return caches.ReadOnly(lambda cache: cache.batch_size)


@FIX.adds_made(*_NEW, of_instances=True)
def batch_size(cache_utils: Any) -> caches.ReadOnly:
    """The number of rows that the cache has room for."""
    return caches.ReadOnly(lambda cache: cache.max_batch_size)
