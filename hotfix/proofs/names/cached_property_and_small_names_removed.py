"""The proof: older frameworks import each name and use it."""

import warnings
from pathlib import Path
from typing import Any

import torch

from hotfix.names.cached_property_and_small_names_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed

# The name came back in 5.9.0 with another meaning; what it meant is what the last release before the gap says.
OLD_MEANING = {f"transformers.utils{module}:is_torch_tpu_available": "4.50.3" for module in ("", ".import_utils")}


@FIX.case(raises="ImportError: cannot import name '", oracles=OLD_MEANING)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one, and use it."""
    restored = ask(target)
    return {
        **USES[target.qualname](testbed, restored),
        "listed": listed(target),
        "pickled": same_when_pickled(restored),
    }


def _cached(testbed: Testbed, cached_property: Any) -> dict[str, torch.Tensor]:
    calls = []

    class Arguments:
        @cached_property  # type: ignore[untyped-decorator,unused-ignore]
        def device(self) -> str:
            calls.append("device")
            return "cpu"

        @cached_property  # type: ignore[untyped-decorator,unused-ignore]
        def nothing(self) -> None:
            calls.append("nothing")

    first, other = Arguments(), Arguments()
    seen = [first.device, first.device, other.device, first.nothing, first.nothing]
    kept = isinstance(Arguments.device, cached_property) and isinstance(Arguments.device, property)
    return {"calls": words(*calls), "seen": words(*map(str, seen)), "is a property": torch.tensor(kept)}


def _sent(testbed: Testbed, send_example_telemetry: Any) -> dict[str, torch.Tensor]:
    return {"nothing": torch.tensor(send_example_telemetry("run_clm", framework="pytorch") is None)}


def _file(testbed: Testbed, get_file_from_repo: Any) -> dict[str, torch.Tensor]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        there = Path(folder, "config.json")
        there.write_text("{}")
        path = get_file_from_repo(folder, "config.json")
        missing = get_file_from_repo(folder, "tokenizer.json", local_files_only=True)
        return {"answers": torch.tensor([path is not None and Path(path) == there, missing is None])}


def _tpu(testbed: Testbed, is_torch_tpu_available: Any) -> dict[str, torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"answers": torch.tensor([is_torch_tpu_available(check_device=number) for number in (False, True)])}


def _jieba(testbed: Testbed, is_jieba_available: Any) -> dict[str, torch.Tensor]:
    answer = is_jieba_available()
    return {"answers": torch.tensor([answer, isinstance(answer, bool)])}


def _recorder(testbed: Testbed, cls: Any) -> dict[str, torch.Tensor]:
    policy = cls(torch.nn.Linear, index=1, layer_name="self_attn")
    return {
        "shown": words(repr(policy.target_class), repr(policy.index), repr(policy.layer_name), repr(policy.class_name))
    }


def _uninitialised(testbed: Testbed, no_init_weights: Any) -> dict[str, torch.Tensor]:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
    seen = []
    init, own = torch.nn.init.normal_, LlamaModel._init_weights
    LlamaModel._init_weights = lambda self, module: seen.append(type(module).__name__)
    try:
        with no_init_weights():
            LlamaModel(config)
            inside = torch.nn.init.uniform_ is not None and torch.nn.init.normal_ is not init
        skipped = len(seen)
        LlamaModel(config)
    finally:
        LlamaModel._init_weights = own
    return {
        "initialised inside": torch.tensor(skipped),
        "initialised after": torch.tensor(len(seen) > 0),
        "inside": torch.tensor(inside),
        "back": torch.tensor(torch.nn.init.normal_ is init),
    }


def _loaded(testbed: Testbed, load_sharded_checkpoint: Any) -> dict[str, torch.Tensor]:
    import json
    from importlib import import_module
    from tempfile import TemporaryDirectory

    model = testbed.fill(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)))
    weights = {name: parameter.detach() + 1 for name, parameter in model.named_parameters()}
    with TemporaryDirectory() as folder:
        where = {name: f"model-0000{1 + int(name[0])}-of-00002.safetensors" for name in weights}
        for shard in sorted(set(where.values())):
            own = {name: weights[name] for name in weights if where[name] == shard}
            import_module("safetensors.torch").save_file(own, Path(folder, shard), metadata={"format": "pt"})
        Path(folder, "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
        missing, unexpected = load_sharded_checkpoint(model, folder)
    lost = torch.tensor([len(missing), len(unexpected)])
    return {"lost": lost, **{name: parameter.detach() for name, parameter in model.named_parameters()}}


def _dtypes(testbed: Testbed, get_parameter_dtype: Any) -> dict[str, torch.Tensor]:
    return {"dtypes": words(*(repr(get_parameter_dtype(part)) for part in _modules()), "none")}


def _devices(testbed: Testbed, get_parameter_device: Any) -> dict[str, torch.Tensor]:
    return {"devices": words(*(repr(get_parameter_device(part)) for part in _modules()[:3]))}


def _modules() -> list[Any]:
    """A module with parameters, one with numbers for parameters, a replica that holds tensors, and one with buffers."""
    linear = torch.nn.Linear(2, 2, dtype=torch.bfloat16)
    whole = torch.nn.Module()
    whole.weight = torch.nn.Parameter(torch.ones(2, dtype=torch.int8), requires_grad=False)
    replica = torch.nn.Module()
    replica.number, replica.weight = torch.ones(1, dtype=torch.int32), torch.ones(1, dtype=torch.float16)
    buffers = torch.nn.Module()
    buffers.register_buffer("steps", torch.ones(1, dtype=torch.int64))
    mixed = torch.nn.Sequential(buffers, torch.nn.BatchNorm1d(2, affine=False, dtype=torch.float64))
    return [linear, whole, replica, buffers, mixed, torch.nn.Identity()]


def _bytes(testbed: Testbed, dtype_byte_size: Any) -> dict[str, torch.Tensor]:
    kinds = (torch.bool, torch.int8, torch.uint8, torch.bfloat16, torch.float8_e4m3fn, torch.float32, torch.int64)
    return {"bytes": torch.tensor([float(dtype_byte_size(kind)) for kind in kinds])}


def _summary(testbed: Testbed, cls: Any) -> dict[str, torch.Tensor]:
    from transformers import PretrainedConfig

    hidden = testbed.randn(2, 3, 5, 8)
    index = testbed.randint(0, 5, 2, 3)
    results = {}
    for kind in ("last", "first", "mean", "cls_index"):
        config = PretrainedConfig(
            summary_type=kind,
            summary_use_proj=kind != "mean",
            summary_proj_to_labels=kind == "first",
            summary_activation="tanh" if kind == "cls_index" else None,
            summary_first_dropout=0.1,
            hidden_size=8,
            num_labels=3,
        )
        summary = testbed.fill(cls(config)).to(testbed.device).eval()
        results[kind] = summary(hidden if kind == "cls_index" else hidden[:, 0])
        results[f"{kind} names"] = words(*summary.state_dict(), *(name for name, _ in summary.named_children()))
        if kind == "cls_index":
            results["at the index"] = summary(hidden, index)
            results["of one"] = summary(hidden[:, 0], index[:, 0])
    bare = cls(PretrainedConfig(summary_first_dropout=0.5)).train()
    torch.manual_seed(0)
    results["dropped"] = bare(testbed.randn(2, 5, 8).cpu())
    return results


def _outputs(testbed: Testbed, union: Any) -> dict[str, torch.Tensor]:
    from typing import Optional, get_args

    def generate() -> Optional[union]:
        return None

    return {"kinds": words(*(kind.__name__ for kind in get_args(union)), *map(repr, generate.__annotations__))}


USES = {
    "GreedySearchOutput": _outputs,
    "SampleOutput": _outputs,
    "ContrastiveSearchOutput": _outputs,
    "BeamSearchOutput": _outputs,
    "BeamSampleOutput": _outputs,
    "cached_property": _cached,
    "send_example_telemetry": _sent,
    "get_file_from_repo": _file,
    "is_torch_tpu_available": _tpu,
    "is_jieba_available": _jieba,
    "OutputRecorder": _recorder,
    "no_init_weights": _uninitialised,
    "load_sharded_checkpoint": _loaded,
    "get_parameter_dtype": _dtypes,
    "get_parameter_device": _devices,
    "dtype_byte_size": _bytes,
    "SequenceSummary": _summary,
}
