"""The case of `fa2-sliding-window-mask-slicing`."""

import copy

import torch

from hotfix.models.fa2_sliding_window_mask_slicing import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(with_fixes=("phi3-fa2-rope-position-ids",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A decoder continues a batch of three prompts, of which two are padded, past the window."""
    family = target.module.rpartition(".modeling_")[2]
    model = windowed(testbed, family)
    if family == "jamba":
        # The layers have the window; up to 4.42.4 the preparation of each step would cut the mask to it, too.
        model.config = copy.copy(model.config)
        model.config.sliding_window = None
    model.generation_config.eos_token_id = None
    ids = testbed.randint(3, 60, 3, 6, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :2] = mask[2, :4] = 0
    output = model.generate(
        ids * mask,
        attention_mask=mask,
        max_new_tokens=4,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )
    testbed.assert_flash("flash_attn_varlen_func")
    return {"tokens": output.sequences[:, 6:], "logits": torch.stack(output.scores, dim=1)}
