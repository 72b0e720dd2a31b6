"""Secrets, recognised by their shape, by the name they are given, or because they were named as such.

The process beside each agent loads this file by its path, for the raw output: it imports nothing of ours, and a pattern
is compiled when text first hints at it.
"""

from __future__ import annotations

import binascii
import json
import re
import string
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Replacement = str | Callable[[re.Match[str]], str]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-._~")
_MOST_PASSES = 8


class _Rule:
    """Pattern of one kind of secret. Only text with one of the lower-case ``hints``, or ``first``, is searched.

    A group named ``keep`` stays. No pattern may need more than linear time: repetitions are possessive, bounded, or
    fail within a few characters. Those of a group are in an atomic one instead: possessive they are wrong in Pythons
    before 3.11.5.
    """

    __slots__ = ("_compiled", "_first", "_flags", "_pattern", "hints")

    def __init__(self, hints: tuple[str, ...], pattern: str, flags: re.RegexFlag, first: str = "") -> None:
        self.hints = hints
        self._first = re.compile(first, re.ASCII) if first else None
        self._pattern, self._flags = pattern, flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._pattern, self._flags)
        return self._compiled

    def apply(self, text: str, hinted: set[str], replacement: Replacement) -> str:
        if hinted.isdisjoint(self.hints) and not (self._first and self._first.search(text)):
            return text
        return self.pattern.sub(replacement, text)


def _rule(hints: str, pattern: str, *, keep: str = "") -> _Rule:
    flags = re.ASCII | re.IGNORECASE if keep else re.ASCII
    return _Rule(tuple(hints.split()), f"(?P<keep>{keep})(?:{pattern})", flags)


_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_TEXT = r"[A-Za-z0-9+/]{16,}+={0,2}"
_KEY_BREAK = r"(?>(?:\s|\\[nr]){1,4})"
# Its lines may be indented, or quoted, and in a diff a sign stands before each of them; or they are all joined.
_KEY_GAP = r"(?>(?:[\s\"',+]{1,40}+|-(?!----)|\\[nr]){1,8})"
_KEY_LAST = rf"[A-Za-z0-9+/=]{{1,80}}+{_KEY_GAP}"

# A name, what may stand between it and its value, and the value: quoted, or up to the next delimiter.
_NAME = (
    r"(?:pass(?:word|wd|phrase|code)|(?<=[a-z0-9][_-])(?<!test_)pass(?=\\?[\"']?[ \t]?[:=])"
    r"|pwd(?![\"']?[:=] ?[\"']?[/~])|secret|credentials?|(?<!expected )token"
    r"|(?:api|access|secret|private|signing|encryption|account|master)[_-]?key)"
)
# Not just "pass" and "key": every output of a test run says PASSED, and many a message KeyError.
_NAME_HINTS = (
    "password passwd passphrase passcode _pass -pass pwd secret credential token _key -key"
    " apikey accesskey privatekey signingkey encryptionkey accountkey masterkey"
)
_IS = r"(?:\\?[\"'])?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
_TO_DELIMITER = r"(?>(?:[^\s\"'\\,;&]|\\(?![nrt\"']))+)"
_TO_QUOTE = r"(?:(?<=\")[^\"\n\\]++(?=\\?\")|(?<=')[^'\n\\]++(?=\\?'))"
# Source code and messages name secrets without giving them: references, types, constants, calls, punctuation.
_ENDS = r"(?![^\s\"',;)=|\]])"
_REFERENCE = rf"\$\{{?[A-Za-z_]\w{{0,60}}\}}?{_ENDS}|\$[({{]|(?:self|this|os|process|args|request)\."
_CONSTANT = rf"(?:none|null|true|false|undefined|str|string|bytes|bool|int|any|optional){_ENDS}"
_CALL = r"[a-z_.]{1,60}\((?=[^\n]{0,200}\))"
_STRING_PREFIX = r"[bfru]{1,2}(?=\\?[\"'])"
_NO_VALUE = rf"(?![\[\](){{}}<>=:|*…]|{_REFERENCE}|{_CONSTANT}|{_CALL}|{_STRING_PREFIX})"
_NO_STRING = r"(?!\[redacted\]|[<…]|\*\*|\{\{|\$\{)"
_VALUE = rf"{_NO_STRING}{_TO_QUOTE}|{_NO_VALUE}{_TO_DELIMITER}"

