"""The positions that a model works out at the beginning of its forward, in calls that follow one with an image.

The case sets the image's offset itself: in 5.2.0 and 5.3.0 some of these models compute another, for other reasons.
"""

import inspect
from types import SimpleNamespace
from typing import Any

import torch

from hotfix.models.qwenvl_v5_stale_rope_deltas_forward import FIX
from hotfix.proofs import zoo
from hotfix.proofs.models._positions import without_weights
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Empty where the model is to count itself. With a cache, and without tokens, nothing was wrong."""
    model = without_weights(testbed, zoo.class_of(target))
    model.rope_deltas = torch.tensor([[-3]])  # six tokens that take three positions
    text = testbed.randint(1, 50, 2, 7, seed=1)
    mask = torch.ones_like(text)
    mask[1, :3] = 0
    cache = SimpleNamespace(get_seq_length=lambda *args: 14)
    calls: dict[str, dict[str, Any]] = {
        "next token": {"input_ids": text[:1, :1], "past_key_values": cache},
        "embeddings alone": {"input_ids": None, "inputs_embeds": testbed.randn(1, 5, 8)},
        "text": {"input_ids": text[:1]},
        "two texts, padded": {"input_ids": text, "attention_mask": mask},
    }
    return {name: _positions(model, **arguments) for name, arguments in calls.items()}


def _positions(model: Any, input_ids: Any, **others: Any) -> torch.Tensor:
    given: dict[str, Any] = {"input_ids": input_ids, **others}
    if input_ids is not None:
        given["inputs_embeds"] = torch.zeros(*input_ids.shape, 8)
        given["mm_token_type_ids"] = (input_ids == zoo.QWEN_IMAGE).int()
    known = inspect.signature(model.compute_3d_position_ids).parameters
    positions = model.compute_3d_position_ids(**{name: given.get(name) for name in known})
    return torch.empty(0) if positions is None else positions
