"""All that ``--json`` prints and the socket speaks fits a published schema, which changes only with its version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.documents import DOCUMENTS, TOP

import unstuck
from unstuck import Client, Guidance, Supervisor, Task
from unstuck.channel import call
from unstuck.errors import GateError
from unstuck.eventlog.events import EVENTS
from unstuck.schemas.catalogue import SCHEMAS, json_schema, schema_names

KEPT = TOP / "tests" / "data" / "schemas.json"
FAILING = "echo 'price.py:3: error: Name \"totl\" is not defined'; exit 1"
COMMANDS = [
    ("runs", 0), ("runs --days", 0), ("show", 0), ("events", 0), ("recap", 0), ("review", 0), ("truth", 0),
    ("what-if", 0), ("signatures", 0), ("memory list", 0), ("permissions list", 0), ("checkpoints list", 0),
    ("checkpoints create", 0),
    ("config show", 0), ("config path", 0), ("config validate", 0), ("doctor", None), ("hooks status", None),
    ("hooks install claude --here --yes", 0), ("mcp status", None), ("fsck", 0), ("demo --list", 0),
]  # fmt: skip


def without_words(schema: Any) -> Any:
    """The schema without titles and descriptions, which mean nothing to a program."""
    if isinstance(schema, list):
        return [without_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    words = [name for name in ("title", "description") if isinstance(schema.get(name), str)]
    return {name: without_words(value) for name, value in schema.items() if name not in words}


def test_a_schema_changes_only_with_its_version() -> None:
    """A change of what is printed raises the version of its schema; then ``tests/data/schemas.json`` is made anew."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    now = {name: without_words(json_schema(name)) for name in schema_names()}
    for name, before in kept.items():
        if now[name] != before:
            assert now[name]["x-version"] > before["x-version"], f"raise the version of {name} in schemas/catalogue.py"
    if kept != now:
        lines = (f"{json.dumps(name)}: {json.dumps(schema, sort_keys=True)}" for name, schema in sorted(now.items()))
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    assert kept == now, "tests/data/schemas.json has been made anew: look at what differs, and commit it"


