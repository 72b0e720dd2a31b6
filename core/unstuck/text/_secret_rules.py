"""Rules for the shapes of secrets: known keys, and values given to secret names.

The process beside each agent loads this file by its path: it imports nothing of ours, and a pattern is compiled when
text first hints at it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, compress, groupby, repeat
from operator import sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Rule:
    """Pattern of one kind of secret. Only text with one of the lower-case ``hints`` is searched.

    The first group of ``pattern`` stays, the second goes; where it has others, the secret begins with the one that
    matches, which is looked back for. A ``folded`` pattern is matched on the text in lower case, which is several times
    faster than one that ignores case. With ``behind``, one of these programs stands less than 200 characters before,
    in the same line. ``likely`` is a pattern for RE2 of what every match has, where ``pattern`` without all that RE2
    cannot do is too loose: in large text, which has most hints, it is looked for instead of them. A ``backwards``
    pattern is matched on the text read from its end, because only the end of such a secret tells what it is.

    No pattern may need more than linear time: repetitions are possessive, bounded, or fail within a few characters.
    Those of a group are in an atomic one instead: possessive they are wrong in Pythons before 3.11.5. A pattern begins
    with a literal, which is looked for without trying it: what must not stand before it is looked back for behind it.
    """

    __slots__ = ("_backwards", "_behind", "_compiled", "folded", "hints", "likely", "pattern")

    def __init__(
        self, hints: str, pattern: str, *, folded: bool, behind: str = "", likely: str = "", backwards: bool = False
    ) -> None:
        self.hints = tuple(hint.replace(_BLANK, " ") for hint in hints.split())
        self.pattern, self.folded, self.likely = pattern, folded, likely
        self._behind = tuple(program.replace(_BLANK, " ") for program in behind.split())
        self._backwards = backwards
        self._compiled: re.Pattern[str] | None = None

    def loosened(self) -> str:
        """Return a pattern for RE2 that finds something wherever this rule finds something, in bytes in lower case."""
        if self.likely:
            return self.likely
        if _LOOKED_BACK in self.pattern:
            return "|".join(map(re.escape, self.hints))
        begin = "[^a-z0-9]" if _ALONE in self.pattern else ""
        if self._behind:
            begin = f"(?:{'|'.join(map(re.escape, self._behind))})[^\\n]*"
        return begin + _loosened(self.pattern)

    def places(self, text: str) -> tuple[list[int], list[int]]:
        """Return where secrets begin and end in ``text``, in their order; that of a folded rule is in lower case."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, re.ASCII)
        pattern, behind = self._compiled, self._behind
        if self._backwards:
            found = [match.span() for match in pattern.finditer(text[::-1])][::-1]
            return [len(text) - last for _, last in found], [len(text) - first for first, _ in found]
        if pattern.groups != _KEPT_AND_GONE:
            found = [(match.start(match.lastindex or 0), match.end()) for match in pattern.finditer(text)]
            return [first for first, _ in found], [last for _, last in found]
        # What stands between, what stays and what goes, in turn: several times faster than match after match.
        ends = list(accumulate(map(len, pattern.split(text))))
        options, first, last = ends[:-1:3], ends[1::3], ends[2::3]
        if behind:
            starts = list(map(max, map(sub, options, repeat(_NEAR)), repeat(0)))
            lines = list(map(max, starts, map(text.rfind, repeat("\n"), starts, options)))
            each = (map(text.find, repeat(one), lines, options) for one in behind if one in text)
            near = [max(found) >= 0 for found in zip(*each, strict=True)]
            first, last = list(compress(first, near)), list(compress(last, near))
        return first, last


_KEPT_AND_GONE = 2
_ALONE = "(?<![A-Za-z0-9]"
_LOOKED_BACK = "(?:(?<="  # for what tells most
_NEAR = 200
_TOKEN = re.compile(
    r"(?P<look>\(\?<?[=!])|(?P<group>\((?:\?[:>])?)|(?P<set>\[\^?(?:\\.|[^\]\\])*\])|(?P<escape>\\.)|\{(?P<least>[0-9]+)"
    r"(?P<most>,[0-9]*)?\}[+?]?|(?P<some>[*+?])[+?]?|.",
    re.DOTALL,
)
_MOST_COUNTED = 8  # more makes many states of it


def _loosened(pattern: str) -> str:
    """``pattern`` as RE2 takes it for bytes in lower case: with nothing looked at, and counts only up to a few."""
    said, looking = list[str](), 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if looking or token["look"]:
            looking += text.startswith("(") - (text == ")")
        elif token["group"]:
            said.append("(?:")
        elif token["set"]:
            said.append(_loosened_set(text))
        elif token["escape"]:
            said.append(r"[\s\v]" if text == r"\s" else text)
        elif token["least"]:
            least = min(int(token["least"]), _MOST_COUNTED)
            said.append(f"{{{least},}}" if token["most"] or int(token["least"]) > least else f"{{{least}}}")
        else:
            said.append(token["some"] or text.lower())
    return "".join(said)


