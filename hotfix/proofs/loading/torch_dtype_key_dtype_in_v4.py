"""The dtype of a checkpoint in its configuration."""

import torch

from hotfix.loading.torch_dtype_key_dtype_in_v4 import FIX
from hotfix.proofs.loading._written import CONFIGURATIONS, PLAIN, folder
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "4.56.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The size of a number of the dtype that is read, where the file has the new key, and where it has the old one."""
    from transformers import AutoConfig

    results = {}
    for name, written in (("new", CONFIGURATIONS["MistralForCausalLM"]), ("old", PLAIN)):
        with folder(config_json=written) as place:
            config = AutoConfig.from_pretrained(place)
        dtype = config.torch_dtype  # 4.56.0 still has that name
        results[name] = torch.tensor(2 if "bfloat16" in str(dtype) else 4)
        saved = config.to_dict()
        known = saved.get("torch_dtype") or (saved.get("dtype") if _is_later() else None)
        results[f"{name}, saved"] = torch.tensor("bfloat16" in str(known))
    return results


def _is_later() -> bool:
    import transformers
    from packaging.version import Version

    return Version(transformers.__version__) >= Version("4.56.0")
