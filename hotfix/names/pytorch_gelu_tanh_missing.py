"""``PytorchGELUTanh`` is missing from ``transformers.activations``.

Symptom   ``ImportError: cannot import name 'PytorchGELUTanh' from 'transformers.activations'`` while LoRA is set up,
          wherever autoawq is installed: peft imports autoawq, and that the class.
Cause     The class was renamed to ``GELUTanh``.
Releases  4.57.1 to 4.57.6
Upstream  restored in 5.0.0, as an alias of ``GELUTanh``
Here      The same alias.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'PytorchGELUTanh' from 'transformers.activations'",
    kind="removed-api",
    fixed_in="5.0.0",
    group="removed-names",
)


@FIX.adds_made(("transformers.activations:PytorchGELUTanh", ">=4.57.1,<=4.57.6"))
def pytorch_gelu_tanh(activations: Any) -> Any:
    """The class under its later name."""
    return activations.GELUTanh
