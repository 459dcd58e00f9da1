"""When the bugs in what is read from files strike."""