_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey|ssws|oauth|jwt|bot|key|geniekey|splunk)[ \t]{1,8}"
# Behind a scheme that is not known, which then counts as a part of the value.
_AFTER_SCHEME = r"(?:[ \t]{1,8}(?=[a-z._~+/=-]{0,40}[0-9])[\w.~+/=-]{16,})?"

# Keys that begin with what their maker calls them. Searched for only where something as long stands behind one of the
# characters that end such a beginning, which no ordinary line has.
_LONG = r"[_.~:-][\w-]{16}"
_BRANDED = "|".join(
    (
        r"sk-(?=[A-Za-z_-]{0,40}[0-9])[\w-]{16,}",  # OpenAI, Anthropic
        r"sk_(?:live|test)_\w{16,}|rk_(?:live|test)_\w{16,}",  # Stripe
        r"npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}",
        r"SG\.[\w-]{16,32}\.[\w-]{32,64}",  # SendGrid
        r"sq0(?:atp|csp|idp)-[\w-]{22,43}|sandbox-sq0[ac]tp-[\w-]{22,43}",  # Square
        r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}",  # Shopify
        r"do[opr]_v1_[0-9a-f]{64}",  # DigitalOcean
        r"hv[bsr]\.[\w-]{24,}",  # Vault
        r"AT[AC]TT3xFf[\w=-]{60,}",  # Atlassian
        r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",  # Linear
        r"ntn_[A-Za-z0-9]{40,}|secret_(?=[A-Za-z]{0,42}[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9])",  # Notion
        r"dp\.(?:audit|ct|pt|sa|scim|st)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}",  # Doppler
        r"gl(?:sa|c)_[A-Za-z0-9+/]{32,}[\w=]*",  # Grafana
        r"NR(?:AK|AA|II|JS|RA)-[A-Za-z0-9_-]{19,}",  # New Relic
        r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}",  # PlanetScale
        r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",  # Postman
        r"rubygems_[0-9a-f]{48}|pul-[0-9a-f]{40}|pnu_[a-zA-Z0-9]{36}|rdme_[a-z0-9]{60,}",
        r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
        r"GOCSPX-[\w-]{28}",  # Google OAuth
        r"whsec_[A-Za-z0-9+/=]{24,}",  # Stripe's hooks
        r"(?:dckr_(?:pat|oat)|sbp|sb_secret|nfp|nfo|figd|figo?r?)_[\w-]{24,}",  # Docker, Supabase, Netlify, Figma
        r"(?:fo1|fm[12]a?r?)_[\w+/=,-]{40,}",  # Fly
        r"gsk_[A-Za-z0-9]{48,}|r8_[A-Za-z0-9]{37,40}",  # Groq, Replicate
        r"(?:xai|pplx|nvapi|tvly)-(?:dev-|prod-)?[\w-]{24,}",  # xAI, Perplexity, NVIDIA, Tavily
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",  # LangSmith
        r"sntry[su]_[\w=+/.-]{60,}",  # Sentry
        r"sq[apu]_[0-9a-f]{40}",  # Sonar
        r"gl(?:agent|cbt|dt|ft|imt|oas|ptt|rt|soat)-(?:t[0-9]_)?[\w-]{20,}",  # GitLab's others
        r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",  # Airtable
        r"bkua_[0-9a-f]{40}|CCIPAT_[A-Za-z0-9]{20,}_[0-9a-f]{40}|HRKU-[\w-]{60,}",  # Buildkite, CircleCI, Heroku
        r"ops_eyJ[\w+/=-]{100,}",  # 1Password
        r"tskey-(?:api|auth|client|scim|webhook)-[\w-]{20,}",  # Tailscale
        r"CFPAT-[\w-]{40,}|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",  # Contentful, Brevo
        r"[ps]k\.eyJ[\w-]{20,}\.[\w-]{20,}",  # Mapbox
        r"(?<!-)(?<!cache )key-[0-9a-f]{32}(?![\w-])|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",  # Mailgun
    )
)

_ANYWHERE = r"gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|pypi-AgE[\w-]{40,}"

