"""``hotfix diff``: the installed functions next to the repaired ones, in the layout of the installed source."""
