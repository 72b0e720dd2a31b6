"""Each rule with a history that it must tell from the one beside it."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.detection.test_loop_histories import History, bad, edit, joined, ok, read, verdicts

from unstuck.contract import Observation


def together(*calls: tuple[str, str, bool], start: int = 0) -> History:
    """Calls of one turn: all of them first, then their results."""
    made = [
        Observation(kind="action", text=text, id=f"c{start + n}", task_id="task")
        for n, (text, _, _) in enumerate(calls)
    ]
    for n, (_, result, failed) in enumerate(calls):
        kind = "failure" if failed else "success"
        made.append(Observation(kind=kind, text=result, id=f"c{start + n}", task_id="task"))  # type: ignore[arg-type]
    return made


def tool(name: str, result: str, failed: bool = False, **given: object) -> History:
    """A call with arguments."""
    return (bad if failed else ok)(f"{name} {json.dumps(given)}", result, name)


def test_calls_of_one_turn_are_one_round() -> None:
    """Four calls that fail together are one failure; in four turns they are a loop."""
    calls = [(f"fetch https://a.example/{n}", "the certificate of a.example has expired", True) for n in range(4)]
    assert verdicts(together(*calls)) == []
    assert verdicts(joined(together(call, start=n) for n, call in enumerate(calls)))


def test_identical_calls_of_one_turn_count_each() -> None:
    """The same failing call three times at once is the same failure three times."""
    assert verdicts(together(*[("make", "no rule to make target 'all'", True)] * 3))


def test_a_cancelled_call_is_no_step_and_keeps_its_number() -> None:
    """Calls that the agent cancelled are not judged, and the edits between are still counted where they are."""
    cancelled = "<tool_use_error>Cancelled: parallel tool call Bash(make) errored</tool_use_error>"
    assert verdicts(together(*[(f"Read f{n}", cancelled, True) for n in range(6)])) == []
    assert verdicts(joined(bad(f"Read f{n}", cancelled) for n in range(6))) == []
    assert verdicts(joined(bad(f"Read f{n}", "something else was cancelled by itself") for n in range(6)))


def test_known_slices_add_up() -> None:
    """Two slices of a file that were shown are known in later looks."""
    upper, lower = "def a(): ...\ndef b(): ...", "def c(): ...\ndef d(): ..."
    known = joined(ok(f"sed -n {n},40p a.py", upper if n % 2 else lower) for n in range(1, 10))
    assert verdicts(known)
    assert verdicts(joined(ok(f"sed -n {n},40p a.py", f"def f{n}(): ...") for n in range(1, 10))) == []


def test_missing_names_of_two_kinds_are_not_one_guess() -> None:
    """Six look-ups with the same answer are a loop, six with two answers in turns are none."""
    files = [bad(f"cat /srv/app{n}.conf", f"cat: /srv/app{n}.conf: No such file or directory") for n in range(6)]
    users = [bad(f"id user{n}", f"id: user{n}: no such user") for n in range(6)]
    assert verdicts(joined(files))
    assert verdicts(joined([*files[:3], *users[:3]])) == []


def test_code_shown_around_an_error_is_not_the_error() -> None:
    """Scripts that fail differently below the same long line of code are different failures."""
    shown = "    raise RuntimeError('the connection to the database failed: check the settings of the pool')"
    history = [
        bad(f"python s{n}.py", f"{shown}\n{error}")
        for n, error in enumerate(("KeyError: 1", "TypeError: x", "OSError: y", "EOFError"))
    ]
    assert verdicts(joined(history)) == []
    same = shown.strip()
    assert verdicts(joined(bad(f"python s{n}.py", f"{same}\nat step {n} of script {n}") for n in range(4)))


def test_a_short_error_in_common_is_not_the_same_error() -> None:
    """Scripts whose outputs share only a short remark have failed differently."""
    assert verdicts(joined(bad(f"python s{n}.py", f"error: it failed\nin part {n} at {n * 3}") for n in range(5))) == []


def test_a_failing_test_about_an_outage_is_no_outage() -> None:
    """An assertion that quotes a refused connection is the agent's own failure."""
    text = "FAILED tests/test_retry.py::test_refused - assert 'Connection refused' == 'retried'"
    assert {said.kind for said in verdicts(joined(bad("pytest -q", text) for _ in range(4)))} == {"loop"}
    assert {said.kind for said in verdicts(joined(bad("./sync", "Connection refused") for _ in range(4)))} == {
        "blocked"
    }


