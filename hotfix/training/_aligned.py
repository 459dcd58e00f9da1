"""What the fixes share whose models hand a loss labels that stand below their logits already."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Callable


def aligned(loss_function: Any) -> Callable[..., Any]:
    """The loss for labels that stand below their logits already, where `loss_function` moves them itself.

    Args:
        loss_function: of a model.

    Returns:
        A function of ``logits``, of shape ``(..., tokens, vocabulary)``, ``labels``, of shape ``(..., tokens)``, and
        what else the loss takes. A loss that the user has put in is returned as it is: it knows its model.
    """
    from transformers.loss.loss_utils import ForCausalLMLoss  # the model has imported it, and torch

    if loss_function is not ForCausalLMLoss:
        return loss_function  # type: ignore[no-any-return]

    def loss(logits: Any, labels: Any, **others: Any) -> Any:
        from torch.nn.functional import pad

        if _can_be_told(loss_function):
            return loss_function(logits=logits, labels=labels, **{"shift_labels": labels, **others})
        # Up to 4.50.3 it cannot be told: one more place at the end of one and at the front of the other undoes it.
        return loss_function(logits=pad(logits, (0, 0, 0, 1)), labels=pad(labels, (1, 0), value=-100), **others)

    return loss


@cache
def _can_be_told(loss_function: Any) -> bool:
    return "shift_labels" in inspect.signature(loss_function).parameters
