"""Shared by the cases of old overrides: training with a subclass of the Trainer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable


@contextmanager
def trained_with(subclass: Callable[[Any], type]) -> Iterator[type]:
    """Have `_steps` use a subclass in place of the Trainer.

    Args:
        subclass: takes the Trainer and returns it.
    """
    import transformers

    original = transformers.Trainer
    own = subclass(original)
    transformers.Trainer = own
    try:
        yield own
    finally:
        transformers.Trainer = original
