"""Kind of a tool call (query, wait, advance, idle, tell, plan, edit, tree, work), its check and its needle."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Literal

CallKind = Literal["work", "query", "wait", "advance", "idle", "tell", "plan", "edit", "tree"]

SHORT = 160
CHECK_LIMIT = 200
NEEDLE_LIMIT = 600
SQL = frozenset(
    {
        *(
            "select",
            "from",
            "where",
            "like",
            "ilike",
            "lower",
            "upper",
            "trim",
            "null",
            "is",
            "not",
            "in",
            "by",
            "order",
        ),
        *("limit", "count", "join", "as", "distinct", "and", "or", "desc", "asc", "group"),
    }
)
TALKING_TOOLS = frozenset({"think", "thought", "sequentialthinking", "reflect"})


def _each(kind: CallKind, names: str) -> dict[str, CallKind]:
    return dict.fromkeys(names.split(), kind)


_TOOLS = {
    **_each("wait", "bashoutput poll sleep wait"),
    **_each("advance", "scroll scroll_down scroll_up page_down page_up next_page next step continue"),
    **_each("edit", "edit write patch replace multiedit notebookedit str_replace str_replace_editor apply_patch"),
    **_each("edit", "str_replace_based_edit_tool edit_file write_file create_file update_file multi_edit"),
    **_each("plan", "todowrite todo_write update_plan write_todos todo_list task_list plan updateplan"),
}
_PROGRAMS = {
    **_each("query", "cat ls ll dir grep egrep fgrep rg ag find head less more wc tree stat file which type du df"),
    **_each("query", "jq diff nl env printenv ps id uname locate get-content get-childitem awk"),
    **_each("wait", "sleep wait watch tail journalctl poll start-sleep squeue qstat"),
    **_each("idle", "echo printf true : pwd whoami date"),
}
_GIT = {
    **_each("query", "status log diff show branch blame grep ls-files remote rev-parse describe"),
    **_each("tree", "bisect checkout switch reset rebase revert stash restore worktree"),
}
# Prefixes of the program: a change of directory, variables, a wrapper.
_WRAPPERS = frozenset({"cd", "sudo", "time", "nice", "env", "nohup", "command", "exec", "timeout"})
_BEFORE = re.compile(
    r"(?:\s*(?:cd\s+\S+\s*(?:&&|;)|(?:sudo|time|nice|env|nohup|command|exec)\s|timeout\s+\S+\s|[A-Za-z_]\w*=\S*\s))*\s*"
)
_WINDOWS_ECHO = re.compile(r"/c echo .*", re.IGNORECASE)
_NOOP_BEGINS = tuple(":#te")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_REDIRECTED = re.compile(r"\d?>&\d|&?\d?>\s*/dev/null")
# Readers of an empty pipe and what stands after || have no effect either.
_ARGUMENT = r"(?:[^|&;<>`$]|\$(?!\())*"
_NOOP = re.compile(
    rf"\s*(?:#.*|(?::|true)(?:\s{_ARGUMENT})?(?:\|(?:\||\s*(?:head|tail|grep|cat|sort|wc|less|jq)\b){_ARGUMENT})*)"
)
_ECHO = re.compile(r"\s*(?:echo|printf)\b[^|&;<>`$]*")
_OPERATORS = re.compile(r"[|&<>`]|\$\(")
_WRITES = re.compile(r">|\btee\b|-delete\b|-exec\b|\bsed\b.*\s-i|\bxargs\b")
_SLEEPS = re.compile(r"(?:^|[;&|]\s*)(?:[Ss]leep|Start-Sleep|start-sleep)\s")
# What is started in the background before a sleep is what the call is about.
_STARTS = re.compile(r"[^&>]&\s*(?:sleep|Start-Sleep)\s")
_PUTS = re.compile(r"""\s*(?:echo|printf)\s+(?:-\w+\s+)?('[^']*'|"[^"$`]*")\s*>>?\s*((?!/dev/)[\w./~-]+)\s*""")
_HEREDOC = re.compile(r"\s*cat\s*>>?\s*([\w./~-]+)\s*<<\s*['\"]?(\w+)['\"]?\n(.*)\n\2\s*", re.DOTALL)
_REPLACES = re.compile(
    r"\s*sed\s+-i\S*\s+(?:-[Ere]\s+)*(['\"])s([/|#])((?:(?!\2).)+)\2((?:(?!\2).)*)\2g?\1\s+([\w./~-]+)\s*"
)
_SEPARATOR = re.compile(r"&&|\|\||[;&\n]")
_ABANDONS = re.compile(r"\s--(?:abort|quit)\b")
_POSTS = re.compile(r"\b(?:create|comment|note)\b")
_LOGS = re.compile(r"(?:docker|podman|kubectl|heroku|pm2|docker compose|docker-compose)\s+(?:\S+\s+){0,3}logs\b")
_STEPS_ON = re.compile(
    r"(?:\W{0,2}(?:gdb|lldb|pdb|dlv|debugger|thread|process)\W{0,3}\s*)?"
    r"(?:n|next|s|step|si|ni|stepi|nexti|fin|finish|c|cont|continue|step[ _-]?(?:over|into|out|in)|until)(?:\s+\d+)?",
    re.IGNORECASE,
)
_STEPPING = 24
_MOVING = ("scroll", "page", "pgdn", "swipe", "tab", "forward")
_MOVES_ON = re.compile(r"\b(?:scroll|page[ _-]?(?:down|up)|pgdn|next[ _-]page|swipe|press[ _-]?tab|fast[ _-]?forward)")
_FLAG_OR_PIPE = re.compile(r"\s(?:\d?>|&?>|\|(?!\|)).*|\s-{1,2}[\w-]+(?:=\S+)?", re.DOTALL)
_ARGUMENTS = re.compile(r"\w*\s*\{")
_TARGETS = re.compile(r'"(?:file_path|filePath|path|file|notebook_path)": ?"((?:[^"\\]|\\.)*)"')
_PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ((?:[^\\\n\"]|\\(?!n))+)")
_SUFFIXED = re.compile(r"\w\.[A-Za-z]\w{0,7}$")
_NEEDLES = re.compile(r'"(?:pattern|query|q|regex|search|search_term|term|keywords?)": ?"((?:[^"\\]|\\.)*)"')
_PLACES = re.compile(r'"(?:path|glob|include|type|directory|dir|url)": ?"((?:[^"\\]|\\.)*)"')
_ASKS_HELP = re.compile(r"\s(?:--help|--version|-h|-V|help|version)\b")
_SEARCH = re.compile(
    r"(?:\b(?:grep|egrep|fgrep|rg|ag|ack|fd)(?:\s+-\S+)*\s+|\bfind\b[^|;&]*?\s-i?(?:name|path|regex)\s+"
    r"|\s(?:-l|--selector|--filter|--label)[\s=]+[\w./-]+=)"
    r"('[^']*'|\"[^\"]*\"|[^\s|;&]+)([^|;&]*)"
)
# What a call is made for is its output: it is read on, printed, or the answer to a query.
_ASKS = re.compile(
    r"\|\s*(?:head|tail|grep|wc|less|jq|sort|cut|uniq)\b|\s-(?:\s|$)|\bprint\("
    r"|\s(?:get|list|describe|search|filter|query|show|view|scan)(?:-[\w-]+)?\s"
)
_SELECTS = re.compile(r"\bselect\b(?!.*\b(?:into|insert|update|delete|create|drop|alter)\b)", re.IGNORECASE | re.DOTALL)
_SEARCH_WORDS = ("grep", "rg", "ag", "ack", "fd", "find", "-l", "--selector", "--filter", "--label")
_NAMESPACE = re.compile(r"^kubectl\s.*?\s(?:-n|--namespace)[\s=](\S+)")
_PATH = re.compile(r"(?<!\S)(?:~|\.{0,2})/(?!dev/null)[\w./*-]*")
_ADDRESS = re.compile(r"((?:\bhttps?://|\blocalhost[:/])[^\s'\"?#\\]+)")
_ORDERED = re.compile(r'"prompt": ?"[^"]*?(?<![\w.~/-])([\w.~-]*/[\w./~-]*\.\w{1,8}\b)')
_ESCAPE = re.compile(r"\\+\w")
_WORD = re.compile(r"[^\W\d_]\w{2,}")
_DONE = re.compile(r'"(?:completed|done|cancelled)"|\[[xX]\]')
_FILE = re.compile(r"(?<!\S)['\"]?([\w./~-]*\w\.[A-Za-z]\w{0,7})['\"]?(?=$|[\s'\":,}])")
_VERBS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_BY_VERB: dict[str, CallKind] = {
    **_each(
        "query", "read view open cat grep glob ls get list search find fetch lookup recall describe show query check"
    ),
    **_each("query", "status websearch webfetch"),
    **_each("tell", "send post publish notify comment reply create add save store remember write submit register"),
    **_each("work", "set update delete remove put edit apply run execute click keys file stdin"),
}


def kind_of(tool: str, text: str) -> CallKind:
    """Return the kind of a call by its tool or, for a command, by its first program."""
    if not text.strip() or ("leep" in text and _SLEEPS.search(text) and not _STARTS.search(text)):
        return "wait"
    kind = _TOOLS.get(tool.lower())
    # The call has the name of the tool as it is spelt: searchPages is a search.
    spelt = text[: len(tool)]
    if kind := kind or _kind_of_tool(spelt if spelt.lower() == tool else tool):
        return kind
    if ">" in text and writing(text):
        return "edit"
    if text.lstrip()[:1] in _NOOP_BEGINS and _does_nothing(text):
        return "idle"
    return "advance" if _advances(text) else _kind_of_command(_command_in(text))


@lru_cache(maxsize=256)
def _kind_of_tool(tool: str) -> CallKind | None:
    """Return the kind of an unknown tool by the verbs of its name."""
    kinds = {kind for verb in _VERBS.findall(tool) if (kind := _BY_VERB.get(verb.lower()))}
    return next(iter(kinds)) if len(kinds) == 1 and "work" not in kinds else None


def _does_nothing(command: str) -> bool:
    """Return whether a command can neither change nor say anything, whatever words it has: ``: look at the file``."""
    silent = "/dev/null" in command
    lines = _REDIRECTED.sub("", _QUOTED.sub("", command)).splitlines()
    return all(not line.strip() or _NOOP.fullmatch(line) or (silent and _ECHO.fullmatch(line)) for line in lines)


def _advances(text: str) -> bool:
    """Return whether the call advances, as in a debugger or to the next page: equal calls are then different steps."""
    if len(text) <= _STEPPING and _STEPS_ON.fullmatch(text.strip()):
        return True
    if len(text) > SHORT:
        return False
    lowered = text.lower()
    return any(map(lowered.__contains__, _MOVING)) and _MOVES_ON.search(lowered) is not None


def _kind_of_command(command: str) -> CallKind:
    program, _, rest = command.partition(" ")
    program = program.rpartition("/")[2].lower()
    if program == "git":
        return "work" if _ABANDONS.search(rest) else _GIT.get(rest.lstrip().partition(" ")[0], "work")
    if program in ("gh", "glab") and _POSTS.search(rest):
        return "tell"
    kind = _PROGRAMS.get(program)
    if program == "cmd":
        kind = "idle" if _WINDOWS_ECHO.fullmatch(rest) else None
    elif program == "sed" and "-n" in rest:
        kind = "query"
    if kind == "idle":
        spoken = all(_PROGRAMS.get(part.split()[0]) == "idle" for part in command.split(";") if part.strip())
        return "idle" if spoken and not _OPERATORS.search(command) else "work"
    if kind == "query" and _WRITES.search(_REDIRECTED.sub("", rest) if ">" in rest else rest):
        return "work"
    return kind or ("wait" if _LOGS.match(command) else "work")


def _command_in(text: str) -> str:
    """Return the command from its program on."""
    first = text.partition(" ")[0]
    if first and first not in _WRAPPERS and "=" not in first:
        return text
    before = _BEFORE.match(text)
    return text[before.end() :] if before else text


def asks_for_output(text: str) -> bool:
    """Return whether a command is run for what it prints."""
    return _ASKS.search(text) is not None or _SELECTS.search(text) is not None


def has_arguments(text: str) -> bool:
    """Return whether a call has named arguments: it is no command of a shell."""
    return _ARGUMENTS.match(text) is not None


def writing(command: str) -> tuple[str, str, str] | None:
    """Return file, an empty old text and the new text of a command that only writes a text to a file."""
    begin = command.lstrip()[:4]
    if begin in ("echo", "prin") and (put := _PUTS.fullmatch(command)):
        return put[2], "", put[1]
    here = _HEREDOC.fullmatch(command) if begin[:3] == "cat" else None
    return (here[1], "", here[3]) if here else None


def replacing(command: str) -> tuple[str, str, str] | None:
    """Return file, old and new text of a command that only replaces a text in a file."""
    put = _REPLACES.fullmatch(command) if "sed -i" in command else None
    return (put[5], put[3], put[4]) if put else None


def only_sleeps(text: str) -> bool:
    """Return whether a command sleeps and looks at nothing."""
    parts = [_command_in(part.strip()) for part in _SEPARATOR.split(text)] if len(text) <= SHORT else [text]
    programs = {part.partition(" ")[0].lower() for part in parts if part}
    return "sleep" in programs and all(name == "sleep" or _PROGRAMS.get(name) == "idle" for name in programs)


@lru_cache(maxsize=64)
def check_of(tool: str, text: str) -> str:
    """Return the check that a call runs: its command without flags, wrapper and pipe, or the tool and its file."""
    if _ARGUMENTS.match(text):
        return f"{tool} {' '.join(_values(text, _TARGETS)) or text[:CHECK_LIMIT]}"
    command = _command_in(text)[:CHECK_LIMIT]
    if not _ASKS_HELP.search(command):
        command = _FLAG_OR_PIPE.sub(" ", command)
    return f"{tool} {' '.join(command.split())}"


def edited_files(tool: str, text: str) -> tuple[str, ...]:
    """Return the files that a call gives to a tool that edits them; none for any other tool, such as a shell."""
    if _TOOLS.get(tool.lower().rpartition("__")[2]) != "edit":
        return ()
    named = (_unescaped(found[1]) for found in _TARGETS.finditer(text))
    patched = (found[1].strip() for found in _PATCHED.finditer(text))
    return tuple(dict.fromkeys(path for path in (*named, *patched) if path))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def needle_of(text: str) -> tuple[frozenset[str], str]:
    """Return the words that a search looks for, and where; no words for a call that is no search."""
    if _ARGUMENTS.match(text):
        return _words(" ".join(_values(text, _NEEDLES))), " ".join(_values(text, _PLACES))
    begin = text[:NEEDLE_LIMIT]
    searches = _SEARCH.findall(begin) if any(map(begin.__contains__, _SEARCH_WORDS)) else ()
    if not searches:
        return frozenset(), ""
    # The last search of a pipe is the one that decides.
    pattern, rest = searches[-1]
    words = rest.replace("2>/dev/null", "").split()
    places = [word for word in words if not word.startswith("-")] or _PATH.findall(text[:NEEDLE_LIMIT])[:1]
    if space := _NAMESPACE.search(begin):
        places.append(space[1])
    return _words(pattern), " ".join(places)


def _words(pattern: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_ESCAPE.sub(" ", pattern).lower()))


def done_items(plan: str) -> int:
    """Return how many items of a plan are done."""
    return len(_DONE.findall(plan))


def _values(text: str, names: re.Pattern[str]) -> list[str]:
    return names.findall(text[:NEEDLE_LIMIT])


def address_of(text: str) -> str:
    """Return the address that a request names, without its query, or the file in an order to another agent."""
    found = _ADDRESS.search(text) if "://" in text or "localhost" in text else None
    found = found or (_ORDERED.search(text) if '"prompt"' in text else None)
    return found[1] if found else ""


def file_of(text: str) -> str:
    """Return the last file that a query names, or an empty string."""
    if _ARGUMENTS.match(text):
        return next((name for name in _values(text, _TARGETS) if _SUFFIXED.search(name)), "")
    found = _FILE.findall(text[:SHORT])
    return str(found[-1]) if found else ""
