"""Directories of the program's state and sockets."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from unstuck.errors import SettingsError
from unstuck.settings.paths import own_directory, runtime_dir, state_dir


def test_both_places_can_be_named(tmp_path: Path) -> None:
    """Somebody with an unusual machine says where things go."""
    environ = {"UNSTUCK_STATE_DIR": str(tmp_path / "state"), "UNSTUCK_RUNTIME_DIR": str(tmp_path / "run")}
    assert state_dir(environ) == tmp_path / "state"
    assert runtime_dir(environ) == tmp_path / "run"


def test_state_lies_where_the_platform_keeps_it(isolated: Path) -> None:
    """Without a name it is the platform's state directory."""
    assert state_dir({}) == isolated / "state" / "unstuck"


def test_sockets_lie_in_the_sessions_directory(tmp_path: Path) -> None:
    """The session's own runtime directory is used where there is one."""
    assert runtime_dir({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "unstuck"


@pytest.mark.parametrize("environ", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "/nowhere/at/all"}])
def test_without_a_session_sockets_lie_in_a_private_directory(environ: dict[str, str]) -> None:
    """In a container or over ssh there is still a place, and nobody else can enter it."""
    place = runtime_dir(environ)
    assert place == Path(f"/tmp/unstuck-{os.getuid()}")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("place", "variable"), [(state_dir, "UNSTUCK_STATE_DIR"), (runtime_dir, "UNSTUCK_RUNTIME_DIR")]
)
def test_a_relative_place_is_refused(place: Callable[[dict[str, str]], Path], variable: str) -> None:
    """A place that moves with the working directory would be lost."""
    with pytest.raises(SettingsError, match=f"{variable}: must be an absolute path, not 'here'"):
        place({variable: "here"})


def test_a_private_directory_is_made_private(tmp_path: Path) -> None:
    """A directory left open to others is closed."""
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    assert stat.S_IMODE(own_directory(tmp_path / "open").stat().st_mode) == 0o700


def test_a_prepared_link_is_refused(tmp_path: Path) -> None:
    """A link that somebody puts first into a shared directory cannot redirect our sockets."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    (tmp_path / "file").write_text("x")
    for name in ("link", "file"):
        with pytest.raises(SettingsError, match="set UNSTUCK_RUNTIME_DIR"):
            own_directory(tmp_path / name)
