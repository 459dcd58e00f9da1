"""Models cannot be initialized with torch before 2.4.

Symptom   ``AttributeError: module 'torch.nn' has no attribute 'RMSNorm'`` when a model is built, or loaded from a
          checkpoint that lacks weights.
Cause     The initialization of weights uses ``nn.RMSNorm``, which torch has from 2.4 on.
Releases  4.54.0
Upstream  fixed in 4.54.1
Here      It is used only if torch has it. Any class of this name is initialized by its name anyway.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="torch before 2.4: AttributeError: module 'torch.nn' has no attribute 'RMSNorm'",
    kind="loading",
    fixed_in="4.54.1",
    errors=("AttributeError: module 'torch.nn' has no attribute 'RMSNorm'",),
    everyone="only with a torch that lacks the class; with others the classes are the same",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._init_weights", "==4.54.0"),
    old="(nn.LayerNorm, nn.RMSNorm, *__OTHERS)",
    new='(nn.LayerNorm, getattr(nn, "RMSNorm", nn.LayerNorm), *__OTHERS)',
)
