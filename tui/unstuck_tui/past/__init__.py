"""A run as it was: its log, found again record by record."""
