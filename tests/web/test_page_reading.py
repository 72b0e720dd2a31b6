"""Content of the page: the run, its questions first, its tasks, their stories, outputs, checkpoints and failures."""

from __future__ import annotations

import re

from tests.web.conftest import Serving, words

from unstuck import admit
from unstuck.eventlog import events as e


async def test_a_question_comes_with_all_that_an_answer_needs(serving: Serving) -> None:
    """Problem, place, the code around it, what was tried, the analysis, the checkpoint; before the tasks."""
    async with serving() as stage:
        page = await (await stage.reader()).text(stage.path)
        for said in (
            "webhook is stuck",
            "expected 200 but got 401 tests/test_webhook.py:42",
            "2 retries · 1 new approach",
            "The same failure 4 times in a row",
            "chk-1",
            "Show me how",
            "Retry with another approach",
        ):
            assert said in page
        assert page.index("webhook is stuck") < page.index("cart")


async def test_tasks_tell_their_level_clock_loop_and_failure(serving: Serving) -> None:
    """As the table of the screen does; the seconds that are left come from the run's own clock."""
    async with serving() as stage:
        reader = await stage.reader()
        page = await reader.get(stage.path)
        line = re.search(r'<li [^>]*data-task="migrate">.*?</li>', page.text, re.DOTALL)
        assert line is not None
        left = re.search(r'data-left="([\d.]+)"', line[0])
        assert left is not None
        attempt = stage.supervisor.state.attempts["migrate.1"]
        assert attempt.deadline is not None
        assert float(left[1]) == round(attempt.deadline - stage.story.clock.monotonic(), 1)
        said = words(page)
        assert "new approach 1 of 3" in said
        assert "↻ ×" in said
        assert "waits for webhook" in said
        assert "until the retry" in said


async def test_a_task_has_a_story_and_outputs(serving: Serving) -> None:
    """Its attempts with their approaches, its failure, and the ends of what its check and its agent printed."""
    async with serving() as stage:
        output = stage.place.runs / stage.run / "output"
        output.mkdir(exist_ok=True)
        (output / "webhook.4.log").write_text("I tried the SDK\n<b>bold</b>\n")
        reader = await stage.reader()
        page = await reader.text(f"{stage.path}/task?id=webhook&output=agent")
        for said in ("retry", "new approach", "body as text", "raw body", "I tried the SDK", "<b>bold</b>", "asked"):
            assert said in page
        assert (await reader.get(f"{stage.path}/task?id=webhook&output=check")).status_code == 200
        assert "Make it work" in await reader.text(f"{stage.path}/task?id=webhook&output=prompt")


async def test_each_page_is_reached_and_says_something(serving: Serving) -> None:
    """Runs, recap, checkpoints, failures, sessions: of a run at work."""
    async with serving() as stage:
        reader = await stage.reader()
        assert stage.run in await reader.text("/runs")
        assert "needs you first: webhook" in await reader.text(f"{stage.path}/recap")
        assert "There is no checkpoint yet." in await reader.text("/checkpoints")
        assert "AssertionError" in await reader.text("/signatures")
        assert "this browser" in await reader.text("/sessions")
        assert (await reader.get("/")).url.path == stage.path


async def test_a_run_without_tasks_says_so(serving: Serving) -> None:
    """Nothing is asked, and nothing is missing."""
    async with serving(quiet=True) as stage:
        assert "Nothing needs an answer." in await (await stage.reader()).text(stage.path)


async def test_a_thousand_tasks_come_a_hundred_at_a_time(serving: Serving) -> None:
    """Those that need a person first, and no page larger than 100 KB."""
    async with serving(quiet=True) as stage:
        for number in range(1000):
            stage.story.task(f"task-{number}")
        stage.story.start("task-999")
        stage.story.asks("task-999", problem="It does not work")
        await stage.story.core.journal.committed()
        reader = await stage.reader()
        page = await reader.get(stage.path)
        assert len(page.content) < 100_000
        assert page.text.count("data-task=") == 100
        assert page.text.index('data-task="task-999"') < page.text.index('data-task="task-0"')
        assert "Page 10 of 10" in await reader.text(f"{stage.path}?page=10")


HOSTILE = (
    '<script>document.title="x"</script>',
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{ 7*7 }}{% for x in y %}",
    "</textarea></pre><svg onload=alert(1)>",
    "javascript:alert(1)",
    "\x1b]0;title\x07\u202eevil",
    "<!--", "]]>", "&lt;script&gt;", "\\u003cscript\\u003e",
)  # fmt: skip


async def test_nothing_that_agents_say_is_markup(serving: Serving) -> None:
    """Through every field that an agent, a check or a plan fills in, on every page."""
    from html.parser import HTMLParser

    allowed: set[str] = set()

    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: set[str] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found.add(tag)
            self.found |= {f"{tag}[{name}]" for name, _ in attrs if name.startswith("on") or name in ("src", "style")}
            self.found |= {
                f"href {value}"
                for name, value in attrs
                if name == "href" and not str(value).startswith(("/", "#", "data:,"))
            }

    async with serving() as stage:
        reader = await stage.reader()
        pages = (
            stage.path,
            f"{stage.path}/task?id=webhook&output=agent",
            f"{stage.path}/recap",
            "/signatures",
            "/runs",
        )

        async def tags() -> set[str]:
            seen: set[str] = set()
            for path in pages:
                parser = Tags()
                parser.feed((await reader.get(path)).text)
                seen |= parser.found
            return seen

        (stage.place.runs / stage.run / "output").mkdir(exist_ok=True)
        allowed = await tags() | {"textarea", "input", "details", "label"}
        all_of_it = " ".join(HOSTILE)
        stage.story.asks(
            "cart",
            problem=all_of_it, location=all_of_it, analysis=all_of_it, approaches=[all_of_it], said=all_of_it,
            files=[all_of_it], weakened=[all_of_it], checkpoint=all_of_it, ending=all_of_it, baseline=all_of_it,
            insights=[all_of_it], attempts={all_of_it: 3}, tokens={all_of_it: 5},
        )  # fmt: skip
        stage.story.asks("docs", "question", question=all_of_it, options=list(HOSTILE), phase=all_of_it)
        stage.story.asks("search", "permission", problem=all_of_it, rules=list(HOSTILE), tool=all_of_it)
        stage.story.append(e.AttemptInterrupted(reason=all_of_it), "migrate", "migrate.1")
        (stage.place.runs / stage.run / "output" / "webhook.4.log").write_text("\n".join(HOSTILE))
        stage.story.fails(
            "rates", f'Traceback (most recent call last):\n  File "{all_of_it}", line 1\nTypeError: {all_of_it}'
        )
        stage.story.append(e.TaskEnded(task_id="rates", status="failed", reason=admit(all_of_it)), "rates")
        await stage.story.core.journal.committed()
        assert await tags() - allowed <= {"dl", "dt", "dd", "pre"}
        assert "alert(1)" in await reader.text(stage.path)
