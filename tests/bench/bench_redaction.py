"""Cost of redaction per megabyte, beside the SHA-256 of the same bytes; budget 100 ms (10 MB/s)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path

from bench_kit import Bench, processor_seconds
from tests.text.secret_kinds import kinds, services
from tests.text.test_hidden_secrets import in_json, split

from unstuck import text
from unstuck.text import redact

DATA = Path(__file__).parents[1] / "data"
SIZE = 1 << 20
VALUE = "aB3" * 8
ALL = "\n".join([*services(1).values(), *(secret for secret, _ in kinds(1).values())]) + "\n"
TEXTS = {
    "outputs of tools, as recorded": (DATA / "tools.jsonl").read_text(),
    "failures of agents, as recorded": (DATA / "failures.jsonl").read_text(),
    "a log": "2026-11-23 09:16:21 INFO handled GET /items?page=3 in 12ms\nFAILED tests/test_a.py::test_token - Error\n",
    "lines of JSON": json.dumps({"type": "user", "content": 'line one\nline two\ttoken\n"quoted"'}) + "\n",
    "curl without a password": "curl ",
    "mysql without a password": "mysql -p ",
    "passwords, as dense as can be": "password=x ",
    "a password in each line of JSON": json.dumps({"c": f'a\n{{"password": "{VALUE}"}}\nb'}) + "\n",
    "a password in each line of JSON within JSON": json.dumps(json.dumps({"c": f"password={VALUE}\n"})) + "\n",
    "passwords divided by zero-width spaces": "pass\u200bword=x ",
    "colours": "\x1b[31mred\x1b[0m plain\n",
    "characters as codes": "\\u0041",
    "passwords divided by zero-width spaces, in JSON": json.dumps("pass\u200bword=x \n") + "\n",
    "passwords in JSON of four levels": reduce(lambda text, _: json.dumps(text), range(4), f"password={VALUE}\n")
    + "\n",
    "every kind of secret": ALL,
    "every kind of secret, in JSON within JSON": in_json(json.dumps({"stdout": ALL})) + "\n",
    "every kind of secret, divided by colours": split("\x1b[1m")(ALL),
    "every kind of secret, divided by zero-width spaces, in JSON": in_json(split("\u200b")(ALL)) + "\n",
    "source code": "".join(path.read_text() for path in sorted(Path(text.__file__).parents[1].rglob("*.py"))),
}


def _text(piece: str) -> str:
    return (piece * (SIZE // len(piece) + 1))[:SIZE]


def _milliseconds(action: Callable[[], object]) -> Callable[[], float]:
    return lambda: processor_seconds(action) * 1000


def benches() -> Iterator[Bench]:
    """One row for each kind of text."""
    for name, piece in TEXTS.items():
        text = _text(piece)
        raw = text.encode()
        yield Bench(
            name=f"1 MB of {name}",
            unit="ms",
            measure=_milliseconds(lambda text=text: redact(text)),
            against=_milliseconds(lambda raw=raw: hashlib.sha256(raw).digest()),
            budget="≤ 100 ms",
            rounds=3,
        )
