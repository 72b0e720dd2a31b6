"""Failures of one outcome, whatever call met them and whatever else is said, and edits that something else undoes."""

from __future__ import annotations

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import apart

BUILD = """> Task :app:mergeResources FAILED
FAILURE: Build failed with an exception.
* What went wrong:
Execution failed for task ':app:mergeResources'.
> /app/res/trail.xml: error: failed to read the signature: file does not start with a signature of a picture.
BUILD FAILED in {0}s
{1} actionable tasks: {2} executed, 1{2} up-to-date"""
FORMS = ("./gradlew assemble", "./gradlew clean build", "./gradlew :app:mergeResources", "./gradlew build --no-cache")
CARD = "CUDA out of memory. Tried to allocate {} GiB, error in the allocator of card 0, of which {} MiB is free."
STATUS = 'HTTP/2 429\nretry-after: {}\nx-remaining: 0\n\n{{"message":"too many requests of this key"}}'


def built(form: str, number: int) -> History:
    return bad(form, BUILD.format(31 - number * number % 7, 22 + number * 3 % 5, 1 + number % 2))


def test_other_forms_of_a_call_and_other_figures_around_an_error() -> None:
    """The fourth build that stops at the same error; builds that stop at other files are none."""
    assert verdicts(apart(*(built(form, number) for number, form in enumerate(FORMS))))
    assert verdicts(apart(*(built(form, number) for number, form in enumerate(FORMS[:3])))) == []
    others = (
        bad(form, BUILD.format(9 - n, 20 + n, n).replace("a picture", f"{'abcd'[n]}.png"))
        for n, form in enumerate(FORMS)
    )
    assert verdicts(apart(*others)) == []


def test_a_pipe_that_hides_some_of_the_tries() -> None:
    """A failure whose exit code a pipe hides counts with the others; a remark beside other output does not."""
    tries = [
        (ok if number % 2 else bad)(f"{form} 2>&1 | tail -20" if number % 2 else form, BUILD.format(8, 23, number))
        for number, form in enumerate(FORMS)
    ]
    assert verdicts(apart(*tries))
    remark = "/bin/sh: the settings of the terminal: command not found"
    other = [ok(f"list {n} | head -20", f"{remark}\n{' '.join(f'w{n}x{k}' for k in 'abcdefgh')}") for n in range(6)]
    assert verdicts(apart(*other)) == []


def test_figures_within_noise_are_no_trend() -> None:
    """Settings that hardly differ run out of memory; a figure that falls each time may come to fit."""
    free = ("911.2", "930.4", "903.6", "941.5")
    tries = [bad(f"python train.py --size {16 - n}", CARD.format("2.44", text)) for n, text in enumerate(free)]
    assert verdicts(apart(*tries))
    falling = [bad(f"python train.py size={16 - n}", CARD.format(f"{9 - n}.44", "911.2")) for n in range(4)]
    assert verdicts(apart(*falling)) == []


@pytest.mark.parametrize(("lines", "loops"), [((13, 40, 31, 52, 18), True), ((13, 40, 71, 112, 160), False)])
def test_a_line_that_moves_with_the_edits(lines: tuple[int, ...], loops: bool) -> None:
    """A failure that moves up and down a file is the same; one that moves down may be another site each time."""
    text = "src/app.ts({},17): error TS2304: Cannot find name 'memo'."
    assert bool(verdicts(apart(*(bad("npx tsc --noEmit", text.format(line)) for line in lines)))) is loops


def test_a_status_of_an_error_above_an_answer() -> None:
    """Requests in other forms, all refused; a service that answers is none."""
    forms = ("curl -si {}", "curl -si -A me {}", "curl -i {} -d @a.json", "http -h {}")
    address = "https://api.example/v1/points"
    assert verdicts(apart(*(ok(form.format(address), STATUS.format(3461 + n * 7 % 5)) for n, form in enumerate(forms))))
    good = STATUS.replace("429", "200")
    assert verdicts(apart(*(ok(form.format(address), good.format(n)) for n, form in enumerate(forms[:3])))) == []


def test_names_that_a_tool_does_not_know() -> None:
    """The sixth name that a tool does not know; one that it knows between them ends the guesses."""
    names = ("sheet", "sheets", "skills/sheet", "sheet-tools", "docs:sheet", "Sheet")
    guesses = [tool("Skill", f"Unknown skill: {name}", True, command=name) for name in names]
    assert verdicts(apart(*guesses))
    found = tool("Skill", "Launching skill: pdf", command="pdf")
    assert verdicts(apart(*guesses[:3], found, *guesses[3:])) == []


def test_edits_that_something_else_undoes() -> None:
    """The fourth edit of a text that is there again; an own edit that restores it, and a checkout, are seen as such."""

    def change(new: str, old: str = "size = 1") -> History:
        return tool("Edit", "The file has been updated.", file_path="gen/a.py", old_string=old, new_string=new)

    values = [f"size = {n}" for n in range(2, 6)]
    assert verdicts(joined(change(new) + ok("make", f"generated a.py, {new}") for new in values))
    assert verdicts(joined(change(new) + ok("git checkout gen/a.py", "Updated 1 path") for new in values)) == []
    grown = [f"size = 1\n{new}" for new in values]
    assert verdicts(joined(change(new) + ok("make", f"built {new}") for new in grown)) == []
