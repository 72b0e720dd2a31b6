"""Messages of agents that only a person can cure, and much that looks alike and is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.diagnosis.agent_messages.troubles import KNOWN, agent_trouble, known_agent

DATA = Path(__file__).resolve().parents[1] / "data"
MESSAGES = [json.loads(line) for line in (DATA / "agent_messages.jsonl").read_text("utf-8").splitlines()]
# In every hundred: what has been reached, which may rise.
FOUND, OF_THIS_KIND = 99, 91
# Errors of a model's API that are kept among the outputs of tools: an agent that prints them has the trouble.
OF_AN_API = ("told-002", "told-005", "told-008", "api-")


def outputs() -> list[tuple[str, str]]:
    """Return outputs of checks and tools that fail, and of those that do not."""
    found = []
    for name in ("tools", "failures", "tool_versions", "clean"):
        for number, line in enumerate((DATA / f"{name}.jsonl").read_text("utf-8").splitlines()):
            row = json.loads(line)
            found.append((row.get("id") or f"{name} {number}", row.get("output") or ""))
    return [(id, text) for id, text in found if text.strip() and not id.startswith(OF_AN_API)]


def test_the_messages_of_real_agents_are_known() -> None:
    """Recorded messages of many agents, in seven lots that were collected one after the other."""
    found = [(agent_trouble(row["said"], agent=row["agent"], own=row.get("own", False)), row) for row in MESSAGES]
    missed = [row["said"][:80] for trouble, row in found if trouble is None]
    assert len(MESSAGES) - len(missed) >= FOUND * len(MESSAGES) // 100, missed
    right = [row for trouble, row in found if trouble is not None and trouble.kind == row["kind"]]
    assert len(right) >= OF_THIS_KIND * len(MESSAGES) // 100


def test_each_has_its_cure() -> None:
    """Whatever is found comes with advice, and with the agent's own line."""
    for row in MESSAGES:
        trouble = agent_trouble(row["said"], agent=row["agent"], own=row.get("own", False))
        if trouble is not None:
            assert trouble.cure.endswith("."), row
            assert trouble.message, row


@pytest.mark.parametrize("agent", ["", "claude", "codex", "aider"])
def test_no_output_of_a_check_is_taken_for_one(agent: str) -> None:
    """Also where an agent prints what its tests printed, and ends with an error."""
    texts = outputs()
    assert len(texts) >= 300
    assert [id for id, text in texts if agent_trouble(text, agent=agent) is not None] == []


ORDINARY = [
    "I have added the login page. The tests for an expired token still fail: expected 401, got 200.",
    "The endpoint now answers 401 Unauthorized when the API key is missing, as the tests ask.",
    "All tests pass. The `model` package was not found before because of a wrong import; I fixed it.",
    "I could not finish: three tests in test_auth.py fail with 'not logged in' because the fixture is gone.",
    "Summary: the CLI prints `error: unknown option` for a wrong flag and exits with 2.",
    "- `POST /login` returns 403\n- `GET /me` says 'Please log in'\n- the session expires after an hour",
    "E       AssertionError: assert 'Invalid API key' in 'ok'\n1 failed in 0.12s",
    "FAIL src/auth.test.ts\n  ✕ says not authenticated (3 ms)\n    Error: expected 401 to be 200",
    "    raise AuthenticationError('not logged in')",
    "Tests: 1 failed, 1 total\nError: not logged in",
    "The subscription model is not found in models.py, so I wrote it.",
    "Pseudo-terminal will not be allocated because stdin is not a terminal.\nssh: connect to host a port 22: refused",
    "Gemini CLI update available! 0.61.0 → 0.62.0\nInstalled with npm. Attempting to automatically update now...",
    "✨ Update available! 0.169.0 -> 0.170.0\nRun npm install -g @openai/codex to update.",
    "The client now accepts a self-signed certificate in tests, and I documented that it needs an update of the CA.",
    "FAIL tls.test.ts: self-signed certificate in certificate chain\nTests: 1 failed, 1 total",
    "I used a sandbox for the tests; it is not available in CI, so they are skipped there.",
]


@pytest.mark.parametrize("said", ORDINARY)
def test_ordinary_last_messages_are_none(said: str) -> None:
    """Work on a login, a model or an option is no trouble with one."""
    for agent in ("", "claude"):
        assert agent_trouble(said, agent=agent, failed=False) is None
        assert agent_trouble(said, agent=agent, failed=True) is None


