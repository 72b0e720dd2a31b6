"""Choices of questions in words: the key, the label and the effect of each, in the order in which they are offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from unstuck.contract import Gate

Group = Literal[
    "stuck", "loop", "timeout", "question", "permission", "remediation", "integration", "budget", "room", "recovery",
    "decide",
]  # fmt: skip
"""Questions with the same choices; ``room`` is a full disk of the run, ``decide`` a decision without a question."""


class ChoiceWords(NamedTuple):
    """A choice as people read it: ``name`` is the choice, with its scope after two underscores.

    A key means the same in every question. ``also`` is the letter of a choice whose ``key`` is a digit.
    """

    name: str
    key: str
    label: str
    effect: str
    also: str = ""


_WRITE = "You write what to do; the agent follows it."
_APPROACH = "A new session starts with your approach."
BY_AGENT = "retry__agent"
"""Name of the choice that gives a conflict to an agent: a retry with a text."""
_SHOW_ME = ChoiceWords("show_me", "1", "Show me how", _WRITE, "t")
_SKIP = ChoiceWords("skip", "2", "Skip this part for now", "You are asked again when you resume.", "s")
_ABANDON = ChoiceWords("abandon", "3", "Abandon the task", "The task ends without a result.", "x")
_RETRY = ChoiceWords("retry", "4", "Retry with another approach", _APPROACH, "r")

CHOICE_WORDS: dict[Group, tuple[ChoiceWords, ...]] = {
    "stuck": (
        _SHOW_ME,
        _SKIP,
        _ABANDON,
        _RETRY,
        ChoiceWords("check", "c", "Check again", "You fixed it: only the check runs now."),
    ),
    "loop": (
        _SHOW_ME,
        _SKIP,
        _ABANDON,
        _RETRY,
        ChoiceWords("continue__once", "l", "Let it continue: once", "You are asked again at the next repetition."),
        ChoiceWords(
            "continue__pattern", "P", "Let it continue: this pattern", "You are not asked about this repetition again."
        ),
        ChoiceWords(
            "continue__task",
            "T",
            "Let it continue: this task",
            "You are not asked about this task's repetitions again.",
        ),
    ),
    "timeout": (
        ChoiceWords("extend", "e", "More time", "You choose how long; then you are asked again."),
        _SKIP,
        _ABANDON,
        ChoiceWords("retry", "4", "Restart with your approach", "The agent restarts with your approach.", "r"),
        ChoiceWords("continue", "l", "No time limit", "This attempt has no time limit."),
        ChoiceWords("stop", "b", "Restart", "The agent restarts with the same task."),
    ),
    "question": (
        ChoiceWords("show_me", "t", "In your own words", _WRITE),
        ChoiceWords("skip", "s", _SKIP.label, _SKIP.effect),
        ChoiceWords("abandon", "x", _ABANDON.label, _ABANDON.effect),
        ChoiceWords("retry", "r", "Another approach", _APPROACH),
        ChoiceWords("continue", "l", "Let it continue", "The agent continues."),
    ),
    "permission": (
        ChoiceWords("allow", "y", "Allow", "The agent may do this."),
        ChoiceWords("deny", "n", "Deny", "Refuses this, and tells the agent so."),
        ChoiceWords("allow__task", "T", "Allow such calls: this task", "Not asked again in this task."),
        ChoiceWords("allow__run", "R", "Allow such calls: this run", "Not asked again in this run."),
        ChoiceWords("allow__always", "A", "Allow such calls: always", "Not asked again in any project of yours."),
    ),
    "remediation": (
        ChoiceWords(
            "retry", "c", "Check again", "You have fixed it in that worktree or around it: the check runs now."
        ),
        ChoiceWords("skip", "l", "Continue anyway", "The tasks start although the baseline check fails."),
        ChoiceWords("abandon", "3", "Give up", "The run stops.", "x"),
    ),
    "integration": (
        ChoiceWords("retry", "c", "Check again", "You have merged it: it is checked and brought in again."),
        _SKIP,
        _ABANDON,
        ChoiceWords(
            BY_AGENT, "f", "Let an agent resolve it", "You write how; the agent gets the merge with both sides."
        ),
    ),
    "room": (
        ChoiceWords("retry", "c", "Check again", "You have freed space; unstuck also looks every second."),
        ChoiceWords("abandon", "3", "Give up", "The run ends here; later events are not in its event log.", "x"),
    ),
    "budget": (
        ChoiceWords("extend", "e", "Add to the budget", "The run gets a larger budget."),
        ChoiceWords("stop", "S", "End the run", "The run ends here."),
    ),
    "recovery": (
        ChoiceWords("continue", "l", "Continue", "The task starts again on the files as they are."),
        _SKIP,
        _ABANDON,
        ChoiceWords("retry", "4", "Restore and redo", "The files are restored to the attempt's start.", "r"),
        ChoiceWords("done", "d", "It is done", "Only if its check passes, which runs now."),
        ChoiceWords("adopt", "g", "Keep it running", "The check runs when it ends."),
        ChoiceWords("stop", "b", "Stop it and start again", "The process is ended, and its attempt starts again."),
    ),
    "decide": (
        ChoiceWords("extend", "e", "More time", "The attempt gets more time; then you are asked again."),
        ChoiceWords("show_me", "t", "Show it how", "You write what to do; each agent follows it."),
        ChoiceWords("retry", "r", "Another approach", "Each agent restarts with your approach."),
        ChoiceWords("continue", "l", "Let it continue", "Resumes what you held."),
        ChoiceWords("skip", "s", "Skip for now", "You are asked again when you resume."),
        ChoiceWords("abandon", "x", "Abandon", "The task ends without a result."),
        ChoiceWords("first", "b", "Restart", "Each agent restarts with the same task."),
        ChoiceWords("pivot", "p", "New approach now", "The next attempt takes another approach, from the saved files."),
        ChoiceWords("research", "i", "Research now", "The next attempt starts with research."),
        ChoiceWords("human", "a", "Ask me now", "The agent stops, and you get its report and a question."),
    ),
}
FIELD_WORDS = {
    "lines": "What should the agent do?",
    "line": "The other approach, in a sentence",
    "reason": "Why not, and what instead; it may be left empty",
    "duration": "15m",
    "tokens": "50000",
    "cost": "2.50",
    "command": "The command that decides whether the task is done",
}
"""Label of the field of a choice that takes a text."""
_GROUPS: dict[str, Group] = {"loop_detected": "loop", "disk": "integration"}


def group_of(gate: Gate) -> Group:
    """Return the group of choices that ``gate`` offers."""
    if gate.type == "disk" and not gate.task:
        return "room"
    named: dict[str, Group] = {group: group for group in CHOICE_WORDS}
    return _GROUPS.get(gate.type) or named[gate.type]
