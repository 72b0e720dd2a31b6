"""A scenario that cannot be played is refused in one line, and nothing of it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from unstuck.errors import UsageError
from unstuck.testing import Rehearsal, curated
from unstuck_tui.cli import cli

SCENARIO = 'prompt: Wait.\nverify: "true"\nattempts:\n  - do:\n      - say: Well\n'


@pytest.mark.parametrize(
    ("name", "more", "problem"),
    [
        ("half", 'files: {a: "\\ud800"}', "holds half a character"),
        ("half-name", 'files: {"a\\ud800": b}', "no file can have this name"),
        ("directory", "files: {shop: a}", "cannot be made: Is a directory"),
        ("long", f"files: {{{'a' * 300}: b}}", "cannot be made: File name too long"),
        ("hooks", "files: {.GIT/hooks/pre-commit: a}", "a path stays inside the project"),
        ("ours", "files: {.gitignore: a}", "the rehearsal itself both bring .gitignore"),
        ("two words", "", "a scenario's file gives its task the name"),
    ],
)
def test_a_bad_scenario_is_refused_and_nothing_stays(
    name: str, more: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with my scenario, I read one line, and no temporary directory is left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    file = tmp_path / f"{name}.yaml"
    file.write_text(SCENARIO + more, encoding="utf-8")
    result = CliRunner().invoke(cli, ["demo", "--headless", "--scenario", str(file)])
    assert isinstance(result.exception, UsageError)
    assert problem in str(result.exception)
    assert not list(temporary.iterdir())


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path) -> None:
    """Two files of the same name in two directories are told apart before anything is made."""
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "same.yaml")
        files[-1].write_text(SCENARIO, encoding="utf-8")
    keep = tmp_path / "keep"
    arguments = ["--scenario", str(files[0]), "--scenario", str(files[1]), "--keep", str(keep)]
    result = CliRunner().invoke(cli, ["demo", "--headless", *arguments])
    assert isinstance(result.exception, UsageError)
    assert "two scenarios are called same" in str(result.exception)
    assert not keep.exists()


def test_a_speed_that_is_no_number_is_refused() -> None:
    """`--speed nan` is wrong usage, not a crash."""
    result = CliRunner().invoke(cli, ["demo", "--headless", "--speed", "nan"])
    assert isinstance(result.exception, UsageError)


def test_my_own_git_settings_do_not_stop_the_rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that refuse every commit, from a hooks directory or a template, and signing have no say in it."""
    hook = tmp_path / "template" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    settings = f"[core]\nhooksPath={hook.parent}\n[init]\ntemplateDir={hook.parent.parent}\n[commit]\ngpgsign=true\n"
    (tmp_path / "gitconfig").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(settings, encoding="utf-8")
    assert Rehearsal.prepare(curated(), tmp_path / "demo").project.is_dir()
