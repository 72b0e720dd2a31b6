"""Troubles of an agent that only a person can cure, such as its sign-in, its key or its installation. Pure.

Only an agent's own output is looked at, never that of a check. One table has the messages and one the cures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.text import Clean, admit, one_line

TroubleKind = Literal[
    "login", "key", "credit", "licence", "model", "option", "configuration", "sandbox", "terminal",
    "permission", "certificate", "installation",
]  # fmt: skip

TROUBLE = "agent_trouble"
"""Key of the kind of trouble in the metadata of a signature."""
PERMISSION: TroubleKind = "permission"
LINES = 80
LONGEST = 2_000
# An agent that ended well may mention such a message: alone, it is nothing else.
ALONE, ALONE_LINES = 400, 6
COMPLAINT = Lazy(
    r"^[^A-Za-z]{0,6}(?:(?:error|fatal|api error|not|invalid|missing|no|please|oauth|api|authentication|credit"
    r"|unauth\w*|your|failed|cannot|could not|login|session|set)\b|you(?:'re| are| must| need| do not)\b)",
    re.IGNORECASE,
)
_SETS_IN = r"^[^A-Za-z]{0,12}(?:[A-Za-z][\w.-]{1,23}[^A-Za-z]{1,6}){0,4}"

KNOWN = {
    "claude": "claude claude-agent-acp claude-code-acp claude-code",
    "codex": "codex codex-acp",
    "gemini": "gemini gemini-cli",
    "qwen": "qwen qwen-code",
    "opencode": "opencode opencode-ai",
    "cursor": "cursor-agent",
    "copilot": "copilot",
    "aider": "aider aider-chat",
    "goose": "goose",
    "cline": "cline",
    "amp": "amp",
    "crush": "crush",
    "droid": "droid",
    "auggie": "auggie",
    "vibe": "vibe vibe-acp mistral-vibe",
    "kimi": "kimi kimi-cli",
    "pi": "pi",
    "openhands": "openhands",
}
_NAMES = {name: agent for agent, names in KNOWN.items() for name in names.split()}
_LAUNCHERS = frozenset(
    {"npx", "bunx", "uvx", "pnpm", "dlx", "env", "nice", "timeout", "exec", "node", "sh", "bash", "-c"}
)


@dataclass(frozen=True, slots=True)
class AgentTrouble:
    """A trouble: its kind, the agent's own line about it, and what cures it."""

    kind: TroubleKind
    message: Clean
    cure: Clean


@dataclass(frozen=True, slots=True)
class _Rule:
    """Messages of one kind. Without ``agents`` they are sure enough for a program that is not known.

    With ``own`` only an error that the agent itself marks is looked at: tools say the same. With ``alone`` the agent
    begins with it and says little else: one that works prints what its tools say, too.
    """

    kind: TroubleKind
    pattern: Lazy
    agents: tuple[str, ...] = ()
    own: bool = False
    alone: bool = False


def _rule(kind: TroubleKind, *patterns: str, agents: str = "", own: bool = False, alone: bool = False) -> _Rule:
    return _Rule(kind, Lazy("|".join(patterns), re.IGNORECASE), tuple(agents.split()), own, alone)


ANY_KNOWN = " ".join(KNOWN)
_PROGRAMS = "|".join(_NAMES)
_MODEL = r"['\"`]?[\w./:@-]{0,60}(?:[/\d]|-[a-z])[\w./:@-]{0,60}['\"`]?"
_VARIABLE = r"[A-Z][A-Z0-9_]{1,40}_(?:API_KEY|AUTH_TOKEN|ACCESS_TOKEN|APIKEY)"
# Programs that agents use in their work. Those of clouds are left: agents get their models through them, too.
_NO_TOOL = (
    r"(?!(?:gh|glab|hf|huggingface-cli|docker|podman|helm|oc|npm|yarn|pnpm|vercel|netlify|wrangler|fly|flyctl|firebase"
    r"|supabase|railway|heroku|doctl|vault|terraform|pulumi|snyk|wandb|kaggle) )"
)

