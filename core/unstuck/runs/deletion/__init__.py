"""Deletion of a run, or of all that unstuck has in a project: inventory, execution, verification."""
