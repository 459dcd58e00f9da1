"""A program: two models with silent bugs, inside the wrappers of other packages. It prints their outputs.

    python wrapped.py opt|llama4 [hotfix] [zero3]

`test_wrapped_models` runs it on a broken release with hotfix and without, and on the fixed one.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import sys
import tempfile
from typing import Any, Callable

if "hotfix" in sys.argv:
    import hotfix.auto

import torch
from torch import nn


def opt() -> nn.Module:
    """Two layers; the bug is in the forward of the attention."""
    from transformers import OPTConfig, OPTForCausalLM

    sizes = {"hidden_size": 16, "ffn_dim": 16, "word_embed_proj_dim": 16, "max_position_embeddings": 32}
    config = OPTConfig(vocab_size=48, num_hidden_layers=2, num_attention_heads=2, **sizes)
    return OPTForCausalLM(config)


def llama4() -> nn.Module:
    """Two layers with four experts; the bug is between the router and the experts."""
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    sizes = {"hidden_size": 16, "intermediate_size": 32, "intermediate_size_mlp": 32, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 1}
    config = Llama4TextConfig(
        vocab_size=48, num_hidden_layers=2, attention_chunk_size=16, pad_token_id=0, **sizes, **heads
    )
    return Llama4ForCausalLM(config)


def plain(model: nn.Module) -> nn.Module:
    """The model unchanged."""
    return model


def hooks_that_change_nothing(model: nn.Module) -> nn.Module:
    """Accelerate's base hook on every module: it replaces `forward` on each instance."""
    from accelerate.hooks import ModelHook, add_hook_to_module

    for module in model.modules():
        add_hook_to_module(module, ModelHook())
    return model


def two_hooks(model: nn.Module) -> nn.Module:
    """One hook appended to the other."""
    from accelerate.hooks import ModelHook, add_hook_to_module

    for module in model.modules():
        add_hook_to_module(module, ModelHook())
        add_hook_to_module(module, ModelHook(), append=True)
    return model


def hooks_put_on_and_taken_off(model: nn.Module) -> nn.Module:
    """The attributes that accelerate leaves behind on the instances."""
    from accelerate.hooks import remove_hook_from_module

    return remove_hook_from_module(hooks_that_change_nothing(model), recurse=True)


def device_map_of_cpu(model: nn.Module) -> nn.Module:
    """Everything on the CPU, dispatched nevertheless."""
    from accelerate import dispatch_model

    return dispatch_model(model, {"": "cpu"}, force_hooks=True)


def device_map_of_cpu_and_disk(model: nn.Module) -> nn.Module:
    """The layers are offloaded to disk, and are on the meta device between their calls."""
    from accelerate import dispatch_model

    names = [name for name, _ in model.named_children() if name != "model"]
    names += [f"model.{name}" for name, _ in model.model.named_children()]
    if hasattr(model.model, "decoder"):
        names = ["lm_head", *(f"model.decoder.{name}" for name, _ in model.model.decoder.named_children())]
    places = {name: "disk" if name.endswith("layers") else "cpu" for name in names}
    return dispatch_model(model, places, main_device="cpu", offload_dir=tempfile.mkdtemp(), force_hooks=True)


def offloaded_module_by_module(model: nn.Module) -> nn.Module:
    """Every weight is on the meta device until the module that has it is called."""
    from accelerate import cpu_offload

    return cpu_offload(model, torch.device("cpu"))


def adapters(model: nn.Module) -> nn.Module:
    """LoRA, on the projections and, where there is one, the router."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    config = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    return get_peft_model(model, config)


def adapters_merged(model: nn.Module) -> nn.Module:
    """LoRA, merged into the weights."""
    return adapters(model).merge_and_unload()


def adapters_below_hooks(model: nn.Module) -> nn.Module:
    """Both."""
    return hooks_that_change_nothing(adapters(model))


def quantized(model: nn.Module) -> nn.Module:
    """Torch's dynamic quantization exchanges each linear layer."""
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


def quantized_and_dispatched(model: nn.Module) -> nn.Module:
    """Both."""
    return hooks_that_change_nothing(quantized(model))


def copied(model: nn.Module) -> nn.Module:
    """A deep copy of a model with hooks."""
    return copy.deepcopy(hooks_that_change_nothing(model))


def wrapped_by_functools(model: nn.Module) -> nn.Module:
    """A partial object replaces each `forward`."""
    for module in model.modules():
        module.forward = functools.partial(module.forward)
    return model


def zero3(model: nn.Module) -> nn.Module:
    """DeepSpeed's engine, stage 3: its hooks gather the weights of each module before it runs, and let go of them."""
    deepspeed: Any = importlib.import_module("deepspeed")  # it is not installed where types are checked
    backend: Any = importlib.import_module("deepspeed.comm.torch")  # the attribute of this name is torch
    backend.build_shm_op = lambda: None  # it would compile an operator that ranks talk through; there is one rank
    zero = {"stage": 3, "stage3_param_persistence_threshold": 0}  # all weights are let go of
    config = {"train_batch_size": 1, "zero_optimization": zero, "zero_allow_untested_optimizer": True}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    engine: nn.Module = deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]
    return engine


def zero3_over_hooks(model: nn.Module) -> nn.Module:
    """The engine, around a model with Accelerate's hooks."""
    return zero3(hooks_that_change_nothing(model))


WRAPPERS: tuple[Callable[[Any], Any], ...] = (
    plain,
    hooks_that_change_nothing,
    two_hooks,
    hooks_put_on_and_taken_off,
    device_map_of_cpu,
    device_map_of_cpu_and_disk,
    offloaded_module_by_module,
    adapters,
    adapters_merged,
    adapters_below_hooks,
    quantized,
    quantized_and_dispatched,
    copied,
    wrapped_by_functools,
)


ZERO3: tuple[Callable[[Any], Any], ...] = (plain, zero3, zero3_over_hooks)


def made() -> nn.Module:
    """The model, with the same weights each time."""
    torch.manual_seed(0)
    model = {"opt": opt, "llama4": llama4}[sys.argv[1]]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def logits(model: nn.Module) -> Any:
    """The outputs for two texts; the name of the error if the release cannot run it."""
    model.eval()
    try:
        with torch.no_grad():
            output: torch.Tensor = model(torch.arange(5, 23).reshape(2, 9)).logits
    except NotImplementedError as error:  # experts on the meta device
        return type(error).__name__
    return output.double().flatten().tolist()


def main() -> None:
    """Print the outputs of each, and what the repairs left to the release."""
    wrappers = ZERO3 if "zero3" in sys.argv else WRAPPERS
    results: dict[str, Any] = {wrapper.__name__: logits(wrapper(made())) for wrapper in wrappers}
    if "hotfix" in sys.modules:
        from hotfix.patching import scope

        results["left alone"] = scope.left_alone()
        model = hooks_that_change_nothing(made())
        hotfix.revert()
        results["reverted"] = logits(model)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
