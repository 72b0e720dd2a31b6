"""The page as commands serve it: `unstuck web` beside a run, `run --web` and `watch --web` in its process."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import trustme

from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.storage.run_store import run_names
from unstuck.workspace.project import located
from unstuck_web.access import Access

Start = Callable[..., subprocess.Popen[Any]]
Inside = Callable[..., tuple[int, str, str]]
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/enter/([\w-]+)")


class Browser:
    """A browser without JavaScript that has opened a link."""

    opened: ClassVar[list[httpx.Client]] = []

    def __init__(self, address: str, token: str) -> None:
        self.http = httpx.Client(base_url=address, follow_redirects=True, trust_env=False, timeout=60)
        self.opened.append(self.http)
        self.origin = {"origin": address}
        self.first = self.http.post("/enter", data={"token": token}, headers=self.origin)

    def answer(self, path: str, **fields: str) -> httpx.Response:
        page = self.http.get(str(self.first.url))
        form = re.search(r'name="form" value="(\w+)"', page.text)
        assert form is not None
        return self.http.post(path, data={"form": form[1], **fields}, headers=self.origin)


def browser_of(process: subprocess.Popen[Any]) -> Browser:
    """The browser of a person who opens the link that the process prints."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := LINK.search(line):
            return Browser(found[1], found[2])
    raise AssertionError("it printed no link")


@pytest.fixture
def ended(start: Start) -> Iterator[Start]:
    """``start``, and what it has started is ended."""
    begun: list[subprocess.Popen[Any]] = []

    def begin(*arguments: str, **options: Any) -> subprocess.Popen[Any]:
        process = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        begun.append(process)
        return process

    yield begin
    for http in Browser.opened:
        http.close()
    Browser.opened.clear()
    for process in begun:
        process.kill()
        process.communicate()


def gate_of(directory: Path) -> tuple[str, str]:
    """The last run of a project and the question that is open in it."""
    place = located(directory)
    run = run_names(place.runs)[-1]
    (row,) = current_state(place.runs / run)[0].open_gates()
    return run, row.id


def test_a_run_serves_its_page_and_waits_for_its_answer(repo: Path, ended: Start) -> None:
    """Without a screen, too: the question waits for the person at the page, and the run goes on with the answer."""
    run = ended("run", "--headless", "--web", "--direct", "--check", "test -e done.txt", "--", "true", cwd=repo)
    browser = browser_of(run)
    while "Your answer" not in (page := browser.http.get(str(browser.first.url))).text:
        assert run.poll() is None
    assert run.poll() is None
    name, gate = gate_of(repo)
    assert "is stuck" in page.text
    (repo / "done.txt").write_text("by hand")
    browser.answer(f"/runs/{name}/question", id=gate, choice="check")
    assert run.wait(60) == 0


def test_a_paused_run_is_answered_and_resumed_from_a_page_beside_it(repo: Path, inside: Inside, ended: Start) -> None:
    """Exit code 3 an hour ago: the page takes the answer as `unstuck answer` does, and resumes the run."""
    code, *_ = inside(repo, "run", "--headless", "--direct", "--check", "test -e done.txt", "--", "true")
    assert code == 3
    name, gate = gate_of(repo)
    browser = browser_of(ended("web", cwd=repo))
    (repo / "done.txt").write_text("by hand")
    page = browser.answer(f"/runs/{name}/question", id=gate, choice="check")
    assert "by a person on the page" in page.text
    browser.answer(f"/runs/{name}/resume")
    state = current_state(located(repo).runs / name)[0]
    while state.run.state != "ended":
        state = current_state(located(repo).runs / name)[0]
    assert state.run.exit_code == 0
    assert state.gates[gate].via == "page"


def test_a_page_that_is_served_again_has_its_address_and_sessions(repo: Path, inside: Inside, ended: Start) -> None:
    """A browser that was let in before is let in by the next `unstuck web`, at the same port."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    first = ended("web", cwd=repo)
    browser = browser_of(first)
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    with pytest.raises(httpx.TransportError):
        browser.http.get("/runs")
    second = ended("web", cwd=repo)
    assert LINK.search(next(line for line in iter(second.stdout.readline, "") if LINK.search(line)))  # type: ignore[union-attr]
    assert browser.http.get("/runs").status_code == 200


def test_sessions_are_listed_and_revoked_by_command(repo: Path, inside: Inside, ended: Start) -> None:
    """While the page is served; and another link is printed."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    assert "no page is served here" in inside(repo, "web", "link")[2]
    browser = browser_of(ended("web", cwd=repo))
    code, out, _ = inside(repo, "web", "sessions")
    assert (code, "python-httpx" in out) == (0, True)
    link = LINK.search(inside(repo, "web", "link", "--qr")[1])
    assert link is not None
    other = Browser(link[1], link[2])
    assert other.http.get("/runs").status_code == 200
    assert "revoked: " in inside(repo, "web", "sessions", "--revoke", "all")[1]
    assert [one.http.get("/runs").status_code for one in (browser, other)] == [401, 401]
    assert "there is no session" in inside(repo, "web", "sessions", "--revoke", "abc")[2]


