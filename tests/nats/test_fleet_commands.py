"""``unstuck fleet``, as its users type it: a server, two hosts with homes of their own, and a person."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.nats.conftest import Machine, free_port

from unstuck.schemas.catalogue import SCHEMAS

START = (sys.executable, "-m", "unstuck")


class People:
    """The machines, and the processes that were started on them."""

    def __init__(self, place: Path) -> None:
        self.place, self.started = place, list[subprocess.Popen[str]]()

    def machine(self, name: str) -> Machine:
        return Machine(self.place, name)

    def start(self, machine: Machine, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*START, *words],
            env=machine.environ,
            cwd=machine.place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def work(self, machine: Machine, *words: str) -> tuple[int, str, str]:
        process = self.start(machine, *words)
        out, errors = process.communicate(timeout=90)
        return process.returncode, out, errors


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    found = People(tmp_path)
    yield found
    for process in found.started:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.nats
@pytest.mark.timeout(400)
def test_a_fleet_from_nothing_to_a_revoked_host(people: People) -> None:
    """Each printed line is typed as it stands; the question of a host is answered from another machine."""
    server, box, anna = (people.machine(name) for name in ("server", "box1", "anna"))
    (gate,) = asyncio.run(box.ask(1))
    data, port = str(people.place / "data"), free_port()
    listen = ("--listen", f"127.0.0.1:{port}", "--data", data)
    up = people.start(server, "fleet", "up", "--host", "box1", "--person", "anna", *listen)
    assert up.stdout is not None
    said = [up.stdout.readline() for _ in range(5)]
    assert "press ctrl+c to stop" in said[4]
    assert f"join tls://127.0.0.1:{port} --creds" in said[1]
    for machine, lines in ((box, said[:2]), (anna, said[2:4])):
        copied = re.match(r"copy (\S+) to (\S+), keep it secret", lines[0])
        assert copied is not None
        (machine.place / Path(copied[1]).name).write_bytes(Path(copied[1]).read_bytes())
        code, out, errors = people.work(machine, *lines[1].split()[1:])
        assert (code, errors) == (0, "")
        assert f"as the {'host box1' if machine is box else 'person anna'}" in out
    (row,) = _rows(people, box, "status")
    assert row.role == "host"
    try:
        (row,) = _rows(people, anna, "hosts")
        assert (row.host, row.state, row.logs) == ("box1", "connected", 1)
        assert all(row.ok for row in _rows(people, anna, "doctor"))
        code, out, _ = people.work(anna, "fleet", "answer", "box1", gate, "retry", "keep", "the", "old", "name")
        assert (code, out) == (0, f"{gate} is answered, and box1 has written it down: retry keep the old name\n")
        assert b'"via":"fleet:anna"' in box.path.read_bytes()
        code, out, _ = people.work(anna, "fleet", "answer", "box1", gate, "skip")
        assert (code, out) == (1, f"{gate} was answered by anna already: retry keep the old name\n")
        code, out, _ = people.work(anna, "fleet", "doctor")
        assert (code, "ok box1: it is connected" in out) == (0, True)
        assert "knows these keys" in people.work(server, "fleet", "up", "--host", "box2", "--data", data)[1]
        assert people.work(server, "fleet", "revoke", "box1", "--data", data)[1] == "revoked: box1\n"
        _until_status_says(people, box, "! .*refuses this key")
    finally:
        assert people.work(box, "fleet", "leave")[1] == "left as box1\n"
    assert "in no fleet" in people.work(box, "fleet", "status")[1]
    up.send_signal(signal.SIGINT)
    assert up.wait(30) == 0


def _rows(people: People, machine: Machine, command: str) -> list[Any]:
    """Return what a command prints with ``--json``, as its schema has it."""
    said = people.work(machine, "fleet", command, "--json")[1]
    return [SCHEMAS["fleet"].adapter.validate_json(line) for line in said.splitlines()]


def _until_status_says(people: People, machine: Machine, words: str) -> None:
    while not re.search(words, people.work(machine, "fleet", "status")[1]):
        pass


@pytest.mark.nats
@pytest.mark.timeout(400)
def test_the_list_of_all_hosts_shows_what_is_done_there(people: People) -> None:
    """`unstuck watch --fleet` prints the events of hosts that ssh does not reach, and of one that joins meanwhile."""
    server, box, late, anna = (people.machine(name) for name in ("server", "box1", "box2", "anna"))
    data = people.place / "data"
    listen = ("--listen", f"127.0.0.1:{free_port()}", "--address", "127.0.0.1", "--data", str(data))
    up = people.start(server, "fleet", "up", "--host", "box1", "--person", "anna", *listen)
    assert up.stdout is not None
    said = [up.stdout.readline() for _ in range(5)]
    box.write(1, 20)
    for machine, line in ((box, said[1]), (anna, said[3])):
        *words, name = line.split()[1:]
        assert people.work(machine, *words, str(data / "credentials" / name))[0] == 0
    try:
        watch = people.start(anna, "watch", "--fleet", "--headless")
        assert watch.stdout is not None
        assert watch.stderr is not None
        while "box1 ✓" not in (line := watch.stderr.readline()):
            assert line
        box.write(21)
        while "Which port?" not in (line := watch.stdout.readline()):
            assert line
        late.write(1, 20)
        said = people.work(server, "fleet", "up", "--host", "box2", "--data", str(data))[1].splitlines()
        *words, name = said[1].split()[1:]
        assert people.work(late, *words, str(data / "credentials" / name))[0] == 0
        while "box2 ✓" not in (line := watch.stderr.readline()):
            assert line
        late.write(21)
        while "Which port?" not in (line := watch.stdout.readline()):
            assert line
    finally:
        for machine in (box, late):
            people.work(machine, "fleet", "leave")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("join", "tls://127.0.0.1:1", "--creds", "missing.json"), "cannot be read: No such file"),
        (("join", "tls://127.0.0.1:1"), "URL and --creds go together"),
        (("join",), "this machine is no host of a fleet: unstuck fleet join URL --creds FILE"),
        (("hosts",), "this needs the key of a person or a viewer"),
        (("doctor",), "this needs the key of a person or a viewer"),
        (("up", "--host", "a.b"), "cannot be a name here"),
        (("up", "--nats-server", "/nonexistent"), "is no program"),
        (("join", "nats://127.0.0.1:4222", "--creds", "x"), "it has to be tls://ADDRESS:PORT"),
        (("up", "--server", "nats1"), "'nats1' is no server of a fleet: it has to be tls://ADDRESS:PORT"),
        (("up", "--listen", "x"), "--listen takes ADDRESS:PORT, not x"),
        (("up", "--listen", "127.0.0.1:99999"), "--listen takes ADDRESS:PORT, not 127.0.0.1:99999"),
        (("up", "--data", "/dev/null"), "/dev/null: cannot hold the server's data"),
        (("revoke", "box9"), "there is no key box9 here"),
    ],
)
def test_each_problem_is_one_line_that_says_what_to_do(people: People, words: tuple[str, ...], problem: str) -> None:
    """No traceback, and the exit code of wrong usage."""
    code, _, errors = people.work(people.machine("box1"), "fleet", *words)
    assert problem in errors
    assert len(errors.splitlines()) == 1
    assert code == 2


def test_without_configuration_nothing_of_it_is_imported() -> None:
    """Neither the client nor our part for it is loaded by the other commands, or by `import unstuck`."""
    program = (
        "import sys, unstuck, unstuck.client, unstuck_tui.cli\n"
        "import unstuck_tui.cli.run, unstuck_tui.cli.watch, unstuck_tui.cli.fleet_watch\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('nats', 'nkeys', 'nacl', 'cryptography')"
        " or name.startswith('unstuck.fleet.nats')])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
