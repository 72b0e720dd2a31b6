"""Transcripts that are damaged, huge, foreign or still written: each fault costs only itself, and is said."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from pathlib import Path

import pytest
from tests.history.kept import keep, lines_of
from tests.history.test_recorded_sessions import only

from unstuck.history import json_objects
from unstuck.history.locations import sources_in
from unstuck.history.reviews import Problem, Session, Wanted, review_of, session_row

LOOP = lines_of("claude")


def written(place: Path, data: str | bytes) -> Path:
    place.write_bytes(data.encode() if isinstance(data, str) else data)
    return place


def whole(tmp_path: Path) -> dict[str, object]:
    """The row of the undamaged session, but for its file."""
    return {**session_row(only(written(tmp_path / "whole.jsonl", "\n".join(LOOP) + "\n"))), "file": ""}


@pytest.mark.parametrize(
    "between",
    ["{broken", "\x00\x00\x00", "[1, 2]", '"text"', "[" * 100_000, '{"type": 5, "message": [[]]}', '{"type":"new"}'],
    ids=["cut", "zeros", "list", "text", "deep", "other types", "unknown"],
)
def test_a_damaged_line_costs_only_itself(between: str, tmp_path: Path) -> None:
    """The rest of the session is read as if the line were not there."""
    lines = [line for recorded in LOOP for line in (between, recorded)]
    found = only(written(tmp_path / "damaged.jsonl", "\n".join(lines) + "\n"))
    assert {**session_row(found), "file": ""} == whole(tmp_path)
    said = f"{len(LOOP)} damaged lines are left out"
    assert found.notes == ((said,) if not between.startswith('{"') else ())


def test_a_huge_line_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line over the limit is skipped without being held in memory; what comes after it is read."""
    monkeypatch.setattr(json_objects, "LINE_LIMIT", 50_000)
    huge = json.dumps({"type": "user", "text": "x" * 3_000_000})
    found = only(written(tmp_path / "huge.jsonl", "\n".join([LOOP[0], huge, *LOOP[1:], huge]) + "\n"))
    assert {**session_row(found), "file": ""} == whole(tmp_path)
    assert found.notes == ("2 lines are too long to read, and left out",)


def test_a_line_that_is_being_written(tmp_path: Path) -> None:
    """The begin of a last line is no damage: the agent is writing it."""
    found = only(written(tmp_path / "grows.jsonl", "\n".join([*LOOP, LOOP[-1][:100]])))
    assert found.notes == ()
    assert found.review.used.steps == 9


