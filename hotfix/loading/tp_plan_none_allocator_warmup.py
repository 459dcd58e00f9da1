"""Models without a tensor-parallel plan cannot be loaded to an accelerator under torchrun.

Symptom   ``TypeError: 'NoneType' object is not iterable`` in ``caching_allocator_warmup``, from ``from_pretrained()``
          with a ``device_map`` under ``torchrun``.
Cause     If torch.distributed is initialized, the plan is read, and most models have none.
Releases  4.50.0 to 4.53.3
Upstream  fixed in 4.54.0
Here      A missing plan counts as empty, as in 4.54.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: 'NoneType' object is not iterable, in caching_allocator_warmup under torchrun",
    kind="crash",
    fixed_in="4.54.0",
    errors=("TypeError: 'NoneType' object is not iterable",),
    everyone="only where there is no plan, at which these releases raise: the new code tests it",
)

FIX.edits(
    ("transformers.modeling_utils:caching_allocator_warmup", ">=4.50.0,<=4.53.3"),
    old="[re.escape(plan) for plan in model._tp_plan]",
    new="[re.escape(plan) for plan in model._tp_plan or []]",
)
