"""Names that releases do not have (any more), with their old meaning."""