_RULES = (
    _rule("private", rf"-----BEGIN {_KEY_LABEL}(?>(?:(?!-----)[\s\S]){{0,16384}})-?-----END {_KEY_LABEL}"),
    _rule("private", rf"-----BEGIN {_KEY_LABEL}(?>(?:{_KEY_GAP}?{_KEY_TEXT})*)"),
    _rule(
        "-----end",
        rf"(?<![A-Za-z0-9+/=])(?>(?:{_KEY_TEXT}{_KEY_GAP}?){{1,80}})(?:{_KEY_LAST})?-?-----END {_KEY_LABEL}",
    ),
    _rule("akia asia abia acca", r"(?<![A-Za-z0-9])A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _rule("xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _rule(
        "hooks.slack.com /webhooks/ webhook.office.com",
        r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}|discord(?:app)?\.com/api/webhooks/[\w/-]{40,}"
        r"|webhook\.office\.com/webhookb2/[\w@/-]{20,}",
    ),
    _Rule(("atatt3",), rf"(?P<keep>)(?:(?<![A-Za-z0-9])(?:{_BRANDED})|{_ANYWHERE})", re.ASCII, _LONG),
    _rule(
        "dapi akcp absk 1//0 :aa .atlasv1. q~",
        r"(?<![A-Za-z0-9])(?:dapi[0-9a-f]{32}(?:-[0-9])?|AKCp[A-Za-z0-9]{60,}|ABSK[A-Za-z0-9+/=]{80,}|1//0[\w-]{40,}"
        r"|[0-9]{8,10}:AA[\w-]{32,35}(?![\w-])|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|\w{3}[0-9]Q~[\w.~-]{31,34})",
    ),
    _rule("aiza ya29.", r"AIza[\w-]{30,}|ya29\.[\w-]{20,}"),
    _rule("eyj", r"(?<![\w.-])eyJ[\w-]{5,}+(?>(?:\.[\w-]++){2,4})"),
    _rule(
        "authorization",
        rf"(?!\[redacted\]|…){_TO_DELIMITER}{_AFTER_SCHEME}",
        keep=rf"authorization{_IS}(?:\\?[\"'])?(?>(?:{_SCHEME})?)",
    ),
    _rule("bearer", r"(?=[a-z._~+/=-]{0,40}[0-9])[\w.~+/=-]{16,}", keep=r"\bbearer[ \t]{1,8}"),
    _rule(_NAME_HINTS, _VALUE, keep=rf"{_NAME}{_IS}(?:(?:{_STRING_PREFIX})?\\?[\"'])?"),
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
    _rule("cookie", r"[^\r\n\"']{8,}", keep=r"\b(?:set-)?cookie[\"']?:[ \t]{0,8}[\"']?(?=[\w.-]{1,64}=)"),
    _rule("basic ", r"(?=[a-z+/]{0,60}[0-9])[a-z0-9+/]{12,}={0,2}(?![\w+/=])", keep=r"\bbasic[ \t]{1,8}"),
    _rule(
        '_auth "auth"', r"(?!\[redacted\])[a-z0-9+/]{8,}={0,2}", keep=r"(?:\b_auth[ \t]{0,4}=|\"auth\":)[ \t]{0,4}\"?"
    ),
    _rule(
        "curl", rf"{_NO_VALUE}[^\s\"']++", keep=r"\bcurl\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t=]?[\"']?[^\s:\"']{1,64}:"
    ),
    _rule(
        "machine",
        rf"{_NO_VALUE}[^\s\"']++",
        keep=r"\bmachine\s{1,4}\S{1,255}\s{1,4}login\s{1,4}\S{1,255}\s{1,4}password\s{1,4}",
    ),
    _rule(
        "sshpass mysql",
        rf"{_NO_VALUE}(?![;|&])[^\s\"']++",
        keep=r"\b(?:sshpass[ \t]{1,4}-p[ \t]{0,4}|mysql\w{0,8}\b[^\n]{0,200}?[ \t]-p)[\"']?",
    ),
    _rule(
        "sig= signature= ?key= &key= ?auth= &auth=",
        r"(?!\[redacted\])[^\s\"'&;<>\\]{16,}",
        keep=r"[?&](?:key|auth|(?:x-(?:amz|goog)-)?sig(?:nature)?)=",
    ),
    _rule("://", r"(?=[^\s/@:]{0,255}[0-9])[^\s/@:\"'<>]{20,256}(?=@)", keep="https?://"),
    _rule("://", r"[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512}(?=@)", keep="://"),
)

