"""Streams of JSON as real agents printed them: what they tell of, and that no stream can do harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.agents.streams import LINE_LIMIT, STREAMS, Stream
from unstuck.agents.streams.gemini import shell_result
from unstuck.contract import Observation

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

RECORDED = Path(__file__).parents[1] / "data" / "streams"


def recorded(name: str) -> list[bytes]:
    """The lines of a recording."""
    return (RECORDED / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def read(name: str, lines: list[bytes] | None = None) -> tuple[Stream, list[Observation]]:
    """The reader after a recording (or other lines of that agent), and what it told."""
    stream = STREAMS[name.partition("_")[0]]()
    told = [found for line in (recorded(name) if lines is None else lines) for found in stream.read(line)]
    return stream, told


def steps(told: list[Observation]) -> list[tuple[str, str, str, int | None]]:
    """Calls, results and messages, without ids."""
    return [
        (one.kind, one.tool, str(one.text).strip(), one.exit_code)
        for one in told
        if one.kind in ("action", "success", "failure", "message")
    ]


LOOKED = [
    ("message", "message", "I look.", None),
    ("action", "bash", "echo hello > greeting.txt; ls; exit 3", None),
    ("failure", "bash", "greeting.txt", 3),
    ("message", "message", "All done here.", None),
]


@pytest.mark.parametrize(
    ("name", "session", "cost"), [("pi", "01a2087d-9bd6-7795-af29-00dd39babbdf", 0.00024), ("cline", "", 0.0)]
)
def test_pi_and_cline(name: str, session: str, cost: float) -> None:
    """Messages, the failing command with its exit code, usage and cost, the session where there is one, and the end."""
    stream, told = read(name)
    assert steps(told) == LOOKED
    used = [one for one in told if one.kind == "usage"]
    assert sum(one.tokens for one in used) == 220
    assert sum(one.cost or 0 for one in used) == pytest.approx(cost)
    assert (stream.session, stream.ended, stream.error, stream.model) == (session, True, "", "scripted")


FAILED = {
    "pi": '{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"%s"}}',
    "cline": '{"type":"error","message":"%s"}',
}


@pytest.mark.parametrize("name", FAILED)
def test_their_own_errors(name: str) -> None:
    """An error that they report is theirs."""
    stream, _ = read(name, [(FAILED[name] % "401 Unauthorized").encode()])
    assert stream.error == "401 Unauthorized"


def test_a_refusal_that_qwen_code_calls_a_success() -> None:
    """Its last line says that all went well where its provider refused the request; the message says why it did not."""
    said = "400 This model's maximum context length is 128000 tokens."
    line = {"type": "result", "subtype": "success", "is_error": False, "result": f"[API Error: {said}]"}
    stream, _ = read("qwen", [json.dumps(line).encode()])
    assert (stream.error, stream.ended) == (said, True)
    stream, _ = read("qwen", [json.dumps({**line, "result": "I fixed the [API Error: 400] text."}).encode()])
    assert stream.error == ""


FAILING = "echo oops >&2; exit 3"


def test_claude_code() -> None:
    """Messages, calls, the failing command with its exit code, what it cost, its session and its end."""
    stream, told = read("claude")
    assert steps(told) == [
        ("message", "message", "I will run the tests.", None),
        ("action", "bash", "echo hi; ls", None),
        ("success", "bash", "hi", None),
        ("message", "message", "Now something failing.", None),
        ("action", "bash", FAILING, None),
        ("failure", "bash", "oops", 3),
        ("message", "message", "All done.", None),
    ]
    assert stream.session == "d5ef5697-10eb-415e-bc5d-825f7e6ce7c7"
    assert stream.ended is True
    assert stream.error == ""
    assert sum(one.tokens for one in told) == 330
    assert sum(one.cost or 0 for one in told) == pytest.approx(0.00225)
    assert stream.messages.splitlines()[-1] == "All done."


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ["Run it 8 times"]),
        ({"isReplay": True}, []),
        ({"isSynthetic": True}, []),
        ({"parent_tool_use_id": "t"}, []),
    ],
)
def test_words_of_the_person_in_a_stream(more: dict[str, object], said: list[str]) -> None:
    """They are the person's; echoes, words of the harness and the order to a sub-agent are not."""
    line = {"type": "user", "message": {"content": [{"type": "text", "text": "Run it 8 times"}]}, **more}
    _, told = read("claude", [json.dumps(line).encode() + b"\n"])
    assert [str(one.text) for one in told if one.role == "user"] == said


