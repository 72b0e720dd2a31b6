"""Rules that each recognise one kind of repetition. Pure."""
