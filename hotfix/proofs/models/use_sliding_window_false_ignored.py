"""Small decoders whose configuration has a window of four tokens, turned off and in use: texts of nine tokens."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.use_sliding_window_false_ignored import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed

WINDOW = 4


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of both attentions: of whole texts, one of them padded, and of a last token after the others."""
    ids = testbed.randint(5, 60, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    results = {}
    for attention in ("eager", "sdpa"):
        for name, is_used in (("off", False), ("in use", True)):
            model = small(testbed, target, attention)
            for module in model.modules():
                config: Any = getattr(module, "config", None)
                if hasattr(config, "use_sliding_window"):
                    config.sliding_window, config.use_sliding_window = WINDOW, is_used
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
                results[f"{attention}, {name}"] = logits[mask.bool()]
                begun = model(input_ids=ids[:, :8], attention_mask=mask[:, :8], use_cache=True)
                last = {"attention_mask": mask, "past_key_values": begun.past_key_values}
                results[f"{attention}, {name}, a cache"] = model(input_ids=ids[:, 8:], **last).logits
    return results


def small(testbed: Testbed, target: Target, attention: str) -> Any:
    """The model with a head that has the class of the target, or has its text model in later releases."""
    package = import_module(target.module)
    name = target.qualname.partition(".")[0][: -len("Model")]
    if "VL" in name:
        return zoo.qwen_vl(testbed, getattr(package, f"{name}ForConditionalGeneration"), torch.float32, attention)
    cls = getattr(package, f"{name}ForCausalLM")
    config = cls.config_class(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        pad_token_id=0,
    )
    return testbed.model(cls, config, attn=attention, dtype=torch.float32)