def _loosened_set(said: str) -> str:
    """A set of characters as RE2 takes it, where those outside of ASCII are several bytes."""
    lowered = re.sub(r"(?<!\\)[A-Z]", lambda letter: letter[0].lower(), said)
    ascii_only = re.sub(r"[^\x00-\x7f]", "", lowered)
    if said.startswith("[^"):
        return ascii_only
    others = sorted(set(lowered) - set(ascii_only))
    return "|".join([f"(?:{ascii_only[:-1]}\\v]" if r"\s" in said else f"(?:{ascii_only}", *others]) + ")"


def _rule(hints: str, pattern: str, *, keep: str = "", behind: str = "", likely: str = "") -> Rule:
    return Rule(hints, f"({keep})({pattern})", folded=bool(keep), behind=behind, likely=likely)


def _key(begin: str, pattern: str, hints: str = "") -> Rule:
    """A key that begins with ``begin``, before which no letter or digit stands."""
    begin = re.escape(begin)
    return Rule(
        hints or begin.replace("\\", "").lower(), f"()({begin}(?<![A-Za-z0-9]{begin})(?:{pattern}))", folded=False
    )


def _inner(hints: str, before: Iterable[str], inner: str, rest: str, likely: str = "") -> Rule:
    """A key known by what stands within it: one of ``before``, each of a fixed length, ``inner``, and the ``rest``."""
    looks = "|".join(f"(?<=[^A-Za-z0-9]({one}){inner})" for one in before)
    return Rule(hints, f"{inner}(?:{looks}){rest}", folded=False, likely=likely)


def _word(word: str) -> str:
    """``word`` where no letter or digit stands before it."""
    return rf"{word}(?<!\w{word})"


_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_LABEL_HINTS = "key----- block-----"
_LABEL_LIKELY = "key(?: block)?-----"
_KEY_TEXT = r"[A-Za-z0-9+/]{16,}+={0,2}"
_KEY_BREAK = r"(?>(?:\s|\\[nr]){1,4})"
# Its lines may be indented, or quoted, and in a diff a sign stands before each of them; or they are all joined.
_KEY_GAP = r"(?>(?:[\s\"',+]{1,40}+|-(?!----)|\\[nr]){1,8})"
# The same read from the end, where the letter of an escape belongs to the text.
_GAP_BACKWARDS = r"(?>(?:[\s\"',+\\]{1,40}+|-(?!----)){1,8})"
_END_BACKWARDS = r"-----(?:KCOLB )?YEK ETAVIRP(?: [A-Z0-9]{1,12}){0,4} DNE------?"

# A name, what may stand between it and its value, and the value: quoted, or up to the next delimiter.
_ASSIGNED = r"(?=\\?[\"']?[ \t]?[:=＝：])"
_NO_COUNT = r"(?!\\?[\"']?[ \t]?[:=] ?[0-9]{1,3}(?!\w))"  # the number of a pass through something
# A path is no key, and many a key is none to be hidden: of a table, a cache, a sort.
_MARKED_KEYS = "api access account private signing encryption master"
_OF_KEYS = (
    "admin app auth aws client cloud cloudant consumer database db deploy hmac iam ibm priv service sl softlayer"
    " subscription"
)


def _keys(names: str) -> str:
    return "|".join(rf"(?<={name}key)|(?<={name}[_-]key)" for name in names.split())


# By what text with one has. Not just "pass" and "key": every output of a test run says PASSED, and many a KeyError.
_NAMES = {
    "password passwd passphrase passcode _pass -pass passwort": (
        rf"pass(?:wor[dt]|wd|phrase|code|(?<=[a-z0-9][_-]pass)(?<!test_pass){_ASSIGNED}{_NO_COUNT})"
    ),
    "_pat -pat": rf"pat(?<=[a-z0-9][_-]pat){_ASSIGNED}(?=[\\\"' \t:=]{{1,6}}\w{{20}})",
    "pwd _pw -pw": rf"pw(?:d(?![\"']?[:=] ?[\"']?[/~])|(?<=[a-z0-9][_-]pw){_ASSIGNED})",
    "secret": r"secret(?:[_-]?key(?:[_-]base)?)?",
    "credential": r"credentials?",
    "token": r"token(?<!expected token)",
    "_key -key " + " ".join(f"{name}key" for name in f"{_MARKED_KEYS} {_OF_KEYS}".split()): (
        rf"key(?:{_keys(_MARKED_KEYS)}|{_ASSIGNED}(?:{_keys(_OF_KEYS)})(?![\"']?[ \t]?[:=] ?[\"']?[/~.]))"
    ),
    "kennwort": "kennwort",
    "senha": "senha",
    "contrase": "contrase[ñn]a",
    "mot_de_passe mot-de-passe": "mot[_-]de[_-]passe",
}
_NAME = rf"(?:[a-z]{{2,12}}?[_-]?(?=key){'|'.join(sorted(_NAMES.values(), key=lambda name: name[:3] != 'key'))})"
_BLANK = "\0"  # within a hint
# What may name a secret in XML, before a block of YAML, and in a sentence.
_WORDS = (
    "password passwd passphrase passcode pwd token secret credential credentials apikey api_key api-key access_key"
    " access-key accesskey private_key private-key privatekey signing_key secret_key secret-key secretkey"
    " encryption_key master_key account_key _pass passwort kennwort"
)


