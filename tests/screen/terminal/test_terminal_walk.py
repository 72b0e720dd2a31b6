"""One walk through everything, by somebody who knows only what the screen says: no key and no name comes from the code.

The person reads the footer, help and dialogs, and looks at the files of the project beside it.
"""

from __future__ import annotations

import itertools
import json
import re
import resource
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.screen.terminal.conftest import Desk

# As the screen writes keys, and as a keyboard has them.
KEYS = {"⏎": "enter", "esc": "escape", "?": "question_mark", "/": "slash", "ctrl+s": "ctrl+s"}
QUESTIONS = (
    "same-line-first", "same-line-second", "truly-stuck", "tool-call-loop", "hangs-silently", "needs-a-decision",
    "rewrites-too-much", "ground-for-a-person", "uses-too-much",
)  # fmt: skip
LEAVES_IT_OPEN = "leaves it open"
ASKS = re.compile(r"waits for you|agents stand still")
LET_RUN = "shows no activity"
NAME = 24
"""Width of the task's name in a line that needs an answer."""
DIALOG = re.compile(r"^(.*[^╮\n])╭─([^╮\n\[]*)╮", re.MULTILINE)
"""The upper line, with its title, of a frame that lies over another one; a pane has its tab in brackets."""


@dataclass
class Person:
    """Somebody at a terminal, who reads what there is to press."""

    terminal: Any

    def see(self, *words: str) -> str:
        """Wait for ``words`` to stand there."""
        shown: str = self.terminal.until(*words)
        return shown

    def press(self, key: str, *, times: int = 1) -> None:
        """Press a key as the screen writes it."""
        self.terminal.press(*[KEYS.get(key, key)] * times)

    def footer(self, word: str) -> None:
        """Press the key that the footer offers for ``word``."""
        self.press(self._offered(rf"(?:^|\s)(\S+) {re.escape(word)}(?:\s|$)", lambda text: text.splitlines()[-1]))

    def bar(self, word: str) -> str:
        """The key that stands before ``word`` anywhere."""
        return self._offered(rf" (\S) {word}", str)

    def help(self, words: str) -> str:
        """Look in the help for the key that does what ``words`` say; the first of its keys."""
        self.footer("help")
        self.see("esc closes this")
        key = self._offered(rf"│  (\S+) .*?\s{re.escape(words)}", str)
        self.press("esc")
        self.terminal.gone("esc closes this")
        return key

    def turn_to(self, tab: str) -> None:
        """Press what stands before the name of a tab."""
        self.press(self._offered(rf" (\d) {tab} ", str))

    def choose(self, words: str) -> None:
        """Choose in the dialog what is called ``words``, once it takes keys."""
        self.press(self._offered(rf"│ (\S)  {re.escape(words)}[\s\S]*esc (?:leaves it|cancels)", str))

    def write(self, text: str) -> None:
        """Write an answer, and send it as the dialog says."""
        self.see(" sends")
        self.terminal.write(text)
        self.see(text)
        self.press(self._offered(r"(\S+) sends", str))

    def _offered(self, pattern: str, part: Callable[[str], str]) -> str:
        while not (found := re.search(pattern, part(self.terminal.text), re.MULTILINE)):
            assert self.terminal.read(), f"nothing like {pattern} stands there:\n{self.terminal.text}"
        return found[1]

    def dialog(self) -> tuple[str, str]:
        """The title of the dialog that is up, and all that it says, line after line."""
        lines = self.lines()
        assert lines, f"no dialog stands there:\n{self.terminal.text}"
        return lines[0], "\n".join(lines)

    def lines(self) -> list[str]:
        """Return the lines of the open dialog, once it can be answered."""
        found = "\n".join(framed(self.terminal.text))
        return found.splitlines() if LEAVES_IT_OPEN in found else []

    def fact(self, label: str) -> str:
        """Return the dialog's text under ``label``, which may go over several lines."""
        found = re.search(rf"^{label} +(.*(?:\n {{10}}.*)*)", self.dialog()[1], re.MULTILINE)
        assert found, f"{label} is not said:\n{self.terminal.text}"
        return re.sub(r"\n +", "", found[1])

    def rows_of(self, words: str) -> list[int]:
        """Return the distances of the rows with ``words`` from the first one, once there are several."""
        while True:
            rows = self.terminal.text.split("╭─ details ─")[0].splitlines()[3:]
            if len(found := [place for place, row in enumerate(rows) if words in row]) > 1:
                return found
            assert self.terminal.read(), f"not even two rows have {words}:\n{self.terminal.text}"


