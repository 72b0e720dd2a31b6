"""One claimed task as a small run: `unstuck run` in a process of its own, followed by the lines that it prints."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from unstuck.channel import request, socket_path
from unstuck.contract import Answer
from unstuck.errors import ChannelError, GateError, RecordError, UnstuckError
from unstuck.eventlog.log.load_state import LOG_NAME
from unstuck.eventlog.state import State
from unstuck.eventlog.storage.run_store import run_names
from unstuck.fleet.nats.keys import write_secret
from unstuck.fleet.shared_plan.entries import AnswerEntry, PlanEntry, QuestionEntry, WorkEntry
from unstuck.processes.shim.process_table import PR_SET_PDEATHSIG, process_control
from unstuck.runs.answers.answer_offline import answer_offline
from unstuck.runs.queries.run_list import state_of
from unstuck.settings.paths import runtime_dir, state_dir
from unstuck.supervision.gates.gate_types import admitted
from unstuck.text import one_line
from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.repository import run_git
from unstuck.workspace.project import Project, locate
from unstuck.workspace.worktrees.worktrees import Worktrees

_OWNERS = frozenset(("ask", "budget", "max_parallel", "results", "timers", "unverified", "keep_runs", "keep_days"))
"""Settings of a plan that are the owner's alone."""
_DISK_WAIT_S = 10
"""Seconds for which a full disk keeps a task, unless the plan says so: another host may have room."""
_LINE_LIMIT, _REPLY_S, _END_S = 64 << 20, 30.0, 30.0
_ENDS = frozenset(("attempt_ended", "task_ended", "gate_opened"))
_DOING = {
    "attempt_started": "works",
    "check_finished": "checked",
    "directive_issued": "prepares the next attempt",
    "research_done": "has done research",
    "gate_opened": "asks",
}


