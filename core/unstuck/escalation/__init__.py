"""Escalation: precedence, levels, alternatives, prompts and the stuck report. Pure functions over values."""
