"""Settings: models, sources, and limits of project files.

This module imports nothing, so that paths and durations need no settings models.
"""
