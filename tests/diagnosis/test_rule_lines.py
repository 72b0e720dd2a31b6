"""Each one-line rule and each parser of tools has an output that it reads, and one that looks alike and is none."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from unstuck.diagnosis.matching.prefilter import IndexedText, Prefilter
from unstuck.diagnosis.parsers import RULES, Rule, first_match

DATA = Path(__file__).parent.parent / "data"
LINES = {name: (line, alike) for name, line, alike in json.loads((DATA / "rule_lines.json").read_text("utf-8"))}
WORD = re.compile(r"[A-Za-z]{2,}")


def named() -> dict[str, Rule]:
    """Every rule by its literal, and its number among those with the same literal, the surest first."""
    uses: Counter[str] = Counter()
    rules = {}
    for rule in RULES.entries:
        literal = rule.literals.texts[0]
        uses[literal] += 1
        rules[f"{literal}#{uses[literal]}"] = rule
    return rules


def test_every_rule_has_its_lines() -> None:
    """A new rule brings a line that it reads and one that looks alike, in `tests/data/rule_lines.json`."""
    assert named().keys() == LINES.keys()


@pytest.mark.parametrize("name", LINES)
def test_a_rule_reads_its_line_and_not_the_one_that_looks_alike(name: str) -> None:
    """The rule alone finds something in its line, and nothing in a line with one of its words."""
    line, alike = LINES[name]
    rule = Prefilter([named()[name]])
    assert first_match(rule, IndexedText(line)) is not None
    assert first_match(rule, IndexedText(alike)) is None
    words = {word.lower() for word in WORD.findall(name)}
    assert not words or any(word in alike.lower() for word in words)
