"""Agents that run as a command: prompt, process, output and signal line."""
