"""No kind of secret that a known agent or a check prints is in anything that a run shows or leaves behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.e2e.conftest import Unstuck
from tests.text.secret_kinds import kinds
from tests.text.test_hidden_secrets import in_json, shown

SEED = 11


def _holding(text: str) -> set[str]:
    """The kinds whose secret can be read in ``text``, as it is or in JSON."""
    readable = shown(text)
    return {kind for kind, (_, part) in kinds(SEED).items() if part in text or part in readable}


def test_every_kind_in_a_stream_of_json(unstuck: Unstuck, tmp_path: Path) -> None:
    """Output, event log, snapshot, reports, prompts, questions and every page of the commands: none of 63 and more."""
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

    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "claude").write_text(f'#!/bin/sh\nprintf "%s" "$*" >> {tmp_path}/asked\ncat {said}\n')
    (programs / "claude").chmod(0o755)
    report = tmp_path / "check"
    report.write_text("FAILED test_x.py::test - AssertionError\n" + "\n".join(s for s, _ in kinds(SEED).values()))
    found = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "1"}
    found |= {f"UNSTUCK_FAILURE_HANDLER__MAX_{level}": "0" for level in ("PIVOTS", "RESEARCH")}
    check = f"cat {report}; exit 1"
    run = unstuck("run", "--headless", "--json", "--verify", check, "--agent", "claude", "Do it.", env=found)
    assert run.code == 3, run.errors

    pages = {"run": run.out + run.errors, "prompt": (tmp_path / "asked").read_text()}
    for words in (["show"], ["show", "--json"], ["runs"], ["events", "--json"], ["events"], ["recap"]):
        done = unstuck.inside(*words)
        assert done.code == 0, (words, done.errors)
        pages[" ".join(words)] = done.out + done.errors
    for path in (unstuck.root / ".git" / "unstuck").rglob("*"):
        if path.is_file() and "objects" not in path.parts:
            pages[str(path.relative_to(unstuck.root))] = path.read_text(errors="surrogateescape")
    assert any("events.jsonl" in name for name in pages)
    assert any("output" in name and "[redacted]" in text for name, text in pages.items())
    assert {name: sorted(kept) for name, text in pages.items() if (kept := _holding(text))} == {}
