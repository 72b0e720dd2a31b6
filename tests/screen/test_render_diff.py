"""A diff in lines: signs and colours, what is cut, and old and new side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from unstuck import admit
from unstuck_tui.render.diff import DiffLine, brief, heading, note_lines, read_diff, side_by_side, unified
from unstuck_tui.render.format import Line

PYTHON = """\
diff --git a/shop/cart.py b/shop/cart.py
index 1ad366a..a0b28e8 100644
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,4 +1,5 @@ class Cart:
 import decimal
-def total(prices):
-    return sum(prices)
+def total(prices):  # with "tax"
+    return decimal.Decimal("1.19") * sum(prices)
+
 x = 1
"""


def told(lines: Sequence[Line]) -> list[str]:
    return ["".join(cell.text for cell in line) for line in lines]


def test_each_line_has_its_sign_and_its_numbers() -> None:
    """Added and removed lines differ without any colour, and every line knows its place in both files."""
    lines = read_diff(PYTHON)
    assert [(line.kind, line.old, line.new) for line in lines[5:]] == [
        ("same", 1, 1),
        ("removed", 2, 0),
        ("removed", 3, 0),
        ("added", 0, 2),
        ("added", 0, 3),
        ("added", 0, 4),
        ("same", 4, 5),
    ]
    shown = [line.rstrip() for line in told(unified(lines, 80))]
    assert shown[5:8] == ["   import decimal", "  -def total(prices):", "  -    return sum(prices)"]


def test_code_is_coloured_by_its_language() -> None:
    """Keywords, strings, numbers and comments have tones of their own; a language that is not known has none."""
    tones = {text: tone for line in read_diff(PYTHON) for text, tone in line.parts}
    assert tones["def"] == tones["return"] == "keyword"
    assert tones["total"] == "name"
    assert tones["1"] == "number"
    assert any(tone == "string" for tone in tones.values())
    assert tones['# with "tax"'] == "quiet"
    other = read_diff(PYTHON.replace("cart.py", "cart.unknown"))
    assert {tone for line in other for _, tone in line.parts} == {"plain", "quiet", "good", "bad"}


def test_nothing_is_lost_by_colouring() -> None:
    """The parts of a line are its text, whatever the language makes of it."""
    text = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,4 @@\n"
    lines = ["'''not closed", "\tif  x :", "日本 = 'ü'  ", "}}}{{{ $ ` \\"]
    shown = told(unified(read_diff(text + "".join(f"+{line}\n" for line in lines)), 60))[4:]
    assert [line.rstrip() for line in shown] == [
        "  +'''not closed",
        "  +       if  x :",
        "  +日本 = 'ü'",
        "  +}}}{{{ $ ` \\",
    ]


@pytest.mark.parametrize("width", [60, 97, 140])
def test_lines_fit_however_long_they_are(width: int) -> None:
    """Both ways to show a diff keep within the width, also with wide signs and hostile text."""
    diff = PYTHON + "+" + "日本語" * 200 + "\n-\x1b[2J[bold]" + "x" * 5_000 + "\n"
    for shown in (unified(read_diff(admit(diff)), width), side_by_side(read_diff(admit(diff)), width)):
        assert all(cell_len(line) <= width for line in told(shown))
        assert all(line.startswith("  ") and line.isprintable() for line in told(shown))


def test_old_and_new_stand_side_by_side() -> None:
    """A line that was replaced stands beside what replaced it, with the number of each."""
    shown = told(side_by_side(read_diff(PYTHON), 100))
    (line,) = [line for line in shown if "sum(prices)" in line and "return sum" in line]
    left, right = line.split("│")
    assert left.split()[:2] == ["3", "-"]
    assert right.split()[:2] == ["3", "+"]
    (last,) = [line for line in shown if "x = 1" in line]
    assert last.count("x = 1") == 2


def test_a_file_that_is_removed_or_has_no_end_of_line() -> None:
    """Lines of a deleted file are removed ones, and git's own notes are no lines of a file."""
    diff = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n--- old\n-a\n"
    kinds = [line.kind for line in read_diff(diff + "\\ No newline at end of file\n")]
    assert kinds == ["head"] * 5 + ["removed", "removed", "head"]


