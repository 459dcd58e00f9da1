"""Names that a module had imported, and names whose definition has moved, are asked for where they were.

Symptom   ``ImportError: cannot import name 'PretrainedConfig' from 'transformers.modeling_utils'``, ``'shape_list'``,
          ``'_expand_mask'`` and hundreds more; ``ModuleNotFoundError`` for modules that only passed names on.
Cause     A module that stops using a name stops having it; definitions move when files are split.
Upstream  not put back
Here      Another name of what is there still: where the name came from, if that is defined there still; else where
          the same definition (by digest) stood in the first release that lacks it, and what has become of it there.
          The rows are in ``removed.txt``, written by ``tools/names.py`` from the wheels; see `hotfix.patching.tabled`.
          The target stands for them: it is one of them, and its case is run as every fix's.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'PretrainedConfig' from 'transformers.modeling_utils'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.modeling_utils:PretrainedConfig", ">=5.0.0"), only_needed=True)
def pretrained_config(modeling_utils: Any) -> Any:
    """The class, where it is defined."""
    from importlib import import_module

    return import_module("transformers.configuration_utils").PretrainedConfig
