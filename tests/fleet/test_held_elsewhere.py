"""An agent that is held from another machine, and released from there, as at the screen beside it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import ptyprocess
from tests.fleet.conftest import Machine, Viewer

from unstuck.contract import Answer


async def test_an_agent_is_held_and_released_over_a_link(machine: Callable[[str], Machine]) -> None:
    """It stands still with a question for as long as the person elsewhere wants, and then works on."""
    a = machine("a")
    command = [sys.executable, "-m", "unstuck", "run", "--check", "true", "--", "sleep", "600"]
    screen = ptyprocess.PtyProcess.spawn(
        command, cwd=str(a.repo), env=a.environ | {"TERM": "xterm-256color"}, dimensions=(40, 120)
    )
    threading.Thread(target=_read, args=(screen,), daemon=True).start()
    viewer = Viewer(lambda host: a.link(host), "a")
    try:
        async with viewer.following() as view:
            await viewer.until(lambda: [row for row in view.state.attempts.values() if row.state == "live"])
            gate = await view.hold("a/shop/task")
            await viewer.until(lambda: gate in view.state.gates)
            await viewer.until(lambda: [row for row in view.state.attempts.values() if row.held_since is not None])
            await view.answer(gate, Answer(choice="continue"))
            await viewer.until(lambda: view.state.gates[gate].status != "open")
            answer = view.state.gates[gate].answer
            assert answer is not None
            assert answer.choice == "continue"
            await viewer.until(lambda: all(row.held_since is None for row in view.state.attempts.values()))
            assert [row.state for row in view.state.attempts.values()] == ["live"]
            await view.step_in("a/shop/task", Answer(choice="abandon"))
            await viewer.until(lambda: view.state.tasks["a/shop/task"].status == "abandoned")
    finally:
        screen.terminate(force=True)


def _read(screen: ptyprocess.PtyProcess) -> None:
    """Read what it draws, so that it never waits for its terminal."""
    with suppress(EOFError, OSError):
        while os.read(screen.fd, 65_536):
            pass
