"""Research findings from the project itself, without a model and without looking anywhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.workspace.conftest import Project

from unstuck.escalation.research_targets import Target
from unstuck.workspace.research.research import gather, surroundings


async def test_the_code_round_the_failure_is_shown(project: Project) -> None:
    """Fifteen lines on both sides, numbered, with the failing one marked."""
    project.write({"app.py": "".join(f"line {number}\n" for number in range(1, 101))})
    [code, *_] = await gather(project.root, location="app.py:50:7 in main", headline="boom")
    assert code.source == "code at app.py:50"
    lines = code.text.splitlines()
    assert lines[0].endswith("35 | line 35")
    assert lines[-1].endswith("65 | line 65")
    assert [line for line in lines if line.startswith(">")] == [">   50 | line 50"]


async def test_uses_of_the_names_in_the_headline(project: Project) -> None:
    """Other places of a name are found, in committed and new files; plain words are not searched for."""
    project.write({"new.py": "from lib.util import make_thing\n", "noise.log": "make_thing\n"})
    found = await gather(project.root, location=None, headline="AttributeError: module has no attribute 'make_thing'")
    assert [insight.source for insight in found] == ["uses of make_thing"]
    assert found[0].text == "new.py:1:from lib.util import make_thing"


async def test_symbols_are_searched_first(project: Project) -> None:
    """The caller's names count before those of the headline."""
    [uses] = await gather(project.root, location=None, headline="boom", symbols=["helper"])
    assert uses.text == "lib/util.py:1:def helper():"


@pytest.mark.parametrize("name", ["io", "self", "na\x07me"])
async def test_names_that_tell_nothing_are_not_searched(project: Project, name: str) -> None:
    """Of very short names, those that stand everywhere and those with control characters nothing is found out."""
    project.write({"new.py": f"{name} = make_thing\n"})
    assert await gather(project.root, location=None, headline="boom", symbols=[name]) == ()


async def test_the_module_that_could_not_be_imported(project: Project) -> None:
    """The module's definitions are found, wherever it lies; or that it is not part of the project."""
    project.write({"src/shop/cart.py": "import os\n\ndef total(items):\n    pass\nclass Cart:\n    pass\n"})
    [module, *_] = await gather(
        project.root,
        location=None,
        headline="ImportError: cannot import name 'sum_up' from 'shop.cart' (src/shop/cart.py)",
    )
    assert module.source == "module shop.cart: src/shop/cart.py"
    assert module.text == "     3 | def total(items):\n     5 | class Cart:"
    [missing, *_] = await gather(project.root, location=None, headline="No module named 'stripe.webhook'")
    assert "No file of this worktree is stripe.webhook" in missing.text


async def test_a_missing_script_is_looked_for_beside_the_file(project: Project) -> None:
    """A relative JavaScript import is resolved from the file that failed."""
    project.write({"web/main.ts": "import './cart'\n", "web/cart.ts": "export const cart = 1\n"})
    found = await gather(project.root, location="web/main.ts:1", headline="Error: Cannot find module './cart'")
    assert "module ./cart: web/cart.ts" in [insight.source for insight in found]


async def test_the_last_commits_of_the_file(project: Project) -> None:
    """Three at most, newest first, with what they changed: those that touched the place, else those of the file."""
    for number in range(5):
        project.write({"app.py": f"version {number}\n"})
        project.commit(f"change {number}")
    found = await gather(project.root, location="app.py:1", headline="boom")
    history = next(insight for insight in found if insight.source == "last commits of app.py:1")
    assert [number for number in range(5) if f"change {number}" in history.text] == [2, 3, 4]
    assert "+version 4" in history.text


async def test_it_works_without_git(plain: Project) -> None:
    """Code, modules and uses are found in a plain directory too."""
    plain.write({"app.py": "do_it()\n", "helpers/__init__.py": "def do_it(): ...\n"})
    found = await gather(plain.root, location="app.py:1", headline="cannot import name 'do_it' from 'helpers'")
    assert [insight.source for insight in found] == [
        "code at app.py:1",
        "module helpers: helpers/__init__.py",
        "uses of do_it",
    ]


KEPT = (".aider.chat.history.md", ".aider.tags.cache.v4/1.json", ".claude/history.md", "web/.codex/log.jsonl")
KEPT_TOO = (".specstory/history/today.md", ".cursor/chat.md", ".unstuck/runs/1/events.jsonl", ".gemini/tmp/chat.json")


