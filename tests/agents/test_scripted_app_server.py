"""Codex by its app-server: what is read of it, what it is answered, and what a wrong one does no harm with."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from unstuck.agents.appserver.conversation import AppServerAgent, approval
from unstuck.agents.appserver.stream import AppServerStream
from unstuck.agents.command.command_agent import CommandSpec
from unstuck.contract import Directive, Guidance, Observation, Report, Task
from unstuck.text import Clean

RECORDED = Path(__file__).parents[1] / "data" / "app_server"
SCRIPT = Path(__file__).with_name("scripted_app_server.py")


def told(name: str) -> tuple[AppServerStream, list[Observation]]:
    """The reader after a recorded conversation, and what it told."""
    stream, found = AppServerStream(), []
    for line in (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines():
        message = json.loads(line)["msg"]
        if "thread" in message.get("result", {}):
            stream.begin(message["result"]["thread"]["id"])
        found += stream.take(message)
    return stream, found


def steps(found: list[Observation]) -> list[tuple[str, str, int | None]]:
    """Calls, results and messages."""
    kinds = ("action", "success", "failure", "message")
    return [(one.kind, str(one.text).strip(), one.exit_code) for one in found if one.kind in kinds]


FAILING = "echo oops >&2; exit 3"


def test_what_a_thread_tells() -> None:
    """Messages, calls, the failing command with its exit code, its usage, its thread and its end, as recorded."""
    stream, found = told("approve")
    assert steps(found) == [
        ("message", "I will run the tests.", None),
        ("action", "echo hi", None),
        ("success", "hi", 0),
        ("message", "Now something failing.", None),
        ("action", FAILING, None),
        ("failure", "oops", 3),
        ("message", "All done.", None),
    ]
    assert sum(one.tokens for one in found) == 330
    assert stream.session[:8] == "01a1ffc9"
    assert stream.ended is True
    assert stream.error == ""
    assert stream.turn == ""


def test_what_was_not_allowed_has_not_run() -> None:
    """A command that was declined is a failure without an exit code."""
    _, found = told("decline")
    assert ("failure", "declined", None) in steps(found)


def test_an_interrupted_turn_is_over() -> None:
    """It is neither done nor failed."""
    stream, _ = told("interrupt")
    assert stream.ended is True
    assert stream.interrupted is True
    assert stream.failed is False


MORE = {"fileSystem": {"write": ["/etc"]}}


@pytest.mark.parametrize(
    ("method", "params", "said", "yes", "no"),
    [
        (
            "item/fileChange/requestApproval",
            {"itemId": "f1", "grantRoot": "/etc"},
            'apply_patch {"root":"/etc"}',
            {"decision": "accept"},
            {"decision": "decline"},
        ),
        (
            "item/permissions/requestApproval",
            {"itemId": "p1", "permissions": {**MORE, "network": None}},
            'more permissions {"fileSystem":{"write":["/etc"]}}',
            {"permissions": MORE, "scope": "turn"},
            {"permissions": {}, "scope": "turn"},
        ),
        (
            "mcpServer/elicitation/request",
            {"serverName": "shop", "message": "May I?", "requestedSchema": {"type": "object", "properties": {}}},
            'shop asks {"message":"May I?"}',
            {"action": "accept", "content": {}, "_meta": None},
            {"action": "decline", "content": None, "_meta": None},
        ),
    ],
)
def test_what_else_it_asks(method: str, params: Any, said: str, yes: Any, no: Any) -> None:
    """Files beyond its own, more rights, and a yes for a server: shown as they are, and never let go by themselves."""
    asked = approval(AppServerStream(), method, params)
    assert asked is not None
    assert asked.action.text == said
    assert asked.yes == yes
    assert asked.no == no
    assert asked.plain is False


def test_a_form_is_not_filled_in() -> None:
    """A server that wants fields filled in gets a refusal, even after a yes."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    asked = approval(AppServerStream(), "mcpServer/elicitation/request", {"requestedSchema": schema})
    assert asked is not None
    assert asked.yes["action"] == "decline"


