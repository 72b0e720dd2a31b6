"""Secrets, recognised by their shape, by the name they are given, or because they were named as such.

The process beside each agent loads this file by its path, for the raw output: it imports nothing of ours, a pattern is
compiled when text first hints at it, and RE2 loaded with the first large text.
"""

from __future__ import annotations

import binascii
import json
import re
import string
from bisect import bisect_right
from functools import cache
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Span = tuple[int, int]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-._~")
_MOST_PASSES = 8


class _Rule:
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


def _rule(hints: str, pattern: str, *, keep: str = "", behind: str = "") -> _Rule:
    return _Rule(hints, f"({keep})(?:{pattern})", folded=bool(keep), behind=behind)


def _key(hints: str, pattern: str) -> _Rule:
    """A key that no letter or digit stands before; a text begins with something else."""
    return _Rule(hints, f"([^A-Za-z0-9])(?:{pattern})", folded=False)


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
_LONG = r"[_.~:-][\w-]{16}"
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


_RULES = (
    _rule(_LABEL_HINTS, rf"-----BEGIN {_KEY_LABEL}(?>(?:(?!-----)[\s\S]){{0,16384}})-?-----END {_KEY_LABEL}"),
    _rule(_LABEL_HINTS, rf"-----BEGIN {_KEY_LABEL}(?>(?:{_KEY_GAP}?{_KEY_TEXT})*)"),
    _Rule(
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

_IS_LONG = re.compile(_LONG, re.ASCII)
_HINTS = tuple(dict.fromkeys(hint for rule in _RULES for hint in rule.hints if hint != "LONG"))
_LARGE = 1 << 13  # characters; RE2 takes milliseconds to load, and then a tenth of the time
_LOOK = re.compile(r"\(\?(?:=|<?!)(?:[^()\[\]]|\[[^\]]*\])*\)\+?")


@cache
def _searches() -> tuple[Callable[[bytes], list[int] | None], ...]:
    """Return a search for all hints at once, which gives their numbers, and one for keys of the ``LONG`` rules.

    A set of RE2's never gives up for a slower way, and takes as long for many as for one. Empty where RE2 cannot be
    loaded, as with little memory.
    """
    try:
        import re2
    except (ImportError, MemoryError):
        return ()
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # any bytes are text in it
    found = []
    for patterns in (map(re2.escape, _HINTS), (_LOOK.sub("", rule.pattern) for rule in _RULES if "LONG" in rule.hints)):
        found.append(re2.Set.SearchSet(options))
        for pattern in patterns:
            found[-1].Add(pattern)
        found[-1].Compile()
    return tuple(each.Match for each in found)


def _hinted(text: str, lowered: str) -> set[str]:
    """Return the hints that ``text`` has, which is ``lowered`` in lower case."""
    if len(text) < _LARGE or not (searches := _searches()):
        hinted = {hint for hint in _HINTS if hint in lowered}
        return hinted | {"LONG"} if _IS_LONG.search(text) else hinted
    hints, keys = (
        search(form.encode(errors="surrogatepass")) for search, form in zip(searches, (lowered, text), strict=True)
    )
    return {_HINTS[number] for number in hints or ()} | ({"LONG"} if keys else set())


_values: tuple[str, ...] = ()
_known: re.Pattern[str] | None = None


def set_secret_values(values: Iterable[str]) -> None:
    """From now on redact each of ``values`` wherever it stands; shorter ones than 8 characters are ignored.

    Of a value with several lines each long line counts, too, and so does a value as JSON, a URL or base64 has it.
    """
    global _values, _known
    values = tuple(values)
    forms = {form.strip() for value in values for form in _forms(value)}
    worth = {form for form in forms if len(form) >= _SHORTEST_VALUE and form not in PLACEHOLDER}
    _values = values
    longest_first = sorted(worth, key=lambda value: (-len(value), value))
    _known = re.compile("|".join(map(re.escape, longest_first))) if worth else None


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    raw = value.encode("utf-8", "surrogateescape")
    yield "".join(chr(byte) if chr(byte) in _UNQUOTED else f"%{byte:02X}" for byte in raw)
    yield from filter(
        lambda form: len(form) >= _SHORTEST_LINE, map(_in_base64, (raw, b"?" + raw, b"??" + raw), range(3))
    )
    yield from (line for line in value.splitlines() if len(line) >= _SHORTEST_LINE)


def _in_base64(raw: bytes, before: int) -> str:
    """Return the base64 of ``raw`` that holds whatever stands round it; ``before`` of its bytes belong to that."""
    said = binascii.b2a_base64(raw, newline=False).rstrip(b"=")
    # A character that also holds bits of what stands round it may be any.
    return said[(before * 8 + 5) // 6 : len(raw) * 8 // 6].decode("ascii")


def known_values() -> tuple[str, ...]:
    """Return the values of :func:`set_secret_values`, for another process that redacts them."""
    return _values


_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|credential|api_?key|(?:access|private|signing|encryption|account|master)_?key"
    r"|token(?!s)|cookie|jwt|(?<!public)(?<!foreign)(?<!primary)_key$|(?<!^old)_(?:pwd|pass|auth|pat|dsn)$",
    re.IGNORECASE,
)
_NO_SECRET_NAME = ("_ID", "_FILE", "_PATH", "_SOCK", "_DIR", "_URL", "_HOST", "_PORT", "_NAME", "_TYPE")
_URL_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/@:\s]*:([^/@\s]+)@", re.IGNORECASE)
# Some keys begin with a slash; a path has words in it, and seldom everything that makes a key hard to guess.
_KEY_WITH_SLASH = re.compile(r"/(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/]{31,}={0,2}")


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The secrets in ``environ``: values whose names say so, but for paths and plain numbers; passwords in URLs."""
    named = [value for name, value in environ.items() if _is_secret(name, value)]
    return named + [found[1] for value in environ.values() if (found := _URL_PASSWORD.match(value))]


def _is_secret(name: str, value: str) -> bool:
    if not _SECRET_NAME.search(name) or name.upper().endswith(_NO_SECRET_NAME) or value.isdigit():
        return False
    return not value.startswith(("/", "~")) or _KEY_WITH_SLASH.fullmatch(value) is not None


def redact(text: str) -> str:
    """``text`` with every secret it can recognise replaced by ``[redacted]``; hashes and UUIDs stay.

    Known key shapes, values given to secret names, passwords in URLs, private key blocks, and ``set_secret_values``;
    also behind the escapes of JSON, and where colours or invisible characters divide them.
    """
    passed = False
    for _ in range(_MOST_PASSES):
        # Hidden ones first: of a key in many lines the raw text may show the first line alone.
        shown = _without_hidden(text)
        if passed and shown == text:
            break
        once = _pass(shown)
        passed = once == shown
        if once == text:
            break
        # What stood beside a replaced secret may only now have a shape of its own.
        text = once
    return text


_FILL = "\0"
_ASCII_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _pass(text: str, *, fill: bool = False) -> str:
    """``text`` with the placeholder for each secret; with ``fill`` as many fill characters as the secret has."""
    # Named values first: a rule that sees only a part of one would leave the rest of it unrecognisable.
    if _known:
        text = _known.sub((lambda match: _FILL * len(match[0])) if fill else PLACEHOLDER, text)
    # What begins a text stands behind something, too.
    within = "\n" + text
    lowered = _lowered(within)
    if not (hinted := _hinted(within, lowered)):
        return text
    for rule in _RULES:
        if not hinted.isdisjoint(rule.hints):
            clean = _replaced(within, rule.spans(lowered if rule.folded else within), fill=fill)
            if clean is not within:
                within, lowered = clean, _lowered(clean)
    return within[1:]


def _lowered(text: str) -> str:
    """``text`` in lower case, with every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LETTERS)


