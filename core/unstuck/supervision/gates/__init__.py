"""Questions to a person: opened, answered, counted down, and withdrawn."""
