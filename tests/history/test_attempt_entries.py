"""Entries of an attempt, parsed from its output: the same for every agent and protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.agents.streams.edits import change_in
from unstuck.contract import Observation
from unstuck.history.entries import Entries, Entry, call_words, lines_of
from unstuck.history.output_reader import LINE_LIMIT, OutputReader
from unstuck.text import Clean

RECORDED = Path(__file__).parents[1] / "data" / "attempts"
AGENTS = sorted(path.stem for path in RECORDED.glob("*.log"))
ROOT = "/home/dev/shop"
SILENT = ("gemini", "acp_gemini")
"""Those that do not tell how a command ended."""
WITHOUT_DIFF = ("codex",)
"""``codex exec --json`` names the files that it changes, and not what it changes in them."""


def entries_of(agent: str) -> tuple[Entry, ...]:
    """Return the entries of a recorded attempt."""
    found = OutputReader(RECORDED / f"{agent}.log", root=ROOT).read(is_ended=True)
    assert found is not None
    return found


def shown(entries: tuple[Entry, ...], *, unfold: bool = False) -> list[str]:
    """Their lines as a person reads them."""
    lines = chain.from_iterable(lines_of(entry, unfold=unfold) for entry in entries)
    return [f"{line.sign} {line.text}".rstrip() for line in lines]


def test_every_source_is_recorded() -> None:
    """Streams of seven programs, the SDK, the app-server, and five agents of the Agent Client Protocol."""
    assert len(AGENTS) == 14


@pytest.mark.parametrize("agent", AGENTS)
def test_what_the_agent_said(agent: str) -> None:
    """Its messages stand there in their order, each with the sign of a message, and no JSON around them."""
    said = [line for entry in entries_of(agent) if entry.kind == "said" for line in entry.text.splitlines() if line]
    told = [
        "I read the code before I change it.",
        "It keeps only the last price.",
        "The loop overwrites the sum, so I add instead.",
        "Now the tests.",
        "All tests pass now: `total` adds every price, and NOTES.md says so.",
    ]
    found = [line for line in said if not line.startswith("Warning: Model metadata")]
    assert found == [line for line in told if line in found]
    assert len(found) >= 4
    assert not any(line.lstrip("●$→±✓✗ ").startswith(("{", '["')) for line in shown(entries_of(agent)))


CONTEXT = RECORDED.with_name("context")


@pytest.mark.parametrize("log", [*sorted(CONTEXT.glob("*.log")), RECORDED.with_name("refused") / "opencode_model.log"])
def test_the_error_that_ended_it(log: Path) -> None:
    """Recorded attempts that ended with an error of the agent or its provider: its words, once, and no JSON."""
    entries = OutputReader(log).read(is_ended=True)
    assert entries is not None
    lines = shown(entries)
    assert not any(line.lstrip("●$→±✓✗ ").startswith(('{"type"', "{'")) for line in lines)
    words = ("context window", "too long", "context length", "input token count", "Unexpected server error")
    assert len([line for line in lines if any(word in line for word in words)]) >= 1, lines
    errors = [entry.text for entry in entries if entry.kind in ("note", "said")]
    assert len(errors) == len(set(errors)), lines


@pytest.mark.parametrize("agent", AGENTS)
def test_a_command_with_its_result_folded(agent: str) -> None:
    """A command stands with its result; of a long one the first lines and how many more there are."""
    entry = next(entry for entry in entries_of(agent) if entry.text == "cat cart.py; seq 1 60")
    folded, whole = shown((entry,)), shown((entry,), unfold=True)
    assert folded[0] == "$ cat cart.py; seq 1 60"
    if agent == "acp_gemini":  # it hands over no output
        assert folded[1:] == ["✓"]
        return
    assert folded[1:] == [
        "✓ def total(prices):",
        "      result = 0",
        "      for price in prices:",
        "          result = price",
        "  … 61 more lines",
    ]
    assert len(whole) == 66
    assert whole[-1] == "  60"


@pytest.mark.parametrize("agent", AGENTS)
def test_an_edit_is_a_diff(agent: str) -> None:
    """A changed and a new file stand with their paths in the project, the lines with their signs, and the counts."""
    entries = [entry for entry in entries_of(agent) if entry.diff or "apply_patch" in entry.text]
    changed, new = [shown((entry,)) for entry in entries]
    if agent in WITHOUT_DIFF:
        assert (changed[0], new[0]) == ("→ apply_patch update cart.py", "→ apply_patch add NOTES.md")
        return
    assert changed[0].startswith("± ")
    assert changed[0].endswith(" cart.py  +1 -1")
    assert "  -        result = price" in changed
    assert "  +        result = result + price  # every price counts" in changed
    assert new[0].endswith(" NOTES.md  +3 -0")
    assert new[1:4] == ["  +# Notes", "  +", "  +- total adds every price"]


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent not in SILENT])
def test_a_failed_command(agent: str) -> None:
    """Its exit code stands above what it printed, and its last lines are always shown."""
    failed = [entry for entry in entries_of(agent) if entry.failed]
    if agent == "qwen":  # its stream gives no exit code
        assert failed == []
        return
    lines = shown((failed[-1],))
    assert lines[0].endswith("exit 3")
    assert lines[1] == "✗ exit 3"
    assert lines[-1] == "  oops"


@pytest.mark.parametrize("agent", AGENTS)
def test_followed_byte_by_byte_it_is_the_same(agent: str, tmp_path: Path) -> None:
    """Looked at again and again while the agent writes, in pieces of any length, it comes to the same entries."""
    whole = (RECORDED / f"{agent}.log").read_bytes()
    file = tmp_path / "attempt.log"
    file.write_bytes(b"")
    reader = OutputReader(file, root=ROOT)
    assert reader.read() is None
    with file.open("ab", buffering=0) as stream:
        for at in range(0, len(whole), 997):
            stream.write(whole[at : at + 997])
            reader.read()
    assert reader.read(is_ended=True) == entries_of(agent)


def test_a_message_that_is_still_coming(tmp_path: Path) -> None:
    """An agent that prints its message in pieces is read while it speaks, and its whole message stands once."""
    file = tmp_path / "attempt.log"
    lines = (RECORDED / "gemini.log").read_text("utf-8").splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if '"role":"assistant"' in line)
    file.write_text("".join(lines[: first + 1]), encoding="utf-8")
    reader = OutputReader(file)
    found = reader.read() or ()
    assert found[-1].text.startswith("I read")
    file.write_text("".join(lines), encoding="utf-8")
    said = [entry.text for entry in reader.read() or () if entry.kind == "said"]
    assert said[0] == "I read the code before I change it."
    assert len(said) == len(set(said))


@pytest.mark.parametrize("agent", AGENTS)
def test_damaged_lines_cost_only_themselves(agent: str, tmp_path: Path) -> None:
    """Cut lines, noise, half characters and a huge line between its own change nothing else that is shown."""
    broken = [b'{"type":"assist\n', b"\xff\xfe\n", b'{"a":' * 900 + b"\n", b"[]\n", b"{}\n", b"\n", b"null\n"]
    huge = b'{"type":"' + b"x" * (LINE_LIMIT + 10) + b'"}\n'
    lines = (RECORDED / f"{agent}.log").read_bytes().splitlines(keepends=True)
    file = tmp_path / "attempt.log"
    damaged = (piece for at, line in enumerate(lines) for piece in (broken[at % len(broken)], line))
    file.write_bytes(b"".join(chain(damaged, [huge])))
    read = OutputReader(file, root=ROOT).read(is_ended=True) or ()
    assert [one for one in read if one.kind != "note"] == [one for one in entries_of(agent) if one.kind != "note"]


def test_plain_text_is_no_conversation(tmp_path: Path) -> None:
    """A program that prints lines, or JSON of its own, is shown as it printed them."""
    file = tmp_path / "attempt.log"
    file.write_text('reading\n{"level":"info","msg":"hi"}\n[1]\ndone\n', encoding="utf-8")
    assert OutputReader(file).read(is_ended=True) is None


def test_an_output_that_is_written_anew(tmp_path: Path) -> None:
    """A file that has become shorter is read from its beginning."""
    file = tmp_path / "attempt.log"
    file.write_bytes((RECORDED / "claude.log").read_bytes())
    reader = OutputReader(file)
    assert reader.read()
    file.write_bytes((RECORDED / "codex.log").read_bytes())
    assert "→ apply_patch update /home/dev/shop/cart.py" in shown(reader.read() or ())


@pytest.mark.parametrize("agent", ["acp_gemini", "codex-app-server", "gemini"])
def test_a_long_output_keeps_its_end(agent: str, tmp_path: Path) -> None:
    """Of an output larger than the window the end is read, whose agent shows at its beginning; memory is bounded."""
    lines = (RECORDED / f"{agent}.log").read_bytes().splitlines(keepends=True)
    middle = [line for line in lines if line.startswith(b"{")][8:]
    file = tmp_path / "attempt.log"
    with file.open("wb") as stream:
        stream.writelines(lines)
        while stream.tell() < 3 * 2**20:
            stream.writelines(middle)
        stream.write(b"the very last line\n")
    found = OutputReader(file, window=2**20).read(is_ended=True) or ()
    assert any(entry.kind == "note" and "left out" in entry.text for entry in found)
    assert found[-1].text == "the very last line"
    assert any(entry.kind == "said" for entry in found[-40:])
    assert sum(entry.size for entry in found) < 5_000_000


def test_a_resumed_session_is_not_told_again(tmp_path: Path) -> None:
    """Messages that an agent replays when its session is loaded belong to an earlier attempt."""

    def update(words: str) -> str:
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": chunk}}
        return json.dumps(message) + "\n"

    file = tmp_path / "attempt.log"
    file.write_text(
        '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'
        + update("An old story.")
        + '{"jsonrpc":"2.0","id":1,"result":{"modes":{}}}\n'
        + update("New words.")
        + '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}\n',
        encoding="utf-8",
    )
    assert [entry.text for entry in OutputReader(file).read(is_ended=True) or ()] == ["New words."]


def test_a_conversation_that_ends_before_its_session(tmp_path: Path) -> None:
    """An agent that opens no session has said why; its protocol is not shown."""
    file = tmp_path / "task.1.log"
    why = "Internal error: --dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
    file.write_text(
        '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}\n'
        "[session/create] phase=settings\n"
        f'{{"jsonrpc":"2.0","id":1,"error":{{"code":-32603,"message":"{why}","data":{{}}}}}}\n',
        encoding="utf-8",
    )
    entries = OutputReader(file).read(is_ended=True)
    assert entries is not None
    told = "\n".join(line.text for entry in entries for line in lines_of(entry))
    assert why in told
    assert "[session/create]" in told
    assert "jsonrpc" not in told


def test_hostile_text_is_cleaned() -> None:
    """Escapes that hide in the JSON of a call's arguments act on no terminal, and secrets are not shown."""
    given = json.dumps({"file_path": "a\x1b]0;title\x07b", "content": "\x1b[2J\x9b31mx\u202e\ntoken ghp_" + "a" * 36})
    text, diff = call_words("write", Clean(f"Write {given}"))
    printed = text + diff
    assert "\x1b" not in printed
    assert "\x9b" not in printed
    assert "\u202e" not in printed
    assert "ghp_aaaa" not in printed
    assert "title" not in text


