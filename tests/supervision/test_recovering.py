"""An attempt that was cut off: saved first, decided by whoever is asked or by the settings, and told to the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.contract import Capabilities, Choice, Gate
from unstuck.errors import AnswerRefused, UsageError
from unstuck.escalation.prompts import IN_HANDS
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import read_records, replay
from unstuck.runs.answers.answer_offline import answer_offline
from unstuck.runs.recovery_choices import require_possible
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.recovery.review import Standstill
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.workspace.project import locate
from unstuck_tui.render.recovery import facts_of

PATIENCE = 60
WEB = Task(id="web", prompt=admit("Mend it."), verify="grep -q good app.py")
CAN = Capabilities(stop=True, fresh=True, may_restore=True)


async def cut_off(repo: Path, settings: Settings | None = None) -> str:
    """A run whose first attempt has written two files when its supervisor is gone."""
    start = e.RunStarted(project="shop", kind="plan")
    async with Supervisor.open(repo, settings, start=start) as supervisor:
        directive = await supervisor.session(WEB, CAN).begin()
        assert directive.kind == "start"
        (repo / "app.py").write_text("half\n")
        (repo / "README.md").write_text("# Changed\n")
        await supervisor.core.journal.committed()
        return supervisor.run


async def resumed(repo: Path, run: str, **how: Any) -> list[Guidance]:
    """Go on with the run to its end, or until it has to wait; what the agent was told."""
    told: list[Guidance] = []

    async def work(guidance: Guidance) -> Report:
        told.append(guidance)
        (repo / "app.py").write_text("good\n")
        return Report()

    async with asyncio.timeout(PATIENCE), Supervisor.open(repo, resume=run, **how) as supervisor:
        await Coordinator(supervisor, lambda task: CallableAgent(work)).run()
    return told


def events_of(repo: Path, run: str) -> list[Any]:
    return list(read_records(repo / ".git" / "unstuck" / "runs" / run / "events.jsonl"))


def state_of(repo: Path, run: str) -> Any:
    return replay(repo / ".git" / "unstuck" / "runs" / run / "events.jsonl")


def decided(repo: Path, run: str) -> list[tuple[str, str]]:
    """Return the decisions and their actors."""
    return [(one.actor, one.event.choice) for one in events_of(repo, run) if isinstance(one.event, e.RecoveryDecided)]


async def test_by_default_it_goes_on_with_the_files_as_they_are(repo: Path) -> None:
    """Saved before anything else; the next attempt is told what happened and what is in the tree, and nobody asked."""
    run = await cut_off(repo)
    (told,) = await resumed(repo, run)
    assert told.text.startswith("Mend it.\n")
    assert "was cut off from outside, and nothing has judged its work" in told.text
    assert "- changed README.md" in told.text
    assert "- added app.py" in told.text
    assert (repo / "README.md").read_text() == "# Changed\n"
    assert decided(repo, run) == [("policy", "continue")]
    names = [one.name for one in events_of(repo, run)]
    after = names[names.index("attempt_interrupted") :]
    assert after.index("checkpoint_created") < after.index("recovery_decided") < after.index("attempt_started")
    assert "gate_opened" not in names


@pytest.mark.parametrize("recovery", ["continue", "retry"])
async def test_what_a_person_did_meanwhile_is_told_as_theirs(
    repo: Path, recovery: Literal["continue", "retry"]
) -> None:
    """It stood still while somebody worked in its files, and was cut off: its successor hears whose work it finds.

    Nothing is said of it where the files were set back, and that work with them.
    """
    start = e.RunStarted(project="shop", kind="plan")
    settings = Settings(recovery=recovery)
    async with Supervisor.open(repo, start=start, person=True, settings=settings) as supervisor:
        await supervisor.session(WEB, CAN).begin()
        opened = e.GateOpened(gate="g1", type="question", context={}, choices=("continue",), attempt_id="web.1")
        supervisor.core.append(opened, task="web", attempt="web.1")
        supervisor.core.append(e.HandedOver(gate="g1", checkpoint="chk-1"), task="web", attempt="web.1", actor="human")
        (repo / "app.py").write_text("by hand\n")
        await supervisor.core.journal.committed()
        run = supervisor.run
    (told,) = await resumed(repo, run)
    assert ("- added app.py" in told.text) == (recovery == "continue")
    assert (IN_HANDS in told.text) == (recovery == "continue")


async def test_the_settings_may_have_it_go_back_and_begin_again(repo: Path) -> None:
    """`recovery: retry`: the files are those from before, what was there is saved, and the attempt is told so."""
    run = await cut_off(repo, Settings(recovery="retry"))
    (told,) = await resumed(repo, run)
    assert told.text.startswith("Mend it.\n")
    assert "Your earlier edits were set back, so that the attempt begins again (files: 2)" in told.text
    assert "is in the files" not in told.text
    assert (repo / "README.md").read_text() == "# Example\n"
    assert decided(repo, run) == [("policy", "retry")]
    (restored,) = [one.event for one in events_of(repo, run) if isinstance(one.event, e.RestoreDone)]
    assert restored.safety


async def test_the_settings_may_have_it_wait_for_a_person(repo: Path) -> None:
    """`recovery: ask`: headless, too, the run waits with all the facts in its question."""
    run = await cut_off(repo, Settings(recovery="ask"))
    assert await resumed(repo, run) == []
    (row,) = state_of(repo, run).open_gates()
    assert row.gate.type == "recovery"
    assert row.gate.task == "web"
    assert row.gate.choices == ("continue", "retry", "done", "skip", "abandon")
    assert row.gate.context["paths"] == ["changed README.md +1 -1", "added app.py +1 -0"]
    assert row.gate.context["checkpoint"].startswith("chk-")
    assert state_of(repo, run).run.exit_code == 3
    assert await resumed(repo, run) == []
    assert len(state_of(repo, run).gates) == 1, "the same question is not asked twice"


@pytest.mark.parametrize(
    ("choice", "attempts", "status", "readme"),
    [
        ("continue", 2, "succeeded", "# Changed\n"),
        ("retry", 2, "succeeded", "# Example\n"),
        ("done", 1, "succeeded", "# Changed\n"),
        ("skip", 1, "skipped", "# Changed\n"),
        ("abandon", 1, "abandoned", "# Changed\n"),
    ],
)
async def test_each_answer_does_what_it_says_at_the_next_dispatch(
    repo: Path, choice: Choice, attempts: int, status: str, readme: str
) -> None:
    """Answered while nothing is live, each choice takes its effect when the run goes on, in the person's name."""
    run = await cut_off(repo, Settings(recovery="ask"))
    await resumed(repo, run)
    if choice == "done":
        (repo / "app.py").write_text("good\n")  # the person has finished it themselves
    (row,) = state_of(repo, run).open_gates()
    await answer_offline(await locate(repo), row.id, Answer(choice=choice))
    await resumed(repo, run)
    task = state_of(repo, run).tasks["web"]
    assert task.attempts == attempts
    assert task.status == status
    assert (repo / "README.md").read_text() == readme
    gone = choice in ("skip", "abandon")
    assert decided(repo, run) == ([] if gone else [("human", choice)])
    assert state_of(repo, run).gates[row.id].status == ("answered" if gone else "delivered")


