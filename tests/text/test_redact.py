"""Secrets go, evidence stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from unstuck.text import admit, redact, secret_values, set_secret_values

BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 6)
HEX = "0123456789abcdef"


@pytest.fixture
def registry() -> Iterator[None]:
    """Leaves no known values behind."""
    yield
    set_secret_values(())


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("AKIA" + "IOSFODNN7EXAMPLE", id="AWS access key"),
        pytest.param("ghp_" + "a1B2" * 9, id="GitHub personal"),
        pytest.param("gho_" + "a1B2" * 9, id="GitHub OAuth"),
        pytest.param("github_pat_" + "11ABCDEFG0" * 3 + "_" + "a1" * 20, id="GitHub fine-grained"),
        pytest.param("glpat-" + "a1B2c3D4e5" * 2, id="GitLab"),
        pytest.param("sk-" + "a1B2c3D4" * 6, id="OpenAI"),
        pytest.param("sk-proj-" + "a1B2_c3-D4" * 6, id="OpenAI project"),
        pytest.param("sk-ant-api03-" + "a1B2_c3-D4" * 6, id="Anthropic"),
        pytest.param("xoxb-" + "123456789012-abcdef", id="Slack bot"),
        pytest.param("xoxp-" + "123456789012-abcdef", id="Slack user"),
        pytest.param("AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q", id="Google"),
        pytest.param("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4", id="JWT"),
        pytest.param(f"-----BEGIN PRIVATE KEY-----\n{BODY}\nabcd==\n-----END PRIVATE KEY-----", id="PEM"),
        pytest.param(
            f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{BODY}\n-----END RSA PRIVATE KEY-----",
            id="encrypted PEM",
        ),
        pytest.param(f"-----BEGIN EC PRIVATE KEY-----\n{BODY}", id="PEM without its end"),
        pytest.param(f"{BODY}\nabcd==\n-----END OPENSSH PRIVATE KEY-----", id="PEM without its beginning"),
    ],
)
def test_a_key_is_known_by_its_shape(secret: str) -> None:
    """A key anywhere in the output is replaced whole, and the words around it stay."""
    assert redact(f"before {secret}\nafter") == "before [redacted]\nafter"
    assert redact(f'"{secret}"') == '"[redacted]"'


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("password=hunter2", "password=[redacted]"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted] psql"),
        ("token=abc123&page=2", "token=[redacted]&page=2"),
        ("api_key: abcd", "api_key: [redacted]"),
        ("API-KEY = 'abc def'", "API-KEY = '[redacted]'"),
        ('{"client_secret": "a b", "n": 1}', '{"client_secret": "[redacted]", "n": 1}'),
        ('"{\\"password\\": \\"a b\\"}"', '"{\\"password\\": \\"[redacted]\\"}"'),
        ("AWS_SECRET_ACCESS_KEY=/abc+def/1", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("mysql --password hunter2 -h db", "mysql --password [redacted] -h db"),
        ("Authorization: Bearer x", "Authorization: Bearer [redacted]"),
        ("-H 'Authorization: token abcdef' -v", "-H 'Authorization: token [redacted]' -v"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ("sent Bearer a1b2c3d4e5f6a7b8c9", "sent Bearer [redacted]"),
        ("postgres://me:pa:ss@db:5432/app", "postgres://[redacted]@db:5432/app"),
        ("redis://:pass@cache/0", "redis://[redacted]@cache/0"),
    ],
)
def test_a_value_is_known_by_its_name(raw: str, clean: str) -> None:
    """The name of a secret stays readable, its value does not."""
    assert redact(raw) == clean


@pytest.mark.parametrize(
    "evidence",
    [
        f"commit {HEX * 2}01234567",
        f"sha256:{HEX * 4}",
        "run 550e8400-e29b-41d4-a716-446655440000",
        "def login(user: str, password: str, token=None) -> bool:",
        "token = self.tokens[0]; password = get_password(user)",
        "secret: os.environ['SECRET']; echo $TOKEN; password: ${DB_PASSWORD}",
        "max_tokens=4096, total_tokens: 1200",
        "SyntaxError: Unexpected token: '}'",
        "PWD=/srv/project",
        "if token == other and password != '':",
        "--token is required",
        "http://localhost:8080/a@b git@github.com:me/repo.git",
        "disk-usage-of-the-whole-project task-12345678901234567890",
        "Bearer of bad news: authorization failed",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_evidence_is_kept(evidence: str) -> None:
    """Hashes, code and messages about secrets are needed to tell what went wrong."""
    assert redact(evidence) == evidence


def test_a_marker_in_source_code_does_not_hide_what_follows() -> None:
    """A line of code that mentions a private key's first line is not a key."""
    source = 'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError(text)\nE   ValueError: x'
    assert redact(source).endswith("in text:\n    raise ValueError(text)\nE   ValueError: x")


