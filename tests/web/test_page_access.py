"""Access to the page: links, sessions, hosts, origins, rates, addresses."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.web.conftest import Serving, Stage, words

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.memory.entry import Remembered
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.text import Clean
from unstuck_web import server
from unstuck_web.access import LINK_S, SESSION_S, Access
from unstuck_web.server import PageOptions


async def test_a_link_lets_one_browser_in_once(serving: Serving) -> None:
    """Its page has a button; who presses it sees the run, and who opens the link again does not."""
    async with serving() as stage:
        first, second = await stage.stranger(follow_redirects=True), await stage.stranger(follow_redirects=True)
        link = stage.page.link()
        shown = await first.enter(link)
        assert shown.status_code == 200
        assert "webhook is stuck" in words(shown)
        assert (await second.get(link)).status_code == 410
        assert (await second.enter(link)).status_code == 410
        assert (await second.get(stage.path)).status_code == 401


async def test_a_preview_of_a_link_does_not_spend_it(serving: Serving) -> None:
    """A chat that loads the link, several times and its head as well, leaves it good for the person."""
    async with serving() as stage:
        preview, person = await stage.stranger(), await stage.stranger(follow_redirects=True)
        link = stage.page.link()
        for _ in range(3):
            response = await preview.get(link)
            assert response.status_code == 200
            assert "set-cookie" not in response.headers
        assert (await preview.http.head(link)).status_code == 200
        assert "webhook" not in words(await preview.get(link))
        assert (await person.enter(link)).status_code == 200


async def test_a_link_ends(serving: Serving) -> None:
    """After a quarter of an hour it lets nobody in."""
    async with serving() as stage:
        reader, link = await stage.stranger(), stage.page.link()
        stage.wall[0] += LINK_S + 1
        assert (await reader.get(link)).status_code == 410
        assert (await reader.enter(link)).status_code == 410


async def test_a_session_ends(serving: Serving) -> None:
    """After a day the browser is asked for another link."""
    async with serving() as stage:
        reader = await stage.reader()
        stage.wall[0] += SESSION_S - 1
        assert (await reader.get(stage.path)).status_code == 200
        stage.wall[0] += 2
        assert (await reader.get(stage.path)).status_code == 401


async def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites(serving: Serving) -> None:
    """HttpOnly, SameSite=Lax, and an end."""
    async with serving() as stage:
        reader = await stage.stranger()
        cookie = (await reader.enter(stage.page.link())).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert "max-age=86400" in cookie


async def test_secrets_are_kept_as_hashes_for_their_owner_only(serving: Serving) -> None:
    """The file that lists sessions opens nothing for whoever reads it."""
    async with serving() as stage:
        link = stage.page.link()
        reader = await stage.stranger()
        await reader.enter(stage.page.link())
        file = stage.place.home / "web.json"
        (cookie,) = reader.http.cookies.jar
        assert link.rpartition("/")[2] not in file.read_text()
        assert str(cookie.value) not in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""])
async def test_another_host_name_is_refused_also_with_the_cookie(serving: Serving, host: str) -> None:
    """A name that another site points at this machine shows nothing, whatever cookie comes with it."""
    async with serving() as stage:
        reader = await stage.reader()
        response = await reader.get(stage.path, headers={"host": host})
        assert response.status_code in (400, 421)
        assert "webhook" not in response.text


async def test_a_stolen_cookie_does_not_work_under_another_name(serving: Serving) -> None:
    """A session belongs to the host that it was opened at."""
    async with serving() as stage:
        reader = await stage.reader()
        port = httpx.URL(stage.page.address).port
        assert (await reader.get(stage.path, headers={"host": f"localhost:{port}"})).status_code == 401
        assert (await reader.get(stage.path)).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:1", "null"])
async def test_a_form_of_another_site_is_refused(serving: Serving, origin: str) -> None:
    """Nothing that another origin sends is carried out, even with the token of the form."""
    async with serving() as stage:
        reader = await stage.reader()
        fields = {"form": reader.form, "id": "g1", "choice": "skip"}
        response = await reader.http.post(f"{stage.path}/question", data=fields, headers={"origin": origin})
        assert response.status_code == 403
        assert (await reader.http.post(f"{stage.path}/question", data=fields)).status_code == 403
        assert (await reader.get(stage.path, headers={"origin": origin})).status_code == 403
        assert [row.id for row in stage.supervisor.state.open_gates()] == ["g1"]


async def test_an_answer_needs_the_token_of_its_form(serving: Serving) -> None:
    """Without it, or with another session's, nothing is answered."""
    async with serving() as stage:
        one, two = await stage.reader(), await stage.reader()
        for form in ("", "0" * 64, two.form):
            one.form = form
            assert (await one.post(f"{stage.path}/question", id="g1", choice="skip")).status_code == 403
        assert [row.id for row in stage.supervisor.state.open_gates()] == ["g1"]


