"""A run that does a little of everything, light enough to be killed hundreds of times; no test by itself.

``python scripted_run.py PROJECT OUTSIDE [--resume RUN] [--kill-durable N | --kill-appended N]`` works it to its end and
prints its result; the file ``--acknowledged`` gets the number of each record as soon as it is safe. The agents
decide by their guidance, so a run that was killed ends like one that was not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unstuck.clock import SystemClock
from unstuck.contract import Answer, Gate, Guidance, Report, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.journal import Journal
from unstuck.settings.models import FailureHandlerSettings, Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.finish import RunResult
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

CHECK = 'read -r said < {0}.txt; test "$said" = "{0} is good" || {{ echo "AssertionError: {0} is not good"; exit 1; }}'
"""In the shell's own words, for it runs thousands of times: the check of the task with this name."""

STATUSES = {"climber": "succeeded", "asker": "succeeded", "follower": "skipped"}
SETTINGS = Settings(failure_handler=FailureHandlerSettings(max_retries=1, max_pivots=1, max_research=1))


class BriskClock(SystemClock):
    """The machine's clock for a run that need not wait out its back-offs."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(0.0 if seconds <= 5 else seconds)


class Ledger:
    """Work of the agents, on disk before it counts: an account of the run from outside."""

    def __init__(self, outside: Path) -> None:
        self._path = outside / "ledger.jsonl"

    def note(self, what: str, guidance: Guidance) -> None:
        said = {"what": what, "attempt": guidance.attempt, "answers": guidance.answers, "text": guidance.text}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")
            file.flush()
            os.fsync(file.fileno())


def tasks(isolation: Any) -> tuple[Task, ...]:
    """One that climbs the whole ladder, one that meets passing trouble and asks, one that cannot be done."""
    return tuple(
        Task(
            id=name,
            prompt=Clean(f"Make {name} good."),
            verify=CHECK.format(name),
            isolation=isolation,
            needs=needs,
        )
        for name, needs in (("climber", ()), ("asker", ()), ("follower", ("climber",)))
    )


def agent(name: str, outside: Path) -> Callable[[Guidance], Any]:
    """The agent of the task ``name``: what it does follows from what it is told, and from what it met before."""
    ledger = Ledger(outside)

    async def attempt(guidance: Guidance) -> Report:
        ledger.note("began", guidance)
        report = _acted(name, guidance, outside)
        ledger.note("ended", guidance)
        return report

    return attempt


def _acted(name: str, guidance: Guidance, outside: Path) -> Report:
    file = guidance.workdir / f"{name}.txt"
    if name == "follower":
        return Report(signal="blocked", question=Clean("Where is the key?"))
    if name == "asker":
        met = outside / "met"
        if not met.exists():
            met.touch()
            return Report(error=Clean("HTTP 429 Too Many Requests"), exit_code=1)
        if "in blue" not in guidance.text:
            question = Clean("Which colour?")
            return Report(signal="needs_guidance", question=question, options=(Clean("in blue"), Clean("in red")))
    good = name == "asker" or "like the first one" in guidance.text
    file.write_text(f"{name} is {'good' if good else guidance.level}\n", encoding="utf-8")
    return Report()


def policy(gate: Gate) -> tuple[int, Answer] | None:
    """The answers that a person's rules give."""
    if gate.type == "stuck":
        return 0, Answer(choice="retry", text=Clean("like the first one"))
    if gate.task == "asker":
        return 1, Answer(choice="choose", number=1)
    return 2, Answer(choice="skip", text=Clean("nobody knows"))


async def work(
    project: Path,
    outside: Path,
    *,
    resume: str | None = None,
    listener: Callable[[Record], None] | None = None,
    seen: Callable[[Supervisor], None] | None = None,
) -> RunResult:
    """Begin the run, or go on with it, to its end."""
    async with Supervisor.open(
        project,
        SETTINGS,
        resume=resume,
        clock=BriskClock(),
        policy=lambda state: policy,
        listener=listener,
    ) as supervisor:
        if seen is not None:
            seen(supervisor)
        apart = supervisor.core.worktrees is not None
        if supervisor.core.worktrees is not None:
            await supervisor.core.worktrees.prepare()
        for task in tasks("worktree" if apart else "shared"):
            supervisor.add(task, after_skip="run")
        return await Coordinator(supervisor, lambda task: CallableAgent(agent(task.id, outside))).run()


def make_project(project: Path) -> None:
    """The files of the project."""
    project.mkdir(exist_ok=True)
    for name in ("climber", "asker"):
        (project / f"{name}.txt").write_text("nothing\n", encoding="utf-8")


def is_moment(moment: str, record: Record) -> bool:
    """Return whether ``record`` is this step of an answer: ``given``, ``sent`` to an agent, or ``delivered``."""
    event = record.event
    if moment == "given":
        return isinstance(event, e.GateAnswered)
    if moment == "sent":
        return isinstance(event, e.AttemptStarted) and bool(event.guidance.answers)
    return isinstance(event, e.AttemptEnded) and record.attempt in _ANSWERED


_ANSWERED: set[str] = set()


def die_when_appended(number: int, moment: str = "") -> None:
    """Kill this process when record ``number`` has been decided and handed over, before anybody waits for the disk."""
    append = Journal.append

    def deadly(self: Journal, *arguments: Any, **named: Any) -> Record:
        record = append(self, *arguments, **named)
        if is_moment(moment, record) if moment else record.seq >= number:
            os.kill(os.getpid(), signal.SIGKILL)
        return record

    Journal.append = deadly  # type: ignore[method-assign]


def main() -> None:
    """Work the run as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("outside", type=Path)
    parser.add_argument("--resume")
    parser.add_argument("--kill-durable", type=int, default=0)
    parser.add_argument("--kill-appended", type=int, default=0)
    parser.add_argument("--kill-before", default="")
    parser.add_argument("--kill-after", default="")
    parser.add_argument("--acknowledged", default=os.devnull)
    said = parser.parse_args()
    if said.kill_appended:
        die_when_appended(said.kill_appended)
    if said.kill_before:
        die_when_appended(0, said.kill_before)

    heard = os.open(said.acknowledged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def acknowledged(record: Record) -> None:
        os.write(heard, b"%d\n" % record.seq)
        if is_moment("sent", record):
            _ANSWERED.add(record.attempt)
        if said.kill_durable and record.seq >= said.kill_durable:
            os.kill(os.getpid(), signal.SIGKILL)
        if said.kill_after and is_moment(said.kill_after, record):
            os.kill(os.getpid(), signal.SIGKILL)

    result = asyncio.run(work(said.project, said.outside, resume=said.resume, listener=acknowledged))
    print(result.exit_reason, result.exit_code)


if __name__ == "__main__":
    sys.exit(main())
