"""Checkpoints of a tree: saved, listed, compared and restored."""
