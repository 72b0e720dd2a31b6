"""In the words of many tools: work that only looks like a loop is left alone, loops of every kind are seen."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator

import pytest

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector

History = list[Observation]


def ok(call: str, result: str = "", tool: str = "bash", approach: str | None = None, tree: str = "") -> History:
    """A call that went well."""
    return _step("success", call, result, tool, approach, tree)


def bad(call: str, result: str = "", tool: str = "bash", approach: str | None = None, tree: str = "") -> History:
    """A call that failed."""
    return _step("failure", call, result, tool, approach, tree)


def edit(call: str, approach: str | None = None, tree: str = "") -> History:
    """An edit that was applied."""
    return ok(call, "The file has been updated.", "edit", approach, tree)


def read(file: str, result: str) -> History:
    """A file that was read."""
    return ok(f"cat {file}", result, "read")


def says(text: str) -> History:
    """A message of the agent."""
    return [Observation(kind="message", role="agent", text=text, task_id="task")]


def user(text: str) -> History:
    """A message of the person."""
    return [Observation(kind="message", role="user", text=text, task_id="task")]


def system(text: str) -> History:
    """A message that came by itself."""
    return [Observation(kind="message", role="system", text=text, task_id="task")]


def joined(parts: Iterable[History]) -> History:
    """One history of several."""
    return list(itertools.chain.from_iterable(parts))


def verdicts(history: Iterable[Observation], detector: LoopDetector | None = None) -> list[Verdict]:
    """All that the detector says on the way."""
    detector = detector or LoopDetector()
    return [said for observation in history if (said := detector.observe(observation)) is not None]


def _step(kind: str, call: str, result: str, tool: str, approach: str | None, tree: str) -> History:
    action = Observation(kind="action", text=call, tool=tool, task_id="task", approach=approach)
    answer = Observation(kind=kind, text=result, tool=tool, task_id="task", tree=tree or None)  # type: ignore[arg-type]
    return [action, answer]


def _claude_edit(file: str, old: str, new: str) -> History:
    given = json.dumps({"file_path": file, "old_string": old, "new_string": new}, sort_keys=True)
    return ok(f"Edit {given}", '{"filePath": "' + file + '"}', "edit")


JEST = (
    "FAIL src/cart.test.ts\n  ● cart › adds tax\n\n    expect(received).toBe(expected)\n"
    "    Expected: {}\n    Received: {}\n"
)
GO = "--- FAIL: TestPool (0.0{}s)\n    pool_test.go:41: got 3 conns, want 2\nFAIL\tgithub.com/x/pool\t0.{}12s"
TRACE = (
    'Traceback (most recent call last):\n  File "/tmp/tmp{}/run.py", line 8, in <module>\n    load()\n'
    '  File "/repo/app/io.py", line 31, in load\n    return data["rows"]\nKeyError: \'rows\'\n'
    "[{} took {}.2s, request id req_{}a7f3]"
)


def harmless() -> Iterator[tuple[str, History]]:
    """Ordinary work, by name."""
    yield (
        "test-driven work",
        joined(
            edit(f"tests/test_{name}.py: add a case", f"cover {name}")
            + bad(
                "python -m pytest -x",
                f"E   NameError: name '{name}' is not defined\nFAILED tests/test_{name}.py::test_it",
            )
            + edit(f"src/{name}.py: write {name}()", f"write {name}")
            + ok("python -m pytest -x", f"{number + 4} passed in 0.4{number}s")
            for number, name in enumerate(("slugify", "truncate", "titlecase", "dedent", "wrap"))
        ),
    )
    yield (
        "a suite that gets better, one failure named first throughout",
        joined(
            edit(f"handlers/{name}.go", f"port handler {name}")
            + bad("go test ./...", f"--- FAIL: TestRouter\n{left} failures")
            for name, left in (("users", 31), ("orders", 24), ("carts", 17), ("stock", 9), ("mail", 2))
        ),
    )
    yield (
        "type errors that become fewer",
        joined(
            edit("models.py: annotate another field")
            + bad(
                "mypy src",
                f'src/models.py:12: error: Missing type parameters for "dict"\nFound {left} errors in 4 files',
            )
            for left in (40, 33, 21, 20, 8, 1)
        ),
    )
    yield (
        "a parser that gets further down the file",
        joined(
            edit(f"fix token {line}") + bad("node build.js", f"grammar.pegjs:{line}:3: SyntaxError: unexpected token")
            for line in (12, 48, 97, 160, 233)
        ),
    )
    yield (
        "polling a deployment that moves",
        joined(
            ok(
                "kubectl rollout status deploy/web --timeout=5s",
                f"Waiting for rollout: {done} of 6 replicas are available",
            )
            for done in range(6)
        ),
    )
    yield (
        "polling a job that only says pending, then it is done",
        joined(
            [
                *(ok("gh run view 8812 --json status", '{"status":"in_progress"}') for _ in range(8)),
                ok("gh run view 8812", "success"),
            ]
        ),
    )
    yield (
        "waiting for a server, which refuses until it is up",
        joined(
            [
                *(
                    bad(
                        "sleep 3; curl -sf localhost:8080/health",
                        "curl: (7) Failed to connect to localhost: Connection refused",
                    ),
                )
                * 6,
                ok("sleep 3; curl -sf localhost:8080/health", '{"up":true}'),
            ]
        ),
    )
    yield "silent waits for a long build", joined(ok("", "", "terminal") for _ in range(8))
    yield (
        "a log that grows by one heartbeat a time",
        joined(
            ok("tail -n 2 worker.log", f"2026-04-02 11:0{minute}:00 alive\n2026-04-02 11:0{minute}:30 alive")
            for minute in range(9)
        ),
    )
    yield (
        "bisecting by hand",
        joined(
            ok(f"git checkout -q {commit}", "") + bad("make check", "test_merge: FAILED (exit 1)")
            for commit in ("v1.9", "v1.7", "v1.4", "v1.2", "v1.1")
        ),
    )
    yield (
        "git bisect run by steps",
        joined(
            ok("git bisect bad", f"Bisecting: {left} revisions left to test after this")
            + bad("./repro.sh", "still broken")
            for left in (64, 32, 16, 8, 4, 2)
        ),
    )
    yield (
        "stepping through a loop in a debugger",
        joined(ok("next", line, "gdb") for line in ["12\t  for (i = 0; i < n; i++)", "13\t    sum += a[i];"] * 8),
    )
    yield "stepping with one word for an answer", joined(ok("(Pdb) n", "> walk.py(8)walk()") for _ in range(9))
    yield "scrolling down a long page", joined(ok("scroll_down 600", "[image]", "browser") for _ in range(14))
    yield (
        "paging through one file",
        joined(
            ok(
                f"sed -n '{start},{start + 79}p' src/engine.c",
                "\n".join(f"/* {n} */" for n in range(start, start + 80)),
            )
            for start in range(1, 1_200, 80)
        ),
    )
    yield (
        "fifty moves of files",
        joined(
            ok(f"git mv lib/{name}.js src/{name}.js") + ok(f"sed -i 's#lib/{name}#src/{name}#' index.js")
            for name in (f"part{n}" for n in range(50))
        ),
    )
    yield (
        "seven look-ups that all find nothing",
        joined(
            ok(f"memory_search {word}", "No results.", "lookup")
            for word in ("billing", "invoice", "dunning", "proration", "refunds", "tax", "vat")
        ),
    )
    yield (
        "many searches for different names, none there",
        joined(
            bad(f"grep -rn '{word}' src", "")
            for word in ("acquire_lock", "release_lock", "with_lock", "lockfile", "flock", "LOCK_EX")
        ),
    )
    yield (
        "a flaky check that passes in between",
        joined(
            bad("npm test -- upload", "✕ uploads in parallel (5031 ms)\nTimeout - async callback was not invoked")
            + ok("npm test -- upload", "✓ uploads in parallel (812 ms)\n1 passing")
            for _ in range(4)
        ),
    )
    yield (
        "a person asks for ten runs",
        user("Please run ./soak.sh 10 times and tell me if it ever hangs.")
        + joined(ok("./soak.sh", "soak finished without errors") for _ in range(10)),
    )
    yield (
        "a person asks for twenty runs in words",
        user("run the flaky test twenty times")
        + joined(
            bad("pytest tests/test_race.py", "FAILED tests/test_race.py::test_two_writers - AssertionError")
            for _ in range(20)
        ),
    )
    yield (
        "benchmark runs whose times differ",
        joined(
            ok("./bench --warmup 3", f"mean {mean} ms, p99 {mean + 4} ms over 1000 calls")
            for mean in (12.4, 12.1, 12.9, 12.2, 12.5)
        ),
    )
    yield (
        "tuning towards a score",
        joined(
            edit(f"train.yaml: lr={rate}", "tune the learning rate")
            + bad("python evaluate.py", f"accuracy {score} is below the target of 0.90")
            for rate, score in ((0.1, 0.71), (0.03, 0.78), (0.01, 0.83), (0.003, 0.86), (0.001, 0.88))
        ),
    )
    yield (
        "a long refactoring that builds after every edit",
        joined(
            edit(f"rename Widget to Panel in view_{number}.rs") + ok("cargo check", "Finished dev profile")
            for number in range(25)
        ),
    )
    yield "one question to many files", joined(ok(f"grep -c TODO src/mod_{number}.py", "0") for number in range(12))
    yield (
        "missing packages one after the other",
        joined(
            bad("node server.js", f"Error: Cannot find module '{name}'") + ok(f"npm i {name}", "added 1 package in 2s")
            for name in ("express", "pg", "helmet", "zod", "pino")
        ),
    )
    yield (
        "one file read again after each edit",
        joined(read("app.css", f".a {{ margin: {n}px }}") + edit(f"app.css: margin {n} -> {n + 1}") for n in range(8)),
    )
    yield (
        "staging and committing",
        joined(ok("git add -A") + ok(f"git commit -qm 'part {n}'") + ok("git status --short") for n in range(9)),
    )
    yield (
        "announcing each batch and doing it",
        joined(says("On to the next batch.") + ok(f"./import.sh {n}", f"imported {n * 100} rows") for n in range(7)),
    )
    yield (
        "findings of a review, one message each",
        joined(
            says(f"In `{file}` line {line} the return value of `{call}()` is not checked.")
            for file, line, call in (
                ("io.c", 14, "read"),
                ("io.c", 90, "write"),
                ("net.c", 8, "bind"),
                ("net.c", 31, "listen"),
                ("main.c", 5, "open"),
            )
        ),
    )
    yield (
        "a table and generated rows in a message",
        says("| name | state |\n|---|---|\n" + "| row | ok |\n" * 40 + "\n" + "INSERT INTO t VALUES (0, 'x');\n" * 40),
    )
    yield "repeated lines of code in a message", says("Here:\n```c\n" + '    printf("tick\\n");\n' * 60 + "```\n")
    yield (
        "the person says the same after trying themselves",
        joined(
            bad("ssh deploy@host uptime", "ssh: connect to host port 22: Connection timed out")
            + user("I restarted it, try once more")
            for _ in range(5)
        ),
    )
    yield (
        "edits forth and one edit back",
        joined(
            (_claude_edit("a.py", "x = 1", "x = 2"), ok("pytest", "4 passed"), _claude_edit("a.py", "x = 2", "x = 1"))
        ),
    )
    yield "the same replacement in several places", joined(_claude_edit("a.py", "colour", "color") for _ in range(5))
    yield (
        "tests of parts, all fine in the same words",
        joined(ok(f"pytest tests/{p}", "12 passed in 0.8s") for p in "abcdefgh"),
    )
    yield (
        "three looks at what changed, with work between",
        joined(ok("git diff --stat", f" src/{n}.py | {n} +") + edit(f"src/{n}.py: more") for n in range(6)),
    )
    yield (
        "an outage that passes",
        joined(
            [
                *(bad("pip install torch", "ERROR: HTTPSConnectionPool: Read timed out."),) * 2,
                ok("pip install torch", "Installed"),
            ]
        ),
    )
    yield (
        "a download that goes on",
        joined(
            bad("wget -c https://host/big.iso", f"big.iso {percent}% connection closed at byte {percent}000000")
            for percent in (11, 34, 52, 80)
        ),
    )
    yield (
        "reading the same five files again after the context was trimmed",
        joined([*(read(f"{name}.ts", f"export const {name} = 1") for name in "abcde"), system("context trimmed")] * 2),
    )


def circling() -> Iterator[tuple[str, History]]:
    """Agents that go round in circles, by name."""
    yield "the same listing", joined(ok("dir /b", "setup.cfg\nsrc") for _ in range(4))
    yield "period two", joined((read("Makefile", "all: build") + ok("ls build", "empty.o")) for _ in range(3))
    yield (
        "period three",
        joined(
            (
                read("conf.toml", "port = 1")
                + bad("apply_patch conf", "hunk failed")
                + bad("make run", "port 1: EACCES bind")
            )
            for _ in range(3)
        ),
    )
    for period in (4, 5, 6):
        yield (
            f"period {period}",
            joined(ok(f"search docs for topic {n % period}", f"page {n % period}") for n in range(period * 3)),
        )
    yield (
        "a failing check in a new wrapping each time",
        joined(
            bad("go test ./pool", GO.format(n, n) + f"\nworker-{n} goroutine {n * 7} [running]") for n in range(1, 5)
        ),
    )
    yield (
        "the same exception from temporary places",
        joined(
            edit(f"io.py: try number {n}") + bad("python run.py", TRACE.format(f"x{n}y9z", f"1{n}:02:11", n, n))
            for n in range(1, 5)
        ),
    )
    yield (
        "one assertion after each patch",
        joined(
            edit(f"cart.ts: change {n}", approach) + bad("npx jest", JEST.format(12, 10) + f"Time: {n}.31 s")
            for n, approach in enumerate(("round the tax", "round tax up", "rounding of tax", "tax rounding in cart"))
        ),
    )
    yield (
        "flags change, the failure does not",
        joined(
            bad(f"tox {flags}", "ERROR: py311: could not find pyproject.toml")
            for flags in ("", "-v", "-vv", "--recreate")
        ),
    )
    yield (
        "the same answer to four different ids",
        joined(
            bad(f"tracker show {number}", "tracker: error 404: issue does not exist")
            for number in (17, 171, 1711, 1712)
        ),
    )
    yield (
        "a stuck check between reads of other files",
        joined(
            bad("terraform plan", 'Error: Unsupported argument "tags"') + read(f"m{n}.tf", f"# {n}") for n in range(4)
        ),
    )
    yield (
        "a stuck question between other questions",
        joined(ok("git log -1 --format=%s", "wip: parser") + ok(f"head -3 src/f{n}.c", f"// f{n}") for n in range(6)),
    )
    yield (
        "guessing where a file is",
        joined(
            bad(f"cat /srv/{place}", f"cat: /srv/{place}: No such file or directory")
            for place in (
                "app.conf",
                "etc/app.yml",
                "conf/site.ini",
                "settings.json",
                "config/main.toml",
                "prod.env",
                "x.cfg",
            )
        ),
    )
    yield (
        "a nudge changes nothing",
        joined(bad("make lint", "lint: 4 problems") + system("You seem to repeat yourself.") for _ in range(4)),
    )
    yield (
        "nothing but promises",
        joined(
            says(text)
            for text in (
                "I will now start refactoring the payment service and its tests.",
                "Starting to refactor the payment service and its tests now.",
                "Now refactoring the payment service, then its tests.",
                "The payment service and its tests are being refactored now.",
                "I am about to refactor the payment service and the tests.",
            )
        ),
    )
    yield "the same sentence", joined(says("Let me check the configuration.") for _ in range(3))
    yield "empty answers to an automatic push", joined(says("") + user("Continue.") for _ in range(4))
    yield "a chant", says("The fix is simple. " + "I need to check the logs first. " * 25)
    yield "a chant of two", says("Wait. " + "But what about the cache? No, the cache is fine. " * 14)
    yield (
        "a chant in pieces",
        [
            Observation(kind="message", role="agent", text="so let me try that again ", id=f"m1:{n}", task_id="task")
            for n in range(40)
        ],
    )
    yield "trimming the context for ever", joined(system("Conversation compacted.") for _ in range(11))
    yield "waiting for what never comes", joined(ok("sleep 60 && ./status", "state: queued") for _ in range(11))
    yield "waiting in longer and longer sleeps", joined(ok(f"sleep {10 * n}") for n in range(1, 13))
    yield "talking to itself", joined(ok(f"echo 'step {n} of the plan'", f"step {n} of the plan") for n in range(7))
    yield "asking an empty log", joined(ok("git log --author=bot --oneline") for _ in range(5))
    yield (
        "sending the same message",
        joined(
            ok("slack post #ops 'Build is green'", f"ok message_id={n}f{n}b7a9{n} ts=17{n}0033.{n}") for n in range(4)
        ),
    )
    yield (
        "files forth and back by hash",
        joined(
            edit(f"router.py variant {n}", tree="aaaa" if n % 2 else "bbbb") + ok(f"note {n}", f"n{n}")
            for n in range(5)
        ),
    )
    yield (
        "edits that undo each other",
        joined(_claude_edit("a.ts", "let x", "const x") + _claude_edit("a.ts", "const x", "let x") for _ in range(2)),
    )
    yield (
        "two failures that take turns",
        joined(
            edit(f"tz.py: {n}")
            + bad("pytest -q", f"FAILED tests/test_tz.py::test_{('utc', 'local')[n % 2]} - AssertionError")
            for n in range(6)
        ),
    )
    yield (
        "a ring of three ideas",
        joined(
            edit(f"pool.py {n}", ("use a mutex", "use a queue", "use a semaphore")[n % 3])
            + bad("pytest -q tests/pool", f"FAILED tests/test_pool.py::test_{n % 3} - deadlock")
            for n in range(9)
        ),
    )
    yield (
        "one file in slices that were all seen",
        joined(
            ok(f"{how} handlers.py", "def a(): ...\ndef b(): ...")
            for how in ("cat", "less", "head -50", "sed -n 1,40p", "grep -n def", "nl", "tail -40")[:6]
            for _ in range(1)
        )
        + ok("head -90 handlers.py", "def a(): ...")
        + ok("grep def handlers.py", "def b(): ..."),
    )
    yield (
        "an edit that never applies",
        joined(
            bad(f"replace in api.go old={old!r}", "error: old text not found in api.go", "edit")
            for old in ("a", "a ", " a", "\ta")
        ),
    )
    yield (
        "handing on the same job",
        joined(bad("task: make CI green", "the sub-agent returned without a change", "agent") for _ in range(3)),
    )


def blocked() -> Iterator[tuple[str, History]]:
    """Agents that nothing they do can help, by name."""
    yield "an outage", joined(bad("npm ci", "npm ERR! code ECONNREFUSED") for _ in range(4))
    yield (
        "an outage seen by several tools",
        joined(
            bad(tool, "could not connect to server: Connection refused")
            for tool in ("psql", "pg_dump", "rake db:migrate", "./seed")
        ),
    )
    yield "a limit of requests", joined(bad("curl https://api/x", "HTTP/1.1 429 Too Many Requests") for _ in range(3))
    yield "a missing permission", joined(bad("systemctl restart web", "Access denied") for _ in range(3))
    yield "a missing tool", joined(bad("terraform init", "bash: terraform: command not found") for _ in range(3))
    yield (
        "wrong credentials",
        joined(bad("aws s3 ls", "An error occurred: HTTP 403 invalid credentials") for _ in range(3)),
    )


@pytest.mark.parametrize("history", [pytest.param(history, id=name) for name, history in harmless()])
def test_ordinary_work_is_left_alone(history: History) -> None:
    """Nobody is interrupted in work that repeats itself but gets on."""
    assert verdicts(history) == []


@pytest.mark.parametrize("history", [pytest.param(history, id=name) for name, history in circling()])
def test_going_round_in_circles_is_told(history: History) -> None:
    """The agent hears of it first, with what it repeats and what would count as progress."""
    first = verdicts(history)[0]
    assert first.nudge
    assert first.kind in ("loop", "circular_fix", "waiting")
    assert first.evidence
    assert first.steps
    assert first.resets_on


@pytest.mark.parametrize("history", [pytest.param(history, id=name) for name, history in blocked()])
def test_what_the_agent_cannot_cure_is_blocked(history: History) -> None:
    """An outage, a missing permission and a missing tool are not the agent's loop."""
    assert {said.kind for said in verdicts(history)} == {"blocked"}


def test_a_duration_in_brackets_hides_no_loop() -> None:
    """A failure that took another number of milliseconds each time, said in brackets, is the same failure."""
    history = joined(bad("build", f"the basket is not there: apples.txt ({took} ms)") for took in (12, 9, 31))
    assert verdicts(history)
