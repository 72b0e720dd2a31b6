"""An agent that asks: by rule, by nobody, and by a person long after its run was left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inside = Callable[..., tuple[int, str, str]]
SERVER = Path(__file__).parents[1] / "agents" / "scripted_app_server.py"


@pytest.fixture(autouse=True)
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name on the PATH, whose app-server asks whether it may deploy."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} asks\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UNSTUCK_EXPERIMENTAL", "accept")


ALLOWED = "grep '\"accept\"' heard.jsonl"
RUN = ("run", "--json", "--headless", "--verify", ALLOWED, "--agent", "codex-app-server", "Deploy it.")


def events(out: str, name: str) -> list[dict[str, Any]]:
    """The data of the printed records of this name."""
    records = [json.loads(line) for line in out.splitlines()]
    return [record["data"] for record in records if record.get("event") == name]


def test_a_rule_allows_it(repo: Path, inside: Inside) -> None:
    """A rule of the answers file is asked like a person: the command runs, and its rule is on record."""
    (repo / "answers.yaml").write_text("- {gate: permission, answer: allow}\n")
    code, out, _ = inside(repo, *RUN, "--answers", "answers.yaml")
    assert code == 0
    (gate,) = events(out, "gate_opened")
    assert gate["type"] == "permission"
    assert gate["context"]["problem"] == "make deploy"
    assert gate["context"]["saved"].startswith("chk-")
    assert [data["choice"] for data in events(out, "gate_answered")] == ["allow"]
    assert len(events(out, "answer_delivered")) == 1


def test_nobody_may_be_asked(repo: Path, inside: Inside) -> None:
    """Then it may not, and is told so."""
    code, out, _ = inside(repo, *RUN, "--ask", "never", "--direct")
    assert code == 4
    assert events(out, "gate_opened") == []
    assert "Nobody may be asked" in (repo / "heard.jsonl").read_text()
    assert '"decline"' in (repo / "heard.jsonl").read_text()


def test_a_person_answers_later(repo: Path, inside: Inside) -> None:
    """With nobody there the run is left; the reason that a person gives then is told when the same call comes again."""
    code, _, _ = inside(repo, *RUN)
    assert code == 3
    _, said, _ = inside(repo, "show")
    (gate,) = re.findall(r"\? (g\d+-[0-9a-f]{4})  permission", said)
    assert inside(repo, "answer", gate, "deny", "not", "on", "a", "Friday")[0] == 0
    code, out, _ = inside(repo, "run", "--json", "--headless", "--resume", "last", "--ask", "never")
    assert "This was not allowed: not on a Friday" in (repo / "heard.jsonl").read_text()
    assert events(out, "answer_delivered")[0]["gate"] == gate


def kept(inside: Inside, repo: Path) -> list[tuple[str, str]]:
    """The permissions in force, as rules with their scopes."""
    code, out, _ = inside(repo, "permissions", "list", "--json")
    assert code == 0
    return [(row["rule"], row["scope"]) for row in map(json.loads, out.splitlines())]


def asked(inside: Inside, repo: Path) -> str:
    """The id of the open question."""
    (gate,) = re.findall(r"\? (g\d+-[0-9a-f]{4})  permission", inside(repo, "show")[1])
    return str(gate)


@pytest.mark.parametrize(("call", "code"), [("make deploy *", 0), ("make *", 0), ("make test *", 3)])
def test_a_rule_is_for_a_command(repo: Path, inside: Inside, call: str, code: int) -> None:
    """A rule with `call` answers for such calls alone."""
    (repo / "answers.yaml").write_text(f"- {{gate: permission, call: '{call}', answer: allow}}\n")
    assert inside(repo, *RUN, "--answers", "answers.yaml")[0] == code


def two_tasks(repo: Path, scope: str) -> tuple[str, ...]:
    """A run of two tasks that ask for the same, and one rule with this scope."""
    again = "test $(grep -c '\"accept\"' heard.jsonl) -ge 2"
    tasks = [{"id": "a", "prompt": "Deploy it.", "verify": ALLOWED}, {"id": "b", "prompt": "Again.", "verify": again}]
    plan = {"agents": {"own": {"command": ["codex", "app-server"]}}, "tasks": tasks, "settings": {"max_parallel": 1}}
    tasks[1]["needs"] = ["a"]  # type: ignore[assignment]
    (repo / "plan.yaml").write_text(json.dumps(plan))
    (repo / "answers.yaml").write_text(f"- {{gate: permission, answer: allow, scope: {scope}}}\n")
    return ("run", "plan.yaml", "--json", "--headless", "--answers", "answers.yaml")


@pytest.mark.parametrize(("scope", "questions", "code"), [("once", 2, 3), ("task", 2, 3), ("run", 1, 0)])
def test_for_a_task_or_for_the_run(repo: Path, inside: Inside, scope: str, questions: int, code: int) -> None:
    """A permission for the run is not asked for again in another task."""
    ended, out, errors = inside(repo, *two_tasks(repo, scope))
    assert (ended, errors) == (code, "")
    assert len(events(out, "gate_opened")) == questions
    assert kept(inside, repo) == ([("make deploy *", scope)] if scope != "once" else [])


def test_for_always_until_it_is_revoked(repo: Path, inside: Inside) -> None:
    """Kept beside the user's settings, used by the next runs, seen, and taken back."""
    assert inside(repo, *RUN)[0] == 3
    code, said, _ = inside(repo, "answer", asked(inside, repo), "allow", "--for", "always")
    assert code == 0, said
    assert kept(inside, repo) == [("make deploy *", "always")]
    assert inside(repo, "run", "--headless", "--resume", "last")[0] == 0
    (repo / "heard.jsonl").unlink()
    code, out, _ = inside(repo, *RUN)
    assert code == 0
    assert events(out, "gate_opened") == []
    shown = inside(repo, "permissions", "list")[1]
    assert shown.startswith("make deploy *")
    assert inside(repo, "permissions", "revoke", "make deploy *")[1] == "revoked: make deploy * (always)\n"
    assert kept(inside, repo) == []
    (repo / "heard.jsonl").unlink()
    assert inside(repo, *RUN)[0] == 3