def _replaced(text: str, spans: Iterable[Span], *, fill: bool = False) -> str:
    pieces: list[str] = []
    end = 0
    if fill:
        for first, last in spans:
            pieces += (text[end:first], _FILL * (last - first))
            end = last
        return "".join((*pieces, text[end:])) if pieces else text
    for first, last in spans:
        pieces.append(text[end:first])
        end = last
    return PLACEHOLDER.join((*pieces, text[end:])) if pieces else text


# JSON within JSON within a line of JSON, with an escape sequence in it.
_MOST_LEVELS = 4
_FILLED = re.compile(f"{_FILL}+")
# As what is left out of shown text; the last ones are halves of tags, as JSON escapes have them.
_INVISIBLE = (
    r"\x80-\x9a\x9c-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\udb40\udc00-\udc7f"
)
_SILENT = rf"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f{_INVISIBLE}"
_NOT_SHOWN = re.compile(
    rf"([\x1b\x9b\udc9b{_SILENT}](?:(?<=\x1b)(?:\[[0-?]*+[ -/]*+[@-~]?|[\]PX^_k][^\n\r\x07\x1b]*+(?:\x1b\\|\x07)?"
    rf"|[ -/]*+[0-~]?)|(?<=[\x9b\udc9b])[0-?]*+[ -/]*+[@-~]?|[{_SILENT}]*+))"
)
_HIDES = re.compile(rf"[\x1b\x9b\udc9b{_SILENT}]")
# Far faster than looking for them, in plain ASCII.
_WITHOUT_CONTROLS = dict.fromkeys(code for code in range(128) if _HIDES.match(chr(code)))
_SHORT_ESCAPE = re.compile(r"\\[\"\\/bfnrt]")
_ONE_CODE = re.compile(r"\\u[0-9a-fA-F]{4}")
_CODES = re.compile(rb"\\u[0-9a-fA-F]{4}(?>(?:\\u[0-9a-fA-F]{4})*)")
# No text has these once what is not shown is left out.
_BACKSLASH, _NOTHING, _SHORT, _CODE = b"\0", b"\1", "\2", "\3"
_SIMPLE = (
    (rb"\"", b'"'),
    (rb"\/", b"/"),
    (rb"\n", b"\n"),
    (rb"\r", b"\r"),
    (rb"\t", b"\t"),
    (rb"\b", b"\b"),
    (rb"\f", b"\n"),
    (_BACKSLASH, b"\\"),
)


