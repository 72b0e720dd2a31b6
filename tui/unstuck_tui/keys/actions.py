"""Everything a person can do, in one registry: bindings, footer, palette, help and key documents all come from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

__all__ = [
    "ACTIONS",
    "AREA_NAMES",
    "Action",
    "Area",
    "actions_of",
    "bindings_of",
    "key_of",
    "keys_now",
    "keys_of",
    "remap",
    "spoken",
    "taken_of",
]  # fmt: skip

Area = Literal[
    "app", "main", "attention", "table", "detail", "dialog", "choices",
    "stuck", "loop", "timeout", "question", "permission", "remediation", "integration", "budget", "room", "recovery",
    "quit", "decide", "hands", "replay", "log", "logs", "standstill",
    "graph", "browse", "rows", "signatures", "checkpoints", "memory", "cut_off", "deletion", "confirm",
]  # fmt: skip

AREA_NAMES: dict[Area, str] = {
    "app": "Everywhere",
    "main": "Main screen",
    "attention": "Needs you",
    "table": "Tasks",
    "detail": "Detail",
    "replay": "Replay",
    "log": "Log",
    "logs": "What is shown of it",
    "recovery": "What becomes of a task that was cut off",
    "standstill": "Recovery",
    "graph": "Plan",
    "browse": "Browse",
    "rows": "List",
    "signatures": "Signatures",
    "checkpoints": "Checkpoints",
    "memory": "Memory",
    "cut_off": "Recovery",
    "deletion": "Deletion",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do: ``id`` names it for remapping, ``does`` is the Textual action, ``footer`` its place there.

    ``everywhere``: its keys come before those of whatever has the focus, dialogs and fields included.
    """

    id: str
    keys: str
    does: str
    label: str
    help: str
    area: Area
    footer: bool = False
    everywhere: bool = False


def _choice(area: Area, name: str, keys: str, label: str, help: str) -> Action:
    """A choice of a dialog; in all dialogs about a task, the same key means the same."""
    return Action(f"{area}.{name}", keys, f"choose('{name}')", label, help, area)


