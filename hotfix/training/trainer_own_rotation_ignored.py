"""An override of ``_rotate_checkpoints`` is no longer called, and checkpoints that it would keep are deleted.

Symptom   Silent. Since 5.2.0 a Trainer with a method of its own for old checkpoints, and ``save_total_limit``, loses
          checkpoints that the method keeps, such as every tenth one.
Cause     The Trainer calls a function of ``trainer_utils`` instead of its method.
Releases  5.2.0 and later
Upstream  by design (not put back)
Here      The override is called in its place, with the arguments of 5.1.0.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="A Trainer deletes checkpoints that its own _rotate_checkpoints would keep",
    kind="silent",
    everyone="only where a subclass overrides the method, which no program does for another reason than its call",
)

FIX.edits(
    ("transformers.trainer:Trainer._save_checkpoint", ">=5.2.0"),
    old="rotate_checkpoints(output_dir=run_dir, **__REST)",
    new="self._rotate_checkpoints(use_mtime=True, output_dir=run_dir)",
    when=f"from {__name__} import is_ignored; is_ignored(self)",
)


def is_ignored(trainer: Any) -> bool:
    """Whether a Trainer has an override that can be called as in 5.1.0."""
    method = _old_overrides.method_of(trainer, "_rotate_checkpoints")
    return _old_overrides.is_override(method) and all(
        _old_overrides.takes(method, name=name) for name in ("use_mtime", "output_dir")
    )
