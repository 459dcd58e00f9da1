"""One module for each bug in the Trainer: its report, its cure, its proof."""
