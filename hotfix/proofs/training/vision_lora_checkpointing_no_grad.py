"""A LLaVA of which one matrix in each block is trained, as an adapter would be.

With reentrant checkpointing, and without, where nothing may change; and a tower in which nothing is trained.
"""

from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.training.vision_lora_checkpointing_no_grad import FIX

_IMAGE = 60  # the token of an image


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, and the gradients of the adapters: zeros if there is none."""
    return trained(*llava(testbed))


def trained(model: Any, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """A step of training in each way, without the optimizer's part."""
    results = {}
    model.train().enable_input_require_grads()
    for way, checkpointed, tower in (
        ("checkpointed", True, True),
        ("not", False, True),
        ("a frozen tower", True, False),
    ):
        if checkpointed:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        else:
            model.gradient_checkpointing_disable()
        adapters = []
        for place, weight in model.named_parameters():
            in_tower = "vision" in place or "visual" in place
            weight.grad = None
            weight.requires_grad_(place.endswith(("q_proj.weight", "qkv.weight")) and (tower or not in_tower))
            adapters += [weight] if weight.requires_grad else []
        logits = model(**inputs, use_cache=False).logits
        logits.float().logsumexp(-1).mean().backward()
        results[f"{way}: logits"] = logits
        for number, weight in enumerate(sorted(adapters, key=lambda weight: tuple(weight.shape))):
            results[f"{way}: gradient {number}"] = (
                torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
            )
    model.disable_input_require_grads()
    return results


def llava(testbed: Testbed) -> tuple[Any, dict[str, Any]]:
    """The model, and two texts with an image each."""
    import inspect

    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    sizes = {"intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = CLIPVisionConfig(image_size=28, patch_size=14, hidden_size=16, **sizes)
    text = LlamaConfig(vocab_size=64, hidden_size=32, **sizes)
    # In earlier releases one token is expanded to the four patches; 4.45 to 4.47 follow the configuration.
    is_expanded = "image_seq_length" in inspect.signature(LlavaConfig.__init__).parameters
    each = 4 if is_expanded else 1
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=_IMAGE,
        vision_feature_layer=-1,
        pad_token_id=0,
        **({"image_seq_length": each} if is_expanded else {}),
    )
    model = testbed.fill(LlavaForConditionalGeneration(config)).to(testbed.device)
    words = testbed.randint(3, 50, 2, 6, seed=1)
    ids = torch.cat([words[:, :1], words.new_full((2, each), _IMAGE), words[:, 1:]], dim=1)
    pixels = testbed.randn(2, 3, 28, 28, seed=2)
    return model, {"input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": pixels}
