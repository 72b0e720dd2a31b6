"""Measured on labelled outputs of about fifty real tools. The floors are slightly below what is reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose

DATA = Path(__file__).parent.parent / "data"
Cases = dict[str, tuple[dict[str, Any], Diagnosis]]


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def diagnosed() -> Cases:
    found = {}
    for case in cases("failures.jsonl"):
        diagnosis = diagnose(case["output"], exit_code=case["exit_code"], tool=case["tool"])
        assert diagnosis is not None
        found[case["id"]] = (case, diagnosis)
    return found


def is_there(diagnosis: Diagnosis, file: str | None, line: int | None) -> bool:
    if file is None or line is None:
        return diagnosis.location is None
    said, _, number = (diagnosis.location or "").rpartition(":")
    return number == str(line) and (said == file or said.endswith("/" + file))


def share(verdicts: list[bool]) -> float:
    return sum(verdicts) / len(verdicts)


def name_of(diagnosis: Diagnosis) -> str:
    return diagnosis.error_type.value.removesuffix("_ERROR")


def test_error_types(diagnosed: Cases) -> None:
    """Real failures get the error type a person would give them, or at least one that a person would accept."""
    assert share([name_of(found) == case["truth"]["error_type"] for case, found in diagnosed.values()]) >= 0.97
    accepted = [
        name_of(found) in (case["truth"]["error_type"], *case["truth"].get("alt_types", []))
        for case, found in diagnosed.values()
    ]
    assert share(accepted) >= 0.98


def test_failure_types(diagnosed: Cases) -> None:
    """Builds, failed checks and full contexts are told apart in real failures."""
    strict = [found.failure_type.value == case["truth"]["failure_type"] for case, found in diagnosed.values()]
    assert share(strict) >= 0.96


def test_locations(diagnosed: Cases) -> None:
    """The place shown is the user's own line, and no place is shown where there is none."""
    strict = [is_there(found, case["truth"]["file"], case["truth"]["line"]) for case, found in diagnosed.values()]
    assert share(strict) >= 0.96


def test_categories(diagnosed: Cases) -> None:
    """The category is the one that a reader of the output would name."""
    strict = [found.category.value == case["truth"]["category"] for case, found in diagnosed.values()]
    assert share(strict) >= 0.93


def test_only_what_passes_by_itself_is_waited_for(diagnosed: Cases) -> None:
    """Rate limits and time-outs of services are transient; no bug in the code is taken for one."""
    harmless = {"transient", "infrastructure"}
    wrong = [
        case["id"]
        for case, found in diagnosed.values()
        if found.category.value == "transient"
        and not harmless & {case["truth"]["category"], *case["truth"].get("alt_categories", [])}
    ]
    missed = [
        case["id"]
        for case, found in diagnosed.values()
        if case["truth"]["category"] == "transient" and found.category.value != "transient"
    ]
    assert wrong == []
    assert len(missed) <= 1


def test_the_same_failure_again(diagnosed: Cases) -> None:
    """Another directory, line, process or time does not make it another failure."""
    pairs = [(found, diagnosed[case["pair_of"]][1]) for case, found in diagnosed.values() if case["pair_of"]]
    assert share([one.signature.is_identical_to(two.signature) for one, two in pairs]) >= 0.97


def test_another_failure_that_looks_alike(diagnosed: Cases) -> None:
    """Another key, module, test or status is another failure, however alike the text."""
    pairs = [(found, diagnosed[case["not_same_as"]][1]) for case, found in diagnosed.values() if case["not_same_as"]]
    assert share([not one.signature.is_identical_to(two.signature) for one, two in pairs]) >= 0.97


@pytest.mark.xfail(reason="the tool counted lines after it had dropped some, so that the number it printed is wrong")
def test_a_line_number_that_the_tool_got_wrong(diagnosed: Cases) -> None:
    """A place cannot be better than what is printed."""
    case, found = diagnosed["flake8~shift"]
    assert is_there(found, case["truth"]["file"], case["truth"]["line"])


def test_success_is_no_failure() -> None:
    """A command that ended well has no diagnosis, however many error words it printed."""
    assert [diagnose(case["output"], exit_code=case["exit_code"]) for case in cases("clean.jsonl")] == [None] * 21


def test_every_diagnosis_survives_the_log(diagnosed: Cases) -> None:
    """A diagnosis in the log reads back as the same diagnosis."""
    for _, found in diagnosed.values():
        assert Diagnosis.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_every_diagnosis_helps(diagnosed: Cases) -> None:
    """Each says one line of what is wrong and one of what to do."""
    for _, found in diagnosed.values():
        assert found.headline
        assert "\n" not in found.headline
        assert found.fix_hint


def test_signatures_are_small(diagnosed: Cases) -> None:
    """A signature keeps what compares it, not the output: near half a kilobyte of text."""
    sizes = sorted(len(json.dumps(found.signature.as_dict())) for _, found in diagnosed.values())
    assert sizes[len(sizes) // 2] <= 700
    assert max(len(found.signature.exact_message) for _, found in diagnosed.values()) <= 400