def test_a_brief_diff_names_each_file_once() -> None:
    """One line names the file with its counts and what became of it, one each hunk with its line and function."""
    gone = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    odd = "diff --git a/y.png b/y.png\nindex 1..2 100644\nBinary files a/y.png and b/y.png differ\n"
    shown = [line.rstrip() for line in told(unified(brief(read_diff(PYTHON + gone + odd)), 80))]
    assert shown[:3] == ["  ▪ shop/cart.py  +3 -2", "  ⋯ line 1  class Cart:", "   import decimal"]
    assert shown[-4:] == ["  ▪ x  +0 -1  deleted", "  ⋯ line 1", "  -a", "  ▪ y.png  binary"]
    assert [line.new for line in brief(read_diff(PYTHON))[2:]] == [line.new for line in read_diff(PYTHON)[5:]]


def test_what_an_agent_wrote_keeps_its_blanks_and_its_place() -> None:
    """Tabs and blanks of any kind stay as wide as they are; the first two columns are never an agent's."""
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/a name\t\n@@ -1 +1,3 @@\n+\tif x:\n+\t\treturn\u00a0\u30001\n"
    shown = [line.rstrip() for line in told(unified(read_diff(diff), 60))]
    assert shown[2:] == ["  +++ b/a name", "  @@ -1 +1,3 @@", "  +       if x:", "  +               return   1"]


def test_why_nothing_can_be_compared_is_said_whole() -> None:
    """A reason that is longer than the page is wide ends on the next line, not at the edge."""
    note = f"git cannot work in /{'deep/' * 8}tree: No such file or directory"
    lines = told(note_lines(note, 60))
    assert " ".join(line.strip() for line in lines) == note
    assert all(line.startswith("  ") and cell_len(line) < 60 for line in lines)


def test_a_diff_that_is_shortened_claims_no_total() -> None:
    """The omitted part of a long diff is not counted, and the line above it says so."""
    diff = "diff --git a/a b/a\n@@ -0,0 +1,10000 @@\n" + "+one\n" * 10_000

    def head(text: str) -> str:
        return told([heading("chk", text, 80)])[0].strip()

    assert head(diff) == "since chk: 1 file, +10000 -0, the first 5000 lines of it"
    assert head(admit(diff, limit=1_000)).startswith("since chk: at least 1 file, +")
    assert head("") == "since chk: no file has changed"
    assert len(read_diff(diff)) == 5_000


@pytest.mark.parametrize("suffix", ["py", "js", "ts", "yaml", "sh", "html", "c", "rb", "php", "sql"])
def test_no_text_holds_up_the_screen(suffix: str) -> None:
    """Text made to be hard to colour is read to its end: each line is coloured alone, and a long one not."""
    hard = ["(" * 290, "'" + "\\" * 280, "/*" * 140, "<" * 290, "{{" * 140, "a" * 290 + "!", '"""' * 90, "$(" * 140]
    diff = f"diff --git a/x.{suffix} b/x.{suffix}\n--- a/x.{suffix}\n+++ b/x.{suffix}\n@@ -0,0 +1,8 @@\n"
    lines: list[DiffLine] = read_diff(diff + "".join(f"+{line}\n" for line in hard))
    assert len(lines) == 4 + len(hard)


def test_another_secret_is_said_to_be_another() -> None:
    """A changed value that is hidden is marked as another one in its new line."""
    diff = "\n".join(
        (
            "diff --git a/app.py b/app.py", "--- a/app.py", "+++ b/app.py", "@@ -1,3 +1,3 @@", "-KEY = '[redacted]'",
            "-port = 80", "+KEY = '[redacted]'", "+port = 81", " TOKEN = '[redacted]'", "@@ -9 +9 @@",
            "+KEY = '[redacted]'",
        )
    )  # fmt: skip
    shown = [line.strip() for line in told(unified(read_diff(diff), 80))]
    assert [line for line in shown if "another value" in line] == ["+KEY = '[redacted]'  (another value)"]
