"""Families of histories after habits of agents, written when the rules stood, and measured before they were changed.

``KEPT_HABITS``, a third by the hash of their names, were looked at only as a whole.
"""

from __future__ import annotations

import hashlib

from tests.detection.loop_families import LOOPS, QUIET, VERBS, WORDS, History, loop, quiet
from tests.detection.task_families import change, clock

BEFORE = frozenset({*LOOPS, *QUIET})
NAMES = ("test", "final", "fixed", "v2", "simple", "new", "working", "clean")


@loop
def scripts_of_one_idea(h: History, number: int) -> None:
    """Script after script with other names, each of which fails in the same way."""
    wrong = (
        f"TypeError: {h.stem}() missing 1 required positional argument: '{WORDS[number]}'",
        f"AttributeError: module '{h.stem}' has no attribute '{WORDS[number]}'",
        f"panic: runtime error: index out of range [{number}] with length {number}",
        f"Error: Cannot read properties of undefined (reading '{WORDS[number]}')",
    )[number % 4]
    for turn in range(6):
        script = f"{h.stem}_{NAMES[turn]}.py"
        h.turn(h.write(script, h.lines(turn)))
        h.says("Let me try a simpler version.", "A cleaner script should work.", "Ich schreibe es neu.")
        trace = f'Traceback (most recent call last):\n  File "{script}", line {turn * 3 + 4}, in <module>\n    run()\n'
        h.turn(h.shell(f"python {script}", f"{trace}{wrong}", True))
        if turn == 3:
            h.here()


@quiet
def scripts_of_other_ideas(h: History, number: int) -> None:
    """Script after script, each of which fails in another way."""
    for turn in range(6):
        script = f"{h.stem}_{NAMES[turn]}.py"
        h.turn(h.write(script, h.lines(turn)))
        wrong = f"{('TypeError', 'KeyError', 'ValueError')[turn % 3]}: {VERBS[turn]} of '{WORDS[turn]}' at {turn * 7}"
        h.turn(h.shell(f"python {script}", f'  File "{script}", line {turn * 3 + 4}, in <module>\n{wrong}', True))


@loop
def question_without_answer(h: History, number: int) -> None:
    """A question put to a person who does not answer, in other words."""
    asks = (
        "Which {0} shall I use?",
        "Please choose a {0}.",
        "Do you want {0} A or B?",
        "May I pick the {0}?",
        "{0}: A?",
    )
    answer = ("No response.", "The user did not answer.", "(dismissed)", "User skipped the question")[number % 4]
    for turn, ask in enumerate(asks):
        name = ("AskUserQuestion", "ask_user", "ask_followup_question")[number % 3]
        h.turn(h.tool(name, answer, question=ask.format(h.stem)))
        if turn == 3:
            h.here()


@quiet
def questions_answered(h: History, number: int) -> None:
    """Question after question to a person who answers each."""
    for turn in range(6):
        h.turn(h.tool("AskUserQuestion", f"Use {WORDS[turn]}.", question=f"Which {VERBS[turn]} shall I use?"))


@loop
def commit_amended_again(h: History, number: int) -> None:
    """A commit amended and pushed again, without a change."""
    for turn in range(5):
        id = f"{h.rng.randrange(16**7):07x}"
        text = (
            f"[main {id}] Add {h.stem}\n Date: Mon Nov 23 {clock(h, turn)} 2026 +0000\n 1 file changed, 3 insertions(+)"
        )
        h.turn(h.shell("git commit --amend --no-edit", text))
        if number % 2:
            h.turn(h.shell("git push --force", f" + {h.rng.randrange(16**7):07x}...{id} main -> main (forced update)"))
        if turn == 2:
            h.here()


@quiet
def commits_made(h: History, number: int) -> None:
    """Commit after commit, each with other changes."""
    for turn in range(6):
        h.turn(change(h, turn))
        id = f"{h.rng.randrange(16**7):07x}"
        h.turn(h.shell(f"git commit -qam '{VERBS[turn]} {WORDS[turn]}'", f"[main {id}] {VERBS[turn]} {WORDS[turn]}"))


