"""After an attempt: the decision, and what carries it out."""
