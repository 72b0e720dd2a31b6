"""The pages by their addresses, for a signed-in browser, and the requests that it sends."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from unstuck.clock import iso
from unstuck.errors import AnswerRefused, GateClosed, GateUnknown, RecordError, UnstuckError, UsageError
from unstuck.eventlog.log.record_reader import RunReader
from unstuck.eventlog.state import GateRow, TaskRow
from unstuck.runs.answers.question import to_answer
from unstuck.runs.checkpoint_commands import checkpoint_row
from unstuck.runs.queries.failures import failure_rows
from unstuck.runs.queries.recap import recap_of
from unstuck.runs.queries.recap_lines import recap_lines
from unstuck.runs.view.outputs import OutputKind
from unstuck.text import one_line
from unstuck.words.amounts import ago, day_time, full_time, sized
from unstuck.words.choices import FIELD_WORDS
from unstuck.words.labels import level_word, solved_by
from unstuck.workspace.checkpoints.manager import find_checkpoints
from unstuck_web import content, stream
from unstuck_web.access import Access, Session, form_token
from unstuck_web.content import Card
from unstuck_web.runs import Runs, WatchedRun

_HERE = Path(__file__).parent
_DIFFS, _ROWS, _NEWEST = 3, 200, 50
_MOST_STREAMS = 40
_OUTPUTS: tuple[OutputKind, ...] = ("check", "agent", "prompt")
_OUTPUT_EVERY_S = 1.0
_AGES_S = 24 * 3600

Handler = Callable[["Page", Request], Awaitable[Response]]


class _Static(StaticFiles):
    """Files whose address names their content, so that a browser asks once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


class Page:
    """One reader's request to the site, with what its answer needs."""

    def __init__(self, site: Site, session: Session, secret: str) -> None:
        self.site, self.session = site, session
        self.form = form_token(secret)

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return self.site.show(template, status, form=self.form, read_only=self.site.read_only, **values)


