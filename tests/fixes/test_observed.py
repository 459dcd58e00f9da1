"""Each trigger on a broken release: its case strikes, a harmless input does not, and results are equal to the bit."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from hotfix.engine.catalogue import INDEX
from tests.fixes import harmless
from tools import matrix
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

STEP = "transformers.trainer:Trainer.training_step"
FIXES = json.loads(INDEX.read_text(encoding="utf-8"))["fixes"]
OF_THE_DAY = {"accelerate": "1.1.1", "flash-attn": None}
LATER = {"accelerate": "1.15.0", "flash-attn": None}

# Release, what is installed beside, and the fixes whose cases are run in one process, each on one target.
RUNS = {
    "4.47.1": (OF_THE_DAY, {"trainer-ga-multiplied-loss": STEP}),
    "4.48.0": (LATER, {"trainer-ga-num-items-dropped": STEP}),
    "5.4.0": (LATER, {"v5-trainer-ga-double-division": STEP}),
}
CASES = [(release, fix) for release, (_, fixes) in RUNS.items() for fix in fixes]


@cache
def ran(release, observing):
    packages, fixes = RUNS[release]
    chosen = {**matrix.PACKAGES, **packages}
    beside: dict[str, Any] = {name.replace("-", "_"): chosen.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" if version else name for name, version in chosen.items() if version is not None]
    cases = [(fix, FIXES[fix]["module"], place) for fix, place in fixes.items()]
    env = {"OBSERVED": json.dumps(cases), **({"HOTFIX_MODE": "observe"} if observing else {})}
    return run(
        "tests.fixes.observed:every", transformers=release, **beside, extras=extras, env=env, hotfix=observing
    ).require()


def part(result, fix, way):
    start = f"{fix} {way}: "
    return {name[len(start) :]: value for name, value in result.tensors.items() if name.startswith(start)}


def counts(told):
    return {name: int(told.pop(name)) for name in ("calls", "struck", "untold")}


@pytest.mark.parametrize(("release", "fix"), CASES)
def test_the_case_strikes_and_nothing_changes(release, fix):
    told = part(ran(release, True), fix, "case")
    counted = counts(told)
    without = part(ran(release, False), fix, "case")
    assert counted["struck"] > 0
    assert counted["untold"] == 0
    assert told.keys() == without.keys()
    assert [name for name, value in told.items() if not torch.equal(value, without[name])] == []


@pytest.mark.parametrize(("release", "fix"), [one for one in CASES if one[1] in harmless.CASES])
def test_a_harmless_input_does_not_strike(release, fix):
    counted = counts(part(ran(release, True), fix, "harmless"))
    assert counted["calls"] > 0
    assert (counted["struck"], counted["untold"]) == (0, 0)
