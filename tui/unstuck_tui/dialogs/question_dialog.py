"""The dialog of a question: stuck, time-out, loop and all the others, by the same few rules."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import dedent

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static, TextArea

from unstuck.clock import Clock
from unstuck.contract import Answer, Gate
from unstuck.errors import AnswerRefused, UnstuckError
from unstuck.runs.answers.question import AnswerOption, Jump, Question, question_text, to_answer
from unstuck.words.choices import FIELD_WORDS
from unstuck.words.excerpt import ExcerptLine
from unstuck_tui.dialogs.dialog import QUIET_S, Choices, Dialog, Reading
from unstuck_tui.dialogs.drafts import Drafts
from unstuck_tui.dialogs.questions import ByHand, Program, keyed, keys_of_option
from unstuck_tui.keys.actions import key_of, spoken
from unstuck_tui.render.diff import DiffLine, brief, read_diff, unified
from unstuck_tui.render.format import Cell, fit_middle, laid_out, width_of
from unstuck_tui.textual_internals.screens import bind_keys
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.inputs import LineField, LinesField
from unstuck_tui.widgets.lines import Lines
from unstuck_tui.widgets.workers import start

_CLIMB = ("retries", "pivots", "research")
_MOST_PIPS = 9
_DIFF_LINES = 24
_NEXT_WIDTH = 20
_PROBLEM_WIDTH = 150
"""Cells of a problem above its code: two lines of a small dialog."""


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """The person wants to see another question first."""


class DiffLines(Lines):
    """Changed lines, one below the other, all of them in view of whatever scrolls them."""

    DEFAULT_CSS = "DiffLines { width: 1fr; height: auto; }"

    def __init__(self, lines: Sequence[DiffLine]) -> None:
        super().__init__()
        self._changed = lines

    def on_mount(self) -> None:
        self.resized()

    def line_total(self) -> int:
        return len(self._changed)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        return unified(self._changed[index : index + 1], width)[0]


class QuestionDialog(Dialog[Answer | ByHand | Jump | NextQuestion, AnswerOption]):
    """Asks ``question`` and returns the answer, or what is wanted instead of one; None where it stays open.

    ``drafts`` keeps what was typed beyond the dialog's life. ``trouble`` is what became of an answer before. ``place``
    is that of :meth:`tell_place`. ``changes`` reads what its task has changed.
    """

    @dataclass
    class Copied(Message):
        """The question as text is to be copied."""

        text: str

    @dataclass
    class Read(Message):
        """The output, the changes and the prompt of the task are wanted on a screen of their own."""

        task: str

    DEFAULT_CSS = """
    QuestionDialog {
        #line, #lines { display: none; border: tall $border-blurred; }
        #lines { height: 7; }
        #excerpt {
            height: auto; background: $boost; padding: 0 1; margin: 0 0 1 0;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
    }
    QuestionDialog.-short #excerpt { max-height: 4; margin: 0; }
    QuestionDialog.-short #lines { height: 5; }
    QuestionDialog.-typing #choices { display: none; }
    """

    def __init__(
        self,
        question: Question,
        *,
        clock: Clock,
        drafts: Drafts,
        trouble: str = "",
        place: tuple[int, int, str] = (1, 1, ""),
        changes: Callable[[], Awaitable[str]] | None = None,
        quiet_s: float = QUIET_S,
    ) -> None:
        question = keyed(question)
        hands = f" · {spoken('dialog.shell')} shell · {spoken('dialog.editor')} editor"
        self._by_hand = hands if _takes_over(question) else ""
        self._leaving = f"{spoken('dialog.back')} {question.leaving}{self._by_hand}"
        super().__init__(question.title, question.options, clock=clock, hint=self._leaving, quiet_s=quiet_s)
        self.question, self.about = question, question.about
        self._drafts, self._before, self._place, self._changes = drafts, trouble, place, changes
        self._chosen: AnswerOption | None = None
        self._confirming = ""
        self._overtaken = ""
        for option in question.options:
            if keys := keys_of_option(option):
                bind_keys(self, keys, f"choose('{option.name}')", option.label)

    def compose_reading(self) -> ComposeResult:
        question = self.question
        is_long = bool(question.excerpt) and width_of(question.problem) > _PROBLEM_WIDTH
        problem = Content.styled(fit_middle(question.problem, _PROBLEM_WIDTH) if is_long else question.problem, "bold")
        if question.where:
            problem = Content.assemble(problem, Content.styled(f"  {question.where}", "$text-muted"))
        yield Static(problem, id="problem", classes="text", markup=False)
        if question.excerpt:
            lines = (Content.styled(*line) for line in _excerpt_lines(question.excerpt))
            yield Static(Content("\n").join(lines), id="excerpt", markup=False)
        pips = _pips(question.gate)
        whole = [("Problem", question.problem)] if is_long else []
        for label, text in (*question.facts, *whole):
            with Horizontal(classes=f"part {label.lower().replace(' ', '-')}"):
                yield Static(Content(label), classes="label", markup=False)
                yield Static(Content(pips + text if label == "Tried" else text), classes="text", markup=False)

    def compose_fields(self) -> ComposeResult:
        yield LinesField(id="lines", show_line_numbers=False, tab_behavior="focus")
        yield LineField(id="line")

    def on_mount(self) -> None:
        self.tell_place(self._place)
        if self._before and self.query(Choices):
            self.complain(self._before)
        start(self, "changes", self._show_changes)

    def tell_place(self, place: tuple[int, int, str]) -> None:
        """Say the place among the questions that wait, their number, and what the next of them is about."""
        self._place = number, all_of_them, next_about = place
        parts = [f"{spoken('dialog.pager')} output, changes, prompt"] if self.question.gate.task else []
        if all_of_them > 1:
            about = fit_middle(next_about, _NEXT_WIDTH).strip()
            parts.append(f"{number} of {all_of_them} · {spoken('dialog.next')} next: {about}".rstrip(": "))
        for frame in self.query("#dialog"):
            entitle(frame, self.question.title, " · ".join(parts))
            frame.refresh(layout=True)  # a repaint of the frame alone does not reach the terminal

    async def _show_changes(self) -> None:
        """Show the changed lines of the task in place of the names of its files, once they are read."""
        if self._changes is None:
            return
        diff = ""
        with suppress(UnstuckError):
            diff = await self._changes()
        lines = await asyncio.to_thread(_changed_lines, diff)
        if lines and not self._is_over and self.query(Reading):
            label = Static(Content("Diff"), classes="label", markup=False)
            place = next(iter(self.query(".part.changed")), None)  # an old log names no files
            if place is not None:
                place.display = len(lines) > _DIFF_LINES  # all of its names are in the diff else
            await self.query_one(Reading).mount(Horizontal(label, DiffLines(lines), classes="part"), after=place)

    @property
    def is_typing(self) -> bool:
        return self._chosen is not None

    def chosen(self, choice: AnswerOption) -> None:
        again, self._confirming = self._confirming == choice.name, choice.name
        if choice.choice == "abandon" and not again:
            self.complain(f"Press {choice.key} again: {choice.label}. {choice.touches}")
        elif choice.jump is not None:
            self.finish(Jump(choice.jump))
        elif choice.takes:
            self._write(choice)
        else:
            self._answer(choice, "")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Leave a choice that waits for its second press."""
        event.stop()
        if self._confirming not in ("", event.option_id):
            self._confirming = ""
            self.complain("")

    def _write(self, option: AnswerOption) -> None:
        """Open the field that ``option`` needs, with what was begun before."""
        self._chosen = option
        self.add_class("-typing")
        draft = self._drafts.get(self._draft(option), option.text)
        if option.takes == "lines":
            lines = self.query_one("#lines", TextArea)
            lines.load_text(draft)
            lines.placeholder = Content(FIELD_WORDS[option.takes])
            lines.display = True
            self.set_focus(lines)
        else:
            line = self.query_one("#line", Input)
            line.value = draft
            line.placeholder = FIELD_WORDS[option.takes]
            line.display = True
            self.set_focus(line)
        self.show_hint(f"{option.label}: {_hint(option.takes)}" + (self._by_hand if option.choice == "show_me" else ""))

    def on_input_changed(self, event: Input.Changed) -> None:
        self._written(event)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._written(event)

    def _written(self, event: Message) -> None:
        """Keep the text as it is: the screen may go at any moment."""
        event.stop()
        if not self._is_over:
            self._keep()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_send()

    def action_send(self) -> None:
        if self._chosen is not None:
            self._keep()
            self._answer(self._chosen, self._typed())

    def action_back(self) -> None:
        """From the text back to the choices; from there out of the dialog. The text is kept."""
        if self._chosen is None or self._overtaken:
            self._leave()
            return
        self._keep()
        self._chosen = None
        self.remove_class("-typing")
        self.query_one("#lines").display = self.query_one("#line").display = False
        self.complain("")
        self.show_hint(self._leaving)
        self.set_focus(self.query_one(Choices))

    def action_next_question(self) -> None:
        """Leave this question open for the next one that waits."""
        if self._place[1] > 1 and not self.is_typing:
            self.finish(NextQuestion())

    def action_copy(self) -> None:
        self.post_message(self.Copied(question_text(self.question)))

    def action_pager(self) -> None:
        if self.question.gate.task:
            self.post_message(self.Read(self.question.gate.task))

    def action_by_hand(self, program: Program) -> None:
        shown = next((option for option in self.question.options if option.choice == "show_me"), None)
        if not self._by_hand or self._overtaken:
            why = shown.refused if shown is not None else ""
            self.complain(why or "Not possible here: this question takes no instructions.")
            return
        self._keep()
        self.finish(ByHand(program))

    def overtake(self, reason: str) -> bool:
        """The gate has its answer from elsewhere; whether the dialog closes.

        Not while a text is written: the next keys would go astray. Then it says so and keeps the text.
        """
        if self.is_typing:
            self._overtaken = reason
            self.complain(f"{reason} Your text is kept; {spoken('dialog.back')} closes this.")
            return False
        self._leave()
        return True

    def _leave(self) -> None:
        self._keep()
        self.finish(None)

    def _answer(self, option: AnswerOption, text: str) -> None:
        if self._overtaken:
            self._leave()
            return
        try:
            answer = to_answer(self.question.gate, option, text)
        except AnswerRefused as error:
            self.complain(str(error))
            return
        self.finish(answer)

    def _typed(self) -> str:
        if self._chosen is None:
            return ""
        if self._chosen.takes == "lines":
            return self.query_one("#lines", TextArea).text
        return self.query_one("#line", Input).value

    def _keep(self) -> None:
        if self._chosen is not None:
            self._drafts[self._draft(self._chosen)] = self._typed()

    def _draft(self, option: AnswerOption) -> tuple[str, str]:
        return self.about, option.name


