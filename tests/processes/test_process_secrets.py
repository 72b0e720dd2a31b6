"""No secret reaches the file with an agent's output, however it is printed; every other byte does."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.processes.conftest import Lab

from unstuck.processes.shim.output import Output
from unstuck.text import redact, set_secret_values

VALUE = "correct horse battery"
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n" * 24
KEY += "-----END PRIVATE KEY-----\n"
SECRETS = (VALUE, "ghp_" + "a1B2" * 9, KEY)
PLAIN = b"commit 0123456789abcdef0123456789abcdef01234567 \xff\x9b31m \xe2\x82\xac done\n"


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """One secret of the environment is known."""
    set_secret_values([VALUE])
    yield
    set_secret_values(())


def written(path: Path, chunks: list[bytes], limit: int = 1 << 30) -> bytes:
    """Return the file's content when these chunks were printed."""
    path.unlink(missing_ok=True)
    output = Output(str(path), limit, [VALUE])
    for chunk in chunks:
        output.add(chunk)
    output.close()
    assert output.start == 0
    assert output.end == path.stat().st_size
    return path.read_bytes()


def cleaned(raw: bytes) -> bytes:
    """``raw`` as it may be written."""
    return redact(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from((*(one.encode() for one in SECRETS), PLAIN)), max_size=5), st.data())
def test_wherever_the_output_is_cut_into_pieces(tmp_path: Path, parts: list[bytes], data: st.DataObject) -> None:
    """A secret that comes in two reads is as gone as one that comes in one, and nothing else is."""
    raw = b"> ".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    found = written(tmp_path / "out", chunks)
    assert found == cleaned(raw)
    assert not any(secret.encode() in found for secret in SECRETS)


@pytest.mark.parametrize("filler", [b"x", b"word "])
def test_a_line_without_an_end_hides_nothing(tmp_path: Path, filler: bytes) -> None:
    """A megabyte without a line end are written before one comes, and secrets on any border are still seen."""
    draw, raw = random.Random(7), bytearray()
    for _ in range(35):
        raw += filler * draw.randrange(1, 60_000 // len(filler)) + b" " + SECRETS[draw.randrange(2)].encode() + b" "
    chunks = [bytes(raw[at : at + 50_000]) for at in range(0, len(raw), 50_000)]
    found = written(tmp_path / "out", chunks)
    assert found == cleaned(bytes(raw))
    assert not any(secret.encode() in found for secret in SECRETS[:2])


def test_the_cut_in_the_middle_leaves_no_half_secret(tmp_path: Path) -> None:
    """The part after an omitted middle begins with a whole line."""
    lines = [f"{number} token={SECRETS[1]} {VALUE}\n".encode() for number in range(3_000)]
    for limit in range(10_000, 10_120, 7):
        found = written(tmp_path / "out", lines, limit)
        assert b"bytes left out" in found
        assert b"a1B2" not in found
        assert b"battery" not in found
        assert len(found) < limit + 100


def test_an_agent_does_not_wait_for_what_it_prints_to_be_cleaned(tmp_path: Path) -> None:
    """Output is only collected as long as more comes; then all of it is redacted and written in its order."""
    output = Output(str(tmp_path / "out"), 1 << 30, [VALUE])
    lines = [f"{number} curl -u me:{VALUE} {SECRETS[1]}\n".encode() * 100 for number in range(400)]
    for line in lines:
        output.take(line)
        assert (tmp_path / "out").stat().st_size == 0
    assert output.total == sum(map(len, lines))
    while output.waiting:
        output.work()
    assert b"399 curl" in (tmp_path / "out").read_bytes()
    output.close()
    assert (tmp_path / "out").read_bytes() == b"".join(map(cleaned, lines))


def test_what_waits_to_be_cleaned_is_bounded(tmp_path: Path) -> None:
    """A flood that never pauses takes no more memory than 8 MiB; nothing of it is lost."""
    output = Output(str(tmp_path / "out"), 1 << 30)
    for _ in range(20):
        output.take(b"some line\n" * 100_000)
        assert len(output._ahead) <= 8 << 20
    output.close()
    assert (tmp_path / "out").stat().st_size == 20_000_000


def test_a_long_output_takes_little_memory(tmp_path: Path) -> None:
    """An unfinished line has a bound, even if its end never comes."""
    output = Output(str(tmp_path / "out"), 1 << 30, [VALUE])
    for _ in range(80):
        output.add(b"y" * 50_000)
        assert len(output._line) < 200_000
    output.close()
    assert (tmp_path / "out").stat().st_size == 80 * 50_000


async def test_a_real_agent_prints_its_environment(lab: Lab) -> None:
    """A program that prints every variable, one of them secret, leaves its name and not its value in the file."""
    launch = lab.launch("sh", "-c", 'printf "before %s" "$MY_TOKEN"; printf " after %s\\n" "$MY_TOKEN"; env')
    launch = type(launch)(
        **{
            **{name: getattr(launch, name) for name in launch.__slots__},
            "environment": {**os.environ, "MY_TOKEN": VALUE},
        }
    )
    end = await (await lab.start(launch)).wait()
    said = lab.output.read_text()
    assert said.startswith("before [redacted] after [redacted]\n")
    assert "MY_TOKEN=[redacted]\n" in said
    assert VALUE not in said
    assert end.start == 0
    assert end.end == lab.output.stat().st_size
