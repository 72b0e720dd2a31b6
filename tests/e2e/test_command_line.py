"""The command line as a newcomer meets it: help, examples, suggestions, completion and other names."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import pytest
from tests.e2e.conftest import Unstuck

from unstuck.eventlog.events import EVENTS
from unstuck_tui.cli import cli

GROUPS = ("Run:", "Look:", "Decide:", "Files:", "Set up:")
COMMANDS = tuple(cli.list_commands(click.Context(cli)))


def every_command() -> Iterator[str]:
    """Each command and each command of a group, as it is typed."""
    context = click.Context(cli)
    for name in COMMANDS:
        yield name
        if isinstance(found := cli.get_command(context, name), click.Group):
            yield from (f"{name} {below}" for below in found.list_commands(context))


ALL = list(every_command())


def test_commands_are_listed_in_groups(unstuck: Unstuck) -> None:
    """`unstuck --help` shows every command once, below the group it belongs to."""
    lines = unstuck.inside("--help").out.splitlines()
    places = [lines.index(group) for group in GROUPS]
    assert places == sorted(places)
    listed = [line.split()[0] for line in lines[places[0] :] if line.startswith("  ") and line[2] != " "]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("command", ALL)
def test_each_help_has_examples_that_name_the_command(unstuck: Unstuck, command: str) -> None:
    """A reader of the help can copy a line."""
    out = unstuck.inside(*command.split(), "--help").out
    assert "Examples:" in out
    assert f"unstuck {command}" in out.split("Examples:")[1]


@pytest.mark.parametrize("command", ALL)
def test_examples_are_valid_command_lines(command: str) -> None:
    """Each example of a help has only commands, options, choices and events that there are."""
    context = click.Context(cli)
    group, _, below = command.partition(" ")
    found = cli.get_command(context, group)
    if below:
        assert isinstance(found, click.Group)
        found = found.get_command(context, below)
    assert found is not None
    lines = (found.epilog or "").splitlines()[2:]
    assert lines
    for line in lines:
        _, name, *words = shlex.split(line)
        found = cli.get_command(context, name)
        while isinstance(found, click.Group):
            name, inner, words = found.resolve_command(context, words)
            assert inner is not None
            found = inner
        assert found is not None
        words = words[: next((at for at, word in enumerate(words) if word in ("<", ">", ">>")), len(words))]
        params = found.make_context(name, words, parent=context).params
        assert set(params.get("types") or ()) <= set(EVENTS)


def test_help_is_a_command(unstuck: Unstuck) -> None:
    """`unstuck help X` prints what `unstuck X --help` does."""
    assert unstuck.inside("help", "show").out == unstuck.inside("show", "--help").out
    assert unstuck.inside("help", "hooks", "install").out == unstuck.inside("hooks", "install", "--help").out
    assert unstuck.inside("help").out == unstuck.inside("--help").out
    wrong = unstuck.inside("help", "shwo")
    assert wrong.code == 2
    assert "did you mean `show`?" in wrong.errors


def test_version_is_short(unstuck: Unstuck) -> None:
    """-V and --version print a name and a number."""
    out = unstuck.inside("-V").out
    assert out == unstuck.inside("--version").out
    assert out.split()[0] == "unstuck"
    assert out.split()[1][0].isdigit()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("rnu",), "run"),
        (("chekpoints", "list"), "checkpoints"),
        (("run", "--agent", "cluade", "fix it"), "claude"),
        (("hooks", "install", "calude"), "claude"),
        (("completion", "fsh"), "fish"),
        (("events", "--type", "run_startd"), "run_started"),
    ],
)
def test_a_near_miss_is_suggested(unstuck: Unstuck, typed: tuple[str, ...], meant: str) -> None:
    """A typo ends with 2 and the word that was probably meant."""
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--check", "true", "--", "true")
    done = unstuck.inside(*typed)
    assert done.code == 2
    assert f"did you mean `{meant}`?" in done.errors


def test_a_mistyped_run_is_suggested(unstuck: Unstuck) -> None:
    """`show` with a digit too few in the middle names the run that is there."""
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--check", "true", "--", "true")
    run = unstuck.runs[0].name
    done = unstuck.inside("show", run[:4] + run[5:])
    assert done.code == 2
    assert f"did you mean `{run}`?" in done.errors


def test_a_task_without_an_agent_is_no_missing_plan(unstuck: Unstuck) -> None:
    """`unstuck run "fix it"` shows how to give a task to an agent."""
    done = unstuck.inside("run", "fix it")
    assert done.code == 2
    assert 'unstuck run --check CMD --agent claude "fix it"' in done.errors
    assert "cannot be read" in unstuck.inside("run", "missing.yaml").errors


def test_the_check_has_two_names(unstuck: Unstuck) -> None:
    """--check decides when a task is done; --verify is still accepted."""
    for option in ("--check", "--verify"):
        ways = ("run", "--headless", "--ask", "never", "--direct", option)
        assert unstuck.inside(*ways, "true", "--", "true").code == 0
        assert unstuck.inside(*ways, "false", "--", "true").code == 4
    done = unstuck.inside("run", "--check", "true", "--verify", "false", "--", "true")
    assert (done.code, unstuck.inside("runs", "--json").rows[4:]) == (2, [])
    assert "--verify is its old name" in done.errors


PLAN = """{}: "{}"
tasks:
  - {{id: one, prompt: Do it., {}: "{}"}}
  - {{id: two, prompt: Do it., needs: [one]}}
