"""Models of what commands print as JSON and of what the local socket speaks, each with a version.

This module imports nothing: a command prints its rows without a model, and the tests hold the rows against the models.
"""
