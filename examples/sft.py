"""Fine-tune a tiny Llama on prompts and answers, with four micro-batches a step."""

import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0
)
samples = []
for _ in range(48):
    tokens = torch.randint(3, 64, (16,))
    samples.append({"input_ids": tokens, "labels": tokens.clone()})
    samples[-1]["labels"][:6] = -100  # the prompt

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_steps=12,
        logging_steps=4,
        learning_rate=1e-3,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    Trainer(LlamaForCausalLM(config), arguments, train_dataset=samples).train()
