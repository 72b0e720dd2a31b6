"""An agent that is spoken with, as a process: its work on record, its questions answered, its words heard, its end."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.acp.conftest import Talk, Talks, act, rule, run
from tests.manual_clock import ManualClock

from unstuck import Answer, admit
from unstuck.eventlog import events as e

REFUSED = Path(__file__).parents[1] / "data" / "refused"
FAILING = "echo oops >&2; exit 3"


def steps(talk: Talk) -> list[tuple[str, str, int | None]]:
    """Return the recorded steps of its work."""
    return [(one.kind, str(one.text).strip(), one.exit_code) for one in talk.events(e.StepRecorded)]


def reports(talk: Talk) -> list[Any]:
    """Return the end of each attempt."""
    return [one.report for one in talk.events(e.AttemptEnded)]


async def test_its_work_is_on_record(talking: Talks) -> None:
    """Messages, commands with how they ended, plans, usage, its session and its raw words are all kept."""
    steps_of_it = (act("say", text="I look."), run("echo hi"), act("plan", steps=["mend it"]), run(FAILING))
    async with talking(rule(*steps_of_it, act("say", text="Approach: by hand"))) as talk:
        outcome = await talk.work()
        assert outcome.status == "unverified"
        assert steps(talk) == [
            ("message", "I look.", None),
            ("action", "echo hi", None),
            ("success", "hi", 0),
            ("action", 'plan ["[pending] mend it"]', None),
            ("action", FAILING, None),
            ("failure", "oops", 3),
            ("message", "Approach: by hand", None),
        ]
        (report,) = reports(talk)
        assert report.how == "ended"
        assert report.error is None
        assert report.session == "ses_0"
        assert report.approach == "by hand"
        assert sum(one.tokens for one in talk.events(e.UsageCounted)) == 110
        raw = (talk.supervisor.core.folder / report.output).read_text("utf-8")
        assert '"sessionUpdate": "tool_call"' in raw


async def test_what_it_claims_is_on_record(talking: Talks) -> None:
    """Its last message stands in the report with the claim in it, beside the model that its session names."""
    async with talking(
        rule(act("say", text="I look."), run("echo hi"), act("say", text="All done.")), model="m-1"
    ) as talk:
        await talk.work()
        (report,) = reports(talk)
        assert (report.last_message, report.claim, report.model) == ("All done.", "done", "m-1")


async def test_allowed_and_denied_by_a_person(talking: Talks) -> None:
    """A request for permission is a question with the files saved; yes is this once, and a no with its reason follows
    as words of their own, in the same session, and the agent goes on."""
    first = rule(run("echo one", ask=True, why="to count"), run("echo two", ask=True), told="Make")
    then = rule(run("echo three"), told="count in English")
    async with talking(first, then) as talk:
        work = talk.work()
        gate = await talk.answer("allow")
        assert gate.type == "permission"
        assert gate.standing == "frozen"
        assert gate.context["problem"] == "echo one"
        assert gate.context["context"] == "to count"
        assert gate.context["saved"]
        denied = await talk.answer("deny", "count in English")
        assert denied.context["problem"] == "echo two"
        await work
        answers = [one["result"]["outcome"]["optionId"] for one in talk.noted("heard") if "result" in one]
        assert answers == ["now", "no"]
        assert talk.told()[1:] == ["This was not allowed: count in English"]
        assert {one["session"] for one in talk.noted("told")} == {"ses_0"}
        assert ("success", "three", 0) in steps(talk)
        assert {talk.status(gate.id), talk.status(denied.id)} == {"delivered"}


async def test_a_no_is_heard_where_nobody_may_be_asked(talking: Talks) -> None:
    """With `ask: never` it is refused at once, told why, and asks in vain at most a few times."""
    async with talking(rule(run("make deploy", ask=True)), settings={"ask": "never"}) as talk:
        await talk.work()
        noted = talk.noted("permissions")
        refused = [one for one in noted if one.get("optionId") == "no"]
        assert refused
        # A request that comes as its turn ends is answered as cancelled, which names no option.
        assert [one for one in noted if one not in refused and one != {"outcome": "cancelled"}] == []
        assert sum("Nobody may be asked" in said for said in talk.told()) == 3


@pytest.mark.parametrize("late", [False, True])
async def test_what_is_given_up_with_its_turn_is_not_asked(late: bool, talking: Talks) -> None:
    """A no begins a turn of its own: what else was asked in the old one is answered as cancelled, and no question; also
    what the agent still asks before it has ended that turn."""
    asks = act("ask_all", commands=["one", "two", "three"], kinds=["allow_once", "reject_once"], late=late)
    async with talking(rule(asks, told="Make"), rule(told="by hand")) as talk:
        work = talk.work()
        await talk.answer("deny", "do it by hand")
        await work
        assert talk.noted("permissions") == ["selected", "cancelled", "cancelled"]
        assert len(talk.events(e.GateOpened)) == 1
        assert "do it by hand" in talk.told()[1]


async def test_what_offers_no_yes_is_no_question(talking: Talks) -> None:
    """A person would say yes to something that cannot be said: it is cancelled at once."""
    asks = act("ask_all", commands=["one"], kinds=["reject_once", "allow_maybe"])
    async with talking(rule(asks)) as talk:
        await talk.work()
        assert talk.noted("permissions") == ["cancelled"]
        assert talk.events(e.GateOpened) == []


async def test_a_nudge_and_words_reach_the_turn(talking: Talks) -> None:
    """A nudge about a loop reaches an agent that can hear words in its turn, and the turn goes on."""
    again = [run(f"cat shop.py; {FAILING}") for _ in range(3)]
    async with talking(rule(*again, act("hear"), run("echo better")), steers=True) as talk:
        await talk.work()
        assert talk.events(e.LoopWarned)
        steered = [one for one in talk.noted("told") if one.get("steered")]
        assert "going round in circles" in steered[0]["text"]
        assert ("success", "better", 0) in steps(talk)


async def test_allowed_calls_are_a_loop_like_others(talking: Talks) -> None:
    """An agent that asks about each call, and gets a yes each time, is told all the same that it repeats itself; the
    log says so once it has the message."""
    again = [run(f"cat shop.py; {FAILING}", ask=True) for _ in range(3)]
    async with talking(rule(*again, act("hear"), run("echo better")), steers=True) as talk:
        work = talk.work()
        for _ in again:
            await talk.answer("allow")
        await work
        (warned,), (told,) = talk.events(e.LoopWarned), talk.events(e.LoopTold)
        assert warned.pattern == told.pattern
        assert ("success", "better", 0) in steps(talk)


@pytest.mark.parametrize("aborts", [False, True])
async def test_words_end_a_turn_that_cannot_hear_them(aborts: bool, talking: Talks) -> None:
    """Otherwise the turn is cancelled and the next one begins with the words, in the same session and process; also
    with an agent that calls it an error to have been cancelled."""
    again = [run(f"cat shop.py; {FAILING}") for _ in range(3)]
    after = rule(act("say", text="I take another way."), told="going round in circles")
    async with talking(after, rule(*again, act("hang")), aborts=aborts) as talk:
        await talk.work()
        assert len(talk.told()) == 2
        assert "going round in circles" in talk.told()[1]
        assert {one["session"] for one in talk.noted("told")} == {"ses_0"}
        assert len(talk.events(e.AgentSpawned)) == 1
        assert steps(talk)[-1][1] == "I take another way."


async def test_it_stands_still_and_hears_the_answer(talking: Talks) -> None:
    """A person who holds it sees it stopped; what they say reaches the same attempt once it goes on."""
    after = rule(act("say", text="In the cellar."), told="look in the cellar")
    async with talking(after, rule(act("hang"))) as talk:
        work = talk.work()
        await talk.until_noted("told")
        gate = await talk.supervisor.hold("web")
        (pid,) = talk.noted("pids")
        async with asyncio.timeout(30):
            while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
                await asyncio.sleep(0.01)
        await talk.supervisor.answer(gate, Answer(choice="show_me", text=admit("look in the cellar")))
        await work
        assert talk.told()[1:] == ["A person says: look in the cellar"]
        assert talk.status(gate) == "delivered"
        assert len(talk.events(e.AttemptStarted)) == 1


@pytest.mark.parametrize("way", ["resumes", "loads"])
async def test_a_retry_goes_on_with_the_session(way: str, talking: Talks) -> None:
    """The next attempt is another process in the same session; what is told of long ago is not its work."""
    does = rule(act("say", text="I did it."))
    async with talking(does, settings={"failure_handler": {"max_retries": 1, "max_pivots": 1}}, **{way: True}) as talk:
        work = talk.work(verify="false")
        await talk.until(lambda: talk.supervisor.core.head.open_gates())
        sessions = [one["session"] for one in talk.noted("told")]
        levels = [one.guidance.level for one in talk.events(e.AttemptStarted)]
        assert levels[:3] == ["first", "retry", "pivot"]
        assert sessions[0] == sessions[1] != sessions[2]
        assert {text for _, text, _ in steps(talk)} == {"I did it."}
        methods = [one["method"] for one in talk.noted("heard")]
        assert methods.count("session/new") == methods.count("initialize") - methods.count(f"session/{way[:-1]}")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_a_session_that_is_gone_begins_anew(talking: Talks) -> None:
    """An attempt gets a new session if the agent no longer knows its own or cannot go on with one."""
    settings = {"failure_handler": {"max_retries": 1, "max_pivots": 0}}
    async with talking(rule(act("say", text="I did it.")), settings=settings, loads=True) as talk:
        work = talk.work(verify=f"rm -f {talk.folder}/ses_*; false")
        await talk.until(lambda: len(talk.events(e.AttemptEnded)) > 1)
        methods = [one["method"] for one in talk.noted("heard")]
        assert methods.count("session/load") == 1
        assert methods.count("session/new") == 2
        assert [one.how for one in reports(talk)[:2]] == ["ended", "ended"]
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


@pytest.mark.parametrize("script", [{}, {"deaf": True}])
async def test_cancel_leaves_no_process(
    script: dict[str, Any], talking: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop ends the turn where the agent hears of it, and then everything: a child that has freed itself, too."""
    if script:
        monkeypatch.setattr("unstuck.agents.command.conversation_agent._INTERRUPT_S", 0.5)
    async with talking(rule(act("orphan"), run("sleep 3600")), **script) as talk:
        work = talk.work()
        pids = await talk.until_noted("pids", 3)
        assert len(talk.left()) == 3
        await talk.supervisor.stop("test")
        await work
        assert talk.left() == []
        (receipt,) = talk.events(e.StopReceipt)
        assert set(pids) <= {pid for pid, _, _ in receipt.ended} | ({pids[2]} if not script else set())
        assert receipt.alive == ()
        assert any(one.get("method") == "session/cancel" for one in talk.noted("heard"))


