"""An override of ``_rotate_checkpoints`` is no longer called, and checkpoints that it would keep are deleted.

Symptom   Silent. Since 5.2.0 a Trainer with a method of its own for old checkpoints, and ``save_total_limit``, loses
          checkpoints that the method keeps, such as every tenth one.
Cause     The Trainer calls a function of ``trainer_utils`` instead of its method.
Releases  5.2.0 and later
Upstream  by design (not put back)
Here      The override is called in its place, with the arguments of 5.1.0; if it raises an error, the function. Left
          alone are a Trainer without ``save_total_limit``, one whose class or callbacks call the method themselves or
          code of the program's that it calls, and a program with its own function in the place of the library's.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _old_overrides

_NAME = "_rotate_checkpoints"

FIX = Fix(
    title="A Trainer deletes checkpoints that its own _rotate_checkpoints would keep",
    kind="silent",
    everyone="only where a subclass overrides the method, which no program does for another reason than its call",
)

FIX.edits(
    ("transformers.trainer:Trainer._save_checkpoint", ">=5.2.0"),
    old="rotate_checkpoints(output_dir=run_dir, **__REST)",
    new=f"""
        from {__name__} import rotate
        rotate(self, rotate_checkpoints, run_dir)
    """,
    when=f"from {__name__} import is_ignored; is_ignored(self)",
)


def is_ignored(trainer: Any) -> bool:
    """Whether a Trainer has an override that can be called as in 5.1.0, and nothing in its place."""
    from transformers import trainer as module

    limit = trainer.args.save_total_limit
    if limit is None or limit <= 0 or not scope.was_written_in("transformers", module.rotate_checkpoints):
        return False
    method = _old_overrides.method_of(trainer, _NAME)
    if not _old_overrides.is_override(method) or _old_overrides.is_used_otherwise(FIX.id, trainer, _NAME):
        return False
    return all(_old_overrides.takes(method, name=name) for name in ("use_mtime", "output_dir"))


def rotate(trainer: Any, function: Any, folder: str) -> None:
    """Call the override, or the function of the release if it cannot run here.

    Args:
        trainer: the Trainer.
        function: that the release calls.
        folder: of the checkpoints.
    """
    if not _old_overrides.revived(FIX.id, trainer, _NAME, use_mtime=True, output_dir=folder):
        function(
            output_dir=folder,
            save_total_limit=trainer.args.save_total_limit,
            best_model_checkpoint=trainer.state.best_model_checkpoint,
            use_mtime=True,
        )