@loop
def file_looked_at_in_many_ways(h: History, number: int) -> None:
    """One short file read through program after program, nothing changed between."""
    text = h.lines(number)
    ways = ("cat {0}", "head -20 {0}", "sed -n '1,20p' {0}", "less {0}", "tail -n 20 {0}", "cat -A {0}", "cat ./{0}")
    for turn, way in enumerate(ways):
        h.says("Let me see the file again.", "I check its content once more.")
        h.turn(h.shell(way.format(h.file()), text))
        if turn == 3:
            h.here()


@quiet
def files_headed(h: History, number: int) -> None:
    """The heads of many files, some of which begin with the same licence."""
    licence = f"// Copyright {2000 + number} The {h.stem} authors. All rights reserved.\n// See LICENSE for the terms."
    for turn in range(7):
        h.turn(h.shell(f"head -3 {h.file(turn)}", f"{licence}\n// {WORDS[turn]}" if turn % 2 else licence))


@loop
def restored_and_redone(h: History, number: int) -> None:
    """One edit made, found wrong, restored from the repository and made again."""
    command, wrong = (
        ("make check", f"{h.file()}:9: expected {number + 3}, got {number + 4}"),
        ("pytest -q", f"FAILED tests/test_{h.stem}.py::test_{WORDS[number]} - assert {number} == 4\n1 failed"),
    )[number % 2]
    for turn in range(4):
        h.turn(h.edit(h.file(), f"return {WORDS[number]}", f"return {WORDS[number]} + 1"))
        h.turn(h.shell(command, wrong, True))
        if turn == 2:
            h.here()
        h.turn(h.shell(f"git checkout {h.file()}", "Updated 1 path from the index"))


@quiet
def restored_between_ideas(h: History, number: int) -> None:
    """Other edits, each found wrong in its own way and restored."""
    for turn in range(5):
        h.turn(h.edit(h.file(), f"return {WORDS[number]}", f"return {VERBS[turn]}({WORDS[number]})"))
        wrong = f"FAILED tests/test_{h.stem}.py::test_{WORDS[turn]} - assert {turn} == {turn * 3 + 4}\n1 failed"
        h.turn(h.shell("pytest -q", wrong, True))
        h.turn(h.shell(f"git checkout {h.file()}", "Updated 1 path from the index"))


@loop
def login_again(h: History, number: int) -> None:
    """A login that succeeds and does not help: the next call is refused as before."""
    login, refused = (
        ("gh auth status", "HTTP 403: Resource not accessible by integration (https://api.example/repos)"),
        ("docker login registry.example", "denied: requested access to the resource is denied"),
        ("aws sts get-caller-identity", "An error occurred (AccessDenied) when calling PutObject: Access Denied"),
    )[number % 3]
    action = ("gh pr create --fill", f"docker push registry.example/{h.stem}", f"aws s3 cp {h.stem}.zip s3://b")[
        number % 3
    ]
    for turn in range(5):
        h.turn(h.shell(login, f"Logged in as {h.stem} (token expires at {clock(h, turn)})"))
        h.turn(h.shell(action, refused, True))
        if turn == 2:
            h.here()


@quiet
def logins_of_services(h: History, number: int) -> None:
    """Service after service logged into, each of which lets in."""
    for turn in range(6):
        h.turn(h.shell(f"docker login {WORDS[turn]}.example", "Login Succeeded"))
        h.turn(
            h.shell(
                f"docker push {WORDS[turn]}.example/{h.stem}", f"latest: digest: sha256:{h.rng.randrange(16**12):012x}"
            )
        )


@loop
def timeout_raised_in_vain(h: History, number: int) -> None:
    """A command that hangs under each longer limit."""
    for turn in range(5):
        limit = 30 * 2**turn
        text = (
            f"Command timed out after {limit}s",
            "timeout: sending signal TERM to command",
            f"Error: timeout of {limit}000ms exceeded",
        )
        call = h.shell(f"timeout {limit} ./{h.stem} --all", text[number % 3], True)
        h.says("It needs more time.", "I raise the limit.")
        h.turn(call)
        if turn == 2:
            h.here()


@quiet
def timeout_raised_until_through(h: History, number: int) -> None:
    """Commands that need a longer limit once each."""
    for turn in range(4):
        h.turn(h.shell(f"timeout 30 ./{VERBS[turn]} --all", "Command timed out after 30s", True))
        h.turn(h.shell(f"timeout 300 ./{VERBS[turn]} --all", f"{WORDS[turn]}: {turn * 31} rows"))


