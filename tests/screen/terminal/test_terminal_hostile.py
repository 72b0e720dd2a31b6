"""Nothing that an agent, a check or a plan says reaches the terminal as anything but text."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

ESCAPES = (
    "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "\x1b[2J",
    "\x1b[?1049l", "\x1b[?1000h", "\x1b[31;5m", "\x1b[9;9H", "\x1bc", "\x1b(0", "\x1bP+q544e\x1b\\", "\x1b_app\x1b\\",
    "\x1b^pm\x1b\\", "\x1bX sos\x1b\\", "\x1b[>1u", "\x1b]4;1;?\x07", "\x1b[6n", "\x1b[c", "\x1b#8", "\x1b[5i",
    "\x9b31m", "\x9d0;pwned\x9c", "\x90+q\x9c", "\x85", "\x07\x08\x0b\x0c\x0e\x0f\x7f", "\x1b", "\x1b[",
)  # fmt: skip
INVISIBLE = "\u202e\u202d\u2066\u2069\u200b\u200d\u200e\u200f\u2028\u2060\ufeff\u00ad\U000e0041"
MARKUP = "[/nope] [@click=app.exit]out[/] [link=http://evil.example]x[/link] [bold red]loud"
NASTY = MARKUP + "".join(ESCAPES) + INVISIBLE + "\r\x08over" + "".join(ESCAPES) + "界🧨é" + "\t" + "y" * 100_000

# All that the screen itself writes: colours, the cursor's place, modes, the pointer's shape, what it asks the terminal,
# and its title.
OWN = re.compile(
    r"\x1b\[[\d;]*m|\x1b\[\d+;\d+H|\x1b\[\?(?:7|25|1000|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"
    r"|\x1b\]22;[a-z]+\x07|\x1b\[>\d+u|\x1b\[<u|\x1b\[\?(?:2026|2048)\$p"
    r"|\x1b\]2;(?:unstuck[ :·\w,]*)?\x1b\\|\x1b\[2[23];2t"
)


def foreign(raw: bytes) -> list[str]:
    """Return everything that is neither printable text nor a sequence of Textual's own, each with what follows it."""
    text = OWN.sub("", raw.decode("utf-8"))
    return [
        repr(text[place : place + 12])
        for place, character in enumerate(text)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and character not in "\r\n"
    ]


class Hostile(Desk):
    """A desk with a plan."""

    plan: Path


@pytest.fixture
def hostile(desk: Desk) -> Hostile:
    """A plan in which every text is hostile: the agent prints the worst, asks with it, and then fails."""
    nasty = NASTY[:3_000]  # a signal is one short line
    said = {
        "signal": "needs_guidance", "question": "ASKED " + nasty, "options": ["ONE " + nasty, "TWO " + nasty],
        "approach": "WAY " + nasty, "alternatives": [nasty, "[/other]"],
    }  # fmt: skip
    output, signal = desk.seen.parent / "output", desk.seen.parent / "signal"
    output.write_bytes(f"OUTPUT {NASTY}\n".encode() + b"\xff\xfe\x9b31m\xc3(\n" + b"LAST [/line]\n")
    signal.write_text(f"UNSTUCK {json.dumps(said)}\n", encoding="utf-8")
    (desk.root / "failure").write_text(f"E   AssertionError: FAILED {NASTY}\n", encoding="utf-8")
    (desk.root / "check.sh").write_text("cat failure; exit 1\n", encoding="utf-8")
    once = f"cat {output}; case $UNSTUCK_ATTEMPT in *.1) cat {signal};; esac"
    agent = {"command": ["sh", desk.agent(once)], "type": "[/type]"}
    task = {"id": "web", "prompt": "PROMPT " + NASTY, "verify": "sh check.sh"}
    hostile = Hostile(desk.root, desk.seen, desk.start, desk.environment, desk.open)
    hostile.plan = desk.root / "plan.yaml"
    hostile.plan.write_text(json.dumps({"agents": {"coder": agent}, "tasks": [task]}), encoding="utf-8")
    return hostile


def test_hostile_texts_are_only_text(hostile: Hostile) -> None:
    """Escapes, controls, directions, markup and links in every text: the terminal gets none of them but as letters.

    Through both dialogs, the list of what waits, the table, the detail with its output, the filter, help, a tooltip, a
    notification, and what the person pastes.
    """
    terminal = hostile.terminal("run", str(hostile.plan), size=(120, 40))
    terminal.until("waits for you", "ASKED [/nope]", "yyyyyyy")
    terminal.press(key_of("gate.answer"))
    shown = terminal.until("web asks", "ONE [/nope]", "esc leaves it open")
    assert shown.count("[/nope] [@click=app.exit]out[/]") > 2
    terminal.press("1")
    terminal.until("! web     stuck")
    terminal.press(key_of("gate.answer"))
    shown = terminal.until("web is stuck", "esc leaves it open")
    assert "[/nope] [@click=app.exit]out[/]" in shown
    terminal.press("escape")
    terminal.gone("esc leaves it open")
    terminal.until("waits for you", "LAST [/line]")
    terminal.press(key_of("task.open"))
    terminal.until("esc back")
    terminal.press("escape")
    terminal.gone("esc back")
    terminal.press(key_of("table.filter"))
    terminal.until("words to look for")
    terminal.write("[/nope] ! [bold")
    terminal.until("[/nope] ! [bold", "0 of 1")
    terminal.press("escape")
    terminal.gone("[/nope] ! [bold", "0 of 1", "words to look for")
    terminal.press(key_of("app.help"))
    terminal.until("─ [Keys]  Signs and words ─")
    terminal.press("escape")
    terminal.gone("─ [Keys]  Signs and words ─")
    terminal.until("n next  h hold")  # the footer: the help may lie over it
    lines = terminal.text.splitlines()
    row = max(place for place, line in enumerate(lines, 1) if "n next  h hold" in line)
    column = lines[row - 1].index("next") + 1
    terminal.write(f"\x1b[<35;{column};{row}M")
    terminal.until("Select the next task that needs you")
    terminal.press(key_of("gate.answer"))
    terminal.until("web is stuck", "esc leaves it open")
    terminal.press(key_of("stuck.show_me"))
    terminal.until("ctrl+s sends")
    terminal.write(f"\x1b[200~PASTED {MARKUP}\x9b31m\x07{INVISIBLE}\x1b]0;pwned\x07 end\x1b[201~")
    terminal.until("PASTED [/nope]", "end")
    (open_gate,) = [line["gate"] for line in hostile.rows() if "gate" in line]
    assert hostile.unstuck("answer", open_gate, "skip").returncode == 0
    terminal.until("answered meanwhile", "Your text is kept")
    terminal.press("escape")
    terminal.gone("Your text is kept")
    terminal.until("not every task succeeded")
    terminal.press(key_of("gate.answer"))
    terminal.until("Nothing needs an answer.")
    terminal.press(key_of("app.quit"))
    assert terminal.ended() == 1
    assert foreign(bytes(terminal.raw)) == []
    assert terminal.is_clean()
