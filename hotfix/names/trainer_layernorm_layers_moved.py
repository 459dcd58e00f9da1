"""``ALL_LAYERNORM_LAYERS`` can no longer be imported from the Trainer's module.

Symptom   ``ImportError: cannot import name 'ALL_LAYERNORM_LAYERS' from 'transformers.trainer'``: GLiNER, RoboTwin and
          the many projects that have their Trainer from LLaVA.
Cause     The Trainer does not use it since 4.53.0; it is still defined in ``pytorch_utils``.
Releases  4.53.0 and later
Upstream  transformers#38922, GLiNER#273 (not put back)
Here      The list of ``pytorch_utils``, the same object in both modules, as in 4.52.4. The Trainer no longer reads it:
          an appended class counts only for a Trainer of your own.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'ALL_LAYERNORM_LAYERS' from 'transformers.trainer'",
    kind="removed-api",
    upstream=("transformers#38922", "GLiNER#273"),
    group="removed-names",
)


@FIX.adds_made(("transformers.trainer:ALL_LAYERNORM_LAYERS", ">=4.53.0"))
def layers(trainer: Any) -> Any:
    """The list of the module that has it."""
    from transformers import pytorch_utils

    return pytorch_utils.ALL_LAYERNORM_LAYERS