@pytest.mark.parametrize("kind", ["git", "plain"])
async def test_what_agents_have_said_is_no_source(project: Project, plain: Project, kind: str) -> None:
    """Conversations, settings and logs that agents and Unstuck keep in the project are neither quoted nor related."""
    place = project if kind == "git" else plain
    place.write(dict.fromkeys((*KEPT, *KEPT_TOO), "I tried make_thing() and it failed.\n"))
    place.write({"docs/claude.md": "make_thing makes it.\n", "app.py": "make_thing(1)\n"})
    found = await gather(place.root, location=None, headline="no attribute 'make_thing'")
    text = "\n".join(insight.text for insight in found)
    assert "docs/claude.md:1:make_thing makes it." in text
    assert "I tried" not in text
    near = await surroundings(place.root, "app.py:1")
    assert {"docs/claude.md", "app.py"} <= set(near.files)
    assert not {*KEPT, *KEPT_TOO} & set(near.files)


async def test_much_chat_does_not_hide_the_project(project: Project) -> None:
    """A chat history with the name a hundred thousand times leaves room for the one use in the code."""
    project.write({".aider.chat.history.md": "and then make_thing() failed again\n" * 100_000})
    project.write({"zoo.py": "make_thing(1)\n"})
    found = await gather(project.root, location=None, headline="no attribute 'make_thing'")
    assert [insight.text for insight in found] == ["zoo.py:1:make_thing(1)"]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside.txt"
    file.write_text("private\n")
    return file


@pytest.mark.parametrize(
    "location", ["../outside.txt:1", "{outside}:1", "link:1", "folder/outside.txt:1", ".git/config:1"]
)
async def test_nothing_outside_the_tree_is_read(project: Project, outside: Path, location: str) -> None:
    """Neither by dots, nor by a full path, nor through a link; nor git's own files."""
    (project.root / "link").symlink_to(outside)
    (project.root / "folder").symlink_to(outside.parent)
    assert await gather(project.root, location=location.format(outside=outside), headline="boom") == ()


@pytest.mark.parametrize(
    "location",
    [
        "pipe:1",
        "lib:1",
        "gone.py:3",
        "binary:1",
        "",
        ":",
        ":::9",
        "a\0b:1",
        "x" * 10_000,
        "\udcff:1",
        "app.py:999999999",
        "~:1",
    ],
)
async def test_odd_locations_do_no_harm(project: Project, location: str) -> None:
    """A pipe is not waited for, and nonsense gives nothing."""
    os.mkfifo(project.root / "pipe")
    project.write({"binary": b"\0\1\2"})
    found = await gather(project.root, location=location, headline="boom \0 'a\0b' `--open-files-in-pager=x`")
    assert {insight.source for insight in found} <= {"code at app.py:999999999", "last commits of app.py"}


async def test_every_text_is_clean_and_bounded(project: Project) -> None:
    """No escape, no secret and no endless line gets through; at most as many insights as asked for."""
    secret = "ghp_" + "a1B2" * 9
    project.write({"evil.py": f"\x1b]0;title\x07 token_name = '{secret}'\n" + "token_name " * 100_000})
    project.commit("evil \x1b[31m")
    found = await gather(
        project.root,
        location="evil.py:1",
        headline="'token_name' and 'helper'",
        limit=3,
        size=500,
        symbols=["helper", "a b"],
    )
    assert len(found) == 3
    for insight in found:
        assert "\x1b" not in insight.text
        assert secret not in insight.text
        assert len(insight.text) < 800


async def test_a_directory_that_is_gone_gives_nothing(tmp_path: Path) -> None:
    """A tree that was removed meanwhile is no reason to fail."""
    assert await gather(tmp_path / "gone", location="a.py:1", headline="'some_name'") == ()


async def test_the_commits_that_touched_the_place(project: Project) -> None:
    """Of a long file only the commits that changed something near the failing line."""
    lines = [f"line {number}\n" for number in range(60)]
    project.write({"app.py": "".join(lines)})
    project.commit("all of it")
    for place, said in ((3, "the top"), (50, "the place"), (5, "the top again")):
        lines[place] = f"changed for {said}\n"
        project.write({"app.py": "".join(lines)})
        project.commit(said)
    found = await gather(project.root, location="app.py:50", headline="boom")
    history = next(insight for insight in found if insight.source == "last commits of app.py:50")
    assert "the place" in history.text
    assert "the top" not in history.text


async def test_a_repository_that_wants_signatures_shown_runs_nothing(project: Project, tmp_path: Path) -> None:
    """The last commits are told without the program that the repository's settings name for signatures."""
    program, ran = tmp_path / "gpg", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat >{os.devnull}\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed\n")
    program.chmod(0o755)
    project.git("config", "gpg.program", str(program))
    project.git("config", "log.showSignature", "true")
    project.write({"app.py": "two\n"})
    project.git("commit", "-q", "-a", "-S", "-m", "signed")
    ran.unlink()
    found = await gather(project.root, location="app.py:1", headline="boom")
    assert "last commits of app.py:1" in {insight.source for insight in found}
    assert not ran.exists()


