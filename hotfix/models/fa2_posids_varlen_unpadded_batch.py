"""FlashAttention-2 computes garbage for every sample but the first of a batch without padding, and cannot decode.

Symptom   Silent in training and in forwards: where a batch has no padding, the outputs of the attention are memory that
          nobody has written, for all samples but the first. With a cache, or with positions that do not start at 0:
          ``RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0. …``. `generate` does not
          crash, and continues every prompt but the first from wrong numbers.
Cause     Every call that has position ids and no attention mask is taken for a packed one, and the sequences that it
          holds are counted by the zeros in the position ids. Those that a model makes itself have one row for the
          whole batch, hence one zero, hence one sequence; those of a later step have none. `generate` computes the
          lengths of the sequences itself, and those of the keys are one short for all samples but the first.
Releases  4.54.0 to 4.55.0
Upstream  transformers#39474, transformers#39653, transformers#39814, transformers#40002 (fixed in 4.55.1), and for
          `generate` transformers#40029, transformers#40161 (fixed in 4.55.3)
Here      A call counts as packed if queries, keys and position ids have the same rows and columns, every row starts at
          0, and some position is not the successor of the one before. `generate` computes no lengths. Bitwise equal to
          4.55.1 and, for `generate`, to 4.55.3. Unlike there, and like in the releases that are repaired, packed rows
          are kept apart in a batch of several, too; and three rows of positions, as Qwen2-VL has them, are not taken
          for packed sequences.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._generation import PREPARE, generated, llama, without_lengths
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="fa2-posids-varlen-unpadded-batch",
    title="FlashAttention-2 attends only within the first sample of a batch without padding; decoding crashes",
    kind="silent",
    upstream=(
        "transformers#39474",
        "transformers#39653",
        "transformers#39814",
        "transformers#40002",
        "transformers#40029",
        "transformers#40161",
    ),
    fixed_in="4.55.1, 4.55.3",
    prefilter="max_length_k",
)

FORWARD = "transformers.modeling_flash_attention_utils:_flash_attention_forward"

# The shapes come first: where they differ, as in every step of decoding, nobody waits for the device.
_IS_PACKED = """\
position_ids is not None \
and position_ids.shape == query_states.shape[:2] == key_states.shape[:2] \
and bool((position_ids[:, 0] == 0).all() & (position_ids.diff(dim=-1) != 1).any())
"""


@FIX.edits((FORWARD, ">=4.54.0,<=4.55.0"))
def packed_only_if_it_is(node: ast.AST) -> Optional[ast.Assign]:
    """Where the choice of the packed kernel asks whether there are position ids, ask whether they are packed."""
    if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != "use_mask":
        return None
    choice = node.value
    if not isinstance(choice, ast.BoolOp) or not isinstance(choice.op, ast.Or):
        return None
    first, *others = choice.values
    if ast.unparse(first) != "position_ids is not None":
        return None
    [packed] = code.statements(_IS_PACKED, at=first)
    assert isinstance(packed, ast.Expr)
    return ast.Assign(targets=node.targets, value=ast.BoolOp(op=choice.op, values=[packed.value, *others]))


# Each layer then decides by itself, and that has to be right: both definitions are judged.
@FIX.edits((PREPARE, ">=4.54.0,<=4.55.0"), fingerprint_of=(PREPARE, FORWARD))
def without_lengths_one_short(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Delete what `generate` computes the lengths with."""
    return without_lengths(node)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """The existence of position ids decides; and `generate` computes lengths, if that is looked at."""
    *preparing, forward = functions
    decides = any(packed_only_if_it_is(node) is not None for node in ast.walk(forward))
    return decides and all(any(without_lengths(node) is not None for node in ast.walk(one)) for one in preparing)


@FIX.case(oracles={PREPARE: "4.55.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama sees three samples of one length, with labels, and two sequences packed into one row; or it generates."""
    if f"{target.module}:{target.qualname}" == PREPARE:
        return generated(testbed)
    model = llama(testbed).train()
    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    output = model(input_ids, labels=input_ids, use_cache=False)
    output.loss.backward()
    positions = testbed.randint(0, 1, 1, 9)
    positions[0] = positions.new_tensor([0, 1, 2, 3, 4, 0, 1, 2, 3])
    packed = model(input_ids[:1], position_ids=positions, use_cache=False)
    testbed.assert_flash("flash_attn_varlen_func")
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters()}
    return {"logits": output.logits, "loss": output.loss, "packed logits": packed.logits, **gradients}
