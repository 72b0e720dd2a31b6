"""A rehearsal: a generated git repository, scripted agents, and a plan that is run like any other."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from unstuck.errors import UsageError
from unstuck.runs.plans.plan_file import ID_SHAPE, is_task_id, load_plan
from unstuck.runs.run import RunOptions, start_run
from unstuck.settings.paths import state_dir
from unstuck.supervision.run.finish import RunResult
from unstuck.testing import agent
from unstuck.testing.scenario import Part, Scenario, Turn
from unstuck.text import one_line
from unstuck.workspace.project import locate
from unstuck.workspace.worktrees.worktrees import REMEDIATION, trees_of

MOST_AT_ONCE = 4
_REPOSITORY = {
    "README.md": "# Shop\n\nA small shop whose tests fail until the work is done.\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n.state/\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-p no:cacheprovider"\n',
    "shop/__init__.py": '"""The shop."""\n',
}
# The person's own hooks and signing have no say in a repository that is made to be thrown away.
_GIT = (
    *("git", "-c", "user.name=Rehearsal", "-c", "user.email=rehearsal@example.org"),
    *("-c", "commit.gpgsign=false", "-c", f"core.hooksPath={os.devnull}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A rehearsal in ``directory``: the ``project``, its ``plan``, and the prompts of its attempts (``told``).

    Its agents work ``speed`` times as fast, and their time limits are as much shorter.
    """

    directory: Path
    speed: float = 1.0
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def project(self) -> Path:
        """The generated repository."""
        return self.directory / "shop"

    @property
    def plan(self) -> Path:
        """The plan, a file like a user's own."""
        return self.directory / "plan.yaml"

    def told(self) -> dict[str, str]:
        """Return the prompt of each attempt by its id, as the agent saved it."""
        folder = self.directory / "told"
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))}

    @classmethod
    def prepare(
        cls, cast: Sequence[Part], directory: Path, *, speed: float = 1.0, environ: Mapping[str, str] | None = None
    ) -> Rehearsal:
        """Make the repository, the scripts and the plan in ``directory``, which is new or empty.

        Raises UsageError where it is neither or cannot be written to, where two scenarios cannot share a project, or
        where git is missing; whatever was made by then is for the caller to remove.
        """
        _check_names(cast)
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise UsageError(f"{directory} is not empty; name a new directory")
        environ = _for_checks(os.environ if environ is None else environ)
        rehearsal = cls(directory=directory.absolute(), speed=speed, environ=environ)
        try:
            for name in ("scripts", "told"):
                (rehearsal.directory / name).mkdir(parents=True)
            _make_repository(rehearsal.project, _merged_files(cast))
        except OSError as error:
            place = one_line(str(error.filename or directory))
            raise UsageError(f"{place} cannot be made: {error.strerror}") from None
        for task, script in _scripts(cast).items():
            (rehearsal.directory / "scripts" / f"{task}.json").write_text(json.dumps(script), encoding="utf-8")
        plan = yaml.safe_dump(rehearsal._plan(cast), sort_keys=False, allow_unicode=True)
        rehearsal.plan.write_text(plan, encoding="utf-8")
        return rehearsal

    async def run(self, options: RunOptions | None = None) -> RunResult:
        """Run the plan."""
        place = await locate(self.project)
        options = replace(options or RunOptions(), environ=self.environ)
        return await start_run(load_plan(self.plan, parallel_worktrees=True), place, options)

    def discard(self) -> None:
        """Remove everything, the run's work trees included."""
        trees = trees_of(state_dir(self.environ) / "worktrees", self.project / ".git")
        shutil.rmtree(trees, ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _plan(self, cast: Sequence[Part]) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        budget: dict[str, Any] = {}
        python = _our_python(self.environ)
        for part in cast:
            settings |= part.scenario.settings
            budget |= part.scenario.budget
        shared = next((part.scenario for part in cast if part.scenario.shared_verify), None)
        plan = {
            "max_parallel": min(MOST_AT_ONCE, len(cast)),
            "check": shared.verify.replace("{python}", python) if shared else None,
            "remediation": REMEDIATION.strip("_") if any(part.scenario.remediation for part in cast) else None,
            "settings": settings or None,
            "budget": budget or None,
            "agents": self._agents(cast),
            "tasks": [_task(part, python, self.speed) for part in cast],
        }
        return {key: value for key, value in plan.items() if value is not None}

    def _agents(self, cast: Sequence[Part]) -> dict[str, Any]:
        folders = [str(self.directory / name) for name in ("scripts", "told")]
        command = [sys.executable, "-I", "-S", agent.__file__, *folders, f"{self.speed:g}"]
        agents: dict[str, Any] = {
            _agent_name(part.scenario): {
                "type": part.scenario.agent_type,
                "command": command,
                "signals": part.scenario.signals,
            }
            for part in cast
        }
        if any(part.scenario.remediation for part in cast):
            agents[REMEDIATION.strip("_")] = {"type": "devops_engineer", "command": command}
        return agents


def _for_checks(environ: Mapping[str, str]) -> dict[str, str]:
    """Whatever pytest's plugins are installed beside us have no say in the checks."""
    return {**environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _our_python(environ: Mapping[str, str]) -> str:
    """The Python that runs us, as a shell finds it there and as a resumed run finds it later."""
    found = shutil.which(Path(sys.executable).name, path=environ.get("PATH"))
    return Path(sys.executable).name if found == sys.executable else shlex.quote(sys.executable)


def _check_names(cast: Sequence[Part]) -> None:
    tasks = [part.task for part in cast]
    for task in tasks:
        if not is_task_id(task):
            raise UsageError(f"a scenario's file gives its task the name, which has {ID_SHAPE}: {one_line(task)!r}")
        if tasks.count(task) > 1:
            raise UsageError(f"two scenarios are called {task}")


def _merged_files(cast: Sequence[Part]) -> dict[str, str]:
    files = dict(_REPOSITORY)
    for part in cast:
        for path, text in part.scenario.files.items():
            if files.setdefault(path, text) != text:
                other = "the rehearsal itself" if path in _REPOSITORY else "another scenario"
                raise UsageError(f"{one_line(part.scenario.name)} and {other} both bring {one_line(path)}")
    return files


def _make_repository(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for arguments in (
        ("init", "-q", "-b", "main", "--template="),
        ("add", "-A"),
        ("commit", "-q", "-m", "A small shop"),
    ):
        try:
            # In a session of its own, because ctrl+c is for us.
            subprocess.run(
                [*_GIT, *arguments], cwd=root, env=environ, check=True, capture_output=True, start_new_session=True
            )
        except FileNotFoundError:
            raise UsageError("git was not found: the rehearsal works in a git repository") from None
        except subprocess.CalledProcessError as error:
            problem = one_line(error.stderr.decode(errors="replace"))
            raise UsageError(f"git {arguments[0]} failed in {root}: {problem}") from None


def _scripts(cast: Sequence[Part]) -> dict[str, Any]:
    scripts = {part.task: _script(part.scenario.turns, part.scenario.context) for part in cast}
    for part in cast:
        if part.scenario.remediation:
            scripts[REMEDIATION] = _script((Turn(do=part.scenario.remediation),), 0)
    return scripts


def _script(turns: Sequence[Turn], context: int) -> dict[str, Any]:
    return {"python": shlex.quote(sys.executable), "context": context, "turns": [asdict(turn) for turn in turns]}


def _task(part: Part, python: str, speed: float) -> dict[str, Any]:
    scenario = part.scenario
    task = {
        "id": part.task,
        "agent": _agent_name(scenario),
        "prompt": scenario.prompt,
        "check": None if scenario.shared_verify else scenario.verify.replace("{python}", python),
        "needs": list(part.needs) or None,
        "timeout": scenario.timeout and scenario.timeout / speed,
        "idle": scenario.idle and scenario.idle / speed,
        "isolation": scenario.isolation,
    }
    return {key: value for key, value in task.items() if value is not None}


def _agent_name(scenario: Scenario) -> str:
    """One agent for each type, and another where it has to speak in signals."""
    return scenario.agent_type + ("-signals" if scenario.signals else "")
