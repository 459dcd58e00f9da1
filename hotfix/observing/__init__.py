"""Calls of functions with known bugs, counted while they run (``HOTFIX_MODE=observe``, ``HOTFIX_COUNT=1``).

`observer` selects the functions to observe in a session, `edit` makes a function report the arguments of its calls, and
`counter` counts calls and evaluates the trigger. `hotfix.reports.observed` puts the counts into words.
"""
