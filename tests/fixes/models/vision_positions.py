"""Case for test_vision_positions."""

from __future__ import annotations

from importlib import import_module

import hotfix
from hotfix.models import idefics_smolvlm_position_ids as fix
from hotfix.proofs import zoo

SIDES = (26, 32)


def before_and_after(testbed, target):
    """For each class and dtype, how many patches have a wrong position, stock and repaired; and the repaired models.

    The images have 1 to `side` rows and, all other way round, `side` to 1 columns, the rest being padding; the last one
    is square and has none.
    """
    import torch

    results = {}
    for model, name, _ in fix.TABLE:
        module = import_module(f"transformers.models.{model}.modeling_{model}")
        forward = getattr(module, f"{name}Embeddings").forward
        stock = forward.__code__
        towers = {
            (side, dtype): zoo.patch_tower(testbed, module, name, dtype, side).embeddings
            for side in SIDES
            for dtype in (torch.float32, torch.bfloat16, torch.float16)
        }
        before = {key: _wrong(embeddings, *key) for key, embeddings in towers.items()}
        with hotfix.apply(only=[fix.FIX.id]):
            after = {key: _wrong(embeddings, *key) for key, embeddings in towers.items()}
            results[f"touched: {model}"] = torch.tensor(forward.__code__ is not stock)
        for when, counts in (("before", before), ("after", after)):
            for side, dtype in counts:
                results[f"{when}: {model} {side} {str(dtype).removeprefix('torch.')}"] = counts[side, dtype]
    return results


def _wrong(embeddings, side, dtype):
    """Two numbers: of all sizes of images, and of the last, which has no padding."""
    import torch

    sizes = [(rows, side + 1 - rows) for rows in range(1, side + 1)] + [(side, side)]
    mask = torch.zeros(len(sizes), side, side, dtype=torch.bool)
    expected = torch.zeros(len(sizes), side, side, 2)
    for image, (rows, columns) in enumerate(sizes):
        mask[image, :rows, :columns] = True
        expected[image, :rows, :columns, 0] = (torch.arange(rows) * side // rows)[:, None]
        expected[image, :rows, :columns, 1] = torch.arange(columns) * side // columns
    with torch.no_grad():
        # Nothing but the position is left of an embedding: its row, and its column.
        embeddings.patch_embedding.weight.zero_()
        embeddings.patch_embedding.bias.zero_()
        weight = embeddings.position_embedding.weight.zero_()
        positions = torch.arange(len(weight))
        weight[:, 0], weight[:, 1] = positions // side, positions % side
        got = embeddings(torch.zeros(len(sizes), 3, side, side, dtype=dtype), mask)[..., :2]
    wrong = (got.float().view_as(expected) != expected).any(-1)
    return torch.stack((wrong.sum(), wrong[-1].sum()))
