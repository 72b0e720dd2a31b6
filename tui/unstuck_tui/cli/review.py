"""``unstuck review``: what happened in the sessions that agents have kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck.history.locations import AGENTS, Source, kept_sessions, places_of, sources_in
from unstuck.history.reviews import Problem, Session, Wanted, ended_at_interrupt, in_order, reviewed, session_row
from unstuck_tui.cli.common import complain, echo, json_option, moment_of, print_json, progress
from unstuck_tui.cli.names import OneOf
from unstuck_tui.cli.streams import can_show
from unstuck_tui.render.printed.review import review_lines

_FOREIGN_SHOWN = 3


@click.command(name="review")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--agent", type=OneOf(AGENTS), help="Restrict to the sessions of this agent.")
@click.option("--since", metavar="WHEN", help="Restrict to sessions in use since then: 7d (ago), 2026-11-22 or a time.")
@click.option(
    "--project", "-C", type=click.Path(path_type=Path), help="Restrict to sessions in this directory, or below it."
)
@click.option("--transcript", is_flag=True, help="Print what was said and done in FILES.")
@json_option("One JSON object per session.")
def command(
    files: tuple[Path, ...],
    agent: str | None,
    since: str | None,
    project: Path | None,
    transcript: bool,
    as_json: bool,
) -> None:
    """Review past sessions of Claude Code, Codex, Gemini CLI, Qwen Code and opencode. Nothing is changed or sent.

    FILES are transcripts or recorded streams; without any, all sessions that these agents keep on this machine are
    read. It says where each session went round in circles and how much came after that, which failures came back, what
    was claimed at the end against the last check that ran, and when unstuck would have spoken.
    """
    moment = moment_of(since) if since else 0.0
    agents = (agent,) if agent else AGENTS
    named = [source for path in files for source in _named(path)]
    if transcript:
        _print_transcripts(named, as_json=as_json)
        return
    sources = named if files else list(kept_sessions(agents, os.environ, complain))
    now = SystemClock().now()
    wanted = Wanted(agent=agent or "", project=project.resolve() if project else None, now=now)
    sessions, problems = _read([source for source in sources if source.modified >= moment], wanted)
    sessions = [session for session in sessions if (session.ended or session.source.modified) >= moment]
    _complain_of(problems, named=bool(files))
    if as_json:
        print_json(map(session_row, sessions))
    elif not sessions:
        _say_nothing_found(agents, files=bool(files), some=bool(sources))
    elif can_show(dict(os.environ)):
        _show(sessions)
    else:
        for line in review_lines(sessions):
            echo(line)
    if files and (problems or len({source.path for source in named}) < len(set(files))):
        raise click.exceptions.Exit(1)


def _print_transcripts(sources: Sequence[Source], *, as_json: bool) -> None:
    from unstuck.history.excerpt import excerpt_of
    from unstuck_tui.cli.transcript import print_entries

    if not sources:
        raise UsageError("--transcript needs the FILES whose transcript it prints")
    for source in sources:
        try:
            print_entries(excerpt_of(source), full=False, as_json=as_json)
        except OSError as error:
            raise UsageError(f"{source.path}: {error.strerror or error}") from None


def _named(path: Path) -> list[Source]:
    if path.is_dir():
        raise UsageError(f"{path} is a directory: name the files in it, such as {path}/*.jsonl")
    return list(sources_in(path, complain))


def _read(sources: Sequence[Source], wanted: Wanted) -> tuple[list[Session], list[Problem]]:
    sessions: list[Session] = []
    problems: list[Problem] = []
    with ended_at_interrupt(), progress(sum(source.size for source in sources), "reading sessions") as report:
        for found in reviewed(sources, wanted, report):
            if isinstance(found, Session):
                sessions.append(found)
            else:
                problems.append(found)
    return in_order(sessions), problems


def _complain_of(problems: Sequence[Problem], *, named: bool) -> None:
    """Say what could not be read; among the files that an agent keeps, some are no sessions."""
    foreign = [problem for problem in problems if problem.foreign and not named]
    for problem in problems:
        if problem not in foreign:
            complain(problem.reason)
    for problem in foreign[:_FOREIGN_SHOWN]:
        complain(problem.reason)
    if len(foreign) > _FOREIGN_SHOWN:
        complain(f"{len(foreign) - _FOREIGN_SHOWN} more files hold no session of a known agent")


def _say_nothing_found(agents: Sequence[str], *, files: bool, some: bool) -> None:
    if files or some:
        echo("no session to show in these files" if files else "no session matches --agent, --since and --project")
        return
    echo("no sessions found. unstuck looked for:")
    for agent in agents:
        for place in places_of(agent, os.environ):
            echo(f"  {agent:<8}  {place}")
    echo("name files to review others: unstuck review FILE…")


def _show(sessions: list[Session]) -> None:
    from unstuck_tui.app.host import show_alone
    from unstuck_tui.app.review_app import ReviewApp
    from unstuck_tui.keys.preferences import preferences

    asyncio.run(show_alone(ReviewApp(sessions, preferences(os.environ))))
