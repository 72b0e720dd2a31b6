"""The agent's files: git, checkpoints, a work tree for each task, and what can be found out about a failure."""

from __future__ import annotations

from unstuck.workspace.changes import TreePrint, print_of
from unstuck.workspace.checkpoints import Change, Checkpoint, CheckpointStore, Restored
from unstuck.workspace.gather import Insight, gather
from unstuck.workspace.git import Repository, Result, dirty, find_repository, head, project_home, record_home, run_git
from unstuck.workspace.worktrees import REMEDIATION, Worktrees

__all__ = [
    "REMEDIATION",
    "Change",
    "Checkpoint",
    "CheckpointStore",
    "Insight",
    "Repository",
    "Restored",
    "Result",
    "TreePrint",
    "Worktrees",
    "dirty",
    "find_repository",
    "gather",
    "head",
    "print_of",
    "project_home",
    "record_home",
    "run_git",
]
