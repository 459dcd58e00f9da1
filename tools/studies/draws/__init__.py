"""Random small configurations and batches for each trigger, drawn in a child: what `tools.studies.agreement` runs.

A draw is a function of a `Draw`: it chooses what users vary (sizes, padding, attention, dtype, accumulation, labels),
builds the small model of the proof with it, and returns tensors as a case does. The same seed draws the same again,
with and without hotfix. Both sides of the condition have to come up, and neither of them rarely.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

Tensors = Mapping[str, Any]

PARTS = ("attention", "loading", "models", "positions", "training", "processing")
_NO_CONDITION = "there is no condition"
_OVERRIDE = "an override decides, and its proof has several"
CANNOT = {
    "assistant-mask-of-a-cut-answer": _NO_CONDITION,
    "gemma3-two-layouts-into-base": _NO_CONDITION,
    "generate-encoder-mask-dropped": "no draws are written yet; its proof compares padded rows with the rows alone",
    "mxfp4-swiglu-limit": _NO_CONDITION,
    "outputs-of-a-replaced-class": _NO_CONDITION,
    "own-encoder-preparation-ignored": _OVERRIDE,
    "torch-dtype-key-dtype-in-v4": "decided by files alone",
    "trainer-checkpoint-keys-not-converted": "the names in the checkpoint decide; its proof reads each form",
    "trainer-own-optimizer-ignored": _OVERRIDE,
    "trainer-own-rotation-ignored": _OVERRIDE,
    "trainer-ddp-no-sync-inverted": "needs several ranks; counted over two of them in a test",
    "v5-add-bos-token-not-written": _NO_CONDITION,
    "v5-byte-level-tokenizer-overridden": _NO_CONDITION,
    "v5-config-without-tie-word-embeddings": _NO_CONDITION,
    "v5-own-fast-tokenizer-loses-merges": "the class decides, and its proof has several",
    "v5-roberta-fast-loses-merges": _NO_CONDITION,
    "v5-dynamic-rope-not-reset": "repaired when a model is imported, so one process cannot compute both",
    "v5-rope-parameters-ignored-by-v4": "decided by files alone",
    "v5-subclass-weights-not-converted": "the names in the checkpoint decide; its proof has six classes",
    "v5-t5-tied-keys-order": _NO_CONDITION,
    "update-kwargs-false-new-tokens": "the argument alone decides",
    "use-sliding-window-false-ignored": "no draws are written yet; its case has a window off and in use",
    "v5-vocab-file-unread": "the arguments alone decide; its proof has each class",
    "vlm-checkpoint-key-layout-new-to-old": "decided by files alone",
}
"""Fixes with a trigger that is not held against draws, and why."""


class Draw:
    """One draw.

    Args:
        testbed: where it runs.
        seed: another one, another draw.
        targets: the functions of the fix that are broken here, as ``module:qualname``; one of them is drawn.

    Attributes:
        testbed: where it runs.
        seed: for the numbers in tensors.
        target: has ``module`` and ``qualname``, as the target of a case.
        said: the drawn values, by name.
    """

    def __init__(self, testbed: Any, seed: int, targets: Sequence[str]) -> None:
        self._random = random.Random(f"draw {seed}")
        self.testbed = testbed
        self.seed = seed
        self.said: dict[str, Any] = {}
        module, _, qualname = self._random.choice(sorted(targets)).partition(":")
        self.target: Any = SimpleNamespace(module=module, qualname=qualname)
        if len(targets) > 1:
            self.said["of"] = f"{module.rpartition('.')[2]}:{qualname}"

    def of(self, name: str, *values: Any) -> Any:
        """One of these values."""
        self.said[name] = value = self._random.choice(values)
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """A number from `low` up to and including `high`."""
        return int(self.of(name, *range(low, high + 1)))

    def lengths(self, name: str, rows: int, longest: int) -> list[int]:
        """A length for each row, one of which is the longest."""
        numbers = [self._random.randint(1, longest) for _ in range(rows)]
        numbers[self._random.randrange(rows)] = longest
        self.said[name] = numbers
        return numbers


@dataclass(frozen=True)
class Drawn:
    """How the draws of a fix are made.

    Attributes:
        function: takes a `Draw` and returns tensors.
        trains: whether it computes gradients.
        beside: fixes of other bugs that are on both sides of the comparison, since they lie over this one.
    """

    function: Callable[[Draw], Tensors]
    trains: bool = False
    beside: tuple[str, ...] = ()


DRAWS: dict[str, Drawn] = {}


_Function = Callable[[Draw], Tensors]


def of(*fixes: str, trains: bool = False, beside: tuple[str, ...] = ()) -> Callable[[_Function], _Function]:
    """Declare how the draws of some fixes are made; see `Drawn`."""

    def declare(function: _Function) -> _Function:
        DRAWS.update(dict.fromkeys(fixes, Drawn(function, trains, beside)))
        return function

    return declare


def load() -> Mapping[str, Drawn]:
    """All that are declared, by fix."""
    for part in PARTS:
        import_module(f"{__name__}.{part}")
    return DRAWS


def batch(draw: Draw, tokens: int = 12, fewest: int = 1, rows: int = 3, sides: Sequence[str] = ()) -> Any:
    """Token ids, the mask that the model is given (or None), and which tokens are text.

    Args:
        draw: the draw.
        tokens: at most so many in a row.
        fewest: at least so many in the longest row.
        rows: at most so many.
        sides: where padding may be; ``none``, ``left`` or ``right``, and ``ones``: a mask without padding.
    """
    import torch

    many, longest = draw.number("rows", 1, rows), draw.number("tokens", fewest, tokens)
    side = draw.of("padding", *(sides or ("none", "ones", "left", "right")))
    ids = draw.testbed.randint(3, 48, many, longest, seed=draw.seed)
    real = torch.ones_like(ids).bool()
    if side in ("left", "right"):
        for row, length in zip(real, draw.lengths("lengths", many, longest), strict=True):
            if side == "left":
                row[: longest - length] = False
            else:
                row[length:] = False
    return ids * real, None if side == "none" else real.long(), real