def test_a_tree_that_stays_is_no_return() -> None:
    """Steps that leave the files alone bring nothing back; files that come back twice do."""
    assert verdicts(joined(ok(f"look {n}", f"line {n}", tree="aaaa") for n in range(8))) == []
    assert verdicts(joined(ok(f"look {n}", f"line {n}", tree="aaaa" if n % 2 else "bbbb") for n in range(8)))


def test_a_checkout_of_the_same_files_is_no_return() -> None:
    """States that are checked out are meant, however often."""
    assert (
        verdicts(joined(ok(f"git checkout v{n}", f"at v{n}", tree="aaaa" if n % 2 else "bbbb") for n in range(8))) == []
    )


def test_one_check_in_a_row_may_differ_in_words() -> None:
    """Runs of one command in a row that fail at the same place with other details are one failure."""
    text = "deploy: error: the health check of service cart did not answer in time, details in report {} of node {}"
    words = [("3 alpha", "north"), ("5 beta", "south"), ("8 gamma", "east"), ("9 delta", "west")]
    assert verdicts(joined(bad("./deploy", text.format(*pair)) for pair in words))
    assert verdicts(joined(bad(f"./deploy{n}", text.format(*pair)) for n, pair in enumerate(words))) == []


def test_a_number_that_changes_is_a_trend() -> None:
    """One check whose failure differs in a number only may improve."""
    text = "error: the worst frame needs {} draws, more than the budget of the renderer allows on this machine"
    assert verdicts(joined(bad("./frames", text.format(number)) for number in ("91.5", "87.2", "93.9", "89.1"))) == []
    assert verdicts(joined(bad("./frames", text.format("91.5")) for _ in range(3)))


def test_a_percentage_alone_is_work_in_progress() -> None:
    """A copy that stands at the same percentage is waited for, for ten rounds."""
    assert verdicts(joined(ok("./copy --show", "40 %") for _ in range(9))) == []
    assert verdicts(joined(ok("./copy --show", "40 %") for _ in range(12)))[0].kind == "waiting"


def test_a_plan_between_edits_does_not_split_a_change() -> None:
    """A rename that is undone in several files with plans between them is undone once."""

    def replaced(file: str, old: str, new: str) -> History:
        return ok(f"Edit {json.dumps({'file_path': file, 'old_string': old, 'new_string': new})}", "updated", "edit")

    plan = tool("TodoWrite", "ok", todos=[{"content": "rename", "status": "completed"}])
    files = [f"{name}.py" for name in "abcd"]
    forth = joined(replaced(file, "size", "length") for file in files)
    back = joined(replaced(file, "length", "size") + plan for file in files)
    assert verdicts(forth + bad("make lint", "length is reserved") + back) == []
    checked = joined(replaced(file, "length", "size") + ok(f"make {file}", f"built {file}") for file in files)
    assert verdicts(forth + bad("make lint", "length is reserved") + checked)


def test_a_flag_for_help_is_another_question() -> None:
    """Help and version of a program are not the program's check; its run with other flags is."""
    usage = "usage: conv FILES\nconv: error: FILES is missing"
    assert verdicts(bad("conv --help", usage) + bad("conv --version", usage) + bad("conv", usage)) == []
    assert verdicts(joined(bad(f"conv {flags}", usage) for flags in ("-v", "-vv", "-q", "--fast")))


def test_nothing_done_needs_three_in_the_same_words_and_four_in_others() -> None:
    """A call without effect is counted by what it is, not by its words."""
    assert len(verdicts(joined(ok(": look", "") for _ in range(3)))) == 1
    assert verdicts(joined(ok(f": look at {n}", "") for n in "abc")) == []
    assert len(verdicts(joined(ok(f": look at {n}", "") for n in "abcd"))) == 1
    assert verdicts(joined(ok(f": look && ./run {n}", f"ran {n}") for n in "abcd")) == []
    assert verdicts(joined(ok(f": look > {n}.txt", "") for n in "abcd")) == []
    assert verdicts(joined(ok(f": look $(./run {n})", "") for n in "abcd")) == []
    assert verdicts(joined(ok(f": look | ./run {n}", "") for n in "abcd")) == []
    assert len(verdicts(joined(ok(f": look at $HOME/{n} 2>&1 | head -{n} || echo no", "") for n in "1234"))) == 1


