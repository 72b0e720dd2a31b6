"""Steps that gain nothing, each beside the one that gains something and looks like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.detection.test_loop_histories import History, bad, edit, joined, ok, verdicts
from tests.detection.test_loop_rules import tool

from unstuck.agents.streams import STREAMS
from unstuck.contract import Observation
from unstuck.detection import LoopDetector

RECORDED = Path(__file__).parents[1] / "data" / "streams" / "claude_cancelled.jsonl"
PAGE = "- heading 'Settings'\n- textbox 'Name'\n- textbox 'Place'\n- button 'Next' [disabled]"


def kinds(history: History) -> list[str]:
    """The kinds of what is said."""
    return [said.kind for said in verdicts(history)]


def recorded() -> History:
    """A session of Claude Code 2.1.158: three turns, each of a call that fails and two that are then cancelled."""
    stream = STREAMS["claude"]()
    told = [one for line in RECORDED.read_bytes().splitlines() for one in stream.read(line)]
    return [replace(one, task_id="task") for one in told]


def test_calls_that_claude_code_cancelled_are_no_failures() -> None:
    """The same two calls cancelled in three turns are not judged: only the call that failed itself is a step."""
    history = recorded()
    failed = [one.text for one in history if one.kind == "failure"]
    assert len(failed) == 9
    assert sum("Cancelled: parallel tool call" in text for text in failed) == 6
    assert verdicts(history) == []


def test_a_call_that_fails_with_its_siblings_cancelled_is_a_loop_at_the_third_turn() -> None:
    """The cancelled siblings between do not hide that one call fails in the same way in every turn."""
    same = [
        replace(one, text=one.text.replace("check", "build").replace("test.sh", "build.sh"))  # type: ignore[arg-type]
        for one in recorded()
    ]
    (said,) = verdicts(same)
    assert "missing-build.sh" in said.steps[0]
    assert said.repeats == 3


def test_a_check_with_other_pipes_is_the_same_check() -> None:
    """Tests that pass a fourth time without a change between say nothing new, whatever cuts their output."""
    passed = [ok(f"npm test 2>&1 | tail -{n}" if n % 2 else "npm test", "61 passed") for n in range(4)]
    assert len(verdicts(joined(passed))) == 1
    assert verdicts(joined(passed[:3])) == []
    assert verdicts(joined(ok(f"cd packages/{n} && npm test", "61 passed") for n in range(6))) == []
    assert verdicts(joined(ok(f"npm test -- --seed={n}", "61 passed") for n in range(6))) == []
    assert verdicts(joined(run + edit(f"file{n}.js") for n, run in enumerate(passed * 2))) == []


def test_an_answer_between_failures_of_the_call_is_not_stuck() -> None:
    """A call that passes and fails in turns is another one each time."""
    turns = ok("make check", "all 12 targets are there") + bad("make check", "no rule to make target 'all'")
    assert verdicts(turns * 6) == []


def test_a_page_that_stays_the_same() -> None:
    """Four other clicks that show the same page change nothing; other pages and short answers do."""
    clicks = [tool("browser_click", PAGE, ref=f"e{n}") for n in range(4)]
    assert len(verdicts(joined(clicks))) == 1
    assert verdicts(joined(clicks[:3])) == []
    assert verdicts(joined(tool("browser_click", f"{PAGE}\n- text '{n}'", ref=f"e{n}") for n in range(6))) == []
    assert verdicts(joined(tool("browser_click", "clicked", ref=f"e{n}") for n in range(6))) == []


def test_a_message_sent_again() -> None:
    """The same message a third time is a loop, whatever number its receipt has; keys may be sent again."""
    assert len(verdicts(joined(tool("message_send", f"sent as {n}{n}", text="ready") for n in range(3)))) == 1
    assert verdicts(joined(tool("message_send", "sent", text=f"part {n}") for n in range(5))) == []
    assert verdicts(joined(tool("send_keys", f"question {n}", keys="Enter") for n in range(5))) == []


def test_a_list_that_stays_empty() -> None:
    """A listing that is empty under any filter; one that has nothing but counts is as empty."""
    for nothing in ("[]", '{"items": [], "total": 0}', "No resources found.", "(0 rows)"):
        lists = [tool("list_components", nothing, project="shop", limit=10 * n) for n in range(4)]
        assert len(verdicts(joined(lists))) == 1, nothing
        assert verdicts(joined(lists[:3])) == [], nothing
    found = '{"items": ["cart"], "total": 1}'
    assert verdicts(joined(tool("list_components", found, project="shop", limit=n) for n in range(4))) == []


def test_a_job_that_has_ended_is_not_waited_for() -> None:
    """The third look at a job that has ended is a loop; a job at work may be looked at longer."""

    def look(text: str, n: int) -> History:
        return tool(
            "BashOutput", f"<status>{text}</status>\n<timestamp>2026-05-03T10:0{n}:00Z</timestamp>", bash_id="b1"
        )

    assert kinds(joined(look("completed", n) for n in range(3))) == ["loop"]
    assert kinds(joined(look("running", n) for n in range(9))) == []
    elapsed = [tool("TaskOutput", f"still running ({n}0s), no new output", id="t1") for n in range(1, 11)]
    assert kinds(joined(elapsed)) == ["waiting"]


def test_what_refuses_between_waits_is_waited_for() -> None:
    """A server that refuses after each sleep is waited for; without a sleep the third refusal is told."""
    refused = bad("curl -sf localhost:8080/health", "curl: (7) Failed to connect to localhost port 8080")
    slept = [refused + ok(f"sleep {2**n}", "") for n in range(5)]
    assert verdicts(joined(slept)) == []
    assert kinds(refused * 3) == ["blocked"]
    assert verdicts(joined(bad("make", "no rule to make target 'all'") + ok("sleep 2", "") for _ in range(3)))


def test_the_machine_is_in_trouble_whichever_program_says_so() -> None:
    """A full disk is one failure in four programs; four files that are missing are four."""
    said = ("cp: error writing 'a'", "npm ERR! ENOSPC: write", "tar: out.tar: Cannot write", "bash: echo: write error")
    full = [bad(f"step{n}", f"{text}: No space left on device") for n, text in enumerate(said)]
    assert kinds(joined(full)) == ["blocked"]
    assert verdicts(joined(full[:3])) == []
    assert verdicts(joined(bad(f"step{n}", f"{text}: Input/output error") for n, text in enumerate(said))) == []


def test_a_package_with_other_options_is_the_same_package() -> None:
    """One package that is not there is a loop with the fourth option; other versions are other tries."""
    text = "ERROR: No matching distribution found for the package that was named"
    forms = ("pip install {}", "pip3 install --user {}", "pip install {} --pre", "python -m pip install -q {}")
    assert len(verdicts(joined(bad(form.format("ledger-core"), text) for form in forms))) == 1
    assert verdicts(joined(bad(f"pip install ledger-core==1.{n}", text) for n in range(5))) == []


def test_experiments_taken_back_are_no_circle() -> None:
    """A text that is put back after each other experiment is fine; two texts in turns are a circle."""

    def change(old: str, new: str) -> History:
        return tool("Edit", "updated", file_path="a.py", old_string=old, new_string=new)

    tried = [change("plain", name) + ok("make bench", f"{name} took") + change(name, "plain") for name in "abcd"]
    assert verdicts(joined(tried)) == []
    assert verdicts(change("plain", "a") + change("a", "plain") + ok("make", "built") + change("plain", "a"))


def test_whole_files_written_in_turns_are_a_circle() -> None:
    """Two texts of one file, written in turns, are a circle as edits are; a third text is not."""

    def write(text: str) -> History:
        return tool("Write", "updated", file_path="a.py", content=text) + bad(
            "make", f"{text} is wrong at the end of file"
        )

    assert verdicts(write("one") + write("two") + write("one")) == []
    assert verdicts(write("one") + write("two") + write("one") + write("two"))
    assert verdicts(joined(write(name) for name in ("one", "two", "one", "three", "four"))) == []


def test_a_failure_that_says_more_each_time() -> None:
    """Prints that show more of the cause may fail five times in the same way; the same words may not."""
    end = "cart.py:40: in test_total\nE   AssertionError: total\n1 failed"
    names = ("amount border", "bucket column", "draft entry", "figure header", "index label")
    traced = [edit(f"probe{n}.py") + bad("pytest -s", f"{name} seen\n{end}") for n, name in enumerate(names)]
    assert verdicts(joined(traced)) == []
    same = [edit(f"probe{n}.py") + bad("pytest -s", f"{names[0]} seen\n{end}") for n in range(3)]
    assert len(verdicts(joined(same))) == 1
    last = "ValueError: the total of the cart is not the sum of its rows"
    again = [edit(f"probe{n}.py") + bad("python run.py", f"{name} seen\n{last}") for n, name in enumerate(names)]
    assert verdicts(joined(again)) == []
    other = [edit(f"probe{n}.py") + bad(f"python run{n}.py", f"{name} seen\n{last}") for n, name in enumerate(names)]
    assert verdicts(joined(other[:3])) == []
    assert verdicts(joined(other[:4]))


def test_a_shell_asked_whether_it_is_there() -> None:
    """A fourth echo of other words says what it was given; an echo of something else is an answer."""
    echoes = [ok(f"echo {word}; true", word) for word in ("alive", "hello", "wakeup", "there")]
    assert len(verdicts(joined(echoes))) == 1
    assert verdicts(joined(echoes[:3])) == []
    assert verdicts(joined(ok(f"echo $(cat {word})", "yes") for word in "abcde")) == []


def test_a_refused_edit_quotes_what_it_refuses() -> None:
    """Other blocks that are not in a file are refused for one reason; other errors of one edit are several."""

    def refused(old: str, text: str) -> History:
        return tool("Edit", text, failed=True, file_path="a.py", old_string=old, new_string="")

    blocks = [
        f"amount{n} = basket{n}\nborder{n} = invoice{n}\nledger{n} = parser{n}\nrouter{n} = widget{n}" for n in range(4)
    ]
    assert len(verdicts(joined(refused(old, f"The block is not in the file:\n{old}") for old in blocks))) == 1
    assert verdicts(joined(refused(old, f"line {n * 40}: unexpected {old[:7]}") for n, old in enumerate(blocks))) == []


def test_a_reminder_below_a_result_is_no_part_of_it() -> None:
    """A word of the agent's program to the agent makes no other answer."""
    texts = ["1\tsize = 4", *(f"1\tsize = 4\n<system-reminder>\nNote {n}.\n</system-reminder>" for n in range(2))]
    assert len(verdicts(joined(tool("Read", text, file_path="a.py") for text in texts))) == 1


