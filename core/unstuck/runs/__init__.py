"""Composition root: builds a run from a project, a plan and its agents."""
