"""Pictures of the screen, taken from a small real run: ``make screenshots`` writes them to ``screenshots/``."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from unstuck.record import events as e
from unstuck.runs.plan_file import load_plan
from unstuck.runs.running import RunOptions, start_run
from unstuck.supervision.supervisor import Supervisor
from unstuck.workspace.project import locate
from unstuck_tui.actions import key_of
from unstuck_tui.app import UnstuckApp

PICTURES = Path(__file__).resolve().parents[1] / "screenshots"

MODULES = {
    "webhook": ("def status(signed):\n    return 401\n", "status(True) == 200"),
    "cart": ("def total(prices):\n    return 0\n", "total([1, 2]) == 3"),
    "models": ("def name():\n    return ''\n", "name() == 'shop'"),
    "search": ("def find():\n    return []\n", "find() == ['book']"),
    "refunds": ("def refund():\n    return 0\n", "refund() == 1"),
}
# Each agent really edits its module: one is right at once, one once it is told what failed, one never, one is slow.
AGENTS = {
    "models": "sed -i \"s/''/'shop'/\" models.py; echo 'renamed the shop'",
    "cart": 'grep -q "did not pass" "$UNSTUCK_PROMPT_FILE" && sed -i "s/return 0/return sum(prices)/" cart.py',
    "webhook": "echo 'try another encoding of the body'; echo '# encoding' >> webhook.py",
    "search": "echo 'reading the index'; echo 'looking for the book'; sleep 600",
    "refunds": "true",
}
PLAN = """\
max_parallel: 5
agents:
{agents}
tasks:
{tasks}
"""


def shop(root: Path) -> Path:
    """A repository with a failing test for each task; returns its plan."""
    tasks = []
    for name, (code, expected) in MODULES.items():
        (root / f"{name}.py").write_text(code, encoding="utf-8")
        test = f"import {name}\n\n\ndef test_{name}():\n    assert {name}.{expected}\n"
        (root / f"test_{name}.py").write_text(test, encoding="utf-8")
        needs = ", needs: [webhook]" if name == "refunds" else ""
        check = f"python -m pytest -q -p no:cacheprovider test_{name}.py"
        tasks.append(f"  - {{id: {name}, agent: {name}, prompt: Make the tests pass., verify: '{check}'{needs}}}")
    agents = []
    for name, script in AGENTS.items():
        (root / f"{name}.sh").write_text(f"{script}\n", encoding="utf-8")
        agents.append(f"  {name}: {{command: [sh, {name}.sh], type: backend_developer}}")
    plan = root / "plan.yaml"
    plan.write_text(PLAN.format(agents="\n".join(agents), tasks="\n".join(tasks)), encoding="utf-8")
    identity = {
        f"GIT_{role}_{what}": "shop@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    os.environ.update(identity)
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return plan


class Camera:
    """Watches a run on a screen without a terminal, takes the pictures, and stops the run."""

    def hears(self, name: str) -> bool:
        """Signals stop the run."""
        return False

    @asynccontextmanager
    async def attached(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Take the pictures while the run goes on."""
        taking = asyncio.create_task(self._take(supervisor))
        yield
        await taking

    async def _take(self, supervisor: Supervisor) -> None:
        try:
            async for record in supervisor.events():
                if isinstance(record.event, e.GateOpened):
                    break
            await self._pictures(supervisor)
        finally:
            await supervisor.stop("the pictures are taken")

    async def _pictures(self, supervisor: Supervisor) -> None:
        for name, size in (("main", (120, 40)), ("narrow", (80, 24)), ("wide", (200, 60))):
            app = UnstuckApp(supervisor)
            async with app.run_test(size=size) as pilot:
                await settled(pilot)
                if app.screen.is_modal:
                    await pilot.press(key_of("dialog.back"))
                await shot(pilot, name)
                if name != "main":
                    continue
                await pilot.press(key_of("app.theme"))
                await shot(pilot, "light")
                await pilot.press(key_of("app.theme"), key_of("gate.answer"))
                await settled(pilot)
                await shot(pilot, "stuck")
                await pilot.press(key_of("dialog.back"), key_of("app.help"))
                await shot(pilot, "help")


async def settled(pilot: Pilot[None]) -> None:
    """Wait for the first frames, and for a dialog to take keys."""
    await pilot.pause(1.0)


async def shot(pilot: Pilot[None], name: str) -> None:
    """Write what is on the screen."""
    await pilot.pause()
    # Without the font that a viewer would fetch from elsewhere, it takes its own monospaced one.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", pilot.app.export_screenshot(title="unstuck"), flags=re.DOTALL)
    (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


async def main() -> None:
    """Run the shop's plan and take its pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unstuck-pictures-") as folder:
        root = Path(folder) / "shop"
        root.mkdir()
        for name in ("STATE", "RUNTIME"):
            os.environ[f"UNSTUCK_{name}_DIR"] = str(Path(folder) / name.lower())
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        plan = load_plan(shop(root), parallel_worktrees=True)
        os.chdir(root)
        await start_run(plan, await locate(root), RunOptions(beside=Camera()))
    print(*sorted(path.name for path in PICTURES.glob("*.svg")))


if __name__ == "__main__":
    asyncio.run(main())
