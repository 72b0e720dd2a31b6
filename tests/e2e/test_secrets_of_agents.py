"""No kind of secret is in anything that a run shows, tells an agent or leaves behind, whatever way it came in."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from tests.acp.conftest import PROGRAM, act, rule
from tests.e2e.conftest import Done, Unstuck
from tests.hooks.test_watch_end_to_end import Begin
from tests.hooks.test_watch_end_to_end import World as Hooks
from tests.mcp.conftest import World as Calls
from tests.mcp.conftest import told as answered
from tests.text.secret_kinds import kinds
from tests.text.test_hidden_secrets import in_json, shown

from unstuck.eventlog import events as e
from unstuck.runs.watch import watch
from unstuck.settings.models import Settings
from unstuck.workspace.project import locate

SEED = 11
ALL = "\n".join(secret for secret, _ in kinds(SEED).values())
PAGES = (
    ["show"], ["show", "--json"], ["runs"], ["runs", "--json"], ["events"], ["events", "--json"], ["recap"],
    ["signatures"], ["signatures", "--json"], ["truth"], ["memory", "list"], ["memory", "list", "--json"],
    ["checkpoints", "list"], ["checkpoints", "list", "--json"], ["doctor"],
)  # fmt: skip
ONE_RETRY = {"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "1"} | {
    f"UNSTUCK_FAILURE_HANDLER__MAX_{level}": "0" for level in ("PIVOTS", "RESEARCH")
}


def _holding(text: str) -> set[str]:
    """The kinds whose secret can be read in ``text``, as it is or in JSON."""
    readable = shown(text) + shown(_said_in_pieces(text))
    return {kind for kind, (_, part) in kinds(SEED).items() if part in text or part in readable}


def _said_in_pieces(text: str) -> str:
    """The message in a log of the Agent Client Protocol, put together again."""
    lines = (json.loads(line) for line in text.splitlines() if "agent_message_chunk" in line and line.startswith("{"))
    updates = (line.get("params", {}).get("update", {}) for line in lines)
    return "".join(update.get("content", {}).get("text", "") for update in updates)


def _left(unstuck: Unstuck, *said: Done, **more: str) -> dict[str, list[str]]:
    """The kinds that can be read in what commands said, in ``more``, on every page and in every file of the run."""
    pages = {f"command {number}": one.out + one.errors for number, one in enumerate(said)} | more
    for words in PAGES:
        done = unstuck.inside(*words)
        assert done.code in (0, 1), (words, done.errors)
        pages[" ".join(words)] = done.out + done.errors
    for path in (unstuck.root / ".git" / "unstuck").rglob("*"):
        if path.is_file() and "objects" not in path.parts:
            pages[str(path.relative_to(unstuck.root))] = path.read_text(errors="surrogateescape")
    assert any("events.jsonl" in name for name in pages)
    assert "[redacted]" in "".join(pages.values())
    return {name: sorted(kept) for name, text in pages.items() if (kept := _holding(text))}


def _program(folder: Path, name: str, text: str) -> dict[str, str]:
    """The environment in which the shell script ``text`` is the program ``name``."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"} | ONE_RETRY


def test_every_kind_in_a_stream_of_json(unstuck: Unstuck, tmp_path: Path) -> None:
    """A known agent says all of them behind escapes, and the check prints them: output, questions and prompts."""
    said = tmp_path / "said"
    lines = [json.dumps({"type": "system", "subtype": "init", "session_id": "s-1"})]
    for secret, _ in kinds(SEED).values():
        lines.append(in_json(f"printed:\n{secret}\n\t{secret}\tend"))
        lines.append(in_json(json.dumps({"stdout": f"inner\n{secret}\n"})))
        text = {"type": "text", "text": f"I have seen\n{secret}\nand go on."}
        lines.append(json.dumps({"type": "assistant", "message": {"id": "m", "content": [text]}}))
    last = "\n".join(secret for secret, _ in list(kinds(SEED).values())[-12:])
    end = {"type": "result", "subtype": "success", "is_error": False, "result": f"Done:\n{last}", "session_id": "s-1"}
    said.write_text("\n".join([*lines, json.dumps(end)]) + "\n")
    assert len(_holding(said.read_text())) >= 63

    report = tmp_path / "check"
    report.write_text(f"FAILED test_x.py::test - AssertionError\n{ALL}")
    found = _program(tmp_path / "programs", "claude", f'printf "%s" "$*" >> {tmp_path}/asked\ncat {said}')
    check = f"cat {report}; exit 1"
    run = unstuck("run", "--headless", "--json", "--verify", check, "--agent", "claude", "Do it.", env=found)
    assert run.code == 3, run.errors
    assert _left(unstuck, run, prompt=(tmp_path / "asked").read_text()) == {}


