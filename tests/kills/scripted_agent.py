"""A run whose agent is a real program that works until it is told to end; no test by itself.

``python scripted_agent.py PROJECT OUTSIDE [RUN]`` works (or resumes) it to its end and prints each task's status.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Task
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

AGENT = Path(__file__).with_name("hanging_agent.py")


async def work(project: Path, outside: Path, run: str | None) -> None:
    """Work the one task."""
    async with Supervisor.open(project, resume=run) as supervisor:
        core = supervisor.core
        agent = CommandAgent(
            CommandSpec(command=(sys.executable, str(AGENT), str(outside))),
            folder=core.folder,
            environ=os.environ,
            limit=10_000,
            prompt_limit=10_000,
        )
        supervisor.add(Task(id="only", prompt=Clean("Work."), verify="grep -q done result.txt"))
        await Coordinator(supervisor, lambda task: agent).run()
        print(*(row.status for row in core.head.tasks.values()))


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None))