def _behind(sign: str) -> str:
    """One of the words and ``sign`` before this place."""
    return f"(?:{'|'.join(f'(?<={word}{sign})' for word in _WORDS.split())})"


def _followed_by(signs: str) -> str:
    return " ".join(f"{word}{sign}" for word in _WORDS.split() for sign in signs.split())


_HARD_TO_GUESS = r"(?!\[redacted\])(?=\S{0,60}[0-9])(?=\S{0,60}[a-z])[^\s\"'`|\\]{8,}"
# Programs that take a password glued to an option.
_GLUED = "mysql 7z rar\0a unrar"
# Programs that take a password behind an option of one letter.
_LOGINS = (
    "redis-cli ldapsearch ldapmodify mongosh mongodump keytool ssh-keygen snmpget sqlcmd docker\0login podman\0login"
    " registry\0login az\0login openssl\0enc"
)
_USER_LOGINS = {"smbclient rpcclient smbget net\0rpc net\0ads": "%", "lftp": ","}
# Mostly it is this sign alone.
_IS = r"(?:=(?=\w)|(?:\\?[\"']|&quot;|%22)?[ \t]{0,8}(?::=|=>|[:=]|＝|：|%(?:25){0,2}3[ad])[ \t]{0,8})"
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

_STRING = rf"(?:(?:some\()?(?:{_STRING_PREFIX})?\\?[\"']|&quot;|%22)"
_LIKELY_VALUE = (
    rf"{_loosened(_IS)}(?:(?:(?:some\()?[bfru]{{0,2}}\\?[\"']|&quot;|%22)(?:\[[^r]|[^\[<\"'])"
    r"|\\[^nrt\"']|[^\s\"'\\,;&\[\](){}<>=:|*])"
)


def _likely(hints: str) -> str:
    """One of ``hints``, the rest of a name, and what stands between it and a value that is not yet replaced."""
    return rf"(?:{'|'.join(hints.split())})(?:s|(?:ñ|n)a|[_-]?key(?:[_-]base)?)?{_LIKELY_VALUE}"


_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey|ssws|oauth|jwt|bot|key|geniekey|splunk)[ \t]{1,8}"
# Behind a scheme that is not known, which then counts as a part of the value.
_AFTER_SCHEME = r"(?:[ \t]{1,8}(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,})?"

# Keys that begin with what their maker calls them.
# A key goes on behind a line end, as of a terminal or a mail, or a blank, with a word that is as hard to guess.
_GOES_ON = r"(?:[ \t]{1,2}|[ \t]{0,4}\r?\n[ \t]{0,16})"
_ENDS_WORD = r"(?=[\s\"'.,;)\]}]|$)"
_MIXED = r"(?=[\w.-]{0,99}?[0-9])(?=[\w.-]{0,99}?[a-z])(?=[\w.-]{0,99}?[A-Z])"
_WRAPPED = rf"(?>(?:{_GOES_ON}{_MIXED}[\w-]{{8,}}+{_ENDS_WORD})*)"
_REST = (
    rf"(?:(?:{_MIXED}[\w./+-]{{5,}}+|(?=[a-z]{{0,99}}[A-Z]{{1,99}}[a-z]{{1,99}}[A-Z])[\w-]{{16,}}+)"
    rf"|(?=[A-Z]{{0,99}}?[0-9])[0-9A-Z]{{6,}}+|(?=[0-9]{{0,99}}[a-f])(?=[a-f]{{0,99}}[0-9])[0-9a-f]{{6,}}+){_ENDS_WORD}"
)


# To look for it is several times faster than to look back from every letter.
_BEFORE_WORD = "([^0-9A-Za-z])"


