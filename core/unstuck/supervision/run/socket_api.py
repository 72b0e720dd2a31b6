"""Requests to a live run over its socket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol

from unstuck.contract import Answer, Gate
from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.load_state import live_agents
from unstuck.eventlog.state import State
from unstuck.processes import agent_sign
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.gates.gate_types import admitted
from unstuck.supervision.intervention.allowed import RUNGS, NextRung
from unstuck.text import admit, one_line


class Hooks(Protocol):
    """A bridge that agents running elsewhere talk to through their hooks."""

    async def handle(self, payload: dict[str, Any], peer: Any, agent: str) -> dict[str, Any]: ...

    async def acknowledged(self, ack: str) -> None: ...


class Tools(Protocol):
    """Methods that agents call, over a protocol of theirs."""

    async def handle(self, message: dict[str, Any], peer: Any) -> dict[str, Any]: ...

    async def stay(self, message: dict[str, Any], peer: Any) -> dict[str, Any]: ...

    async def acknowledged(self, ack: str) -> None: ...


class RunControl(Protocol):
    """A live run, as far as its socket may steer it."""

    core: RunContext
    hooks: Hooks | None
    tools: Tools | None

    @property
    def run(self) -> str: ...

    @property
    def state(self) -> State: ...

    async def answer(self, gate: str, answer: Answer, *, via: str) -> Gate: ...

    async def keep_open(self, gate: str) -> None: ...

    async def hold(self, task: str) -> str: ...

    async def step_in(self, task: str, answer: Answer, *, via: str) -> Gate | None: ...

    async def choose_rung(self, task: str, level: NextRung) -> None: ...

    async def stop(self, reason: str) -> None: ...

    def events(self, after: int | None = None) -> AsyncIterator[Record]: ...


_FOR_PEOPLE = {
    # Silence is never consent, and neither is what an agent says in the person's name.
    "answer": "an agent may not answer: this question needs a person",
    "revoke": "an agent may not change permissions",
    "keep": "an agent may not stop the clock of a question",
    "hold": "an agent may not hold another one",
    "step": "an agent may not decide about a task",
    "rung": "an agent may not choose what comes next",
    "stop": "an agent may not stop a run",
}
_RECORDS_BYTES, _RECORDS = 500_000, 200
_FLEET = re.compile(r"fleet:[\w.@-]{1,80}")


class Answers:
    """The handler of the run's socket: what only a person may say, what is asked of a run, and what agents say.

    ``unstuck.schemas.control`` describes the messages of the first two. ``hook``, ``tool`` and ``stay`` are private.
    """

    def __init__(self, supervisor: RunControl) -> None:
        self._supervisor = supervisor

    async def handle(self, message: dict[str, Any], peer: Any) -> dict[str, Any]:
        """One reply to one message; what is wrong with it comes back as ``error``."""
        do = message.get("do")
        if isinstance(do, str) and do in _FOR_PEOPLE:
            core = self._supervisor.core
            agents = self._supervisor.state.agents()
            agents += await asyncio.to_thread(live_agents, core.home, without=core.run)
            if sign := agent_sign(getattr(peer, "pid", 0), agents, core.head.run.unwatched):
                return {"error": f"{_FOR_PEOPLE[do]} ({sign})", "code": 2}
            try:
                return {"ok": True, **await self._said(do, message)}
            except (UnstuckError, TypeError, ValueError) as error:
                return {"error": str(error), "code": getattr(error, "exit_code", 2)}
        match do:
            case "state":
                return {"ok": True, **_state(self._supervisor.state), "held": self._supervisor.core.journal.held}
            case "events":
                after = message.get("after", 0)
                if not isinstance(after, int):
                    return {"error": "after is the number of an event", "code": 2}
                return {"ok": True, "records": await self._records(after)}
            case "hook":
                return await self._hook(message, peer)
            case "tool" if (tools := self._supervisor.tools) is not None:
                return await tools.handle(message, peer)
            case "stay" if (tools := self._supervisor.tools) is not None:
                return await tools.stay(message, peer)
            case other:
                return {"error": f"unknown request {admit(str(other), limit=60)}"}

    async def _said(self, do: str, message: dict[str, Any]) -> dict[str, Any]:
        """Carry out a person's request. Raises UnstuckError, TypeError, ValueError."""
        supervisor, task = self._supervisor, str(message.get("task", ""))
        match do:
            case "answer":
                gate = await supervisor.answer(str(message.get("gate", "")), _answer_in(message), via=_via(message))
                return {"gate": gate.id, "run": supervisor.run}
            case "revoke":
                rule = one_line(str(message.get("rule", "")), 300)
                supervisor.core.append(e.PermissionRevoked(rule=rule), actor="human")
                await supervisor.core.journal.committed()
            case "stop":
                await supervisor.stop(one_line(str(message.get("reason") or "asked over the socket")))
            case "keep":
                await supervisor.keep_open(str(message.get("gate", "")))
            case "hold":
                if not supervisor.core.person:
                    raise UsageError("no screen is open for this run, so a hold would pause all of it: decide now")
                return {"gate": await supervisor.hold(task)}
            case "step":
                await self._step_in(task, _answer_in(message), _via(message))
            case _:
                level = next((rung for rung in RUNGS if rung == message.get("level")), None)
                if level is None:
                    raise ValueError(f"what comes next is one of: {', '.join(RUNGS)}")
                await supervisor.choose_rung(task, level)
        return {}

    async def _step_in(self, task: str, answer: Answer, via: str) -> None:
        """Decide with a person present for the moment: a run without a screen is not paused for a question between."""
        core = self._supervisor.core
        core.deciding += 1
        try:
            await self._supervisor.step_in(task, answer, via=via)
        finally:
            core.deciding -= 1
            core.signals.wake_all()

    async def _records(self, after: int) -> list[dict[str, Any]]:
        """Return some records after number ``after``; wait for one where there is none yet."""
        last, size, found = self._supervisor.state.seq, 0, list[dict[str, Any]]()
        async with aclosing(self._supervisor.events(after)) as records:  # type: ignore[type-var]
            async for record in records:
                found.append(record.as_dict())
                size += len(json.dumps(found[-1]))
                if record.seq >= last or size > _RECORDS_BYTES or len(found) == _RECORDS:
                    break
        return found

    async def _hook(self, message: dict[str, Any], peer: Any) -> dict[str, Any]:
        hooks, payload = self._supervisor.hooks, message.get("payload")
        if hooks is None or not isinstance(payload, dict):
            return {"ok": True}
        return await hooks.handle(payload, peer, str(message.get("agent", "")))

    async def acknowledged(self, ack: str) -> None:
        """Record that the reply given to a forwarder has reached its agent."""
        for heard in (self._supervisor.hooks, self._supervisor.tools):
            if heard is not None:
                await heard.acknowledged(ack)


