"""Running an agent or a check as a process, and ending it with everything it started.

Each process has a small one of its own between it and us (:mod:`unstuck.processes.shim`), which owns its output and
clears up behind it even when the supervisor is killed.
"""

from __future__ import annotations

from unstuck.clock.process_exit import until_over
from unstuck.processes.directory_users import working_in
from unstuck.processes.environment import clean_environment
from unstuck.processes.leftover_reports import Account, Remains, account_of, helpers_done
from unstuck.processes.orphans import end_survivors, is_alive, is_ours
from unstuck.processes.resource_usage import Vitals, sample
from unstuck.processes.run_processes import lives, prompted_from, tree_of, works_elsewhere
from unstuck.processes.runner import Exit, Launch, Process, run
from unstuck.processes.shim.process_table import TAG

__all__ = [
    "TAG",
    "Account",
    "Exit",
    "Launch",
    "Process",
    "Remains",
    "Vitals",
    "account_of",
    "clean_environment",
    "end_survivors",
    "helpers_done",
    "is_alive",
    "is_ours",
    "lives",
    "prompted_from",
    "run",
    "sample",
    "tree_of",
    "until_over",
    "working_in",
    "works_elsewhere",
]
