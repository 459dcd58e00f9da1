"""When the silent bugs that a removed meaning leaves strike."""