def test_a_watch_serves_its_page(repo: Path, ended: Start) -> None:
    """`watch --web` lets a browser in to the page of its own run."""
    watch = ended("watch", "--plain", "--web", cwd=repo)
    browser = browser_of(watch)
    assert f"/runs/{run_names(located(repo).runs)[-1]}" in str(browser.first.url)
    assert browser.first.status_code == 200
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(60) is not None


def test_a_certificate_of_ones_own_protects_the_page(repo: Path, tmp_path: Path, inside: Inside, ended: Start) -> None:
    """With TLS the link and the session are those of an https address, and the page is not served in the clear."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    ca = trustme.CA()
    made, trusted = ca.issue_cert("127.0.0.1"), ssl.create_default_context()
    ca.configure_trust(trusted)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made.cert_chain_pems[0].write_to_path(cert)
    made.private_key_pem.write_to_path(key)
    serving = ended("web", "--tls-cert", str(cert), "--tls-key", str(key), cwd=repo)
    assert serving.stdout is not None
    link = next(found for line in serving.stdout if (found := re.search(r"https://(\S+)/enter/([\w-]+)", line)))
    with httpx.Client(base_url=f"https://{link[1]}", verify=trusted, follow_redirects=True, trust_env=False) as http:
        entered = http.post("/enter", data={"token": link[2]}, headers={"origin": f"https://{link[1]}"})
        assert entered.status_code == 200
        assert "secure" in entered.history[0].headers["set-cookie"].lower()
        assert http.get("/runs").status_code == 200
        with pytest.raises(httpx.TransportError):
            http.get(f"http://{link[1]}/runs")


def test_another_address_is_refused_with_the_reason(repo: Path, inside: Inside) -> None:
    """Before anything is served."""
    code, _, errors = inside(repo, "web", "--bind", "0.0.0.0")
    assert code == 2
    assert "--tls-cert and --tls-key" in errors


@pytest.mark.parametrize("command", ["web", "watch --sessions --web", "run --web --headless --check true -- true"])
def test_an_agent_cannot_open_the_page(repo: Path, inside: Inside, command: str) -> None:
    """A link would let it answer in a person's name."""
    words = ["unstuck", *command.split()]
    script = (
        f"import subprocess; said = subprocess.run({words}, capture_output=True, text=True, timeout=60).stderr\n"
        "open('said.txt', 'w').write(said)"
    )
    inside(repo, "run", "--headless", "--check", "test -e said.txt", "--", "python3", "-c", script)
    assert "an agent may not open the page" in (repo / "said.txt").read_text()


def test_the_answer_of_the_page_is_shown_by_the_commands(repo: Path, inside: Inside, ended: Start) -> None:
    """`unstuck show` names the page as the way in which the answer came."""
    inside(repo, "run", "--headless", "--direct", "--check", "false", "--", "true")
    name, gate = gate_of(repo)
    browser_of(ended("web", cwd=repo)).answer(f"/runs/{name}/question", id=gate, choice="skip")
    assert "skip, by a person on the page" in inside(repo, "show")[1]
    rows = [json.loads(line) for line in inside(repo, "show", "--json")[1].splitlines()]
    (moment,) = [one for row in rows for one in row.get("timeline", ()) if one["kind"] == "question"]
    assert (moment["by"], moment["via"]) == ("human", "page")


FORGES = """
import hashlib, hmac, json, sys, urllib.error, urllib.request
file, address, cookie = sys.argv[1:]
kept = json.load(open(file))
mine = {"id": "abcdef", "hash": hashlib.sha256(b"s").hexdigest(), "host": address[7:], "browser": "", "opened": 1,
        "seen": 9e10, "ends": 9e10}
json.dump(kept | {"sessions": [*kept["sessions"], mine]}, open(file, "w"))
form = hmac.new(b"s", b"form", "sha256").hexdigest()
asked = urllib.request.Request(address + "/runs/none/question", data=f"form={form}&id=g&choice=skip".encode(),
                               headers={"cookie": f"{cookie}=s", "origin": address})
try:
    urllib.request.urlopen(asked)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


def test_an_agent_with_a_forged_session_cannot_answer(repo: Path, inside: Inside, ended: Start) -> None:
    """It has written the session into the page's file; the same request from a person's process is let in."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    browser = browser_of(ended("web", cwd=repo))
    forges = forged(browser, repo, FORGES)
    command = f"{shlex.join(forges)} > said.txt"
    inside(repo, "run", "--headless", "--direct", "--check", "test -s said.txt", "--", "sh", "-c", command)
    assert "an agent may not answer: the page is for a person" in (repo / "said.txt").read_text()
    person = subprocess.run(forges, capture_output=True, text=True, check=True).stdout
    assert "there is no run none here" in person
    assert browser.http.get("/runs").status_code == 200


