"""Cases for the fixes of generation under flash attention."""

from __future__ import annotations

from hotfix.proofs.models._runs import generated


def both(testbed, target):
    """Generation with flash attention, and with eager attention in float32, under ``eager …``."""
    import torch

    flash = generated(testbed)
    testbed.assert_flash()
    eager = generated(testbed, attn="eager", dtype=torch.float32)
    return {**flash, **{f"eager {name}": value for name, value in eager.items()}}
