"""The child's side of `tools.agreement`: every draw under observation, as it is, and repaired, in one process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tools import draws

ORDER = "CASE_AGREEMENT"
CHECKED = 20
"""So many draws are made without anything armed as well, and have to give what they give under observation."""


def measure(testbed: Any, target: Any) -> dict[str, Any]:
    """Make the draws that the environment orders.

    Returns:
        ``told``: JSON as bytes. For each draw what was drawn, what was counted, and how far the result is from the
        repaired one.
    """
    import torch

    order = json.loads(os.environ[ORDER])
    with _armed(order["fix"], "observe", "observed"):
        observed = [_made(testbed, order, number) for number in range(order["draws"])]
    stock = [_made(testbed, order, number) for number in range(min(CHECKED, order["draws"]))]
    for number, one in enumerate(stock):
        if not _equal(one[1], observed[number][1]):
            raise AssertionError(f"observation changes the result: {one[0]}")
    with _armed(order["fix"], "repair", "applied"):
        repaired = [_made(testbed, order, number) for number in range(order["draws"])]
    told = [_row(one, other) for one, other in zip(observed, repaired, strict=True)]
    return {"told": torch.tensor(list(json.dumps(told).encode()), dtype=torch.uint8)}


@contextmanager
def _armed(fix: str, mode: str, wanted: str) -> Iterator[None]:
    """Observe, or repair, one bug alone; what is loaded already and what comes."""
    import hotfix

    os.environ.update(HOTFIX_MODE=mode, HOTFIX_OPTIN=fix, HOTFIX_QUIET="1")
    with hotfix.apply(only=[fix]):
        yield
        states = {one.state.value for one in hotfix.report().outcomes if one.fix == fix}
    if wanted not in states:
        raise AssertionError(f"{fix} is not {wanted} here: {states}")


def _made(testbed: Any, order: Mapping[str, Any], number: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """What was drawn, what came out, and what was counted on the way."""
    import torch

    from hotfix.proofs.testbed import collect

    drawn = draws.load()[order["fix"]]
    seed = order["seed"] * 100_000 + number
    draw = draws.Draw(testbed, seed, order["targets"])
    torch.manual_seed(seed)
    before = _counts(order["fix"])
    results: dict[str, Any]
    try:
        with torch.set_grad_enabled(drawn.trains):
            results = dict(collect(drawn.function(draw)))
    except Exception as error:
        results = {f"raises {type(error).__name__}: {str(error)[:150]}": torch.zeros(())}
    after = _counts(order["fix"])
    return draw.said, results, {name: after[name] - before[name] for name in after}


def _counts(fix: str) -> dict[str, int]:
    from hotfix import session

    observer = session.current().observer
    rows = [one for one in observer.results() if one.fix == fix] if observer is not None else []
    return {name: sum(getattr(one, name) for one in rows) for name in ("calls", "struck", "untold")}


def _row(observed: Any, repaired: Any) -> dict[str, Any]:
    from hotfix.proofs.compare import difference

    said, results, counts = observed
    raised = next((name for name in results if name.startswith("raises ")), "")
    again = next((name for name in repaired[1] if name.startswith("raises ")), "")
    far = difference(results, repaired[1])
    return {
        "drawn": {name: str(value) for name, value in said.items()},
        **counts,
        "differs": not _equal(results, repaired[1]),
        "over": far.over,
        "relative": min(far.relative, 1e9),
        "of": far.name,
        "raises": raised,
        "repaired raises": again,
    }


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    from hotfix.proofs.compare import difference

    return not difference(one, other)
