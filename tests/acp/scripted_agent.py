"""A program that speaks the Agent Client Protocol and does what a script says: real commands, sessions, and faults.

``python -I -S scripted_agent.py SCRIPT FOLDER``: the script is a JSON file, what it heard and its sessions are kept in
FOLDER. A turn does the acts of the first rule whose words are in what it was told; see ``do_…`` for the acts.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPTIONS = [
    {"optionId": "for-ever", "name": "Allow always", "kind": "allow_always"},
    {"optionId": "now", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


class Cancelled(Exception):
    """The client wants this turn to end."""


class Agent:
    """One process; ``script`` has ``rules``, and what it can do: ``loads``, ``resumes``, ``steers``."""

    def __init__(self, script: dict[str, Any], folder: Path) -> None:
        self.script, self.folder = script, folder
        self.inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.answers: dict[int, dict[str, Any]] = {}
        self.answered = threading.Condition()
        self.cancelled = threading.Event()
        self.words: list[str] = []
        self.session = ""
        self.in_turn = False
        self.number = 0
        threading.Thread(target=self.read, daemon=True).start()

    # --- the wire ---

    def read(self) -> None:
        for line in os.fdopen(os.dup(0), "rb", buffering=0):
            message = json.loads(line)
            self.note("heard", message)
            if "method" not in message:
                with self.answered:
                    self.answers[message["id"]] = message
                    self.answered.notify_all()
            elif message["method"] == "session/cancel":
                self.cancelled.set()
                with self.answered:
                    self.answered.notify_all()
            elif message["method"] == "_session/steering":
                outcome = "injected" if self.in_turn else "promptRequired"
                self.words += [message["params"]["prompt"][0]["text"]] if self.in_turn else []
                self.send({"id": message["id"], "result": {"outcome": outcome}})
            else:
                self.inbox.put(message)
        self.inbox.put(None)

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        os.write(1, data) if len(data) < 4096 else (sys.stdout.buffer.write(data), sys.stdout.buffer.flush())

    def note(self, kind: str, value: Any) -> None:
        with open(self.folder / f"{kind}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")

    def update(self, name: str, /, **fields: Any) -> None:
        update = {"sessionUpdate": name, **fields}
        self.send({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        with self.answered:
            while number not in self.answers and not self.cancelled.is_set():
                self.answered.wait()
        if number not in self.answers:
            raise Cancelled
        return self.answers.pop(number)

    # --- the protocol ---

    def serve(self) -> None:
        self.note("pids", os.getpid())
        self.note("log", os.environ.get("GEMINI_DEBUG_LOG_FILE"))
        while (message := self.inbox.get()) is not None:
            method, params = message["method"], message.get("params") or {}
            try:
                result = getattr(self, "on_" + method.replace("/", "_"))(params)
            except LookupError as error:
                self.send(
                    {
                        "id": message["id"],
                        "error": {"code": -32602, "message": "Invalid params", "data": {"details": str(error)}},
                    }
                )
            except Cancelled:
                error = {"code": -32603, "message": "Internal error", "data": {"details": "Request was aborted."}}
                self.send({"id": message["id"], "error": error})
            except PermissionError:
                self.send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
            else:
                self.send({"id": message["id"], "result": result})

    def on_initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        fault = self.script.get("fault")
        if fault == "silent":
            signal.pause()
        if fault == "noise":
            sys.stdout.write("Welcome to the agent!\n\n{not json}\n[1, 2]\n")
            sys.stdout.flush()
        can: dict[str, Any] = {"loadSession": bool(self.script.get("loads")), "sessionCapabilities": {}}
        if self.script.get("resumes"):
            can["sessionCapabilities"]["resume"] = {}
        return {
            "protocolVersion": self.script.get("version", 1),
            "agentCapabilities": can,
            "_meta": {"steering": {"supported": bool(self.script.get("steers"))}},
        }

    def on_session_new(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.script.get("fault") == "auth":
            raise PermissionError
        self.session = f"ses_{len(list(self.folder.glob('ses_*')))}"
        (self.folder / self.session).write_text("", encoding="utf-8")
        models = {"currentModelId": self.script["model"], "availableModels": []} if "model" in self.script else None
        return {"sessionId": self.session, "modes": self.script.get("modes"), "models": models}

    def on_session_load(self, params: dict[str, Any]) -> dict[str, Any]:
        self.on_session_resume(params)
        for line in (self.folder / self.session).read_text("utf-8").splitlines():
            self.update("user_message_chunk", content={"type": "text", "text": line})
            self.update("agent_message_chunk", content={"type": "text", "text": "this was said long ago"})
            self.update("tool_call", toolCallId="old", title="make old", kind="execute", status="completed")
        return {}

    def on_session_resume(self, params: dict[str, Any]) -> dict[str, Any]:
        if not (self.folder / params["sessionId"]).exists():
            raise LookupError("there is no such session")
        self.session = params["sessionId"]
        return {}

    def on_session_set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def on_session_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        text = params["prompt"][0]["text"]
        with open(self.folder / self.session, "a", encoding="utf-8") as file:
            file.write(text.replace("\n", " ") + "\n")
        self.note("told", {"session": self.session, "text": text})
        self.cancelled.clear()
        self.in_turn = True
        try:
            for rule in self.script["rules"]:
                if rule["told"] in text:
                    return self.do(rule["do"])
            return {"stopReason": "end_turn"}
        except Cancelled:
            if self.script.get("aborts"):
                raise
            return {"stopReason": "cancelled"}
        finally:
            self.in_turn = False

    # --- what it does ---

    def do(self, acts: list[dict[str, Any]]) -> dict[str, Any]:
        for act in acts:
            if self.cancelled.is_set():
                raise Cancelled
            done = getattr(self, f"do_{act['act']}")(**{key: value for key, value in act.items() if key != "act"})
            if done is not None:
                return done
        return {"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}}

    def do_say(self, text: str, size: int = 0) -> None:
        """A message, word by word, or in pieces of ``size`` letters."""
        pieces = (
            [text[at : at + size] for at in range(0, len(text), size)]
            if size
            else [f"{one} " for one in text.split(" ")]
        )
        for piece in pieces:
            self.update("agent_message_chunk", content={"type": "text", "text": piece})

    def do_run(self, command: str, ask: bool = False, why: str = "") -> dict[str, Any] | None:
        """A command, with permission where ``ask`` says so; what it was refused ends the turn."""
        self.number += 1
        call = {"toolCallId": f"call_{self.number}", "title": command, "kind": "execute"}
        self.update("tool_call", **(call | {"title": "Terminal"}), status="pending", rawInput={})
        if ask:
            content = [{"type": "content", "content": {"type": "text", "text": why}}] if why else []
            asked = {"toolCall": {**call, "rawInput": {"command": command}, "content": content}, "options": OPTIONS}
            answer = self.ask("session/request_permission", {"sessionId": self.session, **asked})
            outcome = answer["result"]["outcome"]
            self.note("permissions", outcome)
            if outcome.get("optionId") != "now":
                self.update(
                    "tool_call_update", **call, status="failed", rawOutput="User refused permission to run tool"
                )
                return {"stopReason": "end_turn"}
        self.update("tool_call_update", **call, status="in_progress", rawInput={"command": command})
        process = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.note("pids", process.pid)
        while process.poll() is None and not self.cancelled.is_set():
            time.sleep(0.01)
        if process.poll() is None and self.script.get("deaf") is None:
            process.kill()
            process.wait()
            raise Cancelled
        printed = process.communicate()[0]
        output = {"output": printed, "metadata": {"exit": process.returncode}}
        self.update("tool_call_update", **call, status="completed", rawOutput=output)
        return None

    def do_ask_all(self, commands: list[str], kinds: list[str], late: bool = False) -> None:
        """Ask whether these may be run, all at once (``late``: but the first only once the turn was cancelled)."""
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in kinds]
        numbers = range(self.number + 1, self.number + 1 + len(commands))
        for number, command in zip(numbers, commands, strict=True):
            call = {"toolCallId": command, "title": command, "kind": "execute", "rawInput": {"command": command}}
            params = {"sessionId": self.session, "toolCall": call, "options": options}
            self.send({"id": number, "method": "session/request_permission", "params": params})
            if late:
                self.cancelled.wait()
        self.number += len(commands)
        with self.answered:
            while not all(number in self.answers for number in numbers):
                self.answered.wait()
        for number in numbers:
            self.note("permissions", self.answers.pop(number)["result"]["outcome"]["outcome"])

    def do_hear(self) -> None:
        """Wait for words that are said into this turn, and say them again."""
        while not self.words and not self.cancelled.is_set():
            time.sleep(0.01)
        if self.words:
            self.note("told", {"session": self.session, "text": self.words[0], "steered": True})
            self.do_say(f"heard: {self.words.pop(0)}")

    def do_plan(self, steps: list[str]) -> None:
        entries = [{"content": step, "status": "pending", "priority": "low"} for step in steps]
        self.update("plan", entries=entries)

    def do_orphan(self) -> None:
        """Leave a child behind that has freed itself of us."""
        code = "import time; print('ready', flush=True); time.sleep(3600)"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None
        child.stdout.readline()
        self.note("pids", child.pid)

    def do_request(self, method: str) -> None:
        """Ask the client for something it cannot do."""
        self.note("refusals", self.ask(method, {"sessionId": self.session})["error"]["code"])

    def do_hang(self) -> None:
        """Do nothing until cancelled; with ``deaf`` not even then."""
        self.do_say("waiting")
        while not self.cancelled.is_set() or self.script.get("deaf"):
            time.sleep(0.01)
        raise Cancelled

    def do_end(self, reason: str) -> dict[str, Any]:
        return {"stopReason": reason}

    def do_fault(self, name: str) -> None:
        if name == "exit":
            sys.stderr.write("panic: out of cheese\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "eof":
            os.close(1)
            signal.pause()
        if name == "huge":
            try:
                sys.stdout.buffer.write(b'{"jsonrpc":"2.0","method":"session/update","params":"' + b"x" * 20_000_000)
                sys.stdout.buffer.flush()
            finally:
                signal.pause()
        if name == "strange":
            for line in (
                b"\xff\xfe{",
                b"{}",
                b'{"id":[1],"result":1}',
                b'{"id":0,"error":"no"}',
                b'{"id":0,"error":{}}',
                b'{"method":7}',
                b'{"method":"session/update","params":[]}',
                b'{"method":"session/update"}',
                b'{"method":"session/update","params":{"sessionId":"%s","update":7}}' % self.session.encode(),
                b'{"id":9,"method":"session/request_permission","params":"please"}',
                b"[" * 100_000,
            ):
                os.write(1, line + b"\n")
        if name == "flood":
            for number in range(2_000):
                self.update("agent_message_chunk", content={"type": "text", "text": f"{number} "})
                self.update("current_mode_update", currentModeId=str(number))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    script, folder = Path(sys.argv[1]), Path(sys.argv[2])
    Agent(json.loads(script.read_text("utf-8")), folder).serve()


if __name__ == "__main__":
    main()
