"""Triggers of the bugs in the Trainer."""
