"""Hooks of agents that run outside unstuck: payloads, replies, and installation."""