class Site:
    """The pages of the runs in ``runs``. ``over`` is set when they are served no more."""

    def __init__(self, runs: Runs, access: Access, *, read_only: bool = False, secure: bool = False) -> None:
        self.runs, self.access, self.read_only = runs, access, read_only
        self.over = asyncio.Event()
        self._secure, self.streams = secure, 0
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {
            "version": _version(),
            "project": runs.title,
            "elsewhere": runs.is_elsewhere,
            "field_words": FIELD_WORDS,
            "url": _url,
        }

    def app(self) -> Starlette:
        """Return the site as an application. What it refuses is refused in words, without a trace."""
        routes: list[BaseRoute] = [
            Route("/", self._let_in(_first)),
            Route("/enter", self._enter, methods=["POST"]),
            Route("/enter/{token}", self._offer),
            Route("/leave", self._let_in(_leave), methods=["POST"]),
            Route("/sessions", self._let_in(_sessions)),
            Route("/sessions", self._let_in(_revoke), methods=["POST"]),
            Route("/runs/{run}", self._let_in(_run)),
            Route("/runs/{run}/events", self._let_in(_events)),
            Route("/runs/{run}/question", self._let_in(_question)),
            Route("/runs/{run}/question", self._let_in(_answer), methods=["POST"]),
            Route("/runs/{run}/keep", self._let_in(_keep), methods=["POST"]),
            Route("/runs/{run}/hold", self._let_in(_hold), methods=["POST"]),
            Route("/runs/{run}/task", self._let_in(_task)),
            Mount("/static", _Static(directory=_HERE / "static")),
        ]
        if not self.runs.is_elsewhere:
            routes += [
                Route("/runs", self._let_in(_runs)),
                Route("/runs/{run}/resume", self._let_in(_resume), methods=["POST"]),
                Route("/runs/{run}/recap", self._let_in(_recap)),
                Route("/checkpoints", self._let_in(_checkpoints)),
                Route("/signatures", self._let_in(_signatures)),
            ]
        handlers: dict[Any, Any] = {404: self._missing, 405: self._missing, 500: self._failed}
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False  # it would send readers behind a proxy with TLS to http
        return app

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    def part(self, template: str, name: str, **values: Any) -> str:
        """Return what the macro ``name`` of a template makes of ``values``."""
        macro = getattr(self._templates.get_template(template).module, name)
        return str(macro(**values)).strip()

    # --- who may see it ----------------------------------------------------------------------------------------------

    def _let_in(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Return ``handler`` for requests of an open session, and with a form's own token where something is sent."""

        async def handle(request: Request) -> Response:
            secret = request.cookies.get(self.access.cookie, "")
            session = self.access.session(secret, _host(request))
            if session is None:
                gone = "" if self.runs.place.home.is_dir() else "The project is no longer where this page found it."
                return self.show("closed.html", 401, message=gone)
            try:
                if request.method == "POST":
                    given = (await form_of(request)).get("form", "")
                    if not hmac.compare_digest(given.encode(), form_token(secret).encode()):
                        return self._problem(403, "This form is from an earlier session: open the page again.")
                    await self._require_person(request)
                return await handler(Page(self, session, secret), request)
            except (UsageError, GateUnknown) as error:
                return self._problem(404, str(error))
            except GateClosed as error:
                return self._problem(409, str(error))
            except AnswerRefused as error:
                return self._problem(403, str(error))
            except ClientDisconnect:
                return self._problem(413, "The form was cut off.")
            except (UnstuckError, OSError) as error:
                return self._problem(500, str(error))

        return handle

    async def _require_person(self, request: Request) -> None:
        """Raise AnswerRefused for an agent of these runs, whatever session it has made for itself."""
        client, server = request.scope.get("client"), request.scope.get("server")
        if client and server and (sign := await asyncio.to_thread(self.runs.agent_at, client[0], client[1], server[1])):
            raise AnswerRefused(
                f"an agent may not answer: the page is for a person ({sign}). If you are one, "
                "begin your browser from another terminal"
            )

    async def _offer(self, request: Request) -> Response:
        """A link was opened, perhaps by a program that shows what is behind it: a button spends it."""
        token = request.path_params["token"]
        if not self.access.is_good(token):
            return self.show("closed.html", 410, message="This link was used already, or it is too old.")
        return self.show("enter.html", token=token)

    async def _enter(self, request: Request) -> Response:
        browser = request.headers.get("user-agent", "")
        try:
            token = (await form_of(request)).get("token", "")
            await self._require_person(request)
            secret = await asyncio.to_thread(self.access.open, token, host=_host(request), browser=browser)
        except ClientDisconnect:
            return self._problem(413, "The form was cut off.")
        except AnswerRefused as error:
            return self._problem(403, str(error))
        except UnstuckError as error:
            return self._problem(500, str(error))
        if not secret:
            return self.show("closed.html", 410, message="This link was used already, or it is too old.")
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self.access.cookie, secret, max_age=_AGES_S, httponly=True, samesite="lax", secure=self._secure
        )
        return response

    async def _missing(self, request: Request, error: Exception) -> Response:
        return self._problem(404, "There is no such page.")

    async def _failed(self, request: Request, error: Exception) -> Response:
        return self._problem(500, f"Unstuck has a mistake here: {type(error).__name__}. Please report it.")

    def _problem(self, status: int, message: str) -> Response:
        return self.show("problem.html", status, message=one_line(message, 600))

    # --- parts of several pages --------------------------------------------------------------------------------------

    async def card(self, run: WatchedRun, row: GateRow, *, whole: bool = True) -> Card:
        """Return the card of an open question; ``whole``: with the changes of its task."""
        card = content.card_of(run.view, row)
        if not whole or not row.gate.task:
            return card
        since, diff = await self.runs.changes(run, row)
        return replace(card, diff=content.diff_lines(diff), since=since)

    async def cards(self, run: WatchedRun) -> list[Card]:
        rows = list(run.view.state.open_gates())
        if (unrecorded := run.view.unrecorded) is not None:
            rows.insert(0, unrecorded)
        cards = (self.card(run, row, whole=number < _DIFFS) for number, row in enumerate(rows))
        return list(await asyncio.gather(*cards))

    @property
    def is_full(self) -> bool:
        """True where as many pages as may be are followed."""
        return self.streams >= _MOST_STREAMS


# --- the pages -------------------------------------------------------------------------------------------------------


async def _first(page: Page, request: Request) -> Response:
    try:
        return RedirectResponse(_url("runs", await asyncio.to_thread(page.site.runs.first)), 303)
    except UsageError:
        return RedirectResponse("/runs", 303)


