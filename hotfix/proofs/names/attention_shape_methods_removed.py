"""The proof: an attention of one's own gives the heads a dimension."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.attention_shape_methods_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

_LAST = {
    "codegen": "5.23.0",
    "gpt2": "4.47.1",
    "gpt_neox": "4.48.3",
    "gptj": "5.23.0",
    "llama": "4.37.2",
    "mistral": "4.41.2",
    "opt": "4.48.3",
}


@FIX.case(
    raises="AttributeError: 'Own' object has no attribute '(transpose_for_scores|_shape|_split_heads|_merge_heads)'",
    packages={"flash-attn": None},
    oracles={target.key: _LAST.get(target.module.split(".")[2], "4.51.3") for target in FIX.targets},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states of two texts with five tokens, and whether they are a view."""
    owner, _, method = target.qualname.partition(".")
    own = type("Own", (getattr(import_module(target.module), owner),), {"__module__": "__main__"})
    attention: Any = torch.nn.Module.__new__(own)
    torch.nn.Module.__init__(attention)  # the methods need no weights
    attention.num_attention_heads = attention.num_heads = 4
    attention.attention_head_size = attention.head_dim = 8
    states = testbed.randn(2, 5, 32)
    if method == "transpose_for_scores":
        made = attention.transpose_for_scores(states)
    elif method == "_shape":
        made = attention._shape(states, -1, 2)
    elif method == "_merge_heads":
        made = attention._merge_heads(states.view(2, 4, 5, 8), 4, 8)
    elif "gptj" in target.module:
        made = torch.cat([attention._split_heads(states, 4, 8, rotary).flatten() for rotary in (False, True)])
    else:
        made = attention._split_heads(states, 4, 8)
    is_view = made.untyped_storage().data_ptr() == states.untyped_storage().data_ptr()
    return {"states": made, "view": torch.tensor([is_view])}
