"""Small modules of our own that have a known bug, for cases whose real module is no package that could be installed."""
