"""Gates: what each answer does, and the manager that works alone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records
from tests.waiting import until

from unstuck import (
    Answer,
    AnswerRefused,
    Gate,
    GateClosed,
    GateManager,
    GateType,
    GateUnknown,
    Guidance,
    LoopDetector,
    Report,
    Supervisor,
    Task,
    admit,
)
from unstuck.contract import Choice, GateTypeName
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.supervision.gates.gate_types import CHOICES, accept, effect_of

PATIENCE = 60
EFFECTS = {
    "stuck": {
        "show_me": "prepare",
        "skip": "skipped",
        "abandon": "abandoned",
        "retry": "prepare",
        "check": "recheck",
    },
    "loop_detected": {
        "show_me": "prepare",
        "skip": "skipped",
        "abandon": "abandoned",
        "retry": "prepare",
        "continue": "go_on",
    },
    "timeout": {
        "extend": "go_on",
        "continue": "go_on",
        "stop": "stop",
        "retry": "stop",
        "skip": "skipped",
        "abandon": "abandoned",
    },
    "question": {"choose": "prepare", "show_me": "prepare", "skip": "skipped", "abandon": "abandoned"},
    "permission": {"allow": "go_on", "deny": "go_on"},
    "remediation": {"retry": "remediate", "skip": "remediate", "abandon": "halt"},
    "integration": {"retry": "integrate", "skip": "skipped", "abandon": "abandoned"},
    "disk": {"retry": "prepare", "skip": "skipped", "abandon": "abandoned"},
    "budget": {"extend": "go_on", "stop": "stop"},
    "recovery": {
        "continue": "go_on",
        "retry": "prepare",
        "done": "recheck",
        "skip": "skipped",
        "abandon": "abandoned",
        "adopt": "go_on",
        "stop": "stop",
    },
}


def gate(kind: Any, **fields: Any) -> Gate:
    return Gate(id="g1-abcd", type=kind, task="t", key=fields.pop("key", ""), choices=CHOICES[kind], **fields)


def test_every_type_has_its_choices() -> None:
    """No gate type is without answers, every answer is a known word, and each pair is in the table below."""
    assert set(CHOICES) == set(get_args(GateTypeName)) == {kind.value for kind in GateType} == set(EFFECTS)
    for kind, choices in CHOICES.items():
        assert set(choices) <= set(get_args(Choice))
        assert set(choices) == set(EFFECTS[kind])


@pytest.mark.parametrize(("kind", "choice"), [(kind, choice) for kind in CHOICES for choice in CHOICES[kind]])
def test_whatever_a_gate_offers_does_something(kind: Any, choice: Any) -> None:
    """Each answer of each question has its effect."""
    assert effect_of(gate(kind), Answer(choice=choice)) == EFFECTS[kind][choice]


@pytest.mark.parametrize("choice", ["show_me", "retry"])
def test_words_for_a_live_attempt_are_told_to_it(choice: str) -> None:
    """At a gate of a running attempt the same answer goes into the attempt instead of into the next one."""
    assert effect_of(gate("loop_detected", attempt="t.1"), Answer(choice=choice)) == "tell"


def test_a_check_that_could_not_run_is_run_again() -> None:
    """Choosing at the question about a check means: look again."""
    assert effect_of(gate("question", key="check"), Answer(choice="choose", number=1.0)) == "recheck"


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [
        ("stuck", Answer(choice="allow"), "it takes: show-me, skip, abandon, retry"),
        ("stuck", Answer(choice="show_me", text=admit(" \n")), "needs a text"),
        ("stuck", Answer(choice="retry", text=admit("  ")), "the approach is blank"),
        ("timeout", Answer(choice="extend"), "needs a duration above zero"),
        ("timeout", Answer(choice="extend", number=0.0), "needs a duration above zero"),
        ("timeout", Answer(choice="extend", number=-5.0), "needs a duration above zero"),
        ("timeout", Answer(choice="extend", number=float("inf")), "needs a number, not inf"),
        ("question", Answer(choice="choose"), "from 1 to 2"),
        ("question", Answer(choice="choose", number=3.0), "from 1 to 2"),
        ("question", Answer(choice="choose", number=1.5), "from 1 to 2"),
        ("question", Answer(choice="choose", number=float("nan")), "needs a number, not nan"),
    ],
)
def test_an_incomplete_answer_is_refused(kind: str, answer: Answer, said: str) -> None:
    """A missing part is named in one line."""
    with pytest.raises(AnswerRefused, match=said) as refused:
        accept(gate(kind, context={"options": ["80", "8080"]}), answer)
    assert "\n" not in str(refused.value)


def test_a_chosen_option_is_recorded_in_words() -> None:
    """An answer by number says what was chosen; its words are admitted, and it has its effect."""
    asked = gate("question", context={"options": ["80", "80\x1b[2J80"]})
    answer, effect = accept(asked, Answer(choice="choose", number=2.0))
    assert (answer.text, effect) == ("8080", "prepare")
    told, effect = accept(gate("stuck"), Answer(choice="show_me", text="use\x1b[2J it"))  # type: ignore[arg-type]
    assert (told.text, effect) == ("use it", "prepare")


# The manager alone


async def test_the_manager_alone() -> None:
    """Open, look, wait, answer: in memory, with one open gate for each task and type."""
    gates = GateManager()
    first = await gates.create_gate("stuck", task_id="t", agent_id="a", project_id="p", context={"problem": "x"})
    assert await gates.create_gate("stuck", task_id="t", agent_id="a", context={}) == first
    second = await gates.create_gate("timeout", task_id="t", agent_id="a", context={})
    (one, two) = gates.open_gates()
    assert one.id == first
    assert two.id == second
    assert dict(one.context) == {"problem": "x", "project_id": "p"}
    waiting = asyncio.ensure_future(gates.wait(first))
    await asyncio.sleep(0)
    assert not waiting.done()
    closed = await gates.answer(first, Answer(choice="skip"))
    assert closed.status == "answered"
    assert closed.by == "human"
    assert (await waiting).choice == "skip"
    assert (await gates.wait(first)).choice == "skip"
    assert [gate.id for gate in gates.open_gates()] == [second]
    assert await gates.create_gate("stuck", task_id="t", agent_id="a", context={}) not in (first, second)


async def test_the_manager_refuses() -> None:
    """Unknown ids, second answers, wrong choices and wrong types are errors with a line to read."""
    gates = GateManager()
    gate = await gates.create_gate("stuck", task_id="t", agent_id="a", context={})
    with pytest.raises(AnswerRefused):
        await gates.answer(gate, Answer(choice="extend", number=1.0))
    await gates.answer(gate, Answer(choice="abandon"), "policy")
    with pytest.raises(GateClosed) as closed:
        await gates.answer(gate, Answer(choice="skip"))
    assert closed.value.by == "policy"
    for unknown in (gates.answer("g9", Answer(choice="skip")), gates.wait("g9")):
        with pytest.raises(GateUnknown):
            await unknown
    with pytest.raises(ValueError, match="nonsense"):
        await gates.create_gate("nonsense", task_id="t", agent_id="a", context={})


async def test_the_manager_tells_the_answer() -> None:
    """A callback gets the answer: when it comes, or at once if it is there."""
    gates, told = GateManager(), list[str]()
    gate = await gates.create_gate("stuck", task_id="t", agent_id="a", context={})
    for name in ("first", "second"):
        gates.when_answered(gate, lambda answer, name=name: told.append(f"{name}: {answer.choice}"))  # type: ignore[misc]
    assert gates.is_open(gate)
    assert told == []
    await gates.answer(gate, Answer(choice="skip"))
    assert told == ["first: skip", "second: skip"]
    gates.when_answered(gate, lambda answer: told.append("late"))
    assert told[2:] == ["late"]
    assert not gates.is_open(gate)
    assert not gates.is_open("g9")
    with pytest.raises(GateUnknown):
        gates.when_answered("g9", told.append)  # type: ignore[arg-type]


class Steps:
    """Counts the lines of Python that are executed inside of it."""

    def __init__(self) -> None:
        self.count = 0

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.count += event == "line"
        return self._trace

    def __enter__(self) -> Steps:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)


@pytest.mark.parametrize("work", ["open", "same", "answer", "loop"])
async def test_a_gate_costs_the_same_beside_thousands(work: str) -> None:
    """A gate takes as many steps whether ten others are open or two thousand."""

    async def steps(others: int) -> int:
        gates = GateManager()
        detector = LoopDetector(gates, clock=ManualClock())
        for number in range(others):
            await gates.create_gate("timeout", task_id=f"t{number}", agent_id="a", context={})
        for _ in range(4):
            gate = await detector.check_and_trigger_gate("t1", "a", None, "x")
        with Steps() as counted:
            if work == "open":
                await gates.create_gate("timeout", task_id="new", agent_id="a", context={})
            elif work == "same":
                await gates.create_gate("timeout", task_id="t7", agent_id="a", context={})
            elif work == "answer":
                await gates.answer(str(gate), Answer(choice="skip"))
                await gates.wait(str(gate))
            else:
                assert await detector.check_and_trigger_gate("t1", "a", None, "x") == gate
        return counted.count

    assert await steps(2_000) == await steps(10) > 0


# What an answer does to a task that waits


class Asking:
    """An agent that asks in its first attempt and writes down what it is told."""

    def __init__(self, signal: Any = "needs_guidance", options: tuple[str, ...] = ("80", "8080")) -> None:
        self.signal, self.options, self.told = signal, options, list[Guidance]()

    async def __call__(self, guidance: Guidance) -> Report | None:
        self.told.append(guidance)
        if guidance.number > 1:
            return None
        options = tuple(admit(option) for option in self.options)
        return Report(exit_code=0, signal=self.signal, question=admit("Which port?"), options=options)


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (Answer(choice="choose", number=2.0), "unverified", "8080"),
        (Answer(choice="show_me", text=admit("any free one")), "unverified", "any free one"),
        (Answer(choice="skip"), "skipped", None),
        (Answer(choice="abandon"), "abandoned", None),
    ],
)
async def test_a_question_of_the_agent(repo: Path, answer: Answer, status: str, told: str | None) -> None:
    """The option that was chosen, or the person's own words, are in the next attempt; skip and abandon end the task."""
    agent = Asking()
    async with Supervisor.open(repo) as supervisor:
        task = Task(id="t", prompt=admit("Serve it"))
        working = asyncio.ensure_future(supervisor.supervise(task, agent))
        await until(supervisor, supervisor.core.head.open_gates)
        (row,) = supervisor.core.head.open_gates()
        assert row.gate.type == "question"
        assert row.gate.context["question"] == "Which port?"
        assert row.gate.context["options"] == ["80", "8080"]
        await supervisor.answer(row.id, answer)
        outcome = await working
        assert supervisor.core.head.gates[row.id].status == ("delivered" if told else "answered")
    assert outcome.status == status
    assert len(agent.told) == (2 if told else 1)
    if told:
        assert told in agent.told[1].text


