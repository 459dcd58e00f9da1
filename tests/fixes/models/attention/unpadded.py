"""Cases for fa2-posids-varlen-unpadded-batch; ``eager`` is what eager attention in float32 gives."""

from __future__ import annotations

from hotfix.proofs.zoo import llama

LENGTH = 9


def one_by_one(testbed, input_ids, **arguments):
    """Logits of eager attention in float32, one row after the other."""
    import torch

    model = llama(testbed, attn="eager", dtype=torch.float32)
    with torch.no_grad():
        return torch.cat([model(row[None], **arguments).logits for row in input_ids])


def batches(testbed, target):
    """All the ways in which an unpadded batch of three comes, without a cache."""
    import torch

    input_ids = testbed.randint(0, 64, 3, LENGTH, seed=1)
    own = torch.arange(LENGTH, device=testbed.device)[None]
    ways = {
        "nothing passed": {},
        "mask of ones": {"attention_mask": torch.ones_like(input_ids)},
        "positions of one row": {"position_ids": own},
        "positions of each row": {"position_ids": own.expand(3, -1)},
        "positions from 5": {"position_ids": own + 5},
    }
    model = llama(testbed)
    logits = {"eager": one_by_one(testbed, input_ids)}
    with torch.no_grad():
        for name, arguments in ways.items():
            logits[name] = model(input_ids, use_cache=False, **arguments).logits
    testbed.assert_flash()
    return logits


def decoding(testbed, target):
    """A prefill of three rows, two steps of one token and one of two, with the cache and without a mask."""
    import torch

    input_ids = testbed.randint(0, 64, 3, LENGTH, seed=1)
    model = llama(testbed)
    steps, cache = [], None
    with torch.no_grad():
        for piece in input_ids.split((5, 1, 1, 2), dim=1):
            output = model(piece, past_key_values=cache, use_cache=True)
            cache = output.past_key_values
            steps.append(output.logits)
    testbed.assert_flash()
    return {"steps": torch.cat(steps, dim=1), "eager": one_by_one(testbed, input_ids)}


def packed(testbed, target):
    """Sequences of 5 and 4 tokens in one row, and two such rows at once: each as if it were alone."""
    import torch

    input_ids = testbed.randint(0, 64, 2, LENGTH, seed=1)
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3]], device=testbed.device)
    model = llama(testbed)
    pieces = [one_by_one(testbed, piece) for piece in input_ids.split((5, 4), dim=1)]
    with torch.no_grad():
        logits = model(input_ids[:1], position_ids=positions, use_cache=False).logits
        two = model(input_ids, position_ids=positions.expand(2, -1), use_cache=False).logits
    testbed.assert_flash("flash_attn_varlen_func")
    return {"eager": torch.cat(pieces, dim=1), "one row": logits, "two rows": two}
