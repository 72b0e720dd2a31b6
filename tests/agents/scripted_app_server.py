"""A program that speaks as ``codex app-server`` does, as far as its script goes: ``scripted_app_server.py MODE``.

It runs no command; what it would have run is told as items. Each request that it gets is a line of ``heard.jsonl`` in
its working directory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

MODE = sys.argv[1]
THREAD, TURN = "thread-1", "turn-1"


def send(message: dict[str, Any]) -> None:
    """One line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def tell(method: str, **params: Any) -> None:
    """A notification about the thread."""
    send({"method": method, "params": {"threadId": THREAD, "turnId": TURN, **params}})


def heard() -> Iterator[dict[str, Any]]:
    """Note and return each message to us."""
    with open("heard.jsonl", "a", encoding="utf-8") as file:
        for line in sys.stdin:
            file.write(line)
            file.flush()
            yield json.loads(line)


def command(id: str, said: str, *, code: int | None, status: str) -> None:
    """A command that has ended."""
    item = {"type": "commandExecution", "id": id, "command": f"/bin/bash -lc '{said}'", "status": status}
    tell("item/completed", item=item | {"aggregatedOutput": "oops\n" if code else "", "exitCode": code})


def starts(id: str, said: str) -> None:
    """A command that begins."""
    item = {"type": "commandExecution", "id": id, "command": f"/bin/bash -lc '{said}'", "status": "inProgress"}
    tell("item/started", item=item)


def ends(status: str = "completed", **turn: Any) -> None:
    """The turn is over."""
    tell("turn/completed", turn={"id": TURN, "status": status, **turn})


def message(text: str) -> None:
    """The agent says something."""
    tell("item/completed", item={"type": "agentMessage", "id": f"m{time.monotonic_ns()}", "text": text})


def turn(messages: Iterator[dict[str, Any]]) -> None:
    """Play a turn by the mode."""
    message("I will run the tests.")
    match MODE:
        case "asks" | "every":
            starts("c1", "make deploy")
            params = {"threadId": THREAD, "turnId": TURN, "itemId": "c1", "command": "/bin/bash -lc 'make deploy'"}
            reason = {"reason": "it wants the network"} if MODE == "asks" else {}
            send({"id": 0, "method": "item/commandExecution/requestApproval", "params": params | reason})
            answered(messages)
        case "flood":
            params = {"threadId": THREAD, "turnId": TURN, "reason": "why not", "command": "make deploy"}
            for number in range(400):
                asked = params | {"itemId": f"c{number}"}
                send({"id": number, "method": "item/commandExecution/requestApproval", "params": asked})
            declined = 0
            while declined < 368:
                declined += "result" in next(messages)
            ends()
        case "fails":
            ends("failed", error={"message": "quota exceeded: try again later"})
        case "offline" | "online-again":
            error = {
                "message": "Reconnecting... waiting for network",
                "additionalDetails": "Connection failed: no route",
            }
            for _ in range(4):
                tell("error", error=error, willRetry=True, turnId=TURN)
            if MODE == "offline":
                answered(messages)
            else:
                ends()
        case "silent":
            starts("c1", "sleep 600")
            answered(messages)
        case "at-once":
            starts("c1", "make test")
            with redirect_stdout(StringIO()) as together:
                command("c1", "make test", code=3, status="failed")
                ends()
            sys.stdout.write(together.getvalue())
            sys.stdout.flush()
        case "early":
            sys.stderr.write("panicked at core.rs\n")
            sys.exit(7)
        case "long":
            sys.stdout.write('{"method": "warning", "params": {"message": "' + "x" * 20_000_000)
            sys.stdout.flush()
            answered(messages)
        case "broken":
            sys.stdout.write('{"method": "turn/completed", "par\n')
            sys.stdout.flush()
            answered(messages)
        case "loops":
            for round in range(4):
                starts(f"c{round}", "make test")
                command(f"c{round}", "make test", code=3, status="failed")
            answered(messages)
        case _:
            starts("c1", "make test")
            command("c1", "make test", code=3, status="failed")
            usage = {"inputTokens": 100, "cachedInputTokens": 40, "outputTokens": 10}
            tell("thread/tokenUsage/updated", tokenUsage={"last": usage, "total": usage})
            message("All done.\nApproach: raw body")
            ends()


def answered(messages: Iterator[dict[str, Any]]) -> None:
    """Wait for what is decided about the command, for words, or for the interrupt."""
    decision = ""
    for said in messages:
        if said.get("id") == 0 and "result" in said:
            decision = said["result"]["decision"]
            code = {"accept": 0}.get(decision)
            command("c1", "make deploy", code=code, status="completed" if code == 0 else "declined")
        elif said["method"] == "turn/steer":
            send({"id": said["id"], "result": {"turnId": TURN}})
            message(f"I was told: {said['params']['input'][0]['text']}")
        elif said["method"] == "turn/interrupt":
            send({"id": said["id"], "result": {}})
            return ends("interrupted")
        else:
            reply(said, messages)
        if decision or (said.get("method") == "turn/steer" and MODE == "loops"):
            message(f"It was: {decision or 'told'}.")
            return ends("interrupted" if decision == "cancel" else "completed")
    return None


def reply(said: dict[str, Any], messages: Iterator[dict[str, Any]]) -> None:
    """Reply to a request."""
    id = said.get("id")
    match said.get("method"):
        case "initialize":
            if MODE == "other":
                send({"id": id, "result": {"protocolVersion": 99}})
            elif MODE == "refuses":
                send({"id": id, "error": {"code": -32600, "message": "unknown variant `initialize`"}})
            else:
                send({"id": id, "result": {"userAgent": "scripted/1.0", "codexHome": "/"}})
                print("WARNING: this is no line of the protocol", flush=True)
        case "thread/start" | "thread/resume":
            tell("thread/tokenUsage/updated", turnId="turn-0", tokenUsage={"last": {"inputTokens": 5_000}})
            send({"id": id, "result": {} if MODE == "nameless" else {"thread": {"id": THREAD}}})
        case "turn/start":
            send({"id": id, "result": {"turn": {"id": TURN, "status": "inProgress"}}})
            tell("turn/started", turn={"id": TURN})
            turn(messages)


if __name__ == "__main__":
    if MODE == "gone":
        sys.exit("there is no app-server in this version")
    if MODE == "child" and os.fork() == 0:
        time.sleep(600)
    lines = heard()
    for line in lines:
        reply(line, lines)
