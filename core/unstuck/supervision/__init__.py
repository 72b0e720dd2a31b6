"""Work on a run: sessions, supervisor, coordinator, questions, time limits, checks and remediation."""
