"""A person's answer reaches the agent's next prompt and the files: by rule, offline with --resume, and live."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.plans.conftest import Bench

CHECK = "if ! grep -q right made.txt; then echo 'AssertionError: not right yet'; exit 1; fi"
# Works wrongly until it is told to use the blue one.
SCRIPT = 'if grep -q "the blue one" "$UNSTUCK_PROMPT_FILE"; then echo right > made.txt; else echo wrong > made.txt; fi'
SPOKEN = {"show_me": "Take the blue one from the shelf", "retry": "try the blue one"}


def web(bench: Bench, ask_at_once: dict[str, Any], **task):
    """A plan that is stuck after one attempt, with a task that waits for it."""
    return bench.plan(
        agents={"worker": bench.agent("worker", SCRIPT), "next": bench.agent("next", "ls > after.txt")},
        tasks=[
            {"id": "web", "agent": "worker", "prompt": "Make it.", "verify": CHECK, "isolation": "worktree", **task},
            {"id": "after", "agent": "next", "prompt": "Then this.", "verify": "test -f after.txt", "needs": ["web"]},
        ],
        settings=ask_at_once,
    )


def give(bench: Bench, plan, way, choice, text="", gate_type="stuck"):
    """Run ``plan`` and answer its gate in one of the three ways; how the run ended."""
    words = [choice.replace("_", "-"), *([text] if text else [])]
    if way == "rule":
        rule = {"gate": gate_type, "task": "we*", "answer": choice} | ({"text": text} if text else {})
        return bench.run(plan, "--answers", bench.answers(rule))
    if way == "offline":
        parked = bench.run(plan)
        assert parked.code == 3, parked.out + parked.err
        answered = bench.call("answer", bench.gate(), *words)
        assert answered.code == 0, answered.err
        return bench.resume()
    # A second task that ends only when the answer was given keeps the run alive.
    process = bench.start("run", plan, "--headless")
    gate = bench.wait_gate(process)
    answered = bench.call("answer", gate, *words)
    (bench.outside / "go").write_text("")
    assert answered.code == 0, answered.err
    assert "go on with" not in answered.out
    return bench.end(process)


def keep_alive(bench: Bench, plan, way):
    """For a live answer: a task that works until the answer has been given."""
    if way == "live":
        bench.pipe("go")
        data = yaml.safe_load(plan.read_text())
        data["agents"]["busy"] = bench.agent("busy", ': < "$OUT/go"; echo x > busy.txt')
        data["tasks"].append({"id": "busy", "agent": "busy", "prompt": "Wait.", "verify": "test -f busy.txt"})
        plan.write_text(yaml.safe_dump(data))
    return plan


def done_tasks(bench: Bench):
    return {name: status for name, status in bench.statuses().items() if name != "busy"}


@pytest.mark.parametrize(
    ("choice", "way"), [("show_me", "rule"), ("show_me", "live"), ("retry", "rule"), ("retry", "offline")]
)
def test_words_reach_the_next_prompt(bench: Bench, ask_at_once: dict[str, Any], choice: str, way: str) -> None:
    """Show-me and retry: my words are in the agent's next prompt, its files become right, and the rest goes on."""
    done = give(bench, keep_alive(bench, web(bench, ask_at_once), way), way, choice, SPOKEN[choice])
    assert done.code == 0, done.out + done.err
    told = bench.prompt("web.2")
    assert told.startswith("Make it.")
    assert "A person has looked at this" in told
    assert SPOKEN[choice] in told
    assert ("Approach: " in told) == (choice == "retry")
    assert "not right yet" in told
    assert bench.attempts("web") == 2
    assert bench.result("made.txt") == "right\n"
    assert "made.txt" in bench.result("after.txt")
    (answered,) = bench.events("gate_answered")
    assert answered["actor"] == ("policy" if way == "rule" else "human")


@pytest.mark.parametrize(
    ("choice", "after_skip", "after", "way"),
    [
        ("skip", "block", None, "rule"),
        ("skip", "run", "succeeded", "live"),
        ("abandon", "skip", "skipped", "rule"),
        ("abandon", "block", None, "offline"),
    ],
)
def test_skip_and_abandon_end_the_task(
    bench: Bench, ask_at_once: dict[str, Any], choice: str, after_skip: str, after: str | None, way: str
) -> None:
    """Skip and abandon: no further attempt, nothing of it in the result, and what waits does as the plan says."""
    plan = keep_alive(bench, web(bench, ask_at_once, after_skip=after_skip), way)
    done = give(bench, plan, way, choice)
    assert done.code == 1, done.out + done.err
    assert done_tasks(bench) == {"web": "skipped" if choice == "skip" else "abandoned", "after": after}
    assert bench.attempts("web") == 1
    assert bench.attempts("after") == (after == "succeeded")
    assert "made.txt" not in bench.results()
    assert ("after.txt" in bench.results()) == (after == "succeeded")


