"""What the agents have in common that are spoken with over a protocol: that they live, and how an attempt came out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from unstuck.agents.command.process_agent import How, account
from unstuck.agents.command.signal_line import read_signal
from unstuck.contract import Guidance, Observation, Observer, Report, Task
from unstuck.errors import RecordError
from unstuck.processes import Exit
from unstuck.text import admit

__all__ = ["alive", "concluded"]

_PROBLEM_LIMIT = 4_000


def alive(observer: Observer) -> Callable[[int, str], None]:
    """What a process's progress is told to: that the agent lives, whatever it has printed."""

    def tell(total: int, tail: str) -> None:
        # Where nothing can be recorded any more the attempt itself ends for that reason.
        with suppress(RecordError):
            observer.see(Observation(kind="alive"))

    return tell


def concluded(
    task: Task,
    guidance: Guidance,
    done: Exit,
    *,
    said: str,
    output: Path,
    session: str,
    crashed: str,
    failed: str,
    signals: bool,
) -> Report:
    """The report of an attempt whose process is ``done`` and whose agent has ``said`` this.

    ``crashed`` is what broke the conversation off, ``failed`` what the agent itself says went wrong, each empty where
    there is nothing; with ``signals`` a signal is wanted of an agent that ended well.
    """
    signal = read_signal(said, task.id)
    how: How = "crashed" if crashed else "ended"
    problem = crashed or failed
    if not problem and signals and signal.problem:
        how = "no_signal" if signal.problem == "missing" else "bad_signal"
    return account(
        guidance,
        said,
        signal,
        done,
        output=output,
        code=1 if problem else 0,
        how=how,
        error=admit(problem, limit=_PROBLEM_LIMIT) if problem else None,
        session=session,
    )
