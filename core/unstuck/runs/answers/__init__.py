"""Answers to questions: rules from a file, and ways to a live or a paused run."""
