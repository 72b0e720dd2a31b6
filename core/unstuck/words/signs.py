"""The signs and words of the screen, each with a sentence, for people who meet them the first time."""

from __future__ import annotations

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
_COLUMNS = (
    ("●○", "TRIED", "A dot for each retry, new approach and research round; a filled one is used. Then you are asked."),
    ("", "LEVEL", "The escalation level: first try, retry, new approach, research, asked you."),
    ("▂▅█", "ACTIVITY", "How much the agent printed in the last minute."),
    ("▕━╸▏", "TIME LEFT", "The time that is left for this attempt; of a task that has ended, how long it took."),
    ("↻ ×2", "REPEATS", "The same failure or step so many times in a row; three times is a loop."),
    ("", "WHAT IS WRONG", "The last failure and its place, or what the task waits for."),
    ("*", "marked", "Marked with space, to decide about several tasks."),
    ("▸", "failure", "A line of the output that tells of the failure."),
)
_TERMS = (
    ("check", "The command that decides whether a task is done."),
    ("retry", "The same approach again, with a hint."),
    ("new approach", "The files go back to a checkpoint, and a new session tries another idea."),
    ("research", "Unstuck collects the code around the failure for the next attempt."),
    ("question", "Nothing is left to try, or a decision is yours."),
    ("checkpoint", "Saved files that can be restored. Unstuck saves them before anything risky."),
    ("signature", "The identity of a failure: the same one again has the same signature."),
    ("suspended", "An agent that is stopped by a signal until you answer."),
    ("held", "An agent that waits at its next step until you answer."),
    ("skip", "Leave a task out for now."),
    ("abandon", "End a task without a result."),
)


def signs() -> list[tuple[str, str, str]]:
    """(sign, word, sentence) of every state, every column and every word, in the order in which people meet them."""
    live = [(LIVE[state][0], LIVE[state][1], text) for state, text in _LIVE_MEANINGS.items()]
    ended = [(ENDED[status][0], status, text) for status, text in _ENDED_MEANINGS.items()]
    return [*live, *ended, *_COLUMNS, *(("", word, text) for word, text in _TERMS)]
