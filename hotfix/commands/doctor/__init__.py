"""``hotfix doctor``: what could keep hotfix from working in this environment, one function for each question."""
