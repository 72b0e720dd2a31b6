"""A project of a user's with agents at work, and the installed ``unstuck`` as its user starts it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

UNSTUCK = str(Path(sys.executable).with_name("unstuck"))
SECRET = "sk-ant-api03-" + "T0rtureT0rture" * 3
LONGEST = 600.0
"""Seconds after which a command hangs: on a machine at work, with the least priority, a healthy one takes minutes."""

MARK = "TORTURE_WORLD"
ENDED = frozenset({0, 1, 4, 5})
RESUMES = 12
OWN = {
    "kept.txt": b"committed\n",
    "windows.txt": b"one\r\ntwo\r\n",
    "odd name \xc3\xa9.bin": bytes(range(256)),
    "folder/deep.txt": b"deep\n",
}
_AGENT = """
n=${UNSTUCK_ATTEMPT##*.}
echo "the key is $TORTURE_SAID"
printf '{"type":"text","text":"see\\\\n%s"}\\n' "$TORTURE_SAID"
[ -z "$TORTURE_TWIST" ] || . "$TORTURE_TWIST"
case $UNSTUCK_TASK in
climber) if [ "$n" -ge 3 ]; then echo good; else echo "try $n"; fi > agent-climber.txt ;;
asker) echo "asked $n" > agent-asker.txt ;;
esac
"""
_CHECK = (
    "grep -q good agent-{}.txt || {{ echo 'E   AssertionError: not good'; echo 'app.py:3: AssertionError'; exit 1; }}"
)


@dataclass(frozen=True)
class Done:
    """One command and its end: the code is negative for a signal, None where it hung."""

    words: tuple[str, ...]
    code: int | None
    out: str
    err: str
    killed: bool = False
    lacks: str = ""
    """Missing resource: ``output``, or ``memory``, without which Python or a library may end it."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The whole JSON objects on standard output, one a line."""
        found = []
        for line in self.out.splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
        return [row for row in found if isinstance(row, dict)]


