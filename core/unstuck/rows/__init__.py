"""Rows of a run as commands print them, and those that an open run keeps saved beside its log."""
