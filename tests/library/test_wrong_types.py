"""Each argument of each public call, given a value of a wrong type."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.library.raised import described, is_named

import unstuck
from unstuck import (
    Agent,
    AgentUnusable,
    Answer,
    ArgumentError,
    AttemptResult,
    Checkpoint,
    CheckpointManager,
    Clean,
    Client,
    Clock,
    Diagnosis,
    Directive,
    ErrorAnalysis,
    Execution,
    Failure,
    FailureHandler,
    FailureSignature,
    Gate,
    GateManager,
    Guidance,
    HandlerResult,
    LoopDetector,
    Observation,
    Observer,
    Outcome,
    Question,
    Record,
    Restored,
    Result,
    Settings,
    SettingsError,
    State,
    StuckReport,
    Supervisor,
    Task,
    TaskSession,
    TimeoutMonitor,
    UnstuckError,
    Verdict,
    admit,
    analyze_error,
    classify_cause,
    classify_error,
    classify_failure,
    diagnose,
    extract_failure_signature,
    is_circular_fix,
    supervise_sync,
)

RESULTS = (
    AttemptResult, Checkpoint, Diagnosis, Directive, ErrorAnalysis, FailureSignature, Gate, Guidance, HandlerResult,
    Outcome, Question, Record, Restored, Result, State, StuckReport, Verdict,
)  # fmt: skip
"""Values that a program gets, and does not make."""
OPENED = (CheckpointManager, Supervisor, Settings)
"""Classes whose constructors are not called, or validate themselves."""
PROTOCOLS = (Agent, Clock, Observer, TaskSession)
READS_ANYTHING = (
    Failure, admit, analyze_error, classify_cause, classify_error, classify_failure, diagnose,
    extract_failure_signature, is_circular_fix, FailureSignature.from_error,
)  # fmt: skip
"""Calls that take whatever comes out of an agent: they never raise."""


REFUSED = (ArgumentError, AgentUnusable, SettingsError)
"""Errors that say what is wrong with an argument."""
NAMED = {
    "attempt": "agent", "cwd": "project", "verify": "check", "timeout_s": "timeout_seconds", "idle_s": "idle_seconds",
    "task_id": "id",
}  # fmt: skip
"""Parameters that an error names otherwise."""


class Wrong:
    """A value that is never meant."""


async def agent(guidance: Any) -> None:
    """Do nothing."""


@pytest.fixture
def idle(tmp_path: Path) -> Client:
    """The client of a project without a live run."""
    place = tmp_path / "idle"
    place.mkdir()
    return Client(place)


@pytest.fixture
async def owners(repo: Path, idle: Client) -> Any:
    """An object of each public class that has methods."""
    gates = GateManager()
    gate = await gates.create_gate("stuck", task_id="t", agent_id="a", context={})
    async with Supervisor.open(repo) as supervisor:
        yield {
            "CheckpointManager": await CheckpointManager.open(repo),
            "Client": idle,
            "FailureHandler": FailureHandler(),
            "FailureSignature": FailureSignature.from_error("KeyError: 'x'"),
            "Diagnosis": unstuck.diagnose("price.py:3: error: Name 'totl' is not defined", exit_code=1),
            "GateManager": gates,
            "LoopDetector": LoopDetector(gates),
            "Question": Question(gates.open_gates()[0], gates.answer),
            "Settings": Settings(),
            "State": supervisor.state,
            "Supervisor": supervisor,
            "TimeoutMonitor": TimeoutMonitor(),
            "gate": gate,
        }


def good(owners: dict[str, Any], repo: Path) -> dict[str, Any]:
    """A right value for each name of a parameter that has no default."""
    return {
        "agents": {"t": agent},
        "agent": agent,
        "agent_id": "a",
        "agent_type": "qa_engineer",
        "answer": Answer(choice="skip"),
        "attempt": agent,
        "choice": "skip",
        "context": {},
        "a": "chk-1",
        "approach": "use async",
        "data": {},
        "error": "boom",
        "error_message": "boom",
        "error_output": "boom",
        "error_signature": "boom",
        "execution": Execution(),
        "failure": Failure("boom"),
        "frozen": {},
        "gate": owners["gate"],
        "gate_id": owners["gate"],
        "gate_type": "stuck",
        "history": [],
        "id": "t",
        "kind": "failure",
        "level": "retry",
        "name": "async",
        "observation": Observation(kind="failure", text="boom", task_id="t"),
        "other": owners["FailureSignature"],
        "output": "boom",
        "project": repo,
        "project_id": "p",
        "prompt": "Greet.",
        "raw": "boom",
        "reason": "because",
        "reported_by": "agent",
        "rules": (),
        "seconds": 60,
        "supervisor": owners["Supervisor"],
        "task": Task(id="t", prompt="Greet."),
        "task_id": "t",
        "taken": None,
        "then": print,
        "tree": repo,
        "what": "curl",
        "can": unstuck.Capabilities(),
    }


def calls() -> Iterator[tuple[str, str]]:
    """Each public function, class and method with parameters, after the name of its class."""
    for name in unstuck.__all__:
        value = getattr(unstuck, name)
        if not callable(value) or value in (*PROTOCOLS, Clean):
            continue
        if not inspect.isclass(value):
            yield "", name
        elif not issubclass(value, Exception | Enum):
            if value not in (*RESULTS, *OPENED):
                yield "", name
            for method, function in vars(value).items():
                function = function.__func__ if isinstance(function, classmethod) else function
                public = not method.startswith("_") and inspect.isfunction(function)
                if public and len(inspect.signature(function).parameters) > 1:
                    yield name, method


async def outcome(call: Callable[..., Any], given: dict[str, Any]) -> object:
    """The exception of a call, or what it returned; what it gives over time is begun."""
    try:
        made = await asyncio.to_thread(call, **given) if call is supervise_sync else call(**given)
        if isinstance(made, subprocess.Popen):
            return made.wait()
        if hasattr(made, "__aenter__"):
            async with made:
                return None
        if hasattr(made, "__anext__"):
            return await made.aclose()
        if inspect.isgenerator(made):
            return next(made)
        return await made if inspect.isawaitable(made) else made
    except Exception as error:
        return error


@pytest.mark.parametrize(("owner", "name"), list(calls()))
async def test_a_wrong_type_is_an_error_of_ours(
    owner: str, name: str, owners: dict[str, Any], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong value is named with its parameter, and no value at all gives an exception that is not ours."""
    call = getattr(owners[owner], name) if owner else getattr(unstuck, name)
    parameters = inspect.signature(call).parameters
    rights = good(owners, repo)
    if owner == "Client" and name == "start":
        rights["agent"] = ["true"]
    rights |= {"cwd": repo} if name.startswith("supervise") and not owner else {}
    if owner in ("Supervisor", "Client") and name not in ("supervise", "session", "add"):
        rights["task"] = "t"
    needed = {
        key: rights[key]
        for key, one in parameters.items()
        if (one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)) or key == "cwd"
    }
    problems = []
    for key, one in parameters.items():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or one.annotation == "Any":
            continue
        for value in (Wrong(), Wrong, 3, "\0x", b"x", None, [Wrong()], {3: Wrong()}, float("nan"), True):
            if value is Wrong and any(word in str(one.annotation) for word in ("Callable", "LogEvent", "On")):
                continue  # a class can be called
            found = await outcome(call, {**needed, key: value})
            if isinstance(found, Exception) and not isinstance(found, UnstuckError):
                problems.append(f"{key}={value!r:.20}: {type(found).__name__}: {found}")
            elif isinstance(value, Wrong) and not isinstance(found, REFUSED) and call not in READS_ANYTHING:
                problems.append(f"{key} takes an object of any class")
            elif isinstance(value, Wrong) and call not in READS_ANYTHING and NAMED.get(key, key) not in str(found):
                problems.append(f"{key}={value!r:.20}: not named in {found}")
            if isinstance(found, UnstuckError) and not is_named(type(found).__name__, described(call)):
                problems.append(f"{key}={value!r:.20}: {type(found).__name__} is not in the docstring")
    assert not problems, "\n".join(problems)
