"""Secrets go, evidence stays."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from unstuck.text import admit, redact, secret_values, set_secret_values

MIXED = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 4
BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 6)
JOINED = BODY.replace("\n", "")
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
        pytest.param(f"-----BEGIN PRIVATE KEY-----{JOINED}", id="PEM in one line without its end"),
        pytest.param(f"{BODY}\nabcd==\n-----END OPENSSH PRIVATE KEY-----", id="PEM without its beginning"),
        pytest.param(f"{JOINED}abcd==-----END PRIVATE KEY-----", id="PEM in one line without its beginning"),
    ],
)
def test_a_key_is_known_by_its_shape(secret: str) -> None:
    """A key anywhere in the output is replaced whole, and the words around it stay."""
    assert redact(f"before {secret}\nafter") == "before [redacted]\nafter"
    assert redact(f'"{secret}"') == '"[redacted]"'


@pytest.mark.parametrize("sign", ["+", "-", " ", "+    ", "-\t", "++", '+  "'])
@pytest.mark.parametrize(("begin", "end"), [(0, None), (0, -3), (2, None)])
def test_a_key_in_a_diff_is_known(sign: str, begin: int, end: int | None) -> None:
    """Added, taken away or beside what is changed; whole, or without the hunk that had its begin or its end.

    It may be indented there, as in a file of settings, or quoted.
    """
    lines = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\nabcd==\n-----END RSA PRIVATE KEY-----".split("\n")
    shown = redact("\n".join(["@@ -1,8 +1,8 @@", *(sign + line for line in lines[begin:end])]))
    assert shown.startswith("@@ -1,8 +1,8 @@\n")
    assert "MIIEvQ" not in shown
    assert "[redacted]" in shown


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("SG." + MIXED[:22] + "." + MIXED[:43], id="SendGrid"),
        pytest.param("1234567890:AA" + MIXED[:33], id="Telegram"),
        pytest.param("sq0csp-" + MIXED[:43], id="Square"),
        pytest.param("shpat_" + HEX * 2, id="Shopify"),
        pytest.param("dop_v1_" + HEX * 4, id="DigitalOcean"),
        pytest.param("dapi" + HEX * 2, id="Databricks"),
        pytest.param("hvs." + MIXED[:90], id="Vault"),
        pytest.param(MIXED[:14] + ".atlasv1." + MIXED[:67], id="Terraform"),
        pytest.param("ATATT3xFfGF0" + MIXED, id="Atlassian"),
        pytest.param("lin_api_" + MIXED[:40], id="Linear"),
        pytest.param("ntn_12345678901" + MIXED[:35], id="Notion"),
        pytest.param("secret_" + MIXED[:43], id="Notion's old"),
        pytest.param("dp.pt." + MIXED[:43], id="Doppler"),
        pytest.param("glsa_" + MIXED[:32] + "_" + HEX[:8], id="Grafana"),
        pytest.param("NRAK-A1B2C3D4E5F6G7H8I9J0K1L2M3N", id="New Relic"),
        pytest.param("pscale_tkn_" + MIXED[:43], id="PlanetScale"),
        pytest.param("PMAK-" + (HEX * 2)[:24] + "-" + (HEX * 3)[:34], id="Postman"),
        pytest.param("rubygems_" + HEX * 3, id="RubyGems"),
        pytest.param("pul-" + (HEX * 3)[:40], id="Pulumi"),
        pytest.param("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2, id="age"),
        pytest.param("abc8Q~" + MIXED[:34], id="Microsoft Entra"),
        pytest.param("GOCSPX-" + MIXED[:28], id="Google OAuth"),
        pytest.param("1//0" + MIXED[:60], id="Google refresh"),
        pytest.param("whsec_" + MIXED[:32], id="Stripe's hooks"),
        pytest.param("AKCp8" + MIXED[:69], id="Artifactory"),
        pytest.param("dckr_pat_" + MIXED[:27], id="Docker"),
        pytest.param("fm2_" + MIXED[:110], id="Fly"),
        pytest.param("sbp_" + (HEX * 3)[:40], id="Supabase"),
        pytest.param("gsk_" + MIXED[:52], id="Groq"),
        pytest.param("r8_" + MIXED[:37], id="Replicate"),
        pytest.param("xai-" + MIXED[:80], id="xAI"),
        pytest.param("pplx-" + MIXED[:48], id="Perplexity"),
        pytest.param("nvapi-" + MIXED[:64], id="NVIDIA"),
        pytest.param("lsv2_pt_" + HEX * 2 + "_" + HEX[:10], id="LangSmith"),
        pytest.param("sntryu_" + HEX * 4, id="Sentry"),
        pytest.param("sqp_" + (HEX * 3)[:40], id="Sonar"),
        pytest.param("glrt-" + MIXED[:20], id="GitLab runner"),
        pytest.param("dt0c01." + "ABCDEFGHIJKLMNOPQRSTUVWX" + "." + "ABCDEFGH12345678" * 4, id="Dynatrace"),
        pytest.param("pat" + MIXED[:14] + "." + HEX * 4, id="Airtable"),
        pytest.param("tskey-auth-" + MIXED[:12] + "CNTRL-" + MIXED[:32], id="Tailscale"),
        pytest.param("xkeysib-" + HEX * 4 + "-" + MIXED[:16], id="Brevo"),
        pytest.param("ABSK" + MIXED[:110], id="Bedrock"),
        pytest.param("discord.com/api/webhooks/123456789012345678/" + MIXED[:68], id="Discord's hooks"),
    ],
)
def test_what_scanners_look_for_is_known(secret: str) -> None:
    """Whole, wherever it stands, in the name of a file, too; its beginning alone is no key."""
    assert redact(f"before {secret}\nafter") == "before [redacted]\nafter"
    assert redact(f'{{"x": "{secret}"}}') == '{"x": "[redacted]"}'
    assert secret not in redact(f"see backup-{secret}.tar.gz")
    assert redact(secret[:12]) == secret[:12]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("password=hunter2", "password=[redacted]"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted] psql"),
        ("token=abc123&page=2", "token=[redacted]&page=2"),
        ("api_key: abcd", "api_key: [redacted]"),
        ("API-KEY = 'abc def'", "API-KEY = '[redacted]'"),
        ('SECRET = b"abc def"', 'SECRET = b"[redacted]"'),
        ("token: rb'abc', n=1", "token: rb'[redacted]', n=1"),
        ("token=bf12345", "token=[redacted]"),
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
        ("git clone https://aB3dE5fG7hJ9kL1mN2pQ@github.com/me/x", "git clone https://[redacted]@github.com/me/x"),
        ("curl -s -u admin:hunter2 https://h", "curl -s -u admin:[redacted] https://h"),
        ("curl --user 'admin:hunter2' https://h", "curl --user 'admin:[redacted]' https://h"),
        ("machine github.com login me password hunter2", "machine github.com login me password [redacted]"),
        ("sshpass -p hunter2 ssh me@h", "sshpass -p [redacted] ssh me@h"),
        ("mysqldump -h db -phunter2 app", "mysqldump -h db -p[redacted] app"),
        ("Cookie: session=aB3dE5fG; theme=dark", "Cookie: [redacted]"),
        ("-H 'cookie: sid=aB3dE5fG' -v", "-H 'cookie: [redacted]' -v"),
        ("< Set-Cookie: sid=aB3dE5fG; HttpOnly\n< x", "< Set-Cookie: [redacted]\n< x"),
        ("sent Basic dXNlcjpodW50ZXIyc2VjcmV0", "sent Basic [redacted]"),
        ("_auth=dXNlcjpwYXNzd29yZDEyMw==", "_auth=[redacted]"),
        ('{"auth": "dXNlcjpwYXNzd29yZDEyMw=="}', '{"auth": "[redacted]"}'),
        ("GET /c?sv=2022&sig=abcDEF123%2Bxyz%3D&se=1", "GET /c?sv=2022&sig=[redacted]&se=1"),
        ("/k?X-Amz-Signature=0123456789abcdef0123&n=1", "/k?X-Amz-Signature=[redacted]&n=1"),
        ("https://h/x?key=aB3dE5fG7hJ9kL1mN2pQ", "https://h/x?key=[redacted]"),
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
        "Basic authentication is used by BasicAuth2Handler",
        "Cookie: none was sent; cookie=disabled",
        "test_a_failure_that_is_named_at_length_and_more::test_2_with_parameters_1234567890",
        "pkg-1.2.3-py3-none-any.whl task-0123456789abcdef0123456789abcdef0123.log",
        "docker run -u 1000:1000 curl-image; mysql -u root -p; curl --user-agent x:y",
        f"cache key-{HEX * 2} of node_modules/.cache/babel-loader/{HEX * 4}.json",
        "the machine login failed; password prompt shown; auth: required",
        "http://localhost:8080/?key=value&auth=basic&sig=none",
        "Password:\nLogin failed\nretry 3\npassword:\n  type: string1\nusername:\nada1",
        "Enter password: \n\n3 tests failed\nWrong password:\nusage: login [-h]",
        "smbclient -U me //h; lftp -u me sftp://h; 7z x a.7z; unzip -p a.zip b; openssl enc -k; rar a x.rar",
        "a.py:5412:7:E501:line-too-long arn:aws:logs:*:*:log-group:/aws/x 10:54:03: started:x:y",
        'expect "ok"\nsend "hello\\r"\nassert password_ok\nsender.send("done")',
        'response="ok" signature=sha256 AWS4-HMAC-SHA256 Digest realm="r"',
        "the password is wrong; a token is required; <password></password> <token>",
        "size：3 状态＝完成 token count：2,300",
    ],
)
def test_evidence_is_kept(evidence: str) -> None:
    """Hashes, code and messages about secrets are needed to tell what went wrong."""
    assert redact(evidence) == evidence


def test_what_follows_a_key_that_ends_a_line_is_kept() -> None:
    """Only a line of one word that looks like the rest of the key is taken for it."""
    key = "sk-" + "a1B2c3D4" * 6
    rest = "\nTestLogin passed 3\nREADME.md\n0123456789abcdef0123\ntest_a_case_of_2_and_more"
    assert redact(f"key {key}{rest}") == f"key [redacted]{rest}"


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
def test_a_value_is_known_as_urls_and_base64_have_it() -> None:
    """Percent-encoded in an address, and in the base64 of a header or a secret's file whatever stands round it."""
    value = "c0rrect/h0rse+battery&staple"
    set_secret_values([value])
    assert redact("https://h/?p=c0rrect%2Fh0rse%2Bbattery%26staple#x") == "https://h/?p=[redacted]#x"
    for before in ("", "u", "us", "user:", "user1:", "user12:"):
        for after in ("", "\n", ":x", "and more"):
            said = base64.b64encode(f"{before}{value}{after}".encode()).decode()
            left = redact(f"x {said} y").replace("[redacted]", "#").split()[1]
            assert "#" in left
            assert len(left) <= len(said) - len(value) * 8 // 6 + 4


@pytest.mark.usefixtures("registry")
def test_a_value_is_known_line_by_line_and_as_json_has_it() -> None:
    """A key of several lines is gone though each was printed by itself, and so is one inside a JSON string."""
    set_secret_values(['first-long-line-of-it\nsecond "quoted" line-of-it'])
    assert redact('a first-long-line-of-it b\nsecond "quoted" line-of-it') == "a [redacted] b\n[redacted]"
    assert redact('{"x": "first-long-line-of-it\\nsecond \\"quoted\\" line-of-it"}') == '{"x": "[redacted]"}'
