"""What a user may set, where it is read from, and what a repository's file may not do.

This package file imports nothing: who asks only where something lies, or reads a duration, builds no settings for it.
"""
