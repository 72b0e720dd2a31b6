"""Members that all views of a run have in common which another process works, here or on another machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from unstuck.clock import Clock
from unstuck.contract import Answer
from unstuck.eventlog.envelope import Record
from unstuck.runs.answers.answer_live import answer_message
from unstuck.runs.view.run_view import NoticeKind, limits_of
from unstuck.settings.models import Settings
from unstuck.supervision.context.context import limits_of as rules_of
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.text import Clean


class RunElsewhere:
    """A run that another process works: leaving the screen changes nothing, and nothing is recorded from here."""

    is_past = False
    is_elsewhere = True
    goes_on = False
    no_takeover = ""
    recovery = None
    unrecorded = None  # it is in the memory of another process
    held = ""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.clock = clock
        self.rules = rules_of(settings)
        self.limits: Mapping[str, int] = limits_of(self.rules, settings.window_size)
        self._followers: list[tuple[Callable[[Record], None], Callable[[], None]]] = []

    def absent(self, task: str) -> tuple[str, str]:
        return "", ""

    def follow(self, see: Callable[[Record], None], trouble: Callable[[], None]) -> Callable[[], None]:
        follower = (see, trouble)
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)

    async def hooks(self) -> Mapping[str, bool]:
        return {}

    def notified(self, kind: NoticeKind, way: str, tasks: tuple[str, ...], text: Clean) -> None:
        """Not recorded: the log belongs to the process that works the run."""

    def _show(self, record: Record) -> None:
        for see, _ in list(self._followers):
            see(record)

    def _show_trouble(self) -> None:
        for _, trouble in list(self._followers):
            trouble()


class AskedRun(RunElsewhere, ABC):
    """One run, whose process carries out what it is asked in messages of its socket."""

    @abstractmethod
    async def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the reply of the run's process. Raises AnswerRefused, and UnstuckError where it does not reply."""

    async def answer(self, gate: str, answer: Answer) -> object:
        """Give ``gate`` its answer. Raises GateClosed with the person who was first, AnswerRefused, UnstuckError."""
        return await self._request(answer_message(gate, answer, "attached_screen"))

    async def hold(self, task: str) -> str:
        return str((await self._request({"do": "hold", "task": task})).get("gate") or "")

    async def step_in(self, task: str, answer: Answer) -> object:
        return await self._request({**answer_message("", answer, "attached_screen"), "do": "step", "task": task})

    async def choose_rung(self, task: str, level: NextRung) -> None:
        await self._request({"do": "rung", "task": task, "level": level})

    async def keep_open(self, gate: str) -> object:
        return await self._request({"do": "keep", "gate": gate})
