"""The proof: a subclass calls the methods on a trainer with four checkpoints."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import torch

from hotfix.names.v5_trainer_methods_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama

BATCHES = [{"input_ids": torch.ones(2, 3)}, {"input_ids": torch.ones(2, 4)}]


@FIX.case(raises="AttributeError: .*has no attribute '", packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The results of one of them."""
    from transformers import Trainer, TrainingArguments

    ask(target)

    class Own(Trainer):
        """As programs have it."""

    with TemporaryDirectory() as folder:
        args = TrainingArguments(folder, use_cpu=True, report_to=[], save_total_limit=2, neftune_noise_alpha=5.0)
        trainer = Own(small_llama(testbed), args)
        trainer.neftune_noise_alpha = 5.0
        return CASES[target.qualname.rpartition(".")[2]](trainer, Path(folder))


def _gathered(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    loss = torch.tensor(2.5)
    pair = trainer._nested_gather((loss, {"logits": torch.ones(2, 3)}))
    nothing = trainer._nested_gather(None, name="loss")
    return {"loss": pair[0], "logits": pair[1]["logits"], "nothing": torch.tensor(nothing is None)}


def _as_arrays(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    pair = trainer._gather_and_numpify((torch.tensor(2.5), torch.ones(2)), "logits")
    nothing = trainer._gather_and_numpify(None, "loss")
    loss, ones = map(torch.as_tensor, pair)
    return {"loss": loss, "ones": ones, "nothing": torch.tensor(nothing is None)}


def _checkpoints(trainer: Any, folder: Path, best: int = 0) -> None:
    """Folders of four steps; their times are the other way round."""
    for step in (2, 4, 10, 6):
        (folder / f"checkpoint-{step}").mkdir(exist_ok=True)
    for step in (2, 4, 10, 6):
        os.utime(folder / f"checkpoint-{step}", (1000 - 10 * step, 1000 - 10 * step))
    trainer.state.best_model_checkpoint = str(folder / f"checkpoint-{best}") if best else None


def _steps(folders: Any) -> torch.Tensor:
    return torch.tensor([int(str(folder).rpartition("-")[2]) for folder in folders])


def _sorted(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    results = {}
    for best in (0, 2, 6, 10):
        _checkpoints(trainer, folder, best)
        for by_time in (False, True):
            folders = trainer._sorted_checkpoints(output_dir=folder, use_mtime=by_time)
            results[f"{best} {by_time}"] = _steps(folders)
    return results


def _rotated(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    results = {}
    for limit in (None, 0, 1, 2, 3, 5):
        for best in (0, 2, 6, 10):
            _checkpoints(trainer, folder, best)
            trainer.args.save_total_limit = limit
            trainer._rotate_checkpoints(output_dir=folder)
            results[f"{limit} {best}"] = _steps(sorted(folder.glob("checkpoint-*")))
    return results


def _noisy(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    ids = torch.ones(1, 4, dtype=torch.long)
    model = trainer._activate_neftune(trainer.model.train())
    torch.manual_seed(0)
    noisy = model.get_input_embeddings()(ids)
    trainer.neftune_hook_handle.remove()
    return {"noisy": noisy, "quiet": model.get_input_embeddings()(ids)}


def _quiet_again(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    embeddings = trainer.model.train().get_input_embeddings()
    embeddings.neftune_noise_alpha = 5.0
    trainer.neftune_hook_handle = embeddings.register_forward_hook(lambda module, inputs, output: output + 1)
    trainer._deactivate_neftune(trainer.model)
    quiet = embeddings(torch.ones(1, 4, dtype=torch.long))
    return {"quiet": quiet, "left": torch.tensor(hasattr(embeddings, "neftune_noise_alpha"))}


def _compared(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    import logging

    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("transformers").addHandler(handler)
    trainer.state.train_batch_size = trainer.args.per_device_train_batch_size
    for steps in (trainer.args.logging_steps, 7):
        trainer.state.logging_steps = steps
        trainer.compare_trainer_and_checkpoint_args(trainer.args, trainer.state)
    return {"warnings": torch.tensor(["logging_steps" in text for text in texts])}


def _counted(trainer: Any, folder: Path) -> dict[str, torch.Tensor]:
    counts = [type(trainer).num_tokens(BATCHES), trainer.num_tokens(BATCHES, max_steps=5)]
    return {"tokens": torch.tensor([*counts, trainer.num_tokens([*BATCHES, {}])])}


CASES: dict[str, Callable[[Any, Path], dict[str, torch.Tensor]]] = {
    "_nested_gather": _gathered,
    "_gather_and_numpify": _as_arrays,
    "_sorted_checkpoints": _sorted,
    "_rotate_checkpoints": _rotated,
    "_activate_neftune": _noisy,
    "_deactivate_neftune": _quiet_again,
    "compare_trainer_and_checkpoint_args": _compared,
    "num_tokens": _counted,
}
