"""Whatever fails however and whatever is answered: the run ends, and every promise about decisions and gates holds."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.clock import PacedClock
from unstuck.contract import Gate
from unstuck.record import events as e
from unstuck.record.envelope import Record
from unstuck.record.fold import fold
from unstuck.record.state import State
from unstuck.settings import Settings
from unstuck.supervision.steps import next_step

TASK = Task(id="t", prompt=admit("Work."))
ERRORS = (
    "AssertionError: expected 1 but got 2",
    "SyntaxError: invalid syntax",
    "ImportError: No module named 'pay'",
    "TypeError: no plus",
    "zorp: blat went sideways",
    "HTTP 429 Too Many Requests",
    "HTTP 429 Too Many Requests, retry after 5 hours",
    "Error: prompt is too long: 210000 tokens > 200000 maximum",
)
REPORTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {"error": st.sampled_from(ERRORS), "approach": st.sampled_from([None, "a", "async await", "async await now"])}
    ),
    st.sampled_from([{"how": "crashed"}, {"how": "no_signal"}, {"how": "bad_signal"}, {"exit_code": 3}]),
    st.sampled_from(
        [
            {"signal": "needs_guidance", "question": "Which?", "options": ("80", "81")},
            {"signal": "blocked", "question": "No database"},
        ]
    ),
)
ANSWERS = st.sampled_from(
    [
        Answer(choice="show_me", text=admit("like this")),
        Answer(choice="retry"),
        Answer(choice="retry", text=admit("another way")),
        Answer(choice="choose", number=1),
        Answer(choice="skip"),
        Answer(choice="abandon"),
    ]
)
LIMITS = st.fixed_dictionaries(
    {
        "max_retries": st.integers(0, 2),
        "max_pivots": st.integers(0, 2),
        "max_research": st.integers(0, 1),
        "max_attempts": st.integers(1, 6),
        "skip_to_ask": st.sampled_from([[], ["zorp"]]),
        "auto_resolve": st.sampled_from([[], [{"pattern": "TypeError", "action": "look at line 3"}]]),
    }
)


async def _worked(root: Path, reports: list[dict[str, Any]], answers: list[Answer], limits: Any) -> list[Record]:
    """The log of a task whose attempts end like this, and whose questions are answered like that."""
    left, replies = list(reports), list(answers)

    async def agent(guidance: Guidance) -> Report:
        return Report(**left.pop(0)) if left else Report(exit_code=0)

    def policy(gate: Gate) -> tuple[int, Answer]:
        answer = next((reply for reply in replies if reply.choice in gate.choices), Answer(choice="skip"))
        if answer in replies:
            replies.remove(answer)
        if answer.choice == "choose" and not gate.context.get("options"):
            answer = Answer(choice="skip")
        return 0, answer

    records: list[Record] = []
    chosen = Settings.model_validate({"failure_handler": limits})
    async with Supervisor.open(root, chosen, clock=PacedClock(1_000_000), policy=lambda state: policy) as supervisor:
        supervisor.core.journal.on_append(records.append)
        async with asyncio.timeout(60):
            await supervisor.supervise(TASK, agent)
    return records


FULL = {"max_retries": 1, "max_pivots": 1, "max_research": 1, "max_attempts": 6, "skip_to_ask": [], "auto_resolve": []}


@example([{"error": ERRORS[0]}] * 9, [Answer(choice="show_me", text=admit("like this"))], FULL)
@example([{"exit_code": 3}, {"how": "crashed"}, {"error": ERRORS[0]}], [], {**FULL, "max_retries": 0})
@example([{"signal": "blocked", "question": "No database"}, {"error": ERRORS[6]}, {"how": "crashed"}], [], FULL)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(REPORTS, min_size=3, max_size=12), st.lists(ANSWERS, max_size=6), LIMITS)
def test_every_promise_holds(reports: list[dict[str, Any]], answers: list[Answer], limits: dict[str, Any]) -> None:
    """A climb ends within its limit, every prefix has one next step, files are saved before a pivot and a question."""
    with tempfile.TemporaryDirectory() as folder:
        records = asyncio.run(_worked(Path(folder), reports, answers, limits))
    state, directives, is_saved, decided = State(), 0, False, ""
    for record in records:
        fold(state, record)
        event, row = record.event, state.tasks.get("t")
        if isinstance(event, e.AttemptEnded):
            is_saved = False
        elif isinstance(event, e.CheckpointCreated):
            is_saved = True
            assert event.id != "none" or event.reason.startswith("not possible: ")
        elif isinstance(event, e.DirectiveIssued):
            directives += event.level != "human"
            assert directives <= limits["max_attempts"]
            assert event.checkpoint or event.level not in ("pivot", "human") or event.answers
            decided = event.level
        elif isinstance(event, e.DirectivePrepared):
            # A crashed agent is told the same again; only a pivot that was decided starts from other files.
            assert is_saved or decided != "pivot"
            decided = ""
        elif isinstance(event, e.GateOpened):
            assert is_saved or event.key == "quota"
        elif isinstance(event, e.GateAnswered) and event.climb is not None:
            directives = 0
        if row is not None:
            assert next_step(state, row, max_parallel=2, tree=folder).kind
        asked = [(gate.gate.task, gate.gate.type, gate.gate.key) for gate in state.open_gates()]
        assert len(asked) == len(set(asked))
        assert not (asked and row is not None and row.state == "ended")
    assert state.tasks["t"].state == "ended"
    assert not state.open_gates()
