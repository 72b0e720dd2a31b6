"""A run as it was, moved through record by record."""
