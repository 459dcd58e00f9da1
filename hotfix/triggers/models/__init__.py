"""Triggers of the bugs in models and attention."""
