"""Programs that call functions by names of arguments of another release, or ask for attributes that are gone."""

from __future__ import annotations

import inspect

import torch


def masks(testbed, target):
    """Calls that end in the release, calls that the program is prepared for, and calls that are wrong."""
    from transformers import LlamaConfig
    from transformers.masking_utils import create_causal_mask

    config = LlamaConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, vocab_size=16)
    config._attn_implementation = "eager"
    rest = {"config": config, "attention_mask": torch.tensor([[0, 1, 1]]), "past_key_values": None}
    embeds = torch.zeros(1, 3, 16)
    right = create_causal_mask(inputs_embeds=embeds, **rest)
    facts = {
        "mask": right,
        "signature": torch.tensor("input_embeds" not in inspect.signature(create_causal_mask).parameters),
    }
    try:
        create_causal_mask(input_embeds=embeds, **rest)
        facts["handled"] = torch.tensor(False)
    except TypeError:
        facts["handled"] = torch.tensor(True)
    return facts


def both_names(testbed, target):
    """Two names of one argument."""
    from transformers import LlamaConfig
    from transformers.masking_utils import create_causal_mask

    embeds = torch.zeros(1, 3, 16)
    create_causal_mask(
        LlamaConfig(), inputs_embeds=embeds, input_embeds=embeds, attention_mask=None, past_key_values=None
    )


def parts_of_ones_own(testbed, target):
    """A subclass with a part of its own under a name that is gone, and probes for it."""
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLForConditionalGeneration

    class Own(Qwen2_5_VLForConditionalGeneration):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.model = torch.nn.Module()
            self.model.visual = torch.nn.Linear(1, 1)

    probed = Own()
    given = Own()
    given.visual = torch.nn.Linear(2, 2)
    return {
        "probed": torch.tensor([hasattr(probed, "visual"), getattr(probed, "visual", None) is None]),
        "own": torch.tensor([given.visual.in_features, len(given.state_dict())]),
    }
