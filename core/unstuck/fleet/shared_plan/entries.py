"""Entries of the key-value bucket that hosts and owners of shared plans write, and their subjects.

| subject below ``$KV.unstuck_plans`` | written by | holds |
|---|---|---|
| ``plan.OWNER.PLAN`` | owner | what all tasks share: settings, agents, and where files are |
| ``lease.OWNER.PLAN`` | owner | which machine works the run, renewed like a claim |
| ``work.OWNER.PLAN.TASK`` | owner | one attempt at a task, and what its host has to do about it |
| ``claim.OWNER.PLAN.TASK`` | hosts | who works it, how far it is, and its result |
| ``offer.HOST`` | host | agents, labels and free slots |
| ``drain.HOST`` | people | whether the host may take tasks |

Each write names the revision that it follows, and the server refuses any other. So a claim has one holder, and the
result of a holder whose claim was taken is refused by the server itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from unstuck.fleet.nats import subjects as s

VERSION = 1
LEASE_S = 30.0
"""Seconds after the last word of a holder at which others may take its claim."""
_WHOLE = 1_900
_MEMORY_LINES, _MEMORY_SIZE = 200, 128 * 1024

Kind = Literal["plan", "lease", "work", "claim", "offer", "drain"]
ClaimState = Literal["working", "asked", "held", "released", "stopped", "passed", "failed"]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Text = Annotated[str, Field(max_length=1 << 20)]
Line = Annotated[str, Field(max_length=2_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _below(directory: str) -> str:
    """Return ``directory`` if it lies below the one that it is joined to. Raises ValueError."""
    if directory.startswith("/") or ".." in directory.split("/"):
        raise ValueError("it does not lie in the repository")
    return directory


OVER: tuple[ClaimState, ...] = ("stopped", "passed", "failed")
"""States of a claim after which its host does nothing more."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    v: Literal[1] = 1


class Files(_Entry):
    """A commit and where it can be fetched: ``branch`` of the plan's remote, or ``bundle`` in the object store.

    Both are empty where the receiver has it already.
    """

    commit: Commit
    branch: Annotated[str, Field(pattern=r"^(unstuck/[A-Za-z0-9._%-]+/[A-Za-z0-9._%-]+)?$")] = ""
    bundle: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-]+\.[0-9a-f]{32}\.\d{1,6})?$")] = ""


class AgentEntry(_Entry):
    """An agent of the plan. Its ``command`` counts only where the host lets this owner's plans name commands."""

    name: Name
    command: tuple[str, ...]
    type: Line = "default"
    signals: bool = False
    hold: Literal["step", "freeze", "none"] | None = None
    prompt: Literal["auto", "stdin"] = "auto"


class PlanEntry(_Entry):
    """All that the tasks of a run share. ``roots`` names the repository: the first commits of its history.

    ``memory`` are the newest lines of the project's memory.
    """

    run: Name
    project: Line
    remote: Annotated[str, Field(pattern=r"^([^-].*)?$", max_length=4_000)] = ""
    roots: Line
    base: Files
    setup: Text | None = None
    settings: dict[str, Any] = {}
    agents: tuple[AgentEntry, ...]
    directory: Annotated[str, Field(max_length=4_000), AfterValidator(_below)] = ""
    lease_s: Seconds = LEASE_S
    memory: tuple[Text, ...] = ()


class LeaseEntry(_Entry):
    """The machine that works the run, none while it is paused. ``count`` grows with each renewal.

    ``tip`` are the results so far.
    """

    machine: Line
    count: int = 0
    tip: Files | None = None
    over: bool = False


class AnswerEntry(_Entry):
    """A person's answer to a question of a host, or to a hold. ``about`` is the digest of the question."""

    choice: Line
    text: Text = ""
    number: float | None = None
    scope: Line = "once"
    by: Line = ""
    about: Line = ""


