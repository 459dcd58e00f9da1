"""A model whose weights were transposed cannot be saved.

Symptom   ``ValueError: You are trying to save a non contiguous tensor: `encoder.layer.0.output.dense.weight` which is
          not allowed.`` from ``save_pretrained``, often only at the first checkpoint of a training run: models from
          files in which such tensors were saved (BERT from TensorFlow, since 4.43.0), merged or pruned weights.
Cause     safetensors takes tensors as they lie in memory, and refuses those with gaps or another order.
Releases  4.36.0 to 4.44.2
Upstream  transformers#32422 (fixed in 4.45.0)
Here      They are copied into one piece for the file, as in 4.45.0; the model stays as it is. A program that handles
          the error gets it, and one that has put a function of its own in the place of safetensors' ``save_file`` gets
          the tensors as they are.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="ValueError: You are trying to save a non contiguous tensor",
    kind="crash",
    upstream=("transformers#28293", "transformers#32422"),
    fixed_in="4.45.0",
    errors=(
        "ValueError: You are trying to save a non contiguous tensor: `…` which is not allowed. It either means you …",
    ),
    everyone="only for tensors that safetensors refuses: the new code tests each",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.save_pretrained", ">=4.36.0,<=4.44.2"),
    old="safe_save_file(shard, os.path.join(save_directory, shard_file), metadata={'format': 'pt'})",
    new="""
        from hotfix.loading.tensors_not_contiguous_saved import in_one_piece
        safe_save_file(in_one_piece(shard), os.path.join(save_directory, shard_file), metadata={"format": "pt"})
        """,
    unless="state_dict[tensor].contiguous()",
)


def in_one_piece(shard: dict[str, Any]) -> dict[str, Any]:
    """The tensors of a file; those with gaps or another order of axes are copied.

    Args:
        shard: tensors by name, of any shape and dtype.

    Returns:
        The same object if none needs a copy, if the program handles the error of safetensors, or if it has replaced
        the function that writes the file.
    """
    scattered = [name for name, tensor in shard.items() if not getattr(tensor, "is_contiguous", lambda: True)()]
    if not scattered or scope.is_handled_around(FIX.id, ValueError):
        return shard
    writes = getattr(sys.modules["transformers.modeling_utils"], "safe_save_file", None)
    if not scope.is_own(FIX.id, writes, library="safetensors"):
        return shard
    return {**shard, **{name: shard[name].contiguous() for name in scattered}}
