"""`unstuck config`: the settings that hold, where each comes from, and the user's own file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck


@pytest.fixture
def own(unstuck: Unstuck, tmp_path: Path) -> Path:
    """The user's own settings file, which is not there yet."""
    unstuck.environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    return tmp_path / "config" / "unstuck" / "config.yaml"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_each_setting_says_where_it_comes_from(unstuck: Unstuck, own: Path) -> None:
    """Default, user file, project file, environment and option: each key names the last one that set it."""
    written(own, "max_parallel: 3\nfailure_handler:\n  max-retries: 5\n  max_pivots: 1\ntimeouts:\n  mine: 2m\n")
    project = written(unstuck.root / "unstuck.yaml", "# ours\nfailure_handler:\n  max_retries: 4\n")
    words = ("config", "show", "--json", "--budget", "cost=5")
    done = unstuck.inside(*words, env={"UNSTUCK_IDLE_TIMEOUT": "90"})
    assert done.code == 0, done.errors
    found = {row["key"]: (row["value"], row["source"], row["where"]) for row in done.rows}
    assert found["max_parallel"] == (3, "user", f"{own}:1")
    assert found["failure_handler.max_retries"] == (4, "project", f"{project}:3")
    assert found["failure_handler.max_pivots"] == (1, "user", f"{own}:4")
    assert found["timeouts.mine"] == (120.0, "user", f"{own}:6")
    assert found["timeouts.orchestrator"][1] == "default"
    assert found["idle_timeout"] == (90.0, "environment", "UNSTUCK_IDLE_TIMEOUT")
    assert found["budget.cost"] == (5.0, "option", "--budget")
    assert found["ask"] == ("always", "default", "")


def test_a_limit_that_a_project_does_not_lower_is_still_yours(unstuck: Unstuck, own: Path) -> None:
    """The project's higher budget changes nothing, so it is not where the value comes from."""
    written(own, "budget: {cost: 5, tokens: 900}\n")
    written(unstuck.root / "unstuck.yaml", "budget: {cost: 9, tokens: 100}\n")
    found = {row["key"]: (row["value"], row["source"]) for row in unstuck.inside("config", "show", "--json").rows}
    assert found["budget.cost"] == (5.0, "user")
    assert found["budget.tokens"] == (100, "project")


def test_settings_are_shown_to_people(unstuck: Unstuck, own: Path) -> None:
    """One line per setting under a header; a key limits it to what begins with it."""
    written(own, "max_parallel: 3\n")
    head, *lines = unstuck.inside("config", "show").out.splitlines()
    assert head.split() == ["KEY", "VALUE", "SOURCE"]
    assert f"max_parallel  3  user  {own}:1".split() in [line.split() for line in lines]
    assert len(unstuck.inside("config", "show", "max_parallel").out.splitlines()) == 2
    assert len(unstuck.inside("config", "show", "failure-handler").out.splitlines()) > 5
    done = unstuck.inside("config", "show", "max_paralel")
    assert (done.code, "did you mean `max_parallel`?" in done.errors) == (2, True)


def test_path_names_the_file(unstuck: Unstuck, own: Path) -> None:
    """Your own file, whether it is there or not; with --here the project's."""
    assert unstuck.inside("config", "path").out == f"{own}\n"
    assert unstuck.inside("config", "path", "--here").out == f"{unstuck.root / 'unstuck.yaml'}\n"
    written(own, "")
    assert unstuck.inside("config", "path", "--json").rows == [{"path": str(own), "exists": True}]


