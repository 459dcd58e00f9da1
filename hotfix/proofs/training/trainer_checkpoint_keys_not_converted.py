"""Checkpoints with the names of the Hub are read by a Trainer: in one file, in two, and with nothing to translate."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.proofs._llava import llava, named, save
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama
from hotfix.training.trainer_checkpoint_keys_not_converted import FIX

_SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def mixtral(testbed: Testbed) -> Any:
    """A small mixture of two experts, filled."""
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(vocab_size=32, num_key_value_heads=2, num_local_experts=2, **_SIZES)
    return testbed.fill(MixtralForCausalLM(config))


def of_the_hub(model: Any) -> dict[str, Any]:
    """The weights of a mixture, with the names and the shapes that files have."""
    weights = {}
    for name, weight in model.state_dict().items():
        place, inner, kind = name.partition(".mlp.")
        experts = f"{place}.block_sparse_moe"
        if kind == "gate.weight":
            weights[f"{experts}.{kind}"] = weight
        elif inner:
            matrices = {"w1": weight.chunk(2, 1)[0], "w3": weight.chunk(2, 1)[1]} if "gate" in kind else {"w2": weight}
            for matrix, all_experts in matrices.items():
                for number, of_one in enumerate(all_experts):
                    weights[f"{experts}.experts.{number}.{matrix}.weight"] = of_one.contiguous()
        else:
            weights[name] = weight
    return weights


@FIX.case(packages=LATER_PACKAGES, with_fixes=("accelerator-dispatch-batches",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The sum of all weights of a model of zeros, behind each way of reading; numbers that have no rounding."""
    from transformers import Trainer, TrainingArguments

    sums = {}
    for family, make, names in (
        ("LLaVA", llava, lambda model: named(model, "old")),
        ("Mixtral", mixtral, of_the_hub),
        ("Llama", small_llama, lambda model: model.state_dict()),
    ):
        model = make(testbed)
        weights = {name: counted(weight) for name, weight in names(model).items()}
        for parts in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                write(weights, Path(folder), parts)
                model.config.save_pretrained(folder)
                torch.nn.utils.vector_to_parameters(
                    torch.zeros(sum(weight.numel() for weight in model.parameters())), model.parameters()
                )
                trainer = Trainer(model=model, args=TrainingArguments(folder, use_cpu=True, report_to=[]))
                if target.qualname.endswith("_load_best_model"):
                    trainer.state.best_model_checkpoint = folder
                    trainer._load_best_model()
                else:
                    trainer._load_from_checkpoint(folder)
            sums[f"{family}, {parts}"] = sum(weight.detach().double().abs().sum() for weight in model.parameters())
    return sums


def counted(weight: torch.Tensor) -> torch.Tensor:
    """Whole numbers in the shape of a weight: releases that fuse experts fill them with other random numbers."""
    return (torch.arange(weight.numel()) % 7 + 1).reshape(weight.shape).to(weight.dtype)


def write(weights: dict[str, Any], folder: Path, parts: int) -> None:
    """Write weights into one file, or into several with their index."""
    if parts == 1:
        save(weights, str(folder / "model.safetensors"))
        return
    files = {name: f"model-{number % parts + 1:05d}-of-{parts:05d}.safetensors" for number, name in enumerate(weights)}
    for file in set(files.values()):
        save({name: weights[name] for name in files if files[name] == file}, str(folder / file))
    index = {"metadata": {}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
