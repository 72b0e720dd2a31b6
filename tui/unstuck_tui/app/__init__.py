"""The Textual apps: on a run of this process, of another one, or replayed; and the host that shows one."""
