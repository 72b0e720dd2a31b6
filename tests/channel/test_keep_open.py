"""A person who reads a question on another screen stops its timer; an agent cannot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from unstuck import Supervisor
from unstuck.channel import request
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings, TimerSettings

ASK = """
import sys
from pathlib import Path
from unstuck.channel import call
print(call(Path(sys.argv[1]), {"do": "keep", "gate": "g1-x"}))
"""


async def test_a_person_elsewhere_stops_the_timer_and_an_agent_does_not(repo: Path, tmp_path: Path) -> None:
    """Through the socket of the live run: the person's key counts, what the run itself has started does not."""
    settings = Settings(timers={"stuck": TimerSettings(after=600, answer="skip")})
    async with Supervisor.open(repo, settings, person=True) as supervisor:
        core = supervisor.core
        core.append(e.GateOpened(gate="g1-x", type="stuck", choices=("skip",)))
        core.append(e.TimerStarted(gate="g1-x", seconds=600.0, choice="skip"), actor="timer")

        def counts() -> Any:
            return core.head.gates["g1-x"].gate.acts_at

        assert supervisor.socket is not None
        script = tmp_path / "ask.py"
        script.write_text(ASK)
        command = f"{sys.executable} {script} {supervisor.socket}"
        said = await core.verifier.check(command, tree=repo, label="ask", again=False)
        assert "an agent may not" in said.text
        assert counts() is not None
        assert (await request(supervisor.socket, {"do": "keep", "gate": "g1-x"}))["ok"]
        assert counts() is None
