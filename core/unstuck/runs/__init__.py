"""The composition root: a project, a plan and its agents become a run."""
