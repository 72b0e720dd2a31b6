"""Failures and looks with one aim: what lies between them, and what is said around their results."""

from __future__ import annotations

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, read, verdicts
from tests.detection.test_loop_rules import tool

from unstuck.detection.steps.results import output_in

PAGE = "https://books.example/item/7"
BEFORE = "Exit code: 1\nWall time: 2.4 seconds\nOutput:\n"
AROUND = (
    "Command: {}\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: (none)\nProcess Group PGID: {}"
)


def between(number: int) -> History:
    """Look at something else."""
    return read(f"src/other_{number}.py", f"def other_{number}():\n    return {number} * 31")


def changed(file: str, old: str, new: str) -> History:
    """Replace a text in a file."""
    return tool("Edit", "The file has been updated.", file_path=file, old_string=old, new_string=new)


def apart(*parts: History) -> History:
    """Steps with looks at other things between them."""
    return joined(step for number, part in enumerate(parts) for step in (part, between(number)))


@pytest.mark.parametrize(
    ("said", "output", "failed"),
    [
        (f"{BEFORE}FAILED test_a", "FAILED test_a", True),
        (f"{BEFORE}FAILED test_a".replace(": 1", ": 0"), "FAILED test_a", False),
        ("Chunk ID: a1\nWall time: 1.0 seconds\nProcess exited with code 2\nOutput:\nno rule", "no rule", True),
        (AROUND.format("make", "no rule", 2, 4711), "no rule", True),
        (AROUND.format("make", "(empty)", "(none)", 4711), "", False),
        ("Output: built\nProcess Group PGID: 4711", "built", False),
        ("Exit code: 1 is what the test expects", "Exit code: 1 is what the test expects", False),
        ("Output: 3 lines", "Output: 3 lines", False),
    ],
)
def test_words_of_a_harness_around_an_output_are_no_part_of_it(said: str, output: str, failed: bool) -> None:
    """The exit code in them tells a failure; text that only begins like them stays."""
    assert output_in(said) == (output, failed)


def test_a_failure_in_the_words_of_a_harness_is_the_same_failure() -> None:
    """A process group differs in each result, and the exit code is in the text alone."""
    assert verdicts(joined(ok("make", AROUND.format("make", "no rule for all", 2, 4711 + n)) for n in range(3)))
    passing = joined(ok("make", AROUND.format("make", f"built {n} files", 0, 4711 + n)) for n in range(5))
    assert verdicts(passing) == []


def test_a_page_that_refuses_every_client_is_blocked() -> None:
    """One address refuses three clients in other words; other addresses are other pages."""
    refusals = (
        tool("WebFetch", "Request failed with status code 403", failed=True, url=PAGE),
        ok(f"curl -s -o /tmp/p -w '%{{http_code}}' {PAGE}", "403"),
        bad(f"wget -q {PAGE}", "wget: server returned error: HTTP/1.1 403 Forbidden"),
    )
    assert [verdict.kind for verdict in verdicts(apart(*refusals))] == ["blocked"]
    others = [ok(f"curl -s -o /tmp/p -w '%{{http_code}}' {PAGE}{n}", "200" if n % 2 else "403") for n in range(6)]
    assert verdicts(apart(*others)) == []


def test_a_rebase_begun_again_after_each_abort_is_a_loop() -> None:
    """Neither its failure nor its abort is another commit to work from; a checkout is."""
    conflict = "CONFLICT (content): Merge conflict in a.py\nerror: could not apply 4be1c02... Round the total"
    stuck = [
        [*bad(f"git rebase {how}main", conflict), *ok("git rebase --abort", "")]
        for how in ("", "-q ", "", "-X theirs ")
    ]
    assert verdicts(apart(*stuck))
    moved = [[*bad("git rebase main", conflict), *ok(f"git checkout part-{n}", "")] for n in range(4)]
    assert verdicts(apart(*moved)) == []


def test_what_is_started_before_a_sleep_is_no_wait() -> None:
    """A server started again and refused is a failure; a port that is only looked at is waited for."""
    refused = "curl: (7) Failed to connect to localhost port 8080: Connection refused"
    started = "pkill -f app.js; node app.js > log 2>&1 & sleep 2; curl -s localhost:8080"
    assert verdicts(joined(bad(started, f"[1] {4711 + n}\n{refused}") for n in range(3)))
    assert verdicts(joined(bad("sleep 2; curl -s localhost:8080", refused) for n in range(3))) == []


def test_a_time_limit_in_minutes_is_no_difference() -> None:
    """A command that is cut off four times, after other times and at other priorities."""
    forms = ("{}", "time {}", "nice {}", "{} 2>&1 | tail -5")
    cut = [bad(form.format("npm run e2e"), f"Command timed out after {2 + n}m 0.0s") for n, form in enumerate(forms)]
    assert verdicts(apart(*cut))
    measured = [bad(f"./bench --part {n}", f"part {n}: the limit of 9m was reached at {n}m") for n in range(4)]
    assert verdicts(apart(*measured)) == []


