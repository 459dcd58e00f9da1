"""Internal helpers for all other packages: caches, locks, parsing, vocabulary."""
