"""The proof: a step of training, an evaluation and a saved model, with an older accelerate."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.neighbours.unwrap_model_old_accelerate import FIX
from hotfix.proofs.neighbours._linear import Model, samples
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*unwrap_model.. got an unexpected keyword argument 'keep_torch_compile'",
    packages={"accelerate": "1.1.1", "flash-attn": None},
    oracles={"*": "4.51.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The losses, the trained weight, and the weight in the file."""
    from safetensors.torch import load_file
    from transformers import Trainer, TrainingArguments

    data = samples(testbed)
    model = testbed.fill(Model())
    results = {}
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=1, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trainer = Trainer(
            model=model, args=arguments, train_dataset=data, eval_dataset=data, optimizers=(optimizer, None)
        )
        if target.qualname.endswith("_save"):
            trainer.save_model(folder)
            results["saved"] = load_file(str(Path(folder) / "model.safetensors"))["layer.weight"]
        else:
            results["loss"] = torch.tensor(trainer.train().training_loss)
            results["loss of the evaluation"] = torch.tensor(trainer.evaluate()["eval_loss"])
    results["weight"] = model.layer.weight.detach().clone()
    return results
