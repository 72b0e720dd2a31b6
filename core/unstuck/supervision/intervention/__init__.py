"""Actions of a person or of a live agent while an attempt runs."""