OF_ITS_WORK = [
    "CHANGELOG needs an update for the new flag.",
    "A newer version of pydantic is required by fastapi",
    "You are using Node.js 18.19.0. Vite requires Node.js version 20.19+. Please upgrade your Node.js version.",
    "Expo CLI requires Node.js 20",
    "error @typescript-eslint/parser@8.0.0: The engine is incompatible: requires node >=18",
    "./build/app: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./build/app)",
    "npm test failed\n/usr/bin/env: 'node': No such file or directory",
    "bash: line 1: 4242 Illegal instruction     (core dumped) ./build/app --simd",
    "npm ERR! Error: EACCES: permission denied, mkdir '/home/dev/.cache/_cacache'",
    "Error: EROFS: read-only file system, open '/home/dev/.cache/ms-playwright/.links/x'",
    "Error: EACCES: permission denied, open '/home/dev/.config/yarn/link'",
    "[main 1a2b3c4] Add the parser\nVim: Warning: Input is not from a terminal\nThe lexer is next.",
    "Vim: Warning: Input is not from a terminal\n" + "added a rule\n" * 8,
    "Next: the load script calls top without -b, so it prints: failed tty get",
    "Device code expired",
    "Reuse detection: refresh token already used -> revoke the family",
    "The access token could not be refreshed, so the client retries once.",
    "Send a mail that says: your account is in good standing",
    "To use Export with your Basic plan, upgrade to Pro.",
    "self-signed certificate in certificate chain",
    "make sure to pass a token having permission to this repo either by logging in with `hf auth login`",
    "denied: requested access to the resource is denied. Try `docker login`",
    "Error: no project is linked. Run `vercel login`",
    "OSError: acme/bge-small-en-v1.5 is not a local folder and is not a valid model identifier listed there",
]


@pytest.mark.parametrize("said", OF_ITS_WORK)
def test_what_an_agents_tools_say_is_none_of_its_own(said: str) -> None:
    """An agent that was stopped in the middle of its work, and whose output shows that of its tools, too."""
    assert [agent for agent in ("", *KNOWN) if agent_trouble(said, agent=agent) is not None] == []


@pytest.mark.parametrize(
    "said",
    [
        "API Error: 429 Too Many Requests: check your API key",
        '[API Error: {"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]',
        "API Error: 529 overloaded_error: please log in later",
        "Warning: Input is not a terminal (fd=0).",
        "You're out of usage credits · resets 7pm (Europe/Paris)",
        "You've hit your usage limit. Run `codex login` with another account, or try again at 3pm.",
    ],
)
def test_what_passes_by_itself_is_none(said: str) -> None:
    """Limits and outages are waited for."""
    assert agent_trouble(said, agent="codex", own=True) is None


def test_an_agent_that_did_not_fail_has_to_say_nothing_else() -> None:
    """A mention in a longer message is no complaint."""
    complaint = "Not logged in · Please run /login"
    assert agent_trouble(complaint, agent="claude", failed=False) is not None
    assert agent_trouble(f"I read the code. {'It is long. ' * 40}\n{complaint}", failed=False) is None
    assert agent_trouble("The program says: Not logged in · Please run /login", failed=False) is None


def test_an_options_word_needs_a_known_agent() -> None:
    """A script that calls another program with a wrong option can correct that itself."""
    said = "error: unexpected argument '--jsonn' found"
    assert agent_trouble(said, agent="codex") is not None
    assert agent_trouble(said) is None
    assert agent_trouble("pytest: error: unrecognized arguments: --foo", agent="codex") is None


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        (("claude", "-p", "{prompt}"), "claude"),
        (("/usr/local/bin/codex", "exec"), "codex"),
        (("npx", "-y", "@openai/codex@latest", "exec"), "codex"),
        (("npx", "@anthropic-ai/claude-code"), "claude"),
        (("env", "claude"), "claude"),
        (("bash", "-c", "claude -p 'Do it.'"), "claude"),
        (("./worker.sh", "claude"), ""),
        (("python", "goose.py"), ""),
        ((), ""),
    ],
)
def test_the_agent_of_a_command(command: tuple[str, ...], agent: str) -> None:
    """By its program, also behind a launcher; any other program is unknown."""
    assert known_agent(command) == agent


def test_a_long_line_costs_little() -> None:
    """Every pattern is bounded: hostile lines of a known agent come back at once."""
    for piece in ("a ", "- ", "error: ", "model ", "sandbox failed to ", "'\"` ", "run `", "please log ", ".-_"):
        for agent in ("", *KNOWN):
            agent_trouble(piece * 4_000, agent=agent)