def _changed_lines(diff: str) -> Sequence[DiffLine]:
    """The first lines of ``diff`` under the names of their files."""
    lines = brief(read_diff(diff))
    if len(lines) <= _DIFF_LINES:
        return lines
    more = f"{len(lines) - _DIFF_LINES} more lines: {spoken('dialog.pager')} and then {spoken('pager.changes')}"
    return [*lines[:_DIFF_LINES], DiffLine("head", ((more, "quiet"),))]


def _pips(gate: Gate) -> str:
    """The tries of a stuck task in groups: ``●●● ●●● ●●``."""
    attempts = gate.context.get("attempts")
    counts = [attempts.get(kind) for kind in _CLIMB] if isinstance(attempts, Mapping) else []
    used = ["●" * count for count in counts if isinstance(count, int) and 0 < count <= _MOST_PIPS]
    return " ".join(used) + "  " if used else ""


def _excerpt_lines(excerpt: Sequence[ExcerptLine]) -> Iterator[tuple[str, str]]:
    """The text of each line, without the blanks that all begin with, and its style."""
    text = dedent("\n".join(laid_out(line.text) for line in excerpt))
    for line, told in zip(excerpt, text.split("\n"), strict=True):
        yield (f"▸ {told}", "bold $text-error") if line.is_failure else (f"  {told}", "$foreground")


def _takes_over(question: Question) -> bool:
    """True where a person may edit the task's files instead of answering."""
    shown = any(one.choice == "show_me" and one.takes == "lines" and not one.refused for one in question.options)
    return shown or (question.gate.type == "integration" and bool(question.gate.task))


def _hint(takes: str) -> str:
    """The keys that send and leave a text."""
    send, back = key_of("dialog.send"), f"{spoken('dialog.back')} back to the choices"
    return {
        "lines": f"{send} sends · enter makes a new line · {back}, your text is kept",
        "line": f"enter sends · {back}, your text is kept",
        "reason": f"enter sends · {back}, your text is kept",
        "command": f"enter sends · {back}, your text is kept",
        "duration": f"how long, such as 90 (seconds), 15m or 1h30m · enter sends · {back}",
        "tokens": f"how many tokens more, such as 50000 · enter sends · {back}",
        "cost": f"how many dollars more, such as 2.50 · enter sends · {back}",
    }[takes]