async def _runs(page: Page, request: Request) -> Response:
    rows = await page.site.runs.rows(_NEWEST)
    shown = [row | {"when": full_time(str(row.get("started", "")))} for row in rows]
    return page.show("runs.html", rows=shown, most=_NEWEST)


async def _run(page: Page, request: Request) -> Response:
    run = await page.site.runs.open(request.path_params["run"])
    return await _run_page(page, request, run)


async def _run_page(
    page: Page,
    request: Request,
    run: WatchedRun,
    *,
    status: int = 200,
    card: Card | None = None,
    error: str = "",
) -> Response:
    """The page of a run; ``card`` replaces the one of its question."""
    state = run.view.state
    rows = content.ordered(state)
    number = _number(request.query_params.get("page", "1"), max(1, -(-len(rows) // content.TASKS)))
    shown = rows[(number - 1) * content.TASKS : number * content.TASKS]
    cards = [card if card is not None and one.id == card.id else one for one in await page.site.cards(run)]
    answered = state.gates.get(request.query_params.get("answered", ""))
    done = (answered, content.answered_words(answered)) if answered is not None and answered.status != "open" else None
    return page.show(
        "run.html",
        status,
        run=run,
        seq=run.seq,
        header=content.header_of(run.view, live=run.live),
        cards=cards,
        tasks=content.task_lines(run.view, shown),
        number=number,
        pages=-(-len(rows) // content.TASKS),
        total=len(rows),
        answered=done,
        error=error,
    )


async def _question(page: Page, request: Request) -> Response:
    """The page of one question, such as a notification leads to; an answered one says by whom."""
    run = await page.site.runs.open(request.path_params["run"])
    row = run.view.state.gates.get(request.query_params.get("id", ""))
    if row is None:
        raise UsageError("there is no such question in this run")
    header = content.header_of(run.view, live=run.live)
    if row.status != "open":
        words = content.answered_words(row)
        return page.show("answered.html", run=run, header=header, gate=row.gate, words=words, typed="", closed=True)
    card = await page.site.card(run, row)
    return page.show("question.html", run=run, seq=run.seq, header=header, card=card, error="")


async def _answer(page: Page, request: Request) -> Response:
    _require_writes(page)
    run = await page.site.runs.open(request.path_params["run"])
    form = await form_of(request)
    gate, chosen, typed = form.get("id", ""), form.get("choice", ""), form.get("text", "")
    unrecorded = run.view.unrecorded
    row = unrecorded if unrecorded is not None and unrecorded.id == gate else run.view.state.gates.get(gate)
    if row is None:
        raise UsageError("there is no such question in this run")
    if row.status != "open":
        return _overtaken(page, run, row, typed)
    card = content.card_of(run.view, row)
    option = next((one for one in card.options if one.name == chosen), None)
    try:
        if option is None:
            raise UnstuckError("choose one of the answers first")
        if option.choice == "abandon" and form.get("sure") != "yes":
            raise UnstuckError(f"{option.label}: {option.touches.rstrip('.')}. Press its button to confirm.")
        await page.site.runs.answer(run, row.id, to_answer(row.gate, option, typed))
    except (GateClosed, GateUnknown) as error:
        return _overtaken(page, run, await page.site.runs.closed(run, gate) or row, typed, str(error))
    except UnstuckError as error:
        run = await page.site.runs.open(run.run)
        now = run.view.state.gates.get(gate, row)
        if now.status != "open":
            return _overtaken(page, run, now, typed, str(error))
        card = replace(await page.site.card(run, row), error=str(error), typed={chosen: typed})
        return await _run_page(page, request, run, status=422, card=card)
    return RedirectResponse(_url("runs", run.run, answered=row.id), 303)


def _overtaken(page: Page, run: WatchedRun, row: GateRow, typed: str, error: str = "") -> Response:
    """The question has its answer from elsewhere: say whose, and keep the text."""
    closed = row.status != "open"
    words = content.answered_words(row) if closed else one_line(run.problem or error, 300)
    header = content.header_of(run.view, live=run.live)
    return page.show(
        "answered.html", 409, run=run, header=header, gate=row.gate, words=words, typed=typed, closed=closed
    )


async def _keep(page: Page, request: Request) -> Response:
    _require_writes(page)
    run = await page.site.runs.open(request.path_params["run"])
    gate = (await form_of(request)).get("id", "")
    await page.site.runs.keep_open(run, gate)
    return RedirectResponse(_url("runs", run.run), 303)


async def _hold(page: Page, request: Request) -> Response:
    """Hold the agent of a task that changed a file after another one."""
    _require_writes(page)
    run = await page.site.runs.open(request.path_params["run"])
    row = run.view.state.tasks.get((await form_of(request)).get("id", ""))
    if row is None:
        raise UsageError("there is no such task in this run")
    try:
        await page.site.runs.hold(run, row)
    except UnstuckError as error:
        return await _run_page(page, request, run, status=409, error=str(error))
    return RedirectResponse(_url("runs", run.run), 303)


async def _resume(page: Page, request: Request) -> Response:
    _require_writes(page)
    run = await page.site.runs.open(request.path_params["run"])
    try:
        await page.site.runs.resume(run)
    except UnstuckError as error:
        return await _run_page(page, request, run, status=409, error=str(error).removeprefix("unstuck: "))
    return RedirectResponse(_url("runs", run.run), 303)


async def _task(page: Page, request: Request) -> Response:
    run, row = await _task_of(page, request)
    return page.show(
        "task.html",
        run=run,
        seq=run.seq,
        header=content.header_of(run.view, live=run.live),
        names=_OUTPUTS,
        **await _task_values(page, run, row, _output_named(request, row)),
    )


async def _task_of(page: Page, request: Request) -> tuple[WatchedRun, TaskRow]:
    run = await page.site.runs.open(request.path_params["run"])
    row = run.view.state.tasks.get(request.query_params.get("id", ""))
    if row is None:
        raise UsageError("there is no such task in this run")
    return run, row


def _output_named(request: Request, row: TaskRow) -> OutputKind:
    """The output that is asked for; else the agent's while it works, and its check's once that has run."""
    wanted = request.query_params.get("output", "")
    default: OutputKind = "agent" if row.state == "running" or row.check is None else "check"
    return next((kind for kind in _OUTPUTS if kind == wanted), default)


async def _task_values(page: Page, run: WatchedRun, row: TaskRow, kind: OutputKind) -> dict[str, Any]:
    """Return the values of a task's page."""
    tail = await run.view.output(row.id, kind)
    return {
        "task": content.task_lines(run.view, [row])[0],
        "row": row,
        "story": content.story_of(run.view.state, row),
        "facts": content.failure_facts(row),
        "excerpt": content.excerpt_of(row),
        "output": content.output_lines(tail, row),
        "note": tail.note,
        "kind": kind,
    }


async def _recap(page: Page, request: Request) -> Response:
    run = await page.site.runs.open(request.path_params["run"])
    reader = RunReader(run.view.log.parent)
    try:
        facts = await asyncio.to_thread(lambda: recap_of(reader.records()))
    except RecordError as error:
        raise UnstuckError(str(error)) from None
    header = content.header_of(run.view, live=run.live)
    return page.show("recap.html", run=run, header=header, lines=recap_lines(facts, live=run.live))


async def _checkpoints(page: Page, request: Request) -> Response:
    place = page.site.runs.place
    found = [checkpoint_row(one) for one in reversed(await find_checkpoints(place.home, place.repository))]
    wanted = request.query_params.get("task", "")
    rows = [row for row in found if wanted in ("", row["task"]) and page.site.runs.may_show(row["run"])]
    shown = [row | {"when": day_time(row["created"]), "amount": sized(row["size"])} for row in rows[:_ROWS]]
    return page.show("checkpoints.html", rows=shown, total=len(rows), task=wanted)


async def _signatures(page: Page, request: Request) -> Response:
    place, runs = page.site.runs.place, page.site.runs
    rows = await asyncio.to_thread(lambda: list(failure_rows(place, runs.names(), remembered=not runs.is_restricted)))
    now = page.site.runs.now()
    shown = [
        row | {"when": ago(str(row["last"]), now), "level": level_word(row["rung"]), "worked": solved_by(row["worked"])}
        for row in rows[:_ROWS]
    ]
    return page.show("signatures.html", rows=shown, total=len(rows))


async def _sessions(page: Page, request: Request) -> Response:
    now = page.site.runs.now()
    rows = [(one, ago(iso(one.seen), now), one.id == page.session.id) for one in page.site.access.sessions()]
    return page.show("sessions.html", rows=rows)


async def _revoke(page: Page, request: Request) -> Response:
    await asyncio.to_thread(page.site.access.revoke, (await form_of(request)).get("id", ""))
    return RedirectResponse("/sessions", 303)


async def _leave(page: Page, request: Request) -> Response:
    await asyncio.to_thread(page.site.access.revoke, page.session.id)
    response = page.site.show("closed.html", 200, message="You are signed out in this browser.")
    response.delete_cookie(page.site.access.cookie)
    return response


# --- live ------------------------------------------------------------------------------------------------------------


async def _events(page: Page, request: Request) -> Response:
    """The events of a run for one of its pages: that of a task where one is named."""
    run = await page.site.runs.open(request.path_params["run"])
    last = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = stream.place_in(last, run.run)
    task, secret = request.query_params.get("task", ""), request.cookies.get(page.site.access.cookie, "")
    host = _host(request)

    async def parts(changed: set[str] | None) -> dict[str, Any]:
        if task:
            return await _task_parts(page, run, request, task)
        return await _run_parts(page, run, changed)

    async def body() -> Any:
        page.site.streams += 1
        try:
            async for event in stream.updates(
                page.site.runs,
                run,
                parts,
                after=after,
                may=lambda: page.site.access.session(secret, host) is not None,
                over=page.site.over,
                every=_OUTPUT_EVERY_S if task else stream.BEAT_S,
            ):
                yield event
        finally:
            page.site.streams -= 1

    if page.site.is_full:
        return Response("too many pages are open\n", 503)
    return StreamingResponse(body(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _run_parts(page: Page, run: WatchedRun, changed: set[str] | None) -> dict[str, Any]:
    """Return the changed parts of a run's page: its head, its questions, and the tasks in ``changed``."""
    site, state = page.site, run.view.state
    more = {"run": run, "form": page.form, "read_only": site.read_only}
    rows = [row for row in state.tasks.values() if changed is None or row.id in changed]
    head = content.header_of(run.view, live=run.live)
    return {
        "head": site.part("parts.html", "head", header=head, run=run, form=page.form, read_only=site.read_only),
        "questions": [
            [card.id, site.part("parts.html", "question", card=card, **more)] for card in await site.cards(run)
        ],
        "closed": {
            row.id: content.answered_words(row) for row in list(state.gates.values())[-_ROWS:] if row.status != "open"
        },
        "tasks": [
            [line.id, site.part("parts.html", "task_line", task=line, **more)]
            for line in content.task_lines(run.view, rows[: 2 * content.TASKS])
        ],
        "title": _title(run),
    }


async def _task_parts(page: Page, run: WatchedRun, request: Request, task: str) -> dict[str, Any]:
    row = run.view.state.tasks.get(task)
    if row is None:
        return {}
    values = await _task_values(page, run, row, _output_named(request, row))
    return {"task": page.site.part("parts.html", "task_page", run=run, names=_OUTPUTS, **values), "title": _title(run)}


def _title(run: WatchedRun) -> str:
    asked = len(run.view.state.open_gates())
    return f"({asked}) " if asked else ""


# --- requests --------------------------------------------------------------------------------------------------------


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form; of two with one name the last."""
    if not hasattr(request.state, "fields"):
        if (
            request.headers.get("content-type", "").partition(";")[0].strip().lower()
            != "application/x-www-form-urlencoded"
        ):
            return {}
        try:
            fields = parse_qs((await request.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=20)
        except ValueError:
            fields = {}
        request.state.fields = {name: values[-1] for name, values in fields.items()}
    found: Mapping[str, str] = request.state.fields
    return found


def _require_writes(page: Page) -> None:
    if page.site.read_only:
        raise AnswerRefused("this page is served with --read-only: it takes no answers")


def _host(request: Request) -> str:
    return request.headers.get("host", "").lower()


def _number(written: str, most: int) -> int:
    return min(most, max(1, int(written))) if written.isdecimal() and written.isascii() and len(written) < 8 else 1


def _url(*parts: str, **query: str) -> str:
    """Return an address of this site."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items() if value)
    return f"{path}?{asked}" if asked else path


def _version() -> str:
    """Return a word that changes with the static files."""
    files = sorted((_HERE / "static").iterdir())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:10]
