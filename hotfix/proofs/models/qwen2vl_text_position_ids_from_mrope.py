"""A text with an image, in a training step of a small decoder."""

import torch

from hotfix.models.qwen2vl_text_position_ids_from_mrope import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A decoder sees 3 words, an image of 2 x 3 tokens and 3 words; under flash attention the image comes first.

    Qwen3.5 passes the positions of the rotary embedding on to flash attention until 5.3.0, which is another bug.
    """
    runs = [("sdpa", torch.float32, 3), ("flash_attention_2", torch.bfloat16, 0)]
    results = {}
    for attn, dtype, before in runs[:1] if "qwen3_5" in target.module else runs:
        positions = zoo.qwen_image_positions(before).to(testbed.device)
        model = zoo.qwen_decoder(testbed, target, attn, dtype).train()
        embeddings = testbed.randn(1, positions.shape[-1], 64, dtype=dtype, seed=1)
        output = model(inputs_embeds=embeddings, position_ids=positions, use_cache=False).last_hidden_state
        output.float().square().mean().backward()
        gradients = testbed.gradients(model).items()
        results[f"{attn}: output"] = output
        results.update({f"{attn}: {name}": gradient for name, gradient in gradients if not zoo.is_of_an_expert(name)})
        if attn == "flash_attention_2":
            testbed.assert_flash()
    return results
