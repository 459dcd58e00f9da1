"""Cases of `test_observed.py` on the testbed: many fixes in one process, and inputs that no bug affects."""

from __future__ import annotations

import json
import os
import traceback
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from hotfix import session
from hotfix.fix import Fix
from hotfix.proofs import load as load_proof
from tests.fixes import harmless


def every(testbed: Any, target: Any) -> dict[str, Any]:
    """Run the cases that ``CASE_OBSERVED`` names, one after the other.

    Returns:
        ``FIX case: RESULT`` and ``FIX harmless: RESULT``, and, where calls are counted, ``FIX case: calls``,
        ``FIX case: struck`` and ``FIX case: untold``.
    """
    import torch

    parts: dict[str, Any] = {}
    for name, module, place in json.loads(os.environ["CASE_OBSERVED"]):
        fix = import_module(module).FIX
        import_module(place.partition(":")[0])
        where = SimpleNamespace(module=place.partition(":")[0], qualname=place.partition(":")[2])
        for way, case in (
            ("case", harmless.STRIKES.get(name) or load_proof(module, fix)),
            ("harmless", harmless.CASES.get(name)),
        ):
            if case is None:
                continue
            torch.manual_seed(0)
            before = _counts(fix)
            try:
                results = case(testbed, where)
            except Exception:
                traceback.print_exc()
                results = {"raised": torch.tensor(True)}
            parts.update({f"{name} {way}: {key}": value.detach().clone() for key, value in results.items()})
            after = _counts(fix)
            parts.update({f"{name} {way}: {key}": torch.tensor(after[key] - before[key]) for key in after})
    return parts


def _counts(fix: Fix) -> dict[str, int]:
    observer = session.current().observer
    if observer is None:
        return {}
    rows = [result for result in observer.results() if result.fix == fix.id]
    return {name: sum(getattr(row, name) for row in rows) for name in ("calls", "struck", "untold")}
