"""Programs that resume, or keep the best model, and get the right weights in stock."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hotfix.proofs._llava import llava
from hotfix.proofs.zoo import small_llama


def resumed(testbed: Any, target: Any) -> dict[str, Any]:
    """Weights after loading a checkpoint: of a LLaVA with the model's names, another head, custom models."""
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaForCausalLM, LlamaForSequenceClassification, LlavaForConditionalGeneration

    class Own(LlamaForCausalLM):
        """Its constructor takes arguments that `from_pretrained` does not know."""

        def __init__(self, config: Any, bonus: Any) -> None:
            super().__init__(config)
            self.bonus = torch.nn.Linear(bonus, 1)

    class Renamed(LlavaForConditionalGeneration):
        """It reads its files itself."""

        def load_state_dict(self, state: Any, *args: Any, **kwargs: Any) -> Any:
            return super().load_state_dict({name.removeprefix("mine."): value for name, value in state.items()}, False)

    class Plain(torch.nn.Linear):
        """Not a model of the library."""

        _keys_to_ignore_on_save = None

    text, picture = small_llama(testbed), llava(testbed)
    classifier = testbed.fill(LlamaForSequenceClassification(text.config), seed=3)
    own, renamed = testbed.fill(Own(text.config, 4), seed=4), testbed.fill(Renamed(picture.config), seed=5)
    programs = {
        "names of the model": (llava(testbed), picture.state_dict()),
        "another head": (classifier, text.state_dict()),
        "nothing in common": (classifier, {"x": torch.zeros(2)}),
        "own class": (own, {**text.state_dict(), "unknown": torch.zeros(2)}),
        "own reading": (renamed, {f"mine.{name}": value for name, value in picture.state_dict().items()}),
        "a module": (Plain(2, 2), {"weight": torch.ones(2, 2), "model.bias": torch.ones(2)}),
    }
    states = {}
    for name, (model, weights) in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            save_file({key: value.clone() for key, value in weights.items()}, f"{folder}/model.safetensors")
            trainer = _trainer(model, folder)
            torch.manual_seed(11)
            trainer._load_from_checkpoint(folder)
            trainer.state.best_model_checkpoint = folder
            trainer._load_best_model()
        state = model.state_dict().items()
        states.update({f"{name}: {key}": value for key, value in state}, **{f"{name}: random": torch.rand(2)})
    return states


def whole_and_resumed(testbed: Any, target: Any) -> dict[str, Any]:
    """Weights of a LLaVA trained for four steps at once, and with a pause after the second."""
    ids = testbed.randint(8, 60, 8, 6, seed=1).cpu()
    samples = [{"input_ids": row, "labels": row, "attention_mask": row * 0 + 1} for row in ids]
    states = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, steps, resume in (("whole", 4, None), ("half", 2, None), ("resumed", 4, "half/checkpoint-2")):
            place = Path(folder, "half" if resume else name)
            model = llava(testbed)
            trainer = _trainer(model, str(place), samples, max_steps=steps, save_steps=2, learning_rate=0.1)
            trainer.train(resume_from_checkpoint=resume and str(Path(folder, resume)))
            states.update({f"{name}: {key}": value for key, value in model.state_dict().items()})
    return states


def parts_of_ones_own(testbed: Any, target: Any) -> dict[str, Any]:
    """Weights of a LLaVA before it is saved, and after loading: with parts that its configuration does not list."""
    import torch

    states = {}
    for name, change in _CHANGES.items():
        for size in ("1GB", "8KB"):
            model = llava(testbed)
            change(model)
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder, max_shard_size=size)
                saved = {key: _readable(value) for key, value in model.state_dict().items()}
                with torch.no_grad():
                    for weight in model.parameters():
                        weight.copy_(torch.zeros_like(weight))
                trainer = _trainer(model, folder)
                torch.manual_seed(11)
                trainer._load_from_checkpoint(folder)
                states[f"{name}, {size}: random"] = torch.rand(2)
                read = {key: _readable(value) for key, value in model.state_dict().items()}
            states.update({f"{name}, {size}: saved: {key}": value for key, value in saved.items()})
            states.update({f"{name}, {size}: read: {key}": value for key, value in read.items()})
    return states


def _with_another_head(model: Any) -> None:
    import torch

    inner = model.get_output_embeddings()
    model.set_output_embeddings(torch.nn.Linear(inner.in_features, inner.out_features + 3))


def _with_another_projection(model: Any) -> None:
    """In the part whose names the release converts."""
    import torch

    layer = next(module for name, module in model.named_modules() if name.endswith("mlp") and "language" in name)
    layer.up_proj = torch.nn.Linear(layer.up_proj.in_features, 5)
    layer.down_proj = torch.nn.Linear(5, layer.down_proj.out_features)


def _with_eight_bits(model: Any) -> None:
    import torch

    model.scales = torch.nn.Parameter(torch.ones(4).to(torch.float8_e4m3fn), requires_grad=False)


_CHANGES = {
    "another head": _with_another_head,
    "another projection": _with_another_projection,
    "eight bits": _with_eight_bits,
}


def _readable(value: Any) -> Any:
    import torch

    return value.detach().float().clone() if value.dtype == torch.float8_e4m3fn else value.detach().clone()


def _trainer(model: Any, folder: str, samples: Any = None, **options: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        folder,
        use_cpu=True,
        report_to=[],
        seed=5,
        lr_scheduler_type="constant",
        disable_tqdm=True,
        per_device_train_batch_size=2,
        **options,
    )
    return Trainer(model=model, args=arguments, train_dataset=samples)