def test_a_revoked_permission_is_asked_about_again_in_the_same_run(repo: Path, inside: Inside) -> None:
    """The log holds that it was revoked, and a resumed run asks."""
    inside(repo, *two_tasks(repo, "run")[:-2])
    assert inside(repo, "answer", asked(inside, repo), "allow", "--for", "run")[0] == 0
    assert inside(repo, "permissions", "revoke", "make deploy *")[0] == 0
    assert kept(inside, repo) == []
    code, out, _ = inside(repo, "run", "--json", "--headless", "--resume", "last")
    assert code == 3
    assert events(out, "gate_opened")[-1]["context"]["problem"] == "make deploy"
    assert inside(repo, "permissions", "revoke", "make deploy *")[0] == 2


def test_a_damaged_file_of_permissions_allows_nothing(repo: Path, inside: Inside) -> None:
    """Nor does one of another form."""
    from unstuck.eventlog.memory.permission_file import keep_rules, permission_file

    keep_rules(["make deploy *"])
    assert permission_file().stat().st_mode & 0o077 == 0
    for text in (
        "{",
        "[]",
        '{"allow": {"make deploy *": 1}}',
        '{"allow": "make deploy *"}',
        '{"allow": ["make\\ndeploy"]}',
    ):
        permission_file().write_text(text)
        assert kept(inside, repo) == []
    assert inside(repo, *RUN)[0] == 3


@pytest.mark.parametrize("scope", ["pattern", "everywhere"])
def test_other_scopes_are_refused(repo: Path, inside: Inside, scope: str) -> None:
    """A permission holds once, for the task, for the run, or for always."""
    inside(repo, *RUN)
    code, _, errors = inside(repo, "answer", asked(inside, repo), "allow", "--for", scope)
    assert code == 2
    assert scope in errors


def test_it_has_to_be_wanted(repo: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experimental option of Codex is used only if the settings say so, and the message says how."""
    monkeypatch.delenv("UNSTUCK_EXPERIMENTAL")
    code, _, errors = inside(repo, *RUN)
    assert code == 2
    assert "experimental: accept" in errors
    assert not (repo / ".git" / "unstuck" / "runs").exists()


def test_a_permission_is_revoked_while_the_run_works(
    repo: Path, inside: Inside, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Another terminal takes back what was allowed for the run: the live run has it no more, and its next task asks."""
    for name in ("there", "go"):
        os.mkfifo(tmp_path / name)
    between = f"echo there > {tmp_path / 'there'}; read word < {tmp_path / 'go'}"
    agents = {"own": {"command": ["codex", "app-server"]}, "between": {"command": ["sh", "-c", between]}}
    tasks = [
        {"id": "a", "prompt": "Deploy it.", "agent": "own", "verify": ALLOWED},
        {"id": "between", "prompt": "Wait.", "agent": "between", "verify": "true", "needs": ["a"]},
        {"id": "b", "prompt": "Again.", "agent": "own", "verify": "false", "needs": ["between"]},
    ]
    (repo / "plan.yaml").write_text(json.dumps({"agents": agents, "tasks": tasks, "settings": {"max_parallel": 1}}))
    (repo / "answers.yaml").write_text("- {gate: permission, task: a, answer: allow, scope: run}\n")
    command = ("run", "plan.yaml", "--json", "--headless", "--answers", "answers.yaml")
    with start(*command, cwd=repo, stdout=subprocess.PIPE, text=True) as running:
        (tmp_path / "there").read_text()
        assert kept(inside, repo) == [("make deploy *", "run")]
        assert inside(repo, "permissions", "revoke", "make deploy *")[1] == "revoked: make deploy * (run)\n"
        assert kept(inside, repo) == []
        (tmp_path / "go").write_text("go\n")
        out, _ = running.communicate()
    assert running.returncode == 3
    records = [json.loads(line) for line in out.splitlines()]
    gates = [record for record in records if record.get("event") == "gate_opened"]
    assert [(gate["task"], gate["data"]["context"]["problem"]) for gate in gates] == [
        ("a", "make deploy"),
        ("b", "make deploy"),
    ]
    (revoked,) = [record for record in records if record.get("event") == "permission_revoked"]
    assert (revoked["actor"], revoked["data"]["rule"]) == ("human", "make deploy *")