def test_values_that_a_key_calls_ids_and_times() -> None:
    """An id or a time in a JSON answer makes no other answer; another amount does."""
    for key in ("took_ms", "requestId", "request_id", "elapsed", "uptime_seconds"):
        answers = [tool("get_order", f'{{"{key}": {n}7, "state": "open"}}', id="o1") for n in range(3)]
        assert len(verdicts(joined(answers))) == 1, key
    assert verdicts(joined(tool("get_order", f'{{"items": {n}7, "state": "open"}}', id="o1") for n in range(5))) == []


def test_an_exit_status_alone_says_nothing() -> None:
    """Questions whose answer is an exit status are different questions."""
    assert verdicts(joined(bad(f"grep -q {word} notes.txt", "Error: Exit code 1") for word in "abcdef")) == []


def test_only_an_edit_that_was_made_changes_a_file() -> None:
    """Two texts that are compared in both directions are no edits that undo each other."""
    for name, found in (("compare", True), ("edit", False)):
        there = [tool(name, f"{n} of 9 lines differ", path="a.py", old="one", new="two") for n in range(3)]
        back = [tool(name, f"{n} of 8 lines differ", path="a.py", old="two", new="one") for n in range(3)]
        turns = joined(
            one + ok("make", f"built {n}") + two for n, (one, two) in enumerate(zip(there, back, strict=True))
        )
        assert (verdicts(turns) == []) == found, name