@loop
def server_never_answers(h: History, number: int) -> None:
    """A server that is started, asked and killed, and never answers."""
    for turn in range(5):
        pid = h.rng.randint(1_000, 60_000)
        h.turn(h.shell(f"./{h.stem}d --port 8080 &", f"[1] {pid}"))
        h.turn(h.shell("curl -s -o /dev/null -w '%{http_code}' localhost:8080", "000", number % 2 == 0))
        if turn == 2:
            h.here()
        h.turn(h.shell(f"kill {pid}", h.empty))


@quiet
def servers_probed(h: History, number: int) -> None:
    """Address after address of a server asked, with the same code."""
    for turn in range(7):
        h.turn(h.shell(f"curl -s -o /dev/null -w '%{{http_code}}' localhost:8080/{WORDS[turn]}", "200"))


@loop
def index_rebuilt_in_vain(h: History, number: int) -> None:
    """Something rebuilt again and again before a question with the same empty answer."""
    builds = ("make index", "make index", "make -B index", "./reindex --full", "make clean index", "./reindex --force")
    for turn, build in enumerate(builds):
        h.turn(h.shell(build, f"indexed {h.rng.randint(100, 999)} documents in {h.rng.random() * 9:.2f} s"))
        h.turn(
            h.shell(f"./{h.stem} search {WORDS[number]}", ("0 hits", "[]", "nothing found", '{"hits": []}')[number % 4])
        )
        if turn == 3:
            h.here()


@quiet
def index_grows(h: History, number: int) -> None:
    """Something built further and further before a question whose answer grows."""
    for turn in range(6):
        h.turn(h.shell("make index", f"indexed {turn * 100 + 7} documents"))
        h.turn(h.shell(f"./{h.stem} search {WORDS[number]}", f"{turn * 3} hits"))


@loop
def module_paths_tried(h: History, number: int) -> None:
    """One import written in other ways, none of which is found."""
    paths = ("./{0}", "../{0}", "../../{0}", "@/{0}", "src/{0}", "./lib/{0}", "~/{0}")
    for turn, path in enumerate(paths):
        where = path.format(h.stem)
        h.turn(h.edit("app.ts", f"from '{paths[turn - 1].format(h.stem)}'", f"from '{where}'"))
        text = (
            f"app.ts(3,21): error TS2307: Cannot find module '{where}' or its corresponding type declarations.",
            f"Error: Cannot find module '{where}'\nRequire stack:\n- /srv/app.ts",
            f'✘ [ERROR] Could not resolve "{where}"\n\n    app.ts:3:21',
        )[number % 3]
        h.turn(h.shell(("npx tsc --noEmit", "node app.js", "npx esbuild app.ts")[number % 3], text, True))
        if turn == 3:
            h.here()


@quiet
def modules_resolved(h: History, number: int) -> None:
    """Import after import put right, each of another module."""
    for turn in range(6):
        text = f"app.ts({turn * 9 + 3},21): error TS2307: Cannot find module './{WORDS[turn]}'."
        h.turn(h.shell("npx tsc --noEmit", text, True))
        h.turn(h.edit("app.ts", f"from './{WORDS[turn]}'", f"from './lib/{WORDS[turn]}'"))


@loop
def pattern_never_right(h: History, number: int) -> None:
    """A pattern changed again and again that matches nothing in a try-out."""
    for turn in range(7):
        pattern = f"{VERBS[turn]}\\s*{WORDS[(turn + number) % 15]}"
        text = ("no match", "None", "matches: []", "0 of 14 lines match")[number % 4]
        h.turn(h.shell(f"python3 -c \"import re; print(re.findall(r'{pattern}', open('{h.stem}.log').read()))\"", text))
        if turn == 4:
            h.here()


@quiet
def patterns_counted(h: History, number: int) -> None:
    """Pattern after pattern counted in one file."""
    for turn in range(7):
        h.turn(
            h.shell(f"grep -c {WORDS[turn]} {h.stem}.log", str((turn * 7 + number) % 5), (turn * 7 + number) % 5 == 0)
        )


