"""``unstuck watch`` where a run is live already: attaches a screen to it, or prints its lines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from unstuck.errors import UsageError
from unstuck_tui.cli.common import complain
from unstuck_tui.cli.streams import can_show, uncollected

if TYPE_CHECKING:
    from unstuck.eventlog.storage.lock import Holder
    from unstuck.runs.view.followed_run import FollowedRun
    from unstuck.supervision.run.finish import RunResult
    from unstuck.workspace.project import Project
    from unstuck_tui.cli.output import Output
    from unstuck_tui.render.tasks.opening import Opening

_OVER = ("ended", "parked")


async def attach(
    place: Project, live: Holder, output: Output, options: Mapping[str, Any], given: Sequence[str]
) -> RunResult:
    """Follow the live run until it is left or, without a screen, until it is over or nobody works it any more.

    Raises UsageError for what only a watch of one's own can take.
    """
    if given:
        named = ", ".join(f"--{name}" for name in given)
        raise UsageError(
            f"run {live.run} is live here (process {live.pid}), so this is an attached screen: omit {named}"
            ", or add --sessions to watch sessions beside it"
        )
    if live.host:
        raise UsageError(f"run {live.run} is active on {live.host}: attach from there")
    if options["headless"] or options["plain"] or options["as_json"] or not can_show(dict(os.environ)):
        return await _lines(_followed(place, live.run), output, whole=bool(options["as_json"]))
    with uncollected():
        from unstuck_tui.app.attached_app import AttachedApp
        from unstuck_tui.app.host import show_alone, show_opening
        from unstuck_tui.keys.preferences import preferences

    settings = preferences(os.environ)
    if (known := known_run(place, live.run, "ATTACHED", is_live=lambda: True)) is not None:
        app = AttachedApp(known, settings)
        await show_opening(app, lambda: _followed(place, live.run))
    else:
        app = AttachedApp(_followed(place, live.run), settings)
        await show_alone(app)
    if app.trouble is not None:
        raise app.trouble
    from unstuck.supervision.run.finish import RunResult

    return RunResult(exit_reason="left", exit_code=0)


def _followed(place: Project, run: str) -> FollowedRun:
    from unstuck.runs.view.followed_run import FollowedRun

    return FollowedRun(place, run, os.environ)


def known_run(place: Project, run: str, title: str, *, is_live: Callable[[], bool]) -> Opening | None:
    """Return what the rows beside the log of ``run`` say, under the name ``title``; None where they do not fit it."""
    from unstuck.clock import SystemClock
    from unstuck.eventlog.attention_stats import seconds_of
    from unstuck.rows.saved_rows import saved_rows
    from unstuck_tui.render.tasks.opening import opening_of

    now = SystemClock().now()
    rows = saved_rows(place.runs / run, now, is_live=is_live)
    if rows is None:
        return None
    return opening_of(rows, title, elapsed=max(0.0, now - (seconds_of(rows[0]["started"]) or now)))


async def _lines(run: FollowedRun, output: Output, *, whole: bool) -> RunResult:
    """Print what happens from now on, or the ``whole`` log; the result is the run's own."""
    from unstuck.eventlog.log.records import read_records
    from unstuck.runs.view.followed_run import LOOK_S
    from unstuck.supervision.run.finish import RunResult

    output.started(run.run)
    if not whole:
        output.say(f"run {run.run} is live in process {run.state.run.pid}; following it, ctrl+c detaches")
    for record in islice(read_records(run.log), run.state.seq):
        (output.show if whole else output.known)(record)
    run.follow(output.show, lambda: None)
    while True:
        live = await asyncio.to_thread(lambda: run.is_live)
        run.look()
        row = run.state.run
        if row.state in _OVER and row.exit_code is not None:
            result = RunResult(exit_reason=row.exit_reason, exit_code=row.exit_code)
            await output.finish(result, run.place)
            return result
        if not live:
            complain(f"the supervisor of run {run.run} is gone: `unstuck run --resume {run.run}` resumes it")
            result = RunResult(exit_reason="interrupted", exit_code=130)
            await output.finish(result, run.place)
            return result
        await asyncio.sleep(LOOK_S)
