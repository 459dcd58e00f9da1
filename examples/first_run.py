"""A bug of transformers 5.0.0 to 5.2.0 in a few lines: `generate()` writes more tokens than `max_length` allows."""

import tempfile
from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(config)
with tempfile.TemporaryDirectory() as folder:  # as in the repository of a model
    Path(folder, "generation_config.json").write_text('{"max_length": 10}')
    model.generation_config = GenerationConfig.from_pretrained(folder)
prompt = torch.ones(1, 6, dtype=torch.long)
written = model.generate(prompt, do_sample=False, eos_token_id=None, pad_token_id=0)
print("max_length 10, tokens:", written.shape[1])
