"""What is told: of a process (`report`, `tables`, `digest`), to others (`record`, `fleet`, `lock`, `uniform`)."""
