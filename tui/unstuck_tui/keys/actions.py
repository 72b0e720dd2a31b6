"""Everything a person can do, in one registry: bindings, footer, palette, help and key documents all come from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Literal, NamedTuple

from textual.binding import Binding, BindingType

from unstuck.words.choices import CHOICE_WORDS

Area = Literal[
    "app", "main", "attention", "table", "detail", "dialog", "choices",
    "stuck", "loop", "timeout", "question", "permission", "remediation", "integration", "budget", "room", "recovery",
    "quit", "decide", "hands", "replay", "log", "logs", "standstill",
    "graph", "browse", "rows", "signatures", "checkpoints", "memory", "cut_off", "deletion", "page", "what_if",
    "compare", "confirm", "review", "transcript", "pager",
]  # fmt: skip

AREA_NAMES: dict[Area, str] = {
    "app": "Everywhere",
    "main": "Main screen",
    "attention": "Needs you",
    "table": "Tasks",
    "detail": "Detail",
    "replay": "Replay",
    "log": "Log",
    "logs": "Log filters",
    "recovery": "Choices for an interrupted task",
    "standstill": "Recovery",
    "graph": "Plan",
    "browse": "Browse",
    "rows": "List",
    "signatures": "Failures",
    "checkpoints": "Checkpoints",
    "memory": "Memory",
    "cut_off": "Recovery",
    "deletion": "Deletion",
    "page": "Page",
    "what_if": "What-if",
    "review": "Review",
    "transcript": "Transcript",
    "pager": "Output",
}


class Action(NamedTuple):
    """One thing to do: ``id`` names it for remapping, ``does`` is the Textual action.

    ``footer`` is its rank there: 0 has no place, and where there is little room those of rank 1 come first.
    ``short`` is its name in the footer, empty for ``label``.
    ``everywhere``: its keys come before those of whatever has the focus, dialogs and fields included.
    """

    id: str
    keys: str
    does: str
    label: str
    help: str
    area: Area
    footer: int = 0
    everywhere: bool = False
    short: str = ""


def _choice(area: Area, name: str, keys: str, label: str, help: str) -> Action:
    """A choice of a dialog; in all dialogs, the same key means the same."""
    return Action(f"{area}.{name}", keys, f"choose('{name}')", label, help, area)


def _moves(area: Area, one: str, *, forward: str = "pagedown,ctrl+d") -> tuple[Action, ...]:
    """Actions that move the cursor of a list."""
    return (
        Action(f"{area}.down", "j,down", "cursor(1)", "down", f"Next {one}.", area),
        Action(f"{area}.up", "k,up", "cursor(-1)", "up", f"Previous {one}.", area),
        Action(f"{area}.page_down", forward, "page(1)", "page down", "Page down.", area),
        Action(f"{area}.page_up", "pageup,ctrl+u", "page(-1)", "page up", "Page up.", area),
        Action(f"{area}.first", "g,home", "cursor(-10000000000)", "first", f"First {one}.", area),
        Action(f"{area}.last", "G,end", "cursor(10000000000)", "last", f"Last {one}.", area),
    )


ACTIONS: tuple[Action, ...] = (
    Action("gate.answer", "a", "answer", "answer",
        "Answer the question of the selected task, else the oldest one.", "main", 1),
    Action("task.open", "enter", "screen.open", "open",
        "Show the selected task's attempts, failure and output.", "table", 1),
    Action("table.filter", "slash", "filter", "filter",
        "Show only tasks with these words; begin with ! to hide them.", "main", 10),
    Action("table.sort", "s", "sort", "sort", "Change the sorting: plan, state, time left, name.", "main", 10),
    Action("app.help", "question_mark,f1", "help", "help", "List the keys that do something now.", "app", 1),
    Action("app.quit", "q,ctrl+q", "leave", "quit", "Leave the screen; asks first while agents run.", "app", 4),
    Action("app.interrupt", "ctrl+c", "leave", "quit",
        "Quit from anywhere, also from a dialog or a text field.", "app", everywhere=True),
    Action("app.clear", "ctrl+l", "clear", "clear",
        "Dismiss messages, also in dialogs and text fields.", "app",
        everywhere=True),
    Action("view.back", "escape", "back", "back",
        "Return to the table; then clear the filter, then the marks.", "main", 1),
    Action("page.timeline", "1", "page('timeline')", "timeline", "Show each attempt of the task.", "main"),
    Action("page.ladder", "2", "page('ladder')", "ladder",
        "Show the escalation level of the task and the next steps.", "main"),
    Action("page.changes", "3", "page('changes')", "changes",
        "Show the changes of its files: since its start, again since its last attempt or checkpoint.", "main"),
    Action("output.check", "4", "output('check')", "check", "Show the output of the last check.", "main"),
    Action("output.agent", "5", "output('agent')", "agent", "Show what the agent said and did.", "main"),
    Action("output.unfold", "z", "transcript('unfold')", "all lines",
        "Show all that the agent's calls returned, or its first lines.", "main"),
    Action("output.raw", "Z", "transcript('raw')", "as printed",
        "Show the output of the agent as it was printed, or what it says.", "main"),
    Action("output.prompt", "6", "output('prompt')", "prompt", "Show what the agent was told last.", "main"),
    Action("gate.next", "n", "next_question", "next question",
        "Select the next task that needs you.", "main", 2, short="next"),
    Action("task.hold", "h", "hold", "hold",
        "Hold the agents of the selected or marked tasks.", "main", 5),
    Action("task.hold_later", "L", "hold_later", "hold later",
        "Hold the later of the tasks that change the same file as the selected one.", "main", 1),
    Action("task.decide", "m", "decide", "decide",
        "Give time, change the approach or skip: for the selected or marked tasks.", "main", 3),
    Action("view.pager", "o", "pager", "output",
        "Show the output, prompt or changes on a screen of its own: to search, follow and copy.", "main", 9),
    Action("view.browse", "b", "browse", "browse",
        "Show failures, checkpoints, memory, interrupted runs, deletion, claims, the page and what-if.", "main",
        7),
    Action("view.log", "l", "log", "log", "Show the event log of the run.", "main", 8),
    Action("task.shell", "w", "by_hand('shell')", "edit",
        "Edit the task's files yourself in $SHELL: its agent waits, then is shown your changes.",
        "main", 6),
    Action("view.plan", "d", "plan", "graph",
        "Show the plan as a graph, with the critical path.", "main", 8),
    Action("task.edit", "e", "by_hand('editor')", "edit yourself",
        "Edit the task's files yourself in $VISUAL or $EDITOR.", "main"),
    Action("view.copy", "y", "copy", "copy",
        "Copy the selected question or failure, also to a file.", "main"),
    Action("mute.task", "u", "mute", "mute",
        "Mute the selected or marked tasks: 1 hour, always, off.", "main"),
    Action("mute.all", "U", "mute_all", "mute all",
        "Mute all notifications: 1 hour, always, off.", "main"),
    Action("view.next", "tab", "app.focus_next", "next pane", "Go to the next pane.", "main"),
    Action("view.previous", "shift+tab", "app.focus_previous", "previous pane", "Go to the previous pane.", "main"),
    Action("app.suspend", "ctrl+z", "suspend", "suspend",
        "Suspend to the shell, fg returns; not while a run is active.", "app"),
    Action("app.theme", "ctrl+t", "theme", "colours",
        "Change the theme: dark, light, high contrast, the terminal's 16 colours.", "app"),
    Action("app.palette", "ctrl+p", "command_palette", "palette", "Search all commands.", "app"),
    *_moves("table", "row"),
    Action("table.mark", "space", "mark", "mark", "Mark or unmark this task, to decide about several.", "table"),
    Action("sort.plan", "P", "sort_by('plan')", "sort by plan", "Sort by the order of the plan.", "table"),
    Action("sort.state", "S", "sort_by('state')", "sort by state",
        "Sort by state: questions first, then tasks at work.", "table"),
    Action("sort.time", "T", "sort_by('time')", "sort by time left", "Sort by time left, least first.", "table"),
    Action("sort.name", "N", "sort_by('name')", "sort by name", "Sort by name.", "table"),
    Action("attention.down", "j,down", "cursor(1)", "down", "Next question.", "attention"),
    Action("attention.up", "k,up", "cursor(-1)", "up", "Previous question.", "attention"),
    Action("attention.answer", "enter", "open", "answer", "Answer this question.", "attention"),
    Action("detail.down", "j,down", "scroll_down", "down", "Next line.", "detail"),
    Action("detail.up", "k,up", "scroll_up", "up", "Previous line.", "detail"),
    Action("detail.page_down", "pagedown,ctrl+d,space", "page_down", "page down", "Page down.", "detail"),
    Action("detail.page_up", "pageup,ctrl+u", "page_up", "page up", "Page up.", "detail"),
    Action("detail.first", "g,home", "scroll_home", "top", "Go to the top.", "detail"),
    Action("detail.last", "G,end", "scroll_end", "end", "Go to the end and follow it.", "detail"),
    Action("replay.play", "space", "play", "play", "Play or pause.", "replay", everywhere=True),
    Action("replay.on", "right", "step(1)", "step", "Next event.", "replay", everywhere=True),
    Action("replay.back", "left", "step(-1)", "step back", "Previous event.", "replay", everywhere=True),
    Action("replay.far_on", "shift+right,right_square_bracket", "step(20)", "twenty on",
        "Twenty events forward.", "replay",
        everywhere=True),
    Action("replay.far_back", "shift+left,left_square_bracket", "step(-20)", "twenty back", "Twenty events back.",
        "replay", everywhere=True),
    Action("replay.failure", "n", "next('failures')", "next failure", "Go to the next failure.", "replay",
        everywhere=True),
    Action("replay.gate", "g", "next('gates')", "next question", "Go to the next question.", "replay", everywhere=True),
    Action("replay.before", "p", "previous", "previous trouble", "Go to the previous failure or question.", "replay",
        everywhere=True),
    Action("replay.begin", "less_than_sign", "go_to(0)", "start", "Go to the start.", "replay", everywhere=True),
    Action("replay.end", "greater_than_sign", "go_to(-1)", "end", "Go to the end.", "replay", everywhere=True),
    Action("replay.faster", "plus,equals_sign", "speed(1)", "faster", "Play faster.", "replay", everywhere=True),
    Action("replay.slower", "minus", "speed(-1)", "slower", "Play more slowly.", "replay", everywhere=True),
    Action("log.open", "enter", "screen.open", "details", "Show or hide all fields of this event.", "log", 1),
    *_moves("log", "event", forward="pagedown,ctrl+d,space"),
    Action("logs.filter", "slash", "filter", "search", "Search for words, a task, an event or an actor.", "logs", 1),
    Action("logs.follow", "f", "follow", "follow", "Follow new events, or stop following.", "logs", 2),
    Action("logs.without_me", "d", "without_me", "automatic", "Show only automatic decisions.", "logs", 2),
    Action("logs.task", "t", "only_task", "this task", "Show only the selected task.", "logs", 3),
    Action("logs.copy", "y", "copy", "copy", "Copy this event, also to a file.", "logs"),
    Action("logs.back", "escape", "back", "back", "Close the event, then the search, then the log.", "logs", 1),
    Action("graph.open", "enter", "screen.open", "select", "Back to the main screen, with this task selected.", "graph",
        1),
    Action("graph.holder", "o", "holder", "what it waits for",
        "Go to the task that this one waits for.", "graph", 1),
    Action("graph.pane", "tab,shift+tab", "app.focus_next", "other pane",
        "Switch between the graph and the details.", "graph"),
    Action("graph.back", "escape", "back", "back", "Back to the main screen.", "graph", 1),
    Action("browse.signatures", "1", "turn_to(0)", "failures", "List the failures, each once.", "browse"),
    Action("browse.checkpoints", "2", "turn_to(1)", "checkpoints", "List the checkpoints of the files.", "browse"),
    Action("browse.memory", "3", "turn_to(2)", "memory", "List what unstuck remembers.", "browse"),
    Action("browse.recovery", "4", "turn_to(3)", "recovery", "List the interrupted runs.", "browse"),
    Action("browse.deletion", "5", "turn_to(4)", "deletion", "Show what deleting a run would remove.", "browse"),
    Action("browse.truth", "6", "turn_to(5)", "truth", "Compare claims of agents with their checks.", "browse"),
    Action("browse.page", "7", "turn_to(6)", "page", "List the browsers that may use the page.", "browse"),
    Action("browse.what-if", "8", "turn_to(7)", "what-if", "Compare runs under other settings.", "browse"),
    Action("browse.next", "right,right_square_bracket", "turn_by(1)", "next tab", "Next tab.", "browse"),
    Action("browse.previous", "left,left_square_bracket", "turn_by(-1)", "previous tab", "Previous tab.", "browse"),
    Action("browse.pane", "tab,shift+tab", "app.focus_next", "other pane",
        "Switch between the list and the details.", "browse"),
    Action("browse.filter", "slash", "filter", "filter", "Show only rows with these words; begin with ! to hide them.",
        "browse"),
    Action("browse.sort", "s", "sort", "sort", "Change the order of the rows.", "browse"),
    Action("browse.fold", "z", "fold(False)", "fold", "Fold the group of this row to one line, or show all of it.",
        "browse"),
    Action("browse.fold_all", "Z", "fold(True)", "fold all", "Fold every group, or show all of each.", "browse"),
    Action("browse.all_runs", "A", "all_runs", "all runs",
        "Show failures or checkpoints of all runs of the project, or of this run only.", "browse"),
    Action("browse.again", "f5,R", "again", "reload", "Reload everything.", "browse"),
    Action("browse.back", "escape", "back", "back", "Close the comparison, then the filter, then the screen.", "browse",
        1),
    *_moves("rows", "row"),
    Action("signatures.log", "enter", "act('signatures', 'log')", "occurrences",
        "Show its occurrences in the log.", "signatures", 1),
    Action("signatures.edit", "e", "act('signatures', 'edit')", "edit",
        "Open the file and line in $VISUAL or $EDITOR, or copy them.", "signatures", 1),
    Action("signatures.answer", "a", "act('signatures', 'answer')", "answer all",
        "Give one answer to all questions about this failure.", "signatures", 1),
    Action("checkpoints.mark", "space", "act('checkpoints', 'mark')", "mark",
        "Mark two checkpoints to compare; a third mark replaces the first.", "checkpoints", 1),
    Action("checkpoints.diff", "d", "act('checkpoints', 'diff')", "compare",
        "Compare the marked two, or this one with the current files.", "checkpoints", 1),
    Action("checkpoints.next", "n", "act('checkpoints', 'next')", "next file",
        "Go to the next compared file.", "checkpoints"),
    Action("checkpoints.restore", "r", "act('checkpoints', 'restore')", "restore",
        "Restore the files: shows the changes and asks first.", "checkpoints", 1),
    Action("checkpoints.undo", "u", "act('checkpoints', 'undo')", "undo",
        "Undo the last restore: shows the changes and asks first.", "checkpoints", 1),
    Action("memory.forget", "f", "act('memory', 'forget')", "forget", "Forget it; asks first.", "memory", 1),
    Action("memory.promote", "p", "act('memory', 'promote')", "promote",
        "Make an answer a rule: unstuck gives it without asking you.", "memory", 1),
    Action("cut_off.look", "enter", "act('recovery', 'look')", "what it left",
        "Show what it left: files, processes, checkpoints, its check.", "cut_off", 1),
    Action("deletion.look", "enter", "act('deletion', 'look')", "inventory",
        "Show what deleting this run would remove, with sizes.", "deletion", 1),
    Action("deletion.delete", "D", "act('deletion', 'delete')", "delete",
        "Delete this run: shows what would be removed; type its name to confirm.", "deletion", 1),
    Action("page.link", "c", "act('page', 'link')", "copy a link",
        "Copy a link that lets one browser in to the page, once.", "page", 1),
    Action("page.revoke", "x", "act('page', 'revoke')", "revoke",
        "End the session of this browser; asks first.", "page", 1),
    Action("what_if.change", "o", "act('what-if', 'change')", "other settings",
        "Compare recorded runs under their own settings and under others; nothing is run.", "what_if", 1),
    Action("what_if.open", "enter", "act('what-if', 'open')", "open",
        "Show the event: in a replay that moment, of other runs its place in the log.", "what_if", 1),
    Action("review.open", "enter", "screen.open", "transcript",
        "Show the place in the transcript: of a session its first loop.", "review", 1),
    Action("review.next", "n", "next_loop", "next loop", "Go to the next session with a loop.", "review", 1),
    Action("review.sort", "s", "sort", "sort",
        "Change the sorting: newest first, or most steps after a loop first.", "review", 1),
    Action("review.pane", "tab,shift+tab", "app.focus_next", "other pane",
        "Switch between the sessions and the timeline.", "review", 1),
    Action("transcript.next", "n", "next_mark", "next loop", "Go to the next step of a loop.", "transcript", 1),
    Action("transcript.unfold", "z", "unfold", "all lines",
        "Show all lines of the results, or the first ones.", "transcript", 1),
    Action("transcript.back", "escape", "back", "back", "Back to the review.", "transcript", 1),
    Action("pager.search", "slash", "search", "search", "Search for words.", "pager", 1),
    Action("pager.next", "n", "find(1)", "next", "Go to the next place with these words.", "pager", 2),
    Action("pager.previous", "N", "find(-1)", "previous", "Go to the previous place with these words.", "pager", 2),
    Action("pager.trouble", "x", "trouble(1)", "next error", "Go to the next line that tells of an error.", "pager",
        2),
    Action("pager.trouble_before", "X", "trouble(-1)", "error before",
        "Go to the previous line that tells of an error.", "pager"),
    Action("pager.follow", "f", "follow", "follow", "Follow what is printed, or stop following.", "pager", 2),
    Action("pager.earlier", "left_square_bracket", "attempt(-1)", "earlier attempt", "Show the attempt before.",
        "pager", 3),
    Action("pager.later", "right_square_bracket", "attempt(1)", "later attempt", "Show the attempt after.",
        "pager", 3),
    Action("pager.check", "4", "content('check')", "check", "Show the output of the check.", "pager"),
    Action("pager.agent", "5", "content('agent')", "agent", "Show the output of the agent.", "pager"),
    Action("pager.prompt", "6", "content('prompt')", "prompt", "Show what the agent was told.", "pager"),
    Action("pager.changes", "3", "content('changes')", "changes",
        "Show the changes: since its start, again since its last attempt or checkpoint.", "pager"),
    Action("pager.split", "s", "split", "side by side", "Show old and new lines side by side, or one below the other.",
        "pager", 3),
    Action("pager.unfold", "z", "unfold", "all lines",
        "Show all that the agent's calls returned, or its first lines.", "pager", 3),
    Action("pager.raw", "Z", "raw", "as printed", "Show the output as it was printed, or what it says.", "pager"),
    Action("pager.left", "left", "sideways(-1)", "left", "Scroll to the left.", "pager"),
    Action("pager.right", "right", "sideways(1)", "right", "Scroll to the right.", "pager"),
    Action("pager.line_start", "0", "sideways(-10000000000)", "line start", "Scroll to the first column.", "pager"),
    Action("pager.line_end", "dollar_sign", "line_end", "line end", "Scroll to the end of this line.", "pager"),
    Action("pager.copy", "y", "copy", "copy", "Copy all of it, also to a file.", "pager", 4),
    Action("pager.edit", "e", "edit", "editor", "Open the file in $VISUAL or $EDITOR.", "pager", 4),
    Action("pager.back", "escape,q", "back", "back", "Close the search, then the text.", "pager", 1),
    _choice("confirm", "yes", "y", "Do it", "Do what is shown."),
    _choice("confirm", "no", "n", "Cancel", "Change nothing."),
    _choice("compare", "this", "h", "This run", "Only the run on this screen."),
    _choice("compare", "all", "v", "Every run", "All runs of this project; esc cancels meanwhile."),
    Action("dialog.send", "ctrl+s", "send", "send", "Send what you wrote.", "dialog"),
    Action("dialog.back", "escape,q", "back", "back", "Go back from the text to the choices, then close.", "dialog"),
    Action("dialog.next", "tab", "next_question", "next question", "Go to the next question that waits.", "dialog"),
    Action("dialog.pager", "o", "pager", "output",
        "Show the output of its check, then with 3 to 6 its changes, agent and prompt.", "dialog"),
    Action("dialog.copy", "ctrl+y", "copy", "copy", "Copy the question, also to a file.", "dialog"),
    Action("dialog.shell", "ctrl+o", "by_hand('shell')", "in a shell",
        "Fix it yourself: open $SHELL in the task's files.", "dialog"),
    Action("dialog.editor", "ctrl+g", "by_hand('editor')", "in your editor",
        "Fix it yourself in $VISUAL or $EDITOR.", "dialog"),
    Action("choices.down", "j", "cursor_down", "down", "Next choice.", "choices"),
    Action("choices.up", "k", "cursor_up", "up", "Previous choice.", "choices"),
    Action("choices.read_down", "pagedown,ctrl+d", "screen.read(1)", "read on", "Read the next page.", "choices"),
    Action("choices.read_up", "pageup,ctrl+u", "screen.read(-1)", "read back", "Read the previous page.", "choices"),
    _choice("hands", "tell", "1,t", "Tell the agent", "The agent gets your changes, and your reason."),
    _choice("hands", "check", "c", "Check again", "The check runs now, without the agent."),
    _choice("hands", "again", "w", "Keep editing", "You continue to edit its files."),
    *(_choice(group, one.name, ",".join(filter(None, (one.key, one.also))), one.label, one.effect)
        for group, choices in CHOICE_WORDS.items() for one in choices),
    Action("standstill.begin", "enter", "screen.begin", "begin", "Do all that is listed and resume the run.",
        "standstill"),
    Action("standstill.check", "c", "screen.check", "check", "Run the check of this task now; it decides nothing.",
        "standstill"),
    Action("standstill.all", "a", "screen.all", "continue all", "Every task continues with the files as they are.",
        "standstill"),
    Action("standstill.propose", "e", "screen.propose", "proposals", "Choose what the evaluator proposes.",
        "standstill"),
    Action("standstill.down", "j,down", "cursor(1)", "down", "The next task.", "standstill"),
    Action("standstill.up", "k,up", "cursor(-1)", "up", "The task before.", "standstill"),
    Action("standstill.read_down", "pagedown,ctrl+d", "screen.read(1)", "read on", "Read on about the task.",
        "standstill"),
    Action("standstill.read_up", "pageup,ctrl+u", "screen.read(-1)", "read back", "Read back about the task.",
        "standstill"),
    Action("standstill.help", "question_mark,f1", "app.help", "help", "List all keys.", "standstill"),
    Action("standstill.leave", "escape,q,ctrl+q", "screen.undecided", "leave",
        "Leave: nothing is decided, and all stays as it was found.", "standstill"),
    _choice("quit", "stop", "S", "Stop the run", "Every agent is ended; you can resume the run later."),
    _choice("quit", "leave", "l", "Let it continue", "The run continues without a screen."),
    _choice("quit", "stay", "n", "Stay", "Back to the screen."),
)  # fmt: skip


def actions_of(*areas: Area) -> tuple[Action, ...]:
    return tuple(action for action in ACTIONS if action.area in areas)


def bindings_of(*areas: Area) -> list[BindingType]:
    return [_binding(action) for action in actions_of(*areas)]


def _binding(action: Action) -> Binding:
    return Binding(
        action.keys,
        action.does,
        action.short or action.label,
        show=bool(action.footer),
        priority=action.everywhere,
        tooltip=action.help,
        id=action.id,
    )


_remapped: ContextVar[Mapping[str, str]] = ContextVar("remapped", default=MappingProxyType({}))


def remap(keys: Mapping[str, str]) -> None:
    """From now on these actions have other keys, by their ids; all others have their own.

    For whatever is started from here: two screens of one process may have keys of their own.
    """
    _remapped.set(dict(keys))


def keys_now(action: Action) -> str:
    """The keys of ``action`` with a comma between them: the person's own, where there are some."""
    return _remapped.get().get(action.id, action.keys)


