"""The proof: masks, boxes and a text are requested with the argument names of another release."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch

from hotfix.names.arguments_renamed import BOXES, FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*(unexpected keyword argument|missing 1 required positional argument: 'inputs_embeds')"
    "|ValueError: Make sure to provide either `input_features`",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A mask for a padded batch, or the boxes of an image."""
    if target.qualname.endswith(BOXES):
        return _boxes(testbed, target)
    if target.qualname.startswith("Whisper"):
        return _hears(testbed)
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


def _hears(testbed: Testbed) -> dict[str, torch.Tensor]:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    sizes: dict[str, Any] = {"d_model": 16, "vocab_size": 40, "num_mel_bins": 8, "max_source_positions": 10}
    for part in ("encoder", "decoder"):
        sizes.update({f"{part}_layers": 1, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 16})
    tokens = {"decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = WhisperConfig(**sizes, **tokens, max_target_positions=20, begin_suppress_tokens=[1])
    model = testbed.fill(WhisperForConditionalGeneration(config)).eval()
    return {"tokens": model.generate(inputs=testbed.randn(2, 8, 20, seed=3), max_new_tokens=5, do_sample=False)}


def _release() -> str:
    import transformers

    return str(transformers.__version__)
