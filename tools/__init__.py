"""What the project runs on itself: the sweep, the matrix, the pages, the demonstration. Not part of the package."""
