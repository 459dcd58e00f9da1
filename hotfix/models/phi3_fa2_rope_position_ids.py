"""No Phi-3 model can run under FlashAttention-2 in transformers 4.44.0.

Symptom   ``TypeError: Phi3RotaryEmbedding.forward() missing 1 required positional argument: 'position_ids'`` in the
          first attention layer; the classes for long contexts, which extend that one, raise it under their own names.
Cause     The call of the rotary embedding has lost the position ids, which have no default.
Releases  4.44.0
Upstream  fixed in 4.44.1
Here      They are handed on. Bitwise equal to 4.44.1.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._training import padded_step
from hotfix.models._windows import decoder

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="phi3-fa2-rope-position-ids",
    title="Phi-3 under FlashAttention-2 calls its rotary embedding without position ids",
    kind="crash",
    fixed_in="4.44.1",
    prefilter="seq_len=rotary_seq_len",
    exempt={
        f"transformers.models.{name}.modeling_{name}:{classname}FlashAttention2.forward": (
            "its rotary embedding takes the length alone"
        )
        for name, classname in (
            ("mistral", "Mistral"),
            ("mixtral", "Mixtral"),
            ("qwen2", "Qwen2"),
            ("qwen2_moe", "Qwen2Moe"),
            ("starcoder2", "Starcoder2"),
        )
    },
)


@FIX.edits(("transformers.models.phi3.modeling_phi3:Phi3FlashAttention2.forward", "==4.44.0"))
def with_positions(node: ast.AST) -> Optional[ast.Call]:
    """Add ``position_ids`` to the call that names only the length."""
    if not isinstance(node, ast.Call) or ast.unparse(node) != "self.rotary_emb(value_states, seq_len=rotary_seq_len)":
        return None
    positions = ast.keyword(arg="position_ids", value=ast.Name("position_ids", ast.Load()))
    return ast.Call(node.func, node.args, [*node.keywords, positions])


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The ids are not handed on."""
    return any(with_positions(node) is not None for node in ast.walk(function))


@FIX.case(raises="missing 1 required positional argument: 'position_ids'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A small Phi-3 sees two samples, one of them padded, with labels."""
    return padded_step(testbed, decoder(testbed, "phi3"))
