"""The last hidden state of vision towers, as the models built on them read it; bitwise.

The matrix runs every class of the table; here is what it does not show.
"""

from __future__ import annotations

import pytest

from tests.fixes.models.vision_states import ID
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.vision_states"


def ran(case, release="4.57.1", hotfix=True):
    env = {"HOTFIX_ONLY": ID} if hotfix else {}
    return run(f"{CASES}:{case}", transformers=release, flash_attn=None, hotfix=hotfix, env=env).require().tensors


def test_llava_onevision_projects_the_output_of_siglips_last_layer():
    stock, repaired = (ran("features", hotfix=hotfix)["features"] for hotfix in (False, True))
    fixed = ran("features", "4.57.2", hotfix=False)["features"]
    assert repaired.equal(fixed)
    assert (stock - fixed).norm() > 0.1 * fixed.norm()


def test_a_model_that_was_built_before_is_repaired_and_given_back():
    result = ran("late_and_back", hotfix=False)
    names = ("tied before", "tied before, as a tuple", "told to be late", "free", "the same function", "tied after")
    assert {name: bool(value) for name, value in result.items()} == dict.fromkeys(names, True)


def test_language_models_and_other_classes_keep_their_code():
    result = ran("others")
    names = (
        "language models are tied",
        "and have the stock code",
        "SigLIP's heads too",
        "SigLIP's towers have not",
    )
    assert {name: bool(value) for name, value in result.items()} == dict.fromkeys(names, True)
