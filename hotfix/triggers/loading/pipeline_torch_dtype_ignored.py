"""A dtype, for a model that the pipeline has to load."""

from __future__ import annotations

from typing import Optional

from hotfix.loading.pipeline_torch_dtype_ignored import chosen
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "pipeline-torch-dtype-ignored",
    when="pipeline() loads a model without a device_map, in another dtype than float32",
    wrong="the model is loaded in float32, with twice the memory and more than twice the time",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes()
def asks_for_another(call: Call) -> Optional[bool]:
    """The arguments do not show the dtype if it comes from the checkpoint."""
    import torch

    if call.get("device_map") is not None or not isinstance(call.get("model"), (str, type(None))):
        return False
    dtype = chosen({name: call.get(name) for name in ("dtype", "torch_dtype", "model_kwargs")})
    return None if dtype == "auto" else dtype not in (None, torch.float32)
