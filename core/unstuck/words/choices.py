"""Choices of questions in words: the key, the label and the effect of each, in the order in which they are offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstuck.contract import Gate

Group = Literal[
    "stuck", "loop", "timeout", "question", "permission", "remediation", "integration", "budget", "room", "recovery",
    "decide",
]  # fmt: skip
"""Questions with the same choices; ``room`` is a full disk of the run, ``decide`` a decision without a question."""


@dataclass(frozen=True, slots=True)
class ChoiceWords:
    """A choice as people read it: ``name`` is the choice, with its scope after two underscores."""

    name: str
    key: str
    label: str
    effect: str


_WRITE = "You write what to do; the agent follows it."
_SKIP = ("Skip this part for now", "The task is left out; you are asked again when you resume.")
_ABANDON = ("Abandon the task", "The task ends without a result.")
_APPROACH = "A new session starts with your approach."

CHOICE_WORDS: dict[Group, tuple[ChoiceWords, ...]] = {
    "stuck": (
        ChoiceWords("show_me", "1", "Show me how", _WRITE),
        ChoiceWords("skip", "2", *_SKIP),
        ChoiceWords("abandon", "3", *_ABANDON),
        ChoiceWords("retry", "4", "Retry with another approach", _APPROACH),
        ChoiceWords("check", "c", "Check again", "You have fixed it: the check runs now, without the agent."),
    ),
    "loop": (
        ChoiceWords("show_me", "1", "Show me how", _WRITE),
        ChoiceWords("skip", "2", *_SKIP),
        ChoiceWords("abandon", "3", *_ABANDON),
        ChoiceWords("retry", "4", "Retry with another approach", _APPROACH),
        ChoiceWords("continue__once", "5", "Not a loop, continue: once", "You are asked again at the next repetition."),
        ChoiceWords(
            "continue__pattern", "6", "Not a loop: this pattern", "You are not asked about this repetition again."
        ),
        ChoiceWords(
            "continue__task", "7", "Not a loop: this task", "You are not asked about repetitions of this task again."
        ),
    ),
    "timeout": (
        ChoiceWords("extend", "1", "Extend", "The attempt gets more time; then you are asked again."),
        ChoiceWords("skip", "2", *_SKIP),
        ChoiceWords("abandon", "3", *_ABANDON),
        ChoiceWords("retry", "4", "Stop, retry with an approach", "The agent restarts with your approach."),
        ChoiceWords("continue", "5", "Let it run", "This attempt has no time limit."),
        ChoiceWords("stop", "6", "Stop and retry", "The agent restarts with the same task."),
    ),
    "question": (
        ChoiceWords("show_me", "t", "In your own words", _WRITE),
        ChoiceWords("skip", "s", *_SKIP),
        ChoiceWords("abandon", "x", *_ABANDON),
        ChoiceWords("retry", "r", "Another approach", _APPROACH),
        ChoiceWords("continue", "c", "Let it continue", "The agent continues."),
    ),
    "permission": (
        ChoiceWords("allow", "1", "Allow", "The agent may do this."),
        ChoiceWords("deny", "2", "Deny", "The agent may not do this, and is told so."),
        ChoiceWords("allow__task", "3", "Allow such calls: this task", "Not asked again in this task."),
        ChoiceWords("allow__run", "4", "Allow such calls: this run", "Not asked again in this run."),
        ChoiceWords("allow__always", "5", "Allow such calls: always", "Not asked again in any project of yours."),
    ),
    "remediation": (
        ChoiceWords(
            "retry", "1", "Look again", "The check runs again: you have fixed it in that worktree or around it."
        ),
        ChoiceWords("skip", "2", "Continue anyway", "The tasks start although the baseline check fails."),
        ChoiceWords("abandon", "3", "Give up", "The run stops."),
    ),
    "integration": (
        ChoiceWords("retry", "1", "Try again", "You have resolved it: unstuck tries again."),
        ChoiceWords("skip", "2", *_SKIP),
        ChoiceWords("abandon", "3", *_ABANDON),
    ),
    "room": (
        ChoiceWords("retry", "1", "Look again", "You have freed space; unstuck also looks every second."),
        ChoiceWords("abandon", "3", "Give up", "The run ends here; later events are not in its event log."),
    ),
    "budget": (
        ChoiceWords("extend", "1", "Extend", "The run gets a larger budget."),
        ChoiceWords("stop", "2", "Stop", "The run ends here."),
    ),
    "recovery": (
        ChoiceWords("continue", "1", "Continue", "The task starts again on the files as they are."),
        ChoiceWords("skip", "2", "Skip this part for now", "Left out; you are asked again when you resume."),
        ChoiceWords("abandon", "3", *_ABANDON),
        ChoiceWords("retry", "4", "Restore and redo", "The files are restored to the start of the attempt."),
        ChoiceWords("done", "5", "It is done", "Only if its check passes, which runs now."),
        ChoiceWords("adopt", "6", "Keep it running", "The check runs when it ends."),
        ChoiceWords("stop", "7", "Stop it and start again", "The process is ended, and its attempt starts again."),
    ),
    "decide": (
        ChoiceWords("extend", "1", "More time", "The attempt gets more time; then you are asked again."),
        ChoiceWords("show_me", "2", "Show it how", "You write what to do; each agent follows it."),
        ChoiceWords("retry", "3", "Another approach", "Each agent restarts with your approach."),
        ChoiceWords("continue", "4", "Let it continue", "Resumes what you paused."),
        ChoiceWords("skip", "5", "Skip for now", "Left out; you are asked again when you resume."),
        ChoiceWords("abandon", "6", "Abandon", "The task ends without a result."),
        ChoiceWords("first", "7", "Restart", "Each agent restarts with the same task."),
        ChoiceWords("pivot", "8", "New approach now", "The next attempt takes another approach, from the saved files."),
        ChoiceWords("research", "9", "Research now", "The next attempt starts with research."),
        ChoiceWords("human", "0", "Ask me now", "The agent stops, and you get its report and a question."),
    ),
}
_GROUPS: dict[str, Group] = {"loop_detected": "loop", "disk": "integration"}


def group_of(gate: Gate) -> Group:
    """Return the group of choices that ``gate`` offers."""
    if gate.type == "disk" and not gate.task:
        return "room"
    named: dict[str, Group] = {group: group for group in CHOICE_WORDS}
    return _GROUPS.get(gate.type) or named[gate.type]
