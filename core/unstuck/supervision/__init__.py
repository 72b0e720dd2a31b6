"""Who does the work: sessions, the supervisor, the coordinator, gates, time-outs, verification and remediation."""