def test_memory_stays_bounded() -> None:
    """A session of any length keeps its newest entries, and a late result of a call that has gone is still shown."""
    entries = Entries(most=50)
    entries.add(Observation(kind="action", text=Clean("make"), id="old"))
    for number in range(500):
        entries.add(Observation(kind="message", role="agent", text=Clean(f"{number}")))
    entries.add(Observation(kind="success", text=Clean("built"), id="old"))
    assert len(entries.kept) == 50
    assert entries.kept[-1].result == "built"
    for number in range(400):
        entries.add(Observation(kind="message", role="agent", text=Clean("x" * 16_000), id=str(number)))
    assert sum(entry.size for entry in Entries(most=50).kept) == 0
    assert sum(entry.size for entry in entries.kept) <= 4_000_000


def test_results_find_their_calls() -> None:
    """Parallel calls, and those of a sub-agent with the same id, each get their own result."""
    entries = Entries()
    for agent, id, words in (("", "1", "ls a"), ("", "2", "ls b"), ("sub", "1", "ls c")):
        entries.add(Observation(kind="action", text=Clean(words), id=id, agent_id=agent))
    for agent, id, words in (("sub", "1", "c"), ("", "2", "b"), ("", "1", "a")):
        entries.add(Observation(kind="success", text=Clean(words), id=id, agent_id=agent))
    assert [(one.text, one.result, one.step) for one in entries.kept] == [
        ("ls a", "a", 2),
        ("ls b", "b", 1),
        ("ls c", "c", 0),
    ]
    assert shown(entries.kept)[-2] == "$ [sub] ls c"


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ('Read {"file_path":"/w/a.py","limit":5,"offset":10}', "Read a.py  limit=5  offset=10"),
        ('Grep {"output_mode":"content","pattern":"def .*"}', "Grep def .*  output_mode=content"),
        ('TodoWrite {"todos":[{"content":"Fix it","status":"pending"}]}', "TodoWrite \n[pending] Fix it"),
        ('update_plan {"plan":[{"status":"completed","step":"Look"}]}', "update_plan \n[completed] Look"),
        ('plan ["[pending] Look","[pending] Fix"]', "plan \n[pending] Look\n[pending] Fix"),
        ('shop.search {"query":"pears"}', "shop.search pears"),
        ('Read {"file_path":"/w/a', 'Read {"file_path":"/w/a'),
        ("Read {}", "Read"),
        ("make the tea", "make the tea"),
    ],
)
def test_calls_in_words(action: str, text: str) -> None:
    """A call says its tool and what it is about; what cannot be told apart is shown as it is."""
    assert call_words("tool", Clean(action), "/w/") == (text, "")


