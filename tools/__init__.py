"""Tools for the project itself: the sweep, the matrix, the pages, the demonstration. Not part of the package."""