def test_a_call_without_effect_long_ago_does_not_count() -> None:
    """Calls that do nothing, each after much work, are no loop."""
    work = joined(ok(f"cat f{n}.py", f"text {n}") for n in range(13))
    assert verdicts(joined([ok(": look", ""), work] * 4)) == []


def test_slips_between_answers_are_no_loop() -> None:
    """Calls that do nothing in other words are counted since the last answer, those in the same words are not."""
    slips = [ok(f": look at {n}", "") + ok(f"cat {n}.py", f"text {n}") for n in "abcdef"]
    assert verdicts(joined(slips)) == []
    assert verdicts(joined(ok(": look", "") + ok(f"cat {n}.py", f"text {n}") for n in "abc"))


def test_plans_are_a_loop_only_without_progress_between() -> None:
    """Four plans in a row are one too many, unless an item is done in each or work lies between."""

    def plan(words: str, *states: str) -> History:
        return tool("TodoWrite", "ok", todos=[{"content": words, "status": state} for state in states])

    assert len(verdicts(joined(plan(word, "pending", "pending") for word in "abcd"))) == 1
    done = [["completed"] * n + ["pending"] * (6 - n) for n in range(6)]
    assert verdicts(joined(plan("a", *states) for states in done)) == []
    assert verdicts(joined(plan(word, "pending") + ok(f"./run {word}", f"ran {word}") for word in "abcdef")) == []


def test_the_same_text_written_again_with_news_between_is_no_loop() -> None:
    """A file may be reset before each run that says something new."""

    def write(text: str) -> History:
        return tool("Write", "updated", file_path="in.txt", content=text)

    assert len(verdicts(write("one") * 3)) == 1
    assert verdicts(joined(write("one") + ok("./run", f"result {n}") for n in range(5))) == []
    assert verdicts(joined(write(f"text {n}") for n in range(5))) == []
    changed = tool("Edit", "updated", file_path="in.txt", old_string="one", new_string="two")
    assert verdicts(joined([write("one"), write("one"), changed, write("one"), write("one")])) == []


def test_a_value_is_stalled_only_after_changes() -> None:
    """Nine tries between the same bounds are a loop; measurements without a change, and a better value, are none."""

    def tries(*values: float, change: bool = True) -> History:
        return joined(
            (edit(f"rate {n}") if change else []) + ok("./evaluate", f"accuracy: {value}")
            for n, value in enumerate(values)
        )

    flat = (0.61, 0.64, 0.6, 0.62, 0.63, 0.61, 0.64, 0.6, 0.62)
    assert len(verdicts(tries(*flat))) == 1
    assert verdicts(tries(*flat, change=False)) == []
    assert verdicts(tries(*flat[:8])) == []
    assert verdicts(tries(*flat[:8], 0.7)) == []
    assert verdicts(tries(*flat[:8], 0.5)) == []


def test_a_search_elsewhere_or_for_another_name_is_another_search() -> None:
    """Four searches for one name in one place that find nothing are a loop."""
    reworded = [f"grep -rn '{pattern}' src" for pattern in ("open_door", "def open_door", "open_door(", "open_door *=")]
    assert len(verdicts(joined(bad(search, "") for search in reworded))) == 1
    assert (
        verdicts(joined(bad(f"grep -rn open_door {place}", "") for place in ("src", "lib", "docs", "web", "api"))) == []
    )
    assert (
        verdicts(
            joined(bad(f"grep -rn {name} src", "") for name in ("open_door", "shut_door", "window", "roof", "wall"))
        )
        == []
    )
    found = [ok(search, f"src/a.py:{n}: hit {n}") for n, search in enumerate(reworded)]
    assert verdicts(joined(found)) == []


def test_an_edit_ends_a_search() -> None:
    """A search is repeated to see that nothing is left after a change."""
    search = bad("grep -rn old_name src", "")
    assert verdicts(joined(search + edit(f"rename part {n}") for n in range(6))) == []
    assert verdicts(search + read("a.py", "x") + search + read("b.py", "y") + search)


