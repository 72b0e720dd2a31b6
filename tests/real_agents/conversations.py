"""Steps of a person and a scripted model in a conversation with any agent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import ptyprocess
from tests.real_agents.conftest import PATIENCE, Lab
from tests.real_agents.scripted_model import Asked, Turn
from tests.screen.terminal.conftest import Terminal

from unstuck_tui.keys.actions import key_of

FAILING = "ls no-such-file"
REPEATED = "cat no-such-file"  # a list may come to show the file by itself
REASON = "not on a Friday"
ADVICE = "look in the cellar"
TASK = "Write the greeting that everybody waits for."
VERIFY = "grep hello greeting.txt"
NO_LADDER = "failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n"
FOREVER = "echo up > up; tail -f /dev/null"
_AWAKE = "esc leaves it open"


def gets_stuck(asked: Asked, deploy: Turn) -> Turn:
    """Runs what fails, wants to deploy, and says that all is well until it hears of the cellar."""
    if ADVICE in asked.last:
        return Turn(text="In the cellar it is.", command="echo hello > greeting.txt")
    if ADVICE in asked.text or REASON in asked.text:
        return Turn(text="All tests pass now.")
    return Turn(text="I look.", command=FAILING) if asked.answered == 0 else deploy


def repeats(asked: Asked) -> Turn:
    """Tries the very same failing command until it hears of the cellar."""
    if ADVICE in asked.text:
        done = "hello" in asked.text.split(ADVICE)[-1]
        return Turn(text="Done.") if done else Turn(text="I do.", command="echo hello > greeting.txt")
    return Turn(text="Again.", command=REPEATED) if asked.answered < 12 else Turn(text="I give up.")


def sleeps(asked: Asked) -> Turn:
    """Runs one command that takes longer than anybody waits."""
    return Turn(text="I wait.", command=FOREVER) if asked.answered == 0 else Turn(text="Done.")


def counted(lab: Lab) -> list[Asked]:
    """The model's requests without those that Qwen Code makes beside a turn, of which it tells nothing over ACP."""
    beside = ("managed memory extraction", "[SUGGESTION MODE")
    return [asked for asked in lab.model.asked if not any(words in json.dumps(asked.body) for words in beside)]


@contextmanager
def screen(lab: Lab, *arguments: str) -> Iterator[Terminal]:
    """A command of ours at a terminal."""
    program = next(found for place in lab.environ["PATH"].split(":") if (found := Path(place) / "unstuck").is_file())
    process = ptyprocess.PtyProcess.spawn(
        [str(program), *arguments],
        cwd=str(lab.repo),
        env=lab.environ | {"TEXTUAL_ANIMATIONS": "none"},
        dimensions=(40, 120),
    )
    try:
        yield Terminal(process)
    finally:
        process.close(force=True)