LEAVES = """
import hashlib, hmac, json, socket, sys
file, address, cookie = sys.argv[1:]
kept = json.load(open(file))
mine = {"id": "abcdef", "hash": hashlib.sha256(b"s").hexdigest(), "host": address[7:], "browser": "", "opened": 1,
        "seen": 9e10, "ends": 9e10}
json.dump(kept | {"sessions": [*kept["sessions"], mine]}, open(file, "w"))
form = hmac.new(b"s", b"form", "sha256").hexdigest()
body = f"form={form}&id=abcdef"
host, port = address[7:].split(":")
with socket.create_connection((host, int(port))) as sender:
    sender.sendall(f"POST /sessions HTTP/1.1\\r\\nHost: {address[7:]}\\r\\nOrigin: {address}\\r\\n"
                   f"Cookie: {cookie}=s\\r\\nContent-Type: application/x-www-form-urlencoded\\r\\n"
                   f"Content-Length: {len(body)}\\r\\n\\r\\n{body}".encode())
"""


def forged(browser: Browser, directory: Path, program: str) -> list[str]:
    """The command of a program that writes a session into the page's file and sends a form with it."""
    home = located(directory).home
    place = browser.origin["origin"], Access(home, time.time).cookie
    return [sys.executable, "-c", program, str(home / "web.json"), *place]


def test_a_sender_that_is_gone_before_it_is_looked_up_changes_nothing(repo: Path, inside: Inside, ended: Start) -> None:
    """It sends its whole form and ends: nobody can tell whether it was an agent."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    browser = browser_of(ended("web", cwd=repo))
    subprocess.run(forged(browser, repo, LEAVES), check=True)
    assert browser.http.get("/runs").status_code == 200
    assert "abcdef" in inside(repo, "web", "sessions")[1]


def test_a_check_cannot_answer_on_a_page_beside_its_run(repo: Path, inside: Inside, ended: Start) -> None:
    """The check runs what an agent has written, too."""
    assert inside(repo, "run", "--headless", "--check", "true", "--", "true")[0] == 0
    browser = browser_of(ended("web", cwd=repo))
    command = f"{shlex.join(forged(browser, repo, FORGES))} > said.txt"
    inside(repo, "run", "--headless", "--direct", "--check", command, "--", "true")
    assert "an agent may not answer: the page is for a person" in (repo / "said.txt").read_text()


def test_a_page_that_was_left_open_learns_that_its_run_was_killed(repo: Path, ended: Start) -> None:
    """No event tells it: the page that is served next does, when the open one asks for what came after."""
    run = ended("run", "--headless", "--web", "--direct", "--check", "true", "--", "sleep", "600", cwd=repo)
    browser = browser_of(run)
    name = run_names(located(repo).runs)[-1]
    while not current_state(located(repo).runs / name)[0].attempts:
        assert run.poll() is None
    run.kill()
    run.wait()
    browser_of(ended("web", cwd=repo))
    seen = current_state(located(repo).runs / name)[0].seq
    with browser.http.stream("GET", f"/runs/{name}/events", headers={"last-event-id": f"{name}:{seen}"}) as events:
        assert "Resume the run" in next(line for line in events.iter_lines() if line.startswith("data:"))


def test_of_two_that_resume_at_once_the_other_is_told(repo: Path, inside: Inside, ended: Start) -> None:
    """One starts the run; the page of the other says why it does not."""
    work = "test ! -p door || cat door > greeting.txt"
    inside(repo, "run", "--headless", "--direct", "--check", "test -s greeting.txt", "--", "sh", "-c", work)
    os.mkfifo(repo / "door")
    name, gate = gate_of(repo)
    first = browser_of(ended("web", cwd=repo))
    first.answer(f"/runs/{name}/question", id=gate, choice="retry", text="Greet.")
    link = LINK.search(inside(repo, "web", "link")[1])
    assert link is not None
    second = Browser(link[1], link[2])
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda browser: browser.answer(f"/runs/{name}/resume"), (first, second)))
    (repo / "door").write_text("hello")
    loser = next(response for response in found if response.status_code == 409)
    assert [response.status_code for response in found if response is not loser] == [200]
    assert re.search(r"another run is live|is not paused", loser.text)
