"""What it costs to say what a failure is: per kilobyte of ordinary output, and for ten megabytes at once."""

from __future__ import annotations

from collections.abc import Iterable

from bench_kit import Bench, seconds

from unstuck.diagnosis import diagnose

FAILURE = """\
Traceback (most recent call last):
  File "shop/webhook.py", line 31, in verify
    raise ValueError(f"signature mismatch: {given!r}")
ValueError: signature mismatch: 'v1=9f2c'
FAILED tests/test_webhook.py::test_signature - ValueError: signature mismatch
"""
LINE = "tests/test_cart.py::test_total[{}] PASSED                                        [ {}%]\n"


def output(size: int) -> str:
    """Test output of about ``size`` characters that ends in one failure."""
    count = size // len(LINE)
    return "".join(LINE.format(number, number * 100 // max(count, 1)) for number in range(count)) + FAILURE


def per_kilobyte(text: str) -> float:
    """Microseconds a kilobyte."""
    return seconds(lambda: diagnose(text, exit_code=1)) * 1e6 / (len(text) / 1024)


def benches() -> Iterable[Bench]:
    """Sizes that real checks print, then one that nobody wants to read."""
    for kilobytes in (1, 16, 128):
        text = output(kilobytes * 1024)
        name = f"diagnose {kilobytes} KB"
        yield Bench(name=name, unit="µs/KB", measure=lambda text=text: per_kilobyte(text), budget="60", rounds=15)
    big = output(10 * 2**20)
    yield Bench(
        name="diagnose 10 MB", unit="ms", measure=lambda: seconds(lambda: diagnose(big, exit_code=1)) * 1e3, budget="30"
    )
    line = "x" * (10 * 2**20)
    yield Bench(
        name="diagnose one line of 10 MB",
        unit="ms",
        measure=lambda: seconds(lambda: diagnose(line, exit_code=1)) * 1e3,
        budget="30",
    )
