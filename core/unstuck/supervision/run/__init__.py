"""The run as a whole: supervisor, sessions of its tasks, and its end."""
