"""Kind of a tool call (query, wait, advance, idle, edit, tree, work) and the check that it runs."""

from __future__ import annotations

import re
from typing import Literal

CallKind = Literal["work", "query", "wait", "advance", "idle", "edit", "tree"]

SHORT = 160
CHECK_LIMIT = 200
TALKING_TOOLS = frozenset({"think", "thought", "sequentialthinking", "reflect"})


def _each(kind: CallKind, names: str) -> dict[str, CallKind]:
    return dict.fromkeys(names.split(), kind)


_TOOLS = {
    **_each("query", "read view open cat grep glob search ls list find fetch lookup recall codebase_search"),
    **_each("query", "web_search websearch web_fetch webfetch read_file list_dir list_directory file_search"),
    **_each("wait", "bashoutput poll sleep wait"),
    **_each("advance", "scroll scroll_down scroll_up page_down page_up next_page next step continue"),
    **_each("edit", "edit write patch replace multiedit notebookedit str_replace str_replace_editor apply_patch"),
    **_each("edit", "str_replace_based_edit_tool edit_file write_file create_file update_file multi_edit todo_write"),
}
_PROGRAMS = {
    **_each("query", "cat ls ll dir grep egrep fgrep rg ag find head less more wc tree stat file which type du df"),
    **_each("query", "jq diff nl env printenv ps id uname locate get-content get-childitem awk"),
    **_each("wait", "sleep wait watch tail journalctl poll start-sleep"),
    **_each("idle", "echo printf true : pwd whoami date"),
}
_GIT = {
    **_each("query", "status log diff show branch blame grep ls-files remote rev-parse describe"),
    **_each("tree", "bisect checkout switch reset rebase revert stash restore worktree"),
}
# Prefixes of the program: a change of directory, variables, a wrapper.
_WRAPPERS = frozenset({"cd", "sudo", "time", "env", "nohup", "command", "exec", "timeout"})
_BEFORE = re.compile(
    r"(?:\s*(?:cd\s+\S+\s*(?:&&|;)|(?:sudo|time|env|nohup|command|exec)\s|timeout\s+\S+\s|[A-Za-z_]\w*=\S*\s))*\s*"
)
_WINDOWS_ECHO = re.compile(r"/c echo .*", re.IGNORECASE)
_OPERATORS = re.compile(r"[|&;<>`]|\$\(")
_WRITES = re.compile(r">|\btee\b|-delete\b|-exec\b|\bsed\b.*\s-i|\bxargs\b")
_SLEEPS = re.compile(r"(?:^|[;&|]\s*)(?:[Ss]leep|Start-Sleep|start-sleep)\s")
_LOGS = re.compile(r"(?:docker|podman|kubectl|heroku|pm2|docker compose|docker-compose)\s+(?:\S+\s+){0,3}logs\b")
_STEPS_ON = re.compile(
    r"(?:\W{0,2}(?:gdb|lldb|pdb|dlv|debugger|thread|process)\W{0,3}\s*)?"
    r"(?:n|next|s|step|si|ni|stepi|nexti|fin|finish|c|cont|continue|step[ _-]?(?:over|into|out|in)|until)(?:\s+\d+)?",
    re.IGNORECASE,
)
_STEPPING = 24
_MOVES_ON = re.compile(r"\b(?:scroll|page[ _-]?(?:down|up)|pgdn|next[ _-]page|swipe|press[ _-]?tab|fast[ _-]?forward)")
_NOTHING = re.compile(
    r"(?:ok(?:ay)?|done|success(?:ful(?:ly)?)?|true|null|none|\{\}|\[\]|0|\(?no (?:output|content)\)?"
    r"|(?:the )?(?:file|edit|patch|change|todo)s?(?: list)?(?: (?:has|have) been)?(?: was| were)? ?"
    r"(?:successfully )?(?:applied|updated|written|saved|created|edited|modified)(?: successfully)?"
    r"|applied|updated|written|saved|created|edited|moved|renamed|(?:command )?(?:failed|error)"
    r"|(?:process )?(?:exited|failed)? ?(?:with )?(?:exit )?(?:code|status):? \d+)?[.!]?",
    re.IGNORECASE,
)
_NOTHING_LIMIT = 60
_IMAGE_BEGINS = tuple("[<(isbdISBD ")
_IMAGE = re.compile(r"[\[<(]?\s*(?:image|screenshot|binary)\b.{0,80}|data:image/.*", re.IGNORECASE | re.DOTALL)
_IN_PROGRESS = re.compile(
    r"\b(?:pending|queued|in[ _-]progress|(?:still|is|status\W{1,4}|state\W{1,4}) ?running|running\W*$|waiting"
    r"|not (?:yet )?ready|not yet|building|starting|\w*creating|provisioning|(?:pod)?initiali[sz]ing|processing"
    r"|scheduled|pulling|installing|compiling|no (?:new|further|more) (?:output|logs?|lines|messages|events)"
    r"|\d{1,2} ?%)",
    re.IGNORECASE,
)
# Cheap first test: most results have none of these words.
_LETTERS = re.compile(r"[a-z]+")
_AT_WORK = frozenset(
    {
        *("pending", "queued", "progress", "running", "waiting", "ready", "yet", "building", "starting", "creating"),
        *("containercreating", "provisioning", "initializing", "initialising", "podinitializing", "processing"),
        *("scheduled", "pulling", "installing", "compiling", "output", "log", "logs", "lines", "messages", "events"),
    }
)
_WENT_WRONG = re.compile(r"fail|error|exception|denied|refused|not found", re.IGNORECASE)
_FLAG_OR_PIPE = re.compile(r"\s(?:\d?>|&?>|\|(?!\|)).*|\s-{1,2}[\w-]+(?:=\S+)?", re.DOTALL)
_FILE = re.compile(r"(?<!\S)['\"]?([\w./~-]*\w\.[A-Za-z]\w{0,7})['\"]?(?=$|[\s'\":,}])")


