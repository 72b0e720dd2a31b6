"""Recorded ACP updates of real agents: steps, exit codes wherever they stand, messages, usage."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.agents.acp.cache_reads import CacheReads
from unstuck.agents.acp.updates import CANCELLED, Updates, permission_outcome
from unstuck.agents.acp_agents import KNOWN, quirks_of
from unstuck.contract import Observation

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

RECORDED = Path(__file__).parents[1] / "data" / "acp"
FAILING = "echo oops >&2; exit 3"
PROGRAMS = {
    "ccacp": "claude-code-acp",
    "claude": "claude-agent-acp",
    "codexacp": "codex-acp",
    "codex": "codex-acp",
    "vibe": "vibe-acp",
}


def recorded(name: str) -> list[dict[str, Any]]:
    """The lines of a recording."""
    return [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()]


def read(name: str) -> tuple[Updates, list[Observation]]:
    """The reader after a recording, and what it told."""
    agent = name.partition("_")[0]
    updates = Updates(quirks_of([PROGRAMS.get(agent, agent)]))
    told: list[Observation] = []
    for line in recorded(name):
        match line["kind"]:
            case "update":
                told += updates.update(line["data"])
            case "request_permission":
                before, asked, _ = updates.permission(line["data"])
                told += [*before, asked]
            case "prompt_result":
                told += updates.turn_over(line["data"])
    return updates, told


def commands(told: list[Observation]) -> list[tuple[str, str, int | None]]:
    """Commands and their results, each once as the supervisor counts them."""
    seen: set[tuple[bool, str]] = set()
    found = []
    for one in told:
        key = one.kind == "action", str(one.id)
        if one.tool == "bash" and one.kind in ("action", "success", "failure") and key not in seen:
            seen.add(key)
            found.append((one.kind, str(one.text).strip(), one.exit_code))
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ccacp", [("success", "hi", None), ("failure", "oops", 3)]),
        ("codex", [("failure", "oops", 3)]),
        ("codexacp", [("success", "hi", 0), ("failure", "oops", 3)]),
        ("opencode", [("success", "hi", 0), ("failure", "oops", 3)]),
        ("qwen", [("failure", "oops", 3)]),
        ("gemini", [("success", "", None), ("success", "", None)]),
    ],
)
def test_a_failing_command(name: str, expected: list[tuple[str, str, int | None]]) -> None:
    """Each call is told once with its command, and its result with the exit code where the agent says it anywhere."""
    told = commands(read(name)[1])
    assert [one for one in told if one[0] != "action"] == expected
    assert [text for kind, text, _ in told if kind == "action"][-1] == FAILING


@pytest.mark.parametrize("name", ["ccacp_reject", "claude_reject", "opencode_reject"])
def test_a_refused_call(name: str) -> None:
    """A call that a person has refused is no success, and has no exit code."""
    kind, text, code = commands(read(name)[1])[-1]
    assert kind == "failure"
    assert code is None
    assert "refused" in text or "rejected" in text


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("codex", 330), ("claude_reject", 220), ("gemini", 440), ("qwen", 330), ("opencode", 220), ("vibe", 440)],
)
def test_what_was_used(name: str, tokens: int) -> None:
    """Tokens are counted once, however an agent counts them."""
    _, told = read(name)
    assert sum(one.tokens for one in told) == tokens


def test_what_it_cost() -> None:
    """The cost is in dollars, and since the last time."""
    _, told = read("claude_reject")
    assert sum(one.cost or 0 for one in told) == pytest.approx(0.0012)


def test_messages_and_plans() -> None:
    """Pieces of a message are one message; a list of what is to do is a step of its work."""
    updates, told = read("ccacp")
    said = [str(one.text) for one in told if one.kind == "message"]
    assert said[0] == "I will run the tests."
    assert said[-2:] == ["All done.", "Second prompt answered."]
    assert updates.messages.splitlines()[-1] == "Second prompt answered."
    (plan,) = [one for one in told if one.tool == "plan"]
    assert plan.text == 'plan ["[in_progress] run tests"]'


def test_a_call_is_told_once_it_is_known() -> None:
    """A call that begins without its command is told when the command comes, and its place is no command."""
    _, told = read("opencode")
    assert next(str(one.text) for one in told if one.kind == "action" and one.tool == "bash") == "echo hi"
    assert all("Terminal" not in one.text and "/repo" not in one.text for one in told)


def test_calls_that_are_over_keep_nothing() -> None:
    """A thousand calls that each carried a whole file take no room once they have ended."""
    updates = Updates(quirks_of(["some-agent"]))
    for number in range(3):
        given = {"path": "a.txt", "content": str(number) * 1_000_000}
        content = [{"type": "content", "content": {"type": "text", "text": "x" * 1_000_000}}]
        call = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", "kind": "edit", "rawInput": given}
        told = updates.update({**call, "content": content, "status": "completed"})
        assert [one.kind for one in told] == ["action", "success"]
    assert len(pickle.dumps(updates)) < 100_000


@pytest.mark.parametrize("name", ["ccacp", "codexacp", "gemini", "opencode", "qwen", "codex"])
def test_permission_is_chosen_by_kind(name: str) -> None:
    """Yes is this once and no is this once, whatever they are called; what has no such option is cancelled."""
    requests = [line["data"] for line in recorded(name) if line["kind"] == "request_permission"]
    for request in requests:
        kinds = {option["optionId"]: option["kind"] for option in request["options"]}
        assert kinds[permission_outcome(request, allowed=True)["outcome"]["optionId"]] == "allow_once"
        assert kinds[permission_outcome(request, allowed=False)["outcome"]["optionId"]] == "reject_once"
    only = {"options": [{"optionId": "x", "kind": "allow_always"}]}
    assert permission_outcome(only, allowed=True)["outcome"] == {"outcome": "selected", "optionId": "x"}
    assert permission_outcome(only, allowed=False) == CANCELLED == permission_outcome({"options": 7}, allowed=True)


def test_a_users_own_word_about_permissions_stands() -> None:
    """A mode is chosen for an agent unless its command says what may be done."""
    assert quirks_of(KNOWN["gemini"]).mode == "autoEdit"
    assert quirks_of([*KNOWN["gemini"], "--approval-mode=plan"]).mode == ""
    assert quirks_of(["/opt/agents/some-agent"]).mode == quirks_of([]).mode == ""


FIELDS = (
    *("sessionUpdate", "toolCallId", "content", "text", "title", "kind", "status", "rawInput", "rawOutput", "_meta"),
    *("command", "output", "exit_code", "metadata", "exit", "terminal_exit", "entries", "cost", "amount", "usage"),
    *("totalTokens", "options", "toolCall"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(CHARACTERS, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=12,
)


@given(st.sampled_from(["tool_call", "tool_call_update", "agent_message_chunk", "plan", "usage_update", "new"]), JSON)
def test_nothing_that_is_told_can_do_harm(kind: str, data: Any) -> None:
    """An update of another version, or plain nonsense, is passed over or told as what it is, and never raises."""
    updates = Updates(quirks_of(["vibe-acp"]))
    fields = data if isinstance(data, dict) else {}
    for told in (updates.update({**fields, "sessionUpdate": kind}), updates.turn_over(fields)):
        assert all(isinstance(one, Observation) for one in told)
    updates.permission(fields)


def _cost(amount: float) -> dict[str, Any]:
    return {"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}}


def test_the_cost_of_a_session_that_goes_on_is_counted_once() -> None:
    """claude-agent-acp sums over its session: what an earlier attempt cost is no cost of this one."""
    claude = quirks_of(("claude-agent-acp",))
    first = Updates(claude)
    assert [seen.cost for one in (0.02, 0.05) for seen in first.update(_cost(one))] == [0.02, pytest.approx(0.03)]
    assert first.session_cost == 0.05
    second = Updates(claude, cost_before=first.session_cost)
    assert second.update(_cost(0.05)) == []
    assert [seen.cost for seen in second.update(_cost(0.09))] == [pytest.approx(0.04)]
    assert second.session_cost == 0.09


def test_an_agent_that_counts_its_own_process_counts_from_zero() -> None:
    """A sum below that of the session before begins anew."""
    second = Updates(quirks_of(("claude-agent-acp",)), cost_before=0.5)
    assert [seen.cost for seen in second.update(_cost(0.1))] == [0.1]


def test_what_qwen_reads_from_its_cache_does_not_count() -> None:
    """Its messages name the cached tokens beside a sum that has them."""
    usage = {"inputTokens": 6234, "outputTokens": 77, "totalTokens": 6311, "cachedReadTokens": 5000}
    update = {"sessionUpdate": "agent_message_chunk", "content": {"text": ""}, "_meta": {"usage": usage}}
    (seen,) = Updates(quirks_of(("qwen", "--acp"))).update(update)
    assert (seen.tokens, seen.written) == (1311, 77)


def test_a_cache_that_the_end_of_a_turn_names_does_not_count() -> None:
    """As gemini would say it beside its sums, where a version of it does."""
    counted = {"input_tokens": 6234, "output_tokens": 77, "cached_tokens": 5000}
    (seen,) = Updates(quirks_of(("gemini", "--acp"))).turn_over({"_meta": {"quota": {"token_count": counted}}})
    assert (seen.tokens, seen.written) == (1311, 77)


@pytest.mark.parametrize(
    ("told", "kind", "text", "code"),
    [
        (
            {
                "result": "[Command exited with code 2]\n\n[stderr]\nls: cannot access 'none'\n",
                "error": "Command exited with code 2",
                "success": False,
            },
            "failure",
            "\n[stderr]\nls: cannot access 'none'\n",
            2,
        ),
        ({"result": "shop.py\n", "success": True}, "success", "shop.py\n", None),
        (
            {"result": "", "error": "Command failed: Command was aborted", "success": False},
            "failure",
            "Command failed: Command was aborted",
            None,
        ),
    ],
)
def test_what_cline_runs(told: dict[str, Any], kind: str, text: str, code: int | None) -> None:
    """It says ``completed`` of every call; its commands and their results stand in lists."""
    updates = Updates(quirks_of(("cline", "--acp")))
    call = {"toolCallId": "c1", "title": "run_commands: ls none", "kind": "execute"}
    begun = {"sessionUpdate": "tool_call", **call, "status": "pending", "rawInput": {"commands": ["ls none"]}}
    over = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "rawOutput": [told]}
    action, result = [*updates.update(begun), *updates.update(over)]
    assert (action.kind, action.tool, action.text) == ("action", "bash", "ls none")
    assert (result.kind, result.text.strip(), result.exit_code) == (kind, text.strip(), code)


@pytest.mark.parametrize(("named", "tokens"), [({}, 1311), ({"cached_tokens": 6000}, 311)])
async def test_what_gemini_keeps_of_its_cache_does_not_count(
    tmp_path: Path, named: dict[str, int], tokens: int
) -> None:
    """Its protocol sums all that it read; its session file says what of that came from a cache, once for each reply.
    What was there before the session was opened, and a cache that the protocol names itself, are not subtracted."""
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    file = chats / "session-2026-11-23T12-32-fa19ce8b.jsonl"
    (chats / "session-2026-11-23T12-32-00000000.jsonl").write_text(_kept("x", 9_000))
    file.write_text(_kept("earlier", 4_000))
    reads = CacheReads(quirks_of(("gemini", "--acp")).keeps, {"HOME": str(tmp_path)})
    await reads.open("fa19ce8b-c1c9-4759-947d-9b67192589f1")
    with file.open("a") as more:
        more.write(_kept("a", 2_000) + _kept("b", 3_000) + _kept("b", 3_000))
    cached = await reads.more()
    assert cached == 5_000
    assert await reads.more() == 0
    counted = {"input_tokens": 6234, "output_tokens": 77, **named}
    updates = Updates(quirks_of(("gemini", "--acp")))
    (seen,) = updates.turn_over({"_meta": {"quota": {"token_count": counted}}}, cached=cached)
    assert (seen.tokens, seen.written) == (tokens, 77)


async def test_a_session_that_is_new_counts_from_its_first_line(tmp_path: Path) -> None:
    """Its file may be made only when the first turn begins; one that is kept nowhere counts nothing."""
    reads = CacheReads(quirks_of(("gemini", "--acp")).keeps, {"HOME": str(tmp_path)})
    await reads.open("fa19ce8b-c1c9-4759-947d-9b67192589f1")
    assert await reads.more() == 0
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-11-23T12-32-fa19ce8b.jsonl").write_text(_kept("a", 2_000))
    assert await reads.more() == 2_000


async def test_a_session_that_goes_on_in_another_minute_has_two_files(tmp_path: Path) -> None:
    """Gemini begins a file at each start and writes on in the first: neither is left out, and nothing counts twice."""
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    first = chats / "session-2026-11-23T19-55-5c9d6311.jsonl"
    first.write_text(_kept("a", 60))
    reads = CacheReads(quirks_of(("gemini", "--acp")).keeps, {"HOME": str(tmp_path)})
    await reads.open("5c9d6311-13a0-4467-b22d-04ef769974be")
    (chats / "session-2026-11-23T19-57-5c9d6311.jsonl").write_text('{"sessionId": "5c9d6311", "kind": "main"}\n')
    with first.open("a") as more:
        more.write(_kept("b", 70))
    assert await reads.more() == 70
    assert await reads.more() == 0


def _kept(reply: str, cached: int) -> str:
    tokens = {"input": 6234, "output": 77, "cached": cached, "thoughts": 0, "tool": 0, "total": 6311}
    return json.dumps({"id": reply, "type": "gemini", "content": "So.", "tokens": tokens}) + "\n"
