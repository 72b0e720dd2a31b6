"""Tasks as lines of toned cells: their table, one of them in detail, its escalation, and the plan as a graph. Pure."""
