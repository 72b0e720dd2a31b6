"""Names, hashes, UUIDs and base64 that begin as a maker's keys do stay; keys in the maker's own form go."""

from __future__ import annotations

import base64
import random

import pytest
from tests.text.secret_kinds import services

from unstuck.text import redact
from unstuck.text._redact import ends_in_key

UUID = "550e8400-e29b-41d4-a716-446655440000"
SHA1 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
TIME = "20240115101500123456789"
PAD = "2026-11-23 09:16:21 INFO handled GET /items in 12ms\n" * 2_000


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(f"tid_{UUID} fc-{UUID} rpa_{UUID} vci_{UUID} rnd_{UUID} aio_{UUID}", id="UUIDs"),
        pytest.param(f"ico-{UUID}.svg jina_{UUID} llx-{UUID} secret-test-{UUID} unkey_{UUID}", id="more UUIDs"),
        pytest.param('{"tid": "tid_3f2a9b7c1d4e5f6a7b8c"} fw_a1b2c3d4e5f6a7b8c9d0.bin', id="short hashes"),
        pytest.param(f"vcr_{SHA1}.yaml phx_{SHA1[:20]} phs_{SHA1} csk-{SHA1} rnd_{SHA1[:28]}", id="hashes"),
        pytest.param("kubectl get secret secret-test-7d9f3a1b2c4d5e6f7a8b", id="name of an object"),
        pytest.param(f"rnd_20240115T101500123456789 fc-event-{TIME} rootly_incident_{TIME}", id="times"),
        pytest.param(f"fc-cache-7d9f3a1b2c4d5e6f7a8b ico-arrow-right-16x16-{SHA1[:20]}.svg", id="cache and icon"),
        pytest.param(
            f"napi_create_function_0123456789abcdefabcd napi_v8_linux_x64_gnu_{SHA1[:20]} phs_component_{SHA1}",
            id="functions",
        ),
        pytest.param(f"aio_pika_connection_{TIME} csk-component-library-{TIME} vcr_cassette_{SHA1}", id="packages"),
        pytest.param("dtn_node_modules_0123456789abcdefabcd fc-20240115.101500.abcdef0123456789abcd", id="versions"),
        pytest.param(
            "re_validate_internationalization re_register_SomethingVeryLongCamelCase"
            " test_re_generate_abcdefghijklmnopqrstuvwxyz",
            id="identifiers",
        ),
        pytest.param("jina_embeddings_v3 a1b2c3d\nphx_live_view2 9f86d08 fix\nvcr_cassettes2 9f86d08", id="commits"),
        pytest.param("tr_prod_Eu1 a1b2c3d4 access-production-EU1 abc123f unkey_Go2 ABC123DEF", id="places"),
        pytest.param("secret-live-DB1 Password123 Foo1bar", id="words behind a place"),
        pytest.param("8D7xoL+skdaB7" + "LnMjTO1SIyTtaC4e1jga" * 5 + "/x", id="base64 like Sanity"),
        pytest.param("nmusrfXkopDlHt+u+AZZ8dsNTeOwui7ccFE/BIKs\nu+AZZ8dsNTeOwui7ccFE/BIKs", id="base64 like PagerDuty"),
        pytest.param("AGFzbQEAAAAB/EAABf39+" + "EAABf38BfwF" * 12 + "/EAAB" + "f38BfwF2" * 20, id="base64 of wasm"),
        pytest.param("\nEAAB" + "f38BfwF2" * 9 + "\nEAAA" + "f38BfwF2" * 9, id="wrapped base64"),
    ],
)
def test_what_only_begins_as_a_key_stays(evidence: str) -> None:
    """By itself, and in text so large that it is searched in another way."""
    assert redact(evidence) == evidence
    keys = "\n".join(services(1).values())
    assert redact(f"{PAD}{keys}\n---\n{evidence}\n").endswith(f"\n---\n{evidence}\n")


