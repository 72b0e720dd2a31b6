"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.settings.durations import parse_duration

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90.0),
        ("1.5", 1.5),
        ("15m", 900.0),
        ("1h30m", 5_400.0),
        ("2m 10s", 130.0),
        (" 2 M 10 S ", 130.0),
        ("250ms", 0.25),
        ("1s500ms", 1.5),
        ("1d", 86_400.0),
        ("0.5h", 1_800.0),
        (90, 90.0),
        (0.25, 0.25),
    ],
)
def test_a_duration_may_be_written_in_every_usual_way(written: str | float, seconds: float) -> None:
    """Numbers are seconds, units may be combined."""
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written", ["", "soon", "15 minutes", "1h30", "m", "10s2m", "1m1m", "1e3", "٣m", "15m!", "1" * 70, True, None, [5]]
)
def test_what_is_no_duration_is_refused_with_examples(written: object) -> None:
    """The message shows how to write one, and what was written."""
    with pytest.raises(ValueError, match=r"must be a duration such as 90 \(seconds\), 15m.*, not "):
        parse_duration(written)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", [0, -1, -0.5, "0", "-5", "0s", "-1h30m", "0h0m", -(10**400), float("-inf")])
def test_no_time_at_all_is_refused(written: str | float) -> None:
    """A limit of zero would end everything at once, so it must be a mistake."""
    with pytest.raises(ValueError, match="must be more than zero"):
        parse_duration(written)


@pytest.mark.parametrize(
    "written", ["367d", 10**400, 10**5_000, float("inf"), float("nan"), "999999999999d"], ids=range(6)
)
def test_an_endless_time_is_refused(written: str | float) -> None:
    """A limit beyond a year is no limit, whatever number it is written as."""
    with pytest.raises(ValueError, match="must be at most 366 days, not "):
        parse_duration(written)


@given(
    st.one_of(
        st.text(CHARACTERS, max_size=80),
        st.from_regex(r"\A[-+0-9hms. d]{0,30}\Z", alphabet=CHARACTERS),
        st.floats(),
        st.integers(),
    )
)
def test_every_input_is_a_positive_time_or_one_clear_line(written: str | float) -> None:
    """No text whatsoever makes anything else happen."""
    message = ""
    try:
        assert 0 < parse_duration(written) <= 366 * 86_400
    except ValueError as error:
        message = str(error)
    assert not message or message.startswith("must be ")
    assert not message or message.isprintable()