# A line of JSON with the next piece of a text that an agent says piece by piece.
_PIECE = re.compile(
    r"^(?=[^\n]{0,2000}(?:delta|_chunk))"
    r"(\{[^\n]{0,2000}?\"(?:text|delta|content|data|thinking|partial_json)\" ?: ?\")((?:[^\"\\\n]|\\.){0,1000}+)\"",
    re.ASCII | re.MULTILINE,
)
_NO_DIGITS = str.maketrans("", "", string.digits)
_LINES_BETWEEN = 4


def piece_of(line: str) -> str | None:
    """Return the piece of a text in a line of JSON, or None for any other line."""
    found = _PIECE.match(line)
    return _decoded(found[2]) if found else None


def _without_hidden(text: str) -> str:
    found = _hidden(text, _MOST_LEVELS)
    if "delta" in text or "_chunk" in text:
        found += _in_pieces(text)
    return _replaced(text, _joined(sorted(found)))


def _in_pieces(text: str) -> list[Span]:
    """Return the places of secrets that stand in pieces of one text, each piece in a line of JSON."""
    runs: list[list[Span]] = []
    latest: dict[str, list[Span]] = {}
    for match in _PIECE.finditer(text):
        begin = match[1].translate(_NO_DIGITS)
        run = latest.get(begin)
        if run is None or text.count("\n", run[-1][1], match.start()) > _LINES_BETWEEN:
            run = latest[begin] = []
            runs.append(run)
        run.append(match.span(2))
    found = []
    for run in runs:
        if len(run) > 1:
            joined = "".join(text[first:last] for first, last in run)
            ends = list(accumulate(last - first for first, last in run))
            for first, last in [*_filled(joined), *_hidden(joined, _MOST_LEVELS)]:
                for number in range(bisect_right(ends, first), bisect_right(ends, last - 1) + 1):
                    end = run[number][1]
                    within = (max(run[number][0], end - ends[number] + first), min(end, end - ends[number] + last))
                    found += [within] if within[0] < within[1] else []
    return found


