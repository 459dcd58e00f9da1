"""Reports on a process (`report`, `tables`, `digest`) and between processes (`record`, `fleet`, `lock`, `uniform`)."""
