"""How much memory is reserved for a model with a plan and without, in a process group of one.

No test has such an accelerator: calls of torch are recorded and not executed.
"""

from typing import Any

import torch

from hotfix.loading.tp_plan_none_allocator_warmup import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="TypeError: 'NoneType' object is not iterable", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Requested bytes, halved."""
    import inspect
    import tempfile
    from pathlib import Path
    from unittest import mock

    from transformers import modeling_utils

    # Without a head: 4.54.0 counts what may be tied once, whether it is or not.
    model = llama(testbed, attn="eager", dtype=torch.float32).model
    places = dict.fromkeys(dict(model.named_parameters()), "xpu:0")
    warm_up: Any = modeling_utils.caching_allocator_warmup
    quantizer = {"hf_quantizer": None} if "hf_quantizer" in inspect.signature(warm_up).parameters else {}
    asked = []

    def reserved(plan: Any) -> int:
        model._tp_plan = plan
        with mock.patch.object(torch, "empty", lambda size, **options: asked.append(size)):
            warm_up(model, places, **quantizer)
        return int(asked.pop())

    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group(
            "gloo", init_method=(Path(folder) / "store").as_uri(), rank=0, world_size=1
        )
        try:
            return {"reserved": torch.tensor([reserved({"layers.*.mlp.up_proj": "colwise"}), reserved(None)])}
        finally:
            torch.distributed.destroy_process_group()