def test_every_kind_in_plain_output_and_in_words_of_a_person(unstuck: Unstuck, tmp_path: Path) -> None:
    """The task, what a program prints and asks, the answer to it, a rule made of that, and the note of a checkpoint."""
    said, asked = tmp_path / "said", tmp_path / "asked"
    said.write_text(f"{ALL}\n\x1b[32m{ALL}\x1b[0m\n")
    signal = {"signal": "needs_guidance", "question": f"Which?\n{ALL[:9_000]}", "options": ["a", ALL[:2_000]]}
    asked.write_text(f"UNSTUCK {json.dumps(signal)}\n")
    work = unstuck.script("agent.sh", f"cat {said}; cat {said} >&2; cat {asked}; exit 1")
    run = unstuck(
        "run", "--headless", "--task", f"Do it.\n{ALL}", "--verify", f"cat {said}; exit 1", "--", "sh", work,
        env=ONE_RETRY,
    )  # fmt: skip
    assert run.code == 3, run.errors
    noted = unstuck("checkpoints", "create", "-m", f"before {ALL}")
    assert noted.code == 0, noted.errors
    asked.unlink()  # from now on the check's failure is what it is asked about
    for words in ([], ["--for", "pattern"]):
        said.write_text(f"AssertionError: 1 == 2\n{ALL}\n")
        answer = unstuck("answer", unstuck.only_gate()["gate"], "show-me", f"Take this:\n{ALL}", *words)
        assert answer.code == 0, answer.errors
        resumed = unstuck("run", "--resume", "last", "--headless", env=ONE_RETRY)
        assert _left(unstuck, run, noted, answer, resumed, prompts="\n".join(unstuck.prompts())) == {}
    assert sum("Take this" in prompt for prompt in unstuck.prompts()) >= 2


def test_every_kind_in_pieces_of_the_agent_client_protocol(unstuck: Unstuck, tmp_path: Path) -> None:
    """Messages that come word by word and letter by letter, commands, their output, and a question for permission."""
    folder = tmp_path / "agent"
    folder.mkdir()
    (tmp_path / "said").write_text(ALL)
    does = rule(
        act("say", text=f"I have seen\n{ALL}"),
        act("say", text=f"and once more\n{ALL}", size=7),
        act("plan", steps=[f"use {ALL}"]),
        act("run", command=f"cat {tmp_path}/said; exit 1"),
        act("run", command=f"echo '{ALL[:4_000]}' >/dev/null"),
    )
    (folder / "script.json").write_text(json.dumps({"rules": [does]}))
    talks = f"exec {sys.executable} -I -S {PROGRAM} {folder}/script.json {folder}"
    found = _program(tmp_path / "programs", "vibe-acp", talks)
    run = unstuck("run", "--headless", "--verify", "false", "--agent", "acp:vibe", f"Do it.\n{ALL}", env=found)
    assert run.code == 3, run.errors
    told = "\n".join(json.loads(line)["text"] for line in (folder / "told.jsonl").read_text().splitlines())
    assert "Do it." in told
    assert _left(unstuck, run, told=told) == {}


def test_every_kind_in_files_to_diagnose_and_to_review(unstuck: Unstuck, tmp_path: Path) -> None:
    """A log and a session that an agent has kept are told without them, to a person and to a program."""
    log, session = tmp_path / "log", tmp_path / "session.jsonl"
    log.write_text(f"FAILED test_x.py::test - AssertionError: {ALL}\nE   AssertionError: {ALL}\n")
    lines = []
    for number in range(4):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make\n{ALL}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"Error: {ALL}", "is_error": True}
        text = {"type": "text", "text": f"All is done.\n{ALL}"}
        for role, *content in (("assistant", call), ("user", result), ("assistant", text)):
            lines.append({"type": role, "sessionId": "s", "message": {"role": role, "content": content}})
            lines[-1] |= {"uuid": f"u{len(lines)}", "cwd": "/home/ann/shop", "timestamp": "2026-11-23T09:21:43.219Z"}
    session.write_text("\n".join(map(json.dumps, lines)))
    for words in (["diagnose", log], ["diagnose", "--json", log], ["review", session], ["review", "--json", session]):
        done = unstuck.inside(*map(str, words))
        assert "[redacted]" in done.out, (words, done.errors)
        assert _holding(done.out + done.errors) == set(), words


def test_every_kind_in_hooks_and_in_calls_over_mcp(
    unstuck: Unstuck, start: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watched agent's commands, results and messages, its question over MCP, and the answer to it."""
    monkeypatch.chdir(unstuck.root)
    told = asyncio.run(_watched(unstuck, start))
    assert "Take this" in told
    assert _left(unstuck, told=told) == {}


async def _watched(unstuck: Unstuck, start: Begin) -> str:
    """Return what the agent was told by hooks and in the reply to its call."""
    told: list[object] = []
    async with watch(await locate(unstuck.root), Settings()) as supervisor:
        hooks, calls = Hooks(unstuck.root, supervisor, start), Calls(supervisor)
        call, gate = await calls.asked(calls.agent(), f"Which?\n{ALL}", options=["a", ALL], context=ALL)
        await calls.says(gate, "show_me", f"Take this:\n{ALL}")
        told.append((await answered(call)).text)
        for number, (event, more) in enumerate(
            (
                ("SessionStart", {}),
                ("UserPromptSubmit", {"prompt": f"Do it.\n{ALL}"}),
                ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": f"make\n{ALL}", "description": ALL}}),
                ("PostToolUse", {"tool_name": "Bash", "tool_response": {"stdout": f"out\n{ALL}", "stderr": ALL}}),
                ("PostToolUseFailure", {"tool_name": "Bash", "error": f"Exit code 1\nAssertionError: x\n{ALL}"}),
                ("Stop", {"last_assistant_message": f"All is done.\n{ALL}"}),
            )
        ):
            told.append(await hooks.say(event, tool_use_id=f"t{number}", **more))
        assert hooks.of(e.StepRecorded)
        await supervisor.core.journal.committed()
    return json.dumps(told, ensure_ascii=False)
