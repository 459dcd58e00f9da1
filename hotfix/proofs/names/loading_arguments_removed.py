"""The proof: a model is loaded, and made, in words of 4.52."""

import torch

from hotfix.names.loading_arguments_removed import FIX
from hotfix.proofs.names._loading import of_a_model
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*got an unexpected keyword argument", oracles={"*": "4.52.4"}, packages={"flash-attn": None}
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The numbers of a small model, and its dtype."""
    more = {"load_in_8bit": False, "use_auth_token": None, "resume_download": True}
    if target.qualname.endswith("_from_config"):
        more = {}
    return of_a_model(target, use_flash_attention_2=False, **more)