async def test_a_whole_attempt_leaves_no_process(talking: Talks) -> None:
    """Processes that an agent leaves behind are ended, and are in the report."""
    async with talking(rule(act("orphan"), act("say", text="Done."))) as talk:
        await talk.work()
        assert talk.left() == []
        (report,) = reports(talk)
        assert {pid for pid, _, _ in report.receipt.ended} >= set(talk.noted("pids"))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"version": 2}, "it speaks version 2 of the Agent Client Protocol, not version 1"),
        ({"version": "next"}, 'it speaks version "next" of the Agent Client Protocol'),
    ],
)
async def test_no_conversation(script: dict[str, Any], said: str, talking: Talks) -> None:
    """One clear line says why there can be none; the attempt is over and the run goes on to the next."""
    async with talking(rule(), **script) as talk:
        work = talk.work()
        await talk.until(lambda: len(talk.events(e.AttemptEnded)) > 1)
        assert reports(talk)[0].how == "crashed"
        assert said in reports(talk)[0].error.splitlines()[0]
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_an_agent_that_is_not_signed_in_is_asked_about(talking: Talks) -> None:
    """After one attempt the question has the agent's own message; the run does not go on to the next attempt."""
    async with talking(rule(), fault="auth") as talk:
        work = talk.work()
        await talk.until(lambda: talk.events(e.GateOpened))
        (gate,) = talk.events(e.GateOpened)
        assert gate.key == "agent"
        assert "it is not signed in (Authentication required)" in gate.context["question"].splitlines()[0]
        assert len(reports(talk)) == 1
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


