"""The command line and the screen of unstuck."""