async def test_a_revoked_session_sees_nothing_any_more(serving: Serving) -> None:
    """One browser lists the sessions and ends another's, which is asked for a link from then on."""
    async with serving() as stage:
        one, two = await stage.reader(), await stage.reader()
        _, other = stage.page.access.sessions()
        assert other.id in await one.text("/sessions")
        await one.post("/sessions", id=other.id)
        assert (await two.get(stage.path)).status_code == 401
        assert (await one.get(stage.path)).status_code == 200


async def test_whoever_guesses_links_is_slowed_down(serving: Serving) -> None:
    """After some wrong tokens in a minute no more are looked at."""
    async with serving() as stage:
        reader = await stage.stranger()
        codes = [(await reader.post("/enter", token=f"guess-{number}")).status_code for number in range(15)]
        assert codes[0] == 410
        assert codes[-1] == 429


async def test_a_form_that_is_too_large_is_refused(serving: Serving) -> None:
    """Also one that says less than it sends."""
    async with serving() as stage:
        reader = await stage.reader()
        assert (
            await reader.post(f"{stage.path}/question", id="g1", choice="retry", text="a" * 300_000)
        ).status_code == 413

        async def endless() -> object:
            for _ in range(10):
                yield b"text=" + b"a" * 50_000

        headers = {"origin": stage.page.address, "content-type": "application/x-www-form-urlencoded"}
        try:
            response = await reader.http.post(f"{stage.path}/question", content=endless(), headers=headers)
        except httpx.TransportError:
            pass
        else:
            assert response.status_code in (403, 413)
        assert [row.id for row in stage.supervisor.state.open_gates()] == ["g1"]


@pytest.mark.parametrize("path", ["/", "/runs", "/nothing", "/static/page.css", "/enter/x"])
async def test_every_answer_allows_no_inline_script_and_no_other_site(serving: Serving, path: str) -> None:
    """A strict policy on every response, and nothing that a cache keeps of a run."""
    async with serving() as stage:
        headers = (await (await stage.stranger()).get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert path.startswith("/static") or headers["cache-control"] == "no-store"


async def test_a_page_to_read_takes_no_answer(serving: Serving) -> None:
    """With --read-only there is no form for an answer, and one that is sent all the same is refused."""
    async with serving(read_only=True) as stage:
        reader = await stage.reader()
        page = await reader.get(stage.path)
        assert "webhook is stuck" in words(page)
        assert '/question"' not in page.text
        await reader.get("/sessions")
        response = await reader.post(f"{stage.path}/question", id="g1", choice="skip")
        assert response.status_code == 403
        assert "--read-only" in words(response)
        assert [row.id for row in stage.supervisor.state.open_gates()] == ["g1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bind": "0.0.0.0"}, "--tls-cert and --tls-key, or --public-url"),
        ({"bind": "192.0.2.7"}, "let others read"),
        ({"tls_cert": Path("cert.pem")}, "go together"),
        ({"public_url": "http://unstuck.example.org"}, "https://"),
        ({"public_url": "unstuck.example.org"}, "an address such as"),
        ({"public_url": "https://example.org/below"}, "an address such as"),
        ({"public_url": "https://["}, "an address such as"),
        ({"public_url": "https://example.org?x=1"}, "an address such as"),
        ({"public_url": "https://me:pw@example.org"}, "an address such as"),
        ({"public_url": "https://example.org:443"}, "an address such as"),
        ({"public_url": "https://example.org:x"}, "an address such as"),
        ({"public_url": "https://a name"}, "an address such as"),
        ({"public_url": "https://\N{RIGHT-TO-LEFT OVERRIDE}example.org"}, "an address such as"),
        ({"public_url": "HTTPS://example.org"}, "an address such as"),
        ({"public_url": "https://example.org\n"}, "an address such as"),
        ({"bind": "0.0.0.0", "public_url": "http://localhost:8021"}, "let others read"),
        ({"bind": "0.0.0.0", "tls_cert": Path("cert.pem"), "tls_key": Path("key.pem")}, "add --public-url"),
    ],
)
def test_an_address_that_is_not_safe_is_refused_with_the_reason(options: dict[str, object], said: str) -> None:
    """Nothing is served in clear to a network."""
    with pytest.raises(UsageError, match=said):
        PageOptions(**options).require_safe()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content",
    [
        "[" * 200_000,
        '{"sessions": [], "links": []}',
        '{"sessions": [], "pages": [{"port": "abc", "address": "http://127.0.0.1:1", "runs": []}]}',
        '{"sessions": [], "pages": [{"port": 1, "address": "http://127.0.0.1:1", "runs": 5}]}',
        '{"sessions": [], "pages": [{"port": 1, "address": "", "started": 1e300, "runs": []}]}',
        '{"sessions": [], "links": {"a": 1e300}}',
        '{"sessions": [{"id": 1, "hash": "a", "host": "h", "browser": "b", "opened": 1, "seen": 1, "ends": "x"}]}',
    ],
)
def test_a_damaged_file_of_sessions_lets_nobody_in(tmp_path: Path, content: str) -> None:
    """Damage is no error: the links and sessions are gone, and new ones can be made."""
    (tmp_path / "web.json").write_text(content)
    access = Access(tmp_path, lambda: 1_800_000_000.0)
    assert (access.sessions(), access.ports(), access.address()) == ((), [], "")
    assert access.open(access.link(), host="127.0.0.1:1", browser="Phone")
    assert len(access.sessions()) == 1