@dataclass
class World:
    """One project in ``place``, and all that was done in it."""

    place: Path
    draw: random.Random
    popen: Callable[..., subprocess.Popen[Any]] = subprocess.Popen
    done: list[Done] = field(default_factory=list)
    damaged: bool = False
    """True if the event log itself was damaged, so that it may be refused."""
    own: dict[str, bytes] = field(default_factory=lambda: dict(OWN))
    edited: set[str] = field(default_factory=set)
    """Files of the user's that were saved while an agent worked: a checkpoint that has them is enough."""
    found: list[str] = field(default_factory=list)
    """Broken promises that a family itself saw."""
    shared: bool = False
    gone: bool = False
    """True if the run was deleted."""
    mounted: list[Path] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shared = self.draw.random() < 0.5
        for name in ("project", "home", "run", "said"):
            (self.place / name).mkdir(mode=0o700, parents=True)
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "UNSTUCK_"))}
        self.environ |= {
            "HOME": str(self.place / "home"), "XDG_CONFIG_HOME": str(self.place / "home"), MARK: self.place.name,
            "UNSTUCK_STATE_DIR": str(self.place / "state"), "UNSTUCK_RUNTIME_DIR": str(self.place / "run"),
            "UNSTUCK_DISK_WAIT": "1", "TORTURE_SAID": SECRET, "TORTURE_TWIST": "", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "a@x",
            "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "a@x",
        }  # fmt: skip
        self.git("init", "-q", "-b", "main")
        self.write(dict(self.own))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Start")
        self.own |= {"kept.txt": b"changed, not committed\n", "untracked.txt": b"mine\n", "staged.txt": b"staged\n"}
        self.write(self.own)
        self.git("add", "staged.txt")
        self.start_at = self.git("rev-parse", "HEAD")

    def commit(self, files: dict[str, bytes]) -> None:
        """Commit more files of the user's; the bytes on the disk stay as they are."""
        self.write(files)
        self.git("add", *files)
        self.git("commit", "-q", "-m", "More", "--", *files)
        self.own |= files
        self.start_at = self.git("rev-parse", "HEAD")

    @property
    def root(self) -> Path:
        """The user's checkout."""
        return self.place / "project"

    @property
    def home(self) -> Path:
        """Return the directory of the project's runs and checkpoints."""
        return self.root / ".git" / "unstuck"

    @property
    def runs(self) -> list[Path]:
        """The folders of the runs, oldest first."""
        return sorted(path for path in (self.home / "runs").glob("*") if path.is_dir())

    def write(self, files: dict[str, bytes]) -> None:
        """Write files of the user's into the project."""
        for name, data in files.items():
            file = self.root / name
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_bytes(data)

    def git(self, *words: str) -> str:
        """Return the output of the user's own git."""
        command = ["git", *words]
        return subprocess.run(
            command, cwd=self.root, env=self.environ, check=True, capture_output=True, text=True
        ).stdout

    def plan(self, *, only: Collection[str] = ("climber", "asker"), agent: str = _AGENT) -> str:
        """Write the plan and its agent; return the plan's path."""
        script, plan = self.place / "agent.sh", self.place / "plan.json"
        script.write_text(agent)
        isolation = "shared" if self.shared else "worktree"
        tasks = [
            {"id": name, "prompt": "Work.", "verify": _CHECK.format(name), "isolation": isolation} for name in only
        ]
        limits = {"max_retries": 1, "max_pivots": 1, "max_research": 0}
        settings = {"failure_handler": limits, **self.settings}
        agents = {"a": {"command": ["sh", str(script)]}}
        plan.write_text(json.dumps({"agents": agents, "max_parallel": 2, "tasks": tasks, "settings": settings}))
        return str(plan)

    def twist(self, script: str) -> None:
        """Have the agent do ``script`` before its work, too."""
        self.environ["TORTURE_TWIST"] = str(self.place / "twist.sh")
        (self.place / "twist.sh").write_text(script)

    def start(self, *words: str, **options: Any) -> Started:
        """Start a command of ``unstuck`` in the project."""
        return Started(self, words, options)

    def unstuck(self, *words: str, **options: Any) -> Done:
        """Do a command of ``unstuck`` to its end."""
        return self.start(*words, **options).end()

    def begin(self, *words: str, **options: Any) -> Started:
        """Start the run of the plan."""
        return self.start("run", self.plan(), "--headless", "--json", *words, **options)

    def finish(self) -> None:
        """Resume, and answer what is asked, until the run has ended or is refused for its damage."""
        if self.gone:
            return
        for _ in range(RESUMES):
            if not self.runs or not (self.runs[-1] / "events.jsonl").exists():
                ended = self.begin().end()  # it was killed before its first record
            else:
                ended = self.unstuck("run", "--resume", "last", "--headless", "--json")
                if ended.code == 2 and "never started" in ended.err:
                    ended = self.begin().end()
            if ended.code in ENDED or ended.code is None or (ended.code == 6 and self.damaged):
                return
            if ended.code == 3:
                self.answer()

    def gates(self) -> list[dict[str, Any]]:
        """The open questions."""
        return [row for row in self.unstuck("show", "--json").rows if "gate" in row]

    def answer(self) -> None:
        """Answer every open question as somebody who wants an end."""
        for gate in self.gates():
            wanted = ("skip", "continue", "allow", "extend", "accept", "abandon")
            choice = next((choice for choice in wanted if choice in gate["choices"]), gate["choices"][-1])
            self.unstuck("answer", gate["gate"], choice)

    def end(self) -> None:
        """Leave nothing of this world behind, whatever it broke."""
        for process in self.processes():
            with suppress(psutil.Error):
                process.kill()
        for place in self.mounted:
            subprocess.run(["umount", "-l", place], check=False)

    def processes(self) -> Iterator[psutil.Process]:
        """Every live process of this world; one that was forked instead of started has its parent's environment."""
        forked = {process.pid for process in self.started if process.poll() is None}
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                is_ours = process.pid in forked or process.environ().get(MARK) == self.place.name
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    yield process

    def events(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Every whole record of every log by run and number."""
        found = {}
        for run in self.runs:
            with suppress(OSError):
                for line in (run / "events.jsonl").read_bytes().splitlines():
                    with suppress(ValueError, KeyError, TypeError):
                        record = json.loads(line)
                        found[run.name, int(record["seq"])] = record
        return found


class Started:
    """A command that runs; its output goes to files, so that nothing waits for a reader."""

    def __init__(self, world: World, words: tuple[str, ...], options: dict[str, Any]) -> None:
        self._world, self.words = world, words
        number = len(list((world.place / "said").iterdir()))
        self._files = [world.place / "said" / f"{number}.{kind}" for kind in ("out", "err")]
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            given = {"cwd": world.root, "env": world.environ, "stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            popen = subprocess.Popen if "preexec_fn" in options else world.popen
            self.process = popen([UNSTUCK, *words], **(given | options))
        world.started.append(self.process)
        self._killed, self.lacks = False, ""

    def kill(self) -> None:
        """Kill it as the system does when memory is short."""
        self._killed = True
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)

    def until(self, said: bytes) -> None:
        """Wait for ``said`` on its standard output, or for its end."""
        end = time.monotonic() + LONGEST
        while self.process.poll() is None and said not in self._files[0].read_bytes() and time.monotonic() < end:
            time.sleep(0.005)

    def end(self) -> Done:
        """Wait for its end and note what it said."""
        try:
            code: int | None = self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            code = None
            self.process.kill()
            self.process.wait()
        out, err = (file.read_text(encoding="utf-8", errors="replace") for file in self._files)
        done = Done(self.words, code, out, err, self._killed, self.lacks)
        self._world.done.append(done)
        return done