async def test_a_question_without_options_offers_none(repo: Path) -> None:
    """An agent that names nothing to choose from is answered in words: no choice is shown that would be refused."""
    agent = Asking(signal="blocked", options=())
    async with Supervisor.open(repo) as supervisor:
        working = asyncio.ensure_future(supervisor.supervise(Task(id="t", prompt=admit("Serve it")), agent))
        await until(supervisor, supervisor.core.head.open_gates)
        (row,) = supervisor.core.head.open_gates()
        assert row.gate.choices == ("show_me", "skip", "abandon")
        await supervisor.answer(row.id, Answer(choice="show_me", text=admit("80")))
        await working
    assert "80\n(You had asked: Which port?)" in agent.told[1].text


async def test_a_rule_that_does_not_fit_leaves_the_gate_open(repo: Path) -> None:
    """A rule for the fifth of two options answers nothing and breaks nothing."""
    agent = Asking()

    def policy(gate: Gate) -> tuple[int, Answer]:
        return 0, Answer(choice="choose", number=5.0)

    async with Supervisor.open(repo, policy=lambda state: policy) as supervisor:
        working = asyncio.ensure_future(supervisor.supervise(Task(id="t", prompt=admit("Serve it")), agent))
        await until(supervisor, supervisor.core.head.open_gates)
        (row,) = supervisor.core.head.open_gates()
        await supervisor.answer(row.id, Answer(choice="skip"))
        assert (await working).status == "skipped"


