"""A short slice of ``make torture``: one round with a fixed seed of each family that is quick."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Start
from tests.torture.__main__ import torture
from tests.torture.limits import Skipped

ROUNDS = {"disks": 1, "kills": 4, "mutations": 1, "pipes": 1, "sizes": 404285457, "streams": 4}


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path so short that a socket fits into it."""
    with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as place:
        yield Path(place)


@pytest.mark.parametrize(("family", "seed"), ROUNDS.items())
def test_the_guarantees_hold(short: Path, start: Start, family: str, seed: int) -> None:
    """After this fault every guarantee holds for the run, its log and the user's files."""

    def begun(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        return start(*command[1:], **options)

    try:
        broken = torture(family, seed, short, begun)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert not broken
