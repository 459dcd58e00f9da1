"""Every process of a job, and proof that they agree.

The quick tests need no torch: they install the two wheels in fresh environments, beside a toy `transformers` and a
plugin with a fix for it (`toy.py`). `test_engines.py` runs the real release in the real launchers.

What reaches which kind of process is one table, `reach.py`. Each of its cells is a test, and docs/reach.md is written
from it: ``REACH_TABLE=docs/reach.md pytest -m "slow or not slow" tests/cluster`` writes down what was seen.
"""