def test_a_transcript_that_grows_while_it_is_read(tmp_path: Path) -> None:
    """It is read as far as it went when it was opened, so that reading ends."""
    place = written(tmp_path / "grows.jsonl", "\n".join(LOOP) + "\n")
    losses = json_objects.Losses()
    count = 0
    for count, _ in enumerate(json_objects.objects_in(place, losses), 1):  # noqa: B007
        with place.open("a", encoding="utf-8") as stream:
            stream.write(LOOP[-1] + "\n")
    assert count == len(LOOP)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(encoding: str, tmp_path: Path) -> None:
    """A file that was saved in another encoding is the same session; what cannot be decoded costs its letters."""
    text = "\n".join(LOOP).replace("I look at the cart first.", "Füße") + "\n"
    data = b"\xff\xfe" + text.encode(encoding) if encoding == "utf-16-le" else text.encode(encoding, "replace")
    found = only(written(tmp_path / "other.jsonl", data))
    assert {**session_row(found), "file": ""} == whole(tmp_path)


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"hello\n", b"\x7fELF\x00\x01", b'{"seq": 1, "event": "run_started"}\n' * 500, b"{}\n", b"[]"],
    ids=["empty", "blank", "text", "binary", "event log", "objects", "list"],
)
def test_a_foreign_file(data: bytes, tmp_path: Path) -> None:
    """A file that no known agent wrote is named, and nothing is made of it."""
    (source,) = sources_in(written(tmp_path / "foreign.jsonl", data), pytest.fail)
    found = review_of(source, Wanted())
    assert isinstance(found, Problem)
    assert found.foreign
    assert "no transcript or recorded stream of a known agent" in found.reason


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe, a missing file and a directory are refused at once, without waiting for anything."""
    os.mkfifo(tmp_path / "pipe")
    said: list[str] = []
    for name in ("pipe", "missing", "."):
        assert list(sources_in(tmp_path / name, said.append)) == []
    assert [line.rpartition(": ")[2] for line in said] == [
        "it is no file",
        "No such file or directory",
        "it is no file",
    ]


def test_an_unknown_version_is_said(tmp_path: Path) -> None:
    """A version that nobody has tried is named: some of it may be missing."""
    newer = [line.replace('"version":"2.1.197"', '"version":"3.0.1"') for line in LOOP]
    found = only(written(tmp_path / "newer.jsonl", "\n".join(newer) + "\n"))
    assert found.notes == ("version 3.0.1 of claude is unknown: some steps may be missing",)
    assert only(written(tmp_path / "known.jsonl", "\n".join(LOOP) + "\n")).notes == ()


def test_a_live_session_is_marked(tmp_path: Path) -> None:
    """It is live if something was written to it just now, and that happened just now."""
    now = time.time()
    lines = [json.loads(line) for line in LOOP]
    for number, line in enumerate(lines):
        if "timestamp" in line:
            line["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - 60 + number))
    place = written(tmp_path / "live.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    assert session_row(only(place, now=now))["live"] is True
    assert "live" not in session_row(only(place, now=now + 3_600))
    assert "live" not in session_row(only(keep(tmp_path, "claude"), now=now)), "only copied just now"


def test_secrets_stay_where_they_are(tmp_path: Path) -> None:
    """No secret of a transcript is in a row, a timeline or an excerpt."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    lines = [line.replace(" -q test_cart", f" -q test_cart --token={secret}") for line in LOOP]
    lines = [line.replace("AssertionError: 0 != 9", f"AssertionError: {secret} != 9") for line in lines]
    assert secret in "".join(lines)
    found = only(written(tmp_path / "secret.jsonl", "\n".join(lines) + "\n"))
    assert found.review.loops
    assert secret not in json.dumps(session_row(found))
    assert secret not in repr(found.review)


def test_escapes_act_on_nothing(tmp_path: Path) -> None:
    """Terminal escapes in names, messages and results of a transcript are taken out."""
    lines = [line.replace("/home/ann/shop", "/home/ann/\\u001b]0;x\\u0007shop") for line in LOOP]
    found = only(written(tmp_path / "escapes.jsonl", "\n".join(lines).replace("AssertionError", "\\u001b[2JA") + "\n"))
    assert "\x1b" not in repr(found).replace("\\x1b", "\x1b")


def test_memory_is_bounded_however_long_it_is(tmp_path: Path) -> None:
    """A session of 45 MB needs a tenth of that: nothing of it is kept but its review, however many loops it has."""
    place, size = tmp_path / "long.jsonl", 45_000_000
    calls = [line for line in LOOP if '"type":"tool_use"' in line or "tool_result" in line][:8]
    filling = f'{{"filling":"{"x" * 10_000}",'
    steps = 0
    with place.open("w", encoding="utf-8") as stream:
        while stream.tell() < size:
            for line in calls:
                fresh = line.replace("toolu_", f"t{steps}_").replace('"uuid":"', f'"uuid":"{steps}-')
                stream.write(f"{filling}{fresh[1:].replace('0 != 9', f'{steps} != 9')}\n")
            steps += 4
    (source,) = sources_in(place, pytest.fail)
    short = tmp_path / "short.jsonl"
    short.write_bytes(place.read_bytes()[: size // 10])
    review_of(next(iter(sources_in(short, pytest.fail))), Wanted())  # what is imported and cached on first use
    tracemalloc.start()
    found = review_of(source, Wanted())
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(found, Session)
    assert found.review.used.steps == steps
    assert used < size / 10
