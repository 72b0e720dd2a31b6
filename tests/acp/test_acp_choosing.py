"""Choosing an ACP agent: by a name in a plan or on the command line, or by its command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.acp.conftest import PROGRAM, rule, run
from tests.conftest import Inside, Start

from unstuck.agents.acp_agents import KNOWN
from unstuck.agents.command.presets import preset_command, protocol_of, require_agent
from unstuck.errors import AgentNotFound
from unstuck.runs.plans.plan_file import load_plan


@pytest.mark.parametrize("name", list(KNOWN))
def test_a_known_name_is_enough(name: str, tmp_path: Path) -> None:
    """A plan names it at a task and nothing else; its own arguments go with a preset."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"tasks: [{{id: web, agent: 'acp:{name}', prompt: Do it., verify: 'true'}}]\n")
    agent = load_plan(plan).agents[f"acp:{name}"]
    assert agent.command == KNOWN[name]
    assert protocol_of(agent.command) == "acp"
    assert preset_command(f"acp:{name}", ["--model", "m"]) == (*KNOWN[name], "--model", "m")


@pytest.mark.parametrize(
    ("command", "protocol"),
    [
        (["acp:my-agent"], "acp"),
        (["/opt/bin/gemini", "--experimental-acp"], "acp"),
        (["gemini", "-p", "x"], ""),
        (["opencode", "run", "x"], ""),
        (["my-agent", "--acp"], ""),
        ([], ""),
    ],
)
def test_a_command_says_whether_it_is_spoken_with(command: list[str], protocol: str) -> None:
    """By what is known of its program, or by `acp:` before it."""
    assert protocol_of(command) == protocol


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing starts, and one line says what to install."""
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(AgentNotFound, match=re.escape('pip install ".[acp]"')):
        require_agent(("acp:sh",), tmp_path, os.environ)


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    """It is named without what says how it is spoken with."""
    with pytest.raises(AgentNotFound, match=r"^agent program no-such-agent was not found on PATH$"):
        require_agent(("acp:no-such-agent",), tmp_path, os.environ)


def test_parked_and_gone_on_with(inside: Inside, repo: Path, tmp_path: Path) -> None:
    """With nobody there the run is parked with the question open; answered later, the same call is not asked again."""
    script = tmp_path / "script.json"
    acts = [run("echo hello > greeting.txt", ask=True)]
    script.write_text(json.dumps({"rules": [rule(*acts)], "loads": True}))
    agent = (f"acp:{sys.executable}", "-I", "-S", str(PROGRAM), str(script), str(tmp_path))
    verify = ("--verify", "grep hello greeting.txt")
    code, _, errors = inside(repo, "run", "--headless", *verify, "--task", "Write it.", "--", *agent)
    assert code == 3
    assert errors == ""
    (gate,) = re.findall(r"\? (g\d+-[0-9a-f]{4})  permission", inside(repo, "show")[1])
    assert inside(repo, "answer", gate, "allow")[0] == 0
    code, _, errors = inside(repo, "run", "--headless", "--resume", "last")
    assert code == 0
    assert errors == ""
    permissions = [json.loads(line) for line in (tmp_path / "permissions.jsonl").read_text().splitlines()]
    assert [one.get("optionId") for one in permissions] == ["now"]


def test_a_killed_supervisor_leaves_no_agent(inside: Inside, start: Start, repo: Path, tmp_path: Path) -> None:
    """kill -9 of the supervisor in the middle of a turn ends the agent and its command; the run is gone on with."""
    os.mkfifo(tmp_path / "up")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [rule(run(f"echo $$ > {tmp_path}/up; exec tail -f /dev/null"))]}))
    agent = (f"acp:{sys.executable}", "-I", "-S", str(PROGRAM), str(script), str(tmp_path))
    command = ("run", "--headless", "--verify", "true", "--task", "Wait.", "--", *agent)
    with start(*command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as supervisor:
        shell = int((tmp_path / "up").read_text())
        (spoken_with,) = [json.loads(line) for line in (tmp_path / "pids.jsonl").read_text().splitlines()][:1]
        family = [psutil.Process(pid) for pid in (spoken_with, shell)]
        supervisor.kill()
    assert psutil.wait_procs(family, timeout=30)[1] == []
    script.write_text(json.dumps({"rules": [rule(run("echo done"))]}))
    code, out, errors = inside(repo, "run", "--headless", "--resume", "last")
    assert code == 0, out
    assert errors == "", out
