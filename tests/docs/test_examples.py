"""The examples of the documents run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.documents import DOCUMENTS, TOP, block, marked

from unstuck.runs.answers.answer_file import load_answers
from unstuck.runs.plans.plan_file import load_plan
from unstuck.settings.loading import load_settings
from unstuck.settings.models import Settings
from unstuck.testing import load_scenario
from unstuck.testing.acts import ACTS
from unstuck_tui.keys.keymap import check_keys

TRY = re.compile(r"try: (?P<place>[\w/]+)(?:, exits (?P<code>\d+))?(?:, as (?P<file>\S+))?")
RUN = re.compile(r"\b\d{8}-\d{6}(?:-\d+)?\b")
GATE = re.compile(r"\bg\d+-[0-9a-f]{4}\b")
VARYING = (
    (re.compile(r"\d\d:\d\d:\d\d(?:Z|[+-]\d\d(?::\d\d)?)?"), "TIME"),
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


def examples() -> dict[tuple[str, str], list[Example]]:
    """The examples that build on each other, in their order, by document and top directory."""
    found: dict[tuple[str, str], list[Example]] = {}
    for document in DOCUMENTS:
        for marker, text in marked(document):
            if tried := TRY.fullmatch(marker):
                example = Example(tried["place"], int(tried["code"] or 0), tried["file"] or "", text, [])
                last = found.setdefault((document, tried["place"].split("/")[0]), [])
                last.append(example)
            elif marker == "prints":
                last[-1].prints.extend(line for line in text.splitlines() if line != "…")
    return found


EXAMPLES = examples()


def steady(text: str) -> list[str]:
    """The lines of a text without what differs from run to run; the documents cut long ones with an ellipsis."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.splitlines()]


def shows(line: str, actual: str) -> bool:
    """Return whether the document's line is the actual one, or its beginning."""
    return actual.startswith(line.removesuffix("…")) if line.endswith("…") else actual == line


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda key: f"{Path(key[0]).stem}-{key[1]}")
def test_examples_do_what_the_document_shows(example: tuple[str, str], tmp_path: Path) -> None:
    """A reader who pastes the examples of a document, in their order, sees what stands below them."""
    identity = {
        f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    said = ""
    for one in EXAMPLES[example]:
        directory = tmp_path / one.place
        directory.mkdir(parents=True, exist_ok=True)
        # The ids in the text are those of the writer's own run; the reader takes the ones just seen.
        text = one.text
        for pattern in (RUN, GATE):
            if seen := pattern.findall(said):
                text = pattern.sub(seen[-1], text)
        script = directory / one.file if one.file else tmp_path / "script.sh"
        script.write_text(text, encoding="utf-8")
        if one.file and script.suffix != ".py":
            continue
        command = [sys.executable, str(script)] if one.file else ["bash", "-e", str(script)]
        done = subprocess.run(
            command, cwd=directory, env=os.environ | identity, capture_output=True, text=True, check=False
        )
        said = done.stdout
        assert done.returncode == one.code, done.stdout + done.stderr
        actual = iter(steady(said))
        missing = [line for line in steady("\n".join(one.prints)) if not any(shows(line, real) for real in actual)]
        assert missing == [], said


def test_the_record_can_be_checked_by_hand(tmp_path: Path, inside: Any) -> None:
    """The few lines of Python in the documents accept a run's event log and refuse it once a single byte differs."""
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


def yaml_blocks() -> Iterator[tuple[str, str]]:
    """Every block of YAML, by where it stands."""
    for document, text in DOCUMENTS.items():
        for number, found in enumerate(re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL), 1):
            yield f"{document}:{number}", found


@pytest.mark.parametrize("text", [pytest.param(text, id=place) for place, text in yaml_blocks()])
def test_files_that_are_shown_are_accepted(text: str, tmp_path: Path) -> None:
    """A reader who copies a plan, a file of answers, a scenario or settings is not refused."""
    file, content = tmp_path / "example.yaml", yaml.safe_load(text)
    file.write_text(text, encoding="utf-8")
    if isinstance(content, list):
        assert load_answers(file).rules
    elif "tasks" in content:
        assert load_plan(file).tasks
    elif "attempts" in content:
        assert load_scenario(str(file)).prompt
    else:
        settings = load_settings(None, user_file=file, environ={}, overrides={})
        assert settings != Settings()
        assert len(check_keys(settings.keys)) == len(settings.keys)


def test_completion_knows_the_commands(tmp_path: Path) -> None:
    """The line for bash makes the tab key offer commands and their options."""
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


def test_acts_are_those_of_the_code() -> None:
    """The guide to scenarios lists everything that a scripted agent can do."""
    table = DOCUMENTS["docs/how-to/rehearse.md"].partition("| act |")[2].partition("\n\n")[0]
    shown = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+):", row.split("|")[1])]
    assert sorted(shown) == sorted(ACTS)


def test_every_picture_is_shown() -> None:
    """Each picture that the documents show is there, and none is there that they do not show."""
    written = "\n".join(DOCUMENTS.values())
    shown = re.findall(r"^!\[[^\]\n]+\]\((?:\.\./)?screenshots/([\w-]+\.svg)\)$", written, re.MULTILINE)
    assert set(shown) == {picture.name for picture in (TOP / "screenshots").glob("*")}
