"""Every process of a job, and proof that they agree.

The quick tests need no torch: they install the two wheels in fresh environments, next to a toy `transformers` and a
plugin with a fix for it (`toy.py`). `test_engines.py` runs the real release in the real launchers.

One table, `reach.py`, lists which way of injection reaches which kind of process. Each of its cells is a test, and
``REACH_TABLE=docs/reach.md pytest -m "slow or not slow" tests/cluster`` writes docs/reach.md from the results.
"""
