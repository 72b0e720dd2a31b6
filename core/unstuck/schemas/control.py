"""Messages of the local socket, which other programs control a live run with."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from unstuck.contract import Choice, GateTypeName, OutcomeStatus, Scope, Standing
from unstuck.schemas.base import Row
from unstuck.schemas.runs import EventRecord

Via = Literal["command", "attached_screen", "page", "socket"] | Annotated[str, Field(pattern=r"^fleet:[\w.@-]{1,80}$")]


class _Request(Row):
    v: Literal[1]


class StateRequest(_Request):
    """Ask for the tasks and the open questions."""

    do: Literal["state"]


class EventsRequest(_Request):
    """Ask for the events after number ``after``. The reply waits for at least one."""

    do: Literal["events"]
    after: int = 0


class AnswerRequest(_Request):
    """Answer the question ``gate``."""

    do: Literal["answer"]
    gate: str
    choice: Choice
    text: str = ""
    number: float | None = None
    scope: Scope = "once"
    via: Via = "socket"


class StepRequest(_Request):
    """Hold ``task`` and decide about it: the choices are those of a held task, and ``extend``."""

    do: Literal["step"]
    task: str
    gate: str = ""
    choice: Choice
    text: str = ""
    number: float | None = None
    scope: Scope = "once"
    via: Via = "socket"


class HoldRequest(_Request):
    """Hold ``task`` until its question is answered, with ``continue`` for example."""

    do: Literal["hold"]
    task: str


class KeepRequest(_Request):
    """Stop the countdown of the question ``gate``."""

    do: Literal["keep"]
    gate: str


class RungRequest(_Request):
    """Choose the next escalation level of ``task``."""

    do: Literal["rung"]
    task: str
    level: Literal["retry", "pivot", "research", "human"]


class RevokeRequest(_Request):
    """Take back a permission rule."""

    do: Literal["revoke"]
    rule: str


class StopRequest(_Request):
    """Stop the run. It can be resumed."""

    do: Literal["stop"]
    reason: str = ""


class Acknowledgement(_Request):
    """Confirm the reply with this ``ack``."""

    ack: str


class Done(Row):
    """The request was carried out. ``gate`` is the question of a hold or an answer."""

    ok: Literal[True]
    gate: str = ""
    run: str = ""


class Refusal(Row):
    """The request was not carried out. ``busy`` asks to try again."""

    error: str
    code: int = 1
    busy: bool = False


class TaskState(Row):
    """A task of the live run. ``gate`` is the question that it waits for."""

    task: str
    state: str
    status: OutcomeStatus | None
    attempts: int
    gate: str


class QuestionState(Row):
    """An open question of the live run."""

    gate: str
    type: GateTypeName
    task: str
    choices: list[str]
    standing: Standing
    context: dict[str, Any]


class StateReply(Row):
    """The live run. ``held`` is the reason why nothing can be recorded at the moment."""

    ok: Literal[True]
    run: str
    seq: int
    held: str
    state: str
    tasks: list[TaskState]
    questions: list[QuestionState]


class EventsReply(Row):
    """Events in their order, at most some hundred. Ask again with the last ``seq``."""

    ok: Literal[True]
    records: list[EventRecord]


REQUESTS = (
    StateRequest | EventsRequest | AnswerRequest | StepRequest | HoldRequest | KeepRequest | RungRequest
    | RevokeRequest | StopRequest | Acknowledgement
)  # fmt: skip
REPLIES = StateReply | EventsReply | Done | Refusal
