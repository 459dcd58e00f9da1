"""A tiny Gemma 2 or Cohere 2 with a window of four tokens generates eight, for prompts of which two are padded.

Nothing may change for texts that stay within the window.
"""

import torch

from hotfix.models.gemma2_cohere2_window_crash import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import WINDOW, windowed, windowed_cohere2


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens and their logits, with each attention; and the logits of a batch without a cache."""
    ids = testbed.randint(3, 60, 3, 6, seed=1)
    padding = torch.ones_like(ids)
    padding[1, :2] = padding[2, :4] = 0
    results = {}
    for attention in ("eager", "sdpa", "flash_attention_2"):
        dtype = torch.bfloat16 if attention == "flash_attention_2" else torch.float32
        if "gemma2" in target.module:
            model = windowed(testbed, "gemma2", attn=attention, dtype=dtype)
        else:
            model = windowed_cohere2(testbed, attn=attention, dtype=dtype)
        model.generation_config.eos_token_id = None
        model.generation_config.pad_token_id = 0
        for way, prompt, mask, count in (
            ("past the window", ids, torch.ones_like(ids), 8),
            ("padded", ids * padding, padding, 8),
            ("within it", ids[:, :2], torch.ones_like(ids[:, :2]), WINDOW - 2),
        ):
            made = model.generate(
                prompt,
                attention_mask=mask,
                max_new_tokens=count,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
            results[f"{attention}, {way}: tokens"] = made.sequences
            results[f"{attention}, {way}: logits"] = torch.stack(made.logits, dim=1)
        with torch.no_grad():
            results[f"{attention}, no cache"] = model(ids, use_cache=False).logits
    testbed.assert_flash()
    return results