def test_an_escape_inside_a_secret_does_not_save_it() -> None:
    """Colours and invisible characters are gone before secrets are looked for."""
    assert admit("ghp_a1B2a1B2\x1b[31ma1B2a1B2\u200ba1B2a1B2a1B2") == "[redacted]"


@pytest.mark.usefixtures("registry")
def test_named_values_are_replaced_wherever_they_stand() -> None:
    """A secret of the environment does not reach the log, whatever it looks like."""
    set_secret_values(["correct horse", "correct horse battery", "short", "redacted"])
    assert admit("say correct horse battery, correct horse, short, redacted") == (
        "say [redacted], [redacted], short, redacted"
    )
    assert redact(redact("correct horse")) == "[redacted]"


@pytest.mark.usefixtures("registry")
def test_named_values_can_be_forgotten() -> None:
    """The last set of values is the one that counts."""
    set_secret_values(["correct horse"])
    set_secret_values([])
    assert redact("correct horse") == "correct horse"


def test_secret_variables_are_known_by_their_names() -> None:
    """The composition root need not decide what a secret variable is."""
    environ = {
        "ANTHROPIC_API_KEY": "value-one",
        "DB_PASSWORD": "value-two",
        "GITHUB_TOKEN": "value-three",
        "MAX_TOKENS": "100000000",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "AWS_ACCESS_KEY_ID": "value-four",
        "AWS_SECRET_ACCESS_KEY": "/wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY1",
        "MYSQL_PWD": "value-five",
        "STRIPE_KEY": "value-six",
        "DATABASE_URL": "postgres://me:value-seven@db:5432/app",
        "SSH_PUBLIC_KEY": "ssh-ed25519 AAAA",
        "SSH_AUTH_SOCK": "/tmp/agent.1",
        "TOKEN_URL": "https://example.org/token",
        "OLDPWD": "value-of-a-directory",
        "HOME": "/home/me",
    }
    assert secret_values(environ) == [
        "value-one",
        "value-two",
        "value-three",
        "/wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY1",
        "value-five",
        "value-six",
        "value-seven",
    ]


@pytest.mark.usefixtures("registry")
def test_a_value_goes_whole_whatever_stands_before_it() -> None:
    """A variable printed with its name leaves nothing of a value that has blanks in it."""
    set_secret_values(["correct horse battery"])
    assert redact("MY_TOKEN=correct horse battery\n") == "MY_TOKEN=[redacted]\n"


@pytest.mark.usefixtures("registry")
def test_a_value_is_known_line_by_line_and_as_json_has_it() -> None:
    """A key of several lines is gone though each was printed by itself, and so is one inside a JSON string."""
    set_secret_values(['first-long-line-of-it\nsecond "quoted" line-of-it'])
    assert redact('a first-long-line-of-it b\nsecond "quoted" line-of-it') == "a [redacted] b\n[redacted]"
    assert redact('{"x": "first-long-line-of-it\\nsecond \\"quoted\\" line-of-it"}') == '{"x": "[redacted]"}'
