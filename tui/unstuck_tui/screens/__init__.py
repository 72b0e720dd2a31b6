"""Whole screens, a stylesheet beside each."""
