"""The proof: two steps of a training with the optimizer."""

import tempfile

import torch

from hotfix.names.adamw_hf_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="ValueError: '?adamw_hf'? is not a valid OptimizerNames",
    packages={"accelerate": "1.15.0", "flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The weights after two steps with weight decay."""
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    config = LlamaConfig(
        vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    model = testbed.fill(LlamaForCausalLM(config))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, optim="adamw_hf", learning_rate=0.01, weight_decay=0.1, report_to=[], use_cpu=True
        )
        trainer = Trainer(model=model, args=arguments)
        trainer.create_optimizer()
    ids = torch.arange(8)[None]
    for _ in range(2):
        model(ids, labels=ids).loss.backward()
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()
    return {name: weight.detach() for name, weight in model.named_parameters()}