async def test_done_is_believed_only_by_the_check(repo: Path) -> None:
    """Taken for done while the check fails: it goes on like every attempt that failed, and is not done."""
    run = await cut_off(repo)
    (told,) = await resumed(repo, run, chosen={"web": "done"})
    assert told.level == "retry"
    assert "did not pass the check" in told.text
    assert decided(repo, run) == [("human", "done")]
    assert [one.event.result for one in events_of(repo, run) if isinstance(one.event, e.CheckFinished)] == [
        "failed",
        "passed",
    ]


async def test_what_was_said_beforehand_counts_by_name_and_by_pattern(repo: Path) -> None:
    """`--recover web=retry` decides in the person's name, also where the question has been open since the last time."""
    run = await cut_off(repo, Settings(recovery="ask"))
    await resumed(repo, run)
    await resumed(repo, run, chosen={"w*": "abandon", "web": "retry"})
    assert decided(repo, run) == [("human", "retry")]
    assert (repo / "README.md").read_text() == "# Example\n"


async def test_what_cannot_be_is_refused_before_anything_starts(repo: Path) -> None:
    """A task that was not cut off, and a choice that is not possible, each with its reason."""
    run = await cut_off(repo)
    state = state_of(repo, run)
    require_possible(state, {"web": "retry", "*": "continue"}, git=True)
    with pytest.raises(UsageError, match="no task zoo was interrupted"):
        require_possible(state, {"zoo": "retry"}, git=True)
    with pytest.raises(UsageError, match="web=retry: without git"):
        require_possible(state, {"web": "retry"}, git=False)


