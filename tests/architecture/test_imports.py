"""Import rules, shown by a fresh interpreter."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.waiting import become

from unstuck import Guidance, supervise_sync

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"textual", "rich", "click", "unstuck_tui"}:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
"""


def fresh(program: str) -> str:
    """Return what a new interpreter prints for this program; its error fails the test."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_block_works() -> None:
    """The block that the other tests stand on does block."""
    tried = "try:\n    import rich\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    assert fresh(BLOCKED + tried) == "rich is blocked"


def test_every_module_needs_no_screen() -> None:
    """Every public name and every module of the core is there for a program that has no Textual, Rich or Click."""
    program = BLOCKED + (
        "import importlib, pkgutil, unstuck\n"
        "assert set(unstuck.__all__) <= set(dir(unstuck))\n"
        "assert all(hasattr(unstuck, name) for name in unstuck.__all__)\n"
        "names = [m.name for m in pkgutil.walk_packages(unstuck.__path__, 'unstuck.') if '__main__' not in m.name]\n"
        "for name in names:\n"
        "    importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    assert int(fresh(program)) > 0


def test_the_page_needs_no_screen() -> None:
    """Every module of the page is there for a program that has no Textual and no Rich; its server brings Click."""
    program = BLOCKED.replace('"click", ', "") + (
        "import importlib, pkgutil, unstuck_web\n"
        "names = [m.name for m in pkgutil.walk_packages(unstuck_web.__path__, 'unstuck_web.')]\n"
        "for name in names:\n"
        "    importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    assert int(fresh(program)) > 0


def test_help_is_light() -> None:
    """``unstuck --help`` and completing a command's name import no command, and nothing heavy; the name alone less."""
    program = (
        "import sys\nbefore = set(sys.modules)\nimport unstuck\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new & {'pydantic', 'asyncio', 'yaml'}))\n"
        "import os\nfrom unstuck_tui.cli import cli\n"
        "try:\n    cli.main(['--help'], prog_name='unstuck')\nexcept SystemExit:\n    pass\n"
        "os.environ |= {'_UNSTUCK_COMPLETE': 'bash_complete', 'COMP_WORDS': 'unstuck r', 'COMP_CWORD': '1'}\n"
        "try:\n    cli.main([], prog_name='unstuck')\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'asyncio', 'yaml', 'textual', 'rich', 'subprocess', 'unstuck_tui.cli.run'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    said = fresh(program)
    assert "diagnose" in said
    assert "plain,runs" in said
    assert said.splitlines()[0] == said.splitlines()[-1] == "[]"


def test_help_of_run_brings_in_no_work() -> None:
    """``unstuck run --help`` imports nothing that runs, reads or shows a run, and no model of its values."""
    program = (
        "import sys\nfrom unstuck_tui.cli import cli\n"
        "try:\n    cli.main(['run', '--help'], prog_name='unstuck')\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'asyncio', 'psutil', 'yaml', 'subprocess', 'textual', 'rich', 'unstuck.contract',\n"
        "    'unstuck.runs', 'unstuck.eventlog', 'unstuck.processes', 'unstuck.settings', 'unstuck.workspace',\n"
        "    'unstuck_tui.cli.output', 'unstuck_tui.cli.run_execution'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    said = fresh(program)
    assert "claude" in said
    assert said.splitlines()[-1] == "[]"


def looked_at(project: Path) -> tuple[str, str]:
    """Return what ``runs`` and ``show`` print in a new interpreter, and what of a run they import for it."""
    program = (
        f"import os, sys\nos.chdir({str(project)!r})\nfrom unstuck_tui.cli import cli\n"
        "for words in (['runs'], ['show']):\n    cli.main(words, prog_name='unstuck', standalone_mode=False)\n"
        "heavy = {'pydantic', 'asyncio', 'unstuck.contract', 'unstuck.eventlog.state', 'unstuck.diagnosis'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    said, _, heavy = fresh(program).rpartition("\n")
    return said, heavy


def test_looking_at_an_ended_run_brings_in_no_state(repo: Path, inside: Callable[..., tuple[int, str, str]]) -> None:
    """``runs`` and ``show`` print an ended run without its classes, an event loop, or the rules about failures."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    said, heavy = looked_at(repo)
    assert "run 2" in said
    assert heavy == "[]"


def test_looking_at_a_run_of_a_program_brings_in_no_state(repo: Path) -> None:
    """A run that a Python program has begun is shown as cheaply as one of the command line."""

    async def agent(guidance: Guidance) -> None:
        (guidance.workdir / "greeting").write_text("hello")

    with contextlib.chdir(repo):
        assert supervise_sync("Write the greeting.", agent=agent, check="grep hello greeting").succeeded
    said, heavy = looked_at(repo)
    assert "run 2" in said
    assert heavy == "[]"


async def test_looking_at_a_live_run_or_a_killed_one_brings_in_no_state(
    repo: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """A run is shown cheaply while it is worked, and after its supervisor was killed."""
    run = start("run", "--headless", "--check", "true", "--", "sleep", "600", cwd=repo, stdout=subprocess.DEVNULL)
    try:
        await become(lambda: "1 running" in looked_at(repo)[0])
        await become(lambda: looked_at(repo)[1] == "[]")  # its rows are saved a moment after its last event
        assert "interrupted" not in looked_at(repo)[0]
    finally:
        run.kill()
        run.wait()
    said, heavy = looked_at(repo)
    assert "interrupted" in said
    assert heavy == "[]"


def test_looking_brings_in_no_work() -> None:
    """A command that looks, or answers, imports nothing of what works: no agents, no sessions, no YAML, no screen.

    And ``unstuck run -- AGENT`` reads no file of ours, so it does not wait for what reads them.
    """
    program = (
        "import importlib, sys\n"
        "for name in ('answer', 'doctor', 'events', 'recap', 'runs', 'show', 'signatures', 'truth', 'fsck'):\n"
        "    importlib.import_module(f'unstuck_tui.cli.{name}')\n"
        "working = {'unstuck.agents', 'unstuck.processes', 'unstuck.supervision.run.session', 'unstuck.runs.run'}\n"
        "print(sorted((working | {'yaml', 'psutil', 'platformdirs', 'textual', 'rich'}) & set(sys.modules)))\n"
        "import unstuck_tui.cli.run_execution\n"
        "print(sorted({'yaml', 'textual', 'rich'} & set(sys.modules)))\n"
    )
    assert fresh(program).splitlines() == ["[]", "[]"]


def test_looking_brings_in_no_events() -> None:
    """Checkpoints are listed, and a live run is answered, without a record; a run that has ended is shown without its
    events, and none of them waits for the settings or for the rules about failures."""
    program = (
        "import sys\n"
        "import unstuck_tui.cli.answer, unstuck_tui.cli.checkpoints\n"
        "print(sorted({'pydantic', 'unstuck.eventlog.state'} & set(sys.modules)))\n"
        "import unstuck_tui.cli.runs, unstuck_tui.cli.show\n"
        "events = {'unstuck.eventlog.events', 'unstuck.eventlog.log.journal'}\n"
        "rules = {'unstuck.detection', 'unstuck.diagnosis.pipeline', 'unstuck.escalation.precedence'}\n"
        "print(sorted((events | rules | {'unstuck.settings.models'}) & set(sys.modules)))\n"
    )
    assert fresh(program).splitlines() == ["[]", "[]"]
