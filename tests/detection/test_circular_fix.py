"""The same idea in other words."""

from __future__ import annotations

from unstuck.detection import is_circular_fix, keywords, similarity


def test_the_example() -> None:
    """Three wordings of async/await are one approach."""
    history = ["Using async await for fetch", "Using async/await with try-catch"]
    assert is_circular_fix("Using async await pattern", history)


def test_stop_words_do_not_count() -> None:
    """Two sentences that share only small words are not alike."""
    assert keywords("Trying to fix the parser, with a retry") == {"fix", "parser", "retry"}
    assert similarity("trying with the cache", "trying with the queue") == 0.0


def test_one_similar_attempt_is_not_a_circle() -> None:
    """It takes two."""
    assert not is_circular_fix("use a mutex", ["use a mutex", "rewrite the parser", "drop the cache"])


def test_only_the_last_three_attempts_count() -> None:
    """An approach that was tried long ago may be tried again."""
    old = ["use a mutex", "use a mutex"]
    assert not is_circular_fix("use a mutex", [*old, "rewrite parser", "drop cache", "raise limit"])


def test_exactly_at_the_threshold_is_not_similar() -> None:
    """More than 30 % is asked for, and 30 % is not more."""
    one, two = "a1 a2 a3 b1 b2 b3 b4", "a1 a2 a3 c1 c2 c3"
    assert similarity(one, two) == 0.3
    assert not is_circular_fix(one, [two, two])


def test_without_words_nothing_is_similar() -> None:
    """Empty approaches are not the same idea."""
    assert not is_circular_fix("", ["", "", ""])