def _by_letter(patterns: Iterable[str]) -> str:
    """One pattern for all ``patterns``, each of which begins with a letter or digit."""
    patterns = sorted(patterns)
    each = (
        f"{one}(?:{'|'.join(rest[1:] for rest in begun)})" for one, begun in groupby(patterns, lambda said: said[0])
    )
    return f"(?:{'|'.join(each)})"


# Of keys whose rest stands too soon behind a line end or a blank for a rule of its own.
_BEGINS = (
    r"sk- sk_live_ sk_test_ rk_live_ rk_test_ npm_ hf_ SG\. sq0[a-z]{3}- shp[a-z]{2}_ do[opr]_v1_ hv[bsr]\."
    r" ATATT3 ATCTT3 ntn_ glsa_ glc_ lin_api_ lin_oauth_ NR[AIJR][AISK]- pscale_[a-z]{2,5}_ PMAK- rubygems_"
    r" pul- AGE-SECRET-KEY-1 GOCSPX- whsec_ gsk_ dckr_[op]at_ sbp_ r8_ xai- pplx- nvapi- tvly- sntry[su]_"
    r" tskey- glpat- glrt- gldt- glft- gh[oprsu]_ github_pat_ AKIA ASIA xox[a-eoprs]- xapp- AIza ya29\."
    r" pypi-AgE dapi eyJ AKCp fm[12][ar_] dp\.[a-z]{2,5}\. 1//0 hooks\.slack\.com/"
    r" discord(?:app)?\.com/api/webhooks/ key-[0-9a-f]{8}"
)
# Keys of other services: how they begin, which for the last of them many a word does, too.
_SERVICES = (
    "access-production- access-sandbox- apify_api_ aph0_ bb_live_ bedrock-api-key- bkct_ cfat_ cfk_ cfut_"
    " CLOJARS_ crsr_ csk- ddp_ depot_org_ depot_project_ dtn_ duffel_live_ duffel_test_ fio-u- FLWSECK- FLWSECK_TEST-"
    " glffct- glwt- hcaik_ hcxik_ jina_ llx- mdb_sa_sk_ ory_pat_ os_v2_app_ os_v2_org_ pat-eu1- pat-na1- pcsk_"
    " pdl_live_apikey_ pdl_sdbx_apikey_ phs_ phx_ polar_oat_ pylf_v1_eu_ pylf_v1_us_ rootly_ secret-live- secret-test-"
    " sgamp_user_ shippo_live_ shippo_test_ signkey-prod- snyk_uat. tgp_v1_ tr_dev_ tr_prod_ unkey_ vca_ vci_ vck_ vcp_"
    " vcr_ vercel_blob_rw_ vtwn_ wandb_v1_ xaat- xapt- xwfp- zpka_"
)
_SHORT_SERVICES = "aio_ e2b_ fc- fw_ ico- napi_ rnd_ rpa_ sgp_ tfp_ tid_ tsec_"
_SERVICE = "|".join(
    [_by_letter(map(re.escape, _SERVICES.split())), f"(?<![_-]){_by_letter(map(re.escape, _SHORT_SERVICES.split()))}"]
)
_NO_WORD = (
    r"(?:(?=[\w.-]{0,30}?(?=[A-Za-z]{0,40}+[0-9])[A-Za-z0-9]{20})[\w.-]{19,}[\w-]"
    r"|(?=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[0-9a-f-]{36})"
)
_BEGINS += " " + " ".join(map(re.escape, _SERVICES.split()))
_BEGUN = _by_letter(_BEGINS.split())
_SECRET_PART = r"(?=[\w./-]{0,40}[0-9A-Z])[\w./+-]{3,}+"
_BROKEN = rf"{_SECRET_PART}(?=[ \t\r\n])(?>(?:{_GOES_ON}{_REST}){{1,4}})"
_LIKELY_BROKEN = r"[\w./+-]{2,}(?:[ \t]{1,2}|[ \t]*\r?\n[ \t]*)(?:[a-z_./+-]{0,9}[0-9]|[\w-]{9})"


@cache
def begun_at_end() -> re.Pattern[str]:
    """Return the pattern of a line whose last word is the beginning of a key."""
    return re.compile(rf"(?:^|{_BEFORE_WORD}){_BEGUN}{_SECRET_PART}[ \t\r\n]*\Z", re.ASCII)


