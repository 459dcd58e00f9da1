"""The proof: four texts with equally many labels, in micro-batches and as one batch, with overrides of 4.45.

BERT comes first: 4.47.0 and 4.48.0 hand the number to models only that cannot use it.
"""

import tempfile
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import LATER_PACKAGES, both_ways
from hotfix.proofs.zoo import classified, small_bert, small_llama, texts
from hotfix.training.trainer_compute_loss_arity import FIX


@FIX.case(
    raises="TypeError: .*(got an unexpected keyword argument 'num_items_in_batch'|takes 3 positional arguments but 4)",
    packages=LATER_PACKAGES,
    with_fixes=("trainer-ga-multiplied-loss", "v5-trainer-ga-double-division"),
    # The reported loss of 4.45.2 is the oracle of all releases, whichever name the model got.
    oracles={"*": "4.45.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Train, or evaluate."""

    def old(trainer: Any) -> type:
        class Old(trainer):
            def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False) -> Any:
                outputs = model(**inputs)
                return (outputs.loss, outputs) if return_outputs else outputs.loss

        class OldStep(trainer):
            def training_step(self, model: Any, inputs: Any) -> Any:
                return super().training_step(model, inputs)

        return OldStep if is_loop else Old

    is_loop = target.qualname in ("Trainer._inner_training_loop", "Trainer._run_epoch")
    samples = texts(testbed, (1, 1, 1, 1))
    own = {}
    if is_loop:
        with trained_with(_with_a_backward_pass):
            own = _of("own backward", both_ways(lambda: small_llama(testbed), samples))
    with trained_with(old) as kind:
        if target.qualname == "Trainer.prediction_step":
            return _evaluated(kind, small_llama(testbed), samples)
        return {
            **_of("BERT", both_ways(lambda: small_bert(testbed), classified(testbed))),
            **_of("Llama", both_ways(lambda: small_llama(testbed), samples)),
            **own,
        }


def _with_a_backward_pass(trainer: Any) -> type:
    class OwnBackward(trainer):
        def training_step(self, model: Any, inputs: Any) -> Any:
            model.train()
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
            self.accelerator.backward(loss)
            return loss.detach() / self.args.gradient_accumulation_steps

    return OwnBackward


def _of(model: str, results: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {f"{model}: {name}": value for name, value in results.items()}


def _evaluated(kind: Any, model: Any, samples: Any) -> dict[str, torch.Tensor]:
    from transformers import TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        quiet: dict[str, Any] = {"report_to": [], "disable_tqdm": True, "use_cpu": True}
        trainer = kind(model=model, args=TrainingArguments(folder, **quiet), eval_dataset=list(samples))
        return {"loss": torch.tensor(trainer.evaluate()["eval_loss"])}