def test_a_refused_permission_is_blocked_at_the_third_tool() -> None:
    """A permission that only a person can give is reported after three refusals, by whatever tools."""
    names = ("WebSearch", "WebFetch", "Browser")
    refused = [tool(name, f"Permission to use {name} has been denied.", True, q=name) for name in names]
    assert [said.kind for said in verdicts(joined(refused))] == ["blocked"]
    assert verdicts(joined(refused[:2])) == []
    others = [
        tool(name, f"{name} found nothing in section {number}", True, q=name) for number, name in enumerate(names)
    ]
    assert verdicts(joined(others)) == []


def test_an_installer_may_try_other_versions() -> None:
    """Versions of a package that cannot be built are tried longer than other words for one try."""
    text = "ERROR: Failed building wheel for numba"
    assert verdicts(joined(bad(f"pip install numba==0.{n}", text) for n in range(5))) == []
    assert verdicts(joined(bad(f"pip install numba==0.{n}", text) for n in range(6)))
    assert verdicts(joined(bad(f"python build{n}.py", text) for n in range(4)))


def test_a_failure_that_moves_with_an_edit_is_the_same() -> None:
    """A few lines further down is the same failure, many lines are progress, other words are another failure."""

    def checked(line: int, name: str = "total") -> History:
        return edit(f"line {line} {name}") + bad(
            "make", f"src/a.c:{line}:3: error: '{name}' undeclared\nmake: *** [all] Error 1"
        )

    assert verdicts(joined(checked(line) for line in (10, 14, 20)))
    assert verdicts(joined(checked(line) for line in (10, 40, 70, 100))) == []
    assert verdicts(joined(checked(line, name) for line, name in ((10, "a"), (14, "b"), (20, "c"), (24, "d")))) == []


def test_a_process_or_a_session_is_no_news() -> None:
    """Results that differ only in the process, the session or the file of the output are the same."""
    for text in (
        "Session {}a created",
        "started job with ID: {}b",
        "[1] {}",
        "line 1: {} Segmentation fault ./run",
        "ready (pid {})",
        "written to /tmp/jobs/{}.output",
    ):
        started = joined(ok("./start", text.format(number)) for number in (48213, 51907, 60122))
        assert len(verdicts(started)) == 1, text
    kept = joined(ok("./start", f"listed item {number}") for number in (48213, 51907, 60122))
    assert verdicts(kept) == []


def test_plans_of_one_turn_are_one_plan() -> None:
    """Two different plans at once are one; the agent saw no answer between them."""
    plans = [(f'TodoWrite {{"todos":"{word}"}}', "ok", False) for word in "abcdef"]
    turns = [together(*plans[n : n + 2], start=n) for n in (0, 2, 4)]
    assert verdicts(replace(one, tool="TodoWrite") for one in joined(turns)) == []
    alone = [together(plan, start=n) for n, plan in enumerate(plans)]
    assert verdicts(replace(one, tool="TodoWrite") for one in joined(alone))


def test_searches_that_find_in_turns_are_no_loop() -> None:
    """A reworded search that finds something every second time gets on."""
    patterns = ("open_door", "def open_door", "open_door(", "open_door *=", "open_door,", "open_door)")
    history = [ok(f"grep -rn '{text}' src", "" if n % 2 else f"src/a.py:{n}: {n}") for n, text in enumerate(patterns)]
    assert verdicts(joined(history)) == []


def test_a_question_with_a_bare_answer_is_a_loop_before_a_silent_command() -> None:
    """Four equal questions are a loop; five silent commands that write are none."""
    assert verdicts(joined(ok("grep -c TODO a.py", "0") for _ in range(4)))
    assert verdicts(joined(ok("cat part.txt >> whole.txt", "") for _ in range(5))) == []


def test_a_quoted_time_is_a_value() -> None:
    """A time in quotation marks is a result, a bare one is when it happened."""
    assert verdicts(joined(ok("./show", f"value '12:00:0{n}'") for n in range(4))) == []
    assert verdicts(joined(ok("./show", f"value 12:00:0{n}") for n in range(4)))


def test_thoughts_are_judged_and_their_results_are_not() -> None:
    """Different thoughts are no loop although the tool answers the same to each."""
    thoughts = (
        "the parser drops the last token",
        "maybe the buffer ends early",
        "so read one more byte",
        "then test it",
    )
    assert verdicts(joined(ok(text, "Your thought has been logged.", "think") for text in thoughts)) == []
    assert verdicts(joined(ok(thoughts[0], "Your thought has been logged.", "think") for _ in range(3)))


