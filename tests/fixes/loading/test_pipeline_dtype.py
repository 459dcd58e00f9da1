"""A dtype that a pipeline is given twice: the next release refuses it, and a program that ran goes on to run."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def test_the_dtype_of_the_model_counts_with_the_fix_as_without():
    case = "tests.fixes.loading.pipeline_dtype:given_twice"
    stock, repaired = (
        run(case, transformers="4.56.0", flash_attn=None, hotfix=hotfix).require().tensors for hotfix in (False, True)
    )
    assert repaired["weight"].dtype == torch.bfloat16
    assert repaired["weight"].equal(stock["weight"])
