"""The terminal: its driver and input, what it understands beside text, and its hand-over to another program."""
