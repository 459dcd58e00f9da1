"""When the bugs in models and attention strike."""
