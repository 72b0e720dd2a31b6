"""Answers and research findings reach every later attempt of an agent that starts afresh each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstuck.runs.answers.answer_file import load_answers
from unstuck.runs.plans.one_command import one_command
from unstuck.runs.plans.plan import one_task_plan
from unstuck.runs.run import RunOptions, start_run
from unstuck.workspace.project import locate

VERIFY = "echo 'AssertionError: expected 3 but got 2'; exit 1"
LIMITS = {"failure_handler": {"max_retries": 1, "max_pivots": 1, "max_research": 0}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("{gate: stuck, answer: show_me, text: Add the port 8080.}", "A person has said before:\nAdd the port 8080."),
        ("{gate: stuck, answer: retry, approach: use the raw body}", "Approach: use the raw body"),
    ],
)
async def test_an_answer_is_in_the_prompt_of_every_later_retry(repo: Path, answer: str, words: str) -> None:
    """The attempt after the answered one is not told less; the pivot after that drops the person's approach."""
    seen, rules = repo.parent / "seen", repo.parent / "answers.yaml"
    seen.mkdir()
    rules.write_text(f"- {answer}\n")
    agent = f'cp "$UNSTUCK_PROMPT_FILE" {seen}/${{UNSTUCK_ATTEMPT##*.}}'
    plan = one_task_plan(one_command(["sh", "-c", agent], task="Do it", verify=VERIFY))
    options = RunOptions(answers=load_answers(rules), overrides=LIMITS)
    assert (await start_run(plan, await locate(repo), options)).exit_code == 3
    told = [path.read_text() for path in sorted(seen.iterdir(), key=lambda path: int(path.name))]
    assert len(told) == 6
    assert "A person has looked at this and says:" in told[3]
    assert words in told[4]
    assert "The last attempt did not pass the check." in told[4]
    if "Approach" in words:
        assert words not in told[5]
        assert "- use the raw body\n" in told[5]
    else:
        assert words in told[5]
