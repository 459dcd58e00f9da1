"""Inputs on which a bug does not strike, by fix: what `test_observed.py` runs beside the case that shows the bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.training import _steps

CASES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {}


def of(*fixes: str) -> Callable[[Callable[[Any, Any], dict[str, Any]]], Callable[[Any, Any], dict[str, Any]]]:
    """Declare the harmless input of some fixes."""

    def declare(case: Callable[[Any, Any], dict[str, Any]]) -> Callable[[Any, Any], dict[str, Any]]:
        CASES.update(dict.fromkeys(fixes, case))
        return case

    return declare


@of("trainer-ga-multiplied-loss")
def one_batch_of_an_encoder(testbed: Any, target: Any) -> dict[str, Any]:
    return _steps.one_step(zoo.small_bert(testbed), zoo.classified(testbed), per_device_train_batch_size=4)


@of("trainer-ga-num-items-dropped", "v5-trainer-ga-double-division")
def one_batch_of_a_decoder(testbed: Any, target: Any) -> dict[str, Any]:
    return _steps.one_step(zoo.small_llama(testbed), zoo.texts(testbed, (1, 1, 1, 1)), per_device_train_batch_size=4)