class WorkEntry(_Entry):
    """One attempt of the owner's run at a task. ``start`` are the files to go on from, ``base`` those of the run."""

    attempt: Name
    agent: Name
    prompt: Text
    check: Text | None = None
    timeout_s: float | None = None
    idle_s: float | None = None
    mode: Literal["orchestrated", "direct"] = "orchestrated"
    labels: tuple[Line, ...] = ()
    base: Files
    start: Files
    stop: bool = False
    hold: bool = False
    answers: dict[str, AnswerEntry] = {}


class QuestionEntry(_Entry):
    """An open question of a small run."""

    id: Name
    type: Line
    key: Line = ""
    context: dict[str, Any] = {}
    choices: tuple[Line, ...] = ()


def digest(question: QuestionEntry) -> str:
    """Return the same for the same question on another host; empty where it does not show all that it asks about."""
    about = [str(question.context.get(name) or "") for name in ("problem", "question", "tool")]
    if max(map(len, about)) >= _WHOLE:
        return ""
    return hashlib.sha256(json.dumps([question.type, question.choices, *about]).encode()).hexdigest()


class ClaimEntry(_Entry):
    """A host's claim on an attempt. ``token`` is the revision of its first entry, 0 in that one itself.

    ``files`` are the last ones that were pushed, ``memory`` what the small run has learnt. ``tokens`` (``written`` is a
    part of them) and ``cost`` are the use of all hosts that have held the attempt. ``used`` are the questions for
    permission whose answers an agent has had.
    """

    attempt: Name
    host: Name
    token: int = 0
    count: int = 0
    state: ClaimState = "working"
    run: Line = ""
    files: Files | None = None
    tokens: Annotated[int, Field(ge=0)] = 0
    written: Annotated[int, Field(ge=0)] = 0
    cost: float | None = None
    doing: Line = ""
    problem: Line = ""
    questions: tuple[QuestionEntry, ...] = ()
    used: tuple[Line, ...] = ()
    memory: tuple[Text, ...] = ()


class OfferEntry(_Entry):
    """The offer of a host: the agents by name, its labels, and its slots.

    ``trusts`` has the keys of the owners whose plans it works, each with whether those may name commands; None where an
    older version does not say it.
    """

    agents: tuple[Line, ...]
    labels: tuple[Line, ...]
    slots: int
    free: int
    drained: bool = False
    trusts: dict[Line, bool] | None = None


class DrainEntry(_Entry):
    """A person's word that a host takes no tasks, or takes them again."""

    drained: bool


KINDS: Mapping[str, type[_Entry]] = {
    "plan": PlanEntry,
    "lease": LeaseEntry,
    "work": WorkEntry,
    "claim": ClaimEntry,
    "offer": OfferEntry,
    "drain": DrainEntry,
}


def newest(memory: Sequence[str]) -> tuple[str, ...]:
    """Return the last lines of a memory, as many as travel."""
    size, first = 0, len(memory)
    while first and len(memory) - first < _MEMORY_LINES and (size := size + len(memory[first - 1])) <= _MEMORY_SIZE:
        first -= 1
    return tuple(memory[first:])


class PlanName(NamedTuple):
    """The name of a shared plan: its ``owner`` and the ``plan``, which is made of the run's id and its first commit."""

    owner: str
    plan: str


def subject(kind: Kind, *names: str) -> str:
    """Return the subject of an entry. A task's id may have dots, which a subject's parts cannot have."""
    return ".".join((f"{s.PLANS_PREFIX}.{kind}", *(name.replace(".", "=2E") for name in names)))


def parts(found: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind and the names of a subject. Raises ValueError for one that is none of these."""
    prefix, _, rest = found.partition(f"{s.PLANS_PREFIX}.")
    kind, *names = rest.split(".")
    lengths = {"plan": 2, "lease": 2, "work": 3, "claim": 3, "offer": 1, "drain": 1}
    named = tuple(name.replace("=2E", ".") for name in names)
    if prefix or lengths.get(kind) != len(named) or not all(map(_NAME.fullmatch, named)):  # they become names of files
        raise ValueError(f"{found!r:.200} is no entry of a shared plan")
    return kind, named
