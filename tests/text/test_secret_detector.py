"""Secrets that a maintained detector finds are replaced; details needed to find a fault stay."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from tests.text.secret_kinds import kinds
from tests.text.test_hidden_secrets import in_json, shown

from unstuck.text import admit, redact

DATA = Path(__file__).parents[1] / "data"
# Two of its rules take every hash for a secret, one finds addresses, and one ids of accounts, which are public.
LEFT_OUT = {"Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector", "TwilioKeyDetector"}
RULES = [
    rule() for rule in get_mapping_from_secret_type_to_class().values() if rule.__name__ not in LEFT_OUT
]  # fmt: skip
LETTERS, HEX = string.ascii_letters + string.digits, "0123456789abcdef"


def found(text: str) -> set[str]:
    """Return the findings of the detector in ``text``, by its rules alone, without a network."""
    return {secret for rule in RULES for line in text.splitlines() for secret in rule.analyze_string(line)}


def detected(seed: int) -> dict[str, str]:
    """A text for each of the detector's rules that no kind of ours stands for."""
    draw = random.Random(seed)

    def some(count: int, letters: str = LETTERS) -> str:
        return "".join(draw.choices(letters, k=count))

    return {
        "AWS, another id": "A3T" + "X" + some(16, string.ascii_uppercase + string.digits),
        "Mailchimp": some(32, HEX) + "-us" + "12",
        "Discord bot": "M" + some(25) + "." + some(6) + "." + some(27),
        "GitLab registration": "GR" + "1348941" + some(20),
        "Azure": "Account" + "Key=" + some(86) + "==",
        "Cloudant key": f"cloudant_key = '{some(64, HEX)}'",
        "Cloudant password": f"cl_pw: {some(24, string.ascii_lowercase)}",
        "Cloudant URL": f"https://acc:{some(64, HEX)}@acc.cloudant.com",
        "IBM": f"ibm_cloud_iam_key={some(44)}",
        "IBM storage": f"cos_hmac_secret_access_key={some(48, HEX)}",
        "SoftLayer": f"sl_key={some(64, HEX)}",
        "npm": f"//registry.example/:_authToken={uuid.UUID(int=draw.getrandbits(128))}",
        "FTP": f"ftp://me:{some(6)}@h",
        **{
            f"{name} {sign}": f'{name}{sign}"{some(12)}"'
            for name in (
                "api_key", "auth_key", "service_key", "account_key", "db_key", "dbkey", "database_key", "priv_key",
                "private_key", "client_key", "db_pass", "database_pass", "key_pass", "password", "passwd", "pwd",
                "secret", "contraseña", "contrasena",
            )
            for sign in (" = ", ": ", "=", " => ")
        },
    }  # fmt: skip


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: f"before {text}\nafter",
    "in JSON": lambda text: in_json(f"before\n{text}\n\tafter"),
    "in colours": lambda text: f"\x1b[32m{text}\x1b[0m",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_what_it_finds_is_gone(form: str, seed: int) -> None:
    """In made-up texts of every rule of its, and of every kind of ours, whatever they are printed in."""
    texts = detected(seed) | {kind: text for kind, (text, _) in kinds(seed).items()}
    assert [name for name, text in detected(seed).items() if not found(text)] == []
    left = {}
    for name, text in texts.items():
        readable = shown(admit(FORMS[form](text)))
        if kept := {secret for secret in found(text) if secret in readable}:
            left[name] = kept
    assert left == {}


@pytest.mark.parametrize("file", ["tools.jsonl", "failures.jsonl", "agent_messages.jsonl"])
def test_what_it_finds_in_recorded_output_is_gone(file: str) -> None:
    """Real output of tools and agents: it finds nothing in what is left, but words that only look like a value."""
    for line in (DATA / file).read_text(encoding="utf-8").splitlines():
        text = shown(admit(line, limit=1 << 20))
        assert [one for one in found(text) if "[redacted]" not in one and not one.isidentifier()] == [], text


def lock_file(draw: random.Random) -> str:
    """Lock files of several package managers, with checksums as they have them."""
    sha = [hashlib.sha512(draw.randbytes(8)) for _ in range(8)]
    coded = base64.b64encode(sha[0].digest()).decode()
    return "\n".join(
        (
            f'"integrity": "sha512-{coded}",',
            f'resolved "https://registry.example/a/-/a-1.2.3.tgz#{sha[1].hexdigest()[:40]}"',
            f'{{file = "a-1.0-py3-none-any.whl", hash = "sha256:{sha[2].hexdigest()[:64]}"}}',
            f'checksum = "{sha[3].hexdigest()[:64]}"',
            f"golang.org/x/net v0.1.0 h1:{base64.b64encode(sha[4].digest()[:32]).decode()}",
            f"    --hash=sha256:{sha[5].hexdigest()[:64]}",
            f'"packages": {{"a": {{"rev": "{sha[6].hexdigest()[:40]}", "narHash": "sha256-{coded[:43]}="}}}}',
            f"content-hash: {sha[7].hexdigest()[:64]}",
        )
    )


@pytest.mark.parametrize("seed", range(20))
def test_hashes_ids_pictures_and_lock_files_stay(seed: int) -> None:
    """None of it is a secret, and all of it is needed to tell what went wrong."""
    draw = random.Random(seed)
    raw = draw.randbytes(3_000)
    evidence = "\n".join(
        (
            f"commit {hashlib.sha1(raw).hexdigest()}  index 1a2b3c4..{hashlib.md5(raw).hexdigest()[:7]} 100644",
            f"{hashlib.sha256(raw).hexdigest()}  dist/app.tar.gz",
            f"run {uuid.UUID(int=draw.getrandbits(128))} trace={draw.getrandbits(128):032x}",
            f'<img src="data:image/png;base64,{base64.b64encode(raw).decode()}">',
            f"//# sourceMappingURL=data:application/json;base64,{base64.b64encode(raw[:600]).decode()}",
            base64.encodebytes(raw).decode(),
            lock_file(draw),
            f"primary_key=id foreign_key: user_id sort_key = created cache_key={hashlib.md5(raw).hexdigest()}",
            "ssl_client_key: /etc/ssl/private/client.pem  KeyError: 'auth_key'  keys: 3  key=value  monkey: banana",
            "db.key() == other_key, key_pw, spw: 3, tests passed: 12, by-pass=1, encompass: all",
            f"ETag: W/\"{draw.getrandbits(64):x}\"  x-request-id: {uuid.UUID(int=draw.getrandbits(128))}",
            f"us-east-1 {hashlib.md5(raw).hexdigest()}-usable  MSFT.Office.Interop  Module.method.another",
        )
    )  # fmt: skip
    assert redact(evidence) == evidence
    assert json.loads(redact(json.dumps({"text": evidence})))["text"] == evidence
