"""Rules for all secrets: known keys, and values given to secret names.

The process beside each agent loads this file by its path, and what it imports.
"""

from __future__ import annotations

if __package__:
    from unstuck.text._secret_keys import KEY_RULES
    from unstuck.text._secret_rule import NO_VALUE, STRING_PREFIX, loosened, rule, word
else:
    from _secret_keys import KEY_RULES  # type: ignore[import-not-found,no-redef,unused-ignore]
    from _secret_rule import NO_VALUE, STRING_PREFIX, loosened, rule, word  # type: ignore[import-not-found,no-redef,unused-ignore]

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
    "key -key " + " ".join(f"{name}key" for name in f"{_MARKED_KEYS} {_OF_KEYS}".split()): (
        rf"key(?:{_keys(_MARKED_KEYS)}|{_ASSIGNED}(?:{_keys(_OF_KEYS)})(?![\"']?[ \t]?[:=] ?[\"']?[/~.]))"
    ),
    "kennwort": "kennwort",
    "senha": "senha",
    "contrase": "contrase[ñn]a",
    "mot_de_passe mot-de-passe": "mot[_-]de[_-]passe",
}
_NAME = rf"(?:[a-z]{{2,12}}?[_-]?(?=key){'|'.join(sorted(_NAMES.values(), key=lambda name: name[:3] != 'key'))})"
# What may name a secret in XML, before a block of YAML, and in a sentence.
_WORDS = (
    "password passwd passphrase passcode pwd token secret credential credentials apikey api_key api-key access_key"
    " access-key accesskey private_key private-key privatekey signing_key secret_key secret-key secretkey"
    " encryption_key master_key account_key _pass passwort kennwort"
)


_IN_A_SENTENCE = " ".join(sorted({f"{word[-2:]}\0is" for word in _WORDS.split()}))


def _behind(sign: str) -> str:
    """One of the words and ``sign`` before this place."""
    return f"(?:{'|'.join(f'(?<={word}{sign})' for word in _WORDS.split())})"


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
_TO_DELIMITER = r"(?>(?:[^\s\"'\\,;&]++|\\(?!\\{0,9}[nrt\"']))+)"
_TO_QUOTE = r"(?:(?<=\")[^\"\n\\]++(?=\\?\")|(?<=')[^'\n\\]++(?=\\?'))"
_NO_STRING = r"(?!\[redacted\]|[<…]|\*\*|\{\{|\$\{)"
_VALUE = rf"{_NO_STRING}{_TO_QUOTE}|{NO_VALUE}{_TO_DELIMITER}"

_STRING = rf"(?:(?:some\()?(?:{STRING_PREFIX})?\\?[\"']|&quot;|%22)"
_LIKELY_VALUE = (
    rf"{loosened(_IS)}(?:(?:(?:some\()?[bfru]{{0,2}}\\?[\"']|&quot;|%22)(?:\[[^r]|[^\[<\"'])"
    r"|\\[^nrt\"']|[^\s\"'\\,;&\[\](){}<>=:|*])"
)


def _likely(hints: str) -> str:
    """One of ``hints``, the rest of a name, and what stands between it and a value that is not yet replaced."""
    return rf"(?:{'|'.join(hints.split())})(?:s|(?:ñ|n)a|[_-]?key(?:[_-]base)?)?{_LIKELY_VALUE}"


_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey|ssws|oauth|jwt|bot|key|geniekey|splunk)[ \t]{1,8}"
# Behind a scheme that is not known, which then counts as a part of the value.
_AFTER_SCHEME = r"(?:[ \t]{1,8}(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,})?"

