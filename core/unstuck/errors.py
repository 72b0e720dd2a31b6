"""The exception tree.

    UnstuckError
     ├── UsageError            the request is not possible; exit code 2
     │    ├── ArgumentError    an argument of a call has the wrong type (also a TypeError and a ValueError)
     │    ├── SettingsError    a setting is wrong (file, key, what is allowed)
     │    ├── PlanError        a plan is wrong (file, line)
     │    ├── AgentUnusable    a caller's agent is no coroutine function, or returns what no agent returns
     │    └── ProjectError     the project cannot be used (no such directory, no commit yet, a run is live)
     │         └── ProjectLocked   another run is live here
     ├── RecordError           the event log cannot be trusted or written; exit code 6
     │    ├── RecordDamaged    a log line is wrong (file, line, offset)
     │    └── RecordWriteFailed    a write or a sync failed; never retried
     │    └── SystemFailed     the system gives unstuck no file, memory or space to work with
     ├── GateError             an answer does not fit
     │    ├── GateUnknown      no question has this id
     │    ├── GateClosed       the gate has its answer already (by, when)
     │    └── AnswerRefused    not a choice of this gate, or its text or number is missing
     ├── WorkspaceError        an operation on git, a checkpoint or a worktree failed
     │    ├── GitError         a git command failed (arguments, exit code, output)
     │    ├── CheckpointUnknown
     │    ├── TreeTooLarge     a home directory or a huge tree needs a confirmation
     │    ├── IntegrationConflict   two results change the same lines (paths)
     │    └── DeliveryRefused  the results cannot go into the branch as it is (paths)
     ├── AgentNotFound         the agent's program does not exist or cannot run
     ├── ChannelError          the local socket refused or its other end went away
     │    └── NoReply          the other end listens and has not replied in time
     └── LaggedBehind          a reader of events was too slow and must start again from a sequence number

Every message is one line with the problem and, if there is one, the remedy.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

EXIT_CODES: dict[int, tuple[str, str]] = {
    0: ("succeeded", "every task passed its check"),
    1: ("incomplete", "the run ended with tasks that were skipped, abandoned, failed or not checked"),
    2: ("", "wrong usage, plan, settings or answer; nothing was started"),
    3: ("needs_person", "a question is open and no one is there to answer; the run is paused"),
    4: ("halted", "the run cannot continue: the baseline check stays broken, or the run never asks a person"),
    5: ("budget", "a budget limit ended the run"),
    6: ("", "the event log cannot be trusted, or it or another file of unstuck cannot be written or opened"),
    7: ("", "`unstuck diagnose` recognised no failure"),
    130: ("interrupted", "Ctrl+C, a signal or a stop ended the run; `--resume` continues it"),
}
"""Exit codes of the commands: the reason in the JSON result (empty outside a run) and the meaning."""
NOTHING_RECOGNISED = 7


class UnstuckError(Exception):
    """Base class of all errors of this package. ``exit_code`` is the exit code of a command."""

    exit_code = 1


class UsageError(UnstuckError):
    """The request is not possible."""

    exit_code = 2


class ArgumentError(UsageError, TypeError, ValueError):
    """An argument of a call has the wrong type or is out of range."""


class AgentUnusable(UsageError):
    """A caller's agent is no coroutine function, or it returned what no agent returns."""


class SettingsError(UsageError):
    """A setting is wrong. ``source`` is the file, variable or flag; ``key`` is dotted."""

    def __init__(self, source: str, key: str, problem: str) -> None:
        self.source, self.key, self.problem = source, key, problem
        super().__init__(f"{source}: {key}: {problem}" if key else f"{source}: {problem}")


