"""An agent that fails itself, not its work: dispatched again, and a person is asked at the third time."""

from __future__ import annotations

import pytest
from tests.plans.conftest import Bench


def plan(bench: Bench, script, *, signals=False, settings=None):
    """One task whose check passes only when the file is there."""
    worker = bench.agent("worker", script) | {"signals": signals}
    task = {"id": "web", "prompt": "Build it.", "verify": "test -f done.txt"}
    return bench.plan(agents={"worker": worker}, tasks=[task], settings=settings or {})


FAILURES = {
    "crash": ("kill -9 $$", "agent_crash", "agent_crashed"),
    "no signal": ("echo nothing to say", "signal_missing", "signal_parse_failure"),
    "malformed": ("echo 'UNSTUCK {signal: complete'", "parse_failure", "signal_parse_failure"),
    "foreign": ('echo \'UNSTUCK {"signal": "complete", "task": "other"}\'', "parse_failure", "signal_parse_failure"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_the_third_failure_of_an_agent_asks(bench: Bench, kind: str) -> None:
    """Twice the same words again, with how the last attempt ended, then the stuck gate; no escalation level is used."""
    script, error_type, event = FAILURES[kind]
    done = bench.run(plan(bench, script, signals=kind != "crash"))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 3
    first, repeated = bench.prompt("web.1").rstrip(), bench.prompt("web.3")
    assert repeated.startswith(f"{first}\n\nThis is a new start of the same task. The last attempt ")
    assert repeated.count("The last attempt ") == 1
    failures = [record["data"] for record in bench.events("agent_failure")]
    assert [(failure["error_type"], failure["attempt"]) for failure in failures] == [(error_type, 1), (error_type, 2)]
    assert len(bench.events(event)) == 3
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert gate.task == "web"


def test_where_nobody_may_be_asked_the_run_halts(bench: Bench) -> None:
    """With ask: never the third crash ends the run with 4 and says what happened and where the record is."""
    done = bench.run(plan(bench, "kill -9 $$", settings={"ask": "never"}))
    assert done.code == 4, done.out + done.err
    (failed,) = bench.events("workflow_failed")
    assert failed["data"]["reason"] == "task_limit_exceeded"
    folder = bench.folder
    message = (
        "WORKFLOW FAILED - TASK_LIMIT_EXCEEDED\n\nthe agent failed 3 times (agent_crash)\n\n"
        f"State preserved: {folder / 'state.json'}\nEvent log: {folder / 'events.jsonl'}\n\n"
        "Review event log for failure history.\nHuman intervention required to proceed."
    )
    assert failed["data"]["message"] == message
    assert failed["data"]["last_state"] == "undecided"
    assert (folder / "state.json").exists()
    assert "WORKFLOW FAILED - TASK_LIMIT_EXCEEDED" in done.out
    assert "failed 3 times" in done.out
    assert not bench.gates()


def test_a_crash_after_the_work_was_done_is_no_failure(bench: Bench) -> None:
    """The check decides: what passes is done, however its agent ended."""
    done = bench.run(plan(bench, "echo x > done.txt; kill -9 $$"))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 1


def test_an_agent_that_recovers_goes_on(bench: Bench) -> None:
    """A crash, then the work: one more dispatch, and the task succeeds."""
    done = bench.run(plan(bench, "[ $n != 1 ] || kill -9 $$; echo x > done.txt"))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2
