"""Real keys at a real terminal: what the person answers is what the agent is told next."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.screen.terminal.conftest import Desk, Terminal

from unstuck_tui.keys.actions import key_of

OPEN = "esc leaves it open"


def run(desk: Desk, *options: str, agent: str) -> Any:
    """One agent under the check, at a terminal."""
    return desk.terminal("run", "--verify", "sh check.sh", *options, "--", "sh", desk.agent(agent))


def leave(terminal: Terminal) -> int:
    """Leave a run that is over."""
    terminal.press(key_of("app.quit"))
    code: int = terminal.ended()
    assert terminal.is_clean()
    return code


def test_show_me_how_reaches_the_agent(desk: Desk) -> None:
    """Stuck: what the person writes, over several lines, stands in the agent's next prompt, and it gets there."""
    terminal = run(desk, agent='grep -q "file called done" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    shown = terminal.until("task is stuck", "Show me how", OPEN)
    assert "assert 1 == 2" in shown
    terminal.press(key_of("stuck.show_me"))
    terminal.until("ctrl+s sends")
    terminal.write("Make a file called done.")
    terminal.press("enter")
    terminal.write("Then stop [/at once].")
    terminal.press("ctrl+s")
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    first, second = desk.prompts()
    assert "Make a file called done.\nThen stop [/at once]." in second
    assert desk.ways() == ["screen"]
    assert "file called done" not in first


def test_another_approach_reaches_the_agent(desk: Desk) -> None:
    """Stuck: the approach that the person gives stands in the agent's next prompt, and it gets there.

    Esc leaves the question open, in the list of what needs the person; the answer key brings it back.
    """
    terminal = run(desk, agent='grep -q "by hand" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    terminal.until("task is stuck", OPEN)
    terminal.press("escape")
    terminal.gone(OPEN)
    asked(terminal, "task is stuck", OPEN)
    terminal.press(key_of("stuck.retry"))
    terminal.until("enter sends")
    terminal.write("Make it by hand")
    terminal.press("enter")
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    first, second = desk.prompts()
    assert "Make it by hand" in second
    assert "by hand" not in first


def test_giving_a_task_up_lets_the_next_agent_go_on(desk: Desk) -> None:
    """Stuck: skipped or abandoned, the agent hears no more of it and the next one does its part.

    Only what was skipped is offered to the agent again when the run is gone on with.
    """
    agent = desk.agent("true")
    given_up = ("web", "api")
    tasks = [{"id": name, "prompt": name, "verify": "sh check.sh", "after_skip": "run"} for name in given_up]
    tasks.append({"id": "docs", "prompt": "The docs", "verify": "true", "needs": given_up})
    file = desk.root / "plan.yaml"
    plan = {"max_parallel": 1, "agents": {"coder": {"command": ["sh", agent]}}, "tasks": tasks}
    file.write_text(json.dumps(plan), encoding="utf-8")
    terminal = desk.terminal("run", str(file))
    terminal.until("web is stuck", OPEN)
    terminal.press(key_of("stuck.skip"))
    terminal.until("! api     stuck")
    asked(terminal, "api is stuck", OPEN)
    terminal.press(*[key_of("stuck.abandon")] * 2)
    terminal.until("not every task succeeded")
    assert leave(terminal) == 1
    (told,) = desk.prompts("docs")
    assert "The docs" in told
    assert [len(desk.prompts(name)) for name in given_up] == [1, 1]
    desk.unstuck("run", "--resume", "last", "--headless")
    assert [len(desk.prompts(name)) for name in given_up] == [2, 1]


def asked(terminal: Terminal, *words: str) -> str:
    """Open a question from the list with the answer key, and wait for these words."""
    terminal.until("needs you", "waits for you")
    terminal.press(key_of("gate.answer"))
    shown: str = terminal.until(*words)
    return shown


def test_a_time_out_is_extended(desk: Desk) -> None:
    """Time is up: the agent stands still until the person gives it more, and then ends its one attempt well."""
    go = desk.pipe("go")
    terminal = run(desk, "--timeout", "1s", agent=f"cat {go}; touch done")
    asked(terminal, "task has used up its time", "No time limit", "the agent is suspended meanwhile")
    terminal.press(key_of("timeout.extend"))
    terminal.until("enter sends")
    terminal.write("20m")
    terminal.press("enter")
    terminal.gone("has used up its time")
    terminal.until("19:")
    go.write_text("on", encoding="utf-8")
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    assert len(desk.prompts()) == 1


def test_a_loop_is_waved_on(desk: Desk) -> None:
    """Going round in circles: *not a loop* lets the held call of the agent go on."""
    terminal = desk.terminal(str(Path(__file__).parent / "looping_run.py"), program=sys.executable)
    asked(terminal, "task repeats itself", "esc leaves it open")
    assert not (desk.seen / "directive").exists()
    terminal.press(key_of("loop.continue__task"))
    terminal.until("1 done")
    assert leave(terminal) == 0
    assert (desk.seen / "directive").read_text(encoding="utf-8") == "go_on"


QUESTION = """grep -q "port 8080" "$UNSTUCK_PROMPT_FILE" && touch done && exit 0
question="Which port?"
grep -q "a free port" "$UNSTUCK_PROMPT_FILE" && question="Free is which?"
echo 'UNSTUCK {"signal": "needs_guidance", "question": "'$question'", "options": ["port 80", "port 8080"]}'"""


def test_a_question_is_answered_in_own_words_or_by_option(desk: Desk) -> None:
    """The agent asks which: what the person writes instead is what it is told, and so is the option whose key they
    press when it asks again."""
    terminal = run(desk, agent=QUESTION)
    asked(terminal, "task asks", "Which port?", "port 8080", OPEN)
    terminal.press(key_of("question.show_me"))
    terminal.until("ctrl+s sends")
    terminal.write("Take a free port")
    terminal.press("ctrl+s")
    terminal.until("! task    Free is which?")
    asked(terminal, "task asks", "Free is which?", OPEN)
    terminal.press("2")
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    first, second, third = desk.prompts()
    assert "Take a free port" in second
    assert "port 8080" in third
    assert "port" not in first


def test_an_answer_from_elsewhere_closes_the_dialog(desk: Desk) -> None:
    """Somebody answers at another terminal first: the dialog goes, and the agent is told that answer."""
    terminal = run(desk, agent='grep -q "elsewhere" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    terminal.until("task is stuck", OPEN)
    (gate,) = [row["gate"] for row in desk.rows() if "gate" in row]
    assert desk.unstuck("answer", gate, "show-me", "Do it elsewhere").returncode == 0
    terminal.gone(OPEN)
    terminal.until("every task succeeded")
    assert leave(terminal) == 0
    assert "Do it elsewhere" in desk.prompts()[1]
    assert desk.ways() == ["command"]


def test_a_question_that_comes_is_told_in_the_open_dialog(desk: Desk) -> None:
    """Its place reaches the terminal without a key, and tab leads on to it."""
    desk.environment["GO"] = str(desk.root / "go")
    agent = 'test $UNSTUCK_TASK = first || while [ ! -e "$GO" ]; do sleep 0.1; done; echo $$ >> changed'
    tasks = [{"id": name, "prompt": f"Do {name}.", "verify": "false"} for name in ("first", "second")]
    agents = {"coder": {"command": ["sh", desk.agent(agent)]}}
    plan = desk.seen.parent / "plan.yaml"
    plan.write_text(json.dumps({"max_parallel": 2, "agents": agents, "tasks": tasks}), encoding="utf-8")
    terminal = desk.terminal("run", "--direct", str(plan))
    terminal.until("first is stuck", OPEN)
    Path(desk.environment["GO"]).touch()
    terminal.until("1 of 2", "next: second")
    terminal.press(key_of("dialog.next"))
    terminal.until("second is stuck", "2 of 2", OPEN)
    terminal.press(key_of("dialog.back"))
    terminal.until("2 need you")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 3
    assert terminal.is_clean()
