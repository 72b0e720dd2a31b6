"""Memory of the project, as supervision reads and writes it."""
