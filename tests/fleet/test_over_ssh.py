"""The list over a real ssh, where this machine has an sshd: `unstuck serve` is started by a login as anybody's is."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fleet.conftest import FAILING, Machine, Viewer

from unstuck.contract import Answer
from unstuck.fleet.link import ProcessLink, ssh_command

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh-keygen") is None, reason="there is no sshd on this machine"
)


def key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=60)
    return path


@pytest.fixture
def login(tmp_path: Path, machine: Callable[[str], Machine]) -> Iterator[tuple[Machine, Path]]:
    """A machine behind a real sshd on a free port, and the client's configuration that reaches it as ``box``."""
    box = machine("box")
    own, server = key(tmp_path / "key"), key(tmp_path / "server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    keys = tmp_path / "authorized_keys"
    keys.write_text(own.with_suffix(".pub").read_text("utf-8"), encoding="utf-8")
    told = {name: value for name, value in box.environ.items() if name.startswith("UNSTUCK_")}
    told |= {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": box.environ["HOME"]}
    config = tmp_path / "sshd_config"
    lines = (
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {server}", f"AuthorizedKeysFile {keys}", "PidFile none",
        "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
        "SetEnv " + " ".join(f"{name}={value}" for name, value in told.items()),
    )  # fmt: skip
    config.write_text("\n".join((*lines, "")), encoding="utf-8")
    assert SSHD is not None
    daemon = subprocess.Popen([SSHD, "-D", "-e", "-f", config], stderr=subprocess.PIPE, text=True)
    assert daemon.stderr is not None
    said = daemon.stderr.readline()
    if "listening" not in said:
        daemon.kill()
        daemon.wait(60)
        daemon.stderr.close()
        pytest.skip(f"sshd does not start here: {said.strip()}")
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {server.with_suffix('.pub').read_text('utf-8')}", encoding="utf-8")
    client = tmp_path / "ssh_config"
    wanted = ("Host box", "HostName 127.0.0.1", f"Port {port}", f"IdentityFile {own}", f"UserKnownHostsFile {known}")
    client.write_text("\n".join((*wanted, "")), encoding="utf-8")
    yield box, client
    daemon.terminate()
    daemon.stderr.close()
    daemon.wait(60)


async def test_questions_are_answered_over_a_real_ssh(login: tuple[Machine, Path]) -> None:
    """A paused run behind sshd is in the list, a cut connection shows, and the answer lands in the host's log."""
    box, config = login
    assert box.unstuck("run", "--headless", "--check", FAILING, "--", "true").returncode == 3
    opened: list[ProcessLink] = []
    reachable = asyncio.Event()
    reachable.set()

    async def open_link(host: str) -> ProcessLink:
        await reachable.wait()
        environ = dict(os.environ)
        opened.append(await ProcessLink.open(ssh_command(host, environ, f"ssh -F {config}"), environ))
        return opened[-1]

    viewer = Viewer(open_link, "box")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.open_gates() or "✓" not in view.hosts[0].words)
        await viewer.until(lambda: view.state.open_gates())
        (gate,) = view.state.open_gates()
        reachable.clear()
        opened[0]._process.kill()
        await viewer.until(lambda: view.absent("box/shop/task")[0] == "UNKNOWN")
        reachable.set()
        await viewer.until(lambda: view.hosts[0].standing == "connected")
        await view.answer(gate.id, Answer(choice="skip"))
        await viewer.until(lambda: view.state.gates[gate.id].status == "answered")
    assert box.logs[0].read_bytes().count(b'"gate_answered"') == 1


async def test_a_host_that_lets_nobody_in_says_why(login: tuple[Machine, Path], tmp_path: Path) -> None:
    """A key that is not known there is refused at once, without a question, and in ssh's own words."""
    _, config = login
    other = key(tmp_path / "other")
    environ = dict(os.environ)
    words = f"ssh -F {config} -o IdentitiesOnly=yes -o IdentityFile={other}"
    config.write_text(config.read_text("utf-8").replace(f"IdentityFile {tmp_path / 'key'}", ""), encoding="utf-8")

    async def open_link(host: str) -> ProcessLink:
        return await ProcessLink.open(ssh_command(host, environ, words), environ)

    viewer = Viewer(open_link, "box")
    async with viewer.following() as view:
        await viewer.until(lambda: view.hosts[0].standing == "cut off")
        assert "Permission denied" in view.hosts[0].words
