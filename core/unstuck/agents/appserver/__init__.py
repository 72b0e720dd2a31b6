"""``codex app-server``: approvals are asked of a person, and a turn can be steered while it is under way."""