@loop
def proposals_only(h: History, number: int) -> None:
    """A patch shown to the person again and again and never applied."""
    for turn in range(6):
        if turn % 2 and number % 2:
            h.turn(h.read(h.file(), h.lines(number)))
        name = ("propose_patch", "exit_plan_mode", "attempt_completion")[number % 3]
        text = ("The user wants changes to the plan.", "Plan rejected.", "Not accepted: tests still fail.")[number % 3]
        h.turn(h.tool(name, text, number % 4 == 0, plan=f"{VERBS[turn]} the {h.stem}, then {VERBS[turn + 1]} it"))
        if turn == 3:
            h.here()


@quiet
def proposals_worked_off(h: History, number: int) -> None:
    """A plan proposed, accepted and worked off, twice."""
    for turn in range(3):
        h.turn(h.tool("exit_plan_mode", "User has approved your plan.", plan=f"{VERBS[turn]} the {h.stem}"))
        h.turn(h.edit(h.file(turn), WORDS[turn], VERBS[turn]))
        h.turn(h.shell("make", f"built {WORDS[turn]}"))


@loop
def wrong_tool_arguments(h: History, number: int) -> None:
    """A call whose argument has the wrong form each time."""
    for turn in range(5):
        given = (f"[{turn}]", f"{turn}, {turn + 1}", f"line {turn}", f"{turn}-{turn + 5}", f"'{turn}'")[turn]
        text = (
            f'InputValidationError: view_range must be an array of two integers, got "{given}"',
            f"invalid arguments for read_lines: range: expected array, received string ({given})",
            f"Error: json: cannot unmarshal string {given} into field .range of type []int",
        )[number % 3]
        h.turn(h.tool("read_lines", text, True, path=h.file(), range=given))
        if turn == 2:
            h.here()


@quiet
def tool_arguments_learnt(h: History, number: int) -> None:
    """Tool after tool called wrongly once and then rightly."""
    for turn in range(4):
        text = f"invalid arguments for {VERBS[turn]}_lines: {WORDS[turn]}: expected array, received string"
        h.turn(h.tool(f"{VERBS[turn]}_lines", text, True, path=h.file(), range="1"))
        h.turn(h.tool(f"{VERBS[turn]}_lines", h.lines(turn), path=h.file(), range=[1, 5]))


@loop
def test_disabled_and_enabled(h: History, number: int) -> None:
    """A test switched off, switched on and failing as before, again and again."""
    on, off = f"def test_{h.stem}", f"@pytest.mark.skip\ndef test_{h.stem}"
    for turn in range(6):
        was, now = (on, off) if turn % 2 == 0 else (off, on)
        h.turn(h.edit(f"tests/test_{h.stem}.py", was, now))
        text = (
            f"11 passed, 1 skipped in {h.rng.random():.2f}s"
            if turn % 2 == 0
            else f"FAILED test_{h.stem}\n1 failed, 11 passed"
        )
        h.turn(h.shell("pytest -q", text, turn % 2 == 1))
        if turn == 2:
            h.here()


@quiet
def tests_enabled_in_turn(h: History, number: int) -> None:
    """Test after test switched on."""
    for turn in range(6):
        h.turn(h.edit(f"tests/test_{h.stem}.py", f"@skip\ndef test_{WORDS[turn]}", f"def test_{WORDS[turn]}"))
        h.turn(h.shell("pytest -q", f"{turn + 4} passed, {6 - turn} skipped"))


@loop
def key_pressed_again(h: History, number: int) -> None:
    """A program in a terminal that shows the same prompt after each input."""
    prompt = (f"{h.stem}> ", "Password: ", "Overwrite? [y/N] ", ">>> ")[number % 4]
    for turn in range(6):
        keys = ("y", "yes", "Enter", "Y", "C-m", "q")[turn] if number % 2 else "Enter"
        screen = f"{h.stem} 1.{number}\n{prompt}"
        name = ("send_keys", "terminal_input", "tmux_send")[number % 3]
        h.turn(h.tool(name, screen, keys=keys, pane="0"))
        if turn == (3 if number % 2 else 2):
            h.here()


@quiet
def prompts_answered(h: History, number: int) -> None:
    """A program in a terminal that asks one thing after the other."""
    for turn in range(6):
        h.turn(h.tool("send_keys", f"{WORDS[turn]} [{VERBS[turn]}]: ", keys="Enter", pane="0"))


