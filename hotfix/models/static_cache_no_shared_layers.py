"""Gemma 4 and Gemma 3n without shared layers cannot use a static cache.

Symptom   ``IndexError: list index out of range`` from ``generate(cache_implementation="static")``, or from the first
          forward with a ``StaticCache``, of a Gemma 4 whose layers share no keys and values (26B-A4B, 31B).
Cause     The cache leaves out the last ``num_kv_shared_layers`` layers by a slice, and with 0 the slice is empty: no
          layers remain.
Releases  4.56.0 to 5.9.0
Upstream  transformers#46235 (fixed in 5.10.1)
Here      With 0 shared layers no layer is left out, as in 5.10.1. A cache class of your own keeps the release's code.
          The growing cache has no layers at first, too, and adds full ones when they are used: its results are right,
          and stay as they are.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Gemma 4 without shared layers and a static cache: IndexError: list index out of range",
    kind="crash",
    errors=("IndexError: list index out of range",),
    upstream=("transformers#46235",),
    fixed_in="5.10.1",
    exempt={
        "transformers.cache_utils:DynamicCache.__init__": "it adds the missing layers when they are used",
    },
)

FIX.edits(
    ("transformers.cache_utils:StaticCache.__init__", ">=4.56.0,<=5.9.0"),
    old='hasattr(config, "num_kv_shared_layers")',
    new='hasattr(config, "num_kv_shared_layers") and config.num_kv_shared_layers != 0',
    when=f"import {__name__} as _own; _own.would_end(config)",
    own=("self",),
)


def would_end(config: Any) -> bool:
    """Whether a configuration says that it shares no layers, and no handler of the program waits for the error.

    Args:
        config: of a model or of its decoder.
    """
    decoder = config.get_text_config(decoder=True)
    is_none = getattr(decoder, "num_kv_shared_layers", None) == 0
    return is_none and not scope.is_handled_around(FIX.id, IndexError)