def test_claude_code_with_hooks_and_sub_agents() -> None:
    """A sub-agent's steps carry the call that started it; lines about hooks tell nothing; half a stream is no end."""
    stream, told = read("claude_subagent")
    task = next(one for one in told if one.kind == "action" and one.tool == "task")
    inside = [one for one in told if one.agent_id]
    assert {one.agent_id for one in inside} == {task.id}
    assert steps(inside) == [
        ("action", "bash", "echo hi", None),
        ("success", "bash", "hi", None),
        ("action", "bash", FAILING, None),
    ]
    assert ("failure", "read") in {(one.kind, one.tool) for one in told}
    assert not stream.ended
    ids = [one.id for one in told if one.kind == "action"]
    assert len(ids) == len(set(ids))


def test_codex() -> None:
    """Commands without the shell round them, the failing one with its exit code; its warning is no error."""
    stream, told = read("codex")
    assert steps(told) == [
        ("message", "message", "I will run the tests.", None),
        ("action", "bash", "echo hi", None),
        ("success", "bash", "hi", 0),
        ("message", "message", "Now something failing.", None),
        ("action", "bash", FAILING, None),
        ("failure", "bash", "oops", 3),
        ("message", "message", "All done.", None),
    ]
    assert stream.session == "01a1ffc2-3ba8-7760-aa50-3ea54e2a7163"
    assert stream.ended is True
    assert stream.error == ""
    assert sum(one.tokens for one in told) == 330


def test_gemini() -> None:
    """Pieces of a message become one; a refused call is a failure."""
    stream, told = read("gemini")
    assert [step[:2] for step in steps(told)] == [
        ("message", "message"),
        ("action", "bash"),
        ("success", "bash"),
        ("message", "message"),
        ("action", "bash"),
        ("failure", "bash"),
        ("message", "message"),
    ]
    assert stream.session == "ad273f76-9bf2-4683-84a0-302633eb5b51"
    assert stream.ended is True
    assert stream.error == ""
    assert sum(one.tokens for one in told) == 330


def test_qwen() -> None:
    """It does not say how its command ended, and nothing is made up."""
    stream, told = read("qwen")
    assert steps(told) == [
        ("message", "message", "Now fail.", None),
        ("action", "bash", FAILING, None),
        ("success", "bash", "oops", None),
        ("message", "message", "All done.", None),
    ]
    assert stream.session == "7f360021-b3f8-403b-aa00-dca38e2fbe44"
    assert stream.ended is True
    assert sum(one.tokens for one in told) == 220


def test_a_newer_qwen_says_how_a_command_failed() -> None:
    """Its text holds more than the output: the output alone is read, with the exit code."""
    _, told = read("qwen_failing")
    failed = ("failure", "bash", "app.py:3: AssertionError: 1 != 2\nmake: *** [Makefile:2: test] Error 1", 2)
    # The last time it lost the output.
    assert [step for step in steps(told) if step[0] in ("success", "failure")] == [failed] * 3 + [(*failed[:2], "", 2)]


@pytest.mark.parametrize(
    ("said", "output", "code"),
    [
        ("Command: a\nb\nDirectory: (root)\nOutput: x\nError: y\nExit Code: 3\nSignal: (none)\n", "x\ny", 3),
        ("Command: a\nDirectory: /r\nOutput: (empty)\nError: (none)\nExit Code: 1\nSignal: 0\n", "", 1),
        (
            "Command: a\nDirectory: /r\nOutput: x\nExit Code: 7\n",
            "Command: a\nDirectory: /r\nOutput: x\nExit Code: 7\n",
            7,
        ),
        ("It printed Exit Code: 3", "It printed Exit Code: 3", None),
    ],
)
def test_the_output_alone(said: str, output: str, code: int | None) -> None:
    """The command, its directory and its process group are no part of what it printed."""
    assert shell_result(said) == (output, code)


