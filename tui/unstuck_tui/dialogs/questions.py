"""Questions with the keys of this person, and the wish to answer one by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from unstuck.runs.answers.question import AnswerOption, Question
from unstuck_tui.keys.actions import action_of, keys_now, spoken

Program = Literal["shell", "editor"]


@dataclass(frozen=True, slots=True)
class ByHand:
    """The wish to do it by hand, in this program."""

    program: Program


def keyed(question: Question) -> Question:
    """Return ``question`` with the person's own key for each of its choices."""
    options = (replace(one, key=spoken(one.words)) if one.words else one for one in question.options)
    return replace(question, options=tuple(options))


def keys_of_option(option: AnswerOption) -> str:
    """Return all keys that choose ``option``, with a comma between them."""
    return keys_now(action_of(option.words)) if option.words else option.key