class SmallRun:
    """The run of one task in the directory ``slot``. ``moved`` is called when its files are worth sending."""

    def __init__(self, slot: Path, environ: Mapping[str, str], task: str, moved: Callable[[], None]) -> None:
        self._slot, self._environ, self._task, self._moved = slot, dict(environ), task, moved
        self._process: asyncio.subprocess.Process | None = None
        self._place: Project | None = None
        self._known: State | None = None
        self.run, self.doing, self.tokens, self.written = "", "", 0, 0
        self.cost: float | None = None
        self.delivered: set[str] = set()
        """Questions whose answers an agent has."""
        self.said = ""
        """The last line that it wrote to standard error."""
        self.started = asyncio.Event()

    def write_plan(self, path: Path, plan: PlanEntry, work: WorkEntry, command: tuple[str, ...]) -> None:
        """Write the plan of the small run. The agent runs ``command``; nothing of the owner's environment is in it."""
        agent = next(one for one in plan.agents if one.name == work.agent)
        own = {name: value for name, value in plan.settings.items() if name not in _OWNERS}
        settings = {"disk_wait": _DISK_WAIT_S} | own
        found: dict[str, Any] = {
            "agents": {
                agent.name: _given(command=list(command), type=agent.type, signals=agent.signals, hold=agent.hold)
                | ({"prompt": agent.prompt} if agent.prompt != "auto" else {})
            },
            "settings": settings | {"results": "branch", "ask": plan.settings.get("ask", "always")},
            "max_parallel": 1,
            "tasks": [
                _given(
                    id=self._task,
                    prompt=work.prompt,
                    agent=agent.name,
                    check=work.check,
                    mode=work.mode,
                    isolation="worktree",
                    timeout=_seconds(work.timeout_s),
                    idle=_seconds(work.idle_s),
                )
            ],
        } | _given(setup=plan.setup)
        write_secret(path, json.dumps(found))  # JSON is YAML, and nothing in it can be read as anything else

    async def place(self) -> Project:
        """Return the project of the slot."""
        if self._place is None:
            self._place = await locate(self._slot)
        return self._place

    async def work(self, plan: Path) -> int:
        """Work until the run ends or pauses; return its exit code, or minus the signal that killed it."""
        words = ["--resume", self.run] if self.run else [str(plan)]
        return await self._follow([*words, "--headless", "--json", "--project", str(self._slot)])

    async def _follow(self, words: list[str]) -> int:
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "unstuck",
            "run",
            *words,
            cwd=self._slot,
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=_LINE_LIMIT,
            # Nobody could report what it does after this process: it and its agents end with it.
            preexec_fn=lambda: process_control(PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        complaining = asyncio.ensure_future(self._hear(process.stderr))
        try:
            async for line in process.stdout:
                with suppress(ValueError, KeyError, TypeError):
                    self._note(json.loads(line))
            return await process.wait()
        finally:
            self.started.set()
            if process.returncode is None:
                await self.stop()
            complaining.cancel()
            await asyncio.gather(complaining, return_exceptions=True)
            # asyncio closes the pipes of a process only with its transport.
            process._transport.close()  # type: ignore[attr-defined]
            self._process = None

    async def _hear(self, errors: asyncio.StreamReader) -> None:
        async for line in errors:
            self.said = one_line(line.decode(errors="replace"), 300) or self.said

    def _note(self, record: dict[str, Any]) -> None:
        if "event" not in record:
            return
        name, data = record["event"], record["data"]
        self.run = str(record["run"])
        self.started.set()
        if name == "usage_counted":
            self.tokens += int(data.get("tokens") or 0)
            self.written += int(data.get("written") or 0)
            if data.get("cost") is not None:
                self.cost = (self.cost or 0.0) + float(data["cost"])
        if name == "answer_delivered":
            self.delivered.add(str(data["gate"]))
        if name in _DOING and data.get("level") != "human":  # then the question follows
            about = data.get("level") or data.get("result") or data.get("type") or ""
            self.doing = one_line(f"{_DOING[name]}: {about}".rstrip(": "), 200)
        if name in _ENDS:
            self._moved()

    async def stop(self) -> None:
        """Have the run end its agent and itself; kill it where it does not."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_END_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def tell(self, message: dict[str, Any]) -> None:
        """Send a message to the run, such as to hold its task. Nothing where it is not live any more."""
        place = await self.place()
        with suppress(ChannelError, UnstuckError):
            await request(socket_path(runtime_dir(self._environ), place.home), message, timeout=_REPLY_S)

    async def say(self, answer: AnswerEntry) -> None:
        """Tell the live agent a person's words."""
        fields = {"choice": answer.choice, "text": answer.text, "via": _via(answer)}
        await self.tell({"do": "step", "task": self._task, **fields})

    async def questions(self) -> tuple[QuestionEntry, ...]:
        """Return the open questions of the paused run."""
        place = await self.place()
        try:
            state, _ = await asyncio.to_thread(state_of, place, self.run)
        except RecordError:
            return ()
        gates = [row.gate for row in state.open_gates()]
        plain = {gate.id: json.loads(json.dumps(dict(gate.context), default=str)) for gate in gates}
        return tuple(
            QuestionEntry(id=gate.id, type=gate.type, key=gate.key, context=plain[gate.id], choices=gate.choices)
            for gate in gates
        )

    def log_size(self) -> int:
        """Return the size of its log in bytes; 0 where it cannot be told."""
        with suppress(OSError):
            if self._place is not None:
                return (self._place.runs / self.run / LOG_NAME).stat().st_size
        return 0

    async def answer(self, gate: str, answer: AnswerEntry) -> str:
        """Write an answer into the log of the paused run; return why it was refused, such as after another one."""
        given = Answer(
            choice=answer.choice,  # type: ignore[arg-type]
            text=admitted(answer.text),
            number=answer.number,
            # The owner's word does not outlive the run in the settings of this machine's user.
            scope="run" if answer.scope == "always" else answer.scope,  # type: ignore[arg-type]
        )
        try:
            await answer_offline(await self.place(), gate, given, via=_via(answer))
        except GateError as problem:
            return one_line(str(problem), 300)
        return ""

    async def close(self) -> None:
        """End the run where it is paused: nobody is to answer its questions any more.

        One that asks for a permission stays paused: no answer to that gives the task up.
        """
        asked = await self.questions() if self.run else ()
        refused = [await self.answer(question.id, AnswerEntry(choice="abandon")) for question in asked]
        if not all(refused):
            await self.work(Path())

    async def snapshot(self) -> str:
        """Return a commit with the files of the task as they are now; its agent may be at work.

        Raises WorkspaceError.
        """
        place = await self.place()
        assert place.repository is not None
        trees = Worktrees(place.repository, state_dir(self._environ) / "worktrees", self.run)
        tree = trees.path(self._task)
        head = (await run_git(tree, "rev-parse", "HEAD")).line
        own = (await run_git(tree, "rev-parse", "--absolute-git-dir")).line
        index = Path(own) / "unstuck-snapshot"
        index.unlink(missing_ok=True)
        with suppress(OSError):
            index.write_bytes(read_bytes(Path(own) / "index"))
        environment = {"GIT_INDEX_FILE": str(index)}
        try:
            await run_git(tree, "add", "-A", "--", ".", ":(exclude).unstuck", environment=environment, user_config=True)
            files = (await run_git(tree, "write-tree", environment=environment)).line
        finally:
            index.unlink(missing_ok=True)
        if files == (await run_git(tree, "rev-parse", f"{head}^{{tree}}")).line:
            return head
        return (await run_git(tree, "commit-tree", "--no-gpg-sign", files, "-p", head, "-m", "so far")).line

    async def result(self) -> str:
        """Return the commit of the run's integrated result. Raises WorkspaceError."""
        place = await self.place()
        assert place.repository is not None
        return await Worktrees(place.repository, state_dir(self._environ) / "worktrees", self.run).tip()


async def close_last(slot: Path, environ: Mapping[str, str]) -> None:
    """End the last run in ``slot`` where its host was killed while it asked: no host goes on with it."""
    with suppress(UnstuckError, OSError):
        for name in run_names((await locate(slot)).runs)[-1:]:
            run = SmallRun(slot, environ, "", lambda: None)
            run.run = name
            await run.close()


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _seconds(limit: float | None) -> str | None:
    return None if limit is None else f"{limit:g}s"


def _via(answer: AnswerEntry) -> str:
    return f"fleet:{one_line(answer.by, 80)}" if answer.by else "fleet"
