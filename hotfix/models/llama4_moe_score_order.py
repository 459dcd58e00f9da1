"""Llama 4 multiplies the inputs of an expert by the scores of other tokens and experts.

Symptom   Silent. Output is garbage for more than one token.
Cause     The scores are in the order of tokens, the inputs in the order of experts.
Releases  4.54.0 to 4.56.0
Upstream  transformers#39501, transformers#40609 (fixed in 4.56.1)
Here      The scores are put in the order of experts. Equal to 4.56.1. The scores of a custom router, and those of the
          library's router under a forward hook that returns others, stay as they are.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Llama 4 writes garbage: experts get the routing scores of other tokens",
    kind="silent",
    upstream=("transformers#39501", "transformers#40609"),
    fixed_in="4.56.1",
)

FIX.edits(
    ("transformers.models.llama4.modeling_llama4:Llama4TextMoe.forward", ">=4.54.0,<=4.56.0"),
    old="routed_in = routed_in * router_scores.reshape(-1, 1)",
    new="routed_in = routed_in * router_scores.transpose(0, 1).reshape(-1, 1)",
    beside="router_scores, router_logits = self.router(hidden_states)",
    when=(
        "import hotfix.models._projections as _projections; "
        "_projections.are_known('llama4-moe-score-order', self.router)"
    ),
    own=("self.router.forward",),
)
