"""What the README says is so: its examples run as they stand there, and its tables are those of the code."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from pydantic import BaseModel

from unstuck import errors
from unstuck.runs import plan_file as plans
from unstuck.runs.answer_file import load_answers
from unstuck.settings.durations import parse_duration
from unstuck.settings.models import DEFAULT_TIMEOUTS, Settings
from unstuck.supervision.coordinator import result_of
from unstuck.supervision.gates import CHOICES
from unstuck.testing.acts import ACTS
from unstuck_tui.cli import cli
from unstuck_tui.keys.actions import actions_of, keys_of

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^<!-- (?P<marker>[^>]+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TRY = re.compile(r"try: (?P<place>[\w/]+)(?:, exits (?P<code>\d+))?(?:, as (?P<file>\S+))?")
RUN = re.compile(r"\b\d{8}-\d{6}\b")
GATE = re.compile(r"\bg\d+-[0-9a-f]{4}\b")
VARYING = (
    (re.compile(r"\d\d:\d\d:\d\d"), "TIME"),
    (RUN, "RUN"),
    (GATE, "GATE"),
    (re.compile(r"\([\d.]+ s\)"), "(N s)"),
    (re.compile(r"integrated [0-9a-f]{10}"), "integrated COMMIT"),
)


@dataclass(frozen=True)
class Example:
    """A block to run in ``place``, what it ends with, the file it is to stand in, and the lines it prints in order."""

    place: str
    code: int
    file: str
    text: str
    prints: list[str]


def marked() -> Iterator[tuple[str, str]]:
    """Every block with a marker above it."""
    return ((found["marker"], found["text"]) for found in BLOCK.finditer(README))


def block(marker: str) -> str:
    """The one block with this marker."""
    (text,) = [text for found, text in marked() if found == marker]
    return text


def examples(top: str) -> list[Example]:
    """The examples below the directory ``top``, in their order."""
    found: list[Example] = []
    for marker, text in marked():
        if tried := TRY.fullmatch(marker):
            found.append(Example(tried["place"], int(tried["code"] or 0), tried["file"] or "", text, []))
        elif marker == "prints":
            found[-1].prints.extend(line for line in text.splitlines() if line != "…")
    return [example for example in found if example.place.split("/")[0] == top]


def steady(text: str) -> list[str]:
    """The lines of a text without what differs from run to run; the README cuts long ones with an ellipsis."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.splitlines()]


def shows(line: str, actual: str) -> bool:
    """Whether the README's line is the actual one, or its beginning."""
    return actual.startswith(line.removesuffix("…")) if line.endswith("…") else actual == line


