"""What the fixes of Gemma 3 share: which image a token is of, a small model, and a case."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hotfix.models._towers import TOWER

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed

MODELING = "transformers.models.gemma3.modeling_gemma3"


def image_numbers(token_type_ids: torch.Tensor) -> torch.Tensor:
    """The number of the image that each token is of, from 1; 0 for text. int64, of shape (batch, tokens).

    Args:
        token_type_ids: 1 for tokens of images, of the same shape. Each run of them is an image.
    """
    import torch

    is_image = token_type_ids == 1
    begins = is_image & ~torch.nn.functional.pad(is_image, (1, 0))[:, :-1]
    return begins.cumsum(dim=1) * is_image


def trained_step(testbed: Testbed) -> dict[str, torch.Tensor]:
    """Two texts with two images each, one padded on the left; forward, and backward from the labels.

    The images are but tokens: which features stand there makes no difference to the mask.
    """
    model, inputs = small_gemma3(testbed)
    output = model.train()(**inputs, labels=inputs["input_ids"], use_cache=False)
    output.loss.backward()
    gradients = {f"gradient of {_short(name)}": one.grad for name, one in model.named_parameters()}
    return {
        "logits": output.logits[inputs["attention_mask"].bool()],
        "loss": output.loss,
        **{name: one for name, one in gradients.items() if one is not None},
    }


def generated(testbed: Testbed) -> dict[str, torch.Tensor]:
    """Four tokens for each of two prompts with two images, greedily, and their logits.

    The cache is that of Google's checkpoints, with a place for each token in the layers without a window.
    """
    import torch

    model, inputs = small_gemma3(testbed)
    output = model.generate(
        **inputs,
        cache_implementation="hybrid",
        max_new_tokens=4,
        do_sample=False,
        eos_token_id=None,
        return_dict_in_generate=True,
        output_logits=True,
    )
    return {"tokens": output.sequences[:, 16:], "logits": torch.stack(output.logits, dim=1)}


def small_gemma3(testbed: Testbed) -> tuple[Any, dict[str, torch.Tensor]]:
    """A Gemma 3 of two layers, one of them with a window of 8 tokens, and a batch of two texts for it.

    Returns:
        The model in float32, and ``input_ids``, ``attention_mask`` and ``token_type_ids`` of shape (2, 16). An image
        has four tokens; between the two images of a text there is one token.
    """
    import torch

    module = import_module(MODELING)
    text = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "sliding_window": 8,
        "sliding_window_pattern": 2,
        "pad_token_id": 0,
    }
    cls = module.Gemma3ForConditionalGeneration
    config = cls.config_class(text_config=text, vision_config=TOWER, mm_tokens_per_image=4, image_token_index=60)
    layouts = ("ttiiiitiiiittttt", "___tiiiitiiiittt")
    types = torch.tensor([[int(one == "i") for one in row] for row in layouts], device=testbed.device)
    real = torch.tensor([[int(one != "_") for one in row] for row in layouts], device=testbed.device)
    ids = testbed.randint(1, 59, *types.shape, seed=1).masked_fill(types.bool(), 60) * real
    inputs = {"input_ids": ids, "attention_mask": real, "token_type_ids": types}
    return testbed.model(cls, config, attn="sdpa", dtype=torch.float32), inputs


def _short(name: str) -> str:
    """The name of a parameter without what stands before its layer or its module, which differs between releases."""
    layer = name.rpartition("layers.")
    return layer[2] if layer[1] else ".".join(name.split(".")[-2:])