def rows(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def fits(name: str, found: list[dict[str, Any]]) -> None:
    adapter = SCHEMAS[name].adapter
    for row in found:
        adapter.validate_python(row)


@pytest.fixture
def worked(repo: Path, inside: Callable[..., tuple[int, str, str]]) -> Path:
    """A project with a run that passed, and one that waits for a person."""
    code, said, _ = inside(repo, "run", "--headless", "--json", "--check", "true", "--", "sh", "-c", "echo x > a.txt")
    assert code == 0
    fits("run", rows(said))
    assert {"run", "exit_reason", "exit_code", "claims", "changes"} >= rows(said)[-1].keys()
    limits = ["max_retries", "max_pivots", "max_research"]
    (repo / "unstuck.yaml").write_text("failure_handler: {" + ", ".join(f"{one}: 0" for one in limits) + "}\n")
    code, said, _ = inside(repo, "run", "--headless", "--json", "--check", FAILING, "--", "true")
    assert code == 3
    fits("run", rows(said))
    for row in rows(said)[:-1]:
        EVENTS[row["event"]].model_validate(row["data"])
    return repo


def test_what_commands_print_fits_its_schema(worked: Path, inside: Callable[..., tuple[int, str, str]]) -> None:
    """Each command with ``--json`` prints objects of its schema, and nothing else."""
    seen = set()
    for command, code in COMMANDS:
        words = command.split()
        ended, said, problem = inside(worked, *words, "--json")
        assert code is None or ended == code, f"{command}: {problem}"
        fits(words[0], rows(said))
        seen |= {words[0]} if rows(said) else set()
    (question,) = [row for row in rows(inside(worked, "show", "--json")[1]) if "gate" in row]
    saved = rows(inside(worked, "checkpoints", "list", "--json")[1])[0]["id"]
    log = worked / "log.txt"
    log.write_text('price.py:3: error: Name "totl" is not defined\n', encoding="utf-8")
    rest = [
        ("checkpoints", "show", saved), ("checkpoints", "diff", saved), ("diagnose", str(log), "--exit-code", "1"),
        ("answer", question["gate"], "skip"),
    ]  # fmt: skip
    for one in rest:
        _, said, problem = inside(worked, *one, "--json")
        assert said, problem
        if one[1] != "diff":
            fits(one[0], rows(said))
        seen.add(one[0])
    run = rows(said := inside(worked, "runs", "--json")[1])[0]["run"]
    code, said, problem = inside(worked, "delete", run, "--yes", run, "--json")
    assert code == 0, problem
    fits("delete", rows(said))
    missing = {name for name in SCHEMAS if not name.startswith("socket")} - seen
    assert missing <= {"run", "watch", "delete", "memory", "permissions", "review", "fleet"}


def test_a_schema_is_printed(tmp_path: Path, inside: Callable[..., tuple[int, str, str]]) -> None:
    """``unstuck schema NAME`` prints JSON Schema with a version; a wrong name is told with the nearest one."""
    code, said, _ = inside(tmp_path, "schema", "show")
    assert code == 0
    assert json.loads(said)["$id"] == "unstuck:show:5"
    code, listed, _ = inside(tmp_path, "schema")
    assert {"show", "socket-request", "gate_opened"} <= set(listed.split())
    code, _, problem = inside(tmp_path, "schema", "shwo")
    assert code == 2
    assert "show" in problem


async def held(supervisor: Supervisor) -> None:
    """Wait for a question that is on disk: only that leaves the process."""
    async for _ in supervisor.questions():
        return


async def test_another_program_controls_a_live_run(repo: Path) -> None:
    """The client holds, releases, reads, answers and stops a live run; each message fits its schema, both ways."""
    said: list[tuple[dict[str, Any], dict[str, Any]]] = []

    async def works(guidance: Guidance) -> None:
        await asyncio.sleep(0)

    async def ask(**message: Any) -> dict[str, Any]:
        assert supervisor.socket is not None
        reply = await asyncio.to_thread(call, supervisor.socket, message, 30)
        said.append(({**message, "v": 1}, reply))
        return reply

    settings = {"failure_handler": dict.fromkeys(("max_retries", "max_pivots", "max_research"), 0)}
    async with Supervisor.open(repo, settings, person=True) as supervisor:
        work = asyncio.create_task(supervisor.supervise(Task(id="web", prompt="Greet.", check="false"), works))
        await held(supervisor)
        client = await asyncio.to_thread(Client, repo)
        state = await asyncio.to_thread(client.state)
        assert [(task.task, task.state) for task in state.tasks] == [("web", "waiting")]
        (question,) = state.questions
        assert "retry" in question.choices
        shown = await asyncio.to_thread(client.show)
        assert [one.gate for one in shown.questions] == [question.gate]
        assert [run.run for run in await asyncio.to_thread(client.runs)] == [supervisor.run]
        with pytest.raises(GateError):
            await asyncio.to_thread(client.answer, "g9-0000", "retry")
        await ask(do="state")
        await ask(do="events", after=0)
        await ask(do="keep", gate=question.gate)
        await ask(do="rung", task="web", level="nowhere")
        await ask(do="hold", task="nobody")
        await ask(do="answer", gate=question.gate, choice="retry", text="Say hello.")
        followed = await asyncio.to_thread(client.follow)
        names = []
        while "gate_answered" not in names:
            names.append((await asyncio.to_thread(next, followed)).event)
        assert names[0] == "run_started"
        await held(supervisor)
        again = (await asyncio.to_thread(client.state)).questions[0]
        await asyncio.to_thread(client.answer, again.gate, "abandon")
        assert (await work).status == "abandoned"
        await ask(do="stop", reason="enough")
    assert supervisor.state.run.state in ("ended", "draining")
    requests, replies = SCHEMAS["socket-request"].adapter, SCHEMAS["socket-reply"].adapter
    for request, reply in said:
        if request.get("level") != "nowhere":
            requests.validate_python(request)
        replies.validate_python(reply)
    assert "error" not in said[0][1]


async def test_a_task_is_held_and_released(repo: Path) -> None:
    """``hold`` keeps a task from starting until it is released."""
    started, go = asyncio.Event(), asyncio.Event()

    async def works(guidance: Guidance) -> None:
        started.set()
        await go.wait()
        (guidance.workdir / "done").touch()

    async with Supervisor.open(repo, person=True) as supervisor:
        work = asyncio.create_task(supervisor.supervise(Task(id="web", prompt="Greet.", check="test -f done"), works))
        await started.wait()
        client = await asyncio.to_thread(Client, repo)
        gate = await asyncio.to_thread(client.hold, "web")
        assert [one.gate for one in (await asyncio.to_thread(client.state)).questions] == [gate]
        await asyncio.to_thread(client.release, "web")
        with pytest.raises(unstuck.GateUnknown):
            await asyncio.to_thread(client.release, "web")
        go.set()
        assert (await work).status == "succeeded"


def test_the_socket_is_documented() -> None:
    """The page about the control API names every request."""
    page = DOCUMENTS["docs/reference/control-api.md"]
    for definition in json_schema("socket-request")["$defs"].values():
        name = definition["properties"].get("do", {}).get("const")
        assert name is None or f"`{name}`" in page
