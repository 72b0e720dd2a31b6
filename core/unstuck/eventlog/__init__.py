"""Events, the durable log, the fold into state, snapshots, and the memory of a project.

This module imports nothing, which keeps the log writer light.
"""