@dataclass
class Walk:
    """The demo, what the person has done in it, and the disk that fills up once."""

    person: Person
    folder: Path
    answered: list[str] = field(default_factory=list)

    def answer_all(self) -> None:
        """Answer whatever needs an answer, until only the agent is left that was let run.

        It may start so late that all others are done before it is asked about.
        """
        while not (
            LET_RUN in self.answered and re.search(r"▶ 1 working +✓ 8 (?:of \d+ )?done", self.person.terminal.text)
        ):
            if self.person.lines():
                self.answer_one()
                continue
            if asked := self._asked():
                self.person.footer("answer")
            assert self.person.terminal.read()
            while asked and self._asked() == asked:
                assert self.person.terminal.read()

    def _asked(self) -> set[str]:
        """The beginnings of the lines that need an answer; none while a dialog is up."""
        shown = self.person.terminal.text
        return set() if DIALOG.search(shown) else {line[:NAME] for line in shown.splitlines() if ASKS.search(line)}

    def answer_one(self) -> None:
        """Answer the question that is up."""
        title, _ = self.person.dialog()
        for words, answer in ANSWERS.items():
            if words in title:
                answer(self)
                self.person.terminal.gone(title)
                self.answered.append(words)
                return
        raise AssertionError(f"nobody knows what to do about {title}")

    def show_how(self) -> None:
        """Shown once the disk has become full, which is noticed when the answer is to be kept."""
        self.fill()
        self.person.choose("Show me how")
        self.person.write("Sign with: endpoint secret")

    def fill(self) -> None:
        """From now on there is hardly room for anything more."""
        (log,) = (self.folder / "shop" / ".git" / "unstuck" / "runs").glob("*/events.jsonl")
        self._room(log.stat().st_size + 60)

    def make_room(self) -> None:
        """There is room before anybody looks: found full again, the same would be asked at once."""
        key = self.person._offered(r"│ (\S)  Check again[\s\S]*esc (?:leaves it|cancels)", str)
        self._room(resource.RLIM_INFINITY)
        self.person.press(key)

    def _room(self, size: int) -> None:
        pid = self.person.terminal.process.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def mend_the_ground(self) -> None:
        """Put what only a person has where the dialog says."""
        (Path(self.person.fact("Worktree")) / "licence.txt").write_text("paid\n", encoding="utf-8")
        self.person.choose("Check again")

    def resolve(self) -> None:
        """The two results are brought together in the tree, and by the command, that the dialog names."""
        tree, said = self.person.fact("Worktree"), " ".join(self.person.dialog()[1].split())
        merge = re.search(r"\((git merge \S+)\)", said)
        assert merge
        git("-C", tree, *merge[1].split()[1:], code=1)
        (Path(tree) / "shop" / "greeting.txt").write_text("Welcome. Bienvenue.\n", encoding="utf-8")
        git("-C", tree, "commit", "-qam", "Both")
        self.person.choose("Check again")

    def give_more(self) -> None:
        assert self.person.fact("Used") == "60,000 of 50,000 tokens"
        self.person.choose("Add to the budget")
        self.person.write("100000")

    def another_way(self) -> None:
        self.person.choose("Retry with another approach")
        self.person.write("Write the file with pathlib")


ANSWERS: dict[str, Callable[[Walk], None]] = {
    "is stuck": Walk.show_how,
    "repeats itself": Walk.another_way,
    LET_RUN: lambda walk: walk.person.choose("No time limit"),
    "asks to restore its files": lambda walk: walk.person.choose("Allow"),
    "asks": lambda walk: walk.person.choose("USD"),
    "The baseline check fails": Walk.mend_the_ground,
    "its result conflicts": Walk.resolve,
    "budget is used up": Walk.give_more,
    "The disk is full": Walk.make_room,
}


def framed(shown: str) -> list[str]:
    """Return the title and the lines of the dialog."""
    found = DIALOG.search(shown)
    if not found:
        return []
    left, right = len(found[1]), found.end() - found.start()
    rows = shown[found.start() :].splitlines()[1:]
    inside = itertools.takewhile(lambda row: row[left : left + 1] == "│", rows)
    return [found[2].partition(" ─")[0].strip(), *(row[left + 2 : right - 1].rstrip() for row in inside)]


