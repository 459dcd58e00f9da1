"""The model of a Trainer ignores the number of labels, and the Trainer leaves the division to it."""

from __future__ import annotations

from hotfix.training.ga_loss_kwargs_swallowed_vlm import FIX
from hotfix.triggers.training._swallowed import trigger

TRIGGER = trigger(FIX)
