"""One attempt: its worktree, guidance, process, observations, permissions and idle clock."""
