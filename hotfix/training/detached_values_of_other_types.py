"""Evaluation ends if a model returns, or a batch has as labels, anything but tensors.

Symptom   ``AttributeError: 'str' object has no attribute 'detach'`` from ``Trainer.evaluate`` where labels are texts.
Cause     Every value in the results of a step is detached.
Releases  4.36.0 to 4.42.4
Upstream  transformers#31852 (first fixed in 4.43.0)
Here      A value without ``detach`` stays as it is. A program that handles the error gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'str' object has no attribute 'detach' from Trainer.evaluate",
    kind="crash",
    fixed_in="4.43.0",
    upstream=("#31852",),
    errors=("AttributeError: 'str' object has no attribute 'detach'",),
    everyone="only for a value that cannot be detached: the new code tests it",
)

FIX.edits(
    ("transformers.trainer_pt_utils:nested_detach", ">=4.36.0,<=4.42.4"),
    old="return tensors.detach()",
    new=f"""
        from {__name__} import is_left
        return tensors if is_left(tensors) else tensors.detach()
    """,
)


def is_left(value: Any) -> bool:
    """Whether a value cannot be detached, and the program does not handle the release's error about it."""
    return not hasattr(value, "detach") and not scope.is_handled_around(FIX.id, AttributeError)
