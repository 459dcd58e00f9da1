"""A callback for `transformers.Trainer` that compares the ranks and writes a lock file into every checkpoint.

Importing this module imports `transformers`, which it extends::

    from hotfix.callback import HotfixCallback

    trainer = Trainer(..., callbacks=[HotfixCallback()])
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from . import api, session
from .engine.entry import folder_of
from .errors import HotfixError
from .reports import lock


class HotfixCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not type-checked here
    """Fails before the first step if the ranks differ, and records the digest.

    At the beginning of training: `hotfix.assert_uniform`, one log line, and ``hotfix_digest`` in the configuration of
    the Weights & Biases run, if there is one. At each save: ``hotfix.lock`` in the checkpoint, for
    ``hotfix lock --check CHECKPOINT/hotfix.lock``. At the end, if calls are counted (``HOTFIX_MODE=observe``,
    ``HOTFIX_COUNT=1``): the counts, and ``hotfix/triggered/FIX`` in the summary of the run.

    Args:
        check_checkpoint: whether to compare this process, at the beginning of training, with the lock file of the
            checkpoint that the model was loaded from or that training resumes from. One log line lists the silent bugs
            that differ between the two.

    Attributes:
        digest: the digest of the patch set; empty before training begins.
        observed: the counts of this process, as in `hotfix.report().observed`; empty before training ends.
    """

    def __init__(self, check_checkpoint: bool = False) -> None:
        self.digest = ""
        self._check_checkpoint = check_checkpoint
        self.observed: tuple[Any, ...] = ()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Compare the ranks; see the class."""
        self.digest = api.assert_uniform()
        session.current().log.notice(f"training with patch set {self.digest}")
        run = getattr(sys.modules.get("wandb"), "run", None)
        if run is not None and state.is_world_process_zero:
            run.config.update({"hotfix_digest": self.digest}, allow_val_change=True)
        if self._check_checkpoint and state.is_world_process_zero:
            self._compare(args, state, kwargs.get("model"))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Collect the counts."""
        self.observed = session.current().report().observed  # a guard has checked, and checks again at exit
        run = getattr(sys.modules.get("wandb"), "run", None)
        if run is not None and state.is_world_process_zero and self.observed:
            triggered = {count.fix: 0 for count in self.observed}
            for count in self.observed:
                triggered[count.fix] += count.struck
            run.summary.update({f"hotfix/triggered/{fix}": number for fix, number in triggered.items()})

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write a lock file into the checkpoint."""
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        if state.is_world_process_zero and folder.is_dir():
            (folder / lock.FILE).write_text(lock.describe(session.current().report()), encoding="utf-8")

    def _compare(self, args: Any, state: Any, model: Any) -> None:
        """Log once how this process differs from the one that trained a checkpoint."""
        log = session.current().log
        named = [getattr(getattr(model, "config", None), "_name_or_path", None), args.resume_from_checkpoint]
        folders = [Path(path) for path in named if isinstance(path, str) and path]
        if state.global_step:  # training resumes; the Trainer does not tell from which folder
            folders.append(Path(args.output_dir, f"checkpoint-{state.global_step}"))
        locked = [folder for folder in dict.fromkeys(folders) if (folder / lock.FILE).is_file()]
        if not locked:
            log.notice(f"no {lock.FILE} next to the model: nothing to compare this process with")
            return
        models = {type(part).__module__ for part in model.modules()}
        parts = {folder_of(module) for module in models if module.startswith("transformers.models.")}
        for folder in locked:
            try:
                differences = lock.against(lock.read(folder / lock.FILE), api.report(), parts)
            except HotfixError as error:
                log.warn_once(str(error))
                continue
            if differences:
                log.warn_once(f"{folder} was trained under another patch set: {'; '.join(differences)}")
            else:
                log.notice(f"{folder}: this model finds the same patch set as where it was trained")
