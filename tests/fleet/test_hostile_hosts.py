"""A host that lies, speaks another version or has a wrong clock: what it can do to a screen, and what it cannot."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.conftest import Viewer, asking_lines, lines_of, relined, run_of

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.log.log_format import framed
from unstuck.eventlog.log.verify import check
from unstuck.fleet.link import ProcessLink, ssh_command
from unstuck.settings.paths import state_dir

LINES = [line for line in lines_of() if b'"run_ended"' not in line]
RUN = run_of(LINES[0])
LOG = f"{'0a' * 8}-{RUN}"
Scripted = Callable[..., Callable[[str], Any]]


def hello(**fields: Any) -> dict[str, Any]:
    now = {"now": time.time(), "mono": time.monotonic()}
    return {"frame": "hello", "protocol": 1, "version": "9.9", "host": "evil", **now, **fields}


def opened(log: str = LOG) -> dict[str, Any]:
    return {"frame": "opened", "log": log, "live": True}


def lines(raw: list[bytes], log: str = LOG) -> dict[str, Any]:
    return {"frame": "lines", "log": log, "lines": b"".join(raw).decode("latin-1")}


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """``scripted(frames…)`` opens links to a host that says these frames, or these bytes."""

    def made(*frames: dict[str, Any] | bytes) -> Callable[[str], Any]:
        file = tmp_path / "frames"
        said = (frame if isinstance(frame, bytes) else json.dumps(frame).encode() for frame in frames)
        file.write_bytes(b"".join(line + b"\n" for line in said))
        script = str(Path(__file__).with_name("scripted_host.py"))

        async def open_link(host: str) -> ProcessLink:
            return await ProcessLink.open([sys.executable, script, str(file)], os.environ)

        return open_link

    return made


def below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


async def test_a_later_version_is_refused_in_words(scripted: Scripted) -> None:
    """A protocol that this version does not know shows which versions they are, and nothing else is taken from it."""
    viewer = Viewer(scripted(hello(protocol=2), opened(), lines(LINES)), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.hosts[0].standing == "refused")
        assert "it speaks version 2 of the protocol (unstuck 9.9)" in view.hosts[0].words
        assert view.state.tasks == {}


async def test_what_a_later_version_adds_is_passed_over(scripted: Scripted) -> None:
    """Frames and fields that this version does not know disturb nothing; an event that it does not know is kept."""
    body = b'{"time":"2027-01-15T09:00:00.000Z","mono":2000.0,"run":"%s","actor":"policy","event":"dreamt","data":{}}'
    last = int(LINES[-1].rsplit(b'"', 2)[1], 16)
    later, _ = framed(len(LINES) + 1, body % RUN.encode(), last)
    frames = (b"Welcome to evil!", hello(colour="red"), {"frame": "dream", "log": 1}, opened(), lines([*LINES, later]))
    viewer = Viewer(scripted(*frames), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.tasks)
        assert view.hosts[0].standing == "connected"
    (run,) = view.hosts[0].runs.values()
    assert run.state.unknown == 1
    assert check(run.log.parent).records == len(LINES) + 1


@pytest.mark.parametrize(
    "forged",
    [
        [LINES[7]],
        LINES[:6],
        relined(LINES, b'"mono":', b'"mono":1')[5:8],
        [b"\x1b]0;owned\x07\x1b[2J\n"],
    ],
    ids=["a gap", "told again", "another history", "escapes"],
)
async def test_lines_that_do_not_continue_the_log_are_refused_by_name(scripted: Scripted, forged: list[bytes]) -> None:
    """The run is named with the reason, its copy stays as it was and passes fsck, and other runs go on."""
    other = relined(LINES, RUN.encode(), b"20270115-080001")
    more = f"{'0b' * 8}-20270115-080001"
    viewer = Viewer(scripted(hello(), opened(), lines(LINES[:5]), lines(forged), opened(more), lines(other, more)), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: len(view.hosts[0].runs) == 2 and view.hosts[0].runs[more].state.seq == len(LINES))
        assert f"run {RUN} is not copied any further" in view.hosts[0].words
        assert "\x1b" not in view.hosts[0].words
    run = view.hosts[0].runs[LOG]
    assert check(run.log.parent).records == 5
    assert run.log.read_bytes() == b"".join(LINES[:5])


@pytest.mark.parametrize("log", ["../../../evil-20270115-080000", "0" * 16 + "-../x", "x", ""])
async def test_no_log_leads_out_of_the_directory_of_its_host(scripted: Scripted, log: str, tmp_path: Path) -> None:
    """Names that are none are passed over; nothing is written but below the host's own directory."""
    viewer = Viewer(scripted(hello(), opened(log), lines(LINES, log), opened(), lines(LINES)), "a")
    before = below(tmp_path)
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.tasks)
    own = state_dir(os.environ) / "fleet" / "a"
    home = Path(os.environ["HOME"])
    assert below(home) == below(own)
    assert below(tmp_path) - before <= {tmp_path / "frames.heard"}


