"""A tiny BLIP-2 or InstructBLIP captions pictures, with a prompt and without."""

from typing import Any

import torch

from hotfix.models.blip2_prompt_without_image_tokens import FIX
from hotfix.proofs.testbed import Target, Testbed

TOKEN, PLACES = 59, 4
_SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@FIX.case(raises="RuntimeError: shape mismatch", oracles={"*": "4.44.2"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens of a caption, and of the answer to a prompt."""
    model, inputs = small_model(testbed, target.qualname)
    prompt = testbed.randint(5, 50, 2, 3, seed=2)
    results = {}
    for name, ids in (("caption", None), ("answer", prompt)):
        made = answer(model, ids, inputs)
        results[name] = made[:, -3:]
    return results


def answer(model: Any, ids: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """The tokens that a model generates behind a prompt, or behind none."""
    mask = {} if ids is None else {"attention_mask": torch.ones_like(ids)}
    return model.generate(input_ids=ids, **inputs, **mask, max_new_tokens=3, min_new_tokens=3, do_sample=False)


def small_model(testbed: Testbed, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A tiny model of the class of a target, and its pictures."""
    import transformers

    family = name.partition("For")[0]
    is_video, is_blip = "Video" in family, family == "Blip2"
    token = "video_token_index" if is_video else "image_token_index"
    config = getattr(transformers, f"{family}Config")(
        vision_config={**_SIZES, "image_size": 28, "patch_size": 14},
        qformer_config={**_SIZES, "vocab_size": 30, "encoder_hidden_size": 16, "cross_attention_frequency": 1},
        text_config={
            **{key: value for key, value in _SIZES.items() if key != "intermediate_size"},
            "model_type": "opt",
            "ffn_dim": 16,
            "word_embed_proj_dim": 16,
            "vocab_size": 60,
            "max_position_embeddings": 64,
        },
        num_query_tokens=PLACES,
        **{token: TOKEN},
    )
    model = testbed.model(getattr(transformers, f"{family}ForConditionalGeneration"), config, "eager", torch.float32)
    pictures = testbed.randn(2, *((4,) if is_video else ()), 3, 28, 28, seed=1)
    inputs = {"pixel_values": pictures}
    if not is_blip:
        inputs["qformer_input_ids"] = testbed.randint(5, 25, 2, 3, seed=3)
        inputs["qformer_attention_mask"] = torch.ones_like(inputs["qformer_input_ids"])
    return model, inputs
