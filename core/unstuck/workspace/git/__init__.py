"""Git as a program, and what can be read of a repository."""
