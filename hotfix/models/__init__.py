"""One module for each bug in modeling and attention code: its report, its cure, its proof."""