RULES = (
    *KEY_RULES,
    rule(
        "authorization",
        rf"(?!\[redacted\]|[…}}\])]){_TO_DELIMITER}{_AFTER_SCHEME}",
        keep=rf"authorization{_IS}(?:\\?[\"'])?(?>(?:{_SCHEME})?)",
    ),
    rule("bearer", r"(?=[a-z._~+/=-]{0,40}+[0-9])[\w.~+/=-]{16,}", keep=word("bearer") + r"[ \t]{1,8}"),
    *(rule(hints, _VALUE, keep=rf"{name}{_IS}{_STRING}?", likely=_likely(hints)) for hints, name in _NAMES.items()),
    rule(">", r"(?!\[redacted\])[^\s<>]{1,512}(?=</)", keep=rf">{_behind('>')}"),
    rule(
        ":\0| :\0>",
        _HARD_TO_GUESS,
        keep=rf":(?=[ \t]{{0,4}}[|>]){_behind(':')}[ \t]{{0,4}}[|>][+-]?\n[ \t]{{1,16}}",
    ),
    rule(_IN_A_SENTENCE, _HARD_TO_GUESS, keep=rf" is{_behind(' is')}[ \t]{{1,4}}"),
    rule(
        "--",
        rf"(?!-|is\b|or\b|and\b){NO_VALUE}{_TO_DELIMITER}",
        keep=rf"--(?:[a-z]{{1,20}}-){{0,3}}{_NAME}[ \t]{{1,4}}",
    ),
    rule("cookie", r"[^\r\n\"']{8,}", keep=word("cookie") + r"[\"']?:[ \t]{0,8}[\"']?(?=[\w.-]{1,64}=)"),
    rule("basic", r"(?=[a-z+/]{0,60}+[0-9])[a-z0-9+/]{12,}={0,2}(?![\w+/=])", keep=word("basic") + r"[ \t]{1,8}"),
    rule(
        '_auth "auth"',
        r"(?!\[redacted\])[a-z0-9+/]{8,}={0,2}",
        keep=r"auth(?:(?<=_auth)(?<!\w_auth)[ \t]{0,4}=|(?<=\"auth)\":)[ \t]{0,4}\"?",
    ),
    rule(
        "curl",
        rf"{NO_VALUE}[^\s\"']++",
        keep=r"-(?<=[ \t]-)(?:u|-user)[ \t=]?[\"']?[^\s:\"']{1,64}:",
        behind="curl",
    ),
    rule(
        "machine",
        rf"{NO_VALUE}[^\s\"']++",
        keep=word("machine") + r"\s{1,4}\S{1,255}\s{1,4}login\s{1,4}\S{1,255}\s{1,4}password\s{1,4}",
    ),
    rule("sshpass", rf"{NO_VALUE}(?![;|&])[^\s\"']++", keep=word("sshpass") + r"[ \t]{1,4}-p[ \t]{0,4}[\"']?"),
    rule(
        _GLUED,
        rf"{NO_VALUE}(?![;|&-])[^\s\"']++",
        keep=r"-(?<=[ \t]-)h?p[\"']?",
        behind=_GLUED,
    ),
    rule(
        _LOGINS,
        rf"(?!-){NO_VALUE}(?![0-9]{{1,5}}(?!\S))[^\s\"']++",
        keep=r"-(?<=[ \t]-)(?:[aknpw]|storepass|keypass)[ \t]{1,4}[\"']?",
        behind=_LOGINS,
    ),
    *(
        rule(
            programs,
            rf"{NO_VALUE}[^\s\"']++",
            keep=rf"-(?<=[ \t]-)(?:u|-user)[ \t=]{{0,4}}[\"']?[^\s{sign}\"']{{1,64}}{sign}",
            behind=programs,
        )
        for programs, sign in _USER_LOGINS.items()
    ),
    rule(
        "send",
        r"(?!\[redacted\])[^\"'\\\n$]{4,200}(?=(?:\\[rn])?[\"'])",
        keep=r"ass(?:word|phrase|code)[^\n\"'\w]{0,6}[\"'][^\n]{0,6}\n?[^\n]{0,24}?"
        r"send(?:line)?(?:[ \t]--)?[ \t(]{1,4}[\"']",
    ),
    rule(
        "password passphrase passcode",
        r"(?=\S{0,60}[0-9])(?=\S{0,60}[a-z])[^\s\"'`|\\:(){}<>=,]{6,99}+(?=[ \t]{0,4}\r?(?:\n|$))",
        keep=r"pass(?:word|phrase|code)(?: (?:for|of|to) [^\n:]{1,60}+)?[ \t]?:[ \t]?\r?\n",
        likely=r"pass(?:word|phrase|code)(?: (?:for|of|to) [^\n:]{1,60})?[ \t]?:[ \t]?\r?\n[^\s\[]",
    ),
    rule(
        ":54 :64 :*:",  # a line of .pgpass
        r"[^\s\"']{4,200}+",
        keep=r":(?:[56]4[0-9]{2}|\*):[a-z_*][\w*-]{0,62}+:[\w.*@-]{1,63}+:",
        preceded=r"[\w.*-]{1,99}+[\s\"']",
        likely=r":(?:[56]4[0-9]{2}|\*):[a-z_*][\w*-]{0,62}:[\w.*@-]{1,63}:[^\s\[]",
    ),
    rule("response=", "[0-9a-f]{32,128}(?![0-9a-f])", keep=r"response=\\?[\"']"),
    rule("signature=", "[0-9a-f]{64}(?![0-9a-f])", keep="signature="),
    rule(
        "setenv configure -gx",
        rf"{NO_VALUE}{_TO_DELIMITER}",
        keep=rf"set(?:env| -[a-z]{{1,3}}|(?<=configure set))[ \t]{{1,4}}\w{{0,60}}?{_NAME}\w{{0,20}}[ \t]{{1,4}}[\"']?",
    ),
    rule("pass:", rf"{NO_VALUE}{_TO_DELIMITER}", keep=r"-pass(?:in|out)?[ \t]{1,4}[\"']?pass:"),
    rule(
        "htpasswd",
        rf"(?!-){NO_VALUE}{_TO_DELIMITER}",
        keep=r"htpasswd[ \t]{1,4}-[a-z]{0,6}b[a-z]{0,6}[ \t]{1,4}\S{1,255}[ \t]{1,4}\S{1,99}[ \t]{1,4}",
    ),
    rule(
        "--with-token --password-stdin sudo",
        rf"{NO_VALUE}[^\s\"'|]++"
        r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo -s|[^\n|]{0,99}--(?:with-token|password-stdin)))",
        keep=word("echo") + r"[ \t]{1,4}[\"']?",
        likely=r"echo[ \t][^\n|]+\|[ \t]*(?:sudo -s|[^\n|]*--(?:with-token|password-stdin))",
    ),
    rule('"kty"', r"[\w-]{20,}", keep=r"\"(?:d|k|p|q|dp|dq|qi)\"[ \t]{0,4}:[ \t]{0,4}\""),
    rule("jdbc:oracle", r"(?!\[redacted\])[^\s@/]{1,99}(?=@)", keep=r"jdbc:oracle:[a-z0-9]{1,8}:[^\s/@]{1,64}/"),
    rule(
        "sig= signature= ?key= &key= ?auth= &auth=",
        r"(?!\[redacted\])[^\s\"'&;<>\\]{16,}",
        keep=r"=(?:(?<=[?&]key=)|(?<=[?&]auth=)|(?<=[?&]sig=)|(?<=[?&]signature=)|(?<=[?&]x-amz-signature=)|(?<=[?&]x-goog-signature=))",
    ),
    rule("://", r"(?=[^\s/@:]{0,255}[0-9])[^\s/@:\"'<>]{20,256}(?=@)", keep="https?://", likely="https?://[^\\s/@:]+@"),
    rule("://", r"[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512}(?=@)", keep="://", likely="://[^\\s/@:]*:[^\\s/]+@"),
)
