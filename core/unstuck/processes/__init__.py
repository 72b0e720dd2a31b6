"""Processes of agents and checks: started, and ended with everything they started.

Each one has a small process beside it (:mod:`unstuck.processes.shim`). It owns the output, and ends what is left even
when the supervisor is killed.
"""

from __future__ import annotations

from unstuck.clock.process_exit import until_over
from unstuck.eventlog.storage.process_identity import is_alive
from unstuck.processes.caller import agent_sign, callers, mark_of
from unstuck.processes.leftover_reports import Account, Remains, account_of, helpers_done
from unstuck.processes.orphans import end_survivors
from unstuck.processes.resource_usage import Vitals, sample
from unstuck.processes.run_processes import lives, prompted_from, tree_of, working_in, works_elsewhere
from unstuck.processes.runner import Exit, Launch, Process, clean_environment, run
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
    "agent_sign",
    "callers",
    "clean_environment",
    "end_survivors",
    "helpers_done",
    "is_alive",
    "lives",
    "mark_of",
    "prompted_from",
    "run",
    "sample",
    "tree_of",
    "until_over",
    "working_in",
    "works_elsewhere",
]
