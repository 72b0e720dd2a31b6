"""Made-up secrets of many kinds, put together from parts so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits


def _drawing(seed: int) -> tuple[random.Random, Callable[..., str]]:
    """Return a source of random numbers, and a function of it that gives so many random letters."""
    draw = random.Random(seed)

    def some(count: int, letters: str = _LETTERS) -> str:
        # The first three make sure that it has what makers' rules ask of a key.
        begin = "".join(
            kind[draw.randrange(len(kind))] for kind in ("2345", "cdef", "ABC" if letters != _HEX else "ab")
        )
        return begin + "".join(draw.choices(letters, k=count - 3))

    return draw, some


def services(seed: int) -> dict[str, str]:
    """Return keys of services by what they are of; a dozen letters at the end of each are nobody's to see."""
    draw, some = _drawing(seed)
    lower, seeds = string.ascii_lowercase + string.digits, string.ascii_uppercase + "234567"

    def hexadecimal(*counts: int) -> str:
        return "-".join(some(count, _HEX) for count in counts)

    keys = {
        "Adafruit": ("aio_", some(28)),
        "Alibaba": ("LT" + "AI", some(20)),
        "Amp": ("sgamp" + "_user_", some(26) + "_" + some(64, _HEX)),
        "Apify": ("apify" + "_api_", some(36)),
        "Artifactory reference": ("cmVm" + "dGtu", some(56)),
        "Axiom": ("xa" + "at-", hexadecimal(8, 4, 4, 4, 12)),
        "Azure": (some(52) + "JQQ" + "J99", some(26)),
        "Azure DevOps": (some(76) + "AZ", "DO" + some(4)),
        "Bitwarden": ("0" + "." + hexadecimal(8, 4, 4, 4, 12) + "." + some(30) + ":", some(22) + "=="),
        "Bedrock for a while": ("bedrock" + "-api-key-", some(120)),
        "Braintree": ("access_token" + "$production$" + hexadecimal(16) + "$", hexadecimal(32)),
        "Browserbase": ("bb" + "_live_", some(27)),
        "Buildkite agent": ("bk" + "ct_", hexadecimal(40)),
        "Cerebras": ("cs" + "k-", some(48, lower)),
        "Chromatic": ("ch" + "pt_", hexadecimal(15)),
        "Clojars": ("CLO" + "JARS_", hexadecimal(60)),
        "Cloudflare": ("cf" + "ut_", some(48)),
        "Cloudflare origin": ("v1" + ".0-", hexadecimal(24, 146)),
        "Confluent": ("cf" + "lt", some(60)),
        "crates.io": ("ci" + "o", some(32)),
        "Cursor": ("cr" + "sr_", hexadecimal(64)),
        "Databento": ("d" + "b-", some(29)),
        "Daytona": ("dt" + "n_", hexadecimal(64)),
        "Deno": ("dd" + "p_", some(36)),
        "Depot": ("depot" + "_org_", some(60)),
        "Dropbox": ("s" + "l.", some(140)),
        "Duffel": ("duffel" + "_live_", some(43)),
        "E2B": ("e2" + "b_", hexadecimal(40)),
        "EasyPost": ("EZ" + "AK", some(54)),
        "ElevenLabs": ("s" + "k_", hexadecimal(48)),
        "Firecrawl": ("f" + "c-", hexadecimal(32)),
        "Fireworks": ("f" + "w_", some(24)),
        "Flutterwave": ("FLW" + "SECK-", hexadecimal(32) + "-X"),
        "Frame.io": ("fi" + "o-u-", some(64)),
        "GitLab routable": ("gl" + "pat-" + some(27), ".01." + hexadecimal(9)),
        "Google's newer": ("A" + "Q.Ab8", some(50)),
        "Harness": ("pa" + "t." + some(22) + "." + hexadecimal(24) + ".", some(20)),
        "Honeycomb": ("hc" + "aik_", some(58, lower)),
        "HubSpot": ("pat" + "-na1-", hexadecimal(8, 4, 4, 4, 12)),
        "Hugging Face organisation": ("api" + "_org_", "".join(draw.choices(string.ascii_letters, k=34))),
        "Infracost": ("ic" + "o-", some(32)),
        "Inngest": ("signkey" + "-prod-", hexadecimal(64)),
        "Jina": ("ji" + "na_", some(60)),
        "LaunchDarkly": ("ap" + "i-", hexadecimal(8, 4, 4, 4, 12)),
        "LaunchDarkly's server": ("sd" + "k-", hexadecimal(8, 4, 4, 4, 12)),
        "LlamaCloud": ("ll" + "x-", some(48)),
        "Logfire": ("pylf" + "_v1_us_", some(43)),
        "MaxMind": (some(6) + "_" + some(21), some(8) + "_mm" + "k"),
        "Meta": ("EA" + "A", some(120)),
        "Modal": ("a" + "s-", some(22)),
        "Modal id": ("a" + "k-", some(22)),
        "MongoDB Atlas": ("mdb" + "_sa_sk_", some(40)),
        "NATS account": ("SA" + "AB", "".join(draw.choices(seeds, k=54))),
        "NATS user": ("SU" + "AC", "".join(draw.choices(seeds, k=54))),
        "Neon": ("nap" + "i_", some(64, lower)),
        "NuGet": ("oy" + "2", "".join(draw.choices(lower, k=43))),
        "Octopus Deploy": ("AP" + "I-", "7" + "".join(draw.choices(_UPPER, k=25))),
        "OneSignal": ("os" + "_v2_app_", some(100, lower)),
        "OpenShift": ("sha" + "256~", some(43)),
        "Paddle": ("pdl" + "_live_apikey_", some(26, lower) + "_" + some(22) + "_" + some(3)),
        "PagerDuty": ("u" + "+", some(18)),
        "PagerDuty for a while": ("pd" + "us+_0XBPWQQ_", hexadecimal(8, 4, 4, 4, 12)),
        "Phase": ("ps" + "s_service:v2:" + ":".join(some(64, _HEX) for _ in range(3)) + ":", some(64, _HEX)),
        "Pinecone": ("pc" + "sk_", some(5) + "_" + some(64)),
        "Plaid": ("access" + "-production-", hexadecimal(8, 4, 4, 4, 12)),
        "Polar": ("polar" + "_oat_", some(43)),
        "PostHog": ("ph" + "x_", some(43)),
        "Render": ("rn" + "d_", some(28)),
        "Resend": ("r" + "e_", some(8) + "_" + some(24)),
        "RunPod": ("rp" + "a_", some(44)),
        "Sanity": ("s" + "k", some(178)),
        "Scaleway": ("SC" + "W", "7" + "".join(draw.choices(_UPPER, k=16))),
        "Shippo": ("shippo" + "_live_", hexadecimal(40)),
        "Slack workflow": ("xw" + "fp-", some(30)),
        "Snyk": ("sny" + "k_uat.", hexadecimal(8) + "." + some(90)),
        "Sourcegraph": ("sg" + "p_", hexadecimal(16) + "_" + hexadecimal(40)),
        "Statsig": ("secr" + "et-", some(43)),
        "Statsig's console": ("cons" + "ole-", some(43)),
        "Stytch": ("secret" + "-live-", some(40)),
        "Together": ("tg" + "p_v1_", some(43)),
        "Trigger": ("tr" + "_prod_", some(24)),
        "Twilio": ("S" + "K", hexadecimal(32)),
        "Twitter": ("A" * 22 + some(12) + "%2B" + some(20) + "%3D", some(50)),
        "Typeform": ("tf" + "p_", some(44) + "_" + some(14)),
        "Vercel": ("vc" + "p_", some(56)),
        "Vercel blobs": ("vercel" + "_blob_rw_", some(16) + "_" + some(30)),
        "Weights and Biases": ("wandb" + "_v1_", some(77)),
        "Yandex": ("AQ" + "VN", some(36)),
        "Zuplo": ("zp" + "ka_", hexadecimal(32) + "_" + hexadecimal(8)),
    }
    return {name: begin + rest for name, (begin, rest) in keys.items()}


