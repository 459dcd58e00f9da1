"""Triggers of the bugs in loading and saving."""
