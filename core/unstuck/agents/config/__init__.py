"""Entries of unstuck in agents' settings files."""