def _hidden(text: str, levels: int) -> list[Span]:
    """Return the places in ``text`` of secrets that only its decoded form shows."""
    if not levels:
        return []
    shown = _NOT_SHOWN.sub("", text) if _has_not_shown(text) else text
    decoded = _decoded(shown) if "\\" in shown else shown
    if decoded == text:
        return []
    found = _filled(decoded) + _hidden(decoded, levels - 1)
    if found and decoded is not shown:
        found = _before_decoding(shown, found)
    if found and shown is not text:
        found = _before_removal(text, found)
    return found


def _filled(text: str) -> list[Span]:
    """Return the places of secrets in ``text``, which has no ``_FILL``."""
    filled = _pass(text, fill=True)
    return [match.span() for match in _FILLED.finditer(filled)] if _FILL in filled else []


def _has_not_shown(text: str) -> bool:
    if text.isascii():
        return text.translate(_WITHOUT_CONTROLS) != text
    return _HIDES.search(text) is not None


def _decoded(text: str) -> str:
    """Return ``text`` with the characters of its JSON escapes; ``text`` has no ``_BACKSLASH``."""
    # Bytes are searched several times faster than text that is not ASCII.
    raw = text.encode(errors="surrogatepass").replace(rb"\\", _BACKSLASH)
    if rb"\u" in raw:
        raw = _CODES.sub(_characters, raw)
    for escape, character in _SIMPLE:
        raw = raw.replace(escape, character)
    return raw.decode(errors="surrogatepass")


def _characters(codes: re.Match[bytes]) -> bytes:
    raw = bytes.fromhex(codes[0].replace(rb"\u", b"").decode())
    text = raw.decode("utf-16-be", "surrogatepass")
    if 2 * len(text) != len(raw):  # two codes that are one character are still two places
        text = "".join(chr(raw[at] << 8 | raw[at + 1]) for at in range(0, len(raw), 2))
    return text.encode(errors="surrogatepass").replace(b"\0", _NOTHING).replace(b"\\", _BACKSLASH)


def _before_removal(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return as those of ``text`` the ``spans`` of what is shown of it."""
    parts = _NOT_SHOWN.split(text)
    places = list(accumulate(map(len, parts[:-1:2])))
    gone = list(accumulate(map(len, parts[1::2]), initial=0))
    return [
        (first + gone[bisect_right(places, first)], last + gone[bisect_right(places, last - 1)])
        for first, last in spans
    ]


def _before_decoding(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return as those of ``text`` the ``spans`` of its decoded form; ``text`` has no ``_SHORT`` and no ``_CODE``."""
    decoded = _ONE_CODE.sub(_CODE, _SHORT_ESCAPE.sub(_SHORT, text))
    found = []
    place = gone = 0
    for first, last in sorted(spans):
        gone += decoded.count(_SHORT, place, first) + 5 * decoded.count(_CODE, place, first)
        within = decoded.count(_SHORT, first, last) + 5 * decoded.count(_CODE, first, last)
        found.append((first + gone, last + gone + within))
        place = first
    return found


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """The sorted ``spans`` where those that overlap or touch are one."""
    first = last = -1
    for begin, end in spans:
        if begin > last:
            if last > 0:
                yield first, last
            first = begin
        last = max(last, end)
    if last > 0:
        yield first, last
