"""Rules for keys that are known by their form: of services, private keys, tokens.

The process beside each agent loads this file by its path, and what it imports.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

if __package__:
    from unstuck.text._secret_rule import BEFORE_WORD, Rule, by_letter, each_letter, key, loosened, rule
else:
    from _secret_rule import BEFORE_WORD, Rule, by_letter, each_letter, key, loosened, rule  # type: ignore[import-not-found,no-redef,unused-ignore]

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


# Of keys whose rest stands too soon behind a line end or a blank for a rule of its own.
_BEGINS = (
    r"sk- sk_live_ sk_test_ rk_live_ rk_test_ npm_ hf_ SG\. sq0[a-z]{3}- shp[a-z]{2}_ do[opr]_v1_ hv[bsr]\."
    r" ATATT3 ATCTT3 ntn_ glsa_ glc_ lin_api_ lin_oauth_ NR[AIJR][AISK]- pscale_[a-z]{2,5}_ PMAK- rubygems_"
    r" pul- AGE-SECRET-KEY-1 GOCSPX- whsec_ gsk_ dckr_[op]at_ sbp_ r8_ xai- pplx- nvapi- tvly- sntry[su]_"
    r" tskey- glpat- glrt- gldt- glft- gh[oprsu]_ github_pat_ A[KS]IA(?=[0-9A-Z]{0,16}(?!\S))"
    r" xox[a-eoprs]- xapp- AIza ya29\. pypi-AgE dapi eyJ AKCp fm[12][ar_] dp\.[a-z]{2,5}\. 1//0 hooks\.slack\.com/"
    r" discord(?:app)?\.com/api/webhooks/ key-[0-9a-f]{8}"
)


def _sorts(letters: str, within: int) -> str:
    """A digit, a small and a capital letter within so many ``letters``."""
    return "".join(f"(?={letters}{{0,{within - 1}}}?{one})" for one in ("[0-9]", "[a-z]", "[A-Z]"))


# Keys of other services, by what stands behind their beginning: in a whole one, and in the first part of a broken one.
# Many begin as names do, which hashes, times and UUIDs end: only letters that the maker draws from are a key.
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"
_LETTERS, _SIGNS = "[A-Za-z0-9]", r"[\w-]"
_HEXADECIMAL_PART = r"(?=[a-f]{0,7}+[0-9])[0-9a-f]{8}[\w./+-]*+"
_LONG_PART = r"(?=[A-Za-z]{0,15}+[0-9])[A-Za-z0-9]{16,}+"
_MIXED_PART = rf"{_sorts(_LETTERS, 40)}[A-Za-z0-9]{{8}}[\w./+-]*+"
_CODED_PART = rf"{_sorts(_SIGNS, 40)}[\w-]{{8}}[\w./+-]*+"


def _hexadecimal(count: int) -> str:
    return rf"[0-9a-f]{{{count}}}(?![A-Za-z0-9])"


def _no_hash(least: int) -> str:
    return rf"(?=[0-9a-f]{{0,{least - 1}}}[g-zA-Z])(?=[A-Za-z]{{0,{least - 1}}}[0-9])[A-Za-z0-9]{{{least},}}"


def _mixed(least: int) -> str:
    return rf"{_sorts(_LETTERS, 40)}[A-Za-z0-9]{{{least},120}}+[\w-]{{0,60}}+(?![\w-])"


def _coded(least: int) -> str:
    return rf"{_sorts(_SIGNS, 40)}[\w-]{{{least},}}[\w.+/=-]*"


_SERVICES = (
    ("access-production- access-sandbox- pat-eu1- pat-na1- xaat- xapt-", _UUID, _HEXADECIMAL_PART),
    ("FLWSECK- FLWSECK_TEST-", r"[0-9a-f]{32}[\w-]*", _HEXADECIMAL_PART),
    ("snyk_uat.", r"[0-9a-f]{8}\.[\w.-]{20,}", _HEXADECIMAL_PART),
    ("zpka_", r"[0-9a-f]{32}_[0-9a-f]{8}", _HEXADECIMAL_PART),
    ("bkct_ shippo_live_ shippo_test_", _hexadecimal(40), _HEXADECIMAL_PART),
    ("CLOJARS_", _hexadecimal(60), _HEXADECIMAL_PART),
    ("crsr_ dtn_ rootly_ signkey-prod-", _hexadecimal(64), _HEXADECIMAL_PART),
    ("csk-", _no_hash(40), _LONG_PART),
    ("hcaik_ hcxik_ os_v2_app_ os_v2_org_", _no_hash(50), _LONG_PART),
    ("tr_dev_ tr_prod_ unkey_", _mixed(20), _MIXED_PART),
    ("apify_api_ bb_live_ ddp_ llx- vca_ vci_ vck_ vcp_ vcr_", _mixed(24), _MIXED_PART),
    ("jina_ phs_ phx_", _mixed(32), _MIXED_PART),
    ("secret-live- secret-test-", _coded(32), _MIXED_PART),
    (
        (
            "bedrock-api-key- cfat_ cfk_ cfut_ depot_org_ depot_project_ duffel_live_ duffel_test_ fio-u- mdb_sa_sk_"
            " pdl_live_apikey_ pdl_sdbx_apikey_ polar_oat_ sgamp_user_ vercel_blob_rw_"
        ),
        _coded(24),
        _CODED_PART,
    ),
    (
        "aph0_ glffct- glwt- ory_pat_ pcsk_ pylf_v1_eu_ pylf_v1_us_ tgp_v1_ vtwn_ wandb_v1_ xwfp-",
        rf"(?:(?=[\w.-]{{0,30}}?(?=[A-Za-z]{{0,40}}+[0-9])[A-Za-z0-9]{{20}})[\w.-]{{20,}}|{_coded(20)})",
        _CODED_PART,
    ),
)
# Those before which no other part of a name may stand, either.
_SHORT_SERVICES = (
    ("fc-", r"[0-9a-f]{32}(?![\w-])"),
    ("e2b_", _hexadecimal(40)),
    ("sgp_", rf"(?:[0-9a-f]{{16}}_|local_)?{_hexadecimal(40)}"),
    ("napi_", _no_hash(48)),
    ("aio_ fw_", _mixed(22)),
    ("rnd_", _mixed(24)),
    ("ico-", _mixed(32)),
    ("rpa_", r"(?=[A-Za-z]{0,39}[0-9])(?=[a-z0-9]{0,39}[A-Z])[A-Za-z0-9]{40,}"),  # its last letters alone are small
    ("tfp_ tid_ tsec_", _coded(32)),
)
_SERVICE_BEGINS = [begin for begins, *_ in _SERVICES for begin in begins.split()]
_SHORT_BEGINS = [begin for begins, _ in _SHORT_SERVICES for begin in begins.split()]
_ALL_BEGINS = [*_SERVICE_BEGINS, *_SHORT_BEGINS]
_SHORT = [
    f"{begin}(?<![_-]{begin}){form}" for begins, form in _SHORT_SERVICES for begin in map(re.escape, begins.split())
]


def _each_of(begins: str, rest: str) -> list[str]:
    return [f"{begin}{rest}" for begin in each_letter(map(re.escape, begins.split()))]


_SERVICE = by_letter([*chain.from_iterable(_each_of(begins, form) for begins, form, _ in _SERVICES), *_SHORT])
_SECRET_PART = r"(?=[\w./-]{0,40}[0-9A-Z])[\w./+-]{3,}+"
_BEGUN = by_letter(
    [
        *(f"{begin}{_SECRET_PART}" for begin in each_letter(_BEGINS.split())),
        *chain.from_iterable(_each_of(begins, part) for begins, _, part in _SERVICES),
    ]
)
_BREAKS = rf"(?=[ \t\r\n])(?>(?:{_GOES_ON}{_REST}){{1,4}})"
_BROKEN = f"{_SECRET_PART}{_BREAKS}"
_LIKELY_BROKEN = r"[\w./+-]{2,}(?:[ \t]{1,2}|[ \t]*\r?\n[ \t]*)(?:[a-z_./+-]{0,9}[0-9]|[\w-]{9})"


@cache
def begun_at_end() -> re.Pattern[str]:
    """Return the pattern of a line whose last word is the beginning of a key."""
    return re.compile(rf"(?:^|{BEFORE_WORD}){_BEGUN}[ \t\r\n]*\Z", re.ASCII)


_ALL_SORTS = r"(?=[\w+-]{0,21}?[0-9])(?=[\w+-]{0,21}?[a-z])(?=[\w+-]{0,21}?[A-Z])"
_NO_ZEROS = r"(?![\w-]{3,60}?AAAA)"  # as base64 has them


def _no_base64(begin: str, pattern: str) -> Rule:
    """A key that begins with little, and is no part of base64."""
    return key(begin, rf"(?<![+/]{re.escape(begin)})(?:{pattern})(?![\w+/=-])")


_KEYS = (
    key("sk_", r"(?:(?:live|test)_\w{16,}|[0-9a-f]{48})"),  # Stripe, ElevenLabs
    key("re_", rf"[A-Za-z0-9]{{8}}_{_sorts(_LETTERS, 40)}[A-Za-z0-9]{{20,}}"),  # Resend
    key("rk_", r"(?:live|test)_\w{16,}", "rk_live_ rk_test_"),
    key("npm_", r"[A-Za-z0-9]{30,}"),
    key("hf_", r"[A-Za-z0-9]{30,}"),
    key("SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),  # SendGrid
    key("sq0", r"(?:atp|csp|idp)-[\w-]{22,43}"),  # Square
    key("sandbox-sq0", r"[ac]tp-[\w-]{22,43}"),
    key("shp", r"(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}"),  # Shopify
    key("do", r"[opr]_v1_[0-9a-f]{64}", "_v1_"),  # DigitalOcean
    key("hv", r"[bsr]\.[\w-]{24,}", "hvb. hvs. hvr."),  # Vault
    key("AT", r"[AC]TT3xFf[\w=-]{60,}", "atatt3 atctt3"),  # Atlassian
    key("lin_", r"(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_api_ lin_oauth_"),  # Linear
    key("ntn_", r"[A-Za-z0-9]{40,}"),  # Notion
    key("secret_", r"(?=[A-Za-z]{0,42}+[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    key("dp.", r"(?:audit|ct|pt|sa|scim|st)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),  # Doppler
    key("gl", r"(?:sa|c)_[A-Za-z0-9+/]{32,}[\w=]*", "glsa_ glc_"),  # Grafana
    key("NR", r"(?:AK|AA|II|JS|RA)-[A-Za-z0-9_-]{19,}", "nrak- nraa- nrii- nrjs- nrra-"),  # New Relic
    key("pscale_", r"(?:tkn|pw|oauth)_[\w=.-]{32,}"),  # PlanetScale
    key("PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    key("rubygems_", r"[0-9a-f]{48}"),
    key("pul-", r"[0-9a-f]{40}"),
    key("pnu_", r"[a-zA-Z0-9]{36}"),
    key("rdme_", r"[a-z0-9]{60,}"),
    key("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    key("GOCSPX-", r"[\w-]{28}"),  # Google OAuth
    key("whsec_", r"[A-Za-z0-9+/=]{24,}"),  # Stripe's hooks
    key("dckr_", r"(?:pat|oat)_[\w-]{24,}"),  # Docker
    key("sb", r"(?:p|_secret)_[\w-]{24,}", "sbp_ sb_secret_"),  # Supabase
    key("nf", r"[po]_[\w-]{24,}", "nfp_ nfo_"),  # Netlify
    key("fig", r"(?:d|o?r?)_[\w-]{24,}", "fig_ figd_ figo_ figr_ figor_"),  # Figma
    key("fo1_", r"[\w+/=,-]{40,}"),  # Fly
    key("fm", r"[12]a?r?_[\w+/=,-]{40,}", "fm1 fm2"),
    key("gsk_", r"[A-Za-z0-9]{48,}"),  # Groq
    key("r8_", r"[A-Za-z0-9]{37,40}"),  # Replicate
    key("xai-", r"[\w-]{24,}"),
    key("pplx-", r"[\w-]{24,}"),  # Perplexity
    key("nvapi-", r"[\w-]{24,}"),  # NVIDIA
    key("tvly-", r"[\w-]{24,}"),  # Tavily
    key("lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),  # LangSmith
    key("sntry", r"[su]_[\w=+/.-]{60,}"),  # Sentry
    key("sq", r"[apu]_[0-9a-f]{40}", "sqa_ sqp_ squ_"),  # Sonar
    key(
        "gl",
        r"(?:agent|cbt|dt|ft|imt|oas|ptt|rt|soat)-(?:t[0-9]_)?[\w-]{20,}",
        "glagent- glcbt- gldt- glft- glimt- gloas- glptt- glrt- glsoat-",  # GitLab's others
    ),
    key("dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    key("pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    key("bkua_", r"[0-9a-f]{40}"),  # Buildkite
    key("CCIPAT_", r"[A-Za-z0-9]{20,}_[0-9a-f]{40}"),  # CircleCI
    key("HRKU-", r"[\w-]{60,}"),  # Heroku
    key("ops_", r"eyJ[\w+/=-]{100,}", "ops_eyj"),  # 1Password
    key("tskey-", r"(?:api|auth|client|scim|webhook)-[\w-]{20,}"),  # Tailscale
    key("CFPAT-", r"[\w-]{40,}"),  # Contentful
    key("xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    key("pk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),  # Mapbox
    key("sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    key("api_org_", "[A-Za-z]{34}(?![A-Za-z0-9])"),  # Hugging Face
    key("AQ.Ab", r"[\w-]{40,}"),  # Google's newer
    _no_base64("EAA", rf"{_sorts(_SIGNS, 60)}{_NO_ZEROS}(?:A[\w-]{{60}}(?![\w-])|[A-Za-z0-9]{{90,}}+)"),  # Square, Meta
    key("LTAI", r"(?=[A-Za-z]{0,20}+[0-9])[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),  # Alibaba
    key("AQVN", r"[\w-]{35,38}(?![\w-])"),  # Yandex
    key("EZ", r"[AT]K[A-Za-z0-9]{54}", "ezak eztk"),  # EasyPost
    key("S", r"[UAONCX]A[A-P][A-Z2-7]{54}(?![A-Za-z0-9])", "sua saa soa sna sca sxa"),  # seeds of NATS
    key("access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),  # Braintree
    key("cflt", r"[A-Za-z0-9+/]{56,}"),  # Confluent
    _no_base64("cio", r"(?=[A-Za-z]{0,31}+[0-9])[A-Za-z0-9]{32}"),  # crates.io
    key("cmVmdGtu", r"[A-Za-z0-9]{50,}"),  # Artifactory's references
    key("oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),  # NuGet
    key("pat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),  # Harness
    key("sha256~", r"[\w-]{43}"),  # OpenShift
    key("sl.", r"(?:u\.)?[\w-]{120,}"),  # Dropbox
    key("v1.0-", r"[0-9a-f]{24}-[0-9a-f]{140,}"),  # Cloudflare's origins
    key("A", r"(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{16}(?![0-9A-Za-z])", "akia asia abia acca a3t"),  # AWS
    key("ABSK", r"[A-Za-z0-9+/=]{80,}"),  # Bedrock
    key("AKCp", r"[A-Za-z0-9]{60,}"),  # Artifactory
    key("dapi", r"[0-9a-f]{32}(?:-[0-9])?"),  # Databricks
    key("1//0", r"[\w-]{40,}"),  # Google's for refreshing
    key("API-", r"(?=[A-Z]{0,34}+[0-9])[A-Z0-9]{25,34}(?![\w-])"),  # Octopus Deploy
    key("chpt_", r"[0-9a-f]{12,40}(?![\w-])"),  # Chromatic
    key("api-", _UUID),  # LaunchDarkly
    key("sdk-", _UUID),
    key("SCW", r"(?=[A-Z]{0,17}+[0-9])[A-Z0-9]{17}(?![A-Za-z0-9])"),  # Scaleway
    key("secret-", rf"{_ALL_SORTS}[A-Za-z0-9]{{40,50}}(?![\w-])"),  # Statsig
    key("console-", rf"{_ALL_SORTS}[A-Za-z0-9]{{40,50}}(?![\w-])"),
    key("0.", rf"{_UUID}\.[A-Za-z0-9]{{20,40}}:[A-Za-z0-9+/]{{20,}}={{0,2}}", "=="),  # Bitwarden
    key("pss_", r"(?:service|user):v[0-9]{1,3}(?::[0-9a-fA-F]{64}){2,4}"),  # Phase
    key("ak-", rf"{_ALL_SORTS}[A-Za-z0-9]{{22}}(?![\w-])"),  # Modal
    key("as-", rf"{_ALL_SORTS}[A-Za-z0-9]{{22}}(?![\w-])"),
    key("SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),  # Twilio
    _no_base64("u+", r"(?=[\w+-]{0,17}?[a-z])(?=[\w+-]{0,17}?[A-Z])[\w+-]{18}"),  # PagerDuty
    key("pd", rf"(?:us|eu)\+_[0-9A-Z]{{1,9}}_{_UUID}", "pdus+_ pdeu+_"),
    key("db-", rf"{_ALL_SORTS}[A-Za-z0-9]{{29}}(?![\w-])"),  # Databento
    _no_base64("sk", rf"{_ALL_SORTS}{_NO_ZEROS}[A-Za-z0-9]{{78,250}}+"),  # Sanity
    key("key-", r"(?<!-key-)(?<!cache key-)[0-9a-f]{32}(?![\w-])"),  # Mailgun
)


def _loosened(begins: Iterable[str]) -> str:
    return "|".join(map(loosened, begins))


BRANDED = (
    Rule(
        "sk- k_live_ k_test_ npm_ hf_ sg. sq0 shp _v1_ hvb. hvs. hvr. atatt3 atctt3 ntn_ glsa_ glc_ lin_ nrak-"
        " nrii- nrai- nrjs- nrra- nraa- pscale_ pmak- rubygems_ pul- age-secret gocspx- whsec_ gsk_ dckr_ sbp_"
        " r8_ xai- pplx- nvapi- tvly- sntry tskey- glpat- glrt- gldt- glft- gho_ ghp_ ghr_ ghs_ ghu_"
        " github_pat_ akia asia xox xapp- aiza ya29. pypi-age dapi eyj akcp fm1 fm2 dp. 1//0 hooks.slack.com"
        f" /api/webhooks/ key- {' '.join(_SERVICE_BEGINS).lower()}",
        rf"{BEFORE_WORD}({_BEGUN}{_BREAKS})",
        folded=False,
        likely=rf"[^a-z0-9](?:{_loosened([*_BEGINS.split(), *map(re.escape, _SERVICE_BEGINS)])}){_LIKELY_BROKEN}",
    ),
    Rule(
        " ".join(_ALL_BEGINS).lower(),
        f"{BEFORE_WORD}({_SERVICE})",
        folded=False,
        likely=rf"[^a-z0-9](?:{_loosened(map(re.escape, _ALL_BEGINS))})[a-z_./+-]*[0-9]",
    ),
    *_KEYS,
)


@cache
def branded_at_once() -> Rule:
    """Return one rule for all of these, which in large text with many of them is far faster than one after the other.

    Of what begins alike that which may be longest is tried first.
    """
    each = (
        *(f"{begin}{_BROKEN}" for begin in each_letter(_BEGINS.split())),
        *chain.from_iterable(_each_of(begins, f"(?:{part}{_BREAKS}|{form})") for begins, form, part in _SERVICES),
        *_SHORT,
        *(rule.pattern.removeprefix("()(")[:-1] for rule in _KEYS),
    )
    return Rule("", f"{BEFORE_WORD}({by_letter(each)})", folded=False)


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


def _inner(hints: str, before: Iterable[str], inner: str, rest: str, *, likely: str = "", broken: str = "") -> Rule:
    """A key known by what stands within it: one of ``before``, each of a fixed length, ``inner``, and the ``rest``.

    ``broken`` is how much must stand before ``inner`` where the rest goes on behind a line end or a blank.
    """
    looks = "|".join(f"(?<=[^A-Za-z0-9]({one}){inner})" for one in before)
    if broken:
        rest = f"(?:{_BROKEN}|{rest})|(?<={broken}{inner}){_BROKEN}"
    return Rule(hints, f"{inner}(?:(?:{looks}){rest})", folded=False, likely=likely)


KEY_RULES = (
    *BRANDED,
    key("sk-", rf"(?=[A-Za-z_-]{{0,40}}+[0-9])[\w-]{{16,400}}+{_WRAPPED}"),  # OpenAI, Anthropic
    rule(
        _LABEL_HINTS,
        rf"-----BEGIN {_KEY_LABEL}"
        rf"(?:(?>(?:[^-]{{1,16384}}+|-(?!----)){{0,999}})-?-----END {_KEY_LABEL}|(?>(?:{_KEY_GAP}?{_KEY_TEXT})*))",
        likely=_LABEL_LIKELY,
    ),
    Rule(
        "-----end",
        rf"{_END_BACKWARDS}(?:{_GAP_BACKWARDS}[A-Za-z0-9+/=]{{1,80}}+)?"
        rf"(?>(?:{_GAP_BACKWARDS}?={{0,2}}[A-Za-z0-9+/]{{16,}}+){{1,80}})",
        folded=False,
        likely="-----end [^-\n]*private key",
        backwards=True,
    ),
    rule(
        "private-lines",
        rf"(?>(?:{_KEY_TEXT}{_KEY_BREAK}){{1,200}})(?:{_KEY_TEXT})?",
        keep=r"private-lines: [0-9]{1,4}\s{1,2}",
    ),
    rule("xox xapp-", r"x(?:ox[a-eoprs]|app)-[A-Za-z0-9-]{10,}"),
    rule("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    rule("/webhooks/", r"discord(?:app)?\.com/api/webhooks/[\w/-]{40,}"),
    rule("webhook.office.com", r"webhook\.office\.com/webhookb2/[\w@/-]{20,}"),
    _inner(
        "-",
        ["[0-9a-f]{32}"],
        "-",
        r"[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",
        likely="[0-9a-f]-[0-9a-f]{8}-[0-9a-f]{8}",  # Mailgun
    ),
    rule(
        "ghp_ gho_ ghr_ ghs_ ghu_ github_pat_ glpat-",
        rf"g(?:h[oprsu]_\w{{20,}}|ithub_pat_\w{{20,}}{_WRAPPED}|lpat-[\w-]{{20,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?)",
    ),
    rule("pypi-age", r"pypi-AgE[\w-]{40,}"),
    _inner(
        ":aa",
        [f"[0-9]{{{count}}}" for count in (8, 9, 10)],
        ":AA",
        r"[\w-]{32,35}(?![\w-])",
        broken="[0-9]{8}",  # Telegram
    ),
    _inner(".atlasv1.", ["[A-Za-z0-9]{14}"], r"\.atlasv1\.", r"[\w-]{60,}", broken=r"[\w\W]"),  # Terraform
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
    rule("gr1348941", r"GR1348941[\w-]{20,}"),  # GitLab's runners
    _inner("q~", [r"\w{3}[0-9]"], "Q~", r"[\w.~-]{31,34}", broken="[A-Za-z0-9]{3}[0-9]"),  # Entra
    key("A" * 20, r"A{0,2}(?=[A-Za-z0-9]{4,60}+%(?:2[BF]|3D))[A-Za-z0-9%]{60,}"),  # Twitter
    rule("aiza", r"AIza(?![\w-]{0,26}AAAA)[\w-]{30,60}+"),
    rule("ya29.", rf"ya29\.[\w-]{{20,}}{_WRAPPED}"),
    rule("eyj", rf"eyJ(?<![\w.-]eyJ)[\w-]{{5,}}+{_WRAPPED}(?>(?:\.[\w-]++{_WRAPPED}){{2,4}})"),
)
