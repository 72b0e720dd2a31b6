"""Secrets are seen through what agents print them in: JSON, JSON within JSON, colours, invisible characters."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.text.secret_kinds import kinds, services

from unstuck.processes.shim.output import Output
from unstuck.text import _redact, admit, one_line, redact

SEEDS = (1, 2, 3)
KINDS = sorted(kinds(1))


def in_json(text: str) -> str:
    """``text`` as the result of a tool in a stream of JSON."""
    return json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}})


def split(by: str) -> Callable[[str], str]:
    """Something that no reader sees in the middle of each word of eight letters and more."""
    return lambda text: re.sub(r"[A-Za-z0-9_]{8,}", lambda word: word[0][:4] + by + word[0][4:], text)


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: f"before {text}\nafter",
    "behind a line feed": lambda text: in_json(f"before\n{text}\nafter"),
    "behind a tab": lambda text: in_json(f"before\t{text}\tafter"),
    "behind a carriage return": lambda text: in_json(f"before\r\n{text}\r\nafter"),
    "behind a colour": lambda text: in_json(f"\x1b[31m{text}\x1b[0m"),
    "JSON in JSON": lambda text: in_json(json.dumps({"stdout": f"before\n{text}\nafter"})),
    "JSON in JSON in JSON": lambda text: in_json(in_json(json.dumps({"stdout": f"before\n{text}\nafter"}))),
    "every character escaped": lambda text: '{"x": "' + "".join(f"\\u{ord(one):04x}" for one in text) + '"}',
    "slashes escaped": lambda text: in_json(f"\n{text}\n").replace("/", "\\/"),
    "divided by a colour": lambda text: f"before {split(chr(27) + '[1m')(text)}\nafter",
    "divided by a colour in JSON": lambda text: in_json(f"before\n{split(chr(27) + '[1m')(text)}\nafter"),
    "divided by a zero-width space": lambda text: f"before {split(chr(0x200B))(text)}\nafter",
    "divided by it in JSON": lambda text: in_json(f"before\n{split(chr(0x200B))(text)}\nafter"),
    "divided by a soft hyphen": lambda text: json.dumps(f"\n{split(chr(0xAD))(text)}", ensure_ascii=False),
}


def shown(text: str) -> str:
    """Return the readable part of ``text`` without the layers that it is in."""
    for _ in range(5):
        text = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
        text = re.sub(r"\x1b\[[0-9]*m|[\u200b\u00ad]", "", text).replace("\\n", "\n").replace("\\/", "/")
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    return text


def written(path: Path, raw: bytes, draw: random.Random) -> str:
    """The file of an attempt that printed ``raw`` in pieces of any size."""
    output = Output(str(path), 1 << 20)
    while raw:
        count = draw.randrange(1, 200)
        output.add(raw[:count])
        raw = raw[count:]
    output.close()
    return path.read_text(errors="surrogateescape")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_is_hidden_by_how_it_is_printed(kind: str, form: str, tmp_path: Path) -> None:
    """Not in the file of the output, whatever pieces it came in, and in no text that is shown or recorded."""
    for seed in SEEDS:
        secret, part = kinds(seed)[kind]
        printed = FORMS[form](secret)
        assert part in shown(printed)
        ways = {
            "redact": redact(printed),
            "admit": admit(printed),
            "one line": one_line(printed, 4_000),
            "file": written(tmp_path / f"out{seed}", printed.encode() + b"\n", random.Random(seed)),
        }
        for way, text in ways.items():
            assert part not in shown(text), (way, text)
            assert "[redacted]" in text
            assert redact(text) == text


@pytest.mark.parametrize("form", FORMS)
def test_keys_of_services_go_however_they_are_printed(form: str, tmp_path: Path) -> None:
    """One by one, all of them in one file, and in text large enough to be searched in another way."""
    keys, pad = services(1), "2026-11-23 09:16:21 INFO handled GET /items in 12ms\n" * 200
    for name, key in keys.items():
        for text in (redact(FORMS[form](key)), redact(pad + FORMS[form](key))):
            assert (name, key[-9:] in shown(text)) == (name, False)
    printed = FORMS[form]("\n".join(keys.values())).encode()
    text = shown(written(tmp_path / "out", printed + b"\n", random.Random(1)))
    assert [name for name, key in keys.items() if key[-9:] in text] == []


BROKEN = ["GitHub", "OpenAI", "npm", "Cloudflare", "Jina", "Logfire", "PostHog", "Vercel"]


@pytest.mark.parametrize("by", ["\n", "\x1b[0m\n\x1b[31m", "\x1b[0m\r\n\x1b[31m"])
@pytest.mark.parametrize("kind", BROKEN)
def test_a_key_goes_on_behind_a_line_end_and_a_colour(kind: str, by: str, tmp_path: Path) -> None:
    """A terminal that draws each line in its colour divides a key where the line is full."""
    for seed in SEEDS:
        key = services(seed).get(kind) or kinds(seed)[kind][0]
        at = len(key) * 3 // 5
        printed = f"the key is \x1b[31m{key[:at]}{by}{key[at:]}\x1b[0m and no other\n"
        for text in (
            redact(printed),
            admit(printed),
            written(tmp_path / f"{seed}", printed.encode(), random.Random(seed)),
        ):
            assert key[:at][-9:] not in text
            assert key[-9:] not in text
            assert "and no other" in text


def test_a_key_goes_on_behind_a_line_end_in_the_middle_of_many_keys() -> None:
    """Large text with many kinds of keys is searched for all of them at once, and nothing of one is left."""
    many = "\n".join(services(2).values()) + "\n"
    broken = {kind: services(3).get(kind) or kinds(3)[kind][0] for kind in BROKEN}
    printed = "".join(
        f"the key is {key[: len(key) * 3 // 5]}\n{key[len(key) * 3 // 5 :]}\nand {many}" for key in broken.values()
    )
    text = redact(printed * (70_000 // len(printed) + 1))
    assert [kind for kind, key in broken.items() if key[-9:] in text] == []


@pytest.mark.parametrize(
    "evidence",
    [
        "napi_create_external_string_utf16 napi_get_value_int64",
        "re_compile_pattern_v2 fw_update_rollback_2024_11 rnd_seed_1234567890123456789",
        "sk_buff_head_lock_2 sgp_30_radians tid_0 aio_read64",
        "tests/test_re_ParsesManyFramesOfHttp2.py::test_fw_Sends2FramesAtOnceToAll PASSED",
        "fc-cache-2.13.1-h3f0c4a_0 fc-match ico-sizes-16x16 e2b_template",
        "toolu_01A09q90qw90lq917835lq9 call_a1B2c3D4e5F6g7H8i9J0k1L2 req_011CQaB2c3D4e5F6g7H8i9J0",
        "sha256:" + "0123456789abcdef" * 4,
        "sha512-" + "aB3dE5fG7hI9jK1l" * 5 + "aB3dE5==",
        "SUCCESS SNAPSHOT SOAP_ACTION SUAVE",
        "wsl.exe ssl.SSLError: [SSL] cio.read() v1.0-beta.2 v1.0-3f0c4a1b",
        "pat.match(text) pat-na1-eu vcr_cassettes/2024_11_23_login.yaml secret-live-migration-2024-11-23",
        "depot_project_settings_2024_backup tr_dev_mode_2_enabled phx_new 1.7.14",
        "EAAmple LTAImer AQVNet ciorama oy2 EZAK cflt",
        "access-production-" + "logs-2024-11-23-09-16",
        "API-GATEWAY API-2024-11-23 SCWORKFLOW SKIPPED skb_linearize sk" + "y" * 80,
        "api-7d9f8c6b5d-x2x4z sdk-v1.42.0 ak-47 as-is db-migration-2024-11-23-add-users console-output",
        "u+0041 0.12.3 chpt_1 pss_mb secret-3f0c4a1b " + "A" * 400,
    ],
)
def test_words_that_begin_as_keys_of_services_stay(evidence: str) -> None:
    """Names of functions, files and tests, versions, hashes, and ids of calls are evidence."""
    assert redact(evidence) == evidence
    assert redact("x\n" * 9_000 + evidence) == "x\n" * 9_000 + evidence


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [4, 5])
def test_no_kind_is_hidden_by_others_beside_it(form: str, seed: int, tmp_path: Path) -> None:
    """All of them in one text, which is written in pieces that begin and end anywhere."""
    printed = FORMS[form]("\n".join(secret for secret, _ in kinds(seed).values()))
    texts = (redact(printed), written(tmp_path / "out", printed.encode() + b"\n", random.Random(seed)))
    for text in map(shown, texts):
        assert [kind for kind, (_, part) in kinds(seed).items() if part in text] == []


@pytest.mark.parametrize("form", FORMS)
def test_each_kind_is_found_in_large_text_as_in_small(form: str) -> None:
    """Each kind is found in large text, with nothing else beside it that would trigger the search."""
    around = "2026-11-23 09:16:21 INFO handled GET /items in 12ms\n" * 100
    for kind, (secret, part) in kinds(6).items():
        assert part not in shown(redact(f"{around}{FORMS[form](secret)}\n{around}")), kind


@pytest.mark.parametrize("form", FORMS)
def test_short_texts_are_redacted_alike_early_and_late(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first texts of a process are searched in another way than those after many."""
    texts = [FORMS[form](secret) for secret, _ in kinds(7).values()]
    found = []
    for after in (sys.maxsize, 0):
        monkeypatch.setattr(_redact, "_MUCH", after)
        found.append([redact(text) for text in texts])
    assert found[0] == found[1]


