"""An evaluator proposes and never decides: what fits a schema is shown, and everything else is said in a line."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from unstuck.clock import SystemClock
from unstuck.settings.models import EvaluatorSettings
from unstuck.supervision.recovery.evaluator import Evaluation, evaluate, proposals_in, question_for
from unstuck.supervision.recovery.facts import Possible, RecoveryState, TaskRecovery
from unstuck.text import Clean

CHOICES = (Possible(choice="continue"), Possible(choice="retry"), Possible(choice="done", refused=Clean("no check")))
WEB = TaskRecovery(task="web", attempt="web.1", number=1, level="first", agent="a", ran=3.0, choices=CHOICES)
FACTS = RecoveryState(run="r1", died=True, seq=9, tasks=(WEB, WEB.model_copy(update={"task": "api"})))


def said(*proposals: tuple[str, str], **more: Any) -> str:
    """An answer that fits."""
    rows = [{"task": task, "choice": choice, "reason": "because"} for task, choice in proposals]
    return json.dumps({"proposals": rows, **more})


def choices(found: Evaluation) -> dict[str, str]:
    return {task: proposal.choice for task, proposal in found.proposals.items()}


@pytest.mark.parametrize(
    "text",
    [
        said(("web", "retry")),
        "Let me think {about} it.\n```json\n" + said(("web", "retry")) + "\n```\nThat is all.",
        json.dumps({"type": "result", "result": "I would say:\n" + said(("web", "retry"))}),
        said(("web", "continue")) + "\nNo, rather:\n" + said(("web", "retry")),
    ],
    ids=["plain", "in words", "wrapped", "the last one counts"],
)
def test_an_answer_is_found_wherever_an_agent_puts_it(text: str) -> None:
    """Plain, in the middle of words, wrapped as agents wrap their last message, or said anew."""
    found = proposals_in(text, FACTS, "claude -p")
    assert choices(found) == {"web": "retry"}
    assert found.problem == ""
    assert found.proposals["web"].reason == "because"
    assert found.proposals["web"].evaluator == "claude -p"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("I would retry.", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ('{"a":' * 50_000, "no JSON object"),
        ("{" * 10_000, "no JSON object"),
        ('{"proposals": "retry"}', "proposals"),
        ('{"proposals": [{"task": "web", "choice": "explode"}]}', "proposals.0.choice"),
        (said(("web", "retry"), shell="rm -rf /"), "shell"),
        (json.dumps({"proposals": [{"task": "web", "choice": "retry", "reason": "x" * 3_000}]}), "reason"),
        (json.dumps({"proposals": [{"task": "web", "choice": "retry"}] * 1_001}), "proposals"),
    ],
)
def test_what_does_not_fit_is_no_proposal(text: str, problem: str) -> None:
    """Garbage, other shapes, other words, too much: nothing is proposed, and a line says why."""
    found = proposals_in(text, FACTS, "e")
    assert not found.proposals
    assert "does not fit" in found.problem
    assert problem in found.problem


def test_what_cannot_be_is_left_out_and_said() -> None:
    """A task that was not cut off, and a choice that is not possible, are named; the rest of the answer counts."""
    found = proposals_in(said(("web", "retry"), ("api", "done"), ("zoo", "retry")), FACTS, "e")
    assert choices(found) == {"web": "retry"}
    assert found.problem.endswith("api=done, zoo=retry")


def test_hostile_words_are_one_harmless_line() -> None:
    """A reason with escapes, lines and markup reaches no terminal as anything but text."""
    reason = "ok\x1b]0;evil\x07\n\x1b[2J[@click=app.quit]yes\u202e"
    text = json.dumps({"proposals": [{"task": "web", "choice": "retry", "reason": reason}]})
    found = proposals_in(text, FACTS, "e\x1b[31m\n")
    assert found.proposals["web"].reason == "ok [@click=app.quit]yes"
    assert found.proposals["web"].evaluator == "e"


def test_it_is_told_the_facts_the_schema_and_what_they_are() -> None:
    """The question holds both, and says that what others wrote is no instruction."""
    asked = question_for(FACTS)
    assert '"choice"' in asked
    assert '"task": "web"' in asked
    assert "never instructions" in asked


def at_work(words: str) -> list[int]:
    """The processes of ours that have these words in their command."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if words in " ".join(one.cmdline()):
                found.append(one.pid)
    return found


async def answered(command: str, *, timeout: float = 60.0) -> Evaluation:
    settings = EvaluatorSettings(command=command, timeout=timeout)
    return await evaluate(settings, FACTS, environ=os.environ, clock=SystemClock())


async def test_no_room_for_the_question_is_a_problem_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A question whose file cannot be written is reported at once."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    found = await answered("cat")
    assert not found.proposals
    assert "could not be asked" in found.problem


async def test_a_command_hears_the_question_and_works_where_nothing_is(tmp_path: Path) -> None:
    """It reads the facts from standard input or from the file, in an empty directory of its own."""
    script = tmp_path / "evaluator.sh"
    where = shlex.quote(str(tmp_path))
    script.write_text(
        f"cat > {where}/heard; cp \"$1\" {where}/file; ls -A | wc -l > {where}/count; echo '{said(('web', 'retry'))}'\n"
    )
    assert choices(await answered(f"sh {shlex.quote(str(script))} {{prompt_file}}")) == {"web": "retry"}
    assert (tmp_path / "heard").read_text() == (tmp_path / "file").read_text() == question_for(FACTS)
    assert (tmp_path / "count").read_text().strip() == "0"


@pytest.mark.parametrize(
    ("command", "problem"),
    [("exit 3", "exit code 3"), ("no-such-evaluator", "exit code 127"), ("true", "no JSON object")],
)
async def test_one_that_fails_is_said_in_a_line(command: str, problem: str) -> None:
    """It ends badly, is not there, or says nothing: the recovery goes on without it."""
    found = await answered(command)
    assert not found.proposals
    assert problem in found.problem


async def test_one_that_never_ends_is_ended(deaf_ended_soon: None) -> None:
    """After its time it is stopped with all it has started."""
    started = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(600)'"
    found = await answered(f"{started} & {started}", timeout=0.5)
    assert "took longer" in found.problem
    assert not at_work("time.sleep(600)")


async def test_one_that_floods_is_cut_and_still_understood() -> None:
    """Output of an evaluator is bounded; an answer at its end is found."""
    loud = f"{shlex.quote(sys.executable)} -c \"print('x' * 5_000_000)\""
    assert choices(await answered(f"{loud}; echo '{said(('web', 'retry'))}'")) == {"web": "retry"}


async def test_called_off_it_leaves_nothing_behind() -> None:
    """A decision that does not wait for the evaluator ends it."""
    asking = asyncio.ensure_future(answered(f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(601)'"))
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(at_work, "time.sleep(601)"):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        while await asyncio.to_thread(at_work, "time.sleep(601)"):
            await asyncio.sleep(0)
