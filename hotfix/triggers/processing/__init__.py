"""Triggers of the bugs in processors and tokenizers."""
