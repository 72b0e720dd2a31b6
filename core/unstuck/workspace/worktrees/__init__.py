"""Worktrees of tasks, and the delivery of their results."""