def test_the_time_before_a_line_of_a_build_is_no_difference() -> None:
    """A build that stops at the same step, with other times, sizes and places below."""
    log = "#1 transferring context: {0}4B done\n#5 {0}.790 npm error code EUSAGE\nnpm error Missing: ws from lock file"
    end = "Dockerfile:{}\nERROR: failed to solve: process did not complete successfully: exit code: 1"
    stuck = [bad("docker build .", f"{log.format(n)}\n{end.format(n + 7)}") for n in range(1, 4)]
    assert verdicts(apart(*stuck))
    other = [bad("docker build .", f"#5 1.790 npm error code {code}\n{end.format(7)}") for code in ("EUSAGE", "E404")]
    assert verdicts(apart(*other, *other)) == []


LISTINGS = (
    ("ls -la out", "total 8\n-rw-r--r-- 1 me me 168 Nov 12 10:01 a.png\n-rw-r--r-- 1 me me 852 Nov 12 10:01 b.png"),
    ("ls out", "a.png\nb.png"),
    ("find out -type f", "out/a.png\nout/b.png"),
    ("rg --files -g 'out/**/*'", "out/a.png\nout/b.png"),
    ("ls -l ./out/", "total 8\n-rw-r--r-- 1 me me 168 Nov 12 10:01 a.png\n-rw-r--r-- 1 me me 852 Nov 12 10:01 b.png"),
)


def test_one_look_in_other_words_is_a_loop_whatever_lies_between() -> None:
    """The same files are listed again; an edit between, or other directories, are something else."""
    looks = [ok(*look) for look in LISTINGS]
    assert verdicts(apart(*looks))
    assert verdicts(joined(look + changed("a.py", f"x = {n}", f"x = {n + 1}") for n, look in enumerate(looks))) == []
    others = [ok(f"ls -la part{n}", f"total {n}\n-rw-r--r-- 1 me me 168 Nov 12 10:01 {n}.png") for n in range(6)]
    assert verdicts(apart(*others)) == []


def test_calls_about_one_thing_each_may_all_say_the_same() -> None:
    """Services started one by one are subjects; one program given other options without effect is not."""
    said = "the service was started and answers as it should on its port"
    assert verdicts(apart(*(ok(f"./start {name}", said) for name in ("web", "mail", "jobs", "cache", "proxy")))) == []
    value = "loaded 2100 samples\naccuracy: 0.5714\nbaseline: 0.5714\ntarget: 0.8000"
    tried = [ok(f"python fit.py --{option} {n}", value) for n, option in enumerate(("trees", "bins", "depth", "heads"))]
    assert verdicts(apart(*tried))
    better = [
        ok(f"python fit.py --{option} {n}", value.replace("5714", f"5{n}14", 1))
        for n, option in enumerate(("trees", "bins", "depth", "heads"))
    ]
    assert verdicts(apart(*better)) == []


def test_an_empty_search_in_other_words_is_a_loop_between_other_looks() -> None:
    """One name is never found; other names are other searches, and an edit may bring the name."""
    forms = ("grep -rn '{}' src", "grep -rni '{}' src --include='*'", "rg -uu '{}' src", "ag '{}' src || true")
    empty = [bad(form.format("LabelStore"), "Exit code 1") for form in forms]
    assert verdicts(apart(*empty))
    assert verdicts(apart(*(bad(form.format(f"Name{n}x"), "") for n, form in zip("abcd", forms, strict=True)))) == []
    written = changed("src/a.py", "pass", "class LabelStore: ...")
    assert verdicts(apart(*empty[:2], written, *empty[2:])) == []


def test_a_state_that_answers_every_input_alike_is_a_loop() -> None:
    """Only the count of the moves rises; a score or another place is news."""
    moves = ("north", "go north", "n", "open door; north", "walk to the north door", "push")
    stuck = "> {}\nThe iron door is locked. You can not go that way.\n\nCellar  Score: 25  Moves: {}"
    assert verdicts(apart(*(ok(f"echo '{m}' | ./play", stuck.format(m, 70 + n)) for n, m in enumerate(moves))))
    scored = stuck.replace("25", "{}5")
    assert (
        verdicts(apart(*(ok(f"echo '{m}' | ./play", scored.format(m, n, 70 + n)) for n, m in enumerate(moves)))) == []
    )


def test_an_age_that_rises_shows_that_all_else_stands() -> None:
    """Six looks at a pod that waits are enough, also with other looks between; a status alone may come nine times."""
    pod = "NAME  READY  STATUS   AGE\nweb   0/1    Pending  {}m{}s"
    assert verdicts(apart(*(ok("sleep 30; kubectl get pod web", pod.format(n, n + 9)) for n in range(1, 7))))
    assert verdicts(apart(*(ok("sleep 30; kubectl get pod web", "web  Pending") for _ in range(9)))) == []
    assert verdicts(apart(*(ok("sleep 30; kubectl get pod web", f"web  {n}/9  Pending") for n in range(8)))) == []


