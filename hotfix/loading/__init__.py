"""Fixes that bring configurations, tokenizers and weights into the form that the installed release understands."""