# Most short texts have none of them, and that is quickly said.
_FIRST = re.compile(_LONG, re.ASCII)
# The hints by a part that several of them have: where that is not, none of them is.
_PARTS = ("=", "-", "q", "key", "pass", "auth", "hook", ".", "//", "cre", "ia")
_HINTS: dict[str, list[str]] = {}
for _hint in dict.fromkeys(hint for rule in _RULES for hint in rule.hints):
    _HINTS.setdefault(next((part for part in _PARTS if part in _hint), _hint), []).append(_hint)

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
    for _ in range(_MOST_PASSES):
        # Hidden ones first: of a key in many lines the raw text may show the first line alone.
        once = _pass(_without_hidden(text), _SHOWN, PLACEHOLDER)
        if once == text:
            break
        # What stood beside a replaced secret may only now have a shape of its own.
        text = once
    return text


_SHOWN = r"\g<keep>" + PLACEHOLDER


def _pass(text: str, replacement: Replacement, known: Replacement) -> str:
    # Named values first: a rule that sees only a part of one would leave the rest of it unrecognisable.
    if _known:
        text = _known.sub(known, text)
    lowered = text.lower()
    hinted = {hint for part, hints in _HINTS.items() if part in lowered for hint in hints if hint in lowered}
    if hinted or _FIRST.search(text):
        for rule in _RULES:
            text = rule.apply(text, hinted, replacement)
    return text


# JSON within JSON within a line of JSON, with an escape sequence in it.
_MOST_LEVELS = 4
_FILL = "\0"
_FILLED = re.compile(f"{_FILL}+")
_HIDDEN_BY = ("\\", "\x1b", _FILL, "\b", "\x7f")
_INVISIBLE = re.compile(
    r"[\x80-\x9f\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\udc9b]"
)
_ESCAPE = re.compile(
    r"(?>(?:\\[\"\\/bfnrt])+)|\\u[0-9a-fA-F]{4}"
    r"|(?:\x1b\[|[\x9b\udc9b])[0-?]*+[ -/]*+[@-~]?|\x1b[\]PX^_k][^\n\r\x07\x1b]*+(?:\x1b\\|\x07)?|\x1b[ -/]*+[0-~]?"
    rf"|(?>(?:[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|(?!\x9b|\udc9b){_INVISIBLE.pattern})+)"
)
_ESCAPED = str.maketrans("bfnrt", "\n\n\n\r\t")


def _decoded(match: re.Match[str]) -> str:
    """Return the character of an escape of JSON; nothing for a character that a terminal does not show."""
    escape = match[0]
    if escape[0] != "\\":
        return ""
    if escape[1] != "u":
        return escape[1::2].translate(_ESCAPED)
    return chr(int(escape[2:], 16)).replace(_FILL, "")


def _without_hidden(text: str) -> str:
    pieces: list[str] = []
    end = 0
    for first, last in sorted(_hidden(text, _MOST_LEVELS)):
        if last > end:
            if first > end or not pieces:
                pieces += (text[end:first], PLACEHOLDER)
            end = last
    return "".join((*pieces, text[end:])) if pieces else text


def _hidden(text: str, levels: int) -> list[tuple[int, int]]:
    """Return the places in ``text`` of secrets that only its decoded form shows."""
    if not levels or not (any(sign in text for sign in _HIDDEN_BY) or (not text.isascii() and _INVISIBLE.search(text))):
        return []
    shown = _ESCAPE.sub(_decoded, text)
    if shown == text:
        return []
    found = [match.span() for match in _FILLED.finditer(_pass(shown, _fill, _fill))]
    found += _hidden(shown, levels - 1)
    return _in_original(text, found) if found else []


def _fill(match: re.Match[str]) -> str:
    """As many characters as were matched, so that every other one stays at its place."""
    keep = match["keep"] if "keep" in match.re.groupindex else ""
    return keep + _FILL * (len(match[0]) - len(keep))


def _in_original(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ``spans`` of the decoded ``text`` as those of ``text`` itself."""
    decoded, original, steps = [0], [0], [1]
    for match in _ESCAPE.finditer(text):
        begin = decoded[-1] + (match.start() - original[-1])
        size = len(_decoded(match))
        if size:
            decoded.append(begin)
            original.append(match.start())
            steps.append((match.end() - match.start()) // size)
        decoded.append(begin + size)
        original.append(match.end())
        steps.append(1)

    def at(place: int) -> int:
        number = bisect_right(decoded, place) - 1
        return original[number] + (place - decoded[number]) * steps[number]

    def behind(place: int) -> int:
        number = bisect_right(decoded, place - 1) - 1
        return original[number] + (place - decoded[number]) * steps[number]

    return [(at(first), behind(last)) for first, last in spans]
