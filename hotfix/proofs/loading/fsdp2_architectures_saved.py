"""A tiny Llama is saved under FSDP2, on one process without a GPU, and without FSDP2."""

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from hotfix.loading.fsdp2_architectures_saved import FIX
from hotfix.proofs import zoo
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(with_fixes=("from-pretrained-without-accelerate",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The architectures in config.json, and the weights that the folder gives."""
    results = {}
    for name in ("sharded", "plain"):
        model = zoo.small_llama(testbed)
        state = {key: value.clone() for key, value in model.state_dict().items()}
        if name == "sharded":
            _shard(model)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder, state_dict=state)
            config = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
            results[f"{name}: weights"] = type(zoo.small_llama(testbed)).from_pretrained(folder).lm_head.weight
        results[f"{name}: architectures"] = words(*config["architectures"], *model.config.architectures)
    return results


def _shard(model: Any) -> None:
    from torch import distributed

    if not distributed.is_initialized():
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    mesh = import_module("torch.distributed.device_mesh").init_device_mesh("cpu", (1,))
    import_module("torch.distributed.fsdp").fully_shard(model, mesh=mesh)