def test_what_was_skipped_is_offered_again(bench: Bench, ask_at_once: dict[str, Any]) -> None:
    """When the run has ended, --resume works what was skipped once more; what was abandoned stays so."""
    plan = web(bench, ask_at_once, after_skip="skip")
    assert give(bench, plan, "rule", "skip").code == 1
    (bench.outside / "worker.sh").write_text((bench.outside / "worker.sh").read_text() + "echo right > made.txt\n")
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert done_tasks(bench) == {"web": "succeeded", "after": "succeeded"}
    again = bench.resume()
    assert again.code == 0


def test_an_abandoned_run_repeats_its_result(bench: Bench, ask_at_once: dict[str, Any]) -> None:
    """An ended run with nothing to offer repeats its exit code, and its record stays as it was."""
    assert give(bench, web(bench, ask_at_once), "rule", "abandon").code == 1
    log = (bench.folder / "events.jsonl").read_bytes()
    assert bench.resume().code == 1
    assert (bench.folder / "events.jsonl").read_bytes() == log


@pytest.mark.parametrize("way", ["rule", "offline"])
def test_a_chosen_option_reaches_the_agent(bench: Bench, ask_at_once: dict[str, Any], way: str) -> None:
    """An agent asks with options; what I choose stands in its next prompt."""
    plan = web(bench, ask_at_once)
    signal = {"signal": "needs_guidance", "question": "Which one?", "options": ["the red one", "the blue one"]}
    question = f"echo 'UNSTUCK {json.dumps(signal)}'"
    bench.agent("worker", f"if [ $n = 1 ]; then {question}; else {SCRIPT}; fi")
    if way == "rule":
        answers = bench.answers({"gate": "question", "answer": "choose", "number": 2})
        done = bench.run(plan, "--answers", answers)
    else:
        done = give(bench, plan, way, "choose", "2", "question")
    assert done.code == 0, done.out + done.err
    assert "the blue one" in bench.prompt("web.2")
    assert "the red one" not in bench.prompt("web.2").split("A person has looked at this")[1]
    assert bench.result("made.txt") == "right\n"
    (asked,) = bench.events("agent_seeks_guidance")
    assert asked["data"]["question"] == "Which one?"


def test_words_of_ones_own_answer_a_question(bench: Bench, ask_at_once: dict[str, Any]) -> None:
    """A question without options takes my own words."""
    plan = web(bench, ask_at_once)
    question = 'echo \'UNSTUCK {"signal": "blocked", "question": "There is no shelf here"}\''
    bench.agent("worker", f"if [ $n = 1 ]; then {question}; else {SCRIPT}; fi")
    parked = bench.run(plan)
    assert parked.code == 3
    (gate,) = bench.gates().values()
    assert gate.type == "question"
    assert gate.context["question"] == "There is no shelf here"
    assert bench.call("answer", gate.id, "show-me", "use", "the blue one").code == 0
    assert bench.resume().code == 0
    assert "use the blue one" in bench.prompt("web.2")


def test_a_question_may_end_the_task(bench: Bench, ask_at_once: dict[str, Any]) -> None:
    """Skip and abandon at a question end the task without another attempt."""
    plan = web(bench, ask_at_once)
    bench.agent("worker", 'echo \'UNSTUCK {"signal": "blocked", "question": "No"}\'')
    done = bench.run(plan, "--answers", bench.answers({"gate": "question", "answer": "abandon"}))
    assert done.code == 1
    assert done_tasks(bench) == {"web": "abandoned", "after": None}


@pytest.mark.parametrize("form", ["prompt", "prompt_file", "stdin"])
def test_the_text_reaches_the_agent_however_it_reads(bench: Bench, ask_at_once: dict[str, Any], form: str) -> None:
    """As an argument, a file or standard input: the same words, also those of an answer."""
    path = bench.outside / "reader.sh"
    read = {"prompt": 'printf %s "$1"', "prompt_file": 'cat "$1"', "stdin": "cat"}[form]
    path.write_text(f"#!/bin/sh\n{read} > {bench.told}/$UNSTUCK_ATTEMPT.txt\ngrep -q blue {bench.told}/web.2.txt\n")
    path.chmod(0o755)
    agent = {"command": [str(path)] + ([] if form == "stdin" else [f"{{{form}}}"])}
    if form == "stdin":
        agent["prompt"] = "stdin"
    task = {"id": "web", "prompt": "- Make it; $HOME `x` {prompt}", "verify": f"grep blue {bench.told}/web.2.txt"}
    plan = bench.plan(agents={"reader": agent}, tasks=[task], settings=ask_at_once)
    done = bench.run(plan, "--answers", bench.answers({"gate": "stuck", "answer": "retry", "approach": "the blue one"}))
    assert done.code == 0, done.out + done.err
    for attempt in ("web.1", "web.2"):
        assert bench.prompt(attempt).lstrip().startswith("- Make it; $HOME `x` {prompt}")
    assert "Approach: the blue one" in bench.prompt("web.2")
