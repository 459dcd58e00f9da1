"""The proof: a file of a user's imports all of Llama's module, and uses a layer, a function and names of Python."""

import torch

from hotfix.names.star_imports_of_modules import FIX
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed

FILE = """
from {module} import *

class OwnNorm(LlamaRMSNorm):
    def forward(self, hidden_states: torch.Tensor, *, and_more: Optional[Tuple[int, ...]] = None):
        return nn.functional.silu(super().forward(hidden_states)) * math.pi

def rotated(heads, cos, sin):
    return apply_rotary_pos_emb(heads, heads, cos, sin)[0]
"""


@FIX.case(
    raises="NameError: name 'LlamaRMSNorm' is not defined",
    oracles={"*": "4.47.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What its norm and its function compute; and which names the file has got."""
    own = remote(FILE.format(module=target.module))
    heads = testbed.randn(1, 2, 3, 8, seed=1)
    angles = testbed.randn(1, 3, 8, seed=2)
    names = sorted(name for name in own if not name.startswith(("_", "Llama")))
    return {
        "norm": own["OwnNorm"](8)(heads),
        "rotated": own["rotated"](heads, angles.cos(), angles.sin()),
        "has": words(*(name for name in names if name in FILE)),
    }
