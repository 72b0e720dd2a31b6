"""Drawing of the browse screen, and the call of an editor, without an app."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from unstuck.diagnosis.model import Diagnosis
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.summary_rows import SignatureRow
from unstuck.runs.deletion.inventory import Inventory, Item
from unstuck.runs.queries.failures import groups_of, rows_of
from unstuck.text import admit
from unstuck.words.labels import level_word
from unstuck.workspace.git.diff_limit import Counted
from unstuck_tui.control.external_editor import Place, command_for, locate
from unstuck_tui.render.browse.checkpoints import COLUMNS as SAVED
from unstuck_tui.render.browse.checkpoints import (
    Saved,
    changed_words,
    diff_lines,
    plan_words,
    saved_about,
    saved_line,
    saved_texts,
    step_lines,
)
from unstuck_tui.render.browse.columns import Column, RowTexts, heading_cells, needs_of, row_cells, spark, tab_cells
from unstuck_tui.render.browse.memory import COLUMNS as MEMORY
from unstuck_tui.render.browse.memory import memory_about, memory_texts, order_lines
from unstuck_tui.render.browse.runs import (
    CUT_OFF,
    RUNS,
    cut_off_about,
    cut_off_in,
    cut_off_texts,
    inventory_about,
    run_texts,
)
from unstuck_tui.render.browse.signatures import COLUMNS, failure_about, failure_history, failure_texts, gates_about
from unstuck_tui.render.diff import heading, read_diff
from unstuck_tui.runs.log.occurrences import Occurrences
from unstuck_tui.screens.browse.signatures import listed

HOSTILE = "[/nope]\x1b[2Jred\u202e\x07 漢字漢字漢字漢字漢字漢字漢字"
WIDTHS = (20, 60, 80, 120, 250)


def checkpoint(**fields: Any) -> Saved:
    row = {"id": "chk-1", "created": "2026-11-22T08:30:00Z", "reason": HOSTILE, "run": "r1", "task": HOSTILE}
    more = {"tree": f"/tmp/{HOSTILE}", "files": 41, "size": 2048, "ignored": 2}
    told = row | more | {"not_covered": [{"path": HOSTILE, "why": "too large"}]} | fields
    return Saved(row=told, root=Path("/tmp"), before="chk-0", changed=(Counted(HOSTILE, 3, None),))


def remembered(**fields: Any) -> dict[str, Any]:
    row = {"memory": "a1", "kind": "rule", "outcome": "", "signature": HOSTILE, "approach": HOSTILE, "cause": HOSTILE}
    return row | {"note": HOSTILE, "task": HOSTILE, "run": "r1", "when": "2026-11-22T08:30:00", "holds": True} | fields


def a_failure(**fields: Any) -> Any:
    row = {"signature": "abc", "count": 3, "first": "2026-11-22T08:00:00Z", "last": "never", "error_type": HOSTILE}
    more = {"location": HOSTILE, "headline": HOSTILE, "tasks": [HOSTILE], "rung": "asked", "worked": HOSTILE}
    return listed([row | more | fields], {}, {HOSTILE: HOSTILE}, 0.0, 1.0)[0]


def a_cut_off(log: Path) -> Any:
    state, _ = current_state(log.parent)
    return next(row for row in cut_off_in("r1", state) if row.task == "cart")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_fits_and_nothing_foreign_acts(past_log: Path, width: int) -> None:
    """However narrow it is and whatever an agent has said, a line is no wider than its list, and its margin is ours."""
    inventory = Inventory(name="r1", run="r1", items=(Item(kind="logs", name=HOSTILE, holds=HOSTILE),))
    change = {"path": HOSTILE, "status": "changed", "before": 1, "after": 2}
    run = {"run": "r1", "started": "2026-11-22T08:00:00Z", "state": "ended", "kind": HOSTILE, "tasks": {HOSTILE: 1}}
    changed = admit(f"diff --git a b\n@@ -0,0 +1 @@\n+{HOSTILE}")
    told = (
        (COLUMNS, failure_texts(a_failure())),
        (SAVED, saved_texts(checkpoint(), now=0.0, marked=False)),
        (MEMORY, memory_texts(remembered())),
        (CUT_OFF, cut_off_texts(a_cut_off(past_log))),
        (RUNS, run_texts(run, live="")),
    )
    rows = [row_cells(columns, texts, width, needs_of(columns, [texts])) for columns, texts in told]
    rows += [row_cells(columns, texts, width) for columns, texts in told]
    rows += [heading_cells(columns, width, needs_of(columns, [texts])) for columns, texts in told]
    for row in rows:
        assert sum(cell_len(cell.text) for cell in row) <= width
    pages = [
        failure_about(a_failure(), width),
        failure_history(a_failure(count=1), width),
        saved_about(checkpoint(), width),
        [saved_line(checkpoint(), width)],
        step_lines(checkpoint(), read_diff(changed), width),
        diff_lines(heading("chk-1 up to now", changed, width), [change], read_diff(changed), width),
        memory_about(remembered() | {"given": 3, "worked": 2, "runs": [HOSTILE]}, width),
        cut_off_about(a_cut_off(past_log), width),
        inventory_about(inventory, HOSTILE, width),
    ]
    for row in (*rows, *(line for page in pages for line in page)):
        text = "".join(cell.text for cell in row)
        assert text[:2].strip() == ""
        assert text.isprintable()
        assert cell_len(text) <= max(width, 24)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_tabs_fit(width: int) -> None:
    """The shown tab is named however little room there is."""
    names = ("signatures", "checkpoints", "memory", "recovery", "deletion", "truth")
    cells = tab_cells(names, "deletion", "7", width)
    assert sum(cell_len(cell.text) for cell in cells) == width
    text = "".join(cell.text for cell in cells)
    assert width < 60 or "[5 deletion]" in text
    assert width < 80 or all(name in text for name in ("failures", *names[1:]))


def test_the_curve_shows_when() -> None:
    """Most at the end is a full bar there, and nothing at all is a flat line."""
    assert spark([0.0, 9.0, 9.5, 9.9], 0.0, 10.0, 5) == "▄▁▁▁█"
    assert spark([], 0.0, 10.0, 5) == "▁▁▁▁▁"
    assert spark([5.0], 5.0, 5.0, 3).count("█") == 1


def test_no_text_is_cut_while_another_column_has_free_cells() -> None:
    """Columns are as wide as their texts need; only then is one cut, and of a place the folders go first."""
    columns = (Column("A", 4, share=1), Column("B", 4, share=1), Column("WHERE", 8, share=1, place=True))
    rows = [RowTexts({"A": "a" * 30, "B": "b", "WHERE": "tests/shop/test_cart.py:9"})]
    needs = needs_of(columns, rows)

    def shown(width: int) -> str:
        return "".join(cell.text for cell in row_cells(columns, rows[0], width, needs))

    assert shown(62) == f"  {'a' * 30} b tests/shop/test_cart.py:9 "
    assert "…" not in shown(60).replace("a…", "")
    assert "shop/test_cart.py:9" in shown(56)
    heading = "".join(cell.text for cell in heading_cells(columns, 62, needs))
    assert heading.index("WHERE") == shown(62).index("tests/")


def test_of_another_run_the_end_is_told_before_long_names() -> None:
    """The names of its tasks are cut; when it was seen last and what became of it are not."""
    row = SignatureRow(
        identity="abc",
        first="",
        last="2026-11-22T08:00:00Z",
        count=74,
        tasks=tuple(f"{'long-' * 8}{n}" for n in range(9)),
    )
    failure = replace(a_failure(), elsewhere={"20261122-080000": row})
    told = " ".join("".join(cell.text for cell in line).strip() for line in failure_history(failure, 56))
    assert "74 times, last" in told
    assert "got as far as first try" in told


def test_the_history_of_a_failure_tells_what_was_tried(past_log: Path) -> None:
    """Its attempts stand in their order, each with its level; beside them the lines of the check that name it."""
    state, _ = current_state(past_log.parent)
    found = Occurrences(past_log).look()
    guidances = {attempt.id: attempt.guidance for attempt in state.attempts.values()}
    rows = list(rows_of([("r1", state.signatures.values())], {}))
    failure = next(
        one for one in listed(rows, found, {}, 0.0, 1.0, guidances=guidances) if one.row["tasks"] == ["webhook"]
    )
    page = ["".join(cell.text for cell in line).split("  ", 2)[-1].strip() for line in failure_history(failure, 100)]
    assert [line.partition(":")[0].split() for line in page[:4]] == [
        ["try", str(number), "✗", *level_word(guidances[f"webhook.{number}"].level).split()] for number in range(1, 5)
    ]
    texts = failure_texts(failure).texts
    assert texts["WHAT FAILED"] == failure.row["headline"]
    about = "\n".join("".join(cell.text for cell in line) for line in failure_about(failure, 100))
    assert "4 times" in about
    printed = (
        "F.\n=== FAILURES ===\n>       assert total == 3\nE   assert 2 == 3\n\ntests/test_x.py:9: AssertionError\n"
    )
    signature = {"error_type": "ASSERTION_ERROR", "location": "tests/test_x.py:9"}
    diagnosis = Diagnosis.from_dict({"signature": signature, "headline": "assert 2 == 3"})
    about = failure_about(replace(failure, printed=printed, diagnosis=diagnosis), 100)
    marked = ["".join(cell.text for cell in line).split() for line in about][-3:]
    assert marked == [
        [">", "assert", "total", "==", "3"],
        ["▸", "E", "assert", "2", "==", "3"],
        ["▸", "tests/test_x.py:9:", "AssertionError"],
    ]


def test_the_changes_of_a_checkpoint_are_told_in_a_few_words() -> None:
    """Of one file its name, of many their number, and of a checkpoint like the one before that nothing changed."""
    saved, one = checkpoint(), Counted("shop/cart.py", 3, 2)
    assert changed_words(replace(saved, changed=(one,))) == "+3 -2 cart.py"
    assert changed_words(replace(saved, changed=(one, one))) == "+6 -4 2 files"
    assert changed_words(replace(saved, changed=())) == "nothing"
    assert changed_words(replace(saved, changed=None)) == ""
    assert changed_words(replace(saved, changed=None, before="")) == "-"


def test_occurrences_are_those_of_the_log(past_log: Path) -> None:
    """Each failure has as many as the run counts, with their records; looked at again there are no more."""
    state, _ = current_state(past_log.parent)
    occurrences = Occurrences(past_log)
    assert occurrences.look(most=20)
    assert not occurrences.is_whole
    for _ in range(2):
        found = occurrences.look()
        assert occurrences.is_whole
        assert {name: len(seen.times) for name, seen in found.items()} == {
            row.identity: row.count for row in state.signatures.values()
        }
    webhook = next(seen for seen in found.values() if seen.last[0].task == "webhook")
    assert [one.attempt for one in webhook.last] == ["webhook.1", "webhook.2", "webhook.3", "webhook.4"]


def test_alike_failures_stand_together(past_log: Path) -> None:
    """The same words at another status are a failure of their own, and stand below the one that they are like."""
    state, _ = current_state(past_log.parent)
    found = Occurrences(past_log).look()
    known = {name: seen.signature for name, seen in found.items() if seen.signature is not None}
    (first, signature), *others = known.items()
    groups = groups_of([*known, "twin", "unknown"], known | {"twin": signature})
    assert groups == {first: first, **{name: name for name, _ in others}, "twin": first, "unknown": "unknown"}
    rows = list(rows_of([("r1", state.signatures.values())], {}))
    twin = dict(rows[0]) | {"signature": "twin"}
    shown = listed([*rows, twin], found | {"twin": found[rows[0]["signature"]]}, {}, 0.0, 1.0)
    assert [failure.identity for failure in shown][:2] == [rows[0]["signature"], "twin"]
    assert "└" in "".join(cell.text for cell in row_cells(COLUMNS, failure_texts(shown[1]), 120))


def test_all_who_ask_about_a_failure_are_found(past_log: Path) -> None:
    """Every open question about this failure is found, and no other."""
    state, _ = current_state(past_log.parent)
    identity = next(row.identity for row in state.signatures.values() if "webhook" in row.tasks)
    assert gates_about(state, identity) == []
    row = state.gates["g1"]
    state.gates["g1"] = replace(row, gate=replace(row.gate, status="open"))
    assert gates_about(state, identity) == ["g1"]
    assert gates_about(state, "another") == []


def test_a_plan_says_every_file() -> None:
    """A restore plan names files with sizes, a long one its first two hundred."""
    rows = [{"path": f"f{number}", "status": "changes", "before": 1, "after": 2} for number in range(201)]
    said = plan_words("chk-1", "/shop", rows, "a rebase")
    assert said[0] == "chk-1 restores in /shop: 201 files change"
    assert "a rebase is under way" in said[1]
    assert "f199 (1 B → 2 B)" in said[-2]
    assert said[-1] == "and 1 more"
    assert "nothing, the files are the same" in plan_words("chk-1", "/shop", [], "")[0]


@pytest.mark.parametrize(
    ("environ", "line", "command"),
    [
        ({"EDITOR": "vim"}, 7, ["vim", "+7", "/f"]),
        ({"EDITOR": "vim", "VISUAL": "/usr/bin/code -w"}, 7, ["/usr/bin/code", "-w", "--goto", "/f:7"]),
        ({"EDITOR": "hx"}, 7, ["hx", "/f:7"]),
        ({"EDITOR": "kate"}, 7, ["kate", "--line", "7", "/f"]),
        ({"EDITOR": "unheard-of"}, 7, ["unheard-of", "/f"]),
        ({"EDITOR": "vim"}, 0, ["vim", "/f"]),
        ({"EDITOR": "a 'b"}, 7, []),
        ({}, 7, []),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(environ: dict[str, str], line: int, command: list[str]) -> None:
    """Known editors open at the line, others the file; nothing is a shell's to read."""
    assert command_for(environ, Place(Path("/f"), line)) == command


