"""Families of histories made by rule: each loop in many tools, words and languages, and what only looks like it.

A family is a function that fills a ``History``. The number of a case seeds every choice in it, so that each case is the
same in every run. ``KEPT`` families were written before the rules and measured when these stood.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unstuck.contract import Observation

CASES = 12
KEPT = frozenset(
    {
        *("unimproved_value", "missing_tool", "same_text_written", "refused_permission"),
        *("improving_value", "tools_probed", "file_written_anew", "permission_changed", "rename_undone", "anchor_file"),
    }
)
STEMS = (
    "basket",
    "invoice",
    "ledger",
    "parser",
    "router",
    "session",
    "widget",
    "cache",
    "tariff",
    "sensor",
    "loader",
    "mailer",
)
VERBS = ("parse", "load", "merge", "render", "encode", "resolve", "collect", "flush", "rank", "split")
WORDS = (
    "amount",
    "anchor",
    "border",
    "bucket",
    "column",
    "draft",
    "entry",
    "figure",
    "header",
    "index",
    "label",
    "margin",
    "node",
    "offset",
    "quota",
)
SUFFIXES = ("py", "ts", "go", "rs", "rb", "java", "c", "kt", "php")
DIRECTORIES = ("src", "lib", "app/core", "internal/svc", "packages/web", "/srv/project", "/home/dev/work/api")
EMPTY = ("", "(Bash completed with no output)", "(no output)", "Command ran without output")
NOT_FOUND = ("No matches found", "No files found", "no results", "Found 0 files", "0 results", "No results found.")
Call = tuple[str, str, str, bool]


@dataclass
class History:
    """Observations in the making. ``first`` is the step where a careful person steps in, None for quiet work."""

    rng: random.Random
    observations: list[Observation] = field(default_factory=list)
    steps: int = 0
    first: int | None = None

    def __post_init__(self) -> None:
        self.style = self.rng.choice(("claude", "shell", "named"))
        self.empty = self.rng.choice(EMPTY)
        self.stem, self.suffix = self.rng.choice(STEMS), self.rng.choice(SUFFIXES)
        self.where = self.rng.choice(DIRECTORIES)

    def turn(self, *calls: Call) -> None:
        """Add the calls of one turn: all of them first, then their results."""
        ids = [f"call_{self.steps + number}" if self.style != "shell" else "" for number in range(len(calls))]
        for (tool, text, _, _), id in zip(calls, ids, strict=True):
            self._add("action", text, tool, id)
        for (tool, _, result, failed), id in zip(calls, ids, strict=True):
            self._add("failure" if failed else "success", result, tool, id)
            self.steps += 1

    def here(self) -> None:
        """Mark the step before as the one where a careful person steps in."""
        if self.first is None:
            self.first = self.steps - 1

    def says(self, *texts: str) -> None:
        """Add a message of the agent, one of ``texts``, in every second case."""
        if self.rng.random() < 0.5:
            self.observations.append(
                Observation(kind="message", role="agent", text=self.rng.choice(texts), task_id="t")
            )

    def shell(self, command: str, result: str = "", failed: bool = False) -> Call:
        """Return a command."""
        return ({"claude": "Bash", "shell": "bash", "named": "run_shell_command"}[self.style], command, result, failed)

    def tool(self, name: str, result: str, failed: bool = False, **given: Any) -> Call:
        """Return the call of a tool with arguments."""
        text = json.dumps(given, sort_keys=True, separators=(",", ":"))
        return (name, f"{name} {text}" if self.style == "claude" else text, result, failed)

    def read(self, file: str, result: str) -> Call:
        """Return a look at a file."""
        if self.style == "shell":
            return self.shell(f"cat {file}", result)
        name, key = ("Read", "file_path") if self.style == "claude" else ("read_file", "path")
        return self.tool(name, result, **{key: file})

    def write(self, file: str, content: str) -> Call:
        """Return the writing of a whole file."""
        if self.style == "shell":
            return ("write", f"{file}\n{content}", "written", False)
        name, key = ("Write", "file_path") if self.style == "claude" else ("write_file", "path")
        return self.tool(name, f"The file {file} has been updated successfully.", **{key: file, "content": content})

    def edit(self, file: str, old: str, new: str) -> Call:
        """Return a replacement."""
        name, key = ("Edit", "file_path") if self.style == "claude" else ("edit", "path")
        text = json.dumps({key: file, "old_string": old, "new_string": new}, sort_keys=True)
        return (name, f"{name} {text}" if self.style == "claude" else text, f"The file {file} has been updated.", False)

    def search(self, pattern: str, where: str, result: str) -> Call:
        """Return a search in files."""
        if self.style == "shell":
            return self.shell(
                f"grep -rn '{pattern}' {where}", "" if result in NOT_FOUND else result, result in NOT_FOUND
            )
        name = "Grep" if self.style == "claude" else "grep"
        return self.tool(name, result, pattern=pattern, path=where)

    def file(self, number: int = 0) -> str:
        """Return a file of the project."""
        return f"{self.where}/{self.stem}_{WORDS[number % len(WORDS)]}.{self.suffix}"

    def lines(self, number: int) -> str:
        """Return text that no other number gives."""
        names = [
            f"{VERBS[(number + line) % len(VERBS)]}_{WORDS[(number * 7 + line) % len(WORDS)]}" for line in range(5)
        ]
        return "\n".join(f"{number * 10 + line}\t{name}({number})" for line, name in enumerate(names))

    def work(self, most: int = 2) -> None:
        """Add up to ``most`` steps that gain something."""
        for _ in range(self.rng.randint(0, most)):
            number = self.rng.randint(100, 9_999)
            self.turn(
                self.rng.choice(
                    (
                        self.read(self.file(number), self.lines(number)),
                        self.shell(f"git log -{number % 90 + 1} --oneline -- {self.file(number)}", self.lines(number)),
                        self.edit(self.file(number), f"{self.stem} = {number}", f"{self.stem} = {number + 1}"),
                    )
                )
            )

    def _add(self, kind: Any, text: str, tool: str, id: str) -> None:
        id = id if kind == "action" or not id else f"call_{self.steps}"
        self.observations.append(Observation(kind=kind, text=text, tool=tool, id=id, task_id="t", at=float(self.steps)))


Family = Callable[[History, int], None]
LOOPS: dict[str, Family] = {}
QUIET: dict[str, Family] = {}


def loop(family: Family) -> Family:
    """Register a family of loops."""
    LOOPS[family.__name__] = family
    return family


def quiet(family: Family) -> Family:
    """Register a family that only looks like loops."""
    QUIET[family.__name__] = family
    return family


def cases() -> Iterator[tuple[str, bool, History]]:
    """Return every case: its name, whether it is a loop, and its history."""
    for families in (LOOPS, QUIET):
        for name, family in families.items():
            for number in range(CASES):
                history = History(random.Random(f"{name} {number}"))
                if families is QUIET or number % 3:
                    history.work(3)
                family(history, number)
                yield f"{name}/{number}", families is LOOPS, history


def error(language: int, file: str, line: int, name: str) -> tuple[str, str]:
    """Return a command that checks a project, and its failure at a line."""
    return (
        ("pytest -q", f"{file}:{line}: in test_{name}\n    assert {name}() == 4\nE   AssertionError: {name}\n1 failed"),
        ("go build ./...", f"# example.com/svc\n{file}:{line}:7: undefined: {name}"),
        (
            "cargo check",
            f"error[E0425]: cannot find value `{name}` in this scope\n  --> {file}:{line}:9\nerror: aborting",
        ),
        ("npx tsc --noEmit", f"{file}({line},5): error TS2304: Cannot find name '{name}'."),
        ("make", f"{file}:{line}:3: error: '{name}' undeclared (first use in this function)\nmake: *** [all] Error 1"),
        ("ruby -Itest test/all.rb", f"{file}:{line}:in `run': undefined method `{name}' for nil (NoMethodError)"),
    )[language % 6]


def exception(kind: int, host: str) -> str:
    """Return the last line of a script that could not fetch something."""
    return (
        f"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='{host}', port=443): Max retries exceeded",
        f"OSError: We couldn't connect to 'https://{host}' to load the files, and couldn't find them in the cache",
        f"urllib.error.URLError: <urlopen error could not reach {host}: certificate verify failed>",
        f"Error: Failed to download archive from https://{host}/dist: checksum mismatch",
        f"fatal: unable to access 'https://{host}/repo.git/': SSL certificate problem: self-signed certificate",
        f"ERROR: Failed building wheel for {host.partition('.')[0]}-native",
    )[kind % 6]


# Loops


@loop
def missing_tool(h: History, number: int) -> None:
    """The same call to a tool that does not exist, with other arguments."""
    name = ("search_code", "browser_open", "apply_diff", "jira_get", "memory.store", "vision")[number % 6]
    text = (
        f"<tool_use_error>Error: No such tool available: {name}</tool_use_error>",
        f"Error: tool '{name}' not found",
        f"unknown tool: {name}",
        f'Tool "{name}" does not exist. Available tools: bash, edit, read',
    )[number % 4]
    for turn in range(6):
        h.says(f"Let me use {name}.", "Trying the tool once more.")
        h.turn(h.tool(name, text, True, query=f"{h.stem} {WORDS[turn]}", limit=turn))
        if turn == 2:
            h.here()
        if turn < 4:
            h.work(1)


@loop
def same_text_written(h: History, number: int) -> None:
    """The same text written to a file again, and nothing new between."""
    content = "\n".join(h.lines(n) for n in range(1 + number % 5 * 12))
    between = h.read(h.file(), content)
    for turn in range(6):
        h.says("I will fix the file now.", f"Rewriting {h.file()} properly.")
        h.turn(h.write(h.file(), content))
        if turn == 2:
            h.here()
        if number % 2:
            h.turn(between)


@loop
def refused_permission(h: History, number: int) -> None:
    """A permission refused to different tools."""
    tools = h.rng.sample(["WebSearch", "WebFetch", "mcp__browser__open", "Task", "NotebookEdit", "Write"], 5)
    for turn, tool in enumerate(tools):
        refusal = (
            f"Claude requested permissions to use {tool}, but you haven't granted it yet.",
            f"Permission to use {tool} has been denied.",
            f"{tool}: not authorized by the organisation's policy",
            f"The user doesn't want to proceed with this tool use. {tool} was rejected: permission denied",
        )[number % 4]
        h.turn(
            h.tool(
                tool, refusal, True, prompt=f"{WORDS[turn]} of the {h.stem}", target=f"https://{h.stem}.example/{turn}"
            )
        )
        if turn == 2:
            h.here()
        if turn < 3:
            h.work(2)


@loop
def unimproved_value(h: History, number: int) -> None:
    """A value that does not improve over many tries."""
    metric = ("accuracy", "score", "mean latency ms", "coverage", "loss", "F1")[number % 6]
    base = h.rng.randint(40, 80)
    shake = [0, 2, -2, 1, -1, 0, 1, -2, 2, 0, 1, -1]
    for turn, more in enumerate(shake):
        h.turn(h.edit(h.file(), f"rate = {turn / 10}", f"rate = {(turn + 1) / 10}"))
        value = f"{metric}: {base + more}.{h.rng.randint(0, 9)}"
        h.turn(h.shell("make evaluate", f"evaluating {h.stem}\n{value} (target: 95)", number % 2 == 0))
        if turn == 8:
            h.here()


@loop
def no_op(h: History, number: int) -> None:
    """A call that does nothing, in the same or in other words."""
    reworded = number % 2
    for turn in range(8):
        word = f"{VERBS[turn]} the {h.stem}" if reworded else f"check the {h.stem}"
        command = (f": {word}", f"# {word}", "true", ":", f': "{word}"', f"echo '{word}' > /dev/null")[number % 6]
        h.says("Let me verify that it works.", f"I need to run the tests of {h.stem}.", "Let me try again.")
        h.turn(h.shell(command, h.empty))
        if turn == (3 if reworded else 2):
            h.here()
        if number % 4 == 3 and turn < 2:
            h.turn(h.write(h.file(), h.lines(turn)))


@loop
def reworded_search(h: History, number: int) -> None:
    """One search in other words, which never finds anything."""
    needle = f"{h.stem}_{VERBS[number % len(VERBS)]}"
    patterns = [
        needle,
        f"def {needle}",
        f"{needle}\\(",
        f"\\b{needle}\\b",
        f"{needle} *=",
        f"class {needle}",
        f"{needle}.*",
    ]
    question = f"{h.stem} {VERBS[number % len(VERBS)]} {WORDS[number % len(WORDS)]} release date"
    queries = [
        question,
        f"{question} 2025",
        f"latest {question}",
        f"{question} official",
        f"when {question}",
        f"{question} site",
    ]
    nothing = NOT_FOUND[number % len(NOT_FOUND)]
    for turn in range(6):
        h.says("Nothing yet.", "Let me search differently.", "Let me widen the search.")
        if number % 3 == 2:
            h.turn(h.tool("web_search" if h.style == "named" else "WebSearch", nothing, query=queries[turn]))
        else:
            h.turn(h.search(patterns[turn], h.where if turn % 2 else ".", nothing))
        if turn == 3:
            h.here()


@loop
def piped_search(h: History, number: int) -> None:
    """One pattern looked for through one pipe after the other, which never finds anything."""
    key = f"{h.stem.upper()}_KEY={number}[A-Z0-9]*"
    root = h.where if h.where.startswith("/") else f"/app/{h.where}"
    pipes = (
        f"find {root} -type f -exec strings {{}} \\; 2>/dev/null | grep -E '{key}'",
        f"grep -r '{key}' {root} 2>/dev/null",
        f"strings {root}/* | grep -i '{key}$'",
        f"cat {root}/*.bin | tr -d '\\0' | grep -aoE '{key}.{{4}}'",
        f"find {root} -name '*.log' -exec cat {{}} + | grep -E '({key}|{h.stem})'",
        f"xxd {root}/disk.img | grep '{key}'",
    )
    for turn in range(6):
        h.says("Nothing. Let me search the binary files.", "Maybe in another encoding.")
        h.turn(h.shell(pipes[(turn + number) % 6], h.empty))
        if turn == 3:
            h.here()


@loop
def same_failure_of_scripts(h: History, number: int) -> None:
    """The same failure of a download or an installation through script after script."""
    last = exception(number, f"{h.stem}.example.org")
    for turn in range(7):
        verb, word = VERBS[(turn * 3) % len(VERBS)], WORDS[turn]
        trace = (
            f'Traceback (most recent call last):\n  File "/tmp/{word}.py", line {turn + 3}, in <module>\n    {verb}()\n'
        )
        detail = f"{trace}{last}" if number % 3 < 2 else f"starting {word}\nstep {turn} of {turn + 4}\n{last}"
        script = f"python3 - <<'EOF'\nimport {word}\n{verb}_{word}({turn})\nprint('{word}', {turn})\nEOF"
        command = (script, f"python /tmp/{word}.py --{verb}", f"./scripts/{verb}-{word}.sh")[number % 3]
        h.says("The connection still fails. Let me try another way.", "Another script then.")
        h.turn(h.shell(command, detail, True))
        if turn == 3:
            h.here()
        if number % 2:
            h.turn(h.write(f"/tmp/{WORDS[turn + 1]}.py", h.lines(turn)))


@loop
def restarted(h: History, number: int) -> None:
    """A command started again and again, whose result differs in its process or session only."""
    for turn in range(7):
        id = f"{h.rng.randrange(16**6):06x}"
        pid = h.rng.randint(1_000, 99_999)
        result = (
            f"Command running in background with ID: {id}",
            f"[1] {pid}",
            f"server started with pid {pid}",
            f"Session {id}b7 created; output is in /tmp/tasks/{id}.output",
            f"starting {h.stem}d ... ok (PID: {pid})",
        )[number % 5]
        command = (f"node {h.file()} &", f"./{h.stem} serve --port 8080 &", f"nohup python {h.file()} > log 2>&1 &")[
            number % 3
        ]
        h.turn(h.shell(command, result))
        if turn == 2:
            h.here()
        if number % 2:
            h.turn(h.shell("curl -s localhost:8080/health", "", True))


@loop
def plans(h: History, number: int) -> None:
    """Plans in other words, without a step done between."""
    tool = ("TodoWrite", "update_plan", "todo_write", "write_todos")[number % 4]
    for turn in range(7):
        items = [
            {
                "content": f"{VERBS[(turn + item) % len(VERBS)]} the {h.stem}",
                "status": "in_progress" if item == 0 else "pending",
            }
            for item in range(3 + (turn + number) % 2)
        ]
        h.says("Let me refine the plan.", "I will restructure the tasks.")
        h.turn(h.tool(tool, "Todos have been modified successfully.", todos=items))
        if turn == 3:
            h.here()


@loop
def shifted_lines(h: History, number: int) -> None:
    """One failure that moves by the lines that the agent adds."""
    name, line = f"{VERBS[number % len(VERBS)]}_{h.stem}", h.rng.randint(20, 200)
    for turn in range(6):
        h.turn(h.edit(h.file(), f"# {turn}", f"# {turn + 1}\n# more"))
        command, text = error(number, h.file(), line, name)
        h.turn(h.shell(command, text, True))
        line += h.rng.randint(1, 6)
        if turn == 2:
            h.here()


# What only looks like them


@quiet
def tools_probed(h: History, number: int) -> None:
    """Different programs looked for, one after the other."""
    for tool in h.rng.sample(["gcc", "clang", "cc", "xxd", "file", "hexdump", "jq", "unzip"], 5):
        h.turn(h.shell(f"{tool} --version", f"/bin/bash: line 1: {tool}: command not found", True))
    h.turn(h.shell("apt-get install -y build-essential", "Setting up gcc (4:12.2.0-3)"))


@quiet
def file_written_anew(h: History, number: int) -> None:
    """A file that is written with other text, or reset before runs that differ."""
    content = "\n".join(h.lines(n) for n in range(number % 4 * 15))
    for turn in range(6):
        h.turn(h.write(h.file(), content if number % 2 else f"{content}\nlimit = {turn}\n{h.lines(3)}{content}"))
        h.turn(h.shell(f"./run {h.file()}", h.lines(40 + turn)))


@quiet
def permission_changed(h: History, number: int) -> None:
    """A permission refused, given, and refused to something else much later."""
    for turn in range(3):
        file = h.file(turn)
        h.turn(h.shell(f"./{file}", f"bash: ./{file}: Permission denied", True))
        h.turn(h.shell(f"chmod +x {file}", h.empty))
        h.turn(h.shell(f"./{file}", h.lines(turn)))


@quiet
def improving_value(h: History, number: int) -> None:
    """A value that improves slowly, with steps back."""
    value = 40.0
    for turn in range(12):
        h.turn(h.edit(h.file(), f"rate = {turn / 10}", f"rate = {(turn + 1) / 10}"))
        value += h.rng.choice((1.5, 2.5, -0.4)) if turn % 3 else 2.0
        h.turn(h.shell("make evaluate", f"evaluating {h.stem}\nscore: {value:.1f} (target: 95)", number % 2 == 0))


@quiet
def silent_commands(h: History, number: int) -> None:
    """Commands that say nothing, each doing something."""
    for turn in range(8):
        h.turn(
            h.shell(
                (
                    f"mkdir -p build/{WORDS[turn]}",
                    f"cp {h.file(turn)} build/{WORDS[turn]}/",
                    f"sed -i 's/{WORDS[turn]}/{WORDS[turn + 1]}/' {h.file(turn)}",
                    f"git add {h.file(turn)}",
                    f"chmod +x {h.file(turn)}",
                    f"rm -f {h.file(turn)}.orig",
                )[(turn + number) % 6],
                h.empty,
            )
        )


@quiet
def several_searches(h: History, number: int) -> None:
    """Searches for different names, or for one name in different places, that find nothing."""
    for turn in range(8):
        pattern = h.stem if number % 2 else f"{VERBS[turn]}{WORDS[turn].title()}"
        h.turn(
            h.search(pattern, f"{h.where}/{WORDS[turn]}" if number % 2 else h.where, NOT_FOUND[number % len(NOT_FOUND)])
        )


@quiet
def pipes_that_find_nothing(h: History, number: int) -> None:
    """Different patterns looked for in one place, none there."""
    for turn in range(8):
        h.turn(
            h.shell(f"find /app -type f | xargs strings | grep -i '{VERBS[turn]}_{WORDS[turn + number % 5]}'", h.empty)
        )


@quiet
def searches_that_find(h: History, number: int) -> None:
    """One search in other words, each with another answer."""
    for turn in range(6):
        h.turn(h.search(f"{h.stem}.*{WORDS[turn]}", ".", f"{h.file(turn)}:{turn + 3}: {h.stem}.{WORDS[turn]}"))


@quiet
def scripts_that_fail_differently(h: History, number: int) -> None:
    """Script after script, each with another failure."""
    for turn in range(6):
        text = (
            f"ModuleNotFoundError: No module named '{WORDS[turn]}'",
            f"KeyError: '{WORDS[turn]}'",
            f"TypeError: {VERBS[turn]}() takes {turn} positional arguments but {turn + 1} were given",
            f"ValueError: could not convert string to float: '{WORDS[turn]}'",
        )[(turn + number) % 4]
        trace = f'Traceback (most recent call last):\n  File "<stdin>", line {turn + 3}, in <module>\n{text}'
        h.turn(h.shell(f"python3 - <<'EOF'\nimport {WORDS[turn]}\n{VERBS[turn]}({turn})\nEOF", trace, True))


@quiet
def restarted_after_edits(h: History, number: int) -> None:
    """A server restarted after each change."""
    for turn in range(6):
        h.turn(h.edit(h.file(), f"port = {turn}", f"port = {turn + 1}"))
        h.turn(h.shell(f"node {h.file()} &", f"Command running in background with ID: {h.rng.randrange(16**6):06x}"))
        h.turn(h.shell(f"curl -s localhost:8080/{WORDS[turn]}", h.lines(turn)))


@quiet
def plans_with_work(h: History, number: int) -> None:
    """A plan whose items are done one after the other, with work between or without."""
    for turn in range(6):
        items = [
            {"content": f"{VERBS[item]} the {h.stem}", "status": "completed" if item < turn else "pending"}
            for item in range(6)
        ]
        h.turn(h.tool("TodoWrite" if number % 2 else "update_plan", "Todos have been modified.", todos=items))
        if number % 3:
            h.turn(h.edit(h.file(turn), f"# {VERBS[turn]}", f"# {WORDS[turn]}"))


@quiet
def failures_that_move(h: History, number: int) -> None:
    """A check that gets further: another failure each time, or one far below the other."""
    for turn in range(6):
        h.turn(h.edit(h.file(), f"# {turn}", f"# {turn + 1}"))
        name = f"{VERBS[turn]}_{h.stem}" if number % 2 else f"{VERBS[number % len(VERBS)]}_{h.stem}"
        command, text = error(number, h.file(), 10 + turn * 40, name)
        h.turn(h.shell(command, text, True))


@quiet
def cancelled_siblings(h: History, number: int) -> None:
    """Parallel calls that the agent cancelled because one of them failed."""
    cancelled = (
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Bash(make) errored</tool_use_error>",
    )[number % 2]
    if h.style == "shell":
        h.style = "named"
    for turn in range(3):
        failure = h.shell(f"./{VERBS[turn]}.sh", f"{WORDS[turn]}: {exception(turn, h.stem)}", True)
        others = [h.tool("Read", cancelled, True, file_path=h.file(n + turn)) for n in range(number % 4 + 2)]
        h.turn(failure, *others)
        h.work(1)


@quiet
def parallel_failures(h: History, number: int) -> None:
    """Calls of one turn that fail together, and then another way."""
    if h.style == "shell":
        h.style = "named"
    host = f"{h.stem}.example.org"
    text = (exception(number, host), f"Unable to verify if {host} is safe to fetch.", "File does not exist.")[
        number % 3
    ]
    h.turn(*[h.tool("WebFetch", text, True, url=f"https://{host}/{word}") for word in WORDS[: 3 + number % 5]])
    h.work(2)
    h.turn(h.shell("ls vendor", h.lines(number)))


@quiet
def rename_undone(h: History, number: int) -> None:
    """A rename in many files, which a check refuses, and which is undone in all of them."""
    old, new = f"{h.stem}_{WORDS[number]}", f"{h.stem}_{WORDS[number + 1]}"
    files = [h.file(n) for n in range(4 + number)]
    for file in files:
        h.turn(h.edit(file, old, new))
    h.turn(h.shell("make lint", f"{files[0]}:3: {new} is reserved", True))
    for file in files:
        h.turn(h.edit(file, new, old))
    h.turn(h.shell("make lint", "ok"))


@quiet
def help_and_version(h: History, number: int) -> None:
    """A program asked for its help, its version, and then for something, in a form that it does not know."""
    usage = (
        f"usage: {h.stem} [-o OUT] [-p PROTOCOL] FILES\n{h.stem}: error: the following arguments are required: FILES"
    )
    for flags in h.rng.sample(["--help", "--version", "-h", "help", "-V", "-p list"], 3):
        h.turn(h.shell(f"{h.stem} {flags}", usage, True))
    h.turn(h.read(f"/usr/local/bin/{h.stem}", h.lines(number)))


@quiet
def anchor_file(h: History, number: int) -> None:
    """A file that is read again between probes, each of which says something new."""
    anchor = h.lines(number)
    for turn in range(8):
        h.turn(h.read(h.file(), anchor))
        for probe in range(1 + number % 3):
            h.turn(
                h.shell(
                    f"python3 -c 'import {h.stem}; print({h.stem}.{WORDS[turn + probe]})'",
                    h.lines(200 + turn * 3 + probe),
                )
            )


@quiet
def installer_versions(h: History, number: int) -> None:
    """A package that is tried in other versions until one fits."""
    install = (
        f"pip install {h.stem}==",
        f"npm install {h.stem}@",
        f"gem install {h.stem} -v ",
        f"cargo add {h.stem}@",
    )[number % 4]
    for turn in range(5):
        text = (
            f"ERROR: Could not find a version that satisfies the requirement {h.stem}=={5 - turn}.0.{turn}",
            f"ERROR: Failed building wheel for {h.stem}",
            f"npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for {h.stem}@{5 - turn}.0.{turn}.",
            f"error: {h.stem} {5 - turn}.0.{turn} needs another runtime",
        )[(number + number // 4) % 4]
        h.turn(h.shell(f"{install}{5 - turn}.0.{turn}", text, True))
    h.turn(h.shell(f"{install}0.9.1", f"added {h.stem} 0.9.1"))


# A second batch, written after the rules and measured before any of them was changed for it


@loop
def broken_commands(h: History, number: int) -> None:
    """Commands that the shell cannot parse, each broken in the same way."""
    text = (
        "/bin/bash: eval: line {}: unexpected EOF while looking for matching `\"'",
        "bash: -c: line {}: syntax error near unexpected token `)'",
        "zsh: parse error near `\\n' (line {})",
        "sh: {}: Syntax error: Unterminated quoted string",
    )[number % 4]
    for turn in range(6):
        h.says("Let me fix the quoting.", "The command was malformed. I try again.")
        h.turn(h.shell(f'"{VERBS[turn]} the {h.stem} && ls {h.where}/{WORDS[turn]}', text.format(turn * 3 + 1), True))
        if turn == 3:
            h.here()


@loop
def service_down(h: History, number: int) -> None:
    """A service that is down, asked with one program after the other."""
    url = f"http://{h.stem}.internal:8080"
    text = (
        f"connect to {url}: Connection refused",
        f"502 Bad Gateway: {url}",
        f"could not resolve host: {h.stem}.internal",
        f"{url}: 503 Service Unavailable",
    )[number % 4]
    commands = (
        "curl -s {}",
        "wget -qO- {}",
        "http GET {}",
        "python3 -c 'import urllib.request as u; u.urlopen(\"{}\")'",
    )
    for turn in range(6):
        h.turn(h.shell(commands[turn % 4].format(f"{url}/{WORDS[turn]}"), text, True))
        if turn == 3:
            h.here()
        if turn < 3:
            h.work(1)


@loop
def edit_that_never_applies(h: History, number: int) -> None:
    """An edit whose old text is never found, with other blanks each time."""
    old = f"def {VERBS[number % 10]}({h.stem}):"
    for turn in range(6):
        blanks = " " * turn
        given = {"file_path": h.file(), "old_string": f"{blanks}{old}", "new_string": f"{blanks}# {h.stem}\n{old}"}
        text = f"<tool_use_error>String to replace not found in file.\nString: {blanks}{old}</tool_use_error>"
        h.turn(h.tool("Edit", text if number % 2 else f"old text not found in {h.file()}", True, **given))
        if turn == 2:
            h.here()


@loop
def file_that_is_not_there(h: History, number: int) -> None:
    """A file that was never made, looked for again and again between steps that do not make it."""
    file = f"{h.where}/{h.stem}_result.json"
    text = ("File does not exist.", f"cat: {file}: No such file or directory", f"ENOENT: no such file, open '{file}'")
    for turn in range(7):
        h.says("Let me check the result.", "Is the file there now?")
        call = h.read(file, text[number % 3])
        h.turn((*call[:3], True))
        if turn == 2:
            h.here()
        if turn % 2 == number % 2:
            h.turn(h.shell(f": write {file}", h.empty) if number % 3 else h.read(h.file(turn), h.lines(turn + 50)))


@loop
def formatter_and_linter(h: History, number: int) -> None:
    """A line that is changed for one tool and changed back for the other."""
    one, two = f"{h.stem} = {{'a': 1}}", f'{h.stem} = {{"a": 1}}'
    for turn in range(4):
        for old, new, tool in ((one, two, "lint"), (two, one, "format")):
            h.turn(h.edit(h.file(), old, new))
            if turn == 1 and tool == "lint":
                h.here()
            h.turn(h.shell(f"make {tool}", f"{h.file()}:{number + 3}: {tool} wants the other quotes", True))


@quiet
def long_session(h: History, number: int) -> None:
    """Test, change, build, look and commit, over many features."""
    check, build = (("pytest -q", "ruff check ."), ("npm test", "npm run build"), ("go test ./...", "go vet ./..."))[
        number % 3
    ]
    for turn in range(12):
        name = f"{VERBS[turn % 10]}_{WORDS[turn]}"
        h.turn(h.read(h.file(turn), h.lines(turn)), h.search(name, h.where, f"{h.file(turn)}:{turn + 2}: {name}"))
        h.turn(h.shell(check, f"FAILED test_{name}: expected {turn}, got None\n1 failed, {40 + turn} passed", True))
        for attempt in range(1 + turn % 2):
            h.turn(h.edit(h.file(turn), f"return {attempt}", f"return {attempt + turn + 1}"))
        h.turn(h.shell(check, f"{41 + turn} passed in 0.{turn}s"))
        h.turn(h.shell(build, h.empty if number % 2 else "All checks passed!"))
        h.turn(h.shell("git add -A", h.empty))
        h.turn(h.shell(f"git commit -qm 'Add {name}'", h.empty))
        h.turn(h.shell("git status --short", h.empty))


@quiet
def progress_watched(h: History, number: int) -> None:
    """A long job that is looked at until it is done."""
    for turn in range(9):
        h.turn(
            h.shell(f"tail -n 2 {h.stem}.log", f"epoch {turn * 7}/63 loss 0.{98 - turn * 9}\neta {60 - turn * 7} min")
        )
        if number % 2:
            h.turn(h.shell("sleep 60", h.empty))
    h.turn(h.shell(f"tail -n 2 {h.stem}.log", "done"))


@quiet
def many_files_checked(h: History, number: int) -> None:
    """One question to many files, with the same answer."""
    answer = ("0", "OK", "no issues found", "True", "All good")[number % 5]
    for turn in range(12):
        h.turn(h.shell(f"{('wc -l <', 'ruff check', 'jq . -e', 'php -l')[number % 4]} {h.file(turn)}", answer))


@quiet
def seeds_tried(h: History, number: int) -> None:
    """A flaky test that is run with other seeds, each with its own result."""
    for turn in range(7):
        failed = turn % 3 == 1
        text = f"seed {turn * 17}: {'1 failed' if failed else '0 failed'}, {120 + turn} cases"
        h.turn(h.shell(f"./fuzz --seed {turn * 17}", text, failed))


@quiet
def outage_that_ends(h: History, number: int) -> None:
    """A call that is refused for a while, waited for, and then answered."""
    for turn in range(3):
        h.turn(
            h.shell(f"curl -s https://{h.stem}.example/api", "HTTP/1.1 429 Too Many Requests", True)
            if turn < 2
            else h.shell(f"curl -s https://{h.stem}.example/api", h.lines(number))
        )
        h.turn(h.shell(f"sleep {30 * (turn + 1)}", h.empty))
    h.work(3)


@quiet
def missing_modules(h: History, number: int) -> None:
    """Modules that are missing one after the other, each installed in turn."""
    for turn in range(7):
        text = (f"ModuleNotFoundError: No module named '{WORDS[turn]}'", f"Error: Cannot find module '{WORDS[turn]}'")[
            number % 2
        ]
        h.turn(
            h.shell(
                f"python {h.file()}",
                f'Traceback (most recent call last):\n  File "{h.file()}", line {turn + 1}\n{text}',
                True,
            )
        )
        h.turn(h.shell(f"pip install {WORDS[turn]}", f"Successfully installed {WORDS[turn]}-1.{turn}"))


@quiet
def headers_explored(h: History, number: int) -> None:
    """One long file, paged through in both directions and searched for different words."""
    for turn in range(8):
        start = turn * 40 + 1
        h.turn(
            h.shell(
                f"sed -n '{start},{start + 39}p' {h.file()}", "\n".join(h.lines(turn * 8 + part) for part in range(8))
            )
        )
        h.turn(h.search(f"{VERBS[turn]}_{WORDS[turn]}", h.file(), f"{start + 3}: {VERBS[turn]}_{WORDS[turn]}"))