def _state(state: State) -> dict[str, Any]:
    """Return the tasks and the open questions of a run."""
    tasks = state.tasks.values()
    gates = [row.gate for row in state.open_gates()]
    return {
        "run": state.run.id,
        "seq": state.seq,
        "state": state.run.state,
        "tasks": [
            {"task": one.id, "state": one.state, "status": one.status, "attempts": one.attempts, "gate": one.gate}
            for one in tasks
        ],
        "questions": [
            {
                "gate": gate.id,
                "type": gate.type,
                "task": gate.task,
                "choices": list(gate.choices),
                "standing": gate.standing,
                "context": dict(gate.context),
            }
            for gate in gates
        ],
    }


def _via(message: dict[str, Any]) -> str:
    """Return what the sender says it is; a program of others is a socket. Nothing proves either."""
    said = message.get("via")
    if said in ("command", "attached_screen", "page"):
        return str(said)
    return said if isinstance(said, str) and _FLEET.fullmatch(said) else "socket"


def _answer_in(message: dict[str, Any]) -> Answer:
    """The answer in ``message``. Raises AnswerRefused, TypeError, ValueError."""
    number, said = message.get("number"), message.get("text", "")
    if not isinstance(said, str):
        raise TypeError("the text of an answer is a string")
    return Answer(
        choice=message.get("choice", ""),
        text=admitted(said),
        number=float(number) if number is not None else None,
        scope=message.get("scope", "once"),
    )
