"""A generation configuration with ``cache_implementation="static"`` cannot be made.

Symptom   ``TypeError: StaticCacheConfig.__init__() missing 2 required positional arguments: 'batch_size' and
          'max_cache_len'``, from ``GenerationConfig(cache_implementation="static")``, and from reading a file with this
          entry.
Cause     The configuration of the cache is made without arguments, as for a quantized cache. That of a static cache has
          no defaults.
Releases  4.45.0 to 4.48.3
Upstream  transformers#35026 (first fixed in 4.49.0)
Here      After the error, ``cache_config`` stays None, as before 4.45.0 and since 4.49.0; `generate` does not need it.
          A program that handles the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: StaticCacheConfig.__init__() missing 2 required positional arguments, for a static cache",
    kind="crash",
    upstream=("transformers#35026",),
    fixed_in="4.49.0",
    errors=(
        "TypeError: StaticCacheConfig.__init__() missing 2 required positional arguments: 'batch_size' and "
        "'max_cache_len'",
    ),
    on_error=("TypeError: …__init__() missing 2 required positional arguments: 'batch_size' and 'max_cache_len'",),
)

FIX.edits(
    ("transformers.generation.configuration_utils:GenerationConfig.__init__", ">=4.45.0,<=4.48.3"),
    old="self.cache_config = cache_config_class()",
    new="self.cache_config = None",
    beside='self.return_legacy_cache = kwargs.pop("return_legacy_cache", None)',  # True in 4.44, which is right
)