async def test_odd_requests_are_refused_in_words(serving: Serving) -> None:
    """Digits that are no numbers, an origin that is no address and a question that is none end in no server error."""
    async with serving() as stage:
        reader = await stage.reader()
        assert (await reader.get("/checkpoints?page=%C2%B2")).status_code == 200
        response = await reader.http.get("/runs", headers={"origin": "http://["})
        assert (response.status_code, response.headers["x-content-type-options"]) == (403, "nosniff")
        assert (await reader.post(f"{stage.path}/keep", id="g99")).status_code == 404

        async def long() -> object:
            for _ in range(6):
                yield b"token=" + b"a" * 50_000

        headers = {"origin": stage.page.address, "content-type": "application/x-www-form-urlencoded"}
        try:
            cut_off = await reader.http.post("/enter", content=long(), headers=headers)
        except httpx.TransportError:
            return
        assert cut_off.status_code == 413


async def test_behind_a_proxy_the_page_has_the_name_of_the_proxy(serving: Serving) -> None:
    """It is reached under the public name, its cookie goes over TLS only, and other names are refused."""
    async with serving(public_url="https://unstuck.example.org") as stage:
        assert stage.page.address == "https://unstuck.example.org"
        local = f"http://127.0.0.1:{stage.page.port}"
        async with httpx.AsyncClient(base_url=local, trust_env=False) as http:
            token = stage.page.access.link()
            headers = {"host": "unstuck.example.org", "origin": "https://unstuck.example.org"}
            entered = await http.post("/enter", data={"token": token}, headers=headers)
            assert entered.status_code == 303
            assert "secure" in entered.headers["set-cookie"].lower()
            assert (await http.get("/", headers={"host": "other.example.org"})).status_code == 421


async def test_every_page_is_for_those_who_were_let_in(serving: Serving) -> None:
    """A stranger learns of no run, task or question, by any address."""
    async with serving() as stage:
        stranger = await stage.stranger()
        for path in addresses(stage):
            response = await stranger.get(path)
            assert (path, response.status_code) == (path, 401)
            assert "webhook" not in response.text


def addresses(stage: Stage) -> list[str]:
    """Every page that shows something."""
    run = stage.path
    below = ("", "/events", "/question?id=g1", "/task?id=webhook", "/recap")
    return ["/", "/runs", "/sessions", "/checkpoints", "/signatures", *(f"{run}{path}" for path in below)]


