"""Scripted agent program: gets a prompt and plays its script.

It is run by its path, with the standard library alone and little of that, for it starts often: ``python -I -S agent.py
SCRIPTS TOLD SPEED``. ``UNSTUCK_TASK`` names the script of that folder that it follows; its prompt is kept in
the folder ``TOLD``, one file for each attempt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

RESULT_LIMIT = 4_000  # characters of a tool's result that go into a step
BYTES_PER_TOKEN = 4
OUT_OF_CONTEXT = 1


class ContextExceeded(Exception):
    """The session holds more than the agent's context."""


class Agent:
    """One attempt. ``script`` is what :func:`unstuck.testing.rehearsal.script_of` wrote."""

    def __init__(self, script: dict[str, Any], prompt: str, speed: float) -> None:
        self.script, self.prompt, self.speed = script, prompt, speed
        self.task = os.environ["UNSTUCK_TASK"]
        self.number = int(os.environ["UNSTUCK_ATTEMPT"].rpartition(".")[2])
        self.calls = 0
        self.heard = 0
        self.hear(prompt)

    def play(self) -> None:
        """Play the first turn that matches."""
        rung = os.environ.get("UNSTUCK_RUNG", "first")
        for turn in self.script["turns"]:
            fits = turn["rung"] in ("", rung) and turn["attempt"] in (0, self.number)
            if fits and turn["told"].lower() in self.prompt.lower():
                self.do(turn["do"])
                return
        self.say("nothing in my script fits this attempt")

    def do(self, acts: list[dict[str, Any]]) -> None:
        for act in acts:
            getattr(self, f"do_{act['act']}")(**{key: value for key, value in act.items() if key != "act"})

    def say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def tell(self, **fields: Any) -> None:
        """Speak to the supervisor."""
        self.say(f"UNSTUCK {json.dumps(fields)}")

    def hear(self, text: str) -> None:
        """Take ``text`` into the session, which has a bound."""
        self.heard += len(text.encode()) // BYTES_PER_TOKEN
        if 0 < self.script["context"] < self.heard:
            raise ContextExceeded(f"prompt is too long: {self.heard} tokens > {self.script['context']} maximum")

    def call(self, tool: str, text: str) -> dict[str, Any]:
        """Announce a tool call; what comes back goes into its result."""
        self.calls += 1
        step = {"id": f"{self.number}.{self.calls}", "tool": tool}
        self.tell(step="action", text=text, **step)
        return step

    def do_say(self, text: str) -> None:
        self.say(text)

    def do_message(self, text: str) -> None:
        self.say(text)
        self.tell(step="message", text=text)

    def do_run(self, text: str) -> None:
        import subprocess

        command = text.replace("{python}", self.script["python"])
        step = self.call("bash", text.replace("{python}", "python"))
        done = subprocess.run(command, shell=True, capture_output=True, text=True, errors="replace", check=False)
        output = (done.stdout + done.stderr).strip()
        self.say(output)
        self.hear(output)
        kind = "failure" if done.returncode else "success"
        self.tell(step=kind, text=output[-RESULT_LIMIT:], exit_code=done.returncode & 255, **step)

    def do_read(self, path: str) -> None:
        step = self.call("read", path)
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            self.tell(step="failure", text=f"{path}: {error.strerror}", exit_code=1, **step)
            return
        self.tell(step="success", text=text[-RESULT_LIMIT:], **step)
        self.hear(text)

    def do_write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            step = self.call("write", path)
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
            self.say(f"wrote {path}")
            self.tell(step="success", text=f"{path}: {len(text)} characters", **step)

    def do_replace(self, path: str, old: str, new: str) -> None:
        step = self.call("edit", path)
        text = Path(path).read_text(encoding="utf-8")
        found = old in text
        if found:
            Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")
        self.say(f"edited {path}" if found else f"{path} does not hold what was to be replaced")
        self.tell(step="success" if found else "failure", text=f"{path}: {new if found else 'not found'}", **step)

    def do_delete(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        self.say(f"deleted {path}")

    def do_wait(self, seconds: float) -> None:
        time.sleep(seconds / self.speed)

    def do_work(self, seconds: float) -> None:
        """Keep a processor busy without a word."""
        end = time.process_time() + seconds / self.speed
        while time.process_time() < end:
            sum(range(10_000))

    def do_hang(self) -> None:
        while True:
            signal.pause()

    def do_flood(self, lines: int, escapes: bool) -> None:
        filler = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e" if escapes else ""
        for first in range(0, lines, 1_000):
            last = min(lines, first + 1_000)
            sys.stdout.write("".join(f"{filler}line {number} of {lines}\n" for number in range(first, last)))
        sys.stdout.flush()

    def do_use(self, tokens: int) -> None:
        self.tell(step="usage", tokens=tokens)

    def do_child(self, seconds: float, ignores_term: bool) -> None:
        """Leave a child behind, in a session of its own."""
        import subprocess

        ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if ignores_term else ""
        code = f"{ignore}import time; print('ready', flush=True); time.sleep({seconds})"
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        self.say(f"started process {child.pid}")

    def do_signal(self, fields: dict[str, Any]) -> None:
        self.tell(task=self.task, **fields)

    def do_repeat(self, times: int, do: list[dict[str, Any]]) -> None:
        for _ in range(times):
            self.do(do)

    def do_exit(self, code: int) -> None:
        sys.exit(code)


def main() -> NoReturn:
    """Read the prompt, keep a copy of it, and play."""
    scripts, told, speed = sys.argv[1:]
    prompt = Path(os.environ["UNSTUCK_PROMPT_FILE"]).read_text(encoding="utf-8")
    Path(told, f"{os.environ['UNSTUCK_ATTEMPT']}.txt").write_text(prompt, encoding="utf-8")
    script = json.loads(Path(scripts, f"{os.environ['UNSTUCK_TASK']}.json").read_text(encoding="utf-8"))
    try:
        Agent(script, prompt, float(speed)).play()
    except ContextExceeded as error:
        sys.stdout.write(f"error: {error}\n")
        sys.exit(OUT_OF_CONTEXT)
    sys.exit(0)


if __name__ == "__main__":
    main()
