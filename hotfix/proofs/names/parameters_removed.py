"""The proof: calls as they were written for an older release, by name and by position."""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from hotfix.names.parameters_removed import FIX
from hotfix.proofs.names._training import PACKAGES, loss_of_a_step
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_bert, small_llama, texts

_MIXIN = "transformers.generation.utils:GenerationMixin"


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|positional arguments? but|from \\d to \\d positional)",
    packages=PACKAGES,
    oracles={f"{_MIXIN}._has_unfinished_sequences": "4.49.0", f"{_MIXIN}._prepare_cache_for_generation": "4.55.4"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One call for each function."""
    name = target.qualname.rpartition(".")[2]
    return _CASES[name](testbed, target)


def _unfinished(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    ask = small_llama(testbed)._has_unfinished_sequences
    old = {"device": torch.device("cpu"), "cur_len": 3, "max_length": 5}
    return {"unfinished": torch.tensor([ask(done, False, **old) for done in (False, True)])}


def _cache(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    model = small_llama(testbed)
    given: dict[str, Any] = {}
    model.generation_config.use_cache, model.generation_config.cache_implementation = True, "dynamic"
    model._prepare_cache_for_generation(model.generation_config, given, None, 1, 8, model.device)
    return {"cache": torch.tensor([type(given["past_key_values"]).__name__ == "DynamicCache"])}


def _kwargs(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers.modeling_outputs import CausalLMOutputWithPast

    given = {"attention_mask": torch.ones(1, 3, dtype=torch.long), "cache_position": torch.arange(3)}
    updated = small_llama(testbed)._update_model_kwargs_for_generation(
        CausalLMOutputWithPast(logits=torch.zeros(1, 3, 8)),
        given,
        is_encoder_decoder=False,
        standardize_cache_format=False,
    )
    return {"mask": updated["attention_mask"]}


def _of_decoders(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    make = import_module(target.module).ModuleUtilsMixin.create_extended_attention_mask_for_decoder
    mask = torch.tensor([[1, 1, 0]])
    return {"named": make((1, 3), mask, device=mask.device), "by place": make((1, 3), mask, mask.device)}


def _extended(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    mask = torch.tensor([[1, 1, 0]])
    return {"mask": small_bert(testbed).get_extended_attention_mask(mask, (1, 3), device=mask.device)}


def _no_init(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import modeling_utils

    flags = []
    for arguments, named in (((), {"_enable": True}), ((True,), {})):
        with modeling_utils.no_init_weights(*arguments, **named):
            flags.append(modeling_utils._init_weights)
    return {"initialised": torch.tensor([*flags, modeling_utils._init_weights])}


def _register(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import AutoModelForSequenceClassification, TextClassificationPipeline
    from transformers.pipelines.base import PipelineRegistry

    registry = PipelineRegistry(supported_tasks={}, task_aliases={})
    registry.register_pipeline(
        "own", pipeline_class=TextClassificationPipeline, pt_model=AutoModelForSequenceClassification, tf_model=None
    )
    return {"tasks": torch.tensor([registry.get_supported_tasks() == ["own"]])}


def _save(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import Trainer

    saved = []

    class Old(Trainer):
        def _save_checkpoint(self, model: Any, trial: Any, metrics: Any = None) -> None:
            super()._save_checkpoint(model, trial, metrics=metrics)
            super()._save_checkpoint(model, trial, metrics)
            saved.append(len(list(Path(self.args.output_dir).glob("checkpoint-1/*.safetensors"))))

    loss = loss_of_a_step(small_llama(testbed), texts(testbed), Old, save_strategy="steps", save_steps=1)
    return {"loss": loss, "saved": torch.tensor(saved)}


def _settings(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    from transformers import TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, use_cpu=True, report_to=[])
        if target.qualname.endswith("set_evaluate"):
            arguments.set_evaluate(strategy="steps", steps=7, jit_mode=False)
            return {"steps": torch.tensor(arguments.eval_steps)}
        if target.qualname.endswith("set_testing"):
            arguments.set_testing(batch_size=3, jit_mode=False)
            return {"rows": torch.tensor(arguments.per_device_eval_batch_size)}
        arguments.set_lr_scheduler(name="cosine", warmup_ratio=None, warmup_steps=5)
        return {"steps": torch.tensor(arguments.warmup_steps)}


_CASES = {
    "_has_unfinished_sequences": _unfinished,
    "_prepare_cache_for_generation": _cache,
    "_update_model_kwargs_for_generation": _kwargs,
    "create_extended_attention_mask_for_decoder": _of_decoders,
    "get_extended_attention_mask": _extended,
    "no_init_weights": _no_init,
    "register_pipeline": _register,
    "_save_checkpoint": _save,
    "set_evaluate": _settings,
    "set_lr_scheduler": _settings,
    "set_testing": _settings,
}
