"""One module for each bug in image, video and text processors: its report, its cure, its proof."""