@loop
def credentials_guessed(h: History, number: int) -> None:
    """Password after password tried on one door."""
    for turn in range(7):
        word = ("admin", "root", "1234", "secret", h.stem, "letmein", "changeme")[turn]
        command, text = (
            (f"mysql -uroot -p{word} -e 'select 1'", "ERROR 1045 (28000): Access denied for user 'root'@'localhost'"),
            (f"unzip -P {word} a.zip", "   skipping: a.txt  incorrect password"),
            (f"sshpass -p {word} ssh root@h true", "Permission denied, please try again."),
        )[number % 3]
        h.turn(h.shell(command, text, True))
        if turn == 3:
            h.here()


@quiet
def archives_unpacked(h: History, number: int) -> None:
    """Archive after archive unpacked."""
    for turn in range(6):
        h.turn(h.shell(f"unzip -q {WORDS[turn]}.zip", h.empty))
        h.turn(h.shell(f"ls {WORDS[turn]} | wc -l", str(turn + 3)))


@loop
def same_report_written(h: History, number: int) -> None:
    """A report that is written again under other names, with the same content."""
    content = "\n".join(h.lines(n) for n in range(6))
    for turn in range(6):
        h.says("I write the summary.", "The report is complete.", "Here is the final documentation.")
        h.turn(h.write(f"{NAMES[turn].upper()}_SUMMARY.md", content))
        if turn == 3:
            h.here()


@quiet
def reports_written(h: History, number: int) -> None:
    """Report after report, each about something else."""
    for turn in range(6):
        h.turn(h.write(f"docs/{WORDS[turn]}.md", h.lines(turn)))


@loop
def nothing_to_commit(h: History, number: int) -> None:
    """A commit tried again and again with nothing in it."""
    text = (
        "nothing to commit, working tree clean",
        "no changes added to commit",
        "On branch main\nnothing added to commit",
    )
    for turn in range(5):
        h.turn(h.shell("git add -A" if number % 2 else f"git add {h.file()}", h.empty))
        h.turn(h.shell(f"git commit -m '{VERBS[turn]} {h.stem}'", text[number % 3], True))
        if turn == 2:
            h.here()


@quiet
def clean_between_tasks(h: History, number: int) -> None:
    """The state of the tree looked at before each task, always clean."""
    for turn in range(6):
        h.turn(h.shell("git status --short", h.empty))
        h.turn(h.shell(f"git checkout -b {VERBS[turn]}-{h.stem}", f"Switched to a new branch '{VERBS[turn]}-{h.stem}'"))
        h.turn(change(h, turn))
        h.turn(h.shell(f"git commit -qam {WORDS[turn]}", h.empty))


@loop
def version_asked_again(h: History, number: int) -> None:
    """The machine asked again for what it has."""
    probes = ("python --version", "node --version", "uname -a", "pwd", "whoami")
    texts = ("Python 3.11.2", "v20.11.1", f"Linux {h.stem} 6.1.0 x86_64", h.where, "root")
    which = [number % 5, (number + 2) % 5]
    for turn in range(5):
        for one in which:
            h.turn(h.shell(probes[one], texts[one]))
        if turn == 2:
            h.here()


@quiet
def versions_listed(h: History, number: int) -> None:
    """Program after program asked for its version."""
    for turn in range(7):
        h.turn(h.shell(f"{VERBS[turn]} --version", f"{VERBS[turn]} {turn}.{number}.1"))


@loop
def pull_behind(h: History, number: int) -> None:
    """A push that is refused, a pull that brings nothing, and the push again."""
    pulls = (
        "Already up to date.",
        "Current branch main is up to date.",
        "From git.example:acme/app\n * branch main -> FETCH_HEAD",
    )
    for turn in range(5):
        h.turn(
            h.shell("git push", "! [rejected] main -> main (non-fast-forward)\nerror: failed to push some refs", True)
        )
        if turn == 2:
            h.here()
        h.turn(h.shell("git pull --rebase" if number % 2 else "git pull", pulls[number % 3]))


@quiet
def pulls_between(h: History, number: int) -> None:
    """A branch kept up to date between pieces of work."""
    for turn in range(5):
        new = f"{h.rng.randrange(16**7):07x}"
        h.turn(h.shell("git pull", f"Updating {new}..{h.rng.randrange(16**7):07x}\n {WORDS[turn]}.txt | {turn + 1} +"))
        h.turn(change(h, turn))
        h.turn(h.shell("git push", f"   {new}..{h.rng.randrange(16**7):07x}  main -> main"))


