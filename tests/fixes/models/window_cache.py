"""Cases of `test_window_cache.py` on the testbed: models with a window, decoded step by step and read at once."""

from __future__ import annotations

from typing import Any

PROMPTS = (5, 8, 10)  # before, at and behind the end of the window
WINDOW, LENGTH = 8, 18


def decoded(testbed: Any, target: Any) -> dict[str, Any]:
    """For each model and length of prompt the largest difference of the logits of each step, and their range."""
    import torch
    import transformers

    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": WINDOW}
    results = {}
    for name in ("Gemma2", "Gemma3"):
        cls = getattr(transformers, f"{name}ForCausalLM", None)
        if cls is None:  # Gemma 3 came with 4.50.0
            continue
        model = testbed.model(cls, cls.config_class(**sizes, **heads), "eager", dtype=torch.float32)
        model.generation_config.eos_token_id = None
        model.generation_config.pad_token_id = 0
        how = {"do_sample": False, "output_logits": True, "return_dict_in_generate": True}
        for prompt in PROMPTS:
            ids = testbed.randint(3, 60, 2, prompt, seed=1)
            more = {**how, "max_new_tokens": LENGTH - prompt}
            made = model.generate(ids, attention_mask=torch.ones_like(ids), **more)
            whole = model(made.sequences, use_cache=False).logits[:, prompt - 1 : -1]
            steps = torch.stack(made.logits, dim=1)
            results[f"{name}, {prompt}"] = (steps - whole).abs().amax(dim=(0, 2)) / whole.abs().max()
    return results