agents: {{a: {{command: "true"}}}}
"""


@pytest.mark.parametrize("names", [("check", "check"), ("verify", "verify"), ("check", "verify")])
def test_a_check_in_a_plan_has_two_names(unstuck: Unstuck, names: tuple[str, str]) -> None:
    """The key `check` of a plan and of a task decides; `verify` is still accepted for both."""
    plan = unstuck.root / "plan.yaml"
    plan.write_text(PLAN.format(names[0], "true", names[1], "false"), encoding="utf-8")
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", str(plan))
    tasks = {row["task"]: row["status"] for row in unstuck.inside("show", "--json").rows if "task" in row}
    assert tasks["one"] == "failed"
    plan.write_text(PLAN.format(names[0], "true", names[1], "true"), encoding="utf-8")
    assert unstuck.inside("run", "--headless", "--ask", "never", "--direct", str(plan)).code == 0


def test_both_names_of_a_check_are_refused(unstuck: Unstuck) -> None:
    """A task with `check` and `verify` is refused with the line of the second one and both names."""
    plan = unstuck.root / "plan.yaml"
    plan.write_text(PLAN.format("check", "true", "check: make, verify", "false"), encoding="utf-8")
    done = unstuck.inside("run", "--headless", str(plan))
    assert done.code == 2
    assert "plan.yaml:3: `verify` in a task is another name of `check`: leave one out" in done.errors


@pytest.mark.parametrize("group", COMMANDS)
def test_one_line_says_what_a_command_does(group: str) -> None:
    """No list of commands cuts off what one of them does, at 80 columns."""
    context = click.Context(cli, terminal_width=80)
    found = cli.get_command(context, group)
    if isinstance(found, click.Group):
        shown = found.get_help(click.Context(found, context, group, terminal_width=80))
        assert "..." not in shown.partition("\nCommands:")[2]


def test_everything_and_one_run_are_not_deleted_together(unstuck: Unstuck) -> None:
    """`delete --all RUN` says that --all takes no run."""
    done = unstuck.inside("delete", "--all", "/other")
    assert (done.code, "takes no run" in done.errors) == (2, True)


def test_a_wrong_filter_is_named_before_a_missing_run(unstuck: Unstuck) -> None:
    """A mistyped event is wrong in a project without a run, too."""
    assert "did you mean `run_started`?" in unstuck.inside("events", "--type", "run_startd").errors


def test_printed_times_are_those_of_the_person(unstuck: Unstuck, failing: str) -> None:
    """Lines of a run, its log and `show` have the time of the person's clock; the event log keeps UTC."""
    zone = {"TZ": "Etc/GMT-9"}
    run = unstuck("run", "--headless", "--check", failing, "--ask", "never", "--direct", "--", "true", env=zone)
    rows = unstuck.inside("events", "--json").rows
    there, last = (
        datetime.fromisoformat(row["time"]).astimezone(timezone(timedelta(hours=9))) for row in (rows[0], rows[-1])
    )
    assert run.out.startswith(f"{there:%H:%M:}")
    assert f"{there:%H:%M:%S}" in unstuck("events", env=zone).out.splitlines()[0]
    shown = unstuck("show", env=zone).out
    assert f"started {there:%Y-%m-%d %H:%M:%S}" in shown
    assert re.search(f"^    {there:%H:%M:}", shown, re.MULTILINE)
    since = f"{last + timedelta(minutes=1):%Y-%m-%dT%H:%M}"
    assert unstuck("events", "--since", since, env=zone).out == ""
    since = f"{there - timedelta(minutes=1):%Y-%m-%dT%H:%M}"
    assert (
        unstuck("events", "--since", since, env=zone).out.splitlines() == unstuck("events", env=zone).out.splitlines()
    )