def test_edit_opens_the_editor_and_validates(unstuck: Unstuck, own: Path, tmp_path: Path) -> None:
    """$VISUAL goes before $EDITOR; a wrong value is one line with file, line and key, and the exit code is 2."""
    right, wrong = tmp_path / "right.sh", tmp_path / "wrong.sh"
    right.write_text("#!/bin/sh\necho 'max_parallel: 3' > \"$1\"\n", encoding="utf-8")
    wrong.write_text("#!/bin/sh\nprintf '\\nmax_parallel: 0\\n' > \"$1\"\n", encoding="utf-8")
    right.chmod(0o755)
    wrong.chmod(0o755)
    done = unstuck("config", "edit", env={"VISUAL": str(right), "EDITOR": str(wrong)})
    assert done.code == 0, done.errors
    assert own.read_text(encoding="utf-8") == "max_parallel: 3\n"
    done = unstuck("config", "edit", env={"VISUAL": "", "EDITOR": str(wrong)})
    assert done.code == 2
    assert done.errors.splitlines() == [f"unstuck: {own}:2: max_parallel: must be a whole number from 1 to 64, not 0"]
    assert unstuck("config", "edit", "--here", env={"VISUAL": "false"}).code == 2
    done = unstuck("config", "edit", env={"VISUAL": "", "EDITOR": ""})
    assert (done.code, done.errors) == (2, f"unstuck: an editor needs a terminal, or $VISUAL: edit {own}\n")
    assert not (unstuck.root / "unstuck.yaml").exists()


def test_a_limit_that_a_projects_file_may_not_raise_shows_whose_it_is(unstuck: Unstuck, own: Path) -> None:
    """The file that asked for more is not named as the source; one that lowers a limit is."""
    written(own, "max_parallel: 3\n")
    project = written(unstuck.root / "unstuck.yaml", "max_parallel: 9\nremediation_attempts: 1\npivot: {parallel: 4}\n")
    rows = {row["key"]: row for row in unstuck.inside("config", "show", "--json").rows}
    assert [rows["max_parallel"][name] for name in ("value", "source")] == [3, "user"]
    assert [rows["pivot.parallel"][name] for name in ("value", "source")] == [1, "default"]
    assert [rows["remediation_attempts"][name] for name in ("value", "where")] == [1, f"{project}:2"]


def test_validate_names_every_wrong_source(unstuck: Unstuck, own: Path) -> None:
    """One line per wrong source: each file with its line, a variable by its name, keys of the screen as well."""
    assert unstuck.inside("config", "validate").code == 0
    written(own, "keys:\n  no-such-action: x\n")
    project = written(unstuck.root / "unstuck.yaml", "max_parallel: 2\nask: never\n")
    done = unstuck.inside("config", "validate", env={"UNSTUCK_IDLE_TIMEOUT": "soon"})
    assert done.code == 2
    lines = done.errors.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"unstuck: {own}:2: keys.no_such_action: ")
    assert lines[1].startswith(f"unstuck: {project}:2: ask: cannot be set by a file of the project")
    assert "`unstuck config path`" in lines[1]
    assert lines[2].startswith("unstuck: UNSTUCK_IDLE_TIMEOUT: idle_timeout: ")
    rows = unstuck.inside("config", "validate", "--json").rows
    assert [(row["where"], row["ok"]) for row in rows] == [(str(own), False), (str(project), False)]


def test_validate_says_what_it_read(unstuck: Unstuck, own: Path) -> None:
    """The sources that are there are named, and without any it says so."""
    assert unstuck.inside("config", "validate").out == "no settings are set: every value is the default\n"
    written(own, "max_parallel: 3\n")
    assert unstuck.inside("config", "validate").out == f"ok   {own}\n"


def test_a_value_that_is_ignored_is_named(unstuck: Unstuck, own: Path) -> None:
    """`config validate` and `run` say that a project's file cannot raise a limit; nothing is wrong with the file."""
    file = written(unstuck.root / "unstuck.yaml", "failure_handler: {max_attempts: 99}\n")
    said = "failure_handler.max_attempts: 99 is ignored, 20 holds: only your own settings can raise it"
    done = unstuck.inside("config", "validate")
    assert (done.code, done.out) == (0, f"ok   {file}\n")
    assert f"{said} ({file}:1)" in done.errors
    assert f"! {said}" in unstuck.inside("run", "--headless", "--verify", "true", "--", "true").out
