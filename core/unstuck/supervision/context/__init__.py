"""What every part of supervision works with: the run context, its values, and the next step of a task."""
