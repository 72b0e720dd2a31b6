"""The terminal: its driver, what it sends, what it understands beside text, and its loan to another program."""