RULES: tuple[_Rule, ...] = (
    _rule(
        "terminal",
        # ssh goes on after such a warning.
        r"(?<!allocated because )\bstd(?:in|out|err) (?:is not|must be|to be|isn't) an? (?:terminal|tty)\b",
        r"\braw mode (?:is )?not (?:supported|available)\b",
        r"\bthe input device is not a tty\b",
        r"\b(?:needs|requires|must be run (?:in|from)|only works in|expects) an? (?:interactive |real )*"
        r"(?:terminal|tty)\b",
        r"\b(?:could not|cannot|can't|failed to|unable to) open (?:a new )?(?:/dev/tty|tty|terminal)\b",
        r"\bopen /dev/tty: (?:no such|device not)",
        r"/dev/tty: no such device or address",
        r"^(?:\w+\.)*termios\.error: \(25,",
        r"^(?:error: )?(?:\S{1,40}: )?inappropriate ioctl for device",
        r"\bno (?:tty|terminal) (?:is )?(?:present|available|detected)\b(?!.*\baskpass\b)",
        _SETS_IN + r"not (?:running in )?a (?:tty|terminal)\b",
    ),
    _rule(
        "terminal",
        r"^vim: warning: (?:input|output) is not (?:from|to) a terminal$",
        r"^top: failed tty get$",
        alone=True,
    ),
    # Without a terminal to ask in they want their prompt at once.
    _rule(
        "terminal",
        r"\binput must be provided either through stdin or as a prompt argument\b",
        r"^no (?:input|prompt) provided via stdin\.",
        r"^(?:error: )?you must provide a message or a command\b",
        agents=ANY_KNOWN,
    ),
    _rule(
        "configuration",
        r"\bno (?:model )?provider (?:is )?configured\b",
        r"\bmodel provider .{1,60} not found\b",
        r"\bfailed to load required configuration\b",
        r"\bfailed to configure provider\b",
        r"\bno (?:valid|configured) provider\b",
        r"\bnot inside a trusted directory\b",
        r"\b(?:workspace|folder|directory) is not trusted\b",
        r"\bnot running in a trusted\b",
        r"\bapi has not been used in project\b",
    ),
    _rule(
        "certificate",
        r"\bself[-_ ]signed[-_ ]cert",
        r"\bunable to (?:get local issuer|verify the first) certificate\b",
        r"\bUNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)",
        r"\binvalid peer certificate\b",
        r"\b(?:SSL )?certificate (?:verif(?:y|ication) failed|has expired)\b",
        agents=ANY_KNOWN,
        own=True,
    ),
    _rule(
        "installation",
        r"\byour version of [\w .()-]{1,60} needs an update\b",
        r"^(?:error: )?(?:claude code|gemini cli|qwen code|(?:github )?copilot cli|codex|opencode)(?: on windows)? "
        r"requires (?:node|git-bash)",
        rf"^(?:\S{{0,80}}/)?(?:{_PROGRAMS}|node|bun|python3?): .{{1,120}}: version .GLIBC(?:XX)?_[\d.]+. not found\b",
        rf"^(?:\S{{0,80}}/)?(?:{_PROGRAMS}): error while loading shared libraries: ",
        r"\b(?:EACCES|EPERM|EROFS)\b.{0,60}/\.(?:claude|codex|gemini|qwen|pi|cline|aider"
        rf"|(?:config|cache|local/(?:share|state))/(?:{_PROGRAMS}))\b",
        r"^error: failed to initialize in-process app-server client: permission denied\b",
        agents=ANY_KNOWN,
    ),
    _rule(
        "installation",
        r"^(?:\S{0,20}/)?env: \W?(?:node|bun|deno|python3?)\W{1,3}no such file or directory$",
        r"^illegal instruction(?: \(core dumped\))?$",
        r"^(?:EACCES|EPERM|EROFS): .{0,80}/\.(?:config|cache|local)\b",
        agents=ANY_KNOWN,
        alone=True,
    ),
    _rule(
        "credit",
        r"\bcredit balance (?:is )?too low\b",
        _SETS_IN + r"(?:you (?:have|are) )?(?:insufficient|not enough|out of|no(?: more| remaining)?)"
        r" (?:account )?(?:credits?|balance|funds)\b",
        r"\b(?:requires|need) (?:more|additional) credits\b",
        r"\b(?:billing_not_active|billing_hard_limit_reached|insufficient_(?:credits|balance|funds|quota))\b",
        r"\bquota exceeded\. check your plan and billing\b",
        r"\b(?:api error|status(?: code)?|http)\W{1,3}402\b",
        r"\b402 (?:payment required|insufficient)\b",
        r"\bcreditserror\b|^[^A-Za-z]{0,12}(?:error: )?no payment method\b",
        r"\byour account is not active, please check your billing\b",
        r"\bout of usage credits\b(?!.*\bresets\b)",
        r"\byour org is out of usage\b",
    ),
    _rule(
        "licence",
        r"\b(?:no|not have an?|without an?|requires an?|need an?)(?: valid| active| paid)*(?: [\w.-]{2,24}){0,3}"
        r" (?:licen[cs]e|subscription|seat)\b",
        r"\blicen[cs]e (?:key )?(?:has |is )?(?:expired|invalid|missing|not found)\b",
        r"\b(?:organi[sz]ation|account|workspace) (?:has been|is|was) (?:disabled|suspended|deactivated|banned)\b",
        r"\bnot have (?:permission|access) to (?:use )?(?:the specified resource"
        r"|(?:\w+ )?(?:claude|codex|copilot|gemini|cursor))\b",
        r"\bnot authorized to use this \w+ feature\b",
        r"\btoken does not have .{3,40} permission\b",
        r"\borgani[sz]ation has disabled .{3,60} access\b",
        r"\bcheck policy enablement\b",
        r"\bunsupported_country_region_territory\b",
        r"\bnot (?:currently )?(?:available|supported) in your (?:country|region|location)\b",
        r"\baccess denied by (?:\w+ )?(?:policy|organi[sz]ation)\b",
        r"\bnot eligible for (?:gemini|copilot|codex|claude)\b",
    ),
    _rule(
        "login",
        r"(?:·|please|must|to) ?(?:please )?run:? [`'\"]?/login\b",
        rf"\b(?:run|use|try|with|using|via|execute):? [`'\"]{_NO_TOOL}[\w./-]{{2,30}}(?: auth| account)? "
        r"(?:login|signin|sign-in|auth)\b",
        rf"\bplease (?:run|use) {_NO_TOOL}[\w./-]{{2,30}}(?: auth)? login\b",
        r"\bset an auth method\b",
        r"\bno auth (?:type|method) is (?:selected|set)\b",
        r"\bno authentication information found\b",
        r"\bno valid (?:[\w-]+ ){0,4}token (?:was )?(?:detected|found)\b",
        r"\bplease run:? (?:[\w-]+ )?auth login\b",
        r"\bcached credentials are not valid\b",
    ),
    _rule(
        "model",
        r"\b(?:model_not_found|providermodelnotfounderror|llm provider not provided)\b",
        r"\bnot_found_error\b.{0,80}\bmodel\b",
        r"\bissue with the selected model\b",
        r"\bis not a valid model\b(?! identifier)",
        r"\bmodel\b\W{0,4}" + _MODEL + r"\W{0,4}(?:was |is |does )?(?:currently )?"
        r"(?:not (?:found|exist|supported|available|allowed|accessible)|unknown|invalid|unavailable)\b",
        r"\b(?:unknown|invalid|unsupported|unrecognized) model(?: name| id)?\W{1,4}" + _MODEL,
        r"\bmodel(?:s/| )" + _MODEL + r" is not found for api version\b",
        r"\bmodel not found\W{1,3}" + _MODEL,
        r"\b(?:no|not) (?:have )?access to (?:the )?model\b",
    ),
    _rule(
        "model",
        r"\bmodel\b.{0,60}\b(?:not found|does not exist|not supported|only supported in|not available"
        r"|unknown|is invalid)\b",
        r"\b(?:unknown|invalid|unsupported|no such) model\b",
        r"\brequires a newer version of\b",
        agents=ANY_KNOWN,
    ),
    _rule(
        "key",
        r"\binvalid x-api-key\b",
        r"\bapi key not valid\b",
        r"\binvalid_api_key\b",
        r"\bdid not find \w{0,20}api_key\b",
        r"\bno api key (?:is )?available\b",
        r"\bapi_key client option must be set\b",
        r"\bcould not resolve authentication method\b",
        r"\b(?:litellm|openai|anthropic|groq|mistralai|google|cohere)(?:\.\w{1,30}){0,4}"
        r"\.(?:AuthenticationError|PermissionDeniedError|OpenAIError|AnthropicError)\b.{0,200}(?:api|key|auth)",
        _SETS_IN + r"(?:invalid|incorrect|missing|no|expired|malformed|bad)(?: [\w-]{2,16}){0,3} api[ -_]key\b",
        _SETS_IN + r"(?:[\w-]{2,24} )?api[ -_]key(?: \S{1,40})? (?:is |was |has )?"
        r"(?:not (?:set|found|valid|configured|provided|specified)|missing|invalid|expired|required|revoked)\b",
        rf"\b{_VARIABLE}\b['\"`]?(?: environment variable)?(?: is| was| has)?(?: not| un)? ?"
        r"(?:set|found|defined|missing|required|provided|specified|configured|empty)\b",
        r"\b(?:missing|set|specify|provide|export|requires?|need|no|define)\b.{0,60}[\s'\"`$(]" + _VARIABLE + r"\b",
        r"\bmissing environment variable\W{1,4}" + _VARIABLE,
    ),
    _rule("key", r"\bmissing environment variable\b", agents="codex"),
    _rule(
        "login",
        r"\btoken data is not available\b",
        r"\byour (?:access token|authentication session) could not be refreshed\b",
        agents="codex",
    ),
    _rule(
        "login",
        r"\b(?:interactive|authentication) consent could not be obtained\b",
        r"\binvalid auth method selected\b",
        r"\bfailed to authenticate with user code\b",
        r"\b(?:authentication|authorization) timed out after \d+ minutes\b",
        agents="gemini qwen",
    ),
    _rule("configuration", r"\binvalid telemetry (?:target|otlp protocol|configuration)\b", agents="gemini qwen"),
    _rule("sandbox", r"\blisted in SANDBOX_MOUNTS\b", agents="gemini qwen"),
    _rule("login", r"\bdevice flow authorization timeout\b", r"\bdevice code expired or invalid\b", agents="qwen"),
    _rule("credit", r"\bfree usage exceeded\b", agents="opencode"),
    _rule("model", r"\bmodel access denied\b", agents="qwen"),
    _rule("licence", r"\bmake sure your account is in good standing\b", agents="qwen"),
    _rule("licence", r"\bto use codex with your \w{2,20} plan, upgrade\b", agents="codex"),
    _rule("key", r"\bapi_?key is (?:not set|missing|invalid)\b", agents=ANY_KNOWN),
    _rule(
        "licence",
        r"\bpermission_denied\b",
        r"\bpermission denied on resource project\b",
        r"\bcaller does not have permission\b",
        agents=ANY_KNOWN,
    ),
    _rule(
        "login",
        _SETS_IN + r"(?:you(?:'re| are) )?(?:not (?:yet )?|un)(?:logged|signed) ?in\b",
        _SETS_IN + r"not authenticated\b(?! user)",
        r"\boauth (?:access )?(?:token|session)s? (?:has |have |is |was )?(?:expired|been revoked|revoked|invalid)\b",
        r"\b(?:failed to refresh (?:the )?token|token refresh failed)\b",
        r"\brefresh token (?:has |was )?(?:already been|expired|been|revoked)\b",
        r"\b(?:last|unexpected) status:? 40[13]\b",
        r"\bapi error:? ?(?:\(|status code )?40[13]\b",
        r"\"type\": ?\"(?:authentication_error|permission_error)\"",
        _SETS_IN + r"authentication (?:is )?(?:required|failed|cancelled)\b",
        r"\binvalid access token or token expired\b",
        r"\bfailed to (?:list|load|fetch) models: 40[13]\b",
        _SETS_IN + r"(?:401 unauthorized|unauthorized(?: \(401\)|: 401)?|unauthenticated)\s*(?:$|[:{,·(-])",
        r"\b(?:it|agent|cli) is not signed in\b",
        r"\byour (?:session|login|token|access token|credentials) (?:has |have |is |are )?expired\b"
        r".{0,80}\b(?:log|sign|authenticate|login)",
        r"\bplease (?:try )?(?:log|sign)(?:ging|ing)? ?in(?: again)?\b.{0,40}$",
    ),
    _rule(
        "login",
        r"\b(?:not|un)[ -]?(?:logged|signed)[ -]?in\b",
        r"\b40[13]\b(?! client error).{0,20}\b(?:unauthorized|invalid (?:access |bearer )?token|token expired)\b",
        r"\b(?:unauthenticated|not authenticated|invalid_grant|authentication required)\b",
        r"\b(?:please|must|need to) (?:re-?)?(?:log ?in|sign in|authenticate)\b",
        r"\bplease (?:use |run )?['\"`]?/auth\b|\brun ['\"`]?/auth\b",
        r"^[^A-Za-z]{0,12}(?:error: )?(?:authorization failed|failed to log ?in|login failed)\b",
        r"\b(?:login|sso )?session (?:associated with .{1,40} )?(?:has |is )?expired\b",
        r"\boauth\b.{0,30}\bdiscontinued\b",
        rf"\brun:? [`'\"]?{_NO_TOOL}[\w./-]{{2,30}}(?: auth)? (?:login|configure)\b",
        agents=ANY_KNOWN,
    ),
    _rule(
        "sandbox",
        r"\b(?:bubblewrap|bwrap|landlock|seccomp|sandbox-exec|seatbelt)\b.{0,60}\b(?:unavailable|not (?:found|installed"
        r"|available|supported|permitted|enabled)|missing|no permissions?|failed|denied)\b",
        r"^bwrap: ",
        r"\bSandbox\(Landlock",
        r"\bmissing sandbox command\b",
        r"\bfailed to determine command for sandbox\b",
        r"\bsandbox image\b.{0,120}\b(?:missing|could not be pulled)\b",
        r"\b(?:failed|unable|could not)(?: to)? (?:create|start|set ?up|initiali[sz]e|launch|apply) (?:the |a )?"
        r"(?:\w+ )?sandbox\b",
        r"\bsandbox (?:is )?(?:unavailable|not (?:available|installed|supported))\b",
        r"\bno sandbox (?:is )?available\b",
    ),
    _rule("sandbox", r"\bsandbox (?:command|image) is required\b", r"\bsandbox process error\b", agents=ANY_KNOWN),
    _rule(
        "option",
        rf"^[^A-Za-z]{{0,12}}(?:(?:error|fatal|{_PROGRAMS})\W{{1,4}}){{0,3}}(?:unknown|unrecogni[sz]ed|unexpected"
        r"|invalid|unsupported|bad|no such) (?:option|argument|flag|command|subcommand)s?:? "
        r"(?!.*\bperhaps misspelled\b)\S",
        r": it printed only its help\b",
        r"^[^A-Za-z]{0,12}flag provided but not defined\b",
        r"^[^A-Za-z]{0,12}(?:error: )?invalid value ['\"`].{1,80}['\"`] for ['\"`]?-",
        r"^[^A-Za-z]{0,12}(?:error: )?the following required arguments\b",
        r"^[^A-Za-z]{0,12}(?:error: )?option ['\"`]?-.{1,60} (?:argument missing|is invalid|requires)\b",
        r"\bcannot be used with (?:root|sudo|the argument|--)",
        agents=ANY_KNOWN,
    ),
    _rule(
        "configuration",
        r"\b(?:error|failed|unable|could not)\b.{0,40}\b(?:load|pars|read|in)\w{0,4}\b.{0,60}"
        r"\b(?:config(?:uration)?|settings?)\b",
        r"\b(?:configuration|config|settings)(?: file)? (?:at .{1,120} )?is (?:invalid|not valid)\b",
        r"\binvalid (?:mcp )?(?:config(?:uration)?|settings)\b",
        r"\bplease fix the (?:configuration|config|settings)\b",
        r"\b(?:settings|config)(?: file)? not found\b",
        r"\bunexpected server error\. check server logs\b",
        agents=ANY_KNOWN,
    ),
)
# A limit or an outage passes, whatever else its line says; a warning is not what ended an attempt. OpenAI's
# `insufficient_quota` is an empty account, which no wait fills.
PASSES = Lazy(
    r"^[^A-Za-z]{0,6}warn(?:ing)?\b"
    r"|^(?!.*insufficient_quota).*(?:\brate.?limit|\boverloaded|\b(?:429|500|502|503|504|529)\b|too many requests"
    r"|usage limit|hit your limit|limit reached|exceeded your current quota|resource_exhausted|high demand)",
    re.IGNORECASE,
)
# Lines of a report of tests or of code, and the frames of a stack.
REPORT = Lazy(
    r"^\s*(?:(?-i:E\s|FAIL|PASS)|>\s|[+|]|-\s|\$ |# |ok\b|not ok\b"
    r"|[✗✖×✕●](?! ?(?:error|execution|model call|failed to|you are|request))|assert|self\.assert|expect\w*\W"
    r"|received|actual|\d{1,6}\s*[|:→]|\d{1,3}[.)] "
    r"|at\s+\S+[ (]|File \"|def |class |function |import |from \S+ import|raise |throw |return "
    r"|test[_ ])"
    r"|\bassert|\bexpected\b(?! either).{0,80}\b(?:got|received|but|to (?:be|equal|contain))\b"
    r"|\.(?:py|js|ts|go|rb|java|php):\d+",
    re.IGNORECASE,
)
# What an agent tells of its work.
PROSE = Lazy(
    r"\b(?:I|I've|I'm|I'll|we|We|[Ll]et me)\b(?!/)|\b(?:[Tt]he|[Aa]ll|my|some|three|two|\d+) tests?\b"
    r"|(?<![\w/-])(?![Nn]ode\.js\b)[\w/-]{1,60}\.(?:py|jsx?|tsx?|go|rs|rb|java|php|c|cpp|cs)\b(?!:)"
)
TESTED = Lazy(
    r"^(?:=+ .*(?:\d+ (?:failed|passed|error)|short test summary|no tests ran)|(?:Tests?|Test Suites|Test Files):?\s+\d"
    r"|FAILED \(.*(?:failures|errors)=|Ran \d+ tests? in |test result: (?:ok|FAILED)|--- FAIL: "
    r"|\d+ (?:passed|failed|failing|examples?)\b|# (?:fail|pass|tests) \d|not ok \d)",
    re.MULTILINE,
)

