"""Lines that commands print, without tones: events, runs, deletions, restores. Light: no Rich. Pure."""