async def test_a_rule_answers_where_nobody_is(repo: Path) -> None:
    """`--answers` with `gate: recovery` decides it, as a rule, and uses itself up once."""
    run, asked = await cut_off(repo), []

    def policy(state: Any) -> Any:
        def match(gate: Gate) -> Any:
            asked.append(gate.type)
            return (0, Answer(choice="retry")) if gate.type == "recovery" else None

        return match

    await resumed(repo, run, policy=policy)
    assert decided(repo, run) == [("policy", "retry")]
    assert asked.count("recovery") == 1


async def test_where_nobody_may_be_asked_the_settings_decide(repo: Path) -> None:
    """`ask: never` outweighs `recovery: ask`."""
    run = await cut_off(repo, Settings(recovery="ask", ask="never"))
    assert len(await resumed(repo, run)) == 1
    assert decided(repo, run) == [("policy", "continue")]


async def test_cut_off_again_and_again_it_is_told_of_the_last_time_only(repo: Path) -> None:
    """The note is for one attempt alone: however often it is cut off, the text does not grow."""
    run = await cut_off(repo)
    texts = []
    for _ in range(3):
        async with Supervisor.open(repo, resume=run) as supervisor:
            directive = await supervisor.session(WEB, CAN).begin()
            texts.append(directive.text)
            await supervisor.core.journal.committed()
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].count("was cut off") == 1


async def test_an_answer_that_was_not_heard_yet_goes_with_the_attempt_that_begins_again(repo: Path) -> None:
    """The person had shown how when it was cut off: whether it goes on or goes back, the next attempt hears it."""
    for choice in ("continue", "retry"):
        start = e.RunStarted(project="shop", kind="plan")
        async with Supervisor.open(repo, start=start) as supervisor:
            await supervisor.session(WEB, CAN).begin()
            core = supervisor.core
            asked = e.GateOpened(gate="g1-x", type="loop_detected", choices=("show_me",), attempt_id="web.1")
            core.append(asked, task="web", attempt="web.1")
            await supervisor.answer("g1-x", Answer(choice="show_me", text=admit("Take the lock first.")))
        (told,) = await resumed(repo, supervisor.run, chosen={"web": choice})
        assert "Take the lock first." in told.text, choice
        assert "was cut off" in told.text
        assert told.answers == ("g1-x",)
        assert state_of(repo, supervisor.run).gates["g1-x"].status == "delivered"
        (repo / "app.py").unlink()


async def test_words_with_going_back_are_refused(repo: Path) -> None:
    """Going back tells the attempt what it was told: words that nobody would hear are not taken."""
    run = await cut_off(repo, Settings(recovery="ask"))
    await resumed(repo, run)
    (row,) = state_of(repo, run).open_gates()
    with pytest.raises(AnswerRefused, match="no words"):
        await answer_offline(await locate(repo), row.id, Answer(choice="retry", text=admit("use Decimal")))


# --- a person at the screen -------------------------------------------------------------------------------------------


@asynccontextmanager
async def standing(repo: Path, run: str, **how: Any) -> AsyncIterator[tuple[Supervisor, Standstill, Any]]:
    """The run opened again with a person before it: who waits, and its answer."""
    async with asyncio.timeout(PATIENCE), Supervisor.open(repo, resume=run, person=True) as supervisor:
        still = Standstill(supervisor.core, died=True, **how)
        waiting = asyncio.ensure_future(still.over())
        await asyncio.wait([waiting, asyncio.ensure_future(still.known.wait())], return_when=asyncio.FIRST_COMPLETED)
        yield supervisor, still, waiting


async def test_what_a_person_did_by_hand_is_not_said_to_be_unchanged(repo: Path) -> None:
    """Killed while its files were in my hands: what I did then is none of its work, and there all the same."""
    run = await cut_off(repo)
    async with Supervisor.open(repo, resume=run, person=True) as supervisor:
        store = supervisor.core.checkpoints(repo)
        assert (await store.create("hand-over", run=run, task="web", works=False)).is_new
        (repo / "mine.txt").write_text("by hand\n")
    async with standing(repo, run) as (_, still, waiting):
        told = dict(facts_of(still.facts.tasks[0]))
        assert told["Changed"].endswith("added app.py +1 -0 · and 1 file by others")
        assert told["Since"].startswith("unchanged by it since chk-")
        assert told["Since"].endswith(" · and 1 file by others")
        waiting.cancel()