GENERAL: dict[TroubleKind, str] = {
    "login": "Sign in with the agent's own command, in a terminal of your own.",
    "key": "Give the agent a valid key in the environment that unstuck runs in.",
    "credit": "Add credit to the account of the agent, or choose another account.",
    "licence": "Ask the administrator of the account, or choose another account.",
    "model": "Choose a model that this account has, in the agent's arguments or settings.",
    "option": "Correct the arguments of the agent's command; its `--help` lists those of the installed version.",
    "configuration": "Correct the settings of the agent; start it once by hand to see whether it accepts them.",
    "sandbox": "Install what the agent's sandbox needs, or choose another sandbox in its arguments.",
    "permission": "Allow it in the agent's own settings or arguments.",
    "certificate": (
        "Give the agent the certificate of your proxy, such as with NODE_EXTRA_CA_CERTS=FILE or SSL_CERT_FILE=FILE in "
        "the environment that unstuck runs in."
    ),
    "installation": "Update or install the agent again, and start it once by hand to see whether it works.",
    "terminal": (
        "Agents run without a terminal. Use the program's option for one prompt, such as `-p {prompt}`, "
        "`exec {prompt}` or `--message {prompt}`."
    ),
}
CURES: dict[tuple[str, TroubleKind], str] = {
    ("claude", "login"): "Run `claude /login` in a terminal.",
    ("claude", "key"): "Correct ANTHROPIC_API_KEY, or unset it and run `claude /login` in a terminal.",
    ("claude", "credit"): (
        "Add credit to the account of ANTHROPIC_API_KEY, or unset it and run `claude /login` to use a subscription."
    ),
    ("claude", "model"): "Choose a model that the account has, with `--model`; `/model` in `claude` lists them.",
    ("claude", "terminal"): "Use `claude -p {prompt}`, or `unstuck run --agent claude`.",
    ("codex", "login"): "Run `codex login`.",
    ("codex", "key"): "Set the variable that the message names, or run `codex login`.",
    ("codex", "model"): "Choose another model with `--model`, or in ~/.codex/config.toml.",
    ("codex", "configuration"): "Correct ~/.codex/config.toml, or the `-c` arguments.",
    ("codex", "sandbox"): (
        "Install bubblewrap (`apt install bubblewrap`), or choose another `--sandbox` for a machine that is isolated "
        "already."
    ),
    ("codex", "terminal"): "Use `codex exec {prompt}`, or `unstuck run --agent codex`.",
    ("gemini", "login"): "Run `gemini` in a terminal and sign in with `/auth`, or set GEMINI_API_KEY.",
    ("gemini", "key"): "Set a valid GEMINI_API_KEY, or run `gemini` in a terminal and sign in with `/auth`.",
    ("gemini", "model"): "Choose another model with `--model`.",
    ("gemini", "configuration"): "Correct ~/.gemini/settings.json.",
    ("gemini", "sandbox"): "Install docker or podman, or leave out `--sandbox` and GEMINI_SANDBOX.",
    ("gemini", "terminal"): "Use `gemini -p {prompt}`, or `unstuck run --agent gemini`.",
    ("qwen", "login"): "Run `qwen` in a terminal and sign in with `/auth`, or set OPENAI_API_KEY.",
    ("qwen", "key"): "Set a valid OPENAI_API_KEY, or run `qwen` in a terminal and sign in with `/auth`.",
    ("qwen", "model"): "Choose another model with `--model`.",
    ("qwen", "configuration"): "Correct ~/.qwen/settings.json.",
    ("qwen", "terminal"): "Use `qwen -p {prompt}`, or `unstuck run --agent qwen`.",
    ("opencode", "login"): "Run `opencode auth login`.",
    ("opencode", "key"): "Run `opencode auth login`, or set the provider's key.",
    ("opencode", "model"): "Choose another model with `--model`; `opencode models` lists them.",
    ("opencode", "configuration"): "Correct opencode.json; `opencode run --print-logs` shows what it does not accept.",
    ("opencode", "terminal"): "Use `opencode run {prompt}`, or `unstuck run --agent opencode`.",
    ("cursor", "login"): "Run `cursor-agent login`, or set CURSOR_API_KEY.",
    ("cursor", "key"): "Set a valid CURSOR_API_KEY, or run `cursor-agent login`.",
    ("cursor", "model"): "Choose another model with `--model`.",
    ("cursor", "terminal"): "Use `cursor-agent -p {prompt}`.",
    ("copilot", "login"): "Run `copilot` in a terminal and sign in with `/login`, or set GH_TOKEN.",
    ("copilot", "key"): "Set a valid GH_TOKEN, or run `copilot` in a terminal and sign in with `/login`.",
    ("copilot", "model"): "Choose another model with `--model`.",
    ("copilot", "terminal"): "Use `copilot -p {prompt}`.",
    ("aider", "login"): "Set the provider's key, or give it with `--api-key PROVIDER=KEY`.",
    ("aider", "key"): "Set the provider's key, or give it with `--api-key PROVIDER=KEY`.",
    ("aider", "model"): "Choose another model with `--model`; `aider --list-models NAME` lists them.",
    ("aider", "terminal"): "Use `aider --message {prompt} --yes-always`, or `unstuck run --agent aider`.",
    ("goose", "login"): "Run `goose configure`.",
    ("goose", "key"): "Run `goose configure`, or set the provider's key.",
    ("goose", "model"): "Run `goose configure` and choose another model.",
    ("goose", "configuration"): "Run `goose configure`.",
    ("goose", "terminal"): "Use `goose run --text {prompt}`.",
    ("cline", "login"): "Run `cline auth`.",
    ("cline", "key"): "Run `cline auth`.",
    ("cline", "terminal"): "Use `cline --json {prompt}`, or `unstuck run --agent cline`.",
    ("pi", "login"): "Run `pi` in a terminal and sign in with `/login`, or set the provider's key.",
    ("pi", "key"): "Set the provider's key, or run `pi` in a terminal and sign in with `/login`.",
    ("pi", "model"): "Choose another model with `--model`; `pi --list-models NAME` lists them.",
    ("pi", "terminal"): "Use `pi -p {prompt}`, or `unstuck run --agent pi`.",
    ("amp", "login"): "Run `amp login`, or set AMP_API_KEY.",
    ("crush", "login"): "Run `crush login`, or set the provider's key.",
    ("crush", "terminal"): "Use `crush run {prompt}`.",
    ("droid", "login"): "Run `droid` in a terminal and sign in with `/login`, or set FACTORY_API_KEY.",
    ("auggie", "login"): "Run `auggie login`.",
    ("vibe", "login"): "Run `vibe --setup`, or set MISTRAL_API_KEY.",
    ("vibe", "key"): "Run `vibe --setup`, or set MISTRAL_API_KEY.",
    ("kimi", "login"): "Run `kimi` in a terminal and sign in with `/login`.",
}
_UNREAD = "The agent changed no file and did not read its prompt"
_UNREAD_CURE = (
    "Put `{prompt}` or `{prompt_file}` into its command, or let it read the file that UNSTUCK_PROMPT_FILE names."
)
# Agents that report their usage as plain text, and that write files of their own before they know a task.
_REPORT_USAGE = frozenset({"aider"})
_NAMED_CURE = re.compile(
    r"\b(?:run|use|try|with|using|via|execute):? [`'\"]((?:[\w./-]{2,30} )?/?(?:[\w-]{1,20} )?"
    r"(?:login|signin|sign-in|configure|auth|setup|init))[`'\"]",
    re.IGNORECASE,
)


