"""Any event of a log as one text, also those that a run's own lines leave out. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.text import one_line
from unstuck.words.amounts import clock_time, span
from unstuck.words.labels import counted, level_word, used_words
from unstuck.words.narration import event_text

_WIDTH, _NAME_WIDTH = 160, 40
_LONGEST = 400


def log_text(record: Record) -> str:
    """The text of ``record`` in one line; empty for an event without facts."""
    text, event = event_text(record), record.event
    if not text and not isinstance(event, e.Unknown) and (writer := _BACKGROUND.get(type(event))) is not None:
        return one_line(writer(event), _LONGEST)
    return text


def event_line(record: Record) -> str:
    """``record`` in one line: number, time, actor, task, event, and what it says."""
    task = one_line(record.task, _NAME_WIDTH) or "-"
    start = f"{record.seq:>6}  {clock_time(record.time)}  {record.actor:<6}  {task:<16}  "
    return f"{start}{one_line(record.name, _NAME_WIDTH):<22}  {one_line(log_text(record), _WIDTH)}".rstrip()


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _checkpoint(event: e.CheckpointCreated) -> str:
    left_out = f", {event.ignored} ignored" if event.ignored else ""
    return f"checkpoint {event.id} ({event.reason}): {counted(event.files, 'file')}{left_out}"


def _step(event: e.StepRecorded) -> str:
    """A step as its tool and the beginning of its text."""
    return f"{event.tool}: {_first(event.text)}" if event.tool else _first(event.text)


def _prepared(event: e.DirectivePrepared) -> str:
    return f"prompt of the next attempt ({level_word(event.level)}): {event.approach or _first(event.text)}"


def _proved(event: e.CheckProved) -> str:
    return f"the check proves nothing: {event.problem}" if event.problem else "the check was not proved"


def _baseline(event: e.TaskBaselineChecked) -> str:
    said = event.headline or event.problem
    return f"the check before any work: {event.result.replace('_', ' ')}{said and f': {said}'}"


_BACKGROUND: dict[type[e.Event], Callable[[Any], str]] = {
    e.AgentCrashed: lambda event: f"the agent crashed: {_first(event.error_message)}",
    e.AgentSeeksGuidance: lambda event: f"the agent asks: {_first(event.question)}",
    e.AgentSpawned: lambda event: f"the agent is process {event.pid}",
    e.AnswerDelivered: lambda event: f"{event.gate}: the agent has received the answer",
    e.AnswerSent: lambda event: f"{event.gate}: the answer was sent to the agent",
    e.BackoffOver: lambda event: "the wait is over",
    e.CheckFinished: lambda event: f"no failure to diagnose: {event.command}",
    e.CheckProved: _proved,
    e.CheckpointCreated: _checkpoint,
    e.ConfigurationError: lambda event: f"wrong configuration: {event.error_type}",
    e.DirectivePrepared: _prepared,
    e.DivineResponseReceived: lambda event: f"the answer to the agent: {_first(event.response)}",
    e.ProofStarted: lambda event: f"runs the check without the work on {counted(len(event.paths), 'file')}",
    e.RestoreDone: lambda event: "no files to restore",
    e.ResultIntegrated: lambda event: "nothing to integrate: no file has changed",
    e.SessionNamed: lambda event: f"session {event.session}",
    e.SetupFinished: lambda event: f"setup passed: {event.command}",
    e.SilenceNoticed: lambda event: f"no activity for {span(event.seconds)} of {span(event.limit_s)}",
    e.StepRecorded: _step,
    e.TaskAdded: lambda event: f"{_first(event.work.prompt)} (check: {event.work.verify or 'none'})",
    e.TaskBaselineChecked: _baseline,
    e.TaskUnblocked: lambda event: "every task that it needs has succeeded",
    e.TreesCleaned: lambda event: "the worktrees of the run are removed",
    e.UsageCounted: lambda event: f"used {used_words(event)}",
}