def action_of(id: str) -> Action:
    return next(action for action in ACTIONS if action.id == id)


RANKS = {action.id: action.footer for action in ACTIONS if action.footer}
"""The ranks in the footer of the actions that have a place there."""


def key_of(id: str) -> str:
    return keys_now(action_of(id)).split(",")[0]


_SPOKEN = {
    "slash": "/", "question_mark": "?", "pagedown": "page down", "pageup": "page up", "escape": "esc",
    "less_than_sign": "<", "greater_than_sign": ">", "plus": "+", "equals_sign": "=", "minus": "-",
    "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip


def spoken(id: str) -> str:
    """The first key of an action as people write it."""
    return _spoken(key_of(id))


def _spoken(key: str) -> str:
    return _SPOKEN.get(key, key.replace("ctrl+", "^"))


def taken_of(actions: Iterable[Action]) -> frozenset[str]:
    """The keys that come before those of whatever has the focus."""
    return frozenset(key for action in actions if action.everywhere for key in keys_now(action).split(","))


def keys_of(actions: Iterable[Action], *, taken: Collection[str] = ()) -> list[tuple[str, str]]:
    """(keys as people write them, what they do) for help; of keys that are ``taken`` only what they mean everywhere."""
    rows = ((keys_now(action).split(","), action) for action in actions)
    left = (([key for key in keys if action.everywhere or key not in taken], action) for keys, action in rows)
    return [(" ".join(map(_spoken, keys)), action.help) for keys, action in left if keys]
