"""List of the projects of this user in which runs were recorded: one small file for each, named by a hash.

Every statistic is rebuilt from the event logs of the projects; the list only says where they are.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from unstuck.eventlog.storage.durable_files import make_directory, write_private

_FOLDER = "projects"
_PATH_LIMIT = 8_192


def listing_of(home: Path, state: Path) -> Path:
    """Return the file that lists the project with this ``home``, below the user's ``state`` directory."""
    return state / _FOLDER / sha256(os.fsencode(home)).hexdigest()[:16]


def remember_home(home: Path, state: Path) -> None:
    """List the project. A directory that cannot be written is no reason not to run."""
    file = listing_of(home, state)
    if file.exists():
        return
    with suppress(OSError):
        make_directory(file.parent)
        write_private(file, str(home))


def forget_home(home: Path, state: Path) -> None:
    """Remove the project from the list, and every project that is not where it was. Raises OSError."""
    listing_of(home, state).unlink(missing_ok=True)
    for file, other in _listed(state):
        if not other.exists():
            file.unlink(missing_ok=True)
    with suppress(OSError):
        (state / _FOLDER).rmdir()


def listed_homes(state: Path) -> list[Path]:
    """Return the homes of all listed projects that still exist, sorted."""
    return sorted(home for _, home in _listed(state) if (home / "runs").is_dir())


def _listed(state: Path) -> list[tuple[Path, Path]]:
    """Return the files of the list and the homes in them; a file that unstuck did not write is left out."""
    found = []
    with suppress(OSError):
        for file in (state / _FOLDER).iterdir():
            with suppress(OSError, ValueError):
                with file.open("rb") as listing:
                    home = Path(os.fsdecode(listing.read(_PATH_LIMIT)))
                if home.is_absolute() and listing_of(home, state).name == file.name:
                    found.append((file, home))
    return found