BRANDED = (
    _key("sk-", rf"(?=[A-Za-z_-]{{0,40}}+[0-9])[\w-]{{16,}}{_WRAPPED}"),  # OpenAI, Anthropic
    _key("sk_", r"(?:(?:live|test)_\w{16,}|[0-9a-f]{48})"),  # Stripe, ElevenLabs
    _key("re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),  # Resend
    _key("rk_", r"(?:live|test)_\w{16,}", "rk_live_ rk_test_"),
    _key("npm_", r"[A-Za-z0-9]{30,}"),
    _key("hf_", r"[A-Za-z0-9]{30,}"),
    _key("SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),  # SendGrid
    _key("sq0", r"(?:atp|csp|idp)-[\w-]{22,43}"),  # Square
    _key("sandbox-sq0", r"[ac]tp-[\w-]{22,43}"),
    _key("shp", r"(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}"),  # Shopify
    _key("do", r"[opr]_v1_[0-9a-f]{64}", "_v1_"),  # DigitalOcean
    _key("hv", r"[bsr]\.[\w-]{24,}", "hvb. hvs. hvr."),  # Vault
    _key("AT", r"[AC]TT3xFf[\w=-]{60,}", "atatt3 atctt3"),  # Atlassian
    _key("lin_", r"(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_api_ lin_oauth_"),  # Linear
    _key("ntn_", r"[A-Za-z0-9]{40,}"),  # Notion
    _key("secret_", r"(?=[A-Za-z]{0,42}+[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    _key("dp.", r"(?:audit|ct|pt|sa|scim|st)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),  # Doppler
    _key("gl", r"(?:sa|c)_[A-Za-z0-9+/]{32,}[\w=]*", "glsa_ glc_"),  # Grafana
    _key("NR", r"(?:AK|AA|II|JS|RA)-[A-Za-z0-9_-]{19,}", "nrak- nraa- nrii- nrjs- nrra-"),  # New Relic
    _key("pscale_", r"(?:tkn|pw|oauth)_[\w=.-]{32,}"),  # PlanetScale
    _key("PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    _key("rubygems_", r"[0-9a-f]{48}"),
    _key("pul-", r"[0-9a-f]{40}"),
    _key("pnu_", r"[a-zA-Z0-9]{36}"),
    _key("rdme_", r"[a-z0-9]{60,}"),
    _key("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    _key("GOCSPX-", r"[\w-]{28}"),  # Google OAuth
    _key("whsec_", r"[A-Za-z0-9+/=]{24,}"),  # Stripe's hooks
    _key("dckr_", r"(?:pat|oat)_[\w-]{24,}"),  # Docker
    _key("sb", r"(?:p|_secret)_[\w-]{24,}", "sbp_ sb_secret_"),  # Supabase
    _key("nf", r"[po]_[\w-]{24,}", "nfp_ nfo_"),  # Netlify
    _key("fig", r"(?:d|o?r?)_[\w-]{24,}", "fig_ figd_ figo_ figr_ figor_"),  # Figma
    _key("fo1_", r"[\w+/=,-]{40,}"),  # Fly
    _key("fm", r"[12]a?r?_[\w+/=,-]{40,}", "fm1 fm2"),
    _key("gsk_", r"[A-Za-z0-9]{48,}"),  # Groq
    _key("r8_", r"[A-Za-z0-9]{37,40}"),  # Replicate
    _key("xai-", r"[\w-]{24,}"),
    _key("pplx-", r"[\w-]{24,}"),  # Perplexity
    _key("nvapi-", r"[\w-]{24,}"),  # NVIDIA
    _key("tvly-", r"[\w-]{24,}"),  # Tavily
    _key("lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),  # LangSmith
    _key("sntry", r"[su]_[\w=+/.-]{60,}"),  # Sentry
    _key("sq", r"[apu]_[0-9a-f]{40}", "sqa_ sqp_ squ_"),  # Sonar
    _key(
        "gl",
        r"(?:agent|cbt|dt|ft|imt|oas|ptt|rt|soat)-(?:t[0-9]_)?[\w-]{20,}",
        "glagent- glcbt- gldt- glft- glimt- gloas- glptt- glrt- glsoat-",  # GitLab's others
    ),
    _key("dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    _key("pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    _key("bkua_", r"[0-9a-f]{40}"),  # Buildkite
    _key("CCIPAT_", r"[A-Za-z0-9]{20,}_[0-9a-f]{40}"),  # CircleCI
    _key("HRKU-", r"[\w-]{60,}"),  # Heroku
    _key("ops_", r"eyJ[\w+/=-]{100,}", "ops_eyj"),  # 1Password
    _key("tskey-", r"(?:api|auth|client|scim|webhook)-[\w-]{20,}"),  # Tailscale
    _key("CFPAT-", r"[\w-]{40,}"),  # Contentful
    _key("xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    _key("pk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),  # Mapbox
    _key("sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    _key("api_org_", "[A-Za-z]{34}(?![A-Za-z0-9])"),  # Hugging Face
    _key("AQ.Ab", r"[\w-]{40,}"),  # Google's newer
    _key("EAA", r"(?=[A-Za-z]{0,40}+[0-9])[A-Za-z0-9]{60,}"),  # Meta, Square
    _key("LTAI", r"(?=[A-Za-z]{0,20}+[0-9])[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),  # Alibaba
    _key("AQVN", r"[\w-]{35,38}(?![\w-])"),  # Yandex
    _key("EZ", r"[AT]K[A-Za-z0-9]{54}", "ezak eztk"),  # EasyPost
    _key("S", r"[UAONCX]A[A-P][A-Z2-7]{54}(?![A-Za-z0-9])", "sua saa soa sna sca sxa"),  # seeds of NATS
    _key("access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),  # Braintree
    _key("cflt", r"[A-Za-z0-9+/]{56,}"),  # Confluent
    _key("cio", r"(?=[A-Za-z]{0,31}+[0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])"),  # crates.io
    _key("cmVmdGtu", r"[A-Za-z0-9]{50,}"),  # Artifactory's references
    _key("oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),  # NuGet
    _key("pat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),  # Harness
    _key("sha256~", r"[\w-]{43}"),  # OpenShift
    _key("sl.", r"(?:u\.)?[\w-]{120,}"),  # Dropbox
    _key("v1.0-", r"[0-9a-f]{24}-[0-9a-f]{140,}"),  # Cloudflare's origins
    _key("key-", r"(?<!-key-)(?<!cache key-)[0-9a-f]{32}(?![\w-])"),  # Mailgun
)


# For text with many of them; far faster than one after the other.
_ALL_BRANDED = _by_letter(rule.pattern.removeprefix("()(")[:-1] for rule in BRANDED)
BRANDED_AT_ONCE = Rule("", f"{_BEFORE_WORD}({_ALL_BRANDED})", folded=False)

RULES = (
    Rule(
        "sk- k_live_ k_test_ npm_ hf_ sg. sq0 shp _v1_ hvb. hvs. hvr. atatt3 atctt3 ntn_ glsa_ glc_ lin_ nrak-"
        " nrii- nrai- nrjs- nrra- nraa- pscale_ pmak- rubygems_ pul- age-secret gocspx- whsec_ gsk_ dckr_ sbp_"
        " r8_ xai- pplx- nvapi- tvly- sntry tskey- glpat- glrt- gldt- glft- gho_ ghp_ ghr_ ghs_ ghu_"
        " github_pat_ akia asia xox xapp- aiza ya29. pypi-age dapi eyj akcp fm1 fm2 dp. 1//0 hooks.slack.com"
        f" /api/webhooks/ key- {_SERVICES.lower()}",
        rf"{_BEFORE_WORD}({_BEGUN}{_BROKEN})",
        folded=False,
        likely=rf"[^a-z0-9](?:{_loosened('|'.join(_BEGINS.split()))}){_LIKELY_BROKEN}",
    ),
    *(
        Rule(
            within,
            f"()({begin}{_BROKEN})",
            folded=False,
            likely=re.escape(within) + _LIKELY_BROKEN,
        )
        for within, begin in {
            ".atlasv1.": r"\.atlasv1\.",
            ":aa": ":AA(?<=[0-9]{8}:AA)",
            "q~": "Q~(?<=[A-Za-z0-9]{3}[0-9]Q~)",
        }.items()
    ),
    _rule(
        _LABEL_HINTS,
        rf"-----BEGIN {_KEY_LABEL}(?>(?:[^-]{{1,16384}}+|-(?!----)){{0,999}})-?-----END {_KEY_LABEL}",
        likely=_LABEL_LIKELY,
    ),
    _rule(_LABEL_HINTS, rf"-----BEGIN {_KEY_LABEL}(?>(?:{_KEY_GAP}?{_KEY_TEXT})*)", likely=_LABEL_LIKELY),
    Rule(
        "-----end",
        rf"{_END_BACKWARDS}(?:{_GAP_BACKWARDS}[A-Za-z0-9+/=]{{1,80}}+)?"
        rf"(?>(?:{_GAP_BACKWARDS}?={{0,2}}[A-Za-z0-9+/]{{16,}}+){{1,80}})",
        folded=False,
        likely="-----end [^-\n]*private key",
        backwards=True,
    ),
    _rule("akia asia abia acca a3t", r"A(?<![A-Za-z0-9]A)(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _rule("xox xapp-", r"x(?:ox[a-eoprs]|app)-[A-Za-z0-9-]{10,}"),
    _rule("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    _rule("/webhooks/", r"discord(?:app)?\.com/api/webhooks/[\w/-]{40,}"),
    _rule("webhook.office.com", r"webhook\.office\.com/webhookb2/[\w@/-]{20,}"),
    *BRANDED,
    _inner(
        "-",
        ["[0-9a-f]{32}"],
        "-",
        r"[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",
        likely="[0-9a-f]-[0-9a-f]{8}-[0-9a-f]{8}",  # Mailgun
    ),
    _rule(
        "ghp_ gho_ ghr_ ghs_ ghu_ github_pat_ glpat-",
        rf"g(?:h[oprsu]_\w{{20,}}|ithub_pat_\w{{20,}}{_WRAPPED}|lpat-[\w-]{{20,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?)",
    ),
    Rule(
        f"{_SERVICES} {_SHORT_SERVICES}".lower(),
        rf"{_BEFORE_WORD}((?:{_SERVICE}){_NO_WORD})",
        folded=False,
        likely=rf"[^a-z0-9](?:{_loosened(_SERVICE)})[a-z_.-]*[0-9]",
    ),
    _rule("pypi-age", r"pypi-AgE[\w-]{40,}"),
    _rule("dapi", r"dapi(?<![A-Za-z0-9]dapi)[0-9a-f]{32}(?:-[0-9])?"),
    _rule("akcp", r"AKCp(?<![A-Za-z0-9]AKCp)[A-Za-z0-9]{60,}"),
    _rule("absk", r"ABSK(?<![A-Za-z0-9]ABSK)[A-Za-z0-9+/=]{80,}"),
    _rule("1//0", r"1//0(?<![A-Za-z0-9]1//0)[\w-]{40,}"),
    _inner(":aa", [f"[0-9]{{{count}}}" for count in (8, 9, 10)], ":AA", r"[\w-]{32,35}(?![\w-])"),
    _inner(".atlasv1.", ["[A-Za-z0-9]{14}"], r"\.atlasv1\.", r"[\w-]{60,}"),
    _inner(
        " ".join(f"-us{digit}" for digit in range(1, 10)), ["[0-9a-f]{32}"], "-us", r"[0-9]{1,2}(?![\w-])"
    ),  # Mailchimp
    _inner(
        ".",
        [f"[MNO][\\w-]{{{count}}}" for count in (23, 24, 25)],
        r"\.",
        r"[\w-]{6}\.[\w-]{27,38}(?![\w-])",
        likely=r"\.[\w-]{6}\.[\w-]{27}",  # Discord's bots
    ),
    _inner("jqqj99", ["[A-Za-z0-9]{52}"], "JQQJ99", "[A-Za-z0-9]{20,}"),  # Azure
    _inner("azdo", ["[A-Za-z0-9]{76}"], "AZDO", "[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    _inner("_mmk", [r"\w{6}_\w{29}"], "_mmk", "(?![A-Za-z0-9])"),  # MaxMind
    _rule("gr1348941", r"GR1348941[\w-]{20,}"),  # GitLab's runners
    _inner("q~", [r"\w{3}[0-9]"], "Q~", r"[\w.~-]{31,34}"),
    _rule("aiza", r"AIza[\w-]{30,}"),
    _rule("ya29.", rf"ya29\.[\w-]{{20,}}{_WRAPPED}"),
    _rule("eyj", rf"eyJ(?<![\w.-]eyJ)[\w-]{{5,}}+{_WRAPPED}(?>(?:\.[\w-]++{_WRAPPED}){{2,4}})"),
    _rule(
        "authorization",
        rf"(?!\[redacted\]|[…}}\])]){_TO_DELIMITER}{_AFTER_SCHEME}",
        keep=rf"authorization{_IS}(?:\\?[\"'])?(?>(?:{_SCHEME})?)",
    ),
    _rule("bearer", r"(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,}", keep=_word("bearer") + r"[ \t]{1,8}"),
    *(_rule(hints, _VALUE, keep=rf"{name}{_IS}{_STRING}?", likely=_likely(hints)) for hints, name in _NAMES.items()),
    _rule(">", r"(?!\[redacted\])[^\s<>]{1,512}(?=</)", keep=rf">{_behind('>')}"),
    _rule(
        _followed_by(":\0| :\0>"),
        _HARD_TO_GUESS,
        keep=rf":{_behind(':')}[ \t]{{0,4}}[|>][+-]?\n[ \t]{{1,16}}",
    ),
    _rule(_followed_by("\0is"), _HARD_TO_GUESS, keep=rf" is{_behind(' is')}[ \t]{{1,4}}"),
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
        keep=r"auth(?:(?<=_auth)(?<!\w_auth)[ \t]{0,4}=|(?<=\"auth)\":)[ \t]{0,4}\"?",
    ),
    _rule(
        "curl",
        rf"{_NO_VALUE}[^\s\"']++",
        keep=r"-(?<=[ \t]-)(?:u|-user)[ \t=]?[\"']?[^\s:\"']{1,64}:",
        behind="curl",
    ),
    _rule(
        "machine",
        rf"{_NO_VALUE}[^\s\"']++",
        keep=_word("machine") + r"\s{1,4}\S{1,255}\s{1,4}login\s{1,4}\S{1,255}\s{1,4}password\s{1,4}",
    ),
    _rule("sshpass", rf"{_NO_VALUE}(?![;|&])[^\s\"']++", keep=_word("sshpass") + r"[ \t]{1,4}-p[ \t]{0,4}[\"']?"),
    _rule(
        _GLUED,
        rf"{_NO_VALUE}(?![;|&-])[^\s\"']++",
        keep=r"-(?<=[ \t]-)h?p[\"']?",
        behind=_GLUED,
    ),
    _rule(
        _LOGINS,
        rf"(?!-){_NO_VALUE}(?![0-9]{{1,5}}(?!\S))[^\s\"']++",
        keep=r"-(?<=[ \t]-)(?:[aknpw]|storepass|keypass)[ \t]{1,4}[\"']?",
        behind=_LOGINS,
    ),
    *(
        _rule(
            programs,
            rf"{_NO_VALUE}[^\s\"']++",
            keep=rf"-(?<=[ \t]-)(?:u|-user)[ \t=]{{0,4}}[\"']?[^\s{sign}\"']{{1,64}}{sign}",
            behind=programs,
        )
        for programs, sign in _USER_LOGINS.items()
    ),
    _rule(
        "send",
        r"[^\"'\\\n$]{4,200}(?=(?:\\[rn])?[\"'])",
        keep=r"ass(?:word|phrase|code)[^\n\"'\w]{0,6}[\"'][^\n]{0,6}\n?[^\n]{0,24}?"
        r"send(?:line)?(?:[ \t]--)?[ \t(]{1,4}[\"']",
    ),
    _rule(
        "password passphrase passcode",
        r"(?=\S{0,60}[0-9])(?=\S{0,60}[a-z])[^\s\"'`|\\:(){}<>=,]{6,99}+(?=[ \t]{0,4}\r?(?:\n|$))",
        keep=r"pass(?:word|phrase|code)(?: (?:for|of|to) [^\n:]{1,60}+)?[ \t]?:[ \t]?\r?\n",
        likely=r"pass(?:word|phrase|code)(?: (?:for|of|to) [^\n:]{1,60})?[ \t]?:[ \t]?\r?\n[^\s\[]",
    ),
    _rule(
        ":54 :64 :*:",  # a line of .pgpass
        r"[^\s\"']{4,200}+",
        keep=r"[\s\"'][\w.*-]{1,99}+:(?:[56]4[0-9]{2}|\*):[a-z_*][\w*-]{0,62}+:[\w.*@-]{1,63}+:",
        likely=r":(?:[56]4[0-9]{2}|\*):[a-z_*][\w*-]{0,62}:[\w.*@-]{1,63}:[^\s\[]",
    ),
    _rule("response=", "[0-9a-f]{32,128}(?![0-9a-f])", keep=r"response=\\?[\"']"),
    _rule("signature=", "[0-9a-f]{64}(?![0-9a-f])", keep="signature="),
    _rule(
        "setenv configure -gx",
        rf"{_NO_VALUE}{_TO_DELIMITER}",
        keep=rf"set(?:env| -[a-z]{{1,3}}|(?<=configure set))[ \t]{{1,4}}\w{{0,60}}?{_NAME}\w{{0,20}}[ \t]{{1,4}}[\"']?",
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
        likely=r"echo[ \t][^\n|]+\|[ \t]*(?:sudo -s|[^\n|]*--(?:with-token|password-stdin))",
    ),
    _rule('"kty"', r"[\w-]{20,}", keep=r"\"(?:d|k|p|q|dp|dq|qi)\"[ \t]{0,4}:[ \t]{0,4}\""),
    _rule("jdbc:oracle", r"(?!\[redacted\])[^\s@/]{1,99}(?=@)", keep=r"jdbc:oracle:[a-z0-9]{1,8}:[^\s/@]{1,64}/"),
    _rule(
        "sig= signature= ?key= &key= ?auth= &auth=",
        r"(?!\[redacted\])[^\s\"'&;<>\\]{16,}",
        keep=r"=(?:(?<=[?&]key=)|(?<=[?&]auth=)|(?<=[?&]sig=)|(?<=[?&]signature=)|(?<=[?&]x-amz-signature=)|(?<=[?&]x-goog-signature=))",
    ),
    _rule(
        "://", r"(?=[^\s/@:]{0,255}[0-9])[^\s/@:\"'<>]{20,256}(?=@)", keep="https?://", likely="https?://[^\\s/@:]+@"
    ),
    _rule("://", r"[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512}(?=@)", keep="://", likely="://[^\\s/@:]*:[^\\s/]+@"),
)