def test_other_requests_are_none() -> None:
    """A request that nobody can answer with yes or no is refused by its name."""
    assert approval(AppServerStream(), "account/chatgptAuthTokens/refresh", {}) is None


class Person:
    """An observer that answers what the test says. ``says`` are words for the agent, between its calls."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.asked: list[tuple[Observation, str]] = []
        self.answer, self.tells = Directive(kind="go_on"), Directive(kind="go_on")
        self.says: asyncio.Queue[Directive] = asyncio.Queue()
        self.told: list[Directive] = []
        self.pid = 0
        self.moved = asyncio.Event()

    def see(self, observation: Observation) -> None:
        self.seen.append(observation)
        self.moved.set()

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        self.see(observation)
        return self.answer if observation.kind == "action" else self.tells

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        self.asked.append((observation, why))
        self.moved.set()
        return self.answer

    async def next_answer(self) -> Directive:
        return await self.says.get()

    async def delivered(self, directive: Directive) -> None:
        self.told.append(directive)
        self.moved.set()

    async def spawned(self, pid: int, start: float) -> None:
        self.pid = pid

    async def until(self, kind: str) -> None:
        """Wait for an observation."""
        await self._until(lambda: any(one.kind == kind for one in self.seen))

    async def until_told(self, directive: Directive) -> None:
        """Wait until the agent has been told."""
        await self._until(lambda: directive in self.told)

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not true():
                self.moved.clear()
                await self.moved.wait()


class Lab:
    """A scripted app-server in a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.work, self.run = folder / "work", folder / "run"
        self.work.mkdir()
        (self.run / "output").mkdir(parents=True)
        self.person = Person()

    def agent(self, mode: str, **options: Any) -> AppServerAgent:
        """The agent that runs it."""
        spec = CommandSpec(command=(sys.executable, str(SCRIPT), mode), signals=options.pop("signals", False))
        return AppServerAgent(spec, folder=self.run, environ=os.environ, limit=2**20, **options)

    def attempt(
        self, mode: str, *, agent: AppServerAgent | None = None, session: str | None = None, **options: Any
    ) -> asyncio.Task[Report]:
        """One attempt, begun."""
        guidance = Guidance(
            attempt="web.1", number=1, level="first", text=Clean("Do it"), workdir=self.work, session=session
        )
        agent = agent or self.agent(mode, **options)
        return asyncio.ensure_future(agent.attempt(Task(id="web", prompt=Clean("Do it")), guidance, self.person))

    def heard(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the requests of this name that it got."""
        lines = (self.work / "heard.jsonl").read_text("utf-8").splitlines()
        return [said["params"] for line in lines if (said := json.loads(line)).get("method") == method]

    def answers(self) -> list[dict[str, Any]]:
        """Return the answers to its own requests."""
        lines = (self.work / "heard.jsonl").read_text("utf-8").splitlines()
        return [said["result"] for line in lines if "result" in (said := json.loads(line))]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A place for one agent."""
    return Lab(tmp_path)


async def test_one_attempt(lab: Lab) -> None:
    """A new thread in the task's directory is told the task; what it does, says and uses comes back, and its end."""
    report = await lab.attempt("works")
    assert report.how == "ended"
    assert report.exit_code == 0
    assert report.error is None
    assert report.session == "thread-1"
    assert report.approach == "raw body"
    assert steps(lab.person.seen) == [
        ("message", "I will run the tests.", None),
        ("action", "make test", None),
        ("failure", "oops", 3),
        ("message", "All done.\nApproach: raw body", None),
    ]
    assert sum(one.tokens for one in lab.person.seen) == 70
    assert lab.heard("thread/start") == [{"cwd": str(lab.work)}]
    assert lab.heard("turn/start")[0]["input"][0]["text"] == "Do it"
    assert "I will run the tests." in (lab.run / report.output).read_text("utf-8")
    assert not psutil.pid_exists(lab.person.pid)


async def test_a_thread_is_gone_on_with(lab: Lab) -> None:
    """A retry resumes the thread of the attempt before, whose usage is not counted again."""
    report = await lab.attempt("works", session="thread-1")
    assert report.how == "ended"
    assert lab.heard("thread/resume")[0]["threadId"] == "thread-1"
    assert lab.heard("thread/start") == []
    assert sum(one.tokens for one in lab.person.seen) == 70


async def test_what_it_asks_is_allowed(lab: Lab) -> None:
    """The person sees the command and what the agent says about it; yes lets it run."""
    report = await lab.attempt("asks")
    ((asked, why),) = lab.person.asked
    assert asked.kind == "action"
    assert asked.text == "make deploy"
    assert why == "it wants the network"
    assert lab.answers() == [{"decision": "accept"}]
    assert report.how == "ended"


async def test_what_it_asks_is_denied_with_the_reason(lab: Lab) -> None:
    """A no is said to the call, and its reason to the turn, before the model hears of the no."""
    lab.person.answer = Directive(kind="deny", text=Clean("not on a Friday"))
    await lab.attempt("asks")
    assert lab.heard("turn/steer")[0]["input"][0]["text"] == "not on a Friday"
    assert lab.answers() == [{"decision": "decline"}]
    said = [text for kind, text, _ in steps(lab.person.seen) if kind == "message"]
    assert said.index("I was told: not on a Friday") < said.index("It was: decline.")
    assert lab.person.told == [lab.person.answer]


async def test_every_command_waits_for_us(lab: Lab) -> None:
    """Held step by step Codex asks before each command; what it says nothing about is no question to a person."""
    await lab.attempt("every", hold="step")
    assert lab.heard("thread/start")[0]["approvalPolicy"] == "untrusted"
    assert lab.person.asked == []
    assert lab.answers() == [{"decision": "accept"}]


async def test_words_reach_the_turn_under_way(lab: Lab) -> None:
    """A person's words and the supervisor's nudges are delivered without waiting for the turn's end."""
    work = lab.attempt("silent")
    await lab.person.until("action")
    said = Directive(kind="tell", text=Clean("look in the cellar"), gate="g1")
    lab.person.says.put_nowait(said)
    await lab.person.until_told(said)
    assert lab.heard("turn/steer")[0]["input"][0]["text"] == "look in the cellar"
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_nudge_is_told(lab: Lab) -> None:
    """A repetition that the supervisor notices is said to the turn."""
    lab.person.tells = Directive(kind="tell", text=Clean("You go round in circles."))
    await lab.attempt("loops")
    assert lab.heard("turn/steer")[0]["input"][0]["text"] == "You go round in circles."


async def test_an_answer_after_the_turn_is_another_one(lab: Lab) -> None:
    """A question of the last step may be answered after its turn; the agent hears the answer before it is released."""

    async def step(observation: Observation, *, within: float | None = None) -> Directive:
        if observation.kind == "failure" and not lab.person.asked:
            lab.person.asked.append((observation, ""))
            async with asyncio.timeout(60):
                while agent._conversations["web.1"].stream.turn:  # its turn has been completed meanwhile
                    await asyncio.sleep(0.01)
            return Directive(kind="tell", text=Clean("Leave that alone."), gate="g1")
        return Directive(kind="go_on")

    agent = lab.agent("works")
    lab.person.step = step  # type: ignore[method-assign]
    await lab.attempt("", agent=agent)
    assert [one["input"][0]["text"] for one in lab.heard("turn/start")] == ["Do it", "Leave that alone."]


async def test_words_that_come_as_the_turn_ends_make_another_one(lab: Lab) -> None:
    """A failing step and the end of its turn are heard in the same moment; the agent is told about the step all the
    same."""
    words = Directive(kind="tell", text=Clean("Leave that alone."), gate="g1")

    async def step(observation: Observation, *, within: float | None = None) -> Directive:
        lab.person.see(observation)
        failures = sum(one.kind == "failure" for one in lab.person.seen)
        return words if observation.kind == "failure" and failures == 1 else Directive(kind="go_on")

    lab.person.step = step  # type: ignore[method-assign]
    await lab.attempt("at-once")
    assert [one["input"][0]["text"] for one in lab.heard("turn/start")] == ["Do it", "Leave that alone."]
    assert lab.person.told == [words]


async def test_a_flood_of_requests_is_not_asked_about(lab: Lab) -> None:
    """Of hundreds at once a person is asked about some; the others are declined at once."""
    never = asyncio.Event()

    async def permit(observation: Observation, *, why: Clean = Clean("")) -> Directive:
        lab.person.asked.append((observation, why))
        await never.wait()
        return Directive(kind="go_on")

    lab.person.permit = permit  # type: ignore[method-assign]
    work = lab.attempt("flood")
    async with asyncio.timeout(60):
        await work
    assert len(lab.person.asked) == 32
    assert lab.answers() == [{"decision": "decline"}] * 368


async def test_stop_interrupts_the_turn(lab: Lab) -> None:
    """The turn is interrupted before the process is ended, and nothing of it is left."""
    agent = lab.agent("silent")
    work = lab.attempt("", agent=agent)
    await lab.person.until("action")
    receipt = await agent.stop("web.1")
    assert lab.heard("turn/interrupt") == [{"threadId": "thread-1", "turnId": "turn-1"}]
    assert [pid for pid, _, _ in receipt.ended][:1] == [lab.person.pid]
    assert receipt.alive == ()
    await work


@pytest.mark.parametrize("mode", ["silent", "child"])
async def test_cancel_leaves_no_process(lab: Lab, mode: str) -> None:
    """Neither its own nor one that it has started."""
    work = lab.attempt(mode)
    await lab.person.until("message")
    process = psutil.Process(lab.person.pid)
    family = [process, *process.children(recursive=True)]
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("early", "it ended before its turn was over (exit code 7): panicked at core.rs"),
        ("gone", "it ended before its turn was over (exit code 1): there is no app-server in this version"),
        ("long", "it said a line of more than 16 MiB"),
        ("broken", 'it said a line that is no JSON: {"method": "turn/completed", "par'),
        ("other", "it answers `initialize` as no app-server does that is known here"),
        ("refuses", "unknown variant `initialize`"),
        ("nameless", "it names no thread: scripted/1.0 speaks another version of its protocol"),
    ],
)
async def test_a_wrong_one_ends_its_attempt(lab: Lab, mode: str, said: str) -> None:
    """A stream that ends early, a line without an end, and another protocol are one clear line each, and no process
    stays behind."""
    report = await lab.attempt(mode)
    assert report.how == "crashed"
    assert report.error is not None
    assert report.error == f"codex app-server: {said}"
    assert not psutil.pid_exists(lab.person.pid)


async def test_a_turn_that_fails_says_why(lab: Lab) -> None:
    """Its own words are what the failure is diagnosed from."""
    report = await lab.attempt("fails")
    assert report.how == "ended"
    assert report.exit_code == 1
    assert report.error == "quota exceeded: try again later"


async def test_a_turn_that_only_waits_for_the_network_is_ended(lab: Lab) -> None:
    """After four waits in a row, of which Codex would make ever more; the error names what is wrong."""
    report = await lab.attempt("offline")
    assert report.how == "ended"
    assert report.exit_code == 1
    assert report.error == "codex repeats a request that does not reach its provider: Connection failed: no route"


async def test_a_turn_whose_network_comes_back_has_worked(lab: Lab) -> None:
    """It ends well in the moment in which it is to be interrupted."""
    report = await lab.attempt("online-again")
    assert (report.how, report.exit_code, report.error) == ("ended", 0, None)


async def test_a_signal_that_is_wanted_and_missing(lab: Lab) -> None:
    """A signal in its messages counts, as for every agent."""
    assert (await lab.attempt("works", signals=True)).how == "no_signal"