@pytest.mark.parametrize(
    "said", [b"", b"GET / HTTP/1.1\r\nHos", b"POST /enter HTTP/1.1\r\nContent-Length: 9\r\n\r\nto"]
)
async def test_connections_that_send_no_whole_request_are_closed(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """As many as the page takes keep nobody out for long."""
    monkeypatch.setattr(server, "_REQUEST_S", 0.2)
    async with serving() as stage:
        port = int(stage.page.address.rpartition(":")[2])
        mute = [await asyncio.open_connection("127.0.0.1", port) for _ in range(server._MOST_CONNECTIONS)]
        for _, writer in mute:
            writer.write(said)
        await asyncio.gather(*(reader.read() for reader, _ in mute))
        assert (await (await stage.stranger()).get("/")).status_code == 401
        for _, writer in mute:
            writer.close()


async def test_connections_that_read_no_answer_are_closed(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask again and again, and take nothing of what comes."""
    monkeypatch.setattr(server, "_REQUEST_S", 0.2)
    async with serving() as stage:
        port = int(stage.page.address.rpartition(":")[2])
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", port))
            deaf.setblocking(False)
            asks = f"GET /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 50
            with suppress(ConnectionError):
                while True:
                    with suppress(BlockingIOError):
                        deaf.send(asks)
                    await asyncio.sleep(0.05)


async def test_a_folder_that_another_keeps_locked_stops_no_page(serving: Serving) -> None:
    """A session's use is written down later then."""
    async with serving() as stage:
        reader = await stage.reader()
        folder = os.open(stage.place.home, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        stage.wall[0] += 3600
        assert (await reader.get(stage.path)).status_code == 200
        os.close(folder)


async def test_behind_a_proxy_a_guesser_slows_down_nobody_else(serving: Serving) -> None:
    """The proxy says whom it speaks for."""
    async with serving(public_url="https://shop.example") as stage:
        proxy = await stage.stranger()
        to = {"host": "shop.example", "origin": "https://shop.example"}

        async def tries(address: str) -> int:
            headers = to | {"x-forwarded-for": f"10.0.0.9, {address}"}
            url = f"http://127.0.0.1:{stage.page.port}/enter"
            return (await proxy.http.post(url, data={"token": "x"}, headers=headers)).status_code

        assert [await tries("10.0.0.1") for _ in range(11)][-1] == 429
        assert await tries("10.0.0.2") == 410


async def test_two_pages_of_a_project_keep_their_addresses(serving: Serving) -> None:
    """A link leads to one that shows the run. One that ends takes nothing from the other; its port is used again."""
    async with serving() as stage:
        home, environ, first = stage.place.home, stage.supervisor.core.environ, stage.page

        def asked(run: str = stage.run) -> str:
            return Access(home, lambda: 0.0).address(run)

        async with server.served(stage.place, PageOptions(), environ, only=["another"]) as other:
            assert (asked(), asked("another"), asked("")) == (first.address, other.address, other.address)
        assert (asked(), asked("another")) == (first.address, first.address)
        async with server.served(stage.place, PageOptions(), environ) as again:
            assert (again.port, asked()) == (other.port, again.address)
    assert Access(home, lambda: 0.0).ports() == [other.port, first.port]


async def test_a_page_of_some_runs_does_not_tell_what_others_taught(serving: Serving) -> None:
    """The project's memory knows which approach solved a failure in a run that the page does not show."""
    async with serving() as stage:
        whole = await stage.reader()
        failure = next(row for row in stage.state().signatures.values() if not row.worked)
        memory = Memory(memory_file(stage.place.home))
        texts = {"cause": "", "note": "", "task": "webhook", "run": "another", "approach": "pivot: taught elsewhere"}
        memory.remember(
            Remembered(
                kind="approach",
                outcome="worked",
                signature=Clean(failure.identity),
                **{name: Clean(text) for name, text in texts.items()},
            )
        )
        memory.sync()
        assert "solved by new approach: taught elsewhere" in await whole.text("/signatures")
        async with server.served(stage.place, PageOptions(), {}, only=[stage.run]) as page:
            stage.page = page
            reader = await stage.reader()
            shown = await reader.text("/signatures")
            assert failure.location in shown
            assert "taught elsewhere" not in shown


async def test_a_page_of_a_project_that_was_moved_leaves_nothing_at_the_old_place(serving: Serving) -> None:
    """Neither a link that somebody tries there nor the end of the page makes its folder again."""
    async with serving(beside=True) as stage:
        await stage.end()
        root = stage.place.root
        root.rename(root.with_name("moved"))
        stranger = await stage.stranger()
        assert (await stranger.post("/enter", token="x")).status_code == 500
        assert "The project is no longer where this page found it." in await stranger.text("/")
        assert not root.exists()
    assert not root.exists()


async def test_a_page_ends_as_usual_where_its_file_cannot_be_written(serving: Serving) -> None:
    """A full disk is no failure of the run whose page it is."""
    async with serving(beside=True) as stage:
        file = stage.place.home / "web.json"
        file.unlink()
        file.mkdir()
        with pytest.raises(UnstuckError, match="the page's file of sessions cannot be written: "):
            stage.page.link()


async def test_behind_a_proxy_no_address_leads_out_of_its_encryption(serving: Serving) -> None:
    """The page does not know the scheme that its readers see."""
    async with serving(public_url="https://shop.example") as stage:
        proxy = await stage.stranger()
        for path in ("/runs/", f"{stage.path}/", "/static", "/enter/"):
            url = f"http://127.0.0.1:{stage.page.port}{path}"
            found = await proxy.http.get(url, headers={"host": "shop.example"})
            assert (found.status_code, found.headers.get("location")) == (404, None), path
