"""A run whose agent fails the same way three times within one attempt, shown on a screen."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from unstuck.contract import Capabilities, Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import admit
from unstuck_tui.app.host import ScreenHost

FAILURE = "E   AssertionError: assert 1 == 2\napp.py:3: AssertionError"


class Looper:
    """Asks before each call, as a hook does, and leaves the last directive it got in ``SEEN``."""

    can = Capabilities(hold="step", fresh=True, stop=True)

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """The same failing command three times, then another one."""
        for number in range(3):
            call = f"call{number}"
            await observer.step(Observation(kind="action", text=admit("pytest"), id=call, at=float(number)))
            await observer.step(Observation(kind="failure", text=admit(FAILURE), id=call, at=number + 0.5, exit_code=1))
        directive = await observer.step(Observation(kind="action", text=admit("touch done"), id="last", at=9.0))
        Path(os.environ["SEEN"], "directive").write_text(directive.kind, encoding="utf-8")
        if directive.kind == "go_on":
            (guidance.workdir / "done").touch()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        """Nothing runs."""
        return Receipt()


class Silent:
    """No lines are printed."""

    is_quiet = False


async def main() -> int:
    """One task, watched; the exit code says whether it succeeded."""
    task = Task(id="task", prompt=admit("Make the file."), verify="sh check.sh")
    async with Supervisor.open(Path.cwd(), person=True) as supervisor, ScreenHost(Silent()).attached(supervisor):
        outcome = await supervisor.supervise(task, Looper())
    return 0 if outcome.status == "succeeded" else 1


sys.exit(asyncio.run(main()))