class PlanError(UsageError):
    """A plan is wrong. ``line`` counts from 1; 0 means the whole file."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        self.file, self.line, self.problem = file, line, problem
        super().__init__(f"{file}:{line}: {problem}" if line else f"{file}: {problem}")


class ProjectError(UsageError):
    """The project cannot be used."""


class ProjectLocked(ProjectError):
    """Another run, or another watch, is live in this project.

    ``pid`` is its process (0 if unknown), ``host`` another machine.
    """

    def __init__(self, lock: Path, pid: int, host: str = "") -> None:
        self.lock, self.pid, self.host = lock, pid, host
        where = f"process {pid or 'unknown'}" + (f" on {host}" if host else "")
        kind = "watch" if lock.name == "watch.lock" else "run"
        super().__init__(
            f"another {kind} is live in this project ({where}); wait for it or stop it; `unstuck watch` shows it"
        )


class RecordError(UnstuckError):
    """The event log cannot be trusted or written."""

    exit_code = 6


class RecordDamaged(RecordError):
    """A log line is wrong. ``line`` counts from 1, ``offset`` is in bytes from the start of the file."""

    def __init__(self, file: Path, line: int, offset: int, problem: str) -> None:
        self.file, self.line, self.offset, self.problem = file, line, offset, problem
        super().__init__(f"{file}: line {line}, byte {offset}: {problem}")


class RecordWriteFailed(RecordError):
    """A write or a sync of the log failed. Unacknowledged events are not recorded."""


class SystemFailed(RecordError):
    """The system gives unstuck no file, memory or space to work with; no agent and no check is at fault."""


_CURES = {
    errno.EROFS: "make the file system writable",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "close other programs: the machine has no open files left",
    errno.ENOMEM: "raise the limit of memory (`ulimit -v`) or free some",
    errno.ENOSPC: "free space or files on that disk",
    errno.EDQUOT: "free space or raise the quota",
    errno.EFBIG: "raise the limit of file sizes (`ulimit -f`)",
}
_SAID = {number: os.strerror(number) for number in _CURES}


def system_failure(error: BaseException) -> SystemFailed | None:
    """Return what is wrong with the system where that is the cause of ``error``; None for every other error."""
    number = getattr(error, "errno", None) or (errno.ENOMEM if isinstance(error, MemoryError) else 0)
    if isinstance(error, WorkspaceError):  # git gives its reason in words alone
        number = next((number for number, said in _SAID.items() if said in str(error)), 0)
    if number not in _CURES:
        return None
    name = getattr(error, "filename", None)
    where = f"{os.fsdecode(name)}: " if isinstance(name, str | bytes | os.PathLike) else ""
    return SystemFailed(
        f"{where}{_SAID[number]}. Neither an agent nor a check is the cause: {_CURES[number]}, "
        "and continue with `unstuck run --resume last`"
    )


class GateError(UnstuckError):
    """An answer does not fit the question."""

    exit_code = 2


class GateUnknown(GateError):
    """No question has this id."""

    def __init__(self, gate: str) -> None:
        self.gate = gate
        super().__init__(f"no question {gate}: `unstuck show RUN` lists the open ones")


class GateClosed(GateError):
    """The question has its answer already. ``by`` is the actor, ``when`` an ISO 8601 time, ``what`` the answer."""

    def __init__(self, gate: str, by: str, when: str, what: str = "") -> None:
        self.gate, self.by, self.when, self.what = gate, by, when, what
        who = {"human": "a person", "policy": "a rule", "timer": "a timer"}.get(by, by)
        super().__init__(f"{gate} is closed already: by {who}, {when}" + (f": {what}" if what else ""))


class AnswerRefused(GateError):
    """The choice does not belong to this question, or its text or number is missing."""


class WorkspaceError(UnstuckError):
    """An operation on git, a checkpoint or a worktree failed."""


class GitError(WorkspaceError):
    """A git command failed. ``said`` is the first line of what it printed."""

    def __init__(self, arguments: tuple[str, ...], code: int, said: str) -> None:
        self.arguments, self.code, self.said = arguments, code, said
        while arguments[:1] == ("-c",):
            arguments = arguments[2:]
        super().__init__(f"git {' '.join(arguments[:3])} failed ({code}): {said}")


class CheckpointUnknown(WorkspaceError):
    """No checkpoint has this id."""

    exit_code = 2


class TreeTooLarge(WorkspaceError):
    """A home directory or a huge tree is not saved without a confirmation. ``problem`` names it and the remedy."""

    exit_code = 2

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} say yes: unstuck checkpoints create --yes")


class IntegrationConflict(WorkspaceError):
    """Two results change the same lines. ``paths`` are relative to the worktree."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        super().__init__("conflict in " + ", ".join(paths))


class DeliveryRefused(WorkspaceError):
    """The results cannot go into the branch as it is. ``paths`` are relative to the worktree."""

    def __init__(self, problem: str, paths: tuple[str, ...] = ()) -> None:
        self.paths = paths
        super().__init__(f"{problem}: {', '.join(paths)}" if paths else problem)


class AgentNotFound(UnstuckError):
    """The agent's program does not exist or cannot run."""

    exit_code = 2


class ChannelError(UnstuckError):
    """The local socket refused or its other end went away."""


class NoReply(ChannelError):
    """The other end of the local socket listens and has not replied in time."""


class LaggedBehind(UnstuckError):
    """A reader of events was too slow. ``seq`` is the last event it received."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(f"reader is behind; start again after event {seq}")
