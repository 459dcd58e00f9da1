"""Decides which fixes apply, applies them, and records the results.

`policy` has the switches, `index` and `catalogue` the fixes, `selection` the fixes that are on. `apply` turns a verdict
into a change, `repairs` has all changes of a process, `ledger` the results, and `log` the log lines.
"""
