"""Each one-line rule and each parser of tools has an output that it reads, and one that looks alike and is none."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from unstuck.diagnosis.matching.prefilter import IndexedText, Prefilter
from unstuck.diagnosis.parsers import PARSERS, RULES, SUREST, OutputParser, Rule, first_match

DATA = Path(__file__).parent.parent / "data"
LINES = {name: (line, alike) for name, line, alike in json.loads((DATA / "rule_lines.json").read_text("utf-8"))}
WORD = re.compile(r"[A-Za-z]{2,}")


def named() -> dict[str, Rule]:
    """Every rule by its literal, and its number among those with the same literal, the surest first."""
    uses: Counter[str] = Counter()
    rules = {}
    for rule in RULES.entries:
        literal = rule.literals.texts[0]
        uses[literal] += 1
        rules[f"{literal}#{uses[literal]}"] = rule
    return rules


def test_every_rule_has_its_lines() -> None:
    """A new rule brings a line that it reads and one that looks alike, in `tests/data/rule_lines.json`."""
    assert named().keys() == LINES.keys()


@pytest.mark.parametrize("name", LINES)
def test_a_rule_reads_its_line_and_not_the_one_that_looks_alike(name: str) -> None:
    """The rule alone finds something in its line, and nothing in a line with one of its words."""
    line, alike = LINES[name]
    rule = Prefilter([named()[name]])
    assert first_match(rule, IndexedText(line)) is not None
    assert first_match(rule, IndexedText(alike)) is None
    words = {word.lower() for word in WORD.findall(name)}
    assert not words or any(word in alike.lower() for word in words)


# Outputs of parsers of which no tool's output is recorded.
READ = {
    "cython": "Error compiling Cython file:\n---\ndef f(:\n      ^\n---\n\na.pyx:1:6: Expected an identifier\n",
    "fatal": "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    '  File "a.py", line 4 in f\n',
    "lua_assertion": "lua: a.lua:2: no till\nstack traceback:\n\t[C]: in function 'assert'\n\ta.lua:2: in f\n",
    "ocaml_exception": "Fatal error: exception Not_found\n",
    "import_cycle": "package shop\n\timports shop/a from m.go\n\timports shop/a from a.go: import cycle not allowed\n",
    "boxed": "  × Unexpected token\n   ╭─[a.js:1:11]\n 1 │ const x = ;\n   ╰────\n",
    "bandit": ">> Issue: [B602:subprocess] A call with shell=True\n   Severity: High\n   Location: ./app.py:2:0\n",
    "htmlhint": "   a.html\n      L1 |<div><p></div>\n                 ^ Tag must be paired (tag-pair)\n",
}
# Outputs with a parser's words, in which it finds nothing.
ALIKE = {
    "perl_test": "Failed test cases are listed in the wiki\n",
    "minitest": "  1) Failure: is counted here\n",
    "doctest": "Failed example: see below\n",
    "cython": "Error compiling Cython file:\nnone\n",
    "rust_panic": "it panicked at the disco\n",
    "fatal": "Threads (most recent call first):\n",
    "lua_assertion": "a frame such as [C]: in function 'assert'\n",
    "go": "no panic: it is handled\n",
    "ocaml_exception": "\nFatal error: exception (none)\n",
    "sanitizer": "docs/AddressSanitizer: how to use it\n",
    "internal_error": "see INTERNALERROR> above\n",
    "pyright": "  a table - error: none\n",
    "terminated": "the worker was terminate called twice\n",
    "tcl": "    while executing\n",
    "haskell_error": "\nCallStack (from HasCallStack): empty\n",
    "cmake": "\nCMake Error at the end\n",
    "import_cycle": "go: import cycle not allowed here\n",
    "boxed": "─[ notes ]\n",
    "bandit": "\n>> Issue: [none]\n",
    "terraform": "\n  on the other hand\n",
    "webpack": "\nERROR in the report: none\n",
    "htmlhint": "2 ^ 3 is 8\n",
    "r_error": "done\nExecution halted\n",
    "docker": "it failed to solve: the puzzle\n",
}
RECORDED = [
    json.loads(line)["output"]
    for name in ("failures.jsonl", "tools.jsonl", "tool_versions.jsonl")
    for line in (DATA / name).read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("parser", [SUREST, *PARSERS.entries], ids=lambda parser: parser.read.__name__)
def test_a_parser_reads_its_output_and_not_one_that_looks_alike(parser: OutputParser) -> None:
    """Each parser finds something in an output of its tool, and nothing in another one that it is asked about."""
    name = parser.read.__name__
    texts = [
        text for text in (*RECORDED, READ.get(name, ""), ALIKE.get(name, "")) if IndexedText(text).has(parser.literals)
    ]
    read = [parser.read(text, text.split("\n")) is not None for text in texts]
    assert set(read) == {True, False}
    assert name not in ALIKE or not read[-1]
