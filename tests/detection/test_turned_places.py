"""One place changed again and again: with or without an effect on what is looked at after each change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import apart, between, changed

from unstuck.detection.rules.stalled_value import _moves

SETTINGS = ("gap = none", "gap = 'auto'", "overlap(3)", "gap = wide", "pad()", "gap = narrow", "fill = 'edge'")
RUNS = ("./mix.sh", "bash mix.sh && ./level out.wav", "make mix 2>&1 | tail -3", "nice ./mix.sh; ./level out.wav")
STORY = "Welcome to the cave.\nYour score is {} of 350, in {} moves.\nYou are a beginner."


def turns(*results: str, run: Sequence[str] = RUNS, file: str = "mix.conf") -> History:
    """The same place gets another text before each result."""
    made = [
        changed(file, SETTINGS[n], SETTINGS[n + 1]) + ok(run[n % len(run)], result) for n, result in enumerate(results)
    ]
    return apart(*made)


def told(history: History) -> bool:
    """Return whether something is said."""
    return bool(verdicts(history))


@pytest.mark.parametrize(
    "result",
    [
        "[detect @ 0x55adfc53e{}] mean_volume: -91.0 dB\nmax_volume: -91.0 dB",
        "page loaded in 1{}81 ms\nitems: 0\n[]",
        "parsed 7886 of 7911 rows\n25 rows could not be parsed",
        "v5.2.11 building...\n18{}7 modules transformed.\nassets/index-jSdQXv{}d.js 2.41{} kB\nbuilt in 7.{}s",
        "total words: 6877\nexpected: 6904\nMISMATCH",
    ],
)
def test_a_result_that_stays_after_four_changes_of_one_place(result: str) -> None:
    """Other ids, times and noise make no difference, nor do other commands that show the same."""
    said = [result.replace("{}", str((3, 8, 5, 7)[n])) for n in range(4)]
    assert told(turns(*said))
    assert not told(turns(*said[:3]))


@pytest.mark.parametrize(
    ("one", "two", "three", "four"),
    [
        ("accuracy 0.612", "accuracy 0.655", "accuracy 0.702", "accuracy 0.748"),
        ("port = 3001 (set)", "port = 3002 (set)", "port = 3003 (set)", "port = 3004 (set)"),
        ("rows 419\nran 7967.2 ms", "rows 416\nran 5609.5 ms", "rows 418\nran 3610.4 ms", "rows 417\nran 1584.4 ms"),
        ("items: 0", "items: 0", "items: 0", "items: 14"),
        ("volume: -91.0 dB", "volume: -91.0 dB", "volume: -40.2 dB", "volume: -22.7 dB"),
        ("score 61.2, goal: 95", "score 66.1, goal: 95", "score 58.9, goal: 95", "score 70.4, goal: 95"),
    ],
)  # fmt: skip
def test_a_result_that_moves_is_an_effect(one: str, two: str, three: str, four: str) -> None:
    """A number that rises or falls each time, or another one at last."""
    assert not told(turns(one, two, three, four))


def test_what_else_is_no_turn() -> None:
    """Changes of other places, lines that are added, and checks that pass say nothing about an effect."""
    still = "items: 0, pages: 3"
    others = (changed(f"part{n}.py", f"a{n}", f"b{n}") + ok("python3 scrape.py", still) for n in range(3))
    assert not told(joined(others))
    grown = ["- one"]
    for n in range(5):
        grown.append(f"{grown[-1]}\n- more {n}")
    notes = (changed("notes.md", one, two) + ok("wc notes.md && ./toc", still) for one, two in pairwise(grown))
    assert not told(joined(notes))
    assert not told(turns(*["12 passed in 3.1s"] * 4, run=("pytest -q", "pytest -q tests", "make test", "tox -q")))


def test_a_check_that_shows_the_effect() -> None:
    """A build says the same each time, the page behind it does not."""
    pages = [f"<p>deal of the {word}</p>" for word in ("day", "week", "month", "year", "hour")]
    made = [
        changed("index.html", SETTINGS[n], SETTINGS[n + 1])
        + ok("make web", "18 pages")
        + ok("curl -s shop.example", one)
        for n, one in enumerate(pages)
    ]
    assert not told(joined(made))


def test_an_old_page_is_served_after_each_change() -> None:
    """The page has a word of what was written, in its old form."""
    words = ("summer sale", "Summer Sale", "Summer sale!", "SUMMER SALE", "Summer Sale 2025")
    looks = (
        "curl -s shop.example",
        "wget -qO- shop.example",
        "curl -s 'shop.example?v=7'",
        "curl -s shop.example | head",
    )
    made = [
        changed("index.html", words[n], words[n + 1]) + ok("make web", "built in 3.1s") + ok(look, "<b>Sommer sale</b>")
        for n, look in enumerate(looks)
    ]  # fmt: skip
    assert told(joined(made))
    assert not told(joined(made[:3]))


@pytest.mark.parametrize(
    "names", [("walk", "walk2", "walk_final", "walk_best"), ("a/solve", "a/solve", "a/solve", "a/solve")]
)
def test_whole_files_of_one_idea(names: Sequence[str]) -> None:
    """Versions of one file that reach the same; numbers of each try, such as its moves, do not count."""

    def made(scores: Sequence[int]) -> History:
        return apart(
            *(
                tool(
                    "Write", "Wrote file successfully.", file_path=f"{name}.txt", content=f"go {n}\ntake lamp\n{n * 7}"
                )
                + ok(f"./story < {name}.txt | tail -3", STORY.format(scores[n], (148, 93, 141, 102)[n]))
                for n, name in enumerate(names)
            )
        )

    assert told(made((10, 10, 10, 10)))
    assert not told(made((10, 15, 25, 40)))


def test_an_edit_of_opencode_and_one_by_sed_are_changes() -> None:
    """The names of the arguments and the tool make no difference."""
    edits = [
        tool(
            "edit", "Edit applied successfully.", filePath="mix.conf", oldString=SETTINGS[n], newString=SETTINGS[n + 1]
        )
        for n in range(4)
    ]
    assert told(joined(one + ok(RUNS[n], "mean_volume: -91.0 dB") for n, one in enumerate(edits)))
    words = ("plain", "fast", "slow", "deep", "wide")
    by_sed = [ok(f"sed -i 's/mode={one}/mode={two}/' app.conf") for one, two in pairwise(words)]
    assert told(joined(one + ok(RUNS[n], "mean_volume: -91.0 dB") for n, one in enumerate(by_sed)))


def test_noise_and_news() -> None:
    """A value moves if it goes one way, or if one of the last two tries lies beyond all before it."""
    assert not _moves([813, 821, 817, 815])
    assert not _moves([0, 0, 0, 0])
    assert not _moves([155, 46, 143, 94])
    assert _moves([812, 815, 817, 821])
    assert _moves([58, 58, 61, 64])
    assert _moves([305, 319, 317, 282])
    assert _moves([71, 74, 73, 78])


def test_a_failure_that_comes_nearer_in_one_of_its_values() -> None:
    """A value may rise while another one falls, and a wrapper that times the check is no other failure."""
    wrong = [f"checked 40 positions: {n} matched, {40 - n} wrong" for n in (4, 11, 23, 36)]
    assert not told(joined(between(n) + bad("python3 check.py moves.re", one) for n, one in enumerate(wrong)))
    assert told(joined(between(n) + bad("python3 check.py moves.re", wrong[0]) for n in range(4)))
    over = "[{}/181] Linking\nregion `FLASH' overflowed by {} bytes\nerror: ld returned 1 exit status"
    built = [
        bad("west build", over.format(156, 3380)),
        bad("west build", over.format(176, 3169)),
        bad("west build", over.format(180, 3040)),
        bad("time west build", f"{over.format(163, 2825)}\n\nreal\t0m7.021s\nuser\t0m0.243s\nsys\t0m0.581s"),
    ]
    assert not told(apart(*built))
