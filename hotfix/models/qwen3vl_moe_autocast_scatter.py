"""Qwen3-VL-MoE and its text model cannot run under autocast.

Symptom   ``RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype`` in the first layer, in training with
          ``bf16=True`` or ``fp16=True`` and weights in float32.
Cause     The routing weights get the dtype of the hidden states, and are written into a tensor of the dtype of the
          router's logits, which autocast has made half precision.
Releases  4.57.1 to 4.57.6
Upstream  rewritten in 5.0.0
Here      The tensor has the dtype of the routing weights. Where both dtypes agree, this is the release's own result.
          Under autocast 5.0.0 multiplies by weights of the same precision.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Qwen3-VL-MoE under autocast: scatter(): Expected self.dtype to be equal to src.dtype",
    kind="crash",
    fixed_in="5.0.0",
    errors=("RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype",),
    everyone="the release raises wherever the dtypes differ, and nothing changes where they agree",
)

FIX.edits(
    (
        "transformers.models.qwen3_vl_moe.modeling_qwen3_vl_moe:Qwen3VLMoeTextSparseMoeBlock.forward",
        ">=4.57.1,<=4.57.6",
    ),
    old="router_weights = torch.zeros_like(router_logits).scatter_(1, router_indices, routing_weights)",
    new=f"""
        from {__name__} import dtype_of
        router_weights = torch.zeros_like(router_logits, dtype=dtype_of(routing_weights, router_logits))
        router_weights.scatter_(1, router_indices, routing_weights)
    """,
)


def dtype_of(weights: Any, logits: Any) -> Any:
    """The dtype of the weights; where the program handles the error of the release, that of the logits.

    Args:
        weights: of the chosen experts.
        logits: of all experts.
    """
    is_left = weights.dtype != logits.dtype and scope.is_handled_around(FIX.id, RuntimeError)
    return logits.dtype if is_left else weights.dtype
