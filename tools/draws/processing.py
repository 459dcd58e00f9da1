"""Draws for the bugs of processors and tokenizers."""
