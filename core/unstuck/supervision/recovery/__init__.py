"""A run that is opened again: what is left of its attempts, and how each continues."""
