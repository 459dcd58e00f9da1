"""Llama 4 multiplies what goes into an expert by the scores of other tokens and experts.

Symptom   Silent. Output is garbage for more than one token.
Cause     The scores are in the order of tokens, what they are multiplied with in the order of experts.
Releases  4.54.0 to 4.56.0
Upstream  transformers#39501, transformers#40609 (fixed in 4.56.1)
Here      The scores are put in the order of experts. Equal to 4.56.1. A router of the user's own keeps its scores as
          they are, and so does the library's under a forward hook that returns other scores.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Llama 4: experts get the routing scores of other tokens, output is garbage",
    kind="silent",
    upstream=("transformers#39501", "transformers#40609"),
    fixed_in="4.56.1",
)

FIX.edits(
    ("transformers.models.llama4.modeling_llama4:Llama4TextMoe.forward", ">=4.54.0,<=4.56.0"),
    old="routed_in = routed_in * router_scores.reshape(-1, 1)",
    new="routed_in = routed_in * router_scores.transpose(0, 1).reshape(-1, 1)",
    beside="router_scores, router_logits = self.router(hidden_states)",
    when="import hotfix.models._hooks as _hooks; _hooks.only_read(self.router, 'llama4-moe-score-order')",
    own=("self.router.forward",),
)
