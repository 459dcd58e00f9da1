"""Triggers of the silent bugs that a removed meaning causes."""