async def test_who_calls_the_function_that_failed(project: Project) -> None:
    """Its callers, not its definition; nobody asks who calls a test."""
    project.write(
        {
            "app.py": "def total(items):\n    return sum(items)\n",
            "cart.py": "from app import total\n\nprint(total([1]))\n",
            "test_app.py": "def test_total():\n    assert 1 == 2\n",
        }
    )
    found = await gather(project.root, location="app.py:2", headline="boom")
    assert {insight.source: insight.text for insight in found}["callers of total"] == "cart.py:3:print(total([1]))"
    found = await gather(project.root, location="test_app.py:2", headline="boom")
    assert not [insight for insight in found if insight.source.startswith("callers")]


async def test_what_is_installed(project: Project) -> None:
    """Version, summary, description and definitions of a package, as they lie in the project's own environment."""
    site = ".venv/lib/python3.11/site-packages"
    metadata = "Name: pay-sdk\nVersion: 2.1\nSummary: Payments\n\n# Use\n\nCall it.\n"
    module = '"""x"""\n\ndef verify(body, signature):\n    pass\n\n\ndef _hidden(): ...\n'
    project.write(
        {
            f"{site}/pay_sdk-2.1.dist-info/METADATA": metadata,
            f"{site}/pay_sdk/__init__.py": module,
            "node_modules/@pay/sdk/package.json": '{"name": "@pay/sdk", "version": "3.0.1", "main": "lib/index.js"}',
            "node_modules/@pay/sdk/README.md": "# Pay\n\nUse verify().\n",
            "node_modules/chart.js/auto/package.json": '{"name": "chart.js/auto", "version": "4.4.0"}',
        }
    )
    python, script, dotted, gone = [
        await gather(project.root, location=None, headline="", targets=[Target("dependency", name)], environ={})
        for name in ("pay_sdk.hooks", "@pay/sdk", "chart.js/auto", "nowhere")
    ]
    assert python[0].source == "package pay_sdk.hooks"
    assert python[0].text.splitlines()[:3] == ["Name: pay-sdk", "Version: 2.1", "Summary: Payments"]
    assert "Call it." in python[0].text
    assert "def verify(body, signature):" in python[0].text
    assert "_hidden" not in python[0].text
    assert script[0].text.splitlines()[:2] == ["name: @pay/sdk", "version: 3.0.1"]
    assert "Use verify()." in script[0].text
    assert dotted[0].text.splitlines()[:2] == ["name: chart.js/auto", "version: 4.4.0"]
    assert gone[0].text == f"nowhere is not installed. Looked in: {site}, node_modules."


@pytest.mark.parametrize("name", ["../../etc", "..", "a/../../b", "", "x" * 400, "a b", "\0"])
async def test_a_dependency_that_is_no_name_is_not_looked_for(project: Project, name: str) -> None:
    """Whatever a failure calls a package, nothing outside of where packages lie is read."""
    assert await gather(project.root, location=None, headline="", targets=[Target("dependency", name)]) == ()


async def test_related_files_and_examples(project: Project) -> None:
    """Of a related file the lines with the failure's names, else what it defines; of an approach where it is used."""
    project.write({"units.py": "x = 1\n" * 9 + "GRAMS_PER = 28\n", "plain.py": "def first(): ...\n"})
    targets = [Target("file", "units.py"), Target("file", "plain.py"), Target("pattern", "use GRAMS_PER here")]
    found = await gather(project.root, location=None, headline="'GRAMS_PER' is wrong", targets=targets)
    told = {insight.source: insight.text for insight in found}
    assert told["related units.py"].splitlines()[0] == "     8 | x = 1"
    assert told["related units.py"].splitlines()[-1] == "    10 | GRAMS_PER = 28"
    assert told["related plain.py"] == "     1 | def first(): ..."
    assert told["examples: uses of GRAMS_PER"] == "units.py:10:GRAMS_PER = 28"


async def test_it_ends_in_time(project: Project) -> None:
    """When its time is up, what was found until then is all there is."""
    project.write({"app.py": "boom()\n"})
    assert await gather(project.root, location="app.py:1", headline="boom", seconds=0.0) == ()


async def test_what_is_round_a_failure(project: Project) -> None:
    """The file, what it imports and every path of the tree, for whoever chooses what to look into."""
    project.write({"app.py": "from lib.util import helper as h\nimport os.path, json\n", "new.txt": "x"})
    near = await surroundings(project.root, "app.py:1")
    assert near.file == "app.py"
    assert near.imports == (("h", "lib.util"), ("os", "os.path"), ("json", "json"))
    assert {"app.py", "lib/util.py", "new.txt"} <= set(near.files)
    assert (await surroundings(project.root, "../x:1")).file == ""
