"""No model without attention sinks can run under FlashAttention.

Symptom   ``AttributeError: 'NoneType' object has no attribute 'to'`` in the first attention layer of every forward.
Cause     The learned attention sinks ``s_aux``, which almost no model has, are cast without a check for None.
Releases  5.6.0
Upstream  transformers#45588, transformers#45589 (fixed in 5.6.1)
Here      Without sinks, nothing is cast. Bitwise equal to 5.6.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="FlashAttention raises AttributeError: 'NoneType' object has no attribute 'to' for models without sinks",
    kind="crash",
    upstream=("transformers#45588", "transformers#45589"),
    fixed_in="5.6.1",
    errors=("AttributeError: 'NoneType' object has no attribute 'to'",),
    when="s_aux is None",
    prefilter="s_aux.to(",
)

FIX.edits(
    ("transformers.integrations.flash_attention:flash_attention_forward", "==5.6.0"),
    old="s_aux.to(query.dtype)",
    new="None",
    unless="s_aux.to(query.dtype) if s_aux is not None else None",
)