def known_agent(command: Sequence[str]) -> str:
    """Return the agent that ``command`` starts, also through a launcher such as npx; empty for any other program."""
    # The first word of an argument may be a program, too: of a shell's script.
    for word in (argument.split(maxsplit=1)[0] for argument in command[:6] if argument.strip()):
        name = word.rpartition("/")[2].partition("@")[0]
        if name in _NAMES:
            return _NAMES[name]
        if name not in _LAUNCHERS and not word.startswith("-"):
            return ""
    return ""


def last_lines(said: str, *, own: bool, failed: bool) -> list[str]:
    """Return the lines of ``said`` that may tell of an agent's trouble, the last one first.

    None of a test's output, nor of an agent that did not fail and says much else. ``own`` and ``failed`` are those of
    :func:`agent_trouble`.
    """
    lines = [line.strip()[:LONGEST] for line in said.splitlines() if line.strip()][-LINES:]
    if not failed and (len(said) > ALONE or len(lines) > ALONE_LINES):
        return []
    return [] if not own and TESTED.search("\n".join(lines)) else lines[::-1]


def agent_trouble(said: str, *, agent: str = "", own: bool = False, failed: bool = True) -> AgentTrouble | None:
    """Return the trouble that the last lines of ``said`` report; None for any other text.

    ``agent`` is one of :data:`KNOWN`, else unknown. ``own`` means that the agent itself marks the text as its error, so
    that no output of a test can be in it. An agent that did not fail is believed only where it says nothing else.
    """
    lines = last_lines(said, own=own, failed=failed)
    for number, line in enumerate(lines, 1):
        if PASSES.search(line) or (not own and (REPORT.search(line) or PROSE.search(line))):
            continue
        if not failed and not COMPLAINT.search(line):
            continue
        alone = number == len(lines) <= ALONE_LINES
        for rule in RULES:
            applies = agent in rule.agents and failed if rule.agents else True
            if applies and own >= rule.own and alone >= rule.alone and rule.pattern.search(line):
                return AgentTrouble(rule.kind, one_line(line, 400), _cure(rule.kind, agent, line))
    return None


