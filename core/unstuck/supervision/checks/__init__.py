"""A task's check: its command, and its result."""
