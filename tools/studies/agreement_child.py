"""The child's side of `tools.studies.agreement`: every draw under observation and repaired, in one process."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tools.studies import draws

ORDER = "CASE_AGREEMENT"
CHECKED = 20
"""So many draws are made without anything armed as well, and have to give what they give under observation."""


def measure(testbed: Any, target: Any) -> dict[str, Any]:
    """Make the draws that the environment orders.

    Returns:
        ``told``: JSON as bytes. For each draw: the input, the counts, and the distance of the result from the
            repaired one.
    """
    import torch

    from hotfix.proofs.compare import difference

    order = json.loads(os.environ[ORDER])
    fix, numbers, beside = order["fix"], range(order["draws"]), draws.load()[order["fix"]].beside
    with _armed([fix], "observe", "observed"):
        observed = [_made(testbed, order, number) for number in numbers]
    stock = [_made(testbed, order, number) for number in numbers[:CHECKED]]
    for number, draw in enumerate(stock):
        if difference(draw[1], observed[number][1]):
            raise AssertionError(f"observation changes the result: {draw[0]}")
    before = observed
    if beside:
        with _armed(beside, "repair"):
            before = [_made(testbed, order, number) for number in numbers]
    with _armed([fix, *beside], "repair", "applied"):
        after = [_made(testbed, order, number) for number in numbers]
    rows = [_row(*row) for row in zip(observed, before, after, strict=True)]
    return {"told": torch.tensor(list(json.dumps(rows).encode()), dtype=torch.uint8)}


@contextmanager
def _armed(fixes: Sequence[str], mode: str, wanted: str = "") -> Iterator[None]:
    """Observe, or repair, only these bugs, in modules that are loaded and in later ones."""
    import hotfix

    os.environ.update(HOTFIX_MODE=mode, HOTFIX_OPTIN=",".join(fixes), HOTFIX_LOG="quiet")
    with hotfix.apply(only=list(fixes)):
        yield
        states = {outcome.state.value for outcome in hotfix.report().outcomes if outcome.fix == fixes[0]}
    if wanted and wanted not in states:
        raise AssertionError(f"{fixes[0]} is not {wanted} here: {states}")


def _made(testbed: Any, order: Mapping[str, Any], number: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """The input of each draw, its result, and the counts on the way."""
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
    if number == 0:
        gc.freeze()  # the Trainer collects garbage at the beginning of each training, among all that was imported
    return draw.said, results, {name: after[name] - before[name] for name in after}


def _counts(fix: str) -> dict[str, int]:
    from hotfix import session

    observer = session.current().observer
    rows = [result for result in observer.results() if result.fix == fix] if observer is not None else []
    return {name: sum(getattr(row, name) for row in rows) for name in ("calls", "struck", "untold")}


def _row(observed: Any, before: Any, after: Any) -> dict[str, Any]:
    from hotfix.proofs.compare import difference

    said, _, counts = observed
    differing = difference(before[1], after[1])
    return {
        "drawn": {name: str(value) for name, value in said.items()},
        **counts,
        "differs": bool(differing),
        "over": differing.over,
        "relative": min(differing.relative, 1e9),
        "of": differing.name,
        "raises": next((name for name in before[1] if name.startswith("raises ")), ""),
    }
