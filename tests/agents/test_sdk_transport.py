"""The Claude Agent SDK as an extra: what is said where it is missing, and what passes between it and its program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from unstuck.agents import optional_packages
from unstuck.agents.command.jsonl_reader import LINE_LIMIT, ProtocolProblem
from unstuck.agents.sdk.transport import Transport
from unstuck.errors import AgentNotFound

Inside = Callable[..., tuple[int, str, str]]


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the package, installed or not."""
    monkeypatch.setattr(optional_packages, "find_spec", lambda name: None)


@pytest.mark.usefixtures("missing")
def test_a_missing_extra_says_what_to_install(repo: Path, inside: Inside) -> None:
    """One line with the command that installs it, and nothing has started."""
    code, _, errors = inside(repo, "run", "--headless", "--agent", "claude-sdk", "Do it.")
    assert code != 0
    assert 'pip install ".[claude]"' in errors
    assert len(errors.strip().splitlines()) == 1
    assert not (repo / ".git" / "unstuck" / "runs").exists()


def test_it_is_not_imported_before_it_is_used() -> None:
    """A program that does not use it does not load it."""
    assert "claude_agent_sdk" not in sys.modules


def test_its_own_program_comes_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user's own program is taken where there is one, else the one that came with the package."""
    bundled = tmp_path / "claude_agent_sdk" / "_bundled" / "claude"
    bundled.parent.mkdir(parents=True)
    bundled.write_text("#!/bin/sh\n")
    monkeypatch.setattr(optional_packages, "require_sdk", lambda: tmp_path / "claude_agent_sdk")
    assert optional_packages.sdk_program("claude", {"PATH": str(tmp_path)}) == str(bundled)
    own = tmp_path / "claude"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert optional_packages.sdk_program("claude", {"PATH": str(tmp_path)}) == "claude"
    assert optional_packages.sdk_program("/opt/claude", {"PATH": ""}) == "/opt/claude"


def test_a_broken_package_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package that is there and cannot be imported says why."""
    (tmp_path / "claude_agent_sdk.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AgentNotFound, match="no_such_module_at_all"):
        optional_packages.sdk()


class Talk:
    """A transport, what was seen of the program, and what it was told."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []
        self.said = b""
        self.transport = Transport(self.seen.append)
        self.transport.begin(self._say)

    def _say(self, words: bytes) -> None:
        self.said += words

    async def read(self) -> tuple[list[Any], str]:
        """All messages until there are no more, and why there are none."""
        found = []
        try:
            async for message in self.transport.read_messages():
                found.append(message)
        except ProtocolProblem as problem:
            return found, str(problem)
        raise AssertionError(f"they end without a reason after {found}")


async def test_messages_pass_both_ways() -> None:
    """In whatever pieces they come; lines that are no messages are passed over."""
    talk = Talk()
    line = json.dumps({"type": "system", "text": "žaba"}, ensure_ascii=False).encode() + b"\nwarning: old\n{}\n"
    for at in range(0, len(line), 3):
        talk.transport.feed(line[at : at + 3])
    await talk.transport.write('{"type": "user"}\n')
    talk.transport.end(ProtocolProblem("it ended"))
    assert await talk.read() == ([{"type": "system", "text": "žaba"}, {}], "it ended")
    assert talk.seen == [{"type": "system", "text": "žaba"}, {}]
    assert talk.said == b'{"type": "user"}\n'
    assert not talk.transport.is_ready()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"{" + b"x" * LINE_LIMIT, "more than 16 MiB"),
        (b'{"type": "resu\n', 'no JSON: {"type": "resu'),
        (b"{" * 100_000 + b"\n", "no JSON: {{{"),
    ],
)
async def test_what_is_no_message_ends_it(said: bytes, problem: str) -> None:
    """A line without an end, and half a message, are a problem that is named; the SDK hears of it."""
    talk = Talk()
    talk.transport.feed(said)
    talk.transport.feed(b'{"type": "late"}\n')
    found, why = await talk.read()
    assert found == []
    assert problem in why