def test_fsck_checks_an_event_log(unstuck: Unstuck) -> None:
    """`fsck` and its old name `verify` say the same."""
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--check", "true", "--", "true")
    done = unstuck.inside("fsck")
    assert done.code == 0
    assert "all intact" in done.out
    assert unstuck.inside("verify").out == done.out


def test_delete_all_removes_everything(unstuck: Unstuck) -> None:
    """`delete --all` does what `delete --project` did, which is still accepted."""
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--check", "true", "--", "true")
    assert unstuck.inside("delete", "--all", "--json").rows == unstuck.inside("delete", "--project", "--json").rows
    assert unstuck.inside("delete", "--all", "--yes", unstuck.root.name).code == 0
    assert unstuck.inside("runs").out == "no runs here yet\n"


def test_completion_script_is_read_by_its_shell(unstuck: Unstuck) -> None:
    """`unstuck completion bash` prints a script that bash can read."""
    script = unstuck.inside("completion", "bash").out
    assert "_UNSTUCK_COMPLETE=bash_complete" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert unstuck.inside("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("unstuck run --agent cl", "claude"),
        ("unstuck events --type run_st", "run_started"),
        ("unstuck help che", "checkpoints"),
    ],
)
def test_completion_knows_names(unstuck: Unstuck, words: str, wanted: str) -> None:
    """Agents, event types and commands are completed."""
    assert wanted in completed(unstuck, words)


def test_completion_knows_the_runs_of_the_project(unstuck: Unstuck) -> None:
    """The run's id is offered wherever a run may be named, and `last` with it."""
    unstuck.inside("run", "--headless", "--ask", "never", "--direct", "--check", "true", "--", "true")
    run = unstuck.runs[0].name
    for words in ("unstuck show ", "unstuck run --resume ", "unstuck events ", "unstuck delete ", "unstuck fsck "):
        assert run in completed(unstuck, words)


def completed(unstuck: Unstuck, words: str) -> list[str]:
    """Return what bash would offer for the last of ``words``."""
    count = len(words.split(" ")) - 1
    env = {"_UNSTUCK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    return [line.partition(",")[2] for line in unstuck.inside(env=env).out.splitlines()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("delete", "last", "--yes"), "Option '--yes' requires an argument. (unstuck delete --help)"),
        (("fleet", "up", "--host"), "Option '--host' requires an argument. (unstuck fleet up --help)"),
        (("delete", "20990101"), "there is no run 20990101; `unstuck runs` lists them"),
    ],
)
def test_an_incomplete_command_says_which_help_to_read(
    inside: Any, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """A person who leaves out a value, or names no run, reads one line with the command to use next."""
    code, _, errors = inside(tmp_path, *words)
    assert (code, errors) == (2, f"unstuck: {said}\n")