@pytest.mark.parametrize("share", [0, 2 / 3])
@pytest.mark.parametrize("altered", [b"+/", b"-_"])
def test_base64_stays(share: float, altered: bytes) -> None:
    """Of random and of sparse bytes with the beginnings of keys at every place, in one line and in many."""
    draw = random.Random(7)
    for begin in (b"EAAA", b"EAAB", b"skA1", b"u+Az", b"/EAB", b"+skA", b"/u+A", b"cioA"):
        begin = begin.translate(bytes.maketrans(b"+/", altered))
        raw = bytes(0 if draw.random() < share else draw.randrange(256) for _ in range(114))
        coded = base64.b64encode(raw, altered)
        one_line = b"".join(begin + coded[at:] + coded[:at] for at in range(0, len(coded), 4)).decode()
        many = "\n".join(one_line[at : at + 76] for at in range(0, len(one_line), 76))
        for text in (one_line, many, begin.decode() + coded.decode()[:72] + "\n" + many):
            assert redact(text) == text


@pytest.mark.parametrize("share", [0, 2 / 3])
def test_base64_behind_the_beginning_of_a_key_stays(share: float) -> None:
    """No more goes than a key is long, and the next line only where the first part may be one."""
    draw = random.Random(7)
    raw = bytes(0 if draw.random() < share else draw.randrange(256) for _ in range(1_200))
    coded = base64.urlsafe_b64encode(raw).decode()
    for begin, longest in (("AIza", 60), ("-sk-1a", 400)):
        assert redact(begin + coded).endswith(coded[longest:])
    wrapped = base64.encodebytes(raw).decode()
    for begin in ("AKIA", "ASIA"):
        assert redact(f"{begin}b/{wrapped[6:]}") == f"{begin}b/{wrapped[6:]}"
        assert redact(f"{wrapped}{begin}AM0ACwAAAACu\n{wrapped}") == f"{wrapped}{begin}AM0ACwAAAACu\n{wrapped}"


FORMS = {
    "Square": "EA" + "AAl3" + "aB3dE5fG_hJ9kL1mN2pQ4rS6-U8vW0xY" * 2,
    "Meta's oldest application": "EA" + "AAA" + "UaZA8jlABO" * 12,
    "RunPod in capitals": "rp" + "a_" + "5F0ZB4XKV0PCG4WNJZ6YMMTG0ZWBEB6B9OXF6IA0" + "1m6ce2",
    "Sourcegraph of one server": "sg" + "p_local_" + SHA1,
    "Plaid's sandbox": "access-" + "sandbox-" + UUID,
    "Stytch with a blank alphabet": "secret-" + "test-" + "aB3dE-fG7hJ9_L1mN2pQ4rS6tU8vW0xYaB3d" + "=",
    "Flutterwave's newer": "FLW" + "SECK-" + SHA1[:32] + "-18b7e8f01avt-X",
    "PagerDuty at the begin of a line": "u" + "+aB3dE5fG7hJ9kL1mN2",
}
FORMS["Square"] = FORMS["Square"][:64]


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_of_a_maker_go(form: str) -> None:
    """Keys as their makers write them, where one maker has several forms."""
    for text in (f"key={FORMS[form]} ok", f'{{"x": "{FORMS[form]}"}}', f"\n{FORMS[form]}\n", PAD + FORMS[form]):
        assert FORMS[form][-9:] not in redact(text)


@pytest.mark.parametrize("kind", ["Cursor", "Clojars", "HubSpot", "Cerebras", "Together", "Vercel"])
def test_a_line_that_ends_in_a_key_is_known(kind: str) -> None:
    """The output that follows waits for the rest of a key, and not for that of a name."""
    key = services(3)[kind]
    assert ends_in_key(f"export KEY={key[: len(key) * 3 // 5]}\n")
    assert not ends_in_key("see vcr_cassettes2 and jina_embeddings_v3\n")
