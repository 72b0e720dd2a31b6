"""Trouble that a call reports although it passed, and what a call prints behind its output."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.detection.test_loop_histories import History, bad, edit, joined, ok, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import apart

from unstuck.detection.steps.results import denies_success, without_tail
from unstuck.detection.steps.tool_call_kind import kind_of

TIMED = "\n\nreal\t0m{0}.013s\nuser\t0m0.6{0}4s\nsys\t0m0.1{0}s"


@pytest.mark.parametrize(
    ("call", "said", "output", "failed"),
    [
        ('make; echo "exit code: $?"', "built\nexit code: 0", "built", False),
        ('make; echo "exit code: $?"', "no rule\nexit code: 2", "no rule", True),
        ("make | tail -3; echo ${PIPESTATUS[0]}", "no rule\n2", "no rule", True),
        ("make; Write-Host $LASTEXITCODE", "no rule\n2", "no rule\n2", False),
        ("test -f a; echo $?", "1", "1", False),
        ('for f in a b; do cc $f; echo "$f $?"; done', "a 0\nb 1", "a 0\nb 1", False),
        ("time make", "built" + TIMED.format(4), "built", False),
        ("cat times.txt", "built" + TIMED.format(4), "built" + TIMED.format(4), False),
        ("echo $?; ls", "0\nfile 7", "0\nfile 7", False),
    ],
)
def test_what_a_call_prints_behind_its_output(call: str, said: str, output: str, failed: bool) -> None:
    """The exit code that it asks for tells a failure; a number that ends an output otherwise is part of it."""
    assert without_tail(call, said) == (output, failed)


def test_tries_that_differ_in_what_they_print_behind_the_output() -> None:
    """The fourth try of one command; what it says is compared without the code and the time."""
    busy = "umount: /mnt/toll: target is busy."
    tries = (
        bad("umount /mnt/toll", busy),
        ok('umount /mnt/toll; echo "rc=$?"', f"{busy}\nrc=32"),
        bad("time umount /mnt/toll", busy + TIMED.format(2)),
        bad("sudo umount -v /mnt/toll", busy),
    )
    assert verdicts(apart(*tries))
    freed = ok('umount /mnt/toll; echo "rc=$?"', "umounted\nrc=0")
    assert verdicts(apart(*tries[:2], freed, *tries[2:])) == []


@pytest.mark.parametrize(
    ("said", "denies"),
    [
        ('{"status":"error","error":"parse error: ranges only allowed for selectors"}', True),
        ('{\n  "error": {\n    "message": "Expired API key provided", "code": "key_expired"\n  }\n}', True),
        ('{"errors": [{"message": "Field is unknown"}], "data": null}', True),
        ('{"error": null, "data": {"id": 4}}', False),
        ('{"error": "", "data": {"id": 4}}', False),
        ('{"errors": [], "data": {"id": 4}}', False),
        ('{"error": {}, "data": {"id": 4}}', False),
        ('{"status": "ok", "error_rate": 0.2}', False),
    ],
)
def test_an_object_that_reports_an_error(said: str, denies: bool) -> None:
    """An object that is an error is a failure; one with room for an error is none."""
    assert denies_success(said) is denies


def test_a_key_that_no_address_accepts() -> None:
    """Other addresses, each with an id of its own in what it says; answers are none."""
    names = ("charges", "refunds", "payouts", "prices")
    error = '{{"error": {{"message": "Expired API Key provided: sk_1", "log": "https://pay.example/logs/req_{}"}}}}'
    asked = [
        ok(f"curl -s https://pay.example/v1/{name} -u $KEY:", error.format(f"{n}zRk7{n}VWy"))
        for n, name in enumerate(names)
    ]
    assert [one.kind for one in verdicts(apart(*asked))][:1] == ["blocked"]
    answers = [
        ok(f"curl -s https://pay.example/v1/{name} -u $KEY:", f'{{"{name}": [{n}]}}') for n, name in enumerate(names)
    ]
    assert verdicts(apart(*answers)) == []


def test_a_path_that_is_refused_to_every_tool() -> None:
    """The third refusal that names the same path, whatever it says beside it; other paths are other accesses."""
    path = "/srv/app/.env.live"

    def refusals(paths: list[str]) -> History:
        return apart(
            tool("Read", f"Permission to use Read with path {paths[0]} has been denied.", True, file_path=paths[0]),
            bad(f"cat {paths[1]}", f"This command requires approval: reading {paths[1]}"),
            bad(f"head -c 90 {paths[2]}", f"Permission to use Bash with command {paths[2]} has been denied."),
        )

    assert [one.kind for one in verdicts(refusals([path] * 3))] == ["blocked"]
    assert verdicts(refusals([path, "/srv/app/.env.test", "/srv/app/.env.ci"])) == []


def test_a_post_about_what_is_being_made_is_no_wait() -> None:
    """The same issue made three times, each with a number of its own."""
    posts = [
        ok('gh issue create -t "stale" -b "see log"', f"Creating issue in acme/app\n\nhttps://code.example/issues/{n}")
        for n in (41, 42, 43)
    ]
    assert [one.kind for one in verdicts(apart(*posts))] == ["loop"]


UNIT = """● {0}.service - {0}
   Active: activating (auto-restart) (Result: exit-code) since Tue 11:0{1}:55 UTC; {1}s ago
  Process: 4{1}31 ExecStart=/usr/local/bin/{0} (code=exited, status=203/EXEC)"""
TABLE = "│ id │ name │ pid  │ ↺  │ status  │\n│ 0  │ {0}  │ 9{1}7 │ 1{1} │ errored │"
CRASH = (
    "Starting: {0}\nE Runtime: FATAL EXCEPTION: main\nE Runtime: {0}, PID: 1{1}31\nprocess {0} (pid 1{1}31) has died"
)
GONE = "dev  24{1}8  0.0  0.0  0  0 ?  Zs   10:00   0:02 [{0}] <defunct>"
RESTARTS = (
    "ctl restart {0}",
    "ctl stop {0}; ctl start {0}; sleep 3; ctl status {0}",
    "ctl delete {0}; ctl start {0}",
    "ctl reload {0} && ctl ls",
)


def tried(said: list[str], forms: tuple[str, ...] = RESTARTS, name: str = "relayd") -> History:
    return apart(
        *(
            ok(form.format(name), text.format(name, n * 5 % 7 + 1))
            for n, (form, text) in enumerate(zip(forms, said, strict=False))
        )
    )


@pytest.mark.parametrize("state", [UNIT, TABLE, CRASH, GONE])
def test_a_state_of_trouble_that_no_try_changes(state: str) -> None:
    """The fourth try after which the same thing is in the same trouble, whatever its process and its counters are."""
    assert verdicts(tried([state] * 4))
    assert verdicts(tried([state] * 3)) == []


@pytest.mark.parametrize("state", [UNIT, TABLE, CRASH, GONE])
def test_states_of_trouble_that_differ(state: str) -> None:
    """Another trouble each time, or another thing, is not the same."""
    reasons = ("port 80 is taken: error", "no such user: error", "config line 3 invalid", "disk failed")
    assert verdicts(tried([f"{state}\n{{0}}: {reason}" for reason in reasons])) == []
    names = ("relayd", "mailer", "tiles", "queue")
    others = [
        ok(form.format(name), state.format(name, n)) for n, (form, name) in enumerate(zip(RESTARTS, names, strict=True))
    ]
    assert verdicts(apart(*others)) == []


def test_good_news_with_words_of_trouble() -> None:
    """Checks that pass, and trouble of something else that each list shows, are left alone."""
    passed = "Tests run: {1}, Failures: 0, Errors: 0\nno errors found in {0}\n{0}: 0 failed"
    assert verdicts(tried([passed] * 4)) == []
    named = "tests/{0}/test_error.py ......\n{0}::test_invalid_input ok\n{0}/busy.py"
    assert verdicts(tried([named + f"\nin {n} files" for n in "abcd"])) == []
    assert (
        verdicts(
            apart(
                *(
                    edit(f"f{n}.c") + ok("pytest tests/test_error.py", f"tests/test_error.py {'.' * 9} [100%]")
                    for n in range(5)
                )
            )
        )
        == []
    )
    listed = "{1} services:\n{1}2 requests  {0}  up\nbackup  Exited (0) 3 weeks ago"
    assert verdicts(tried([listed] * 4)) == []
    assert verdicts(apart(*(edit(f"f{n}.c") + ok("make", "make: OK") for n in range(6)))) == []
    assert (
        verdicts(
            apart(
                *(
                    edit(f"f{n}.c") + ok(f"make -j{n} | tail -2", "make: Nothing to be done for 'all'.")
                    for n in range(4)
                )
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("python -m pytest tests/test_conflict.py", "invalid escape in test_conflict.py\n6 passed in 0.2s"),
        ("docker build -t app .", "npm: optional dependency failed: fsevents in app\nDONE 4.2s\nnaming to app:latest"),
        ("npm run build", "could not resolve optional 'x' in build\n✓ 41 modules transformed.\nbuilt in 3.1s"),
        ("mvn -q test", "WARN error handler not found for mvn, using the default"),
        ("ansible-playbook site.yml", "site.yml: ok=14 changed=2 unreachable=0 failed=0"),
        ("helm lint charts", "==> Linting charts\n1 chart(s) linted, 0 chart(s) failed"),
    ],
)
def test_trouble_on_the_way_to_a_good_end(call: str, said: str) -> None:
    """A check that passes after each edit may print the same remark each time."""
    assert verdicts(joined(edit(f"file{n}.py") + ok(call, said) for n in range(6))) == []


def test_a_complaint_behind_a_pipe_is_one_of_its_program() -> None:
    """Queries with the same fault, some of them behind a pipe."""
    error = "awk: cmd. line:1: {0}\nawk: cmd. line:1:  ^ unterminated regexp"
    parts = ("$3 ~ /chr[1-9 {print}", "match($3, /chr[0-9/)", "/chr[1-9/ {n++}", "$3 ~ /^chr[XY {print $3}")
    tries = [
        (ok if n % 2 else bad)(f"awk '{part}' c.tsv{' 2>&1 | tee /tmp/t' * (n % 2)}", error.format(part))
        for n, part in enumerate(parts)
    ]
    assert verdicts(apart(*tries))


def test_a_state_that_is_waited_for_is_no_try() -> None:
    """The same look after a wait is a wait, although what it shows is in trouble."""
    look = "sleep 20; kubectl get pods -l app=relayd"
    shown = "relayd-7d9c5b8f6d-x2k4p  0/1  Error  {} (14s ago)"
    assert verdicts(apart(*(ok(look, shown.format(n)) for n in range(5)))) == []


def test_a_pod_that_crashes_after_each_edit() -> None:
    """The third look after an edit shows the same crash of another pod; another reason each time is none."""
    look = "sleep 15; kubectl get pods -l app=relayd; kubectl logs -l app=relayd --tail=1"
    pods = ("7d9c5b8f6d-x2k4p", "6b4f9d7c58-zq8vl", "5f66d8c9bb-m4n7d")
    shown = "relayd-{} 0/1 CrashLoopBackOff {} (1{}s ago)\nModuleNotFoundError: No module named '{}'"

    def rounds(modules: tuple[str, ...]) -> History:
        texts = [shown.format(pod, n, n, module) for n, (pod, module) in enumerate(zip(pods, modules, strict=True), 1)]
        return apart(*(edit(f"deploy{n}.yaml") + ok(look, text) for n, text in enumerate(texts)))

    assert verdicts(rounds(("relay_settings",) * 3))
    assert verdicts(rounds(("relay_settings", "yaml", "redis"))) == []


LOOKS = (
    "redis-cli llen outbox",
    "sleep 10; redis-cli llen outbox",
    "redis-cli llen outbox 2>&1 | tail -3",
    "redis-cli lrange outbox 0 -1",
    "sleep 30 && redis-cli llen outbox || true",
    "sleep 60; redis-cli llen outbox",
)


@pytest.mark.parametrize("nothing", ["(integer) 0", "0 entries", "total 0"])
def test_a_box_in_which_nothing_arrives(nothing: str) -> None:
    """The sixth look with waits between, in any form; something that arrives is news."""
    looks = [ok(look, "(empty array)" if "lrange" in look else nothing) for look in LOOKS]
    assert [one.kind for one in verdicts(apart(*looks))][-1:] == ["waiting"]
    assert verdicts(apart(*looks[:5])) == []
    arrived = [ok(look, f"(integer) {n}") for n, look in enumerate(LOOKS)]
    assert verdicts(apart(*arrived)) == []


def test_files_that_arrive_one_by_one() -> None:
    """A list that grows by a file with the next number is news, also after two looks that showed the same."""
    shown = (1, 2, 2, 3, 3, 4, 5, 6)
    looks = [
        ok(f"sleep {n}; ls out/" if n % 2 else "ls out/ 2>&1", "\n".join(f"part{k}.json" for k in range(many)))
        for n, many in enumerate(shown)
    ]
    assert verdicts(apart(*looks)) == []


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("search_pages", "query"),
        ("searchPages", "query"),
        ("createIssue", "tell"),
        ("updatePage", "work"),
        ("file_issue", "work"),
        ("set_file", "work"),
    ],
)
def test_the_kind_of_a_tool_by_the_verbs_of_its_name(tool: str, kind: str) -> None:
    """A name is spelt in the call as the agent knows it, and an observation has it in small letters."""
    assert kind_of(tool.lower(), f'{tool} {{"path": "a.py"}}') == kind


def test_a_tool_is_known_by_its_name_as_it_is_spelt() -> None:
    """Words of a name are told apart by their capitals: a search that finds nothing, asked in other words."""
    words = ("remote work", "work AND remote", "allowance remote work", "title remote work policy")
    asked = [tool("searchPages", '{"results": [], "size": 0}', text=text, limit=n) for n, text in enumerate(words)]
    spelt = [replace(one, tool=one.tool.lower()) for one in apart(*asked)]
    assert verdicts(spelt)
    saved = [tool("updatePage", '{"results": [], "size": 0}', text=text, limit=n) for n, text in enumerate(words)]
    assert verdicts([replace(one, tool=one.tool.lower()) for one in apart(*saved)]) == []


@pytest.mark.parametrize("look", ["ls /dev/ttyACM*", "ls /dev/ttyACM* 2>&1", "stat out/report.json 2>/dev/null"])
def test_a_look_for_what_may_come_by_itself(look: str) -> None:
    """The fourth of the same looks that find nothing; another failure of the same call is told at the third."""
    missing = "No such file or directory"
    assert verdicts(joined([bad(look, missing)] * 4))
    assert verdicts(joined([bad(look, missing)] * 3)) == []
    assert verdicts(joined([bad(look, "Permission denied")] * 3))
    assert verdicts(joined([bad(f"./run {look[-4:]}", missing)] * 3))
