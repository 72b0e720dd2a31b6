"""Questions to the person: each returns a typed result and never answers without a key."""
