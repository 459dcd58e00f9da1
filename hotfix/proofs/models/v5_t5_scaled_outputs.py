"""A tiny T5 whose configuration says that its head is not its table, as Flan-T5's does, and one of the first kind."""

import torch

from hotfix.models.v5_t5_scaled_outputs import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and logits of both; those of the second were right."""
    from transformers import T5Config, T5ForConditionalGeneration

    ids, labels = testbed.randint(1, 48, 2, 7, seed=1), testbed.randint(1, 48, 2, 5, seed=2)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    results = {}
    for tied in (False, True):
        config = T5Config(
            vocab_size=48,
            d_model=32,
            d_kv=16,
            d_ff=48,
            num_layers=1,
            num_decoder_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
            tie_word_embeddings=tied,
        )
        model = testbed.fill(T5ForConditionalGeneration(config)).to(testbed.device).eval()
        with torch.no_grad():
            output = model(input_ids=ids, attention_mask=mask, labels=labels)
        results.update({f"tied {tied}: loss": output.loss, f"tied {tied}: logits": output.logits})
    return results