def test_only_files_of_the_task_are_opened(repo: Path, tmp_path: Path) -> None:
    """A place is found in the task's tree, from where the agent stood or from the top; no way leads out of it."""
    (repo / "shop").mkdir()
    (repo / "shop" / "cart.py").write_text("", encoding="utf-8")
    outside = tmp_path / "secret"
    outside.write_text("", encoding="utf-8")
    (repo / "link").symlink_to(outside)
    folders = [repo / "shop"]
    cart = repo / "shop" / "cart.py"
    assert locate(folders, "cart.py:18") == Place(cart, 18)
    assert locate(folders, "shop/cart.py:18:3") == Place(cart, 18)
    assert locate(folders, f"{cart}") == Place(cart, 0)
    for location in ("../../secret:1", "link:1", f"{outside}:1", "/etc/passwd:1", "nothing.py:1", "", ":3", "a\0b:1"):
        assert locate(folders, location) is None


def test_an_offered_answer_says_so() -> None:
    """The memory tab shows the evidence of an answer that may become a rule."""
    row = remembered() | {"kind": "answer", "given": 3, "worked": 2, "runs": ["a", "b", "c"]}
    page = ["".join(cell.text for cell in line) for line in memory_about(row, 80)]
    assert any(
        "offered" in line and "as a rule: given 3 times to this failure, worked 2 times" in line for line in page
    )
    assert not any("offered" in "".join(cell.text for cell in line) for line in memory_about(remembered(), 80))
    assert "offered" in "".join(cell.text for cell in row_cells(MEMORY, memory_texts(row), 80))


def test_the_order_of_approaches_says_why() -> None:
    """In the memory tab the approaches against a failure stand in their order, each with its record."""
    row = {"order": "learned", "stopped": False, "worked": 4, "tried": 5}
    ranked = [row | {"place": 1, "approach": "tabulate"}, row | {"place": None, "approach": "mock it", "worked": 0}]
    page = ["".join(cell.text for cell in line).strip() for line in order_lines(ranked, 80)]
    assert page == [
        "place 1    tabulate: worked 4 of 5 against similar failures",
        "not taken  mock it: failed against this failure: not taken again",
    ]


def test_a_day_and_its_time_are_of_the_same_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """West of UTC an evening is on the day before the one that the log names; of today only the time is shown."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        saved, evening = checkpoint(created="2026-11-23T00:56:27.000Z"), 1_795_395_600.0
        assert saved_texts(saved, now=evening + 86_400, marked=False).texts["TIME"] == "11-22 19:56:27"
        assert saved_texts(saved, now=evening - 3_600, marked=False).texts["TIME"] == "19:56:27"
        assert memory_texts(remembered(when="2026-11-23T00:56:27.000Z")).texts["WHEN"] == "11-22 19:56"
    finally:
        monkeypatch.undo()
        time.tzset()
