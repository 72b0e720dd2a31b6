"""What to do next: precedence, the ladder, alternatives, prompts and the stuck report. Pure functions over values."""
