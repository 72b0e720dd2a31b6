"""An answer to a live run that does not confirm it in time, because its disk is slow."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.eventlog.conftest import RUN, Said

from unstuck.channel import socket_path
from unstuck.clock import SystemClock
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME, Journal
from unstuck.runs.answers import answer_live
from unstuck.settings.paths import runtime_dir

GATE = f"{RUN}.g1"


@pytest.fixture
def asked(folder: Path) -> Path:
    """The log of a run with one open question."""

    async def ask() -> None:
        journal = await Journal.open(folder, run=RUN, clock=SystemClock())
        journal.append(e.GateOpened(gate=GATE, type="stuck", choices=("skip", "abandon")), task="a")
        await journal.close()

    asyncio.run(ask())
    return folder / LOG_NAME


@pytest.fixture
def silent(folder: Path) -> Iterator[list[bytes]]:
    """A supervisor that takes requests and never replies; the list holds what it was sent."""
    received: list[bytes] = []
    path = socket_path(runtime_dir(os.environ), folder.parent.parent)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()

        def take() -> None:
            with suppress(OSError):  # nobody came before the end of the test
                connection, _ = listener.accept()
                with connection:
                    while chunk := connection.recv(65536):
                        received.append(chunk)

        taker = threading.Thread(target=take)
        taker.start()
        yield received
        listener.shutdown(socket.SHUT_RDWR)
        taker.join()


def test_an_answer_without_confirmation_is_not_recorded_a_second_time(
    asked: Path, silent: list[bytes], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command says that the answer was sent and is not confirmed, and leaves the log of the live run alone."""
    monkeypatch.setattr(answer_live, "CONFIRM_S", 0.3)
    before = asked.read_bytes()
    code, out, err = said("answer", GATE, "skip")
    assert (code, out) == (1, "")
    assert "was sent to the live run and is not confirmed" in err
    assert "unstuck show" in err
    assert asked.read_bytes() == before
    assert json.loads(b"".join(silent))["choice"] == "skip"


def test_an_answer_that_nobody_can_take_is_recorded(asked: Path, said: Said) -> None:
    """Without a live run the same command records the answer in the log."""
    code, out, _ = said("answer", GATE, "skip")
    assert code == 0
    assert f"unstuck run --resume {RUN}" in out
    assert b'"gate_answered"' in asked.read_bytes()