TELL_LOGS = [
    ("qwen", "qwen.txt", "data/debug/ses_0.txt"),
    ("opencode", "opencode.log", "data/opencode/log/opencode.log"),
    ("gemini", "gemini_acp.log", ""),
    ("gemini", "gemini_acp.log", "data/debug.log"),
]
"""Each with what it logged, and where; empty for a log that it is given for the attempt."""


@pytest.mark.parametrize(("agent", "recorded", "log"), TELL_LOGS)
@pytest.mark.parametrize("deaf", [False, True])
async def test_an_agent_that_tells_its_log_alone_is_ended(
    agent: str, recorded: str, log: str, deaf: bool, talking: Talks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Refusals in a row in its log are an outage, also where it does not hear that its turn is over; a log that is its
    user's stays, and none else does."""
    monkeypatch.setattr("unstuck.agents.command.refused_requests._LOOK_S", 0.05)
    monkeypatch.setattr("unstuck.agents.acp.turns._CANCEL_S", 0.2)
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if log and agent == "gemini":
        monkeypatch.setenv("GEMINI_DEBUG_LOG_FILE", str(tmp_path / log))
    lines = re.sub(r"ses_\w{26}", "ses_0", (REFUSED / recorded).read_text("utf-8"))
    async with talking(rule(act("hang")), program=agent, deaf=deaf) as talk:
        work = talk.work(verify="false")
        await talk.until_noted("told")
        file = tmp_path / log if log else Path(talk.noted("log")[0])
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as appended:  # once: a log that is removed does not come again
            while not reports(talk):
                appended.write(lines)
                appended.flush()
                await asyncio.sleep(0.05)
        report = reports(talk)[0]
        assert (report.how, report.marked, report.session, report.program) == ("ended", True, "ses_0", agent)
        assert file.exists() is bool(log)
        status = "" if agent == "opencode" else "503 "
        said = f"{status}The server is overloaded or not ready yet."
        assert report.error == f"{agent} repeats a request that its provider refuses: {said}"
        await talk.until(lambda: talk.events(e.TransientErrorRetry))
        assert talk.events(e.DirectiveIssued) == []
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("exit", "it ended before its turn was over (exit code 3): panic: out of cheese"),
        ("eof", "its stream ended"),
        ("huge", "it said a line of more than 16 MiB"),
    ],
)
async def test_a_broken_stream_ends_only_its_attempt(
    fault: str, said: str, talking: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that ends early, or twenty megabytes in one line, is one clear error; the next attempt works."""
    if fault == "eof":
        monkeypatch.setattr("unstuck.agents.acp.transport._WAIT_S", 0.1)
    good = rule(act("say", text="Now it works."), told="The agent")
    async with talking(good, rule(act("say", text="I begin."), act("fault", name=fault))) as talk:
        work = talk.work()
        await talk.until(lambda: len(talk.events(e.AttemptStarted)) > 1)
        report = reports(talk)[0]
        assert report.how == "crashed"
        assert report.session == "ses_0"
        assert said in report.error
        assert len(report.error) < 300
        assert talk.left()[1:] == []
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_an_agent_that_never_answers(talking: Talks, clock: ManualClock) -> None:
    """Its introduction has a long limit; past it the attempt ends with what it had printed instead."""
    async with talking(rule(), clock=clock, fault="silent") as talk:
        work = talk.work()
        await talk.until_noted("heard")
        await clock.advance(119)
        assert not reports(talk)
        await clock.advance(2)
        await talk.until(lambda: reports(talk))
        assert "it did not initialize within 120 s" in reports(talk)[0].error
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_noise_and_strange_messages_do_no_harm(talking: Talks, capfd: pytest.CaptureFixture[str]) -> None:
    """Lines that are no message, messages of no known shape and requests for what we cannot do are passed over, and
    nothing of it reaches the person's terminal."""
    does = (act("fault", name="strange"), act("request", method="fs/read_text_file"), run("echo still here"))
    async with talking(rule(*does), fault="noise") as talk:
        await talk.work()
        assert talk.noted("refusals") == [-32601]
        assert ("success", "still here", 0) in steps(talk)
    assert capfd.readouterr() == ("", "")


async def test_a_flood_is_bounded(talking: Talks) -> None:
    """Thousands of updates are heard to the last, and the pieces of a message are one record of a bounded size."""
    async with talking(rule(act("fault", name="flood"), act("say", text="that was all"))) as talk:
        await talk.work()
        recorded = steps(talk)
        assert len(recorded) == 1
        assert recorded[0][1].endswith("that was all")


@pytest.mark.parametrize(
    ("reason", "said"),
    [("max_tokens", "maximum context length"), ("refusal", "refused"), ("max_turn_requests", "limit")],
)
async def test_a_turn_that_ends_for_a_reason(reason: str, said: str, talking: Talks) -> None:
    """The reason of a bad end of turn is what the failure is diagnosed from."""
    async with talking(rule(act("end", reason=reason))) as talk:
        work = talk.work()
        await talk.until(lambda: reports(talk))
        assert said in reports(talk)[0].error
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