async def test_nothing_that_a_host_says_is_asked_of_it(scripted: Scripted, tmp_path: Path) -> None:
    """Replies to nothing, requests and answers from a host have no effect: it hears keep-alives alone."""
    ask = {"frame": "ask", "id": 1, "log": LOG, "message": {"do": "answer", "gate": "g1", "choice": "allow"}}
    reply = {"frame": "reply", "id": 7, "reply": {"ok": True}}
    viewer = Viewer(scripted(hello(), reply, ask, opened(), lines(LINES)), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.tasks)
        assert view.hosts[0].standing == "connected"
    heard = tmp_path / "frames.heard"
    assert not heard.exists() or b'"ask"' not in heard.read_bytes()


async def test_a_host_that_says_no_frames_is_cut_off(scripted: Scripted) -> None:
    """Whatever follows the greeting has to be frames: else the connection ends, with a reason."""
    viewer = Viewer(scripted(hello(), b"\x1b[2Jrm -rf /"), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: "it does not speak as `unstuck serve --stdio` does" in view.hosts[0].words)


async def test_a_screen_that_leaves_while_a_link_is_closed_leaves_no_process() -> None:
    """The program of the link was killed, and is waited for though nobody follows the host any more."""
    link = await ProcessLink.open(["sleep", "600"], os.environ)
    closing = asyncio.create_task(link.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert link._process.returncode == -signal.SIGKILL


async def test_countdowns_are_right_though_the_clock_of_a_host_is_an_hour_off(scripted: Scripted) -> None:
    """A question that is answered in ten minutes is answered in ten minutes, whatever the host's clocks say."""
    hour, boot = 3600.0, 12_345.0
    raw = asking_lines(("timer_started", {"gate": "g1", "seconds": 600.0, "choice": "skip"}), ahead=-hour, boot=boot)
    there = hello(now=time.time() - hour, mono=time.monotonic() + boot)
    viewer = Viewer(scripted(there, opened(), lines(raw)), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.gates and view.state.gates["a/shop/g1"].gate.acts_at is not None)
        row = view.state.gates["a/shop/g1"]
        assert row.gate.acts_at is not None
        assert 400 < row.gate.acts_at - view.clock.monotonic() < 610
        opened_at = time.mktime(time.strptime(row.opened[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
        assert abs(opened_at - time.time()) < 200


def test_the_name_of_a_host_is_never_an_option(tmp_path: Path) -> None:
    """Whatever is typed as a host, ssh gets it as a host behind `--`, or not at all."""
    environ = dict(os.environ)
    command = ssh_command("ann@build1", environ)
    assert command[0] == "ssh"
    assert command[-3:-1] == ["--", "ann@build1"]
    assert "-oBatchMode=yes" in command
    assert ssh_command("a", environ, "ssh -p 2222")[:3] == ["ssh", "-p", "2222"]
    for host in ("-oProxyCommand=touch /tmp/x", "a b", "a;b", "`b`", "", "a\nb"):
        with pytest.raises(UsageError, match="cannot be the name of a host"):
            ssh_command(host, environ)


async def test_a_line_to_paste_runs_nothing_here(scripted: Scripted, tmp_path: Path) -> None:
    """The ssh command to the files of a task is safe to paste, whatever the host calls the folder."""
    mark = tmp_path / "mark"
    folder = f"/x'$(touch {mark})`touch {mark}`\";touch {mark};\x1b[2J"
    guidance = {"attempt": "web.1", "number": 1, "level": "first", "text": "", "workdir": folder}
    raw = asking_lines(("attempt_started", {"guidance": guidance, "limit_s": 900.0}))
    viewer = Viewer(scripted(hello(), opened(), lines(raw)), "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.tasks and view.hosts[0].runs[LOG].state.attempts)
        with pytest.raises(UnstuckError) as said:
            await view.start_takeover("a/shop/web")
    command = str(said.value).partition("then: ")[2]
    assert command.startswith("ssh -t a ")
    done = subprocess.run(["sh", "-c", f"ssh() {{ :; }}; {command}"], check=False, timeout=30)
    assert done.returncode == 0
    assert not mark.exists()
