"""Code imports a name from a module that no longer imports it, or whose definition has moved.

Symptom   ``ImportError: cannot import name 'PretrainedConfig' from 'transformers.modeling_utils'``, ``'shape_list'``,
          ``'_expand_mask'`` and hundreds more; ``ModuleNotFoundError`` for modules that only passed names on.
Cause     A module loses a name when it stops using it; definitions move when files are split.
Upstream  not put back
Here      An alias of the existing definition: where the name was imported from, or else where the same definition (by
          digest) is in the first release without the name. The rows are in ``removed.txt``, written by
          ``tools/names.py`` from the wheels; see `hotfix.patching.tabled`. The target is one of the rows, and its case
          runs like that of any fix.
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
