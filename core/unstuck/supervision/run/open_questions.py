"""Open questions of a run for a program that answers them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from unstuck.arguments import checked
from unstuck.contract import Answer, Gate, GateTypeName, Scope
from unstuck.errors import AnswerRefused
from unstuck.settings.models import plain_name
from unstuck.words.questions import question_problem, question_title


class Question:
    """An open question. ``str(question)`` is its text; ``gate`` holds everything about it.

    Example::

        async for question in supervisor.questions():
            print(question, question.choices)
            await question.answer("retry", "Keep the public names.")
    """

    def __init__(self, gate: Gate, answer: Callable[[str, Answer], Awaitable[Gate]]) -> None:
        self.gate, self._answer = gate, answer

    @property
    def id(self) -> str:
        """The id that ``unstuck answer`` takes."""
        return self.gate.id

    @property
    def type(self) -> GateTypeName:
        """The kind of question, such as ``stuck``."""
        return self.gate.type

    @property
    def task_id(self) -> str:
        """The task that it is about; empty for one about the whole run."""
        return self.gate.task

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices that answer it."""
        return self.gate.choices

    @property
    def options(self) -> tuple[str, ...]:
        """The options that an answer with ``choose`` counts from 1; most questions have none."""
        return tuple(map(str, self.gate.context.get("options") or ()))

    @property
    def context(self) -> Mapping[str, Any]:
        """The facts of the question."""
        return self.gate.context

    @checked
    async def answer(
        self, choice: str | Answer, text: str = "", *, number: float | None = None, scope: Scope = "once"
    ) -> Gate:
        """Answer it with one of ``choices``, or with your own words to the agent (``show_me``).

        ``number`` is in seconds for ``extend`` and a position from 1 for ``choose``. Raises AnswerRefused, and
        GateClosed where it is answered already.
        """
        return await self._answer(self.id, answer_in(self.gate, choice, text, number=number, scope=scope))

    def __str__(self) -> str:
        problem = question_problem(self.gate)
        return f"{question_title(self.gate)}: {problem}" if problem else question_title(self.gate)

    def __repr__(self) -> str:
        return f"<Question {self.id} ({self.type}): {self}>"


def answer_in(
    gate: Gate, choice: str | Answer, text: str = "", *, number: float | None = None, scope: Scope = "once"
) -> Answer:
    """Return the answer that a caller means. Raises AnswerRefused for words that the question does not take."""
    if isinstance(choice, Answer):
        return choice
    if not isinstance(choice, str) or not isinstance(text, str):
        raise AnswerRefused(f"an answer is an Answer or text, not {type(choice).__name__}")
    named: Any = plain_name(choice)
    if named in gate.choices:
        return Answer(choice=named, text=text, number=number, scope=scope)
    if "show_me" in gate.choices and not text:
        return Answer(choice="show_me", text=choice, number=number, scope=scope)
    raise AnswerRefused(f"{gate.id} takes one of: {', '.join(gate.choices)}")