def git(*words: str, code: int = 0) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def content(file: Path) -> str:
    """Return the content of ``file``; empty while a restore replaces it."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


@pytest.fixture
def walk(desk: Desk, tmp_path: Path) -> Walk:
    """``unstuck demo`` with every kind of question, at a terminal; one try on the two first rungs is enough for it."""
    desk.environment = {f"UNSTUCK_FAILURE_HANDLER__{rung}": "1" for rung in ("MAX_RETRIES", "MAX_PIVOTS")}
    desk.environment["UNSTUCK_FAILURE_HANDLER__MAX_RESEARCH"] = "0"
    folder = tmp_path / "demo"
    scenarios = [word for name in QUESTIONS for word in ("--scenario", name)]
    terminal = desk.terminal("demo", "--speed", "10", "--keep", str(folder), *scenarios, size=(120, 40))
    return Walk(Person(terminal), folder)


@pytest.mark.timeout(300)  # a shared machine is slow at times, and these are nine tasks with their checks
def test_a_person_walks_through_everything(walk: Walk, desk: Desk) -> None:
    """Answer every kind of question, see why a task failed, go back and forth between checkpoints, outlive a crash,
    and see the first failure again.
    """
    person = walk.person
    shop = replace(desk, root=walk.folder / "shop")
    person.see("unstuck  shop · run")
    walk.answer_all()
    assert set(walk.answered) == set(ANSWERS)
    told = {path.stem: path.read_text(encoding="utf-8") for path in (walk.folder / "told").glob("*.txt")}
    assert "Sign with: endpoint secret" in told["truly-stuck.4"]
    assert "Write the file with pathlib" in told["tool-call-loop.2"]
    assert "USD" in told["needs-a-decision.2"]
    assert "page60.py" in told["rewrites-too-much.2"]

    # Why did it fail?
    person.footer("filter")
    person.see("words to look for")
    person.terminal.write("truly-stuck")
    person.see("1 of 9")
    person.press("⏎")
    person.footer("open")
    person.terminal.gone("⏎ open")
    shown = person.see("AssertionError", "tests/test_webhook.py:9")
    assert "assert 401 == 200" in shown
    person.footer("back")
    person.see("⏎ open")

    # What has changed in the end, and back to before, and forth again.
    person.press(person.help("Show failures, checkpoints, memory"))
    person.turn_to("checkpoints")
    person.see("CHANGED SINCE BEFORE")
    last, before = person.rows_of("truly-stuck")[:2]
    down = person.help("Next row.")
    person.press(down, times=last)
    person.footer("mark")
    person.see("● ")
    person.press(down, times=before - last)
    person.footer("mark")
    person.footer("compare")
    person.see("since chk-", "changed    shop/webhook.py", "- SECRET")
    webhook = Path(str(work_tree(shop.root, "truly-stuck"))) / "shop" / "webhook.py"
    assert "endpoint secret" in webhook.read_text(encoding="utf-8")
    person.footer("restore")
    assert "shop/webhook.py" in person.see("Restore chk-", "Restore them")
    person.choose("Restore them")
    person.see("1 file is restored")
    assert "endpoint secret" not in webhook.read_text(encoding="utf-8")
    person.footer("undo")
    assert "not a person" not in person.see("Undo the restore to chk-", "Restore them")
    person.choose("Restore them")
    person.terminal.gone("Undo the restore")
    while "endpoint secret" not in content(webhook):
        assert person.terminal.read()
    person.footer("back")
    person.terminal.gone("since chk-")

    # The machine goes down while an agent is at work; whoever comes back is asked about it.
    person.terminal.kill(signal.SIGKILL)
    assert person.terminal.ended() == -signal.SIGKILL
    person = Person(shop.terminal(size=(120, 40)))
    person.see("was interrupted: 1 task was at work", "hangs-silently", "enter: resume the run")
    person.press(re.search(r"(\S) Restore and redo", person.terminal.text)[1])  # type: ignore[index]
    person.see("restore, redo")
    person.press("enter")
    person.see("every task succeeded", "9 done")
    person.footer("quit")
    assert person.terminal.ended() == 0
    merged = person.terminal.after
    git("-C", str(shop.root), *re.search(r"git (merge \S+)", merged)[1].split())  # type: ignore[index]
    assert (shop.root / "shop" / "greeting.txt").read_text(encoding="utf-8") == "Welcome. Bienvenue.\n"
    assert (shop.root / "shop" / "hours.txt").exists()
    assert (shop.root / "licence.txt").exists()
    assert "USD" in (shop.root / "shop" / "currency.py").read_text(encoding="utf-8")
    assert not list((shop.root / "shop" / "pages").glob("page*.py"))

    # How did it begin?
    person = Person(shop.terminal("replay", "last", size=(120, 40)))
    person.see("REPLAY")
    person.press(person.bar("next failure"))
    person.see(f" {first_failure(shop)}/")
    person.footer("quit")
    assert person.terminal.ended() == 0


def first_failure(project: Any) -> int:
    """The number of the record that tells of the first check that failed, or of an attempt that broke down before."""
    rows = [json.loads(line) for line in project.unstuck("events", "--json").stdout.splitlines()]
    failed = ("agent_crashed", "agent_timeout", "infrastructure_blocked", "workflow_failed")
    return next(
        int(row["seq"])
        for row in rows
        if row["event"] in failed
        or (row["event"] == "check_finished" and row["data"]["result"] in ("failed", "could_not_run"))
    )


def work_tree(project: Path, task: str) -> Path:
    """Return the worktree of a task by git's list."""
    listed = git("-C", str(project), "worktree", "list", "--porcelain")
    return next(Path(line.split()[1]) for line in listed.splitlines() if line.endswith(f"/{task}"))
