"""The installed packages (`installed`), their source (`source`), and whether it is broken (`verdict`)."""