def test_the_approach_to_another_failure_does_not_count() -> None:
    """Three tries at one failure in three ways are a loop; that one way was tried at other failures changes nothing."""

    def tried(approach: str, failure: str) -> History:
        return [replace(one, approach=approach) for one in bad("make", failure)]

    before = tried("larger cache size", "cart is not there") + tried(
        "larger cache size now", "shop is too slow to start"
    )
    same = joined(tried(way, "tariff has no price") for way in ("rename files", "sort imports", "larger cache size"))
    assert kinds(before + same) == ["loop"]
    assert kinds(joined(tried("larger cache size", "tariff has no price") for _ in range(3))) == ["circular_fix"]


def test_rounds_are_counted_towards_three_only() -> None:
    """The second of the usual three rounds is shown; a rule that needs other numbers shows none."""

    def rounds(history: History) -> int:
        detector = LoopDetector()
        for one in history:
            detector.observe(one)
        return detector.rounds("task")

    assert rounds(bad("make", "no rule to make target 'all'") * 2) == 2
    assert rounds(joined(bad(f"./run{n}.sh", "the certificate of a.example has expired") for n in range(3))) == 0


def test_a_variable_before_a_command_is_no_part_of_it() -> None:
    """A look with a variable before it is a look, which changes nothing; another program may change something."""
    looks = [ok("git log -3", "4be1c02 Add cart") + ok(f"LANG=C ls src/part{n}", f"cart{n}.py") for n in range(5)]
    assert len(verdicts(joined(looks))) == 1
    assert (
        verdicts(joined(ok("git log -3", "4be1c02 Add cart") + ok(f"N={n} ./deploy", f"{n} sent") for n in range(5)))
        == []
    )


