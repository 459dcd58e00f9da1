"""Calls of functions with known bugs, counted while they run (``HOTFIX_MODE=observe``, ``HOTFIX_COUNT=1``).

`observer` decides which functions are observed in a session, `edit` has a function report what it was called with, and
`counter` counts and asks the trigger. `hotfix.reports.observed` puts the counts into words.
"""
