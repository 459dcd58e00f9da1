"""`generate` cannot run under flash attention.

Symptom   ``NameError: name 'prepare_fa_kwargs_from_position_ids' is not defined`` in 4.55.1. In 4.55.2 `generate` runs,
          and is silently wrong if it continues from a cache with more than one new token: a second turn of a
          conversation.
Cause     The preparation of each step computes the lengths of the sequences once for all layers, with a function that
          its module does not import in 4.55.1. The function takes every step with several tokens for the first one.
Releases  4.55.1, 4.55.2
Upstream  transformers#40029 (imported in 4.55.2), transformers#40161 (the computation is gone in 4.55.3)
Here      The computation is taken out. Bitwise equal to 4.55.3.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._generation import PREPARE, calls, generated, without_lengths

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="generate-fa2-nameerror",
    title="generate() under flash attention raises NameError: prepare_fa_kwargs_from_position_ids is not defined",
    kind="crash",
    upstream=("transformers#40029", "transformers#40161"),
    fixed_in="4.55.3",
    prefilter="prepare_fa_kwargs_from_position_ids(",
)


@FIX.edits((PREPARE, ">=4.55.1,<=4.55.2"))
def without_lengths_of_a_first_step(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Delete the computation."""
    return without_lengths(node) if calls(node, "prepare_fa_kwargs_from_position_ids") else None


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The computation is there."""
    return any(without_lengths_of_a_first_step(node) is not None for node in ast.walk(function))


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama generates for a batch, for a padded batch, and from a cache."""
    return generated(testbed)
