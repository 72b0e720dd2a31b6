"""The agent's files: git, checkpoints, a work tree for each task, and what can be found out about a failure."""