def test_sleeps_that_look_at_nothing_are_a_loop() -> None:
    """Sleeps in other words without a look between; a look that is still refused is what they are for."""
    sleeps = ("sleep 60", "sleep 60 && echo done", "timeout 65 sleep 60", "sleep 30; echo waited")
    assert verdicts(joined(ok(sleep, "") for sleep in sleeps))
    refused = bad("curl -s localhost:80", "curl: (7) Failed to connect to localhost port 80")
    assert verdicts(joined(ok(sleep, "") + refused for sleep in sleeps)) == []


def test_a_text_that_a_file_has_is_written_again() -> None:
    """By a tool, a patch or a shell, with looks between; another text or a run between is another write."""
    patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch"
    for write in (
        tool("Write", "written", file_path="a.txt", content="one"),
        tool("apply_patch", "Success. Updated the following files:\nM a.txt", input=patch),
        ok("cat > a.txt <<'EOF'\none\nEOF", ""),
        ok("echo '- note' >> NOTES.md", ""),
    ):
        assert verdicts(apart(write, write, write)), write
        assert verdicts(joined(write + ok("./run", f"result {n}") for n in range(5))) == []
    assert verdicts(apart(*(ok(f"echo '- note {n}' >> NOTES.md", "") for n in range(6)))) == []


def test_a_value_turned_to_and_fro_by_a_command_is_a_circle() -> None:
    """A replacement that undoes the one before; values that go on are tries."""
    turn = [ok(f"sed -i 's/size = {n % 2}/size = {1 - n % 2}/' app.ini", "") for n in range(4)]
    assert verdicts(apart(*turn))
    assert verdicts(apart(*(ok(f"sed -i 's/size = {n}/size = {n + 1}/' app.ini", "") for n in range(4)))) == []


def test_a_failure_that_edits_bring_back_after_it_was_mended_is_a_circle() -> None:
    """Two repairs that break each other; without an edit the test is unsteady."""
    broken, whole = bad("pytest -q tests/test_a.py", "E  assert 3 == 4"), ok("pytest -q tests/test_a.py", "4 passed")
    repair = [changed("a.py", f"x = {n}", f"y = {n * 7}") for n in range(6)]
    turns = joined(broken + repair[2 * n] + whole + repair[2 * n + 1] for n in range(3))
    assert [verdict.kind for verdict in verdicts(turns)] == ["circular_fix"]
    assert verdicts(joined(broken + whole for _ in range(3))) == []


def test_a_result_that_denies_its_success_is_a_failure() -> None:
    """A measured difference that no edit changes is the third same failure; one that falls is progress."""
    styles = [changed("a.css", f"margin: {n}px", f"padding: {n}px") for n in range(3)]
    look = [tool("compare", f'{{"pixels": 40264, "pass": false, "took": {1100 + n}}}', page="card") for n in range(3)]
    assert verdicts(joined(style + seen for style, seen in zip(styles, look, strict=True)))
    falls = [tool("compare", f'{{"pixels": {900 - 200 * n}, "pass": false}}', page="card") for n in range(3)]
    assert verdicts(joined(style + seen for style, seen in zip(styles, falls, strict=True))) == []


def test_a_refusal_of_one_access_in_other_words_is_blocked() -> None:
    """Each protocol refuses the push in its own words; other programs are refused something else."""
    refusals = (
        bad("git push origin main", "remote: Permission denied to this repository"),
        bad("git push https main", "fatal: could not read Username for 'https://git.example': prompts disabled"),
        bad("git push ssh main", "git@git.example: Permission denied (publickey)."),
    )
    assert [verdict.kind for verdict in verdicts(apart(*refusals))] == ["blocked"]
    other = bad("docker push web", "denied: access denied to the registry for this account")
    assert verdicts(apart(*refusals[:2], other)) == []


def test_a_note_told_again_is_a_loop_between_other_work() -> None:
    """The same note a third time, whatever receipt it gets; other notes are other notes."""
    assert verdicts(apart(*(tool("save_memory", f'{{"saved": {n}}}', fact="x before y") for n in range(3))))
    assert verdicts(apart(*(tool("save_memory", f'{{"saved": {n}}}', fact=f"x before {n}") for n in range(5)))) == []


def test_a_branch_checked_out_again_shows_what_it_showed() -> None:
    """The same look at the same branch a third time; looks that differ are work."""
    seen = {"main": "3 failed", "next": "4 failed"}
    turns = [[*ok(f"git checkout {name}", ""), *ok("make count", seen[name])] for name in ("main", "next") * 3]
    assert verdicts(apart(*turns))
    moved = [[*ok(f"git checkout v{n}", ""), *ok("make count", f"{n} failed")] for n in range(6)]
    assert verdicts(apart(*moved)) == []