def kinds(seed: int) -> dict[str, tuple[str, str]]:
    """By the name of each kind: text as it is printed, and the part of it that nobody may see."""
    draw, some = _drawing(seed)

    def lines(count: int) -> str:
        return "\n".join(some(64) for _ in range(count))

    bare = {
        "AWS id": "AK" + "IA" + "".join(draw.choices(_UPPER, k=16)),
        "AWS session id": "AS" + "IA" + "".join(draw.choices(_UPPER, k=16)),
        "GitHub": "gh" + "p_" + some(36),
        "GitHub fine": "github" + "_pat_" + some(22) + "_" + some(59),
        "GitLab": "gl" + "pat-" + some(20),
        "GitLab runner": "gl" + "rt-" + some(20),
        "OpenAI": "sk" + "-proj-" + some(48),
        "Anthropic": "sk" + "-ant-api03-" + some(80),
        "Stripe": "sk" + "_live_" + some(24),
        "Stripe restricted": "rk" + "_live_" + some(24),
        "Stripe hook": "wh" + "sec_" + some(32),
        "Slack bot": "xo" + "xb-" + "123456789012-" + some(24),
        "Slack app": "xa" + "pp-1-" + some(30),
        "Slack hook": "https://hooks." + "slack.com/services/" + some(9, _UPPER) + "/" + some(24),
        "Discord hook": "https://discord.com/api/" + "webhooks/" + "1" * 18 + "/" + some(68),
        "Google": "AI" + "za" + some(35),
        "Google access": "ya" + "29." + some(60),
        "Google OAuth": "GOC" + "SPX-" + some(28),
        "Google refresh": "1/" + "/0" + some(60),
        "npm": "np" + "m_" + some(36),
        "PyPI": "pypi-" + "AgE" + some(60),
        "HF": "h" + "f_" + some(34),
        "SendGrid": "S" + "G." + some(22) + "." + some(43),
        "JWT": "ey" + "J" + some(20) + ".ey" + "J" + some(40) + "." + some(43),
        "Square": "sq" + "0csp-" + some(43),
        "Shopify": "shp" + "at_" + some(32, _HEX).lower(),
        "DigitalOcean": "do" + "p_v1_" + some(64, _HEX).lower(),
        "Vault": "hv" + "s." + some(90),
        "Terraform": some(14) + ".atlas" + "v1." + some(67),
        "Atlassian": "ATA" + "TT3xFfGF0" + some(80),
        "Databricks": "da" + "pi" + some(32, _HEX).lower(),
        "age": "AGE-SECRET" + "-KEY-1" + "".join(draw.choices(_UPPER, k=58)),
        "Telegram": "1234567890" + ":AA" + some(33),
        "Linear": "lin" + "_api_" + some(40),
        "Notion": "nt" + "n_" + some(46),
        "Doppler": "dp" + ".pt." + some(43),
        "Grafana": "gl" + "sa_" + some(32),
        "New Relic": "NR" + "AK-" + "".join(draw.choices(_UPPER, k=27)),
        "PlanetScale": "pscale" + "_tkn_" + some(43),
        "Postman": "PM" + "AK-" + some(24, _HEX).lower() + "-" + some(34, _HEX).lower(),
        "RubyGems": "ruby" + "gems_" + some(48, _HEX).lower(),
        "Pulumi": "pu" + "l-" + some(40, _HEX).lower(),
        "Docker": "dckr" + "_pat_" + some(27),
        "Fly": "fm" + "2_" + some(110),
        "Supabase": "sb" + "p_" + some(40, _HEX).lower(),
        "Groq": "gs" + "k_" + some(52),
        "Replicate": "r" + "8_" + some(37),
        "Perplexity": "pp" + "lx-" + some(48),
        "Sentry": "sntry" + "u_" + some(64, _HEX).lower(),
        "Airtable": "pa" + "t" + some(14) + "." + some(64, _HEX).lower(),
        "Tailscale": "ts" + "key-auth-" + some(12) + "-" + some(32),
        "Entra": "abc8" + "Q~" + some(34),
        "Artifactory": "AK" + "Cp8" + some(69),
        "Mailgun": "ke" + "y-" + some(32, _HEX).lower(),
        "Mailgun new": some(32, _HEX).lower() + "-" + some(8, _HEX).lower() + "-" + some(8, _HEX).lower(),
    }
    value, key, response = some(20), lines(6), some(32, _HEX).lower()
    named = {
        "PASS of a variable": (f"export DB_PASS={value}", value),
        "passcode": (f"passcode: {value}", value),
        "AWS secret": (f"aws_secret_access_key = {some(17)}{value}", value),
        "JSON password": (f'{{"password": "{value}", "n": 1}}', value),
        "SSWS": ("Authorization: SS" + f"WS {value}", value),
        "bearer": (f"Authorization: Bearer {value}", value),
        "unknown scheme": (f"Authorization: Acme {value}", value),
        "bearer alone": (f"sent Bearer {value}", value),
        "cookie": (f"Cookie: sid={value}", value),
        "URL": (f"postgres://me:{value}@db/app", value),
        "curl": (f"curl -s -u me:{value} https://h", value),
        "mysql": (f"mysql -h db -p{value} app", value),
        "sshpass": (f"sshpass -p {value} ssh h", value),
        "netrc": (f"machine h.example\nlogin me\npassword {value}", value),
        "docker auth": (f'{{"auth": "{base64.b64encode(("me:" + value).encode()).decode()}"}}', "bWU6"),
        "npm auth": (f"_auth={base64.b64encode(('me:' + value).encode()).decode()}", "bWU6"),
        "PEM": ("-----BEGIN RSA PRIV" + f"ATE KEY-----\n{key}\n-----END RSA PRIV" + "ATE KEY-----", key[-40:]),
        "OpenSSH": ("-----BEGIN OPENSSH PRIV" + f"ATE KEY-----\n{key}", key[-40:]),
        "PuTTY": ("Private-" + f"Lines: 6\n{key}", key[-40:]),
        "option": (f"deploy --api-token {value} now", value),
        "XML": (f"<db><password>{value}</password></db>", value),
        "YAML block": (f"password: |\n  {value}\nuser: me", value),
        "encoded URL": (f"next=https%3A%2F%2Fh%2F%3Faccess_token%3D{value}", value),
        "HTML": (f"&quot;password&quot;: &quot;{value}&quot;", value),
        "login": (f"docker login -u me -p {value} h", value),
        "htpasswd": (f"htpasswd -b file me {value}", value),
        "piped": (f"echo {value} | gh auth login --with-token", value),
        "C shell": (f"setenv API_TOKEN {value}", value),
        "sentence": (f"the password is {value}", value),
        "web key": (f'{{"kty":"RSA","d":"{value}{value}","n":"x"}}', value),
        "Oracle": (f"jdbc:oracle:thin:me/{value}@h:1521/x", value),
        "subscription": (f"Ocp-Apim-Subscription-Key: {value}", value),
        "openssl": (f"openssl rsa -passin pass:{value}", value),
        "signature": (f"https://h/x?sv=1&sig={value}", value),
        "openssl enc": (f"openssl enc -aes-256-cbc -salt -k {value} -in a", value),
        "prompt": (f"Enter password:\n{value}\nok", value),
        "prompt for a name": (f"[sudo] password for ada: \n{value}\nok", value),
        "Samba": (f"smbclient //h/share -U me%{value}", value),
        "lftp": (f"lftp -u me,{value} sftp://h", value),
        "expect": (f'expect "*?assword:*"\nsend "{value}\\r"\nexpect eof', value),
        "expect in a line": (f'expect {{ "assword:" {{ send -- "{value}\\r" }} }}', value),
        "pexpect": (f"child.expect('[Pp]assword')\nchild.sendline('{value}')\n", value),
        "pgpass": (f"db.example:5432:app:me:{value}", value),
        "pgpass with stars": (f"localhost:*:*:me:{value}", value),
        "7z": (f"7z a -p{value} out.7z dir", value),
        "fullwidth": (f"password＝{value}", value),
        "fullwidth colon": (f"api_key：{value}", value),
        "digest": (f'Authorization: Digest username="me", realm="r", uri="/", response="{response}"', response),
        "AWS signature": (
            f"Authorization: AWS4-HMAC-SHA256 Credential=x/aws4_request, SignedHeaders=host, Signature={response * 2}",
            response,
        ),
        "wrapped": ("sk" + f"-proj-{some(60)}\n{value}\nafter", value),
        "wrapped JWT": ("ey" + f"J{some(70)}\n{some(20)}.ey" + f"J{some(60)}\n{value}.{some(43)}", value),
    }
    return {**{name: (secret, secret[-12:]) for name, secret in bare.items()}, **named}