ACTIONS: tuple[Action, ...] = (
    Action("gate.answer", "a", "answer", "answer",
        "Answer the question of the selected task, else the oldest one.", "main", True),
    Action("task.open", "enter", "screen.open", "open",
        "Show the selected task's attempts, failure and output.", "table", True),
    Action("table.filter", "slash", "filter", "filter",
        "Show only tasks with these words; begin with ! to hide them.", "main", True),
    Action("table.sort", "s", "sort", "sort", "Sort by the next of: plan, state, time left, name.", "main", True),
    Action("app.help", "question_mark,f1", "help", "help", "What the keys do here.", "app", True),
    Action("app.quit", "q,ctrl+q", "leave", "quit",
        "Leave the screen; while agents run, a question comes first.", "app", True),
    Action("app.interrupt", "ctrl+c", "leave", "quit",
        "The same from anywhere, also out of a dialog or a text.", "app", everywhere=True),
    Action("app.clear", "ctrl+l", "clear", "clear",
        "Clear what was said in passing, also over a dialog or a text; so does esc where it does nothing else.", "app",
        everywhere=True),
    Action("view.back", "escape", "back", "back",
        "Back to the table; once there, forget the filter, then the marks.", "main", True),
    Action("page.timeline", "1", "page('timeline')", "timeline", "What was tried, attempt by attempt.", "main"),
    Action("page.ladder", "2", "page('ladder')", "ladder",
        "Where the task stands on the ladder, and what comes next.", "main"),
    Action("page.changes", "3", "page('changes')", "changes",
        "What has changed in its files since its last checkpoint.", "main"),
    Action("view.log", "l", "log", "log", "Every record of the run.", "main"),
    Action("view.plan", "d", "plan", "dependencies",
        "The plan as a graph: who needs whom, what holds what, the longest way that is left.", "main"),
    Action("task.hold", "h", "hold", "hold",
        "Let the agent of the selected task, or those of the marked ones, stand still.", "main"),
    Action("task.decide", "m", "decide", "decide",
        "More time, another approach, skip: for the selected task, or the marked ones.", "main"),
    Action("task.shell", "w", "by_hand('shell')", "do it yourself",
        "Work in the selected task's files yourself, in $SHELL: its agent stands still, and is told what you changed.",
        "main"),
    Action("task.edit", "e", "by_hand('editor')", "edit yourself", "The same in $VISUAL or $EDITOR.", "main"),
    Action("view.browse", "b", "browse", "browse",
        "Failures, checkpoints, memory, what was cut off, and what can be deleted.", "main"),
    Action("view.copy", "y", "copy", "copy",
        "Copy the selected question, or the task's failure with its file and line; a file has it, too.", "main"),
    Action("mute.task", "u", "mute", "mute",
        "No notifications of the selected task, or of the marked ones: for an hour, for good, again some.", "main"),
    Action("mute.all", "U", "mute_all", "mute all",
        "No notifications at all: for an hour, for good, again some.", "main"),
    Action("view.next", "tab", "app.focus_next", "next pane", "To the next pane.", "main"),
    Action("view.previous", "shift+tab", "app.focus_previous", "previous pane", "To the pane before.", "main"),
    Action("app.suspend", "ctrl+z", "suspend", "suspend",
        "To the shell and back with fg; not while the run goes on.", "app"),
    Action("app.theme", "ctrl+t", "theme", "colours",
        "The next of: dark, light, the terminal's own 16 colours.", "app"),
    Action("app.palette", "ctrl+p", "command_palette", "palette", "Search everything that can be done.", "app"),
    Action("table.down", "j,down", "cursor(1)", "down", "The next row.", "table"),
    Action("table.up", "k,up", "cursor(-1)", "up", "The row before.", "table"),
    Action("table.page_down", "pagedown,ctrl+d", "page(1)", "page down", "A page on.", "table"),
    Action("table.page_up", "pageup,ctrl+u", "page(-1)", "page up", "A page back.", "table"),
    Action("table.first", "g,home", "cursor(-1000000)", "first", "The first row.", "table"),
    Action("table.last", "G,end", "cursor(1000000)", "last", "The last row.", "table"),
    Action("table.mark", "space", "mark", "mark", "Mark this task, or unmark it, to decide about several.", "table"),
    Action("sort.plan", "P", "sort_by('plan')", "sort by plan", "The order of the plan.", "table"),
    Action("sort.state", "S", "sort_by('state')", "sort by state", "What needs you first, then what works.", "table"),
    Action("sort.time", "T", "sort_by('time')", "sort by time left", "The least time left first.", "table"),
    Action("sort.name", "N", "sort_by('name')", "sort by name", "By the task's name.", "table"),
    Action("attention.down", "j,down", "cursor(1)", "down", "The next question.", "attention"),
    Action("attention.up", "k,up", "cursor(-1)", "up", "The question before.", "attention"),
    Action("attention.answer", "enter", "open", "answer", "Answer this question.", "attention"),
    Action("detail.down", "j,down", "scroll_down", "down", "A line on.", "detail"),
    Action("detail.up", "k,up", "scroll_up", "up", "A line back.", "detail"),
    Action("detail.page_down", "pagedown,ctrl+d,space", "page_down", "page down", "A page on.", "detail"),
    Action("detail.page_up", "pageup,ctrl+u", "page_up", "page up", "A page back.", "detail"),
    Action("detail.first", "g,home", "scroll_home", "top", "To the top.", "detail"),
    Action("detail.last", "G,end", "scroll_end", "end", "To the end, and follow it.", "detail"),
    Action("replay.play", "space", "play", "play", "Let time pass, or stand still.", "replay", everywhere=True),
    Action("replay.on", "right", "step(1)", "step", "The next record.", "replay", everywhere=True),
    Action("replay.back", "left", "step(-1)", "step back", "The record before.", "replay", everywhere=True),
    Action("replay.far_on", "shift+right,right_square_bracket", "step(20)", "twenty on", "Twenty records on.", "replay",
        everywhere=True),
    Action("replay.far_back", "shift+left,left_square_bracket", "step(-20)", "twenty back", "Twenty records back.",
        "replay", everywhere=True),
    Action("replay.failure", "n", "next('failures')", "next failure", "Where something fails next.", "replay",
        everywhere=True),
    Action("replay.gate", "g", "next('gates')", "next question", "Where a person is asked next.", "replay",
        everywhere=True),
    Action("replay.before", "p", "previous", "trouble before", "The failure or question before.", "replay",
        everywhere=True),
    Action("replay.begin", "less_than_sign", "go_to(0)", "begin", "To its begin.", "replay", everywhere=True),
    Action("replay.end", "greater_than_sign", "go_to(-1)", "end", "To its end.", "replay", everywhere=True),
    Action("replay.faster", "plus,equals_sign", "speed(1)", "faster", "Let time pass faster.", "replay",
        everywhere=True),
    Action("replay.slower", "minus", "speed(-1)", "slower", "Let time pass more slowly.", "replay", everywhere=True),
    Action("log.open", "enter", "screen.open", "record", "All that stands in this record, or no more.", "log", True),
    Action("log.down", "j,down", "cursor(1)", "down", "The next record.", "log"),
    Action("log.up", "k,up", "cursor(-1)", "up", "The record before.", "log"),
    Action("log.page_down", "pagedown,ctrl+d,space", "page(1)", "page down", "A page on.", "log"),
    Action("log.page_up", "pageup,ctrl+u", "page(-1)", "page up", "A page back.", "log"),
    Action("log.first", "g,home", "cursor(-10000000000)", "first", "The first record.", "log"),
    Action("log.last", "G,end", "cursor(10000000000)", "last", "The last record.", "log"),
    Action("logs.filter", "slash", "filter", "look for",
        "Look for words, a task, an event, or who did it.", "logs", True),
    Action("logs.follow", "f", "follow", "follow", "Follow what comes, or stay where you are.", "logs", True),
    Action("logs.without_me", "d", "without_me", "without me", "Only what was decided without you.", "logs", True),
    Action("logs.task", "t", "only_task", "this task", "Only the task that was selected.", "logs", True),
    Action("logs.copy", "y", "copy", "copy", "Copy this record; a file has it, too.", "logs"),
    Action("logs.back", "escape", "back", "back", "Back: the record, the words, then the log itself.", "logs", True),
    Action("graph.open", "enter", "screen.open", "select", "Back to the main screen, with this task selected.", "graph",
        True),
    Action("graph.holder", "o", "holder", "what it waits for", "To the task that this one waits for.", "graph", True),
    Action("graph.pane", "tab,shift+tab", "app.focus_next", "other pane",
        "From the graph to what is said about the task, and back.", "graph"),
    Action("graph.back", "escape", "back", "back", "Back to the main screen.", "graph", True),
    Action("browse.signatures", "1", "turn_to(0)", "signatures", "The failures, each once.", "browse"),
    Action("browse.checkpoints", "2", "turn_to(1)", "checkpoints", "What was saved of the files.", "browse"),
    Action("browse.memory", "3", "turn_to(2)", "memory", "What the project has learnt.", "browse"),
    Action("browse.recovery", "4", "turn_to(3)", "recovery", "Runs that were cut off.", "browse"),
    Action("browse.deletion", "5", "turn_to(4)", "deletion", "What deleting a run would destroy.", "browse"),
    Action("browse.next", "right,right_square_bracket", "turn_by(1)", "next tab", "The next tab.", "browse"),
    Action("browse.previous", "left,left_square_bracket", "turn_by(-1)", "tab before", "The tab before.", "browse"),
    Action("browse.pane", "tab,shift+tab", "app.focus_next", "other pane",
        "From the list to what is said about its row, and back.", "browse"),
    Action("browse.again", "f5,R", "again", "look again", "Read everything anew.", "browse"),
    Action("browse.back", "escape", "back", "back", "Back: what was compared, then the screen itself.", "browse", True),
    Action("rows.down", "j,down", "cursor(1)", "down", "The next row.", "rows"),
    Action("rows.up", "k,up", "cursor(-1)", "up", "The row before.", "rows"),
    Action("rows.page_down", "pagedown,ctrl+d", "page(1)", "page down", "A page on.", "rows"),
    Action("rows.page_up", "pageup,ctrl+u", "page(-1)", "page up", "A page back.", "rows"),
    Action("rows.first", "g,home", "cursor(-10000000000)", "first", "The first row.", "rows"),
    Action("rows.last", "G,end", "cursor(10000000000)", "last", "The last row.", "rows"),
    Action("signatures.log", "enter", "act('signatures', 'log')", "occurrences",
        "Its occurrences, in the log.", "signatures", True),
    Action("signatures.edit", "e", "act('signatures', 'edit')", "edit",
        "Open the place in $VISUAL or $EDITOR, or copy it.", "signatures", True),
    Action("signatures.answer", "a", "act('signatures', 'answer')", "answer all",
        "One answer for all tasks that ask about this failure.", "signatures", True),
    Action("checkpoints.mark", "space", "act('checkpoints', 'mark')", "mark",
        "Mark it, to compare two; a third mark takes the first away.", "checkpoints", True),
    Action("checkpoints.diff", "d", "act('checkpoints', 'diff')", "compare",
        "Compare the marked two, or this one with the files as they are, file by file.", "checkpoints", True),
    Action("checkpoints.next", "n", "act('checkpoints', 'next')", "next file",
        "To the next file of what was compared.", "checkpoints"),
    Action("checkpoints.restore", "r", "act('checkpoints', 'restore')", "restore",
        "Set the files back to it: first shows what would change, and asks.", "checkpoints", True),
    Action("checkpoints.undo", "u", "act('checkpoints', 'undo')", "undo",
        "Take back the last restore in its tree: first shows what would change, and asks.", "checkpoints", True),
    Action("memory.forget", "f", "act('memory', 'forget')", "forget", "Forget it, after a question.", "memory", True),
    Action("memory.promote", "p", "act('memory', 'promote')", "promote",
        "Make an answer a rule: agents are told it by themselves.", "memory", True),
    Action("cut_off.look", "enter", "act('recovery', 'look')", "what it left",
        "What it has left: files, processes, checkpoints, its check.", "cut_off", True),
    Action("deletion.look", "enter", "act('deletion', 'look')", "inventory",
        "What a deletion of this run would destroy, with sizes.", "deletion", True),
    Action("deletion.delete", "D", "act('deletion', 'delete')", "delete",
        "Delete this run: shows what would go, and wants its name typed.", "deletion", True),
    _choice("confirm", "yes", "y", "Do it", "As it stands there."),
    _choice("confirm", "no", "n", "Leave it", "Nothing is changed."),
    Action("dialog.send", "ctrl+s", "send", "send", "Send what you wrote.", "dialog"),
    Action("dialog.back", "escape", "back", "back",
        "From the text to the choices, then out.", "dialog"),
    Action("dialog.copy", "ctrl+y", "copy", "copy", "Copy what is asked; a file has it, too.", "dialog"),
    Action("dialog.shell", "ctrl+o", "by_hand('shell')", "in a shell",
        "Instead of writing how: do it yourself in the task's files, in $SHELL.", "dialog"),
    Action("dialog.editor", "ctrl+g", "by_hand('editor')", "in your editor",
        "The same in $VISUAL or $EDITOR.", "dialog"),
    Action("choices.down", "j", "cursor_down", "down", "The next choice.", "choices"),
    Action("choices.up", "k", "cursor_up", "up", "The choice before.", "choices"),
    Action("choices.read_down", "pagedown,ctrl+d", "screen.read(1)", "read on",
        "Read a page on.", "choices"),
    Action("choices.read_up", "pageup,ctrl+u", "screen.read(-1)", "read back",
        "Read a page back.", "choices"),
    _choice("stuck", "show_me", "1", "Show me how", "You write it; the agent follows it."),
    _choice("stuck", "skip", "2", "Skip this part for now", "The task is left out, and offered again on resume."),
    _choice("stuck", "abandon", "3", "Abandon the task", "The task ends for good."),
    _choice("stuck", "retry", "4", "Retry with another approach", "A fresh session goes your way."),
    _choice("loop", "show_me", "1", "Show me how", "You write it; the agent follows it."),
    _choice("loop", "skip", "2", "Skip this part for now", "The task is left out, and offered again on resume."),
    _choice("loop", "abandon", "3", "Abandon the task", "The task ends for good."),
    _choice("loop", "retry", "4", "Retry with another approach", "A fresh session goes your way."),
    _choice("loop", "continue__once", "5", "Not a loop, go on: once", "The next repetition asks again."),
    _choice("loop", "continue__pattern", "6", "Not a loop: this pattern", "This repetition is not asked about again."),
    _choice("loop", "continue__task", "7", "Not a loop: this task", "No repetition of this task is asked about again."),
    _choice("timeout", "extend", "1", "Extend", "It gets more time from now on; then you are asked again."),
    _choice("timeout", "skip", "2", "Skip this part for now", "The task is left out, and offered again on resume."),
    _choice("timeout", "abandon", "3", "Abandon the task", "The task ends for good."),
    _choice("timeout", "retry", "4", "Stop, retry with an approach",
        "It is stopped and begins afresh your way."),
    _choice("timeout", "continue", "5", "Let it run", "This attempt has no limit any more."),
    _choice("timeout", "stop", "6", "Stop and retry", "It is stopped and given the same task again."),
    _choice("question", "show_me", "t", "In your own words", "You write it; the agent follows it."),
    _choice("question", "skip", "s", "Skip this part for now", "The task is left out, and offered again on resume."),
    _choice("question", "abandon", "x", "Abandon the task", "The task ends for good."),
    _choice("question", "retry", "r", "Another approach", "A fresh session goes your way."),
    _choice("question", "continue", "c", "Let it go on", "The agent goes on as if nothing had been."),
    _choice("decide", "extend", "1", "More time", "So much from now on; then it is asked about again."),
    _choice("decide", "show_me", "2", "Show it how", "You write it; each agent follows it."),
    _choice("decide", "retry", "3", "Another approach", "Each is stopped and begins afresh your way."),
    _choice("decide", "continue", "4", "Let it go on", "What stands still because you held it goes on."),
    _choice("decide", "skip", "5", "Skip for now", "Left out, and offered again on resume."),
    _choice("decide", "abandon", "6", "Abandon", "Ended for good."),
    _choice("decide", "first", "7", "Stop, begin again", "Each is stopped and given the same once more."),
    _choice("decide", "pivot", "8", "Pivot now", "Its next attempt takes another approach, on files as they were."),
    _choice("decide", "research", "9", "Research now", "Its next attempt begins by finding out."),
    _choice("decide", "human", "0", "Ask me now", "It is stopped, and asks you with its report."),
    _choice("hands", "tell", "1", "Tell the agent", "It is told what you changed, and why."),
    _choice("hands", "again", "2", "Back to it", "You go on working in its files."),
    _choice("permission", "allow", "1", "Allow", "It may do this."),
    _choice("permission", "deny", "2", "Deny", "It may not, and is told so."),
    _choice("remediation", "retry", "1", "Look again",
        "The check runs once more: you have mended it, in that tree or around it."),
    _choice("remediation", "skip", "2", "Go on all the same", "The tasks start on the ground as it is."),
    _choice("remediation", "abandon", "3", "Give up", "The run is halted."),
    _choice("integration", "retry", "1", "Try again", "You have resolved it: the same is tried once more."),
    _choice("integration", "skip", "2", "Skip this part for now",
        "The task is left out, and offered again on resume."),
    _choice("integration", "abandon", "3", "Abandon the task", "The task ends for good."),
    _choice("room", "retry", "1", "Look again", "You have made room; it is looked for by itself, too, every second."),
    _choice("room", "abandon", "3", "Give up", "The run ends here; what has happened since is not in its record."),
    _choice("budget", "extend", "1", "Extend", "The run gets more."),
    _choice("budget", "stop", "2", "Stop", "The run ends here."),
    _choice("recovery", "continue", "1", "Go on", "It begins again on the files as they are."),
    _choice("recovery", "skip", "2", "Skip this part for now", "Left out, and offered again on resume."),
    _choice("recovery", "abandon", "3", "Abandon the task", "The task ends for good."),
    _choice("recovery", "retry", "4", "Go back and redo", "The files go back to where it began."),
    _choice("recovery", "done", "5", "It is done", "Only if its check passes, which runs now."),
    _choice("recovery", "adopt", "6", "Let it work on", "The check judges its end."),
    _choice("recovery", "stop", "7", "Stop it and begin again", "It is ended, and its attempt begins again."),
    Action("standstill.begin", "enter", "screen.begin", "begin", "Do all that is listed, and let the run go on.",
        "standstill"),
    Action("standstill.check", "c", "screen.check", "check", "Run the check of this task now; it decides nothing.",
        "standstill"),
    Action("standstill.all", "a", "screen.all", "all go on", "Everything goes on with the files as they are.",
        "standstill"),
    Action("standstill.propose", "e", "screen.propose", "proposals", "Choose what the evaluator proposes.",
        "standstill"),
    Action("standstill.down", "j,down", "cursor(1)", "down", "The next task.", "standstill"),
    Action("standstill.up", "k,up", "cursor(-1)", "up", "The task before.", "standstill"),
    Action("standstill.read_down", "pagedown,ctrl+d", "screen.read(1)", "read on", "Read on about the task.",
        "standstill"),
    Action("standstill.read_up", "pageup,ctrl+u", "screen.read(-1)", "read back", "Read back about the task.",
        "standstill"),
    Action("standstill.help", "question_mark,f1", "app.help", "help", "What the keys do here.", "standstill"),
    Action("standstill.leave", "escape,q,ctrl+q", "screen.undecided", "leave",
        "Leave: nothing is decided, and all stays as it was found.", "standstill"),
    _choice("quit", "stop", "1", "Stop all agents", "Every agent is ended; the run can be resumed."),
    _choice("quit", "leave", "2", "Leave them at work", "The run goes on without a screen."),
    _choice("quit", "stay", "3", "Stay", "Back to the screen."),
)  # fmt: skip


def actions_of(*areas: Area) -> tuple[Action, ...]:
    """The actions of these areas, in their order."""
    return tuple(action for action in ACTIONS if action.area in areas)


def bindings_of(*areas: Area) -> list[BindingType]:
    """Textual's bindings for these areas."""
    return [_binding(action) for action in actions_of(*areas)]


def _binding(action: Action) -> Binding:
    return Binding(
        action.keys,
        action.does,
        action.label,
        show=action.footer,
        priority=action.everywhere,
        tooltip=action.help,
        id=action.id,
    )


_remapped: dict[str, str] = {}


def remap(keys: Mapping[str, str]) -> None:
    """From now on these actions have other keys, by their ids; all others have their own.

    For the whole process: one person sits before it, and whatever names a key names the one that works.
    """
    _remapped.clear()
    _remapped.update(keys)


def keys_now(action: Action) -> str:
    """The keys of ``action`` with a comma between them: the person's own, where there are some."""
    return _remapped.get(action.id, action.keys)


def key_of(id: str) -> str:
    """The first key of an action."""
    return next(keys_now(action).split(",")[0] for action in ACTIONS if action.id == id)


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