_PATCH = """*** Begin Patch
*** Update File: a.py
@@ def f():
 x
-y
+z
*** Add File: b.py
+new
*** End Patch"""


@pytest.mark.parametrize(
    ("given", "paths", "diff"),
    [
        ({"file_path": "a", "old_string": "x\ny", "new_string": "x\nz"}, ("a",), " x\n-y\n+z"),
        ({"filePath": "a", "oldString": "x", "newString": "y"}, ("a",), "-x\n+y"),
        ({"path": "a", "edits": [{"oldText": "1", "newText": "2"}, {"oldText": "3", "newText": "4"}]}, ("a",),
         "-1\n+2\n@@\n-3\n+4"),
        ({"file_path": "a", "content": "x\ny\n"}, ("a",), "+x\n+y"),
        ({"notebook_path": "a", "new_source": "x"}, ("a",), "+x"),
        ({"input": _PATCH}, ("a.py", "b.py"), "@@ a.py\n@@ def f():\n x\n-y\n+z\n@@ b.py\n+new"),
        ([["update", "a", "@@ -1 +1 @@\n-x\n+y\n"]], ("a",), "-x\n+y"),
        ([["add", "a", "x\n"], ["delete", "b", "y\n"]], ("a", "b"), "@@ a\n+x\n@@ b\n-y"),
        ([["update", "a"]], ("a",), ""),
    ],
)  # fmt: skip
def test_changes_in_the_words_of_every_tool(given: object, paths: tuple[str, ...], diff: str) -> None:
    """Each agent's tools name the file and the texts in their own way; the diff is the same."""
    assert change_in(given) == (paths, diff)


@pytest.mark.parametrize(
    "given",
    [None, 3, "x", [], [1], [["a"]], {}, {"file_path": "a"}, {"content": "x"}, {"path": "a", "edits": "x"},
     {"path": 3, "content": "x"}, {"file_path": "a", "old_string": 3, "new_string": "x"}],
)  # fmt: skip
def test_what_changes_no_file(given: object) -> None:
    """A call that names no file, or no text for it, has no diff."""
    assert change_in(given) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from(["bash", "edit", "tool", ""]))
def test_no_call_does_harm(value: object, tool: str) -> None:
    """Any arguments of any tool become lines, without an error."""

    def lines() -> Iterator[str]:
        for action in (f"tool {json.dumps(value)}", json.dumps(value), str(value)):
            text, diff = call_words(tool, Clean(action))
            entry = Entry("call", text, diff=diff, result=Clean(action), failed=True)
            for line in (*lines_of(entry), *lines_of(entry, unfold=True)):
                yield line.text

    assert all("\n" not in line for line in lines())