def turned(value: int) -> History:
    """An edit that sets a port."""
    return tool("Edit", "updated", file_path="a.toml", old_string=f"port = {value}", new_string=f"port = {value + 1}")


def test_one_question_in_other_words() -> None:
    """The fourth of other calls with one answer is a loop; the next number, a short answer or an edit is none."""
    answer = "listening on 0.0.0.0, workers: 1, mode: plain"
    ways = ("./app info", "./app --workers four info", "WORKERS=four ./app info", "./app info -c conf")
    asked = [ok(way, answer) for way in ways]
    assert len(verdicts(joined(asked))) == 1
    assert verdicts(joined(asked[:3])) == []
    assert verdicts(joined(ok(f"./app part {n}", answer) for n in range(8))) == []
    assert verdicts(joined(ok(way, "True") for way in ways)) == []
    assert verdicts(joined(one + edit(f"file{n}.js") for n, one in enumerate(asked * 2))) == []
    assert len(verdicts(joined(ok(way, "81726354") for way in ways))) == 1
    assert verdicts(joined(ok(way, "(no output)") for way in ways)) == []
    assert verdicts(joined(ok(f"find a -name {way}", f"{answer} {way}") for way in ways)) == []


def test_a_value_that_is_turned_without_effect() -> None:
    """The fourth look that shows the same although one value was turned is a loop; other edits and looks are none."""
    look = ok("./app --print-config", "port = 8080 (default)")
    assert len(verdicts(joined(turned(n) + look for n in range(4)))) == 1
    assert verdicts(joined(turned(n) + look for n in range(3))) == []
    assert verdicts(joined(edit(f"file{n}.js") + look for n in range(6))) == []
    shown = (turned(n) + ok("./app --print-config", f"port = {n} (set)") for n in range(6))
    assert verdicts(joined(shown)) == []


def test_a_file_that_shows_the_same_after_each_command_on_it() -> None:
    """Commands on a file after which it shows the same do nothing; commands on other files say nothing about it."""
    look = ok("grep -n mode app.conf", "7: mode: plain")
    on_it = [ok(f"sed -i 's/mode={word}/mode=fast/' app.conf", "") + look for word in ("a", "b", "c", "d", "e")]
    assert len(verdicts(joined(on_it[:4]))) == 1
    assert verdicts(joined(ok(f"sed -i 's/a/b/' {word}.txt", "") + look for word in "abcd")) == []


def test_a_failure_that_a_pipe_hides() -> None:
    """The third time is told although the exit code is that of the pipe; output that is no failure is not."""
    text = "src/a.c:31:5: error: expected ';' before 'size'\nmake: *** [all] Error 1"
    for command in ("make 2>&1 | tail -20", "make || true", "make; echo done"):
        assert len(verdicts(joined(edit(f"file{n}.c") + ok(command, text) for n in range(3)))) == 1
        assert verdicts(joined(edit(f"file{n}.c") + ok(command, text) for n in range(2))) == []
        assert verdicts(joined(edit(f"file{n}.c") + ok(command, "12 passed") for n in range(6))) == []
        other = (edit(f"file{n}.c") + ok(command, text.replace("31", str(n * 40 + 2))) for n in range(6))
        assert verdicts(joined(other)) == []
    assert verdicts(joined(edit(f"file{n}.c") + ok("./show-log", text) for n in range(3))) == []