def test_escapes_before_a_secret_stay_whole() -> None:
    """JSON within JSON reads as it did around a secret."""
    prompt = "Enter password:\nkm3x9" + "wq7zt1\nok"
    text = redact(json.dumps(json.dumps(prompt)))
    assert json.loads(json.loads(text)) == "Enter password:\n[redacted]\nok"


def test_very_many_secrets_behind_escapes_go_with_what_stands_between_them() -> None:
    """Nothing of them is left, and what stands before and behind them is."""
    lines = [f"K{number}_TOKEN=v{number:06}" for number in range(3_000)]
    clean = redact(json.dumps({"a": "begin of it\n" + "\n".join(lines) + "\nend of it"}))
    assert json.loads(clean)["a"].startswith("begin of it\nK0_TOKEN=[redacted]")
    assert json.loads(clean)["a"].endswith("[redacted]\nend of it")
    assert not [line for line in lines if line[-7:] in clean]


@pytest.mark.parametrize("form", ["behind a line feed", "JSON in JSON", "JSON in JSON in JSON"])
def test_a_line_of_json_stays_one(form: str) -> None:
    """A program that reads the stream can still read it, and every word beside the secret is there."""
    for secret, _ in kinds(1).values():
        line = redact(FORMS[form](secret))
        assert isinstance(json.loads(line), dict)
        assert "before" in line
        if "BEGIN" not in secret and "Private" not in secret:
            assert "after" in line


