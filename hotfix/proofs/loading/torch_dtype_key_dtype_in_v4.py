"""What dtype a configuration says that its checkpoint has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.loading.torch_dtype_key_dtype_in_v4 import FIX
from hotfix.proofs.loading._written import CONFIGURATIONS, PLAIN, folder

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(oracles={"*": "4.56.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The size of a number of the dtype that is read, where the file has the new key, and where it has the old one."""
    import torch
    from transformers import AutoConfig

    results = {}
    for name, written in (("new", CONFIGURATIONS["MistralForCausalLM"]), ("old", PLAIN)):
        with folder(config_json=written) as place:
            config = AutoConfig.from_pretrained(place)
        dtype = config.to_dict().get("dtype") or config.torch_dtype
        results[name] = torch.tensor(2 if "bfloat16" in str(dtype) else 4)
        back = config.to_dict()  # saved again there is one key, that of this release
        results[f"{name}, saved"] = torch.tensor(len({"dtype", "torch_dtype"} & back.keys()))
    return results