def test_a_measurement_that_stays_flat() -> None:
    """The ninth try within the noise is a loop; a value that falls, and a text without a measurement, are none."""
    flat = [edit(f"f{n}.c") + ok("time ./run", f"real 0m12.{n * 7 % 10}0s") for n in range(9)]
    assert len(verdicts(joined(flat))) == 1
    assert verdicts(joined(flat[:8])) == []
    assert verdicts(joined(edit(f"f{n}.c") + ok("time ./run", f"real 0m{30 - n}.10s") for n in range(12))) == []
    assert verdicts(joined(edit(f"f{n}.c") + ok("./run", f"took {12 + n % 3} steps") for n in range(12))) == []
    goal = [edit(f"f{n}.c") + ok("./run", f"size {900 + n % 3}; must be below 500") for n in range(9)]
    assert len(verdicts(joined(goal))) == 1


def test_a_text_written_into_many_files() -> None:
    """The fourth file with the same long text is one too many; a short text and other texts are not."""
    long = "\n".join(f"line {n} of the summary of all that was done" for n in range(20))

    def written(name: str, text: str, result: str = "updated") -> History:
        return tool("Write", result, file_path=f"{name}.md", content=text)

    assert len(verdicts(joined(written(name, long) for name in "abcd"))) == 1
    assert verdicts(joined(written(name, long) for name in "abc")) == []
    assert verdicts(joined(written(name, "# Title") for name in "abcdef")) == []
    cut = "warning: the content was cut after 2000 characters"
    assert len(verdicts(joined(written("a", f"{long} {n}", cut) for n in range(4)))) == 1
    assert verdicts(joined(written(name, f"{long} {name}", cut) for name in "abcdef")) == []
    looked = (written("a", f"{long} {n}", cut) + ok(f"./run {n}", f"ran {n}") for n in range(6))
    assert verdicts(joined(looked)) == []


def test_what_is_made_again() -> None:
    """The third ticket with the same words is a loop, whatever its number; other commands may say something new."""
    for make in ("gh issue create -t Fix", "glab mr note 7 -m Done"):
        assert len(verdicts(joined(ok(make, f"https://git.example/issues/{n * 31}") for n in range(3)))) == 1
    assert len(verdicts(joined(tool("create_ticket", f"id {n * 31}", title="Fix") for n in range(3)))) == 1
    for other in ("gh issue list", "rake create", "note today"):
        assert verdicts(joined(ok(other, f"{n * 31} found") for n in range(3))) == []


def test_one_cause_behind_many_programs() -> None:
    """Four programs without a network have one cause, whatever their words; different causes are no loop."""
    said = (
        ("pip install a", "Temporary failure in name resolution"),
        ("npm ci", "npm ERR! code EAI_AGAIN getaddrinfo EAI_AGAIN registry.example"),
        ("curl https://a.example", "curl: (6) Could not resolve host: a.example"),
        ("git fetch", "fatal: unable to access: Could not resolve host: git.example"),
    )
    assert kinds(joined(bad(*one) for one in said)) == ["blocked"]
    assert kinds(joined(bad(*one) for one in said[:3])) == []


def test_texts_that_replace_each_other() -> None:
    """Two texts that replace each other are a loop; each tried and taken back once is an experiment."""

    def swapped(old: str, new: str) -> History:
        return tool("Edit", "updated", file_path="a.py", old_string=old, new_string=new)

    circle = [swapped("a", "b"), swapped("b", "a"), swapped("a", "b")]
    assert verdicts(joined(one + ok(f"./run {n}", f"ran {n}") for n, one in enumerate(circle)))
    tried = (swapped(word, word * 2) + ok(f"./run {word}", word) + swapped(word * 2, word) for word in "abcdef")
    assert verdicts(joined(tried)) == []


def test_messages_restated_with_other_endings() -> None:
    """Plurals and tenses do not make another message."""
    said = ("Reading parser settings closely", "Reads parsers setting closely", "Read parsers settings closely")
    detector = LoopDetector()
    told = [
        detector.observe(Observation(kind="message", role="agent", text=text, task_id="task"))
        for text in (*said, "Reads parser settings closely")
    ]
    assert [one is not None for one in told] == [False, False, False, True]


def test_the_process_that_holds_a_lock() -> None:
    """Another process that holds the same lock is the same failure; the next one of ten is not."""
    held = "E: Could not get lock /var/lib/dpkg/lock. It is held by process {} (apt)"
    assert len(verdicts(joined(bad("apt-get install jq", held.format(n * 313 + 100)) for n in range(3)))) == 1
    counted = (bad("./app", f"stopped at process {n} of 10") for n in range(1, 9))
    assert verdicts(joined(counted)) == []
