"""The proof: masks and boxes are requested with the argument names of another release."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch

from hotfix.names.arguments_renamed import BOXES, FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|missing 1 required positional argument: 'inputs_embeds')",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A mask for a padded batch, or the boxes of an image."""
    if target.qualname.endswith(BOXES):
        return _boxes(testbed, target)
    from transformers import LlamaConfig

    config = LlamaConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, vocab_size=16)
    config.sliding_window = config.attention_chunk_size = 3
    config._attn_implementation = "eager"
    padded = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    arguments: dict[str, Any] = {"input_embeds": testbed.randn(2, 6, 16), "attention_mask": padded}
    if "bidirectional" not in target.qualname:
        arguments.update(past_key_values=None, position_ids=None)
        if target.qualname != "create_masks_for_generate":
            arguments["cache_position"] = torch.arange(6)
    return {"mask": getattr(import_module(target.module), target.qualname)(config=config, **arguments)}


def _boxes(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    module = import_module(target.module)
    processor = object.__new__(module.GroundingDinoProcessor)
    processor.batch_decode = lambda ids: [str(part) for part in ids]
    outputs = SimpleNamespace(logits=testbed.randn(1, 12, 8), pred_boxes=testbed.randn(1, 12, 4).sigmoid())
    ids = torch.tensor([[101, 5, 6, 1012, 7, 8, 1012, 102]])
    old = "box_threshold" if _release() >= "4.49.0" else "threshold"
    made = getattr(processor, BOXES)(outputs, ids, **{old: 0.8}, target_sizes=[(20, 30)])[0]
    return {"scores": made["scores"], "boxes": made["boxes"]}


def _release() -> str:
    import transformers

    return str(transformers.__version__)