@pytest.mark.parametrize(
    "evidence",
    [
        in_json("FAILED tests/test_a.py::test_pass\nE   assert 'x\\ny' == 1\n\ttoken = self.token\n"),
        in_json(f"commit {'0123456789' * 4}\n\tcache key-{'0123456789abcdef' * 2}\n"),
        "C:\\new\\tests\\bin\\runner.exe \\d+\\w{3} \\u00e9t\\u00e9 \x1b[31mred\x1b[0m",
        "test_pass: 3\nsecond_pass: None",
    ],
)
def test_evidence_in_json_is_kept(evidence: str) -> None:
    """Text that hides nothing stays as it was printed, escapes included."""
    assert redact(evidence) == evidence


# Kinds that a word says the beginning of, and whose rest is more than letters or digits alone.
BEGUN = [
    "Anthropic",
    "AWS id",
    "GitHub",
    "GitHub fine",
    "Google OAuth",
    "JWT",
    "OpenAI",
    "PyPI",
    "SendGrid",
    "npm",
]


@pytest.mark.parametrize("by", [" ", "  ", "\n", "\r\n    "])
@pytest.mark.parametrize("share", [0.4, 0.5, 0.7])
@pytest.mark.parametrize("kind", BEGUN)
def test_a_key_that_is_divided_goes_whole(kind: str, share: float, by: str, tmp_path: Path) -> None:
    """A terminal, a mail or a model that writes it down breaks it anywhere; the words behind it stay."""
    for seed in SEEDS:
        secret, _ = kinds(seed)[kind]
        at = int(len(secret) * share)
        printed = f"the key is {secret[:at]}{by}{secret[at:]} and no other\n"
        for text in (redact(printed), written(tmp_path / f"{seed}", printed.encode(), random.Random(seed))):
            assert text == "the key is [redacted] and no other\n"
        assert redact(json.dumps(printed)) == json.dumps("the key is [redacted] and no other\n")


def test_words_behind_a_key_or_its_prefix_stay() -> None:
    """Text behind a whole key, or behind a word that only begins as one, is evidence."""
    key = kinds(1)["GitHub"][0]
    for after in ("Traceback (most recent call last):", "failed: 401", "tests/test_a.py:12", "Version 2 ISO8601"):
        assert redact(f"{key} {after}\n") == f"[redacted] {after}\n"
    for line in (
        "task sk-12 Test_Api2Key passed",
        "npm_config_cache Node20Lts",
        "hf_hub 0.23.1 Llama3Chat",
        "Asia/Tokyo 2026-11-23T10:00",
        "key-value Store2Memory",
    ):
        assert redact(line) == line


def test_a_rule_finds_as_much_with_re2_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of secret is found where RE2 cannot be loaded, too, and the same text comes out."""
    texts = [FORMS[form]("\n".join(secret for secret, _ in kinds(7).values())) * 3 for form in FORMS]
    clean = list(map(redact, texts))
    monkeypatch.setattr("unstuck.text._redact._search", lambda patterns: None)
    _redact._likely_rules.cache_clear()
    try:
        assert list(map(redact, texts)) == clean
    finally:
        _redact._likely_rules.cache_clear()
