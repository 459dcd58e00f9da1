"""``max_grad_norm=None``, which turns clipping off, ends training.

Symptom   ``TypeError: '>' not supported between instances of 'NoneType' and 'int'`` at the first step of
          ``Trainer.train()``.
Cause     The loop compares the value with 0, and no longer asks whether there is one.
Releases  5.3.0 and later
Upstream  semantic-router#1893 (not repaired)
Here      Gradients are not clipped, as up to 5.2.0. A program that handles the error gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="TypeError: '>' not supported between instances of 'NoneType' and 'int' for max_grad_norm=None",
    kind="crash",
    upstream=("semantic-router#1893",),
    errors=("TypeError: '>' not supported between instances of 'NoneType' and 'int'",),
    everyone="only for None, which the release cannot compare: the new code tests it",
)

FIX.edits(
    ("transformers.trainer:Trainer._run_epoch", ">=5.3.0"),
    old="""
        if self.args.max_grad_norm > 0:
            grad_norm = self._clip_grad_norm(model)
        """,
    new="""
        from hotfix.training.max_grad_norm_none import is_clipped
        if is_clipped(self.args):
            grad_norm = self._clip_grad_norm(model)
        """,
)


def is_clipped(args: Any) -> bool:
    """Whether gradients are to be clipped.

    Args:
        args: of the Trainer.

    Raises:
        TypeError: there is no limit, and the program handles the release's error.
    """
    limit = args.max_grad_norm
    if limit is None and not scope.is_handled_around(FIX.id, TypeError):
        return False
    return bool(limit > 0)
