"""``ALL_LAYERNORM_LAYERS`` is no name of the Trainer's module any more.

Symptom   ``ImportError: cannot import name 'ALL_LAYERNORM_LAYERS' from 'transformers.trainer'``: GLiNER, RoboTwin and
          the many projects that have their Trainer from LLaVA.
Cause     The Trainer does not use it since 4.53.0; it stands where it always stood, in ``pytorch_utils``.
Releases  4.53.0 and later
Upstream  transformers#38922, GLiNER#273 (not put back)
Here      It is the list of ``pytorch_utils``, in both modules the same object, as in 4.52.4. The Trainer itself does
          not read it any more: what somebody appends to it counts for their own Trainer only.
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
