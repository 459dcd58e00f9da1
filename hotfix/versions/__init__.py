"""What is installed (`installed`), what its source is (`source`), and whether that source is broken (`verdict`)."""
