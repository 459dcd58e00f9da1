"""When the bugs in the Trainer strike."""
