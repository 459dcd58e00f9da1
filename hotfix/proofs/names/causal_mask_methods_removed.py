"""The proof: models with a forward of their own make the masks of their attentions."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Optional

import torch

from hotfix.names.causal_mask_methods_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

_FUNCTIONS = [target.key for target in FIX.targets if "." not in target.qualname]


@FIX.case(
    raises="AttributeError: 'Own' object has no attribute '_(update_causal_mask|prepare_4d_causal_attention_mask)"
    "|ImportError: cannot import name '_prepare_4d_causal_attention_mask_with_cache_position'",
    packages={"flash-attn": None},
    oracles={"*": "4.52.4", **dict.fromkeys(_FUNCTIONS, "4.45.2")},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The masks of a subclass for texts with and without padding, for a cache, and for a sliding window."""
    module = import_module(target.module)
    owner, _, method = target.qualname.partition(".")
    if not method:
        return _imported(testbed, target)
    masks: dict[str, torch.Tensor] = {}
    for how in ("eager", "sdpa"):
        for window in (None, 4):
            model = _model(module, owner, how, window).to(testbed.device)
            if method == "_update_causal_mask":
                masks.update({f"{how} {window} {what}": mask for what, mask in _updated(model, testbed).items()})
            else:
                masks[f"{how} {window}"] = _prepared(model, testbed)
    return masks


def _imported(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    scope: dict[str, Any] = {}
    exec(f"from {target.module} import {target.qualname} as prepare", scope)
    padding = torch.ones(2, 5, dtype=torch.long, device=testbed.device)
    padding[1, :3] = 0
    facts = {"dtype": torch.float32, "device": torch.device(testbed.device), "min_dtype": -5.0, "batch_size": 2}
    return {
        f"{name} {queries}": scope["prepare"](
            mask,
            sequence_length=queries,
            target_length=7,
            cache_position=torch.arange(1, 1 + queries, device=testbed.device),
            **facts,
        )
        for name, mask in (("none", None), ("padded", padding), ("made", torch.zeros(2, 1, 4, 7)))
        for queries in (1, 4)
    }


def _model(module: Any, owner: str, how: str, window: Optional[int]) -> Any:
    base = getattr(module, owner)
    kind = {"Qwen2VLTextModel": "Qwen2VLTextConfig", "Qwen2_5_VLTextModel": "Qwen2_5_VLTextConfig"}.get(
        owner, owner.replace("Model", "").replace("Decoder", "") + "Config"
    )
    config = getattr(module, kind)()
    config._attn_implementation = how
    if hasattr(config, "sliding_window"):
        config.sliding_window = window
    model = type("Own", (base,), {"__module__": "__main__"})
    bare: Any = torch.nn.Module.__new__(model)
    torch.nn.Module.__init__(bare)  # without layers: masks need none
    bare.config = config
    return bare.eval()


def _updated(model: Any, testbed: Testbed) -> dict[str, torch.Tensor]:
    from transformers import DynamicCache

    states = torch.zeros(2, 6, 16, device=testbed.device)
    padded = torch.ones(2, 6, dtype=torch.long, device=testbed.device)
    padded[0, :2] = 0
    longer = torch.ones(2, 9, dtype=torch.long, device=testbed.device)
    longer[1, 0] = 0
    cache = DynamicCache()
    cache.update(torch.zeros(2, 2, 3, 8), torch.zeros(2, 2, 3, 8), 0)
    first, later = torch.arange(6, device=testbed.device), torch.arange(3, 9, device=testbed.device)
    made = {
        "none": model._update_causal_mask(None, states, first, None, False),
        "weights": model._update_causal_mask(None, states, first, None, output_attentions=True),
        "ones": model._update_causal_mask(torch.ones_like(padded), states, first, DynamicCache(), False),
        "padded": model._update_causal_mask(padded, states, first, None, False),
        "later": model._update_causal_mask(longer, states, later, cache, False),
        "given": model._update_causal_mask(torch.zeros(2, 1, 6, 6), states, first, None, False),
        "step": model._update_causal_mask(longer[:, :4], states[:, :1], later[:1], cache, False),
    }
    empty = torch.zeros(0)
    # 4.52.4 adds a column that no query sees if there is no padding mask.
    return {name: empty if mask is None else mask[..., : 9 if name == "later" else 6] for name, mask in made.items()}


def _prepared(model: Any, testbed: Testbed) -> torch.Tensor:
    mask = torch.ones(2, 5, dtype=torch.long, device=testbed.device)
    mask[1, :3] = 0
    sizes = {"sequence_length": 4, "target_length": 7, "dtype": torch.float32, "batch_size": 2}
    position = torch.arange(1, 5, device=testbed.device)
    beside = {"config": model.config, "past_key_values": None}
    made: torch.Tensor = model._prepare_4d_causal_attention_mask_with_cache_position(
        mask, cache_position=position, **sizes, **beside
    )
    return made
