"""The signs and words of the screen, each with a sentence, for people who meet them the first time."""

from __future__ import annotations

from unstuck.words.glossary import GLOSSARY
from unstuck.words.labels import ENDED, LIVE

_LIVE_MEANINGS = {
    "running": "Its agent works. The sign beside the word turns.",
    "judging": "Its check runs.",
    "undecided": "Unstuck chooses the next step.",
    "preparing": "Unstuck restores files or does research for the next attempt.",
    "waiting": "A question waits for your answer. Press a.",
    "backoff": "It waits out a rate limit, an outage or a network error, then tries again.",
    "ready": "It waits for a free place: only so many agents work at once.",
    "blocked": "It waits for another task.",
    "held": "A question about more than this task holds its agent.",
    "parked": "It waits for an answer, and no agent of it lives.",
    "interrupted": "It was cut off, and you have not decided how it continues.",
}
_ENDED_MEANINGS = {
    "succeeded": "Its check passed.",
    "unverified": "It has no check, and its agent said that it is done.",
    "failed": "It ended without passing its check.",
    "skipped": "Left out for now. It is offered again when you resume the run.",
    "abandoned": "Given up. Its files are kept.",
    "cancelled": "It did not start.",
}
COLUMNS = (
    ("●○", "TRIED", "A dot for each retry, new approach and research round; a filled one is used. Then you are asked."),
    ("", "LEVEL", "The escalation level: first try, retry, new approach, research, asked you."),
    ("▂▅█", "ACTIVITY", "How much the agent printed in the last minute."),
    ("▕━╸▏", "TIME LEFT", "The time that is left for this attempt; of a task that has ended, how long it took."),
    ("↻ ×2", "REPEATS", "The same failure or step so many times in a row; three times is a loop."),
    ("", "WHAT IS WRONG", "The last failure and its place, or what the task waits for."),
    ("⋈", "collision", "Another task changes the same file. L pauses the one that changed it later."),
    ("*", "marked", "Marked with space, to decide about several tasks."),
    ("▸", "failure", "A line of the output that tells of the failure."),
)
"""(sign, word, sentence) of every column and mark of the screen."""


def states() -> list[tuple[str, str, str]]:
    """(sign, word, sentence) of every state of a task, in the order in which people meet them."""
    live = [(LIVE[state][0], LIVE[state][1], text) for state, text in _LIVE_MEANINGS.items()]
    return [*live, *((ENDED[status][0], status, text) for status, text in _ENDED_MEANINGS.items())]


def signs() -> list[tuple[str, str, str]]:
    """(sign, word, sentence) of every state, every column and every word of the screen."""
    terms = [term for part in GLOSSARY.values() for term in part if term.on_screen]
    return [*states(), *COLUMNS, *(("", term.word, term.meaning.replace("*", "")) for term in terms)]
