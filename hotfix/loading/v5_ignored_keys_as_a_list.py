"""A model that never calls ``post_init()`` cannot be loaded if its ignored keys are a list.

Symptom   ``TypeError: unsupported operand type(s) for |: 'list' and 'set'`` from ``from_pretrained`` of models with
          ``_keys_to_ignore_on_load_unexpected = [r"pooler"]`` that call ``self.init_weights()``, as models for 4.x do.
Cause     The keys became a set, which ``post_init()`` makes of a list.
Releases  5.9.0 and later
Upstream  not repaired
Here      A set is made of the list.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: unsupported operand type(s) for |: 'list' and 'set', of _keys_to_ignore_on_load_unexpected",
    kind="crash",
    errors=("TypeError: unsupported operand type(s) for |: 'list' and 'set'",),
    everyone="a set stays as it is, and the release raises for a list",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._adjust_missing_and_unexpected_keys", ">=5.9.0"),
    old="(self._keys_to_ignore_on_load_unexpected or set()) | __MORE",
    new="set(self._keys_to_ignore_on_load_unexpected or ()) | __MORE",
)
