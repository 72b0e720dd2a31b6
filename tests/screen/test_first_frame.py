"""The first frame of a run's screen waits for nothing that only the run needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ptyprocess
import pytest
from tests.conftest import Inside
from tests.waiting import become

LATER = {
    "aiofiles",
    "psutil",
    "pydantic",
    "textual.document",
    "unstuck.agents.factory",
    "unstuck.contract",
    "unstuck.diagnosis.model",
    "unstuck.eventlog.envelope",
    "unstuck.eventlog.events",
    "unstuck.eventlog.state",
    "unstuck.processes",
    "unstuck.runs.run",
    "unstuck.runs.view",
    "unstuck.settings.loading",
    "unstuck.settings.models",
    "unstuck.supervision.run.supervisor",
    "unstuck.words.narration",
    "unstuck_tui.control.question_controller",
    "unstuck_tui.dialogs",
    "unstuck_tui.keys.keymap",
    "unstuck_tui.runs",
    "unstuck_tui.screens.main",
    "yaml",
}
UNTIL_DRAWN = """
import os, sys
from unstuck_tui.app import unstuck_app

def drawn(self):
    with open({file!r}, "w") as file:
        file.write("\\n".join(sys.modules))
    os._exit(0)

unstuck_app.UnstuckApp.on_ready = drawn
sys.argv = ["unstuck", *{arguments!r}]
from unstuck_tui import main
main()
"""


def loaded(project: Path, *arguments: str) -> set[str]:
    """Return the modules that ``unstuck`` has loaded when its first frame is on the terminal."""
    file = project.parent / "loaded"
    code = UNTIL_DRAWN.format(file=str(file), arguments=arguments)
    environment = {**os.environ, "TERM": "xterm-256color"}
    terminal = ptyprocess.PtyProcess.spawn([sys.executable, "-c", code], cwd=str(project), env=environment)
    said = b""
    try:
        while True:
            said += terminal.read(65_536)
    except EOFError:
        pass
    terminal.close(force=True)
    assert file.exists(), said.decode(errors="replace")
    return set(file.read_text().split())


PLAN = """\
agents: {one: {command: "sleep 600"}, two: {command: "opencode acp"}}
tasks:
  - {id: first, prompt: Begin, agent: one}
  - {id: second, prompt: Go on, agent: one, needs: [first]}
check: "true"
"""
READ = {"yaml", "unstuck.contract", "unstuck.diagnosis.model"}
"""Modules that read a file of the user."""


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (("watch",), set()),
        (("run", "--check", "true", "--", "sleep", "600"), set()),
        (("run", "--check", "true", "--budget", "time=1h", "--", "sleep", "600"), set()),
        (("run", "--check", "true", "--", "acp:sleep", "600"), set()),
        (("run", "--check", "true", "--answers", "answers.yaml", "--", "sleep", "600"), READ),
        (("run", "plan.yaml"), READ),
    ],
    ids=["watch", "command", "budget", "protocol", "answers", "plan"],
)
def test_the_run_is_not_loaded_for_it(repo: Path, arguments: tuple[str, ...], read: set[str]) -> None:
    """Models, events, settings and supervision take longer to load than the frame takes to draw."""
    (repo / "plan.yaml").write_text(PLAN)
    (repo / "answers.yaml").write_text("- {gate: stuck, answer: skip}\n")
    (repo / "unstuck.yaml").write_text("max_parallel: 2\n")
    assert loaded(repo, *arguments) & (LATER - read) == set()


def test_a_resumed_run_is_not_loaded_for_it(repo: Path, inside: Inside) -> None:
    """Its tasks come from the rows that are saved beside its log."""
    assert inside(repo, "run", "--headless", "--check", "false", "--", "true")[0] == 3
    assert loaded(repo, "run", "--resume", "last") & (LATER - {"psutil"}) == set()


async def test_a_run_of_another_process_is_not_loaded_for_it(
    repo: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Its tasks come from the rows that are saved beside its log, also when it is resumed after a kill."""
    run = start("run", "--headless", "--check", "true", "--", "sleep", "600", cwd=repo, stdout=subprocess.DEVNULL)
    try:
        await become(lambda: loaded(repo, "watch") & (LATER - {"psutil"}) == set())  # which finds its process
    finally:
        run.kill()
        run.wait()
    assert loaded(repo, "run", "--resume", "last") & (LATER - {"psutil"}) == set()
