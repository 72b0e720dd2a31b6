"""Deleting a run, or all that is ours in a project: first what would go, then its going, then a search for the rest."""
