"""When the bugs in processors strike."""
