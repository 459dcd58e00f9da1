"""What is decided, done and written down.

The switches (`policy`), the fixes that there are (`index`, `catalogue`) and that are on (`selection`), the step from a
verdict to a change (`apply`), all changes of a process (`repairs`), and what is written down (`ledger`) and said
(`log`).
"""
