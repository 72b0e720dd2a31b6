"""Hostile texts and other sites in a real browser: nothing executes, is fetched from elsewhere, or gets in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import PHONE, Serving, Stage, let_in, recorded
from tests.web.test_page_reading import HOSTILE

from unstuck import admit
from unstuck.eventlog import events as e

LIVE = (
    *HOSTILE,
    "<iframe srcdoc='<script>parent.evil=1</script>'></iframe>",
    "<img src=http://evil.example/x.png onerror=window.evil=1>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<form action=http://evil.example/><button>Send</button></form>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<svg><script>window.evil=1</script></svg>",
    "<template><script>window.evil=1</script></template>",
    "<base href=http://evil.example/>",
)


LOOK = """[
    window.evil,
    document.title,
    document.querySelectorAll("main :is(iframe, img, svg, link, meta, base)").length,
    [...document.querySelectorAll("form")].filter((one) => new URL(one.action).origin !== location.origin).length,
    [...document.querySelectorAll("script")].map((one) => one.src),
]"""


def watch(page: Page) -> list[str]:
    """Everything that must not happen on a page: dialogs, errors, and requests to elsewhere."""
    seen: list[str] = []
    page.on("dialog", lambda dialog: seen.append(f"dialog {dialog.message}"))
    page.on("console", lambda message: seen.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on(
        "request",
        lambda request: (
            seen.append(request.url) if "127.0.0.1" not in request.url and not request.url.startswith("data:") else None
        ),
    )
    return seen


def tell(stage: Stage, text: str, number: int) -> None:
    """Put ``text`` into every field that an agent, a check or a plan fills in."""
    story = stage.story
    name = f"task-{number}"
    story.task(name)
    story.start(name, approach=text)
    story.append(e.AttemptInterrupted(reason=text), name, f"{name}.1")
    story.asks(
        name,
        problem=text, location=text, analysis=text, approaches=[text], said=text, files=[text], weakened=[text],
        checkpoint=text, ending=text, baseline=text, insights=[text], attempts={text: 3}, tokens={text: 5},
    )  # fmt: skip
    story.asks("", "question", question=text, options=[text, text], phase=text, agent_id=text, subagent=text)


async def test_hostile_texts_are_only_texts(serving: Serving, browser: Browser) -> None:
    """On a page that was open before they came, and on every page that is loaded afterwards."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        seen = watch(page)
        for number, text in enumerate(LIVE):
            tell(stage, text, number)
        (stage.place.runs / stage.run / "output").mkdir(exist_ok=True)
        (stage.place.runs / stage.run / "output" / "webhook.4.log").write_text("\n".join(LIVE))
        stage.story.fails("rates", "\n".join(("Traceback (most recent call last):", f"TypeError: {' '.join(LIVE)}")))
        stage.story.append(e.TaskEnded(task_id="rates", status="failed", reason=admit(" ".join(LIVE))), "rates")
        await recorded(stage)
        last = stage.supervisor.state.open_gates()[-1].id
        await expect(page.locator(f"#q-{last}")).to_be_visible()
        gate = next(row.id for row in stage.supervisor.state.open_gates() if row.gate.task == "task-2")
        below = ("", f"/question?id={gate}", "/task?id=task-1", "/task?id=webhook&output=agent", "/recap")
        for path in (*(f"{stage.path}{one}" for one in below), "/runs", "/signatures", "/checkpoints", "/sessions"):
            await page.goto(f"{stage.page.address}{path}")
            found = await page.evaluate(LOOK)
            assert found[0] is None
            assert "Unstuck" in found[1]
            assert found[2:4] == [0, 0]
            assert all("/static/page.js" in source for source in found[4])
        assert seen == []


@asynccontextmanager
async def other_site(html: str) -> Any:
    """A site of somebody else, at another port of this machine."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = html.encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


async def test_another_site_answers_nothing_and_reads_nothing(serving: Serving, browser: Browser) -> None:
    """A form, a fetch, a frame and an event source of another origin, in the browser that was let in."""
    async with serving() as stage:
        page = await let_in(browser, stage)
        token = await page.locator("input[name=form]").first.get_attribute("value")
        to = f"{stage.page.address}{stage.path}"
        html = f"""<iframe src="{to}"></iframe><form method="post" action="{to}/question">
            <input name="form" value="{token}"><input name="id" value="g1"><input name="choice" value="skip">
            <button>Win a prize</button></form>
            <script>window.read = []; const note = (what) => window.read.push(what);
            fetch("{to}", {{credentials: "include"}}).then((one) => one.text()).then(note, () => note("refused"));
            fetch("{to}/question", {{method: "POST", mode: "no-cors", credentials: "include",
                body: new URLSearchParams({{form: "{token}", id: "g1", choice: "skip"}})}})
                .then(() => note("sent"), () => note("refused"));
            const events = new EventSource("{to}/events", {{withCredentials: true}});
            events.onerror = () => {{ events.close(); note("refused"); }};
            events.addEventListener("parts", () => note("event"));
            </script>"""
        async with other_site(html) as address:
            await page.goto(address)
            await page.wait_for_function("window.read.length === 3")
            assert await page.evaluate("window.read") == ["refused"] * 3
            framed = page.frames[1]
            assert "webhook" not in await framed.content()
            await page.get_by_role("button", name="Win a prize").click()
            await expect(page.locator("body")).to_contain_text("comes from another site")
        assert [row.id for row in stage.supervisor.state.open_gates()] == ["g1"]


async def test_a_stolen_cookie_shows_nothing_under_another_name(
    serving: Serving, chromium: Callable[..., Awaitable[Browser]]
) -> None:
    """A name that another site points at this machine is refused, also with the cookie of a session."""
    async with serving() as stage:
        browser = await chromium("--host-resolver-rules=MAP evil.example 127.0.0.1")
        page = await let_in(browser, stage)
        (cookie,) = await page.context.cookies()
        port = httpx.URL(stage.page.address).port
        await page.context.add_cookies(
            [{"name": cookie["name"], "value": cookie["value"], "domain": "evil.example", "path": "/"}]
        )
        response = await page.goto(f"http://evil.example:{port}{stage.path}")
        assert response is not None
        assert response.status == 421
        assert "webhook" not in await page.content()


@pytest.mark.parametrize("script", [True, False])
async def test_a_previewed_link_is_good_and_a_used_one_is_not(serving: Serving, browser: Browser, script: bool) -> None:
    """A chat opens the link first, then its person on a phone; whoever opens it later is refused."""
    async with serving() as stage:
        link = stage.page.link()
        for _ in range(2):
            preview = await browser.new_context()
            await (await preview.new_page()).goto(link)
        context = await browser.new_context(**PHONE, java_script_enabled=script)
        page = await context.new_page()
        await page.goto(link)
        await page.get_by_role("button", name="Open it in this browser").click()
        await expect(page.get_by_role("heading", name="webhook is stuck")).to_be_visible()
        late = await (await browser.new_context()).new_page()
        await late.goto(link)
        await expect(late.locator("h1")).to_have_text("This link was used already, or it is too old.")
        old = stage.page.link()
        stage.wall[0] += 3600
        await late.goto(old)
        await expect(late.locator("h1")).to_have_text("This link was used already, or it is too old.")
