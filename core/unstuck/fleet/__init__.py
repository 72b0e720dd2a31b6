"""Runs of several machines in one list. Each host's event log stays the truth for its runs."""