async def test_nothing_happens_until_the_person_says_so(repo: Path) -> None:
    """All is saved and asked; only deciding lets the run go on, and then as it was decided."""
    run = await cut_off(repo)
    async with standing(repo, run) as (supervisor, still, waiting):
        (found,) = still.facts.tasks
        assert found.possible == ("continue", "retry", "done", "skip", "abandon")
        assert found.back is not None
        assert [str(change) for change in found.back.changes] == ["changed README.md +1 -1", "added app.py +1 -0"]
        assert found.saved.startswith("chk-")
        assert (await still.check("web")).result == "failed"
        assert still.facts.tasks[0].refused["done"].startswith("its check fails now")
        seq = supervisor.core.head.seq
        supervisor.core.signals.wake_all()
        await asyncio.sleep(0)
        assert not waiting.done()
        assert supervisor.core.head.seq == seq, "looking and checking decide nothing"
        assert await still.decide({"web": "retry"}) == {}
        still.begin()
        assert await waiting is True
    await resumed(repo, run)
    assert decided(repo, run) == [("human", "retry")]


async def test_answered_from_elsewhere_it_goes_on(repo: Path) -> None:
    """Somebody has answered the last question through the socket: nobody has to press a key here."""
    run = await cut_off(repo)
    async with standing(repo, run) as (supervisor, still, waiting):
        (gate,) = still.questions()
        await supervisor.answer(gate.id, Answer(choice="continue"))
        assert await waiting is True


async def test_left_undecided_everything_stays_as_it_was(repo: Path) -> None:
    """The person goes away: no attempt has begun, the question is still open, and no file has changed."""
    run = await cut_off(repo)
    async with standing(repo, run) as (supervisor, still, waiting):
        supervisor.unwatched()
        assert await waiting is False
        still.leave()
        assert supervisor.core.head.run.state == "running"
    state = state_of(repo, run)
    assert [row.gate.type for row in state.open_gates()] == ["recovery"]
    assert state.tasks["web"].attempts == 1
    assert state.tasks["web"].state == "interrupted"
    assert (repo / "app.py").read_text() == "half\n"


async def test_with_nothing_to_decide_it_waits_only_where_it_was_told_to(repo: Path) -> None:
    """A run without a task that was cut off goes on at once; `unstuck` alone asks first, and leaving stops it."""
    start = e.RunStarted(project="shop", kind="plan")
    async with Supervisor.open(repo, start=start) as supervisor:
        supervisor.add(WEB)
    run = supervisor.run
    async with standing(repo, run) as (_, _, waiting):
        assert await waiting is True
    async with standing(repo, run, always=True) as (supervisor, still, waiting):
        assert [(one.task, one.next) for one in still.facts.onward] == [("web", "begins")]
        assert not waiting.done()
        supervisor.unwatched()
        assert await waiting is False
        still.leave()
        assert supervisor.core.head.run.state == "draining"


@pytest.mark.parametrize(
    "last", ["checkpoint_created", "gate_opened", "gate_answered", "recovery_decided", "restore_done"]
)
async def test_killed_in_the_middle_of_a_recovery_it_ends_the_same(repo: Path, last: str) -> None:
    """After any record of a recovery the next start goes on from there: decided once, set back, and done."""
    run = await cut_off(repo, Settings(recovery="ask"))
    await resumed(repo, run)
    (row,) = state_of(repo, run).open_gates()
    await answer_offline(await locate(repo), row.id, Answer(choice="retry"))
    await resumed(repo, run)
    records = events_of(repo, run)
    cut = max(record.seq for record in records if record.name == "attempt_interrupted")
    end = next(record.seq for record in records if record.seq > cut and record.name == last)
    folder = repo / ".git" / "unstuck" / "runs" / run
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "events.jsonl").write_bytes(b"".join(lines[:end]))
    for snapshot in folder.glob("state.json*"):
        snapshot.unlink()
    (repo / "app.py").write_text("half\n")
    await resumed(repo, run, chosen={"web": "retry"} if last in ("checkpoint_created", "gate_opened") else None)
    task = state_of(repo, run).tasks["web"]
    assert task.attempts == 2
    assert task.status == "succeeded"
    assert (repo / "README.md").read_text() == "# Example\n"
    assert decided(repo, run) == [("human", "retry")]