def without_prompt(agent: str, *, untouched: bool, used: int) -> AgentTrouble | None:
    """Return the trouble of an ``agent``, empty if unknown, that got no prompt and ended well; None if it worked.

    It has done nothing where it left every file ``untouched``, or where it reports its usage and ``used`` no token.
    """
    if not untouched and (used or agent not in _REPORT_USAGE):
        return None
    if not agent:
        return AgentTrouble("terminal", Clean(_UNREAD), Clean(_UNREAD_CURE))
    message = one_line(f"{agent} did not get its prompt: its command has no place for one")
    return AgentTrouble("terminal", message, _cure("terminal", agent, message))


def _cure(kind: TroubleKind, agent: str, line: str) -> Clean:
    """Return the cure: the agent's own where it is known, else the command that its message names."""
    if "use `--skip-trust`" in line:
        return Clean(
            "Add `--skip-trust` to the agent's arguments, or start the agent in this folder once and trust it."
        )
    if known := CURES.get((agent, kind)) or _by_message(kind, line):
        return Clean(known)
    if named := _NAMED_CURE.search(line):
        return admit(f"Run `{named[1]}` in a terminal.", limit=200)
    return Clean(GENERAL[kind])


def _by_message(kind: TroubleKind, line: str) -> str:
    """Return the cure of the agent whose own words ``line`` has."""
    if re.search(r"· ?(?:please )?run /login", line, re.IGNORECASE):
        return CURES["claude", kind] if ("claude", kind) in CURES else CURES["claude", "login"]
    return ""
