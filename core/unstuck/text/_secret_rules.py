"""Rules for the shapes of secrets: known keys, and values given to secret names.

The process beside each agent loads this file by its path: it imports nothing of ours, and a pattern is compiled when
text first hints at it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Span = tuple[int, int]


class Rule:
    """Pattern of one kind of secret. Only text with one of the lower-case ``hints``, or ``LONG``, is searched.

    The first group of ``pattern`` stays. A ``folded`` pattern is matched on the text in lower case, which is several
    times faster than one that ignores case. With ``behind``, only what begins within 200 characters behind a match of
    that in the same line counts.

    No pattern may need more than linear time: repetitions are possessive, bounded, or fail within a few characters.
    Those of a group are in an atomic one instead: possessive they are wrong in Pythons before 3.11.5. A pattern begins
    with a literal or a small set of characters, which are looked for without trying it: what must not stand before
    these is looked back for behind them.
    """

    __slots__ = ("_behind", "_compiled", "folded", "hints", "pattern")

    def __init__(self, hints: str, pattern: str, *, folded: bool, behind: str = "") -> None:
        self.hints, self.pattern, self.folded = (
            tuple(hint.replace(_BLANK, " ") for hint in hints.split()),
            pattern,
            folded,
        )
        self._behind = behind
        self._compiled: tuple[re.Pattern[str], re.Pattern[str] | None] | None = None

    def spans(self, text: str) -> Iterator[Span]:
        """Return the places of secrets in ``text``, in their order; the text of a folded rule is in lower case."""
        if self._compiled is None:
            near = re.compile(_NEAR.format(self._behind), re.ASCII) if self._behind else None
            self._compiled = re.compile(self.pattern, re.ASCII), near
        pattern, near = self._compiled
        if near is None:
            return ((match.end(1), match.end()) for match in pattern.finditer(text))
        return (
            (match.end(1), match.end())
            for place in near.finditer(text)
            if text.find("-", place.start(), place.end()) >= 0
            for match in pattern.finditer(text, place.start(), place.end(1))
            if match.start() < place.end()
        )


# The reach of each one begins where that of the one before it may still go on; an option's value may stand beyond it.
_NEAR = r"{0}(?>(?:[^\n]{{0,200}}?{0})*)[^\n]{{0,200}}(?=([^\n]{{0,600}}))"


def _rule(hints: str, pattern: str, *, keep: str = "", behind: str = "") -> Rule:
    return Rule(hints, f"({keep})(?:{pattern})", folded=bool(keep), behind=behind)


def _key(hints: str, pattern: str) -> Rule:
    """A key that no letter or digit stands before; a text begins with something else."""
    return Rule(hints, f"([^A-Za-z0-9])(?:{pattern})", folded=False)


def _word(word: str) -> str:
    """``word`` where no letter or digit stands before it."""
    return rf"{word}(?<!\w{word})"


_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_LABEL_HINTS = "key----- block-----"
_KEY_TEXT = r"[A-Za-z0-9+/]{16,}+={0,2}"
_KEY_BREAK = r"(?>(?:\s|\\[nr]){1,4})"
# Its lines may be indented, or quoted, and in a diff a sign stands before each of them; or they are all joined.
_KEY_GAP = r"(?>(?:[\s\"',+]{1,40}+|-(?!----)|\\[nr]){1,8})"
_KEY_LAST = rf"[A-Za-z0-9+/=]{{1,80}}+{_KEY_GAP}"

# A name, what may stand between it and its value, and the value: quoted, or up to the next delimiter.
_ASSIGNED = r"(?=\\?[\"']?[ \t]?[:=])"
_NO_COUNT = r"(?!\\?[\"']?[ \t]?[:=] ?[0-9]{1,3}(?!\w))"  # the number of a pass through something
# A path is no key, and many a key is none to be hidden: of a table, a cache, a sort.
_OF_KEYS = (
    "admin app auth aws client cloud cloudant consumer database db deploy hmac iam ibm priv service sl softlayer"
    " subscription"
)
_KEY_NAMES = "|".join(rf"(?<={name}key)|(?<={name}[_-]key)" for name in _OF_KEYS.split())
_NAME = (
    rf"(?:p(?:ass(?:wor[dt]|wd|phrase|code|(?<=[a-z0-9][_-]pass)(?<!test_pass){_ASSIGNED}{_NO_COUNT})"
    rf"|at(?<=[a-z0-9][_-]pat){_ASSIGNED}(?=[\\\"' \t:=]{{1,6}}\w{{20}})"
    rf"|w(?:d(?![\"']?[:=] ?[\"']?[/~])|(?<=[a-z0-9][_-]pw){_ASSIGNED})|rivate[_-]?key)"
    r"|s(?:ecret(?:[_-]?key(?:[_-]base)?)?|igning[_-]?key|enha)|c(?:redentials?|ontrase[ñn]a)|token(?<!expected token)"
    r"|a(?:pi|ccess|ccount)[_-]?key|encryption[_-]?key|m(?:aster[_-]?key|ot[_-]de[_-]passe)"
    rf"|k(?:ennwort|ey{_ASSIGNED}(?:{_KEY_NAMES})(?![\"']?[ \t]?[:=] ?[\"']?[/~.])))"
)
# Not just "pass" and "key": every output of a test run says PASSED, and many a message KeyError.
_NAME_HINTS = (
    "password passwd passphrase passcode _pass -pass pwd _pw -pw _pat secret credential token _key -key apikey"
    " accesskey privatekey signingkey encryptionkey accountkey masterkey passwort kennwort senha contrase mot_de_passe"
    " mot-de-passe " + " ".join(f"{name}key" for name in _OF_KEYS.split())
)
_BLANK = "\0"  # within a hint
# A name in XML, before a block of YAML, and in a sentence.
_MORE_NAME_HINTS = " ".join(
    [f"{name}>" for name in ("password", "passwd", "passphrase", "pwd", "token", "secret", "key")]
    + [f"{name}:{_BLANK}{sign}" for name in ("password", "passphrase", "pwd", "pass", "token") for sign in "|>"]
    + [f"{name}{_BLANK}is" for name in ("password", "passphrase", "token", "secret")]
)
_LOGIN_HINTS = "redis-cli ldapsearch ldapmodify mongosh mongodump keytool ssh-keygen snmpget sqlcmd " + " ".join(
    f"{program}{_BLANK}{command}"
    for program, command in (
        ("docker", "login"), ("podman", "login"), ("registry", "login"), ("az", "login"), ("openssl", "enc"),
    )
)  # fmt: skip
_IS = r"(?:\\?[\"']|&quot;|%22)?[ \t]{0,8}(?::=|=>|[:=]|%(?:25){0,2}3[ad])[ \t]{0,8}"
_TO_DELIMITER = r"(?>(?:[^\s\"'\\,;&]++|\\(?![nrt\"']))+)"
_TO_QUOTE = r"(?:(?<=\")[^\"\n\\]++(?=\\?\")|(?<=')[^'\n\\]++(?=\\?'))"
# Source code and messages name secrets without giving them: references, types, constants, calls, punctuation.
_ENDS = r"(?![^\s\"',;)=|\]])"
_REFERENCE = rf"\$\{{?[A-Za-z_]\w{{0,60}}\}}?{_ENDS}|\$[({{]|(?:self|this|os|process|args|request)\."
_CONSTANT = rf"(?:none|null|true|false|undefined|str|string|bytes|bool|int|any|optional){_ENDS}"
_CALL = r"[a-z_.]{1,60}+\((?=[^\n]{0,200}\))"
_STRING_PREFIX = r"[bfru]{1,2}(?=\\?[\"'])"
_NO_VALUE = rf"(?![\[\](){{}}<>=:|*…]|{_REFERENCE}|{_CONSTANT}|{_CALL}|{_STRING_PREFIX})"
_NO_STRING = r"(?!\[redacted\]|[<…]|\*\*|\{\{|\$\{)"
_VALUE = rf"{_NO_STRING}{_TO_QUOTE}|{_NO_VALUE}{_TO_DELIMITER}"

_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey|ssws|oauth|jwt|bot|key|geniekey|splunk)[ \t]{1,8}"
# Behind a scheme that is not known, which then counts as a part of the value.
_AFTER_SCHEME = r"(?:[ \t]{1,8}(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,})?"

# Keys that begin with what their maker calls them. Searched for only where something as long stands behind one of the
# characters that end such a beginning, which no ordinary line has.
LONG = r"[_.~:-][\w-]{16}"
_BRANDED = (
    r"sk-(?=[A-Za-z_-]{0,40}+[0-9])[\w-]{16,}",  # OpenAI, Anthropic
    r"sk_(?:live|test)_\w{16,}",  # Stripe
    r"rk_(?:live|test)_\w{16,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"SG\.[\w-]{16,32}\.[\w-]{32,64}",  # SendGrid
    r"sq0(?:atp|csp|idp)-[\w-]{22,43}",  # Square
    r"sandbox-sq0[ac]tp-[\w-]{22,43}",
    r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}",  # Shopify
    r"do[opr]_v1_[0-9a-f]{64}",  # DigitalOcean
    r"hv[bsr]\.[\w-]{24,}",  # Vault
    r"AT[AC]TT3xFf[\w=-]{60,}",  # Atlassian
    r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",  # Linear
    r"ntn_[A-Za-z0-9]{40,}",  # Notion
    r"secret_(?=[A-Za-z]{0,42}+[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9])",
    r"dp\.(?:audit|ct|pt|sa|scim|st)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}",  # Doppler
    r"gl(?:sa|c)_[A-Za-z0-9+/]{32,}[\w=]*",  # Grafana
    r"NR(?:AK|AA|II|JS|RA)-[A-Za-z0-9_-]{19,}",  # New Relic
    r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}",  # PlanetScale
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",  # Postman
    r"rubygems_[0-9a-f]{48}",
    r"pul-[0-9a-f]{40}",
    r"pnu_[a-zA-Z0-9]{36}",
    r"rdme_[a-z0-9]{60,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    r"GOCSPX-[\w-]{28}",  # Google OAuth
    r"whsec_[A-Za-z0-9+/=]{24,}",  # Stripe's hooks
    r"dckr_(?:pat|oat)_[\w-]{24,}",  # Docker
    r"s(?:bp|b_secret)_[\w-]{24,}",  # Supabase
    r"nf[po]_[\w-]{24,}",  # Netlify
    r"fig(?:d|o?r?)_[\w-]{24,}",  # Figma
    r"f(?:o1|m[12]a?r?)_[\w+/=,-]{40,}",  # Fly
    r"gsk_[A-Za-z0-9]{48,}",  # Groq
    r"r8_[A-Za-z0-9]{37,40}",  # Replicate
    r"xai-[\w-]{24,}",
    r"pplx-[\w-]{24,}",  # Perplexity
    r"nvapi-[\w-]{24,}",  # NVIDIA
    r"tvly-[\w-]{24,}",  # Tavily
    r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",  # LangSmith
    r"sntry[su]_[\w=+/.-]{60,}",  # Sentry
    r"sq[apu]_[0-9a-f]{40}",  # Sonar
    r"gl(?:agent|cbt|dt|ft|imt|oas|ptt|rt|soat)-(?:t[0-9]_)?[\w-]{20,}",  # GitLab's others
    r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
    r"bkua_[0-9a-f]{40}",  # Buildkite
    r"CCIPAT_[A-Za-z0-9]{20,}_[0-9a-f]{40}",  # CircleCI
    r"HRKU-[\w-]{60,}",  # Heroku
    r"ops_eyJ[\w+/=-]{100,}",  # 1Password
    r"tskey-(?:api|auth|client|scim|webhook)-[\w-]{20,}",  # Tailscale
    r"CFPAT-[\w-]{40,}",  # Contentful
    r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",  # Brevo
    r"pk\.eyJ[\w-]{20,}\.[\w-]{20,}",  # Mapbox
    r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}",
    r"key-(?<!-key-)(?<!cache key-)[0-9a-f]{32}(?![\w-])",  # Mailgun
)
_MAILGUN = r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"


def _by_first_letter(patterns: Iterable[str]) -> str:
    """One pattern of all, which tries those that begin with the letter that is there."""
    rests: dict[str, list[str]] = {}
    for pattern in patterns:
        rests.setdefault(pattern[0], []).append(pattern[1:])
    return "|".join(f"{letter}(?:{'|'.join(several)})" for letter, several in rests.items())


RULES = (
    _rule(_LABEL_HINTS, rf"-----BEGIN {_KEY_LABEL}(?>(?:(?!-----)[\s\S]){{0,16384}})-?-----END {_KEY_LABEL}"),
    _rule(_LABEL_HINTS, rf"-----BEGIN {_KEY_LABEL}(?>(?:{_KEY_GAP}?{_KEY_TEXT})*)"),
    Rule(
        _LABEL_HINTS,
        rf"([^A-Za-z0-9+/=])(?>(?:{_KEY_TEXT}{_KEY_GAP}?){{1,80}})(?:{_KEY_LAST})?-?-----END {_KEY_LABEL}",
        folded=False,
    ),
    _rule("akia asia abia acca a3t", r"A(?<![A-Za-z0-9]A)(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _rule("xox xapp-", r"x(?:ox[a-eoprs]|app)-[A-Za-z0-9-]{10,}"),
    _rule("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    _rule("/webhooks/", r"discord(?:app)?\.com/api/webhooks/[\w/-]{40,}"),
    _rule("webhook.office.com", r"webhook\.office\.com/webhookb2/[\w@/-]{20,}"),
    _key("atatt3 LONG", f"{_by_first_letter(_BRANDED)}|{_MAILGUN}"),
    _rule("LONG", r"g(?:h[oprsu]_\w{20,}|ithub_pat_\w{20,}|lpat-[\w-]{20,})"),
    _rule("LONG", r"pypi-AgE[\w-]{40,}"),
    _rule("dapi", r"dapi(?<![A-Za-z0-9]dapi)[0-9a-f]{32}(?:-[0-9])?"),
    _rule("akcp", r"AKCp(?<![A-Za-z0-9]AKCp)[A-Za-z0-9]{60,}"),
    _rule("absk", r"ABSK(?<![A-Za-z0-9]ABSK)[A-Za-z0-9+/=]{80,}"),
    _rule("1//0", r"1//0(?<![A-Za-z0-9]1//0)[\w-]{40,}"),
    _key(":aa", r"[0-9]{8,10}:AA[\w-]{32,35}(?![\w-])"),
    _key(".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    _key(" ".join(f"-us{digit}" for digit in range(1, 10)), r"[0-9a-f]{32}-us[0-9]{1,2}(?![\w-])"),  # Mailchimp
    _key("LONG", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])"),  # Discord's bots
    _rule("gr1348941", r"GR1348941[\w-]{20,}"),  # GitLab's runners
    _key("q~", r"\w{3}[0-9]Q~[\w.~-]{31,34}"),
    _rule("aiza", r"AIza[\w-]{30,}"),
    _rule("ya29.", r"ya29\.[\w-]{20,}"),
    _rule("eyj", r"eyJ(?<![\w.-]eyJ)[\w-]{5,}+(?>(?:\.[\w-]++){2,4})"),
    _rule(
        "authorization",
        rf"(?!\[redacted\]|[…}}\])]){_TO_DELIMITER}{_AFTER_SCHEME}",
        keep=rf"authorization{_IS}(?:\\?[\"'])?(?>(?:{_SCHEME})?)",
    ),
    _rule("bearer", r"(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,}", keep=_word("bearer") + r"[ \t]{1,8}"),
    _rule(_NAME_HINTS, _VALUE, keep=rf"{_NAME}{_IS}(?:(?:some\()?(?:{_STRING_PREFIX})?\\?[\"']|&quot;|%22)?"),
    _rule(
        _MORE_NAME_HINTS,
        r"(?!\[redacted\])(?:(?<=>)[^\s<>]{1,512}(?=</)"
        r"|(?<=[\n\t ])(?=\S{0,60}[0-9])(?=\S{0,60}[a-z])[^\s\"'`|\\]{8,})",
        keep=rf"{_NAME}(?:>|\\?[\"']?:[ \t]{{0,4}}[|>][+-]?\n[ \t]{{1,16}}|[ \t]{{1,20}}is[ \t]{{1,4}})",
    ),
    _rule(
        "--",
        rf"(?!-|is\b|or\b|and\b){_NO_VALUE}{_TO_DELIMITER}",
        keep=rf"--(?:[a-z]{{1,20}}-){{0,3}}{_NAME}[ \t]{{1,4}}",
    ),
    _rule(
        "private-lines",
        rf"(?>(?:{_KEY_TEXT}{_KEY_BREAK}){{1,200}})(?:{_KEY_TEXT})?",
        keep=r"private-lines: [0-9]{1,4}\s{1,2}",
    ),
    _rule("cookie", r"[^\r\n\"']{8,}", keep=_word("cookie") + r"[\"']?:[ \t]{0,8}[\"']?(?=[\w.-]{1,64}=)"),
    _rule("basic", r"(?=[a-z+/]{0,60}+[0-9])[a-z0-9+/]{12,}={0,2}(?![\w+/=])", keep=_word("basic") + r"[ \t]{1,8}"),
    _rule(
        '_auth "auth"',
        r"(?!\[redacted\])[a-z0-9+/]{8,}={0,2}",
        keep=rf"(?:{_word('_auth')}[ \t]{{0,4}}=|\"auth\":)[ \t]{{0,4}}\"?",
    ),
    _rule(
        "curl",
        rf"{_NO_VALUE}[^\s\"']++",
        keep=r"[ \t]-(?:u|-user)[ \t=]?[\"']?[^\s:\"']{1,64}:",
        behind=_word("curl") + r"\b",
    ),
    _rule(
        "machine",
        rf"{_NO_VALUE}[^\s\"']++",
        keep=_word("machine") + r"\s{1,4}\S{1,255}\s{1,4}login\s{1,4}\S{1,255}\s{1,4}password\s{1,4}",
    ),
    _rule("sshpass", rf"{_NO_VALUE}(?![;|&])[^\s\"']++", keep=_word("sshpass") + r"[ \t]{1,4}-p[ \t]{0,4}[\"']?"),
    _rule(
        "mysql",
        rf"{_NO_VALUE}(?![;|&])[^\s\"']++",
        keep=r"[ \t]-p[\"']?",
        behind=_word("mysql") + r"\w{0,8}\b",
    ),
    _rule(
        _LOGIN_HINTS,
        rf"(?!-){_NO_VALUE}(?![0-9]{{1,5}}(?!\S))[^\s\"']++",
        keep=r"[ \t]-(?:[aknpw]|storepass|keypass)[ \t]{1,4}[\"']?",
        behind=rf"(?:{'|'.join(_LOGIN_HINTS.split()).replace(_BLANK, ' ')})\b",
    ),
    _rule(
        "setenv configure -gx",
        rf"{_NO_VALUE}{_TO_DELIMITER}",
        keep=rf"(?:setenv|set -[a-z]{{1,3}}|configure set)[ \t]{{1,4}}\w{{0,60}}?{_NAME}\w{{0,20}}[ \t]{{1,4}}[\"']?",
    ),
    _rule("pass:", rf"{_NO_VALUE}{_TO_DELIMITER}", keep=r"-pass(?:in|out)?[ \t]{1,4}[\"']?pass:"),
    _rule(
        "htpasswd",
        rf"(?!-){_NO_VALUE}{_TO_DELIMITER}",
        keep=r"htpasswd[ \t]{1,4}-[a-z]{0,6}b[a-z]{0,6}[ \t]{1,4}\S{1,255}[ \t]{1,4}\S{1,99}[ \t]{1,4}",
    ),
    _rule(
        "--with-token --password-stdin sudo",
        rf"{_NO_VALUE}[^\s\"'|]++"
        r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo -s|[^\n|]{0,99}--(?:with-token|password-stdin)))",
        keep=_word("echo") + r"[ \t]{1,4}[\"']?",
    ),
    _rule('"kty"', r"[\w-]{20,}", keep=r"\"(?:d|k|p|q|dp|dq|qi)\"[ \t]{0,4}:[ \t]{0,4}\""),
    _rule("jdbc:oracle", r"[^\s@/]{1,99}(?=@)", keep=r"jdbc:oracle:[a-z0-9]{1,8}:[^\s/@]{1,64}/"),
    _rule(
        "sig= signature= ?key= &key= ?auth= &auth=",
        r"(?!\[redacted\])[^\s\"'&;<>\\]{16,}",
        keep=r"[?&](?:key|auth|(?:x-(?:amz|goog)-)?sig(?:nature)?)=",
    ),
    _rule("://", r"(?=[^\s/@:]{0,255}[0-9])[^\s/@:\"'<>]{20,256}(?=@)", keep="https?://"),
    _rule("://", r"[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512}(?=@)", keep="://"),
)