def section(title: str) -> str:
    """The text below a heading, up to the next one of its kind."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str, head: str) -> list[list[str]]:
    """The cells of the table below the heading ``title`` whose first head cell is ``head``."""
    lines = section(title).partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("top", ["one", "plan", "scenario", "embedded"])
def test_examples_do_what_the_readme_shows(top: str, tmp_path: Path) -> None:
    """Whoever pastes the README's examples, in their order, sees what stands below them."""
    identity = {
        f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    said = ""
    assert examples(top)
    for example in examples(top):
        directory = tmp_path / example.place
        directory.mkdir(parents=True, exist_ok=True)
        # The ids in the text are those of the writer's own run; the reader takes the ones just seen.
        text = example.text
        for pattern in (RUN, GATE):
            if seen := pattern.findall(said):
                text = pattern.sub(seen[-1], text)
        script = directory / example.file if example.file else tmp_path / "script.sh"
        script.write_text(text, encoding="utf-8")
        if example.file and script.suffix != ".py":
            continue
        command = [sys.executable, str(script)] if example.file else ["bash", "-e", str(script)]
        done = subprocess.run(
            command, cwd=directory, env=os.environ | identity, capture_output=True, text=True, check=False
        )
        said = done.stdout
        assert done.returncode == example.code, done.stdout + done.stderr
        actual = iter(steady(said))
        missing = [line for line in steady("\n".join(example.prints)) if not any(shows(line, one) for one in actual)]
        assert missing == [], said


def test_the_record_can_be_checked_by_hand(tmp_path: Path, inside: Any) -> None:
    """The README's few lines of Python accept a run's record and refuse it once a single byte differs."""
    program = tmp_path / "check.py"
    program.write_text(block("check: events.jsonl"), encoding="utf-8")
    assert inside(tmp_path, "run", "--verify", "true", "--", "true")[0] == 0
    (log,) = (tmp_path / ".unstuck" / "runs").glob("*/events.jsonl")

    def accepts() -> bool:
        return (
            subprocess.run([sys.executable, str(program), str(log)], capture_output=True, check=False).returncode == 0
        )

    assert accepts()
    log.write_bytes(log.read_bytes().replace(b"run_started", b"run_startet", 1))
    assert not accepts()
    assert inside(tmp_path, "verify")[0] == 6


def test_answer_rules_can_be_read(tmp_path: Path) -> None:
    """The README's file of answers is one that unstuck takes."""
    file = tmp_path / "answers.yaml"
    file.write_text(block("answers"), encoding="utf-8")
    assert [rule.answer.choice for rule in load_answers(file).rules] == ["retry", "extend", "skip"]


def test_completion_knows_the_commands(tmp_path: Path) -> None:
    """The README's line for bash makes the tab key offer commands and their options."""
    setup = tmp_path / "bashrc"
    setup.write_text(block("completion"), encoding="utf-8")
    press = (
        'source "$1"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1));'
        ' complete -p unstuck | grep -q _unstuck_completion && _unstuck_completion unstuck; echo "${COMPREPLY[@]}"'
    )

    def offered(words: str) -> list[str]:
        command = ["bash", "-c", press, "bash", str(setup), words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert offered("unstuck ru") == ["run", "runs"]
    assert offered("unstuck run --max") == ["--max-parallel"]


def test_commands_are_those_there_are() -> None:
    """Every command, and every option of ``run``, is in the README, and nothing that does not exist."""
    context = click.Context(cli)
    told = {names(row[0])[0].split()[1] for row in rows("Commands", "command")}
    assert told == set(cli.list_commands(context))
    run = cli.get_command(context, "run")
    assert run is not None
    options = {option for row in rows("Commands", "option of `run`") for option in re.findall(r"--[a-z-]+", row[0])}
    known = {max(parameter.opts, key=len) for parameter in run.params if isinstance(parameter, click.Option)}
    assert options | {"--project"} == known


def test_keys_are_those_of_the_registry() -> None:
    """Every key of the screen is in the README with what it does, in the words of the help."""
    told = [(" ".join(names(row[0])), row[1]) for row in rows("The screen", "key")]
    assert told == keys_of(actions_of("app", "main", "table", "dialog"))


def test_exit_codes_are_those_of_the_code() -> None:
    """The exit codes and reasons in the README are those that a run and an error can end with."""
    table = {int(row[0]): (names(row[1]) or [""])[0] for row in rows("Exit codes", "code")}
    reasons = re.findall(r'exit_reason="(\w+)", exit_code=(\d+)', inspect.getsource(result_of))
    assert reasons
    assert {int(code): reason for reason, code in reasons} == {code: reason for code, reason in table.items() if reason}
    raised = {getattr(errors, name).exit_code for name in errors.__all__}
    assert raised <= set(table)


def values(model: BaseModel, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its dotted name, with its value."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from values(value, f"{above}{name}.")
        else:
            yield above + name, value


def test_settings_are_those_of_the_code() -> None:
    """Every setting is in the README with its real default."""
    table = {names(row[0])[0]: row[1] for row in rows("Settings", "key")}
    known = dict(values(Settings()))
    assert set(table) == set(known)
    for name, default in known.items():
        if name == "timeouts":
            continue
        told = table[name]
        given = parse_duration(told) if isinstance(default, float) else yaml.safe_load(told)
        assert given == (list(default) if isinstance(default, tuple) else default), name


def test_time_limits_are_those_of_the_code() -> None:
    """Every agent type is in the README with its real time limit."""
    told = {name: parse_duration(row[1]) for row in rows("Settings", "agent type") for name in names(row[0])}
    assert told == dict(DEFAULT_TIMEOUTS)


@pytest.mark.parametrize(
    ("head", "known"),
    [
        ("key", plans._PLAN_KEYS),
        ("key of an agent", plans._AGENT_KEYS),
        ("key of a task", plans._TASK_KEYS),
    ],
)
def test_plan_keys_are_those_of_the_code(head: str, known: tuple[str, ...]) -> None:
    """Every key of a plan is in the README, and none that would be refused."""
    assert sorted(names(row[0])[0] for row in rows("Plans", head)) == sorted(known)


def test_acts_are_those_of_the_code() -> None:
    """What a scripted agent can do is listed, all of it."""
    shown = [name.split(":")[0] for row in rows("Rehearsing", "act") for name in names(row[0])]
    assert sorted(shown) == sorted(ACTS)


def test_answers_are_those_of_the_code() -> None:
    """Every kind of question is in the README with the answers it takes."""
    told = {}
    for row in rows("Questions and answers", "question"):
        words = [word.split()[0].replace("-", "_") for word in names(row[1])]
        for name in names(row[0]):
            told[name] = words if "the same" not in row[1] else [*told["stuck"], *words]
    assert {name: tuple(words) for name, words in told.items()} == CHOICES


def test_every_picture_has_its_story() -> None:
    """Each picture that the README shows is there, and none lies about that it does not show."""
    shown = re.findall(r"^!\[[^\]\n]+\]\(screenshots/([\w-]+\.svg)\)$", README, re.MULTILINE)
    there = (Path(__file__).resolve().parents[2] / "screenshots").glob("*")
    assert sorted(shown) == sorted(picture.name for picture in there)