def test_a_command_given_in_words_is_the_command() -> None:
    """A shell tool may take its command as a list, with the shell around it or without."""
    for words, command in ((["bash", "-lc", "make all"], "make all"), (["ls", "my files"], "ls 'my files'")):
        call = {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": words, "workdir": "/r"}}
        line = {"type": "assistant", "message": {"id": "m1", "content": [call]}}
        _, told = read("claude", [json.dumps(line).encode() + b"\n"])
        assert steps(told) == [("action", "bash", command, None)]


def test_opencode() -> None:
    """Call and result in one line; the exit code counts, whatever the status says; each step says what it used."""
    stream, told = read("opencode")
    assert [step for step in steps(told) if step[0] != "message"] == [
        ("action", "bash", "echo hi", None),
        ("success", "bash", "hi", 0),
        ("action", "bash", "echo FORBID", None),
        ("failure", "bash", "HUMAN-OC-DENY", None),
        ("action", "bash", FAILING, None),
        ("failure", "bash", "oops\n\nHUMAN-OC: try make test", 3),
    ]
    assert stream.session == "ses_e0032cbe6ffeuljrxSZT710OWj"
    assert stream.ended is True
    assert sum(one.tokens for one in told) == 440


@pytest.mark.parametrize(
    ("name", "line", "error"),
    [
        (
            "claude",
            {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 529"},
            "API Error: 529",
        ),
        ("claude", {"type": "result", "subtype": "error_max_turns", "is_error": False}, "error_max_turns"),
        ("codex", {"type": "turn.failed", "error": {"message": "stream disconnected"}}, "stream disconnected"),
        ("gemini", {"type": "result", "status": "error", "error": {"message": "quota"}}, "quota"),
        ("opencode", {"type": "error", "error": {"name": "X", "data": {"message": "no model"}}}, "no model"),
    ],
)
def test_an_agent_that_says_it_failed(name: str, line: dict[str, Any], error: str) -> None:
    """Its own words are the error, whatever its exit code will be."""
    stream, _ = read(name, [json.dumps(line).encode()])
    assert stream.error == error


def test_an_error_that_was_overcome_is_none() -> None:
    """Codex speaks of each attempt to reach its model again; a turn that completes all the same went well."""
    lines = [b'{"type":"error","message":"Reconnecting... 1/5"}', b'{"type":"turn.completed","usage":{}}']
    assert read("codex", lines)[0].error == ""
    assert read("codex", lines[:1])[0].error == "Reconnecting... 1/5"


def test_usage_is_counted_once() -> None:
    """Blocks of one message repeat its usage, sub-agents speak in between, and the end has the rest of it all."""

    def said(id: str, tokens: int, agent: str | None = None) -> bytes:
        usage = {"input_tokens": tokens, "cache_read_input_tokens": 1000, "output_tokens": 1}
        message = {"id": id, "content": [{"type": "text", "text": "x"}], "usage": usage}
        return json.dumps({"type": "assistant", "message": message, "parent_tool_use_id": agent}).encode()

    models = {"big": {"inputTokens": 60, "outputTokens": 20}, "small": {"inputTokens": 15, "outputTokens": 5}}
    end = json.dumps({"type": "result", "usage": {"input_tokens": 1}, "modelUsage": models, "total_cost_usd": 0.5})
    lines = [said("a", 10), said("b", 20, "toolu_1"), said("a", 10), said("b", 20, "toolu_1"), end.encode()]
    _, told = read("claude", lines)
    assert [one.tokens for one in told if one.kind == "usage"] == [11, 21, 68]
    assert sum(one.cost or 0 for one in told) == 0.5


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.jsonl")))
def test_what_comes_twice_changes_nothing(name: str) -> None:
    """Every line of a recording once more, at once or after all the others: the same steps, usage and end."""
    once, told = read(name)
    lines = recorded(name)
    pieces = [line for line in lines if b'"delta"' in line]
    again = [line for line in lines if line not in pieces]
    for twice in ([copy for line in lines for copy in ([line] if line in pieces else [line, line])], [*lines, *again]):
        stream, more = read(name, twice)
        assert [one for one in more if one.kind != "alive"] == [one for one in told if one.kind != "alive"]
        assert stream.messages == once.messages
        assert stream.tokens == once.tokens
        assert stream.cost == once.cost
        assert stream.session == once.session
        assert stream.ended == once.ended
        assert stream.error == once.error


def test_what_is_remembered_of_lines_is_bounded() -> None:
    """A stream without an end takes no more room for the ids of its lines."""
    stream = STREAMS["opencode"]()
    for number in range(10_000):
        assert stream.read(json.dumps({"type": "step_start", "part": {"id": f"prt_{number}"}}))
    assert len(stream._keys) < 5_000


def test_an_id_is_no_option() -> None:
    """A session that could be taken for an option, or for a path, is none."""
    for session in ("--dangerously", "../../etc", "a b", "", 7, None, "x" * 200):
        line = json.dumps({"type": "system", "session_id": session}).encode()
        assert read("claude", [line])[0].session == ""


@pytest.mark.parametrize("name", list(STREAMS))
def test_hostile_lines(name: str) -> None:
    """20 MB in one line, half a line, another version, no text at all: passed over, and what follows is read."""
    noise = [
        b'{"type":"assistant","message":"' + b"x" * 20 * 2**20 + b'"}\n',
        recorded(name)[1][:-40],
        b'{"type":"thought.v9","content":{"a":[1]}}\n',
        b"\xff\xfe{\x00\n",
        b'{"type":"assistant","message":{"content":[{"type":"text","text":"\xff\xfe\x1b[2J"}]}}\n',
        b"[" * 100_000 + b"\n",
        b"null\n",
        b"[]\n",
        b'{"type":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001 + b"\n",
        b'{"type":"result","usage":{"input_tokens":-5,"output_tokens":1e999},"total_cost_usd":"much"}\n',
    ]
    assert len(noise[0]) > LINE_LIMIT
    _, expected = read(name)
    stream, told = read(name, [*noise, *recorded(name)])
    assert [one for one in steps(told) if one in steps(expected)] == steps(expected)
    assert all("\x1b" not in one.text for one in told)
    assert stream.tokens < 10**6


def test_what_is_kept_is_bounded() -> None:
    """However much an agent says in however many calls that never end, little of it is kept."""
    stream = STREAMS["gemini"]()
    for number in range(1_000):
        stream.read(json.dumps({"type": "message", "role": "assistant", "content": "x" * 1_000}))
        stream.read(json.dumps({"type": "tool_use", "tool_id": f"t{number}", "tool_name": "bash", "parameters": {}}))
    assert len(stream.messages) < 200_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(CHARACTERS, max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(CHARACTERS, max_size=4), inner, max_size=2),
    max_leaves=4,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


@settings(max_examples=150)
@given(name=st.sampled_from(list(STREAMS)), data=st.data())
def test_another_version_does_no_harm(name: str, data: st.DataObject) -> None:
    """Any value of any recorded line replaced by anything at all: the line tells less, and nothing breaks."""
    lines = recorded(name)
    number = data.draw(st.integers(0, len(lines) - 1))
    line = json.loads(lines[number])
    path = data.draw(st.sampled_from([place for place in places(line) if place]))
    value = data.draw(VALUES)
    changed = json.loads(json.dumps(line))
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    stream, _ = read(name, [*lines[:number], json.dumps(changed).encode(), *lines[number:]])
    assert stream.ended or name == "claude_subagent"


@pytest.mark.parametrize(
    ("name", "before", "used", "cost"),
    [("codex_resumed", 220, 220, None), ("qwen_resumed", 330, 330, None), ("claude_resumed", 330, 220, 0.0012)],
)
def test_a_session_that_goes_on_is_not_counted_again(name: str, before: int, used: int, cost: float | None) -> None:
    """They sum a whole session at the end; what an earlier process has used is not this one's."""
    stream = STREAMS[name.partition("_")[0]](before=before)
    told = [found for line in recorded(name) for found in stream.read(line)]
    assert sum(one.tokens for one in told) == used
    assert stream.cost == (cost if cost is None else pytest.approx(cost))


def test_claude_counts_each_of_several_results_once() -> None:
    """A newer version says what has come since its last result, and sums the session beside it."""
    stream = STREAMS["claude"]()

    def end(tokens: int, cost: float, *, all: int) -> int:
        recent = {"m": {"inputTokens": tokens, "costUSD": cost}}
        summed = {"modelUsage": {"m": {"inputTokens": all}}, "total_cost_usd": all / 100}
        line = json.dumps({"type": "result", "model_usage_since_last_result": recent, **summed})
        return sum(one.tokens for one in stream.read(line))

    assert (end(100, 1.0, all=700), end(50, 0.5, all=750)) == (100, 50)
    assert (stream.tokens, stream.cost) == (150, 1.5)


def test_failing_commands_that_are_told_otherwise() -> None:
    """opencode calls a command completed that ended with 3: it failed. of Gemini nothing is made up."""
    assert ("failure", "bash", "oops", 3) in steps(read("opencode_failing")[1])
    assert ("success", "bash", "oops", None) in steps(read("gemini_failing")[1])


def test_what_could_just_be_read_can_be_told() -> None:
    """Writing down takes more depth than reading: at no depth is a call lost in an error, or the lines after it."""
    for depth in range(900, 1000):
        stream = STREAMS["gemini"]()
        deep = "[" * depth + "]" * depth
        stream.read('{"type": "tool_use", "tool_id": "1", "tool_name": "x", "parameters": {"a": ' + deep + "}}")
        stream.read('{"type": "result", "status": "success"}')
        assert stream.ended
