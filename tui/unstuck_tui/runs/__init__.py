"""A run as a screen sees it: in this process, in another one, or from its event log."""
