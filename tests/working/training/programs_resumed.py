"""Programs that resume, or keep the best model, and get the right weights in stock."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hotfix.proofs.loading._llava import llava
from hotfix.proofs.zoo import small_llama


def resumed(testbed: Any, target: Any) -> dict[str, Any]:
    """Weights behind reading a checkpoint: of a LLaVA with the model's names, another head, models of one's own."""
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaForCausalLM, LlamaForSequenceClassification, LlavaForConditionalGeneration

    class Own(LlamaForCausalLM):
        """Its constructor takes what `from_pretrained` does not know."""

        def __init__(self, config: Any, bonus: Any) -> None:
            super().__init__(config)
            self.bonus = torch.nn.Linear(bonus, 1)

    class Renamed(LlavaForConditionalGeneration):
        """It reads its files itself."""

        def load_state_dict(self, state: Any, *args: Any, **kwargs: Any) -> Any:
            return super().load_state_dict({name.removeprefix("mine."): value for name, value in state.items()}, False)

    class Plain(torch.nn.Linear):
        """No model of the library."""

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
    """Weights of a LLaVA that was trained for four steps at once, and with a pause behind the second."""
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
