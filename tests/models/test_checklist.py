"""One checklist over all fixes: tracebacks, names, pickle, the way back, torch.compile and gradient checkpointing.

The fixes are found, not listed, so that a new one is held to all of it. Each is tried on the last release in which its
first target is broken.
"""

from __future__ import annotations

import pytest

from tests.bed.run import run
from tools import evidence, matrix

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.bed

OWN = "hotfix.models._cases"  # where the modules are that stand for those outside of transformers

# What a case cannot be tried in, and why. Those of processors have no model at all.
LET_OFF = {
    ("generate-fa2-nameerror", "checkpointed"): "generation from a cache, which checkpointing switches off",
    ("var-attention-dtype", "compiled"): "torch cannot trace the backward pass of xformers; tests/models/test_var.py",
}


def fixes():
    chosen = []
    homes = evidence.discover(lambda problem: None)
    every = [cell for cell in matrix.cells(homes) if cell.verdict == "broken"]
    for home, fix in homes.items():
        target = fix.targets[0]
        broken = [cell.release for cell in every if cell.fix is fix and cell.target is target]
        if "*" in target.module:
            target = target.in_module(target.module.replace("*", OWN))
        chosen.append(pytest.param(home, fix, target, str(max(broken, default="4.51.3")), id=fix.id))
    return chosen


def checked(check, home, fix, target, release):
    packages = {**matrix.PACKAGES, **fix.trial.packages}
    beside = {name.replace("-", "_"): packages.pop(name, None) for name in ("flash-attn", "xformers")}
    extras = [f"{name}=={version}" if version else name for name, version in packages.items() if version is not None]
    switches = {"HOTFIX_ONLY": fix.id, "HOTFIX_OPTIN": fix.id, "CHECKLIST": home}
    case = f"tests.models.checklist:{check}"
    return run(case, transformers=release, **beside, extras=extras, env=switches, target=target).require()


@pytest.mark.parametrize(("home", "fix", "target", "release"), fixes())
def test_a_repaired_function_is_an_ordinary_function(home, fix, target, release):
    told = {name: bool(value) for name, value in checked("ordinary", home, fix, target, release).tensors.items()}
    assert told == dict.fromkeys(told, True)
    assert len(told) == 6


@pytest.mark.slow
@pytest.mark.parametrize("way", ["compiled", "checkpointed"])
@pytest.mark.parametrize(("home", "fix", "target", "release"), fixes())
def test_the_case_gives_the_same_when_its_models_are(way, home, fix, target, release):
    if home.startswith("hotfix.processing."):
        pytest.skip("no model")
    if reason := LET_OFF.get((fix.id, way)):
        pytest.skip(reason)
    result = checked(way, home, fix, target, release)
    assert result.tensors["models"], "no model of the case was compiled, or can checkpoint its layers"
    assert not result.tensors["different"], result.stderr
