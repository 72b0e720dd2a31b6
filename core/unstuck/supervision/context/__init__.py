"""The shared base of supervision: the run context, its values, its signals, and the next step of a task."""
