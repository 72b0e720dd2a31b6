"""The dialog after a takeover: the changes in the worktree, and the words about them for the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from unstuck.clock import Clock
from unstuck.contract import Gate
from unstuck.runs.answers.question import Option
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.text import one_line
from unstuck_tui.dialogs.dialog import Dialog, choices_of
from unstuck_tui.dialogs.drafts import Drafts
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.render.diff import brief, heading, read_diff, unified
from unstuck_tui.widgets.inputs import LineField

WHY_LIMIT = 4_000
_DIFF_LINES = 400
_WIDTH = 100
_WHY = "why"
TakeoverAnswer = tuple[Literal["tell", "check", "again"], str]


class TakeoverDialog(Dialog[TakeoverAnswer, Option]):
    """Returns what to do, with the words for the agent; None where the question stays open.

    ``drafts`` keeps what was typed beyond the dialog's life. ``notes`` are lines about it.
    """

    BINDINGS = bindings_of("hands")
    DEFAULT_CSS = """
    TakeoverDialog #line { display: none; border: tall $border-blurred; }
    TakeoverDialog.-typing #line { display: block; }
    TakeoverDialog.-typing #choices { display: none; }
    """

    def __init__(
        self, taken: Takeover, gate: Gate, back: TakeoverChanges, notes: Sequence[str], drafts: Drafts, *, clock: Clock
    ) -> None:
        self._taken, self._back, self._notes, self._drafts = taken, back, notes, drafts
        self.about = taken.task
        does = "The agent gets your changes, and your reason." if back.files else "What to do, in your words."
        again = "You continue to edit its files."
        checks = (
            "The result is checked and brought in."
            if gate.type == "integration"
            else "The check runs now, without the agent."
        )
        said = {"tell": ("Tell the agent", does), "check": ("Check again", checks), "again": ("Keep editing", again)}
        offered = {"tell": "show_me" in gate.choices, "check": "check" in gate.choices or gate.type == "integration"}
        choices = [choice for choice in choices_of("hands", said) if offered.get(choice.name, True)]
        leaves = f"{spoken('dialog.back')} leaves the question open: your changes stay in the files"
        super().__init__(f"{taken.task}: editing has ended", choices, clock=clock, hint=leaves)
        self._leaving = leaves

    def compose_reading(self) -> ComposeResult:
        yield Static(Content.styled(_problem(self._back), "bold"), classes="text", markup=False)
        facts = [("Note", note) for note in self._notes]
        if self._taken.others:
            others = ", ".join(map(one_line, self._taken.others))
            facts.append(("Shared", f"{others}: in the same directory, so some changes may not be yours"))
        for label, text in facts:
            with Horizontal(classes="part"):
                yield Static(Content(label), classes="label", markup=False)
                yield Static(Content(text), classes="text", markup=False)
        if self._back.diff:
            diff = self._back.diff
            lines = [heading(self._taken.since, diff, _WIDTH), *unified(brief(read_diff(diff, coloured=False)), _WIDTH)]
            lines = lines[: 1 + _DIFF_LINES]
            shown = "\n".join("".join(cell.text for cell in line).rstrip() for line in lines)
            yield Static(Content(shown), id="diff", classes="text", markup=False)

    def compose_fields(self) -> ComposeResult:
        yield LineField(placeholder="Why, in a line", id="line")

    def chosen(self, choice: Option) -> None:
        if choice.name != "tell":
            self.finish(("check" if choice.name == "check" else "again", ""))
            return
        self.add_class("-typing")
        line = self.query_one("#line", Input)
        line.value = self._drafts.get((self.about, _WHY), "")
        self.set_focus(line)
        self.show_hint(f"enter sends · {spoken('dialog.back')} back to the choices, your text is kept")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.has_class("-typing"):
            self._drafts[self.about, _WHY] = event.value

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_send()

    def action_send(self) -> None:
        if not self.has_class("-typing"):
            return
        why = self.query_one("#line", Input).value.strip()
        if len(why) > WHY_LIMIT:
            self.complain(f"At most {WHY_LIMIT:,} characters; this has {len(why):,}.")
        elif not why and not self._back.files:
            self.complain("Nothing was changed: write what the agent is to do.")
        else:
            self.finish(("tell", why))

    def action_back(self) -> None:
        if not self.has_class("-typing"):
            self.finish(None)
            return
        self.remove_class("-typing")
        self.complain("")
        self.show_hint(self._leaving)
        self.set_focus(self.query_one("#choices"))


def _problem(back: TakeoverChanges) -> str:
    if back.trouble:
        return f"Your changes cannot be sent: {back.trouble}"
    if not back.files:
        return "You changed nothing"
    more = f" and {back.files - len(back.changes)} more" if back.files > len(back.changes) else ""
    files = "1 file" if back.files == 1 else f"{back.files} files"
    named = (path.removeprefix("changed ") for path in back.changes)
    return f"You changed {files}: {', '.join(named)}{more}"