async def test_a_check_that_does_not_exist_is_asked_about_and_run_again(repo: Path) -> None:
    """A person makes the check runnable and chooses *run it again*: the same work is judged, no new attempt is made."""
    agent = Asking(signal=None)
    async with Supervisor.open(repo) as supervisor:
        task = Task(id="t", prompt=admit("Serve it"), verify="./check.sh")
        working = asyncio.ensure_future(supervisor.supervise(task, agent))
        await until(supervisor, supervisor.core.head.open_gates)
        (row,) = supervisor.core.head.open_gates()
        assert "check.sh" in row.gate.context["question"]
        (repo / "check.sh").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (repo / "check.sh").chmod(0o755)
        await supervisor.answer(row.id, Answer(choice="choose", number=1.0))
        outcome = await working
    assert outcome.status == "succeeded"
    assert outcome.attempts == 1


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (Answer(choice="show_me", text=admit("look at line 3")), "unverified", "look at line 3"),
        (Answer(choice="retry", text=admit("use a list")), "unverified", "Approach: use a list"),
        (Answer(choice="retry"), "unverified", "different approach"),
        (Answer(choice="skip"), "skipped", None),
        (Answer(choice="abandon"), "abandoned", None),
    ],
)
async def test_the_four_stuck_answers(repo: Path, answer: Answer, status: str, told: str | None) -> None:
    """Each has its effect in what the agent is told next, or ends the task."""
    texts: list[str] = []
    settings = Settings.model_validate({"failure_handler": {"max_retries": 0, "max_pivots": 0, "max_research": 0}})

    async def work(guidance: Guidance) -> None:
        texts.append(guidance.text)
        if guidance.number == 1:
            raise ValueError("three is not two")

    async with Supervisor.open(repo, settings) as supervisor:
        working = asyncio.ensure_future(supervisor.supervise(Task(id="t", prompt=admit("Count")), work))
        await until(supervisor, supervisor.core.head.open_gates)
        (row,) = supervisor.core.head.open_gates()
        report = (supervisor.core.folder / row.report).read_text(encoding="utf-8")
        assert "three is not two" in report
        await supervisor.answer(row.id, answer)
        outcome = await working
    assert outcome.status == status
    assert len(texts) == (2 if told else 1)
    if told:
        assert told in texts[1]