def test_an_empty_answer_to_the_same_question_is_a_loop_between_other_looks() -> None:
    """A question or a piped search that stays empty counts although something else is read between."""
    for question in ("git log --author=bot --oneline", "find /app -type f | xargs strings | grep -i open_door"):
        asked = [ok(question, "") + read(f"{name}.py", f"text of {name}") for name in "abc"]
        assert len(verdicts(joined(asked))) == 1, question
        assert verdicts(joined(asked[:2])) == []


def test_edits_in_one_line_of_words_are_not_texts() -> None:
    """A described edit does not say what was written: five in the same words prove nothing."""
    assert verdicts(joined(edit("a.py: rename the next field") for _ in range(5))) == []


def test_another_form_of_a_check_that_passes_does_not_make_it_pass() -> None:
    """A formatter that mends and its check that still fails are a loop; a check that passes once in between is none."""
    mend, check = ok("tidy --write src", "1 file"), bad("tidy --check src", "src/a.py would be reformatted")
    assert verdicts([*mend, *check] * 3)
    assert verdicts([*check, *mend, *ok("tidy --check src", "all done")] * 4) == []
    other = [bad("tidy --check src", f"src/{name}.py would be reformatted") for name in ("one", "two", "three", "four")]
    assert verdicts(joined([*mend, *one] for one in other)) == []


def test_a_failure_that_names_what_was_just_written_is_the_same() -> None:
    """Another name in the same error is no progress where the agent has just written it; a name that it meets is."""
    names = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")

    def guesses(met: int) -> History:
        return joined(
            [
                *tool("edit", "updated", path="app.ts", old_string=f"'./{names[n - 1]}'", new_string=f"'./{names[n]}'"),
                *bad("tsc", f"app.ts(3,21): error TS2307: Cannot find module './{names[n + met]}'."),
            ]
            for n in range(5)
        )

    assert verdicts(guesses(0))
    assert verdicts(guesses(1)) == []


def test_a_failure_whose_value_falls_is_coming_nearer() -> None:
    """A check that fails by less each time is progress; one that fails by as much, or by more and less, is none."""

    def misses(*pixels: int) -> History:
        return joined(
            [
                *edit("a.css"),
                *bad("looks", f"1) home\n\n {many} pixels differ\n\n1 failed"),
            ]
            for n, many in enumerate(pixels)
        )

    assert verdicts(misses(900, 800, 700, 600)) == []
    assert verdicts(misses(900, 900, 900, 900))
    assert verdicts(misses(900, 800, 850, 820))


def test_a_thing_that_stays_as_it_is_after_each_try_is_a_loop() -> None:
    """A value set four times and read as before is a loop; one set here and read there is none."""

    def tries(there: bool, changes: bool) -> History:
        return joined(
            [
                *tool("set_cell", '{"ok": true}', cell="B1" if there else "C7", value=f"={word}(A:A)"),
                *tool("get_cell", f'{{"shown": "#REF! {word if changes else ""}"}}', cell="C7"),
            ]
            for word in ("SUM", "INDEX", "FILTER", "QUERY", "MATCH")
        )

    assert verdicts(tries(there=False, changes=False))
    assert verdicts(tries(there=True, changes=False)) == []
    assert verdicts(tries(there=False, changes=True)) == []


def test_the_same_failure_in_the_logs_of_other_runs_is_a_loop() -> None:
    """A log of a run elsewhere fails without an exit code: the same failure three times is a loop, another is none."""

    def runs(*names: str) -> History:
        return joined(
            [
                *ok("git push -q", ""),
                *edit("a.py"),
                *ok(
                    f"gh run view {7000 + n} --log-failed", f"FAILED tests/test_a.py::{name} - AssertionError\n1 failed"
                ),
            ]
            for n, name in enumerate(names)
        )

    assert verdicts(runs("test_one", "test_one", "test_one"))
    assert verdicts(runs("test_one", "test_two", "test_three")) == []


def test_a_label_is_looked_for_by_its_value() -> None:
    """One value under other labels is one search; other values under one label are several."""
    none = "No resources found"
    labels = ("app", "name", "tier", "component", "k8s-app")
    assert verdicts(joined(ok(f"kubectl get pods -l {label}=shop", none) for label in labels))
    assert (
        verdicts(joined(ok(f"kubectl get pods -l app={name}", none) for name in ("shop", "mail", "cart", "login")))
        == []
    )