def kind_of(tool: str, text: str) -> CallKind:
    """Return the kind of a call by its tool or, for a command, by its first program."""
    if not text.strip() or ("leep" in text and _SLEEPS.search(text)):
        return "wait"
    kind = _TOOLS.get(tool.lower())
    if kind is not None:
        return kind
    return "advance" if _advances(text) else _kind_of_command(_command_in(text))


def _advances(text: str) -> bool:
    """Return whether the call advances, as in a debugger or to the next page: equal calls are then different steps."""
    if len(text) <= _STEPPING and _STEPS_ON.fullmatch(text.strip()):
        return True
    if len(text) > SHORT:
        return False
    return _MOVES_ON.search(text.lower()) is not None


def _kind_of_command(command: str) -> CallKind:
    program, _, rest = command.partition(" ")
    program = program.rpartition("/")[2].lower()
    if program == "git":
        return _GIT.get(rest.lstrip().partition(" ")[0], "work")
    kind = _PROGRAMS.get(program)
    if program == "cmd":
        kind = "idle" if _WINDOWS_ECHO.fullmatch(rest) else None
    elif program == "sed" and "-n" in rest:
        kind = "query"
    if kind == "idle":
        return "work" if _OPERATORS.search(rest) else "idle"
    if kind == "query" and _WRITES.search(rest):
        return "work"
    return kind or ("wait" if _LOGS.match(command) else "work")


def _command_in(text: str) -> str:
    """Return the command from its program on."""
    first = text.partition(" ")[0]
    if first and first not in _WRAPPERS and "=" not in first:
        return text
    before = _BEFORE.match(text)
    return text[before.end() :] if before else text


def is_bare_status(result: str) -> bool:
    """Return whether a result only reports success or failure."""
    return len(result) <= _NOTHING_LIMIT and _NOTHING.fullmatch(result.strip()) is not None


def shows_image(result: str) -> bool:
    """Return whether a result is an image: two of them may differ although their texts are equal."""
    return result[:1] in _IMAGE_BEGINS and len(result) <= SHORT and _IMAGE.fullmatch(result) is not None


def is_in_progress(result: str) -> bool:
    """Return whether a result reports work that is still in progress."""
    if len(result) > SHORT:
        return False
    lowered = result.lower()
    if "%" not in lowered and _AT_WORK.isdisjoint(_LETTERS.findall(lowered)):
        return False
    return _IN_PROGRESS.search(result) is not None and not _WENT_WRONG.search(result)


def check_of(tool: str, text: str) -> str:
    """Return the check that a call runs: its command without flags, wrapper and pipe."""
    command = _command_in(text)
    return f"{tool} {' '.join(_FLAG_OR_PIPE.sub(' ', command[:CHECK_LIMIT]).split())}"


def file_of(text: str) -> str:
    """Return the last file that a query names, or an empty string."""
    found = _FILE.findall(text[:SHORT])
    return str(found[-1]) if found else ""
