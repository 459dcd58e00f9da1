"""What is said: of a process (`report`, `tables`, `digest`), to others (`record`, `fleet`, `lock`, `uniform`)."""
