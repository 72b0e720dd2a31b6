"""Read-only queries about the runs of a project."""
