"""Acts of scripted agents, parsed from scenario files into the values that the agent program reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from unstuck.runs.plans.yaml_nodes import Document, Section, is_scalar, kind_of
from unstuck.settings.durations import parse_duration
from unstuck.text import one_line
from unstuck.words.did_you_mean import suggestion

MOST_ACTS = 1_000
SIGNALS = ("complete", "blocked", "needs_guidance")
_SIGNAL_KEYS = ("signal", "task", "phase", "approach", "question", "options", "context", "alternatives")

Made = dict[str, Any]
"""One act as JSON-able values: ``act`` names it, the other keys are its own."""


def acts(document: Document, node: yaml.Node, name: str) -> list[Made]:
    """Return the acts of a list; problems are noted in ``document``."""
    return [made for item in document.items(node, name) if (made := _act(document, item)) is not None]


def _act(document: Document, node: yaml.Node) -> Made | None:
    pairs = document.pairs(node, "an act")
    if len(pairs) != 1:
        if pairs:
            document.wrong(node, f"an act is one key with its value; here are {len(pairs)}")
        return None
    (written, (key, value)) = next(iter(pairs.items()))
    name = written.replace("-", "_")
    if name not in ACTS:
        document.wrong(key, f"unknown act `{name}`{suggestion(name, ACTS)}")
        return None
    made = ACTS[name](document, value, name)
    return None if made is None else {"act": name, **made}


def _text(document: Document, node: yaml.Node, name: str) -> Made | None:
    if not isinstance(node, yaml.ScalarNode):
        document.wrong(node, f"`{name}` must be text, not {kind_of(node)}")
        return None
    return {"text": checked_text(document, node, name)}


def checked_text(document: Document, node: yaml.ScalarNode, name: str) -> str:
    """The node's text where it can be written to a file; a problem is noted where it holds half a character."""
    text = str(node.value)
    if any("\ud800" <= character <= "\udfff" for character in text):
        document.wrong(node, f"`{one_line(name)}` holds half a character, which no file can hold")
    return text


def _path(document: Document, node: yaml.Node, name: str) -> Made | None:
    made = _text(document, node, name)
    return made and {"path": checked_path(document, node, made["text"])}


def checked_path(document: Document, node: yaml.Node, path: str) -> str:
    """``path`` where it stays inside the project; a problem is noted where it does not."""
    parts = path.lower().split("/")
    if not path or path.startswith("/") or ".." in parts or ".git" in parts or "\0" in path:
        document.wrong(node, f"a path stays inside the project: {one_line(path)!r}")
    elif any("\ud800" <= character <= "\udfff" for character in path):
        document.wrong(node, f"no file can have this name: {one_line(path)!r}")
    return path


def _seconds(document: Document, node: yaml.Node, name: str) -> Made | None:
    try:
        return {"seconds": parse_duration(node.value if isinstance(node, yaml.ScalarNode) else kind_of(node))}
    except ValueError as error:
        document.wrong(node, f"`{name}`: {one_line(str(error))}")
        return None


def _files(document: Document, node: yaml.Node, name: str) -> Made | None:
    files = {}
    for path, (key, value) in document.pairs(node, f"`{name}`").items():
        if made := _text(document, value, path):
            files[checked_path(document, key, path)] = made["text"]
    return {"files": files}


def _replace(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", ("file", "old", "new"))
    file, old = section.text("file", required=True), section.text("old", required=True)
    if file is None or old is None:
        return None
    return {"path": checked_path(document, section.nodes["file"], file), "old": old, "new": section.text("new") or ""}


def _flood(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", ("lines", "escapes"))
    return {"lines": section.whole("lines") or 1_000_000, "escapes": bool(section.flag("escapes"))}


def _use(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", ("tokens",))
    return {"tokens": section.whole("tokens") or 0}


def _child(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", ("for", "ignores_term"))
    return {"seconds": section.seconds("for") or 600.0, "ignores_term": bool(section.flag("ignores_term"))}


def _signal(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", _SIGNAL_KEYS)
    if isinstance(node, yaml.MappingNode):
        section.choice("signal", SIGNALS)
        if "signal" not in section.nodes:
            section.wrong("signal", f"`{name}` needs `signal`: one of {', '.join(SIGNALS)}")
    return {"fields": document.plain(node, f"`{name}`")}


def _repeat(document: Document, node: yaml.Node, name: str) -> Made | None:
    section = Section(document, node, f"`{name}`", ("times", "do"))
    if "do" not in section.nodes:
        section.wrong("do", f"`{name}` needs `do`: a list of acts")
        return None
    times = section.whole("times") or 1
    if times > MOST_ACTS:
        section.wrong("times", f"`times` is at most {MOST_ACTS}")
    return {"times": times, "do": acts(document, section.nodes["do"], "`do`")}


def _whole(document: Document, node: yaml.Node, name: str) -> Made | None:
    if is_scalar(node, "int") and str(node.value).isdigit() and int(node.value) <= 255:
        return {"code": int(node.value)}
    document.wrong(node, f"`{name}` must be a whole number from 0 to 255")
    return None


def _nothing(document: Document, node: yaml.Node, name: str) -> Made | None:
    return {}


ACTS: Mapping[str, Callable[[Document, yaml.Node, str], Made | None]] = {
    "say": _text,
    "message": _text,
    "run": _text,
    "read": _path,
    "delete": _path,
    "write": _files,
    "replace": _replace,
    "wait": _seconds,
    "work": _seconds,
    "hang": _nothing,
    "flood": _flood,
    "child": _child,
    "use": _use,
    "signal": _signal,
    "repeat": _repeat,
    "exit": _whole,
}
"""Every act by name, with how its value is read."""
