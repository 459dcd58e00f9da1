"""Shared by fixes of models whose labels are aligned with their logits before the loss is called."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from hotfix._support.memo import weakly
from hotfix.patching import scope
from hotfix.patching.compiling import is_compiling


def aligned(fix: str, loss_function: Any, input_ids: Any = None, embeddings: Any = None) -> Callable[..., Any]:
    """The loss for labels that are aligned with their logits, if `loss_function` shifts labels itself.

    Args:
        fix: id of the fix.
        loss_function: of a model.
        input_ids: what the model or its decoder has read, int64 of shape ``(batch, tokens)``, if the user gave it. It
            shows whether the labels have yet to be moved: labels of an encoder-decoder that are the tokens at their
            place, and flat labels of a decoder that the user has moved the other way, to make up for the bug.
        embeddings: given by the user in place of the tokens. Only the user knows which labels belong to them, so the
            loss stays as it is.

    Returns:
        A function of ``logits``, of shape ``(..., tokens, vocabulary)``, ``labels``, of shape ``(..., tokens)``, and
        further arguments of the loss. A user's loss is returned unchanged: it knows its model. So is one that the user
        has put in the place of the library's.
    """
    from transformers.loss.loss_utils import ForCausalLMLoss  # the model has imported it, and torch

    if loss_function is not ForCausalLMLoss or embeddings is not None or not scope.is_own(fix, loss_function):
        return loss_function  # type: ignore[no-any-return]

    def loss(logits: Any, labels: Any, **others: Any) -> Any:
        from torch.nn.functional import pad

        is_moved = _have_to_be_moved(labels, input_ids)
        if _takes_shifted_labels(loss_function):
            moved = labels
            if is_moved is not None:  # no branch: nothing waits for a device, and no graph breaks
                moved = pad(labels[..., 1:], (0, 1), value=-100).where(is_moved, labels)
            return loss_function(logits=logits, labels=labels, **{"shift_labels": moved.contiguous(), **others})
        # Up to 4.50.3 the loss takes no `shift_labels`: an additional position in both undoes its shift.
        undone = pad(labels, (1, 0), value=-100)
        if is_moved is not None and is_compiling():
            undone = pad(labels, (0, 1), value=-100).where(is_moved, undone)
        elif is_moved is not None and bool(is_moved):
            return loss_function(logits=logits, labels=labels, **others)
        return loss_function(logits=pad(logits, (0, 0, 0, 1)), labels=undone, **others)

    return loss


def _have_to_be_moved(labels: Any, ids: Any) -> Any:
    """Whether the tokens that were read show that a loss has to move the labels: a bool tensor, or None."""
    if ids is None or ids.is_meta or labels.is_meta or ids.device != labels.device:
        return None
    is_label = labels != -100
    if ids.shape == labels.shape:  # at least as many of them are the token at their place as the token before it
        at_their_place = ((ids == labels) & is_label).sum()
        one_later = ((ids[..., 1:] == labels[..., :-1]) & is_label[..., :-1]).sum()
        # Without a sign the release decides, unless it would leave no label.
        is_without_a_sign = (at_their_place == one_later) & is_label[..., 1:].any()
        return (at_their_place > one_later) | is_without_a_sign
    read, after = ids[..., :-1].flatten(), ids[..., 1:].flatten()
    if labels.shape != read.shape:
        return None
    # The model has moved them: more of them are the token that was read than the token after it.
    return ((read == labels) & is_label).sum() > ((after == labels) & is_label).sum()


@weakly
def _takes_shifted_labels(loss_function: Any) -> bool:
    return "shift_labels" in inspect.signature(loss_function).parameters
