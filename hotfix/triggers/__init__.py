"""The condition that triggers each bug: one module for each fix, in the folder and under the name that the fix has.

Loaded where a run is observed, where repaired calls are counted, and by ``hotfix audit``; a process that is repaired
imports nothing of it. `hotfix.trigger` documents what a trigger may do.
"""
