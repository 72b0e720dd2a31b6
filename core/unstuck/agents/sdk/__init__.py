"""Claude Code through the Claude Agent SDK: its hooks and permissions are answered in this process."""
