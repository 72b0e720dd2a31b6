"""No kind of secret reaches the terminal, whatever is looked at and typed on the screen."""

from __future__ import annotations

import json

from tests.screen.terminal.conftest import Desk, Terminal
from tests.text.secret_kinds import kinds

from unstuck_tui.keys.actions import key_of

SEED = 12
EACH = [secret for secret, _ in kinds(SEED).values()]
ALL = "\n".join(EACH)


def holding(terminal: Terminal, seen: list[str]) -> set[str]:
    """The kinds that were ever written to the terminal, or stood on it in lines that were broken anywhere."""
    ever = bytes(terminal.raw).decode("utf-8", "replace") + "".join(screen.replace("\n", "") for screen in seen)
    return {kind for kind, (_, part) in kinds(SEED).items() if part in ever}


def test_no_kind_is_seen_on_the_screen(desk: Desk) -> None:
    """Output as it comes, the question with the check's words, the task's page, the log, and the report at the end."""
    said, asked = desk.seen.parent / "said", desk.seen.parent / "asked"
    said.write_text(f"OUTPUT\n{ALL}\n\x1b[31m{ALL}\x1b[0m\nLAST\n", encoding="utf-8")
    signal = {
        "signal": "needs_guidance",
        "question": "ASKED " + "\n".join(EACH[:40]),
        "options": ["ONE", "\n".join(EACH[40:])],
    }
    asked.write_text(f"UNSTUCK {json.dumps(signal)}\n", encoding="utf-8")
    (desk.root / "check.sh").write_text(f"echo 'E   AssertionError: FAILED'; cat {said}; exit 1\n", encoding="utf-8")
    work = desk.agent(f"cat {said}; case $UNSTUCK_ATTEMPT in *.1) cat {asked};; esac")
    plan = {"agents": {"coder": {"command": ["sh", work]}}, "tasks": [{"id": "web", "prompt": f"PROMPT {ALL}"}]}
    plan["tasks"][0]["verify"] = "sh check.sh"  # type: ignore[index]
    (desk.root / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    terminal = desk.terminal("run", "plan.yaml", size=(120, 40))
    seen = [terminal.until("waits for you", "ASKED", "[redacted]")]
    terminal.press(key_of("gate.answer"))
    seen.append(terminal.until("ONE", "leaves it open"))
    terminal.press("escape")
    seen.append(terminal.gone("ONE"))
    seen.append(terminal.until("▸ E   AssertionError: FAILED"))
    terminal.press(key_of("output.check"), key_of("detail.last"))
    seen.append(terminal.until("the check failed", "LAST"))
    terminal.press(key_of("output.prompt"))
    seen.append(terminal.until("prompt of attempt 1"))
    terminal.press(key_of("output.agent"))
    seen.append(terminal.until("end of attempt 1", "LAST"))
    terminal.press("escape", key_of("view.log"))
    seen.append(terminal.until("task_added"))
    assert holding(terminal, seen) == set()
