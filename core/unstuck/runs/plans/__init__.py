"""Plans: the file, its checks before the start, and the tasks in it."""