def answered_by_a_person(
    lab: Lab,
    agent: str,
    *more: str,
    code: int | None = 2,
    counts: bool | None = True,
    asks: bool = False,
    looks: bool = True,
) -> None:
    """A failing command is on record with its exit code; the permission is denied on the screen with a reason, and the
    stuck question is answered there: the model hears both in its next requests.

    ``code`` is None for an agent that does not tell how a command ended; without ``counts`` it does not tell of all
    that it used, with None of nothing; one that ``asks`` wants to be allowed to write, too, and one that not even
    ``looks`` to look.
    """
    (lab.repo / "unstuck.yaml").write_text(NO_LADDER)
    with screen(lab, "run", "--verify", VERIFY, "--agent", agent, TASK, *more) as terminal:
        if not looks:
            terminal.until(FAILING, "waits for you")
            terminal.press(key_of("gate.answer"))
            terminal.until("wants to do something", _AWAKE)
            terminal.press(key_of("permission.allow"))
        terminal.until("make deploy", "waits for you")
        terminal.press(key_of("gate.answer"))
        terminal.until("wants to do something", "make deploy", _AWAKE)
        before = len(lab.model.asked)
        terminal.press(key_of("permission.deny"))
        terminal.until("enter sends")
        terminal.write(REASON)
        terminal.press("enter")
        told = lab.model.wait(lambda asked: REASON in asked.last, seconds=PATIENCE)
        assert lab.model.asked.index(told) - before in (0, 1)  # some ask for a suggestion in between

        # Whoever has just typed is not interrupted by the next question.
        terminal.until("stuck:", "waits for you")
        terminal.press(key_of("gate.answer"))
        terminal.until("is stuck", _AWAKE)
        before = len(lab.model.asked)
        terminal.press(key_of("stuck.show_me"))
        terminal.until("ctrl+s sends")
        terminal.write(ADVICE)
        terminal.press("ctrl+s")
        told = lab.model.wait(lambda asked: ADVICE in asked.last, seconds=PATIENCE)
        assert lab.model.asked.index(told) - before in (0, 1)  # some ask for a suggestion in between
        if asks:
            terminal.until("echo hello", "waits for you")
            terminal.press(key_of("gate.answer"))
            terminal.until("wants to do something", _AWAKE)
            terminal.press(key_of("permission.allow"))
        terminal.until("succeeded")
        terminal.press(key_of("app.quit"))
        terminal.ended()
    assert not (lab.repo / "deployed").exists()
    steps = [step["data"] for step in lab.events("step_recorded")]
    assert any(step["kind"] == "action" and "no-such-file" in step["text"] for step in steps)
    if code is not None:
        assert next(step for step in steps if step["kind"] == "failure")["exit_code"] == code
    gates = [*([] if looks else ["permission"]), "permission", "stuck", *(["permission"] if asks else [])]
    assert [record["data"]["type"] for record in lab.events("gate_opened")] == gates
    assert len(lab.events("answer_delivered")) == gates.count("permission")
    assert {record["actor"] for record in lab.events("gate_answered")} == {"human"}
    used = sum(record["data"]["tokens"] for record in lab.events("usage_counted"))
    # What it asks without tools, such as a title, comes on top.
    assert used >= 110 * (len(counted(lab)) if counts else 0 if counts is None else 1)


def steered(lab: Lab, *work: str) -> None:
    """It repeats itself: what is answered to the question about that reaches the turn that is under way, and the
    one attempt ends well."""
    allowed = "- {gate: permission, answer: allow, always: true}\n"
    rules = f"- {{gate: loop_detected, answer: show_me, text: {ADVICE}}}\n{allowed}"
    (lab.repo / "answers.yaml").write_text(rules)
    lab.unstuck("run", "--headless", "--answers", "answers.yaml", *work)
    assert len(lab.events("attempt_started")) == 1
    gates = [record["data"] for record in lab.events("gate_opened")]
    # Some want to be allowed to write, or all that they do.
    assert [gate["type"] for gate in gates if gate["type"] != "permission"] == ["loop_detected"]
    delivered = [record["data"]["gate"] for record in lab.events("answer_delivered")]
    assert delivered == [gate["gate"] for gate in gates]
    assert any(ADVICE in asked.last for asked in lab.model.asked)
    # It is told of the repetition before anybody is asked.
    told = re.compile(rf"\d times: .*{REPEATED.split()[-1]}")  # some give only a title of what they call
    assert any(told.search(asked.text) for asked in lab.model.asked)


def stopped(lab: Lab, agent: str, *more: str) -> str:
    """Interrupted in the middle of a command: the turn ends, nothing that it had started is left, and what was said is
    kept; that is returned."""
    command = ["unstuck", "run", "--json", "--headless", "--verify", VERIFY, "--agent", agent, TASK, *more]
    os.mkfifo(lab.repo / "up")
    running = subprocess.Popen(
        command, cwd=lab.repo, env=lab.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert (lab.repo / "up").read_text() == "up\n"  # the command runs
    records = map(json.loads, running.stdout)
    spawned = next(record["data"] for record in records if record["event"] == "agent_spawned")
    program = psutil.Process(spawned["pid"])
    family = [program, *program.children(recursive=True)]
    assert len(family) > 1
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    receipt = next(found for line in rest.splitlines() if (found := json.loads(line)).get("event") == "stop_receipt")
    assert receipt["data"]["alive"] == []
    assert program.pid in [pid for pid, _, _ in receipt["data"]["ended"]]
    assert not [one for one in family if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    logs = (lab.repo / ".git" / "unstuck" / "runs").glob("*/output/*.log")
    return max(log for log in logs if "check" not in log.name).read_text("utf-8", "replace")
