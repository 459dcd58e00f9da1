"""Phi has lost the bias of its head.

Symptom   Silent. Logits of Phi-1, Phi-1.5 and Phi-2 are off: the bias of the checkpoint is dropped as unexpected.
Cause     The head is made without a bias.
Releases  4.48.0
Upstream  transformers#35625, transformers#35650 (fixed in 4.48.1)
Here      The head has a bias. Equal to 4.48.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="phi-lm-head-bias",
    title="Phi-1, Phi-1.5, Phi-2: the bias of the head is dropped from the checkpoint",
    kind="silent",
    upstream=("transformers#35625", "transformers#35650"),
    fixed_in="4.48.1",
)

FIX.edits(
    ("transformers.models.phi.modeling_phi:PhiForCausalLM.__init__", "==4.48.0"),
    old="self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)",
    new="self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=True)",
    beside="self.model = PhiModel(config)",
)