@loop
def data_never_valid(h: History, number: int) -> None:
    """A document written anew and refused by the same rule of a validator."""
    for turn in range(5):
        h.turn(h.write(f"{h.stem}.json", "{" + f'"{WORDS[turn]}": {turn}, "at": "{VERBS[turn]}"' + "}"))
        text = (
            f"{h.stem}.json invalid\n  data must have required property '{WORDS[number]}'",
            f"{h.stem}.json: /: '{WORDS[number]}' is a required property",
        )[number % 2]
        h.turn(h.shell(f"npx ajv validate -s s.json -d {h.stem}.json", text, True))
        if turn == 2:
            h.here()


@quiet
def data_made_valid(h: History, number: int) -> None:
    """A document that lacks one property less after each change."""
    for turn in range(6):
        h.turn(
            h.shell(
                "npx ajv validate -s s.json -d d.json",
                f"d.json invalid\n  data must have required property '{WORDS[turn]}'",
                True,
            )
        )
        h.turn(h.edit("d.json", "{", "{" + f'"{WORDS[turn]}": {turn},'))


@loop
def translation_undone(h: History, number: int) -> None:
    """Two wordings of one text that replace each other."""
    words = (f"{VERBS[number % 10]} the {h.stem}", f"{WORDS[number]} of the {h.stem}")
    for turn in range(7):
        h.says("The first wording was better.", "Actually, the other one is clearer.", "Doch lieber anders.")
        if number % 2:
            h.turn(h.edit("README.md", words[turn % 2], words[(turn + 1) % 2]))
        else:
            h.turn(h.shell(f"sed -i 's/{words[turn % 2]}/{words[(turn + 1) % 2]}/' README.md", h.empty))
        if turn == 2:
            h.here()


@quiet
def wordings_replaced(h: History, number: int) -> None:
    """Word after word replaced in one text."""
    for turn in range(8):
        h.turn(h.shell(f"sed -i 's/{WORDS[turn]}/{VERBS[turn]}/' README.md", h.empty))


@quiet
def rows_inserted(h: History, number: int) -> None:
    """Row after row inserted, each with the same answer."""
    for turn in range(9):
        h.turn(h.shell(f"sqlite3 a.db \"insert into {h.stem} values ({turn}, '{WORDS[turn]}')\"", h.empty))
        if turn % 3 == 2:
            h.turn(h.shell(f"sqlite3 a.db 'select count(*) from {h.stem}'", str(turn + 1)))


@quiet
def endpoints_tested(h: History, number: int) -> None:
    """Address after address of a service, each with the same envelope."""
    for turn in range(7):
        h.turn(
            h.shell(
                f"curl -s localhost:8080/api/{WORDS[turn]}",
                '{"status": "ok", "data": [], "errors": [], "version": "1.4.2"}',
            )
        )


@quiet
def packages_built(h: History, number: int) -> None:
    """Package after package built, each with the same last lines."""
    for turn in range(7):
        h.turn(
            h.shell(
                f"make -C packages/{WORDS[turn]}",
                "Entering directory\nnothing to be done for 'all'.\nLeaving directory",
            )
        )


@quiet
def game_played(h: History, number: int) -> None:
    """A game in which moves lead to places, some of them seen before."""
    places = [f"{WORDS[n]} room: exits {VERBS[n]}, {VERBS[n + 1]}" for n in range(5)]
    for turn in range(10):
        h.turn(
            h.tool(
                "send_command",
                places[(turn * turn + number) % 5],
                command=("north", "east", "south", "take lamp")[turn % 4],
            )
        )


@quiet
def mutation_checked(h: History, number: int) -> None:
    """Changes of one line tried against the same test, each noticed and taken back."""
    for turn in range(5):
        h.turn(h.edit(h.file(), f"a {WORDS[turn]} b", f"a not {WORDS[turn]} b"))
        h.turn(h.shell("pytest -q", f"FAILED tests/test_{h.stem}.py::test_{VERBS[turn]}\n1 failed, 9 passed", True))
        h.turn(h.edit(h.file(), f"a not {WORDS[turn]} b", f"a {WORDS[turn]} b"))


HABITS = frozenset({*LOOPS, *QUIET}) - BEFORE
KEPT_HABITS = frozenset(name for name in HABITS if hashlib.sha256(name.encode()).digest()[0] % 3 == 0)
