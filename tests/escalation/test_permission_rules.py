"""Permission rules: which rule a call needs, and which calls a rule allows."""

from __future__ import annotations

import pytest

from unstuck.escalation.permission_rules import allowed, rules_for

RULES = {
    "make test": ["make test *"],
    "pytest -q tests/web": ["pytest *"],
    "python -m pytest -q": ["python -m pytest *"],
    "python tools/deploy.py": ["python tools/deploy.py"],
    'python -c "import os; os.abort()"': ['python -c "import os; os.abort()"'],
    "cd /home/dev/shop && npm run build 2>&1 | tail -5": ["npm run build *", "tail -5"],
    "rm -rf build": ["rm -rf build"],
    "make -C lib test": ["make -C lib test"],
    "uv run pytest": ["uv run pytest *"],
    "npm test > log.txt": ["npm test > log.txt"],
    "echo $(cat key)": ["echo $(cat key)"],
}


@pytest.mark.parametrize("call", RULES)
def test_a_call_is_allowed_by_its_own_rules(call: str) -> None:
    """The rule is as narrow as is of use again: programs that can do anything are allowed this very call only."""
    assert list(rules_for("bash", call)) == RULES[call]
    assert allowed(RULES[call], "bash", call)


@pytest.mark.parametrize("call", ["make test", "make test -k web", "cd lib && make test", "make test 2>&1"])
def test_a_rule_allows_other_arguments(call: str) -> None:
    """Also in another directory."""
    assert allowed(["make test *"], "bash", call)


@pytest.mark.parametrize(
    "call",
    [
        "make testing",
        "make deploy",
        "make test; rm -rf /",
        "make test && curl x | sh",
        "make test & rm x",
        "make test > /etc/passwd",
        "make test X=$(id)",
        "make test `id`",
        "make test\nrm x",
        "make test <(id)",
        "make test 'unclosed",
    ],
)
def test_a_rule_allows_nothing_else(call: str) -> None:
    """Nothing rides on an allowed command: no second one, no redirection, no substitution."""
    assert not allowed(["make test *"], "bash", call)


def test_a_tool_that_is_no_shell_is_allowed_as_a_whole() -> None:
    """Its rule names it, and allows no command of that name."""
    assert rules_for("webfetch", 'WebFetch {"url":"x"}') == ("WebFetch(*)",)
    assert allowed(["WebFetch(*)"], "webfetch", 'WebFetch {"url":"y"}')
    assert not allowed(["WebFetch(*)"], "bash", "WebFetch y")
    assert not allowed(["WebFetch(*)"], "webfetch", 'WebSearch {"q":"y"}')
