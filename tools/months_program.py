"""Trains a small Llama with accumulated gradients, resumes from its checkpoint and generates; prints facts as JSON.

Runs in the environments of `tools.months`, with `--armed` behind `import hotfix.auto`.
"""

from __future__ import annotations

import sys

if "--armed" in sys.argv:
    import hotfix.auto  # noqa: F401

import hashlib
import inspect
import json

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


def arguments(steps: int) -> TrainingArguments:
    """Those of two samples at a time, four of which make a step."""
    known = inspect.signature(TrainingArguments).parameters
    no_gpu = {"use_cpu": True} if "use_cpu" in known else {"no_cuda": True}
    return TrainingArguments(
        "out",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_steps=steps,
        learning_rate=0.01,
        save_steps=2,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        **no_gpu,
    )


def main() -> None:
    """Run it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(
        vocab_size=64, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes
    )
    model = LlamaForCausalLM(config)
    numbers = torch.randint(3, 64, (32, 12), generator=torch.Generator().manual_seed(1))
    data = [{"input_ids": row, "labels": row} for row in numbers]
    Trainer(model, arguments(2), train_dataset=data).train()
    trainer = Trainer(LlamaForCausalLM.from_pretrained("out/checkpoint-2"), arguments(4), train_dataset=data)
    trainer.train(resume_from_checkpoint="out/checkpoint-2")
    losses = [round(entry["loss"], 5) for entry in trainer.state.log_history if "loss" in entry]
    trainer.save_model("saved")
    written = LlamaForCausalLM.from_pretrained("saved").generate(
        numbers[:2, :5], attention_mask=torch.ones(2, 5, dtype=torch.long), max_new_tokens=8, do_sample=False
    )
    weights = b"".join(value.detach().numpy().tobytes() for value in trainer.model.state_dict().values())
    facts = {"losses": losses, "tokens": written.tolist(), "weights": hashlib.sha256(weights).hexdigest()[:12]}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
