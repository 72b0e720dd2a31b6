"""The documented recipes for frameworks, run as they stand there with the frameworks themselves and no model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.documents import block
from tests.real_agents.conftest import CACHE, ENVIRON, PATIENCE
from tests.real_agents.environments import PROJECT, environment
from tests.real_agents.scripted_model import Asked, ScriptedModel, Turn

pytestmark = pytest.mark.agents


@pytest.fixture(scope="session")
def frameworks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executables of an environment with the frameworks."""
    folder = Path(ENVIRON[CACHE]) if ENVIRON.get(CACHE) else tmp_path_factory.mktemp("environments")
    return environment(folder / "frameworks", "--editable", str(PROJECT), "--group", "frameworks", environ=ENVIRON)


class Place:
    """A project, and an environment with the frameworks alone."""

    def __init__(self, bin: Path, repo: Path, home: Path) -> None:
        self.repo = repo
        kept = ("UNSTUCK_RUNTIME_DIR", "UNSTUCK_STATE_DIR", "GIT_CONFIG_NOSYSTEM")
        self.environ = {name: value for name, value in os.environ.items() if name in kept or name.startswith("GIT_")}
        self.environ |= {"PATH": f"{bin}{os.pathsep}/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}

    def run(self, *command: str, input: str = "") -> str:
        """Return the output of a command that ends well."""
        done = subprocess.run(
            command, cwd=self.repo, env=self.environ, input=input, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def steps(self) -> list[tuple[str, int | None]]:
        """The results of commands that are on record, with their exit codes."""
        (log,) = (self.repo / ".git" / "unstuck" / "runs").glob("*/events.jsonl")
        records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        told = [record["data"] for record in records if record["event"] == "step_recorded"]
        return [(step["kind"], step["exit_code"]) for step in told if step["exit_code"] is not None]


@pytest.fixture
def place(frameworks: Path, repo: Path, isolated: Path) -> Place:
    """Return the directory of a recipe."""
    return Place(frameworks, repo, isolated)


@pytest.mark.parametrize(("name", "said"), [("pydantic-ai", ""), ("langgraph", "Ann\n")])
def test_a_script(name: str, said: str, place: Place) -> None:
    """The first attempt fails or asks, the second one has heard why, or the answer."""
    (place.repo / "greet.py").write_text(block(f"recipe: {name}, as greet.py"), encoding="utf-8")
    assert place.run("python", "greet.py", input=said) == block(f"recipe prints: {name}")
    assert (place.repo / "greeting.txt").read_text("utf-8").strip() == f"hello {said}".strip()


def test_a_program_with_a_class_of_its_own(place: Place) -> None:
    """Its commands are on record with their exit codes; what failed is told to the second attempt's model."""

    def answer(asked: Asked) -> Turn:
        words = "hello" if "did not pass" in asked.text else "goodbye"
        commands = ("ls no-such-file", f"echo {words} > greeting.txt", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
        return Turn(text="So be it.", command=commands[min(asked.answered, 2)])

    (place.repo / "supervised.py").write_text(block("recipe: mini-swe-agent, as supervised.py"), encoding="utf-8")
    with ScriptedModel(answer) as model:
        place.environ |= {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_NAME": "openai/scripted",
            "OPENAI_API_BASE": f"{model.url}/v1",
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        place.run("sh", "-ec", block("recipe: mini-swe-agent"))
        assert model.failures == []
    assert place.steps() == [("failure", 2), ("success", 0)] * 2
    assert (place.repo / "greeting.txt").read_text("utf-8") == "hello\n"
