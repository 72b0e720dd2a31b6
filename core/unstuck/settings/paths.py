"""Directories of unstuck outside of projects."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from unstuck.errors import SettingsError


def state_dir(environ: Mapping[str, str]) -> Path:
    """Return the directory of worktrees and other lasting data, not created here. ``UNSTUCK_STATE_DIR`` overrides it.

    Raises SettingsError for a relative path.
    """
    if named := _named(environ, "UNSTUCK_STATE_DIR"):
        return named
    from platformdirs import user_state_path

    return user_state_path("unstuck")


def runtime_dir(environ: Mapping[str, str]) -> Path:
    """Return the directory of sockets: ``UNSTUCK_RUNTIME_DIR``, the one of the session, or a private one in ``/tmp``.

    The hook forwarder has the same rule. Only the one in ``/tmp`` is created here, because another user could create it
    first. Raises SettingsError for a relative path, and if that directory belongs to another user.
    """
    if named := _named(environ, "UNSTUCK_RUNTIME_DIR"):
        return named
    session = environ.get("XDG_RUNTIME_DIR", "")
    if session and os.path.isdir(session) and os.access(session, os.W_OK):
        return Path(session) / "unstuck"
    return own_directory(Path(f"/tmp/unstuck-{os.getuid()}"))


def own_directory(path: Path) -> Path:
    """Create ``path`` as a private directory. Raises SettingsError if it belongs to another user."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise SettingsError("runtime directory", "", f"{path} belongs to another user; set UNSTUCK_RUNTIME_DIR")
        if stat.S_IMODE(found.st_mode) != 0o700:
            path.chmod(0o700)
    except OSError as error:
        problem = f"{path} cannot be made ({error.strerror}); set UNSTUCK_RUNTIME_DIR"
        raise SettingsError("runtime directory", "", problem) from error
    return path


def _named(environ: Mapping[str, str], variable: str) -> Path | None:
    value = environ.get(variable, "")
    if not value:
        return None
    if not os.path.isabs(value):
        raise SettingsError(variable, "", f"must be an absolute path, not {value!r}")
    return Path(value)
