"""A small Llama with the scaling of Llama 3.1, as its ``config.json`` says it, and one without."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.rope_scaling_validation_llama31 import FIX
from hotfix.proofs.testbed import Target, Testbed

SCALING = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 64,
    "rope_type": "llama3",
}
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "transformers_version": "4.43.0.dev0",
}


@FIX.case(raises="ValueError: `rope_scaling` must be a dictionary", oracles={"*": "4.43.1"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits at positions within the original context and beyond it."""
    from transformers import AutoConfig, AutoModelForCausalLM, LlamaForCausalLM

    ids = testbed.randint(0, 64, 2, 200)
    results = {}
    with TemporaryDirectory() as folder:
        for name, scaling in {"plain": None, "llama3": SCALING}.items():
            Path(folder, "config.json").write_text(json.dumps({**CONFIG, "rope_scaling": scaling}))
            config = AutoConfig.from_pretrained(folder)
            for attention in ("eager", "sdpa"):
                model = testbed.model(LlamaForCausalLM, config, attn=attention, dtype=torch.float32)
                with torch.no_grad():
                    results[f"{name}, {attention}"] = model(ids).logits
            testbed.fill(LlamaForCausalLM(config)).save_pretrained(folder)
            Path(folder, "config.json").write_text(json.dumps({**CONFIG, "rope_scaling": scaling}))
            loaded = AutoModelForCausalLM.from_pretrained(folder).to(testbed.device).eval()
            with torch.no_grad():
                results[f"{name}, loaded"] = loaded(ids).logits
    return results
