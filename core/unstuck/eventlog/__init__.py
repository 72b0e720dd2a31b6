"""What happened: events, the durable log, the fold into state, snapshots and the project's memory.

This package file imports nothing, so that the log writer alone stays light.
"""
