"""``ROPE_INIT_FUNCTIONS`` no longer has ``"default"``.

Symptom   ``KeyError: 'default'`` while remote code of Molmo2, Dream, LLaDA2, EuroBERT, BAGEL or Qwen-ASR builds its
          rotary embedding.
Cause     Each model of the library computes plain frequencies itself, and the entry of the table was removed.
Releases  5.0.0 and later
Upstream  not put back
Here      The function of 4.57.6. It reads the base and the rotated part of a head from the configuration, or else from
          ``rope_parameters``, where 5.x moves them. A configuration without a base, or with one per kind of layer, is
          an error with an explanation.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="KeyError: 'default' in ROPE_INIT_FUNCTIONS",
    kind="removed-api",
    group="removed-names",
    errors=("KeyError: 'default'",),
)


@FIX.adds(("transformers.modeling_rope_utils:ROPE_INIT_FUNCTIONS['default']", ">=5.0.0"))
def default(config: Any = None, device: Any = None, seq_len: Optional[int] = None) -> tuple[Any, float]:
    """The frequencies of plain rotary embeddings, and by what cosines and sines are scaled: 1.

    Args:
        config: the configuration of the model.
        device: the device of the frequencies.
        seq_len: unused; other functions of the table need it.

    Raises:
        AttributeError: the configuration has no base.
    """
    import torch

    base = _setting(config, "rope_theta", None)
    if base is None:
        raise AttributeError(
            f"{type(config).__name__} has no rope_theta, neither itself nor in rope_parameters: "
            "hotfix cannot tell the base of its rotary embedding. Set config.rope_theta."
        )
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rotated = int(size * _setting(config, "partial_rotary_factor", 1.0))
    steps = torch.arange(0, rotated, 2, dtype=torch.int64).to(device=device, dtype=torch.float)
    return 1.0 / base ** (steps / rotated), 1.0


def _setting(config: Any, name: str, otherwise: Any) -> Any:
    setting = getattr(config, name, None)
    if setting is None:
        moved = getattr(config, "rope_parameters", None)
        setting = moved.get(name) if isinstance(moved, dict) else None
    return otherwise if setting is None else setting
