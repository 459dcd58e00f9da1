"""The Trainer no longer has methods that subclasses of it call.

Symptom   ``AttributeError: 'SentenceTransformerTrainer' object has no attribute '_nested_gather'`` at the first log of
          sentence-transformers before 5.2.1, and of every trainer with its own ``_maybe_log_save_evaluate`` or
          ``evaluation_loop``; the same of ``_sorted_checkpoints`` and ``_rotate_checkpoints`` in an own
          ``_save_checkpoint``, of ``_activate_neftune`` and ``num_tokens`` in an own ``_inner_training_loop``.
Cause     The methods became functions of ``trainer_pt_utils``, ``trainer_utils`` and ``integrations.neftune``, which
          get what they need as arguments.
Releases  5.2.0 and later; ``_gather_and_numpify`` 5.0.0 and later
Upstream  by design (not put back)
Here      The results of 4.57.6, computed by these functions from the attributes of the trainer. The methods call each
          other, so that a subclass can override one of them. The release's own loop calls none of them.
          ``prediction_loop``, ``torch_jit_model_eval`` and ``_save_tpu`` are not restored.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'SentenceTransformerTrainer' object has no attribute '_nested_gather'",
    kind="removed-api",
    group="removed-names",
    errors=(
        "AttributeError: '…Trainer…' object has no attribute '_nested_gather'",
        "AttributeError: '…Trainer…' object has no attribute '_gather_and_numpify'",
        "AttributeError: '…Trainer…' object has no attribute '_sorted_checkpoints'",
        "AttributeError: '…Trainer…' object has no attribute '_rotate_checkpoints'",
        "AttributeError: '…Trainer…' object has no attribute '_activate_neftune'",
        "AttributeError: '…Trainer…' object has no attribute '_deactivate_neftune'",
        "AttributeError: '…Trainer…' object has no attribute 'compare_trainer_and_checkpoint_args'",
        "AttributeError: '…Trainer…' object has no attribute 'num_tokens'",
    ),
)

TRAINER = "transformers.trainer:Trainer"


@FIX.adds((f"{TRAINER}._nested_gather", ">=5.2.0"))
def _nested_gather(self: Any, tensors: Any, name: Any = None) -> Any:
    """The tensors of all processes, concatenated."""
    from transformers.trainer_pt_utils import nested_gather

    return nested_gather(tensors, self.args.parallel_mode, name)


@FIX.adds((f"{TRAINER}._gather_and_numpify", ">=5.0.0"))
def _gather_and_numpify(self: Any, tensors: Any, name: Any) -> Any:
    """The same, as arrays."""
    from transformers.trainer_pt_utils import nested_numpify

    return None if tensors is None else nested_numpify(self._nested_gather(tensors, name))


@FIX.adds((f"{TRAINER}._sorted_checkpoints", ">=5.2.0"))
def _sorted_checkpoints(
    self: Any, output_dir: Any = None, checkpoint_prefix: str = "checkpoint", use_mtime: bool = False
) -> list[str]:
    """The folders of checkpoints from the oldest to the newest, the best one behind all but the newest."""
    from transformers.trainer_utils import sort_checkpoints

    best = self.state.best_model_checkpoint
    folders: list[str] = sort_checkpoints(output_dir, checkpoint_prefix, use_mtime, best_model_checkpoint=best)
    return folders


@FIX.adds((f"{TRAINER}._rotate_checkpoints", ">=5.2.0"))
def _rotate_checkpoints(self: Any, use_mtime: bool = False, output_dir: Any = None) -> None:
    """Delete the oldest checkpoints beyond ``save_total_limit``; neither the newest nor the best is deleted."""
    import shutil

    kept = self.args.save_total_limit
    if kept is None or kept <= 0:
        return
    folders = self._sorted_checkpoints(use_mtime=use_mtime, output_dir=output_dir)
    if kept == 1 and self.state.best_model_checkpoint not in (None, *folders[-1:]):
        kept = 2
    for folder in folders[:-kept]:
        shutil.rmtree(folder, ignore_errors=True)


@FIX.adds((f"{TRAINER}._activate_neftune", ">=5.2.0"))
def _activate_neftune(self: Any, model: Any) -> Any:
    """Add noise to the embeddings of a model; returns the model."""
    from transformers.integrations.neftune import activate_neftune

    self.neftune_hook_handle = activate_neftune(model, self.neftune_noise_alpha, self.accelerator)
    return model


@FIX.adds((f"{TRAINER}._deactivate_neftune", ">=5.2.0"))
def _deactivate_neftune(self: Any, model: Any) -> None:
    """Add no more noise.

    Raises:
        ValueError: there was none.
    """
    from transformers.integrations.neftune import deactivate_neftune

    if not hasattr(self, "neftune_hook_handle"):
        raise ValueError("NEFTune is not active: call `_activate_neftune()` of the trainer first")
    deactivate_neftune(model, self.neftune_hook_handle, self.accelerator)


@FIX.adds((f"{TRAINER}.compare_trainer_and_checkpoint_args", ">=5.2.0"))
def compare_trainer_and_checkpoint_args(self: Any, training_args: Any, trainer_state: Any) -> None:
    """Warn of arguments that are others than those of a checkpoint."""
    from transformers import trainer_utils

    trainer_utils.compare_trainer_and_checkpoint_args(training_args, trainer_state)


@FIX.adds_made((f"{TRAINER}.num_tokens", ">=5.2.0"))
def of_batches(module: Any) -> Any:
    """A function that needs no trainer."""

    def num_tokens(train_dl: Any, max_steps: Any = None) -> int:
        """The number of tokens in all batches, or that of the first one, so many times."""
        total = 0
        for batch in train_dl:
            try:
                length = batch["input_ids"].numel()
            except KeyError:
                module.logger.warning("The batches have no input_ids: their tokens cannot be counted")
                break
            if max_steps is not None:
                return int(length * max_steps)
            total += length
        return total

    return staticmethod(num_tokens)