@pytest.mark.parametrize("with_timer", [False, True])
async def test_a_rule_for_ever_ends_when_it_only_leads_to_the_same_question(
    repo: Path, clock: ManualClock, records: type[Records], monkeypatch: pytest.MonkeyPatch, with_timer: bool
) -> None:
    """*Always retry*, by rule or timer, does not spend the night: after so many in a row the question waits for me."""
    monkeypatch.setattr("unstuck.supervision.gates.service.UNATTENDED_LIMIT", 3)
    none = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
    timers = {"stuck": {"after": 30, "answer": "retry"}} if with_timer else {}
    settings = Settings.model_validate({"failure_handler": none, "timers": timers})
    attempts: list[Guidance] = []

    async def agent(guidance: Guidance) -> Report:
        attempts.append(guidance)
        return Report()

    def always(gate: Gate) -> tuple[int, Answer] | None:
        return None if with_timer else (0, Answer(choice="retry"))

    async with Supervisor.open(repo, settings, clock=clock, policy=lambda state: always) as supervisor:
        record = records(supervisor)
        work = Task(id="t", prompt=admit("x"), verify="echo 'AssertionError: no'; exit 1")
        working = asyncio.ensure_future(supervisor.supervise(work, agent))
        for number in range(1, 5):
            await record.until(lambda number=number: len(record.of(e.GateOpened)) == number)
            await clock.advance(30)
        gate = await record.asked()
        assert len(attempts) == 4
        assert gate.gate.acts_at is None
        await supervisor.answer(gate.id, Answer(choice="retry"))
        await record.until(lambda: len(record.of(e.GateOpened)) == 5)
        anew = supervisor.core.head.gates[record.of(e.GateOpened)[4].gate]
        assert anew.gate.acts_at if with_timer else anew.by == "policy", "somebody was there, so it begins anew"
        await supervisor.stop("enough")
        await working


async def test_a_task_that_asks_twice_is_answered_twice(repo: Path, records: type[Records]) -> None:
    """The same question again is one of its own: each answer goes into one attempt, and none is lost."""
    told: list[Guidance] = []

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance)
        asks = {"signal": "needs_guidance", "question": admit("Which port?"), "options": (admit("80"), admit("81"))}
        return Report(**asks) if len(told) < 3 else Report()  # type: ignore[arg-type]

    async with Supervisor.open(repo, Settings(unverified="accept"), person=True) as supervisor:
        record = records(supervisor)
        working = asyncio.ensure_future(supervisor.supervise(Task(id="t", prompt=admit("Serve it.")), agent))
        gates = []
        for number in (1.0, 2.0):
            gates.append(await record.asked())
            await supervisor.answer(gates[-1].id, Answer(choice="choose", number=number))
            with pytest.raises(GateClosed):
                await supervisor.answer(gates[-1].id, Answer(choice="choose", number=1.0))
            await record.until(lambda number=number: len(told) > number)
        assert (await working).status == "unverified"
        assert gates[0].id != gates[1].id
        assert [guidance.answers for guidance in told] == [(), (gates[0].id,), (gates[1].id,)]
        assert "says:\n\n80" in told[1].text
        assert "says:\n\n81" in told[2].text
        assert "A person has said before:\n80" in told[2].text
        assert "says:\n\n81\n(You had asked: " in told[2].text
        assert "A person has said before:\n80\n(You had asked: " in told[2].text
        assert {supervisor.core.head.gates[gate.id].status for gate in gates} == {"delivered"}
