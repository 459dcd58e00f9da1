"""The proof: a model is loaded, and made, in bfloat16."""

import torch

from hotfix.names.dtype_argument_missing import FIX
from hotfix.proofs.names._loading import of_a_model
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*got an unexpected keyword argument",
    packages={"flash-attn": None},
    with_fixes=("from-pretrained-without-accelerate",),
    # In 4.56.0 a pipeline loses the argument (pipeline-torch-dtype-ignored).
    oracles=dict.fromkeys(
        ("transformers.pipelines:pipeline", "transformers.pipelines.base:Pipeline.__call__"), "4.57.1"
    ),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The numbers of a small model, and its dtype."""
    return of_a_model(target, dtype=torch.bfloat16)
