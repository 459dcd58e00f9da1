"""The proof: one step of training and one evaluation with an old accelerate."""

import torch

from hotfix.neighbours.optimizer_train_old_accelerate import FIX
from hotfix.proofs.neighbours._linear import Model, samples
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: .* object has no attribute '(train|eval)'",
    packages={"accelerate": "0.33.0", "flash-attn": None},
    oracles={"*": "4.44.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Train with torch's optimizer and with one that has the methods; evaluate with each."""
    import tempfile

    from packaging.version import Version
    from transformers import Trainer, TrainingArguments, __version__, default_data_collator

    class Told(torch.optim.SGD):
        modes: tuple[str, ...] = ()

        def train(self) -> None:
            self.modes += ("train",)

        def eval(self) -> None:
            self.modes += ("eval",)

    data = samples(testbed)
    results = {}
    for name, kind in (("plain", torch.optim.SGD), ("told", Told)):
        model = testbed.fill(Model())
        optimizer = kind(model.parameters(), lr=0.1)
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                output_dir=folder, max_steps=1, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True
            )
            trainer = Trainer(
                model=model, args=arguments, train_dataset=data, eval_dataset=data, optimizers=(optimizer, None)
            )
            if not target.qualname.endswith("training_step"):
                trainer.optimizer = trainer.accelerator.prepare(optimizer)
            if target.qualname.endswith("prediction_loop"):
                # That of the Trainer does not say its batch size, which this loop asks for.
                batches = torch.utils.data.DataLoader(data, batch_size=2, collate_fn=default_data_collator)
                loop = trainer.prediction_loop(batches, "evaluation")
                results[f"{name} loss"] = torch.tensor(loop.metrics["eval_loss"])
            elif target.qualname.endswith("evaluation_loop"):
                results[f"{name} loss"] = torch.tensor(trainer.evaluate()["eval_loss"])
            else:
                trainer.train()
        results[f"{name} weight"] = model.layer.weight.detach().clone()
        if (
            name == "told" and not optimizer.modes and Version(__version__) >= Version("4.45.0")
        ):  # the oracle tells none
            raise AssertionError("the optimizer was not told")
    return results
