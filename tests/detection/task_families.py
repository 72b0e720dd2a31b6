"""Families of histories after tasks: services, data, browsers, builds, databases, deployments.

They were written before the rules were looked at. ``KEPT_TASKS``, a third by the hash of their names, stayed unread
until the rules stood.
"""

from __future__ import annotations

import hashlib

from tests.detection.loop_families import DIRECTORIES, LOOPS, NOT_FOUND, QUIET, VERBS, WORDS, Call, History, loop, quiet

TRACE = 'Traceback (most recent call last):\n  File "app.py", line 3\n'
LINKED = "\ncollect2: error: ld returned 1 exit status"
BEFORE = frozenset({*LOOPS, *QUIET})


def clock(h: History, turn: int) -> str:
    """Return a time of day that moves with the turns."""
    return f"{9 + turn // 4:02}:{(turn * 13) % 60:02}:{h.rng.randint(0, 59):02}"


def change(h: History, turn: int) -> Call:
    """Return an edit that differs from turn to turn."""
    old = f"{VERBS[turn % 10]}({WORDS[turn % 15]})"
    return h.edit(h.file(), old, f"{VERBS[(turn + 3) % 10]}({WORDS[turn % 15]}, {h.rng.randint(1, 99)})")


# Loops, each with partners below that only look like it


@loop
def rollout_stuck(h: History, number: int) -> None:
    """A rollout that is asked for again and again and does not move."""
    command = (
        f"kubectl rollout status deploy/{h.stem} --timeout=30s",
        f"kubectl get deploy {h.stem} -o wide",
        f"sleep {20 + number}; kubectl get pods -l app={h.stem}",
    )[number % 3]
    for turn in range(9):
        text = (
            f'Waiting for deployment "{h.stem}" rollout to finish: 0 of 3 updated replicas are available...',
            f"NAME READY UP-TO-DATE AVAILABLE AGE\n{h.stem} 0/3 3 0 {turn + 2}m",
            f"NAME READY STATUS RESTARTS AGE\n{h.stem}-5d9c7b-x2x 0/1 Pending 0 {turn * 20 + 31}s",
        )[number % 3]
        h.says("Still waiting.", "Not ready yet. I wait a little more.")
        h.turn(h.shell(command, text))
        if turn == 5:
            h.here()


@quiet
def rollout_moves(h: History, number: int) -> None:
    """A rollout that is asked for until it is through."""
    for turn in range(8):
        done = turn * 3
        text = f'Waiting for deployment "{h.stem}" rollout to finish: {done} of 24 updated replicas are available...'
        h.turn(h.shell(f"kubectl rollout status deploy/{h.stem} --timeout=30s", text))


@loop
def click_without_effect(h: History, number: int) -> None:
    """An element that is clicked again while the page stays as it is."""
    target = f"button '{VERBS[number % 10]} {h.stem}'"
    for turn in range(6):
        page = f"- heading '{h.stem}'\n- textbox 'amount' [ref=e{turn * 31 + 7}]\n- {target} [ref=e{turn * 31 + 9}]"
        text = (f"### Page state\n{page}", f"Clicked.\nSnapshot at {clock(h, turn)}\n{page}", page)[number % 3]
        name = ("browser_click", "mcp__playwright__browser_click", "click")[number % 3]
        ref = f"e{turn * 31 + 9}" if number % 2 else "e9"
        h.says("The page did not change. I click again.", "Let me click the button.")
        h.turn(h.tool(name, text, element=target, ref=ref))
        if turn == 2:
            h.here()


@quiet
def pages_clicked_through(h: History, number: int) -> None:
    """The same button on page after page of a form."""
    for turn in range(7):
        page = f"- heading '{WORDS[turn]} ({turn + 1} of 7)'\n- textbox '{VERBS[turn]}'\n- button 'Next' [ref=e9]"
        h.turn(h.tool("browser_click", f"### Page state\n{page}", element="button 'Next'", ref="e9"))


@loop
def selector_never_there(h: History, number: int) -> None:
    """An element looked for by other and other selectors."""
    selectors = ("#{0}", ".{0}", "text={0}", "[data-id='{0}']", "button:has-text('{0}')", "//*[@id='{0}']")
    for turn, selector in enumerate(selectors):
        found = selector.format(f"{h.stem}-{VERBS[number % 10]}")
        text = (
            f"TimeoutError: locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for locator('{found}')",
            f"Error: no element matches selector {found}",
            f'selenium NoSuchElementException: Unable to locate element: {{"selector":"{found}"}}',
        )[number % 3]
        h.turn(h.tool("browser_click", text, True, selector=found))
        if turn == 3:
            h.here()


@quiet
def selectors_corrected(h: History, number: int) -> None:
    """Element after element, each met at the second try."""
    for turn in range(5):
        text = f"TimeoutError: locator.click: Timeout 5000ms exceeded.\n  - waiting for locator('#{WORDS[turn]}')"
        h.turn(h.tool("browser_click", text, True, selector=f"#{WORDS[turn]}"))
        h.turn(h.tool("browser_click", f"clicked; page is /{WORDS[turn]}", selector=f".{WORDS[turn]}"))


@loop
def query_without_rows(h: History, number: int) -> None:
    """A question to the database in other words, always without rows."""
    key = f"{h.stem}-{number}41"
    clauses = (
        f"id = '{key}'",
        f"id LIKE '%{key}%'",
        f"lower(id) = lower('{key}')",
        f"trim(id) = '{key}'",
        f"id ~ '{key}'",
        f"id IN ('{key}', '{key.upper()}')",
    )
    for turn, clause in enumerate(clauses):
        query = f"SELECT * FROM {h.stem}s WHERE {clause}"
        text = ("(0 rows)", "Empty set (0.00 sec)", "[]", '{"rows": [], "rowCount": 0}')[number % 4]
        if number % 2:
            h.turn(h.shell(f'psql -c "{query}"', f" id | {WORDS[0]} | {WORDS[1]}\n----+----+----\n{text}"))
        else:
            h.turn(h.tool("mcp__postgres__query", text, sql=query))
        if turn == 3:
            h.here()


@quiet
def tables_without_rows(h: History, number: int) -> None:
    """Table after table counted after a clean-up."""
    for turn in range(7):
        table = f"{WORDS[(turn + number) % 15]}s"
        if number % 2:
            h.turn(h.shell(f'psql -c "SELECT * FROM {table} WHERE deleted"', "(0 rows)"))
        else:
            h.turn(h.tool("mcp__postgres__query", "[]", sql=f"SELECT id FROM {table} WHERE {WORDS[turn]} IS NULL"))


@loop
def migration_refused(h: History, number: int) -> None:
    """A migration that stays refused for one reason while the agent edits it."""
    reason = (
        f'ERROR: column "{WORDS[number]}" of relation "{h.stem}s" already exists',
        f"sqlite3.OperationalError: no such table: main.{h.stem}_{WORDS[number]}",
        f'Error: P3018 A migration failed to apply. Database error: type "{h.stem}_kind" does not exist',
    )[number % 3]
    for turn in range(5):
        h.turn(change(h, turn))
        h.turn(h.shell("make migrate", f"{clock(h, turn)} applying 00{number} ...\n{reason}", True))
        if turn == 2:
            h.here()


@quiet
def migration_moves(h: History, number: int) -> None:
    """A migration mended one table after the other."""
    for turn in range(6):
        reason = f'ERROR: column "{WORDS[turn]}" of relation "{VERBS[turn]}s" already exists'
        h.turn(h.shell("make migrate", f"applying 00{number} ...\n{reason}", True))
        h.turn(change(h, turn))


@loop
def payload_refused(h: History, number: int) -> None:
    """A request sent with other and other bodies and refused for the same field."""
    field = WORDS[number]
    for turn in range(6):
        body, id = f'{{"{field}": "{VERBS[turn]}", "n": {turn}}}', f"{h.rng.randrange(16**8):08x}"
        text = (
            f'{{"status":422,"errors":[{{"path":"{field}","message":"must be a valid {h.stem}"}}],"id":"{id}"}}',
            f"HTTP/1.1 400 Bad Request\ndate: Mon, 23 Nov 2026 {clock(h, turn)} GMT\n\n{field}: invalid {h.stem}",
            f"error: server refused the request: {field} is not a known {h.stem}",
        )[number % 3]
        h.says("The body is wrong. Another one.", "Let me change the value.")
        if number % 2:
            h.turn(h.shell(f"curl -s -X POST https://api.example/{h.stem} -d '{body}'", text))
        else:
            h.turn(h.tool("http_request", text, True, method="POST", body=body))
        if turn == 3:
            h.here()


@quiet
def fields_refused_in_turn(h: History, number: int) -> None:
    """A request whose fields are put right one after the other."""
    for turn in range(7):
        body = ", ".join(f'"{WORDS[n]}": {n}' for n in range(turn))
        text = f'{{"status":422,"errors":[{{"path":"{WORDS[turn]}","message":"is required"}}]}}'
        h.turn(h.shell(f"curl -s -X POST https://api.example/{h.stem} -d '{{{body}}}'", text))


@loop
def rate_limited(h: History, number: int) -> None:
    """A service that refuses each call, with another time to wait."""
    for turn in range(6):
        wait = h.rng.randint(3, 90)
        text = (
            f"429 Too Many Requests: retry after {wait} seconds",
            f"Error: API rate limit exceeded for 10.0.{number}.{wait}. Try again in {wait}s",
            f"RESOURCE_EXHAUSTED: quota exceeded, retryDelay: {wait}s",
        )[number % 3]
        h.turn(h.tool("fetch_orders", text, True, shop=h.stem, page=number))
        if turn == 2:
            h.here()


@quiet
def rate_limit_passes(h: History, number: int) -> None:
    """Page after page, each after one refusal."""
    for turn in range(5):
        text = f"429 Too Many Requests: retry after {h.rng.randint(1, 9)} seconds"
        h.turn(h.tool("fetch_orders", text, True, shop=h.stem, page=turn))
        h.turn(h.tool("fetch_orders", f'[{{"id": {turn}, "of": "{WORDS[turn]}"}}]', shop=h.stem, page=turn))


@loop
def image_never_builds(h: History, number: int) -> None:
    """A container image that fails in the same step after each edit."""
    for turn in range(5):
        h.turn(h.edit("Dockerfile", f"ENV {WORDS[turn].upper()}=1", f"ENV {WORDS[turn].upper()}=2"))
        digest, took = f"{h.rng.randrange(16**12):012x}", h.rng.random() * 9
        ended = "\n#9 ERROR: process did not complete successfully: exit code: 2"
        code = "The command '/bin/sh -c npm ci' returned a non-zero code: 1"
        text = (
            f"#9 [4/7] RUN make {h.stem}\n#9 {took:.3f} make: *** No rule to make target '{h.stem}'. Stop.{ended}",
            f"Step 4/7 : RUN npm ci\n ---> Running in {digest}\nnpm ERR! missing script: {h.stem}\n{code}",
        )[number % 2]
        h.turn(h.shell(f"docker build -t {h.stem}:{turn if number % 3 else 'dev'} .", text, True))
        if turn == 2:
            h.here()


@quiet
def image_builds_further(h: History, number: int) -> None:
    """A container image whose build comes further with each edit."""
    for turn in range(6):
        text = f"#9 [{turn + 2}/9] RUN {VERBS[turn]} {WORDS[turn]}\n#9 ERROR: {WORDS[turn]}: no such option"
        h.turn(h.shell(f"docker build -t {h.stem} .", text, True))
        h.turn(h.edit("Dockerfile", f"RUN {VERBS[turn]} {WORDS[turn]}", f"RUN {VERBS[turn]}"))


@loop
def ticket_opened_again(h: History, number: int) -> None:
    """The same ticket opened again, each with a new number."""
    for turn in range(5):
        id = h.rng.randint(100, 9_999)
        if number % 2:
            call = h.shell(
                f"gh issue create -t 'Fix {h.stem}' -b 'see log'", f"https://git.example/acme/app/issues/{id}"
            )
        else:
            call = h.tool("create_issue", f'{{"number": {id}, "state": "open"}}', title=f"Fix {h.stem}", body="see log")
        h.says("I open an issue.", "Creating the ticket.")
        h.turn(call)
        if turn == 2:
            h.here()


@quiet
def tickets_opened(h: History, number: int) -> None:
    """Ticket after ticket, each about something else."""
    for turn in range(7):
        id = 120 + turn
        title = f"{VERBS[turn]} {WORDS[turn]}"
        h.turn(h.shell(f"gh issue create -t '{title}' -b 'see log'", f"https://git.example/acme/app/issues/{id}"))


@loop
def made_executable_in_vain(h: History, number: int) -> None:
    """A program that stays forbidden, however its mode is changed."""
    script = f"/mnt/{h.stem}/run.sh"
    modes = (f"chmod +x {script}", f"chmod 755 {script}", f"chmod a+rx {script}", f"sudo chmod 777 {script}", "sync")
    for turn, mode in enumerate(modes):
        h.turn(h.shell(mode, h.empty))
        h.turn(h.shell(script, f"bash: {script}: Permission denied", True))
        if turn == 2:
            h.here()


@quiet
def scripts_made_executable(h: History, number: int) -> None:
    """Script after script that is forbidden and then allowed."""
    for turn in range(5):
        script = f"./{VERBS[turn]}_{h.stem}.sh"
        h.turn(h.shell(script, f"bash: {script}: Permission denied", True))
        h.turn(h.shell(f"chmod +x {script}", h.empty))
        h.turn(h.shell(script, f"{WORDS[turn]} done"))


@loop
def stashed_and_taken_back(h: History, number: int) -> None:
    """Work that is put away and taken back without anything between."""
    for turn in range(5):
        h.turn(h.shell("git stash", f"Saved working directory and index state WIP on main: 3f2a{number:x} {h.stem}"))
        h.turn(
            h.shell(
                "git stash pop",
                f"On branch main\n\tmodified: {h.file()}\nDropped refs/stash@{{0}} ({h.rng.randrange(16**8):08x})",
            )
        )
        if turn == 2:
            h.here()


@quiet
def stashed_around_work(h: History, number: int) -> None:
    """Work that is put away while other commits are fetched."""
    for turn in range(4):
        h.turn(h.shell("git stash", "Saved working directory and index state WIP on main"))
        h.turn(h.shell("git pull --rebase", f"Updating {h.rng.randrange(16**7):07x}..{h.rng.randrange(16**7):07x}"))
        h.turn(h.shell("git stash pop", f"On branch main\n\tmodified: {h.file(turn)}\nDropped refs/stash@{{0}}"))
        h.turn(h.edit(h.file(turn), WORDS[turn], VERBS[turn]))


@loop
def variable_lost(h: History, number: int) -> None:
    """A variable set in a shell that ends, and missed by the next one."""
    name = f"{h.stem.upper()}_TOKEN"
    sets = (f"export {name}=abc", f"export {name}='abc'", f"{name}=abc; export {name}", f"declare -x {name}=abc", "env")
    missing = (
        f"error: environment variable {name} is not set",
        f"KeyError: '{name}'",
        f"Missing required configuration: {name}",
    )[number % 3]
    for turn, command in enumerate(sets):
        h.turn(h.shell(command, h.empty))
        h.turn(h.shell(f"./{h.stem} sync", missing, True))
        if turn == 2:
            h.here()


@quiet
def variables_added(h: History, number: int) -> None:
    """Variable after variable that a program misses."""
    for turn in range(6):
        given = " ".join(f"{WORDS[n].upper()}=1" for n in range(turn))
        text = f"error: environment variable {WORDS[turn].upper()} is not set"
        h.turn(h.shell(f"{given} ./{h.stem} sync".strip(), text, True))


@loop
def installed_elsewhere(h: History, number: int) -> None:
    """A package that is there for one interpreter and missed by another."""
    module = f"{h.stem}lib"
    installs = ("pip install", "pip3 install", "python3 -m pip install", "pip install --user", "pip install --upgrade")
    for turn, install in enumerate(installs):
        h.turn(
            h.shell(f"{install} {module}", f"Requirement already satisfied: {module} in /usr/lib/python3 (1.{number})")
        )
        text = f"{TRACE}ModuleNotFoundError: No module named '{module}'"
        h.turn(h.shell("python app.py" if number % 2 else f"python -c 'import {module}'", text, True))
        if turn == 2:
            h.here()


@quiet
def packages_installed(h: History, number: int) -> None:
    """Package after package that a program misses."""
    for turn in range(6):
        module = f"{WORDS[turn]}lib"
        text = f"{TRACE}ModuleNotFoundError: No module named '{module}'"
        h.turn(h.shell("python app.py", text, True))
        h.turn(h.shell(f"pip install {module}", f"Successfully installed {module}-1.{turn}"))


@loop
def queue_stands(h: History, number: int) -> None:
    """A job in a queue that does not move, looked at again and again."""
    id = h.rng.randint(10_000, 99_999)
    for turn in range(9):
        text = f"JOBID PARTITION NAME ST TIME NODES REASON\n{id} gpu {h.stem} PD 0:00 4 (Resources)"
        command = (f"squeue -j {id}", f"sleep 60 && squeue -j {id}", f"squeue --me | grep {id}")[number % 3]
        h.turn(h.shell(command, text))
        if turn == 5:
            h.here()


@quiet
def queue_moves(h: History, number: int) -> None:
    """A job in a queue that comes nearer."""
    for turn in range(9):
        text = (
            f"position {40 - turn * 4} of {60 + turn}" if number % 2 else f"{h.stem} R {turn * 3 + 1}:07 4 node{number}"
        )
        h.turn(h.shell("squeue -j 4711", text))


@loop
def linter_rerun(h: History, number: int) -> None:
    """A linter asked to mend what it cannot mend."""
    text = (
        f"{h.file()}\n  12:7  error  '{WORDS[number]}' is assigned a value but never used  no-unused-vars\n\n1 problem",
        f"{h.file()}:12:7: F841 Local variable `{WORDS[number]}` is assigned to but never used\nFound 1 error.",
    )[number % 2]
    commands = ("npx eslint --fix .", "ruff check --fix .")
    for turn in range(5):
        h.says("Let me run the fixer.", "Running the linter with fixes.")
        h.turn(h.shell(commands[number % 2], text, True))
        if turn == 2:
            h.here()


@quiet
def linter_shrinks(h: History, number: int) -> None:
    """A linter with fewer and fewer findings."""
    for turn in range(7):
        lines = "\n".join(f"{h.file()}:{n * 7 + 3}:1: F841 `{WORDS[n]}` is never used" for n in range(turn, 9))
        h.turn(h.shell("ruff check .", f"{lines}\nFound {9 - turn} errors.", True))
        h.turn(h.edit(h.file(), f"{WORDS[turn]} = 1", ""))


@loop
def picture_viewed_again(h: History, number: int) -> None:
    """A picture that is opened again and again."""
    name = ("view_image", "Read", "open_image")[number % 3]
    for turn in range(6):
        h.says("Let me look at the picture.", "I look closer.", "Mal sehen, was auf dem Bild ist.")
        h.turn(h.tool(name, "[image]" if number % 2 else f"image/png 640x480 {h.stem}", path=f"/tmp/{h.stem}.png"))
        if turn == 2:
            h.here()


@quiet
def pictures_viewed(h: History, number: int) -> None:
    """Picture after picture, each with the same words as its result."""
    for turn in range(8):
        h.turn(h.tool("view_image", "[image]", path=f"/tmp/{h.stem}_{turn}.png"))


@loop
def same_sum_again(h: History, number: int) -> None:
    """One sum worked out again in other words, always with the same result."""
    a, b = h.rng.randint(100, 999), h.rng.randint(100, 999)
    forms = (
        f'python3 -c "print({a} * {b})"',
        f"echo $(({a} * {b}))",
        f"echo '{a} * {b}' | bc",
        f"awk 'BEGIN {{ print {a} * {b} }}'",
        f"node -p '{a} * {b}'",
        f"perl -e 'print {a} * {b}'",
        f"expr {a} '*' {b}",
    )
    for turn, form in enumerate(forms):
        h.says("Let me verify that.", "Double-checking the product.")
        h.turn(h.shell(form, str(a * b)))
        if turn == 3:
            h.here()


@quiet
def checks_that_hold(h: History, number: int) -> None:
    """Property after property tried, each of which holds."""
    for turn in range(8):
        h.turn(h.shell(f'python3 -c "print({WORDS[turn]}({turn}) == {VERBS[turn]}({turn * turn}))"', "True"))


@loop
def size_never_smaller(h: History, number: int) -> None:
    """A program changed again and again whose output keeps its size."""
    size = h.rng.randint(2_600, 90_000)
    for turn in range(10):
        h.turn(change(h, turn))
        text = (f"{size} out.bin", f"size: {size} bytes (limit 2500)", f"compressed to {size}; must be below 2500")[
            number % 3
        ]
        command = ("wc -c out.bin", "./measure.sh", "python pack.py && ls")[number % 3]
        h.turn(h.shell(command, text))
        if turn == 5:
            h.here()


@quiet
def size_shrinks(h: History, number: int) -> None:
    """A program changed again and again whose output becomes smaller."""
    size = 90_000
    for turn in range(10):
        h.turn(change(h, turn))
        size -= h.rng.randint(50, 900)
        h.turn(h.shell("wc -c out.bin", f"{size} out.bin"))


@loop
def same_diff_looked_at(h: History, number: int) -> None:
    """A change looked at again with nothing done between."""
    text = f"diff --git a/{h.file()} b/{h.file()}\n@@ -1,3 +1,3 @@\n-{WORDS[number]}\n+{VERBS[number % 10]}"
    commands = ("git diff", "git diff", "git --no-pager diff", "git diff HEAD", "git diff", "git diff")
    for turn in range(6):
        h.says("Let me review my changes.", "I check the diff before I finish.")
        h.turn(h.shell(commands[turn] if number % 3 == 0 else "git diff", text))
        if turn == (3 if number % 3 == 0 else 2):
            h.here()


@quiet
def diff_after_each_edit(h: History, number: int) -> None:
    """A change looked at after each edit."""
    for turn in range(6):
        h.turn(change(h, turn))
        h.turn(h.shell("git diff --stat", f" {h.file()} | {turn + 2} +-\n 1 file changed, {turn + 1} insertions(+)"))


@loop
def page_asked_again(h: History, number: int) -> None:
    """One page asked the same in other words, which never answers."""
    answer = (
        f"The page does not contain information about {h.stem} limits.",
        "No relevant content found on this page.",
        f"I could not find any {WORDS[number]} in the provided content.",
    )[number % 3]
    words = (
        "What is the limit",
        "Find the maximum",
        "Extract the quota",
        "List limits",
        "Which bound holds",
        "Max size",
    )
    for turn, ask in enumerate(words):
        h.turn(h.tool("WebFetch", answer, url=f"https://docs.example/{h.stem}", prompt=f"{ask} of {h.stem}?"))
        if turn == 3:
            h.here()


@quiet
def page_read_in_parts(h: History, number: int) -> None:
    """One page asked about one thing after the other."""
    for turn in range(7):
        answer = f"{WORDS[turn]}: {h.lines(turn)}"
        h.turn(h.tool("WebFetch", answer, url=f"https://docs.example/{h.stem}", prompt=f"What is {WORDS[turn]}?"))


@loop
def helper_finds_nothing(h: History, number: int) -> None:
    """A helper sent out again in other words, which comes back with nothing."""
    asks = ("Find", "Search for", "Locate", "Look everywhere for", "Trace", "Explore the code for")
    for turn, ask in enumerate(asks):
        answer = f"I searched the repository and could not find where {h.stem} is {VERBS[number % 10]}d."
        h.turn(
            h.tool(
                "Task",
                answer,
                description=f"{ask} {h.stem}",
                prompt=f"{ask} the place that {VERBS[number % 10]}s {h.stem}",
            )
        )
        if turn == 3:
            h.here()


@quiet
def helpers_sent(h: History, number: int) -> None:
    """Helper after helper, each for another part."""
    for turn in range(7):
        answer = f"{WORDS[turn]} is done in {h.file(turn)}. All tests pass."
        h.turn(h.tool("Task", answer, description=f"part {turn}", prompt=f"{VERBS[turn]} the {WORDS[turn]}"))


@loop
def answer_swapped(h: History, number: int) -> None:
    """An answer that is written, replaced by another one and written again."""
    values = (h.rng.randint(10, 99), h.rng.randint(100, 999))
    for turn in range(8):
        h.says("On reflection it must be the other one.", "Actually, I think the first was right.")
        h.turn(h.write("answer.txt", f"{values[turn % 2]}\n"))
        if turn == 4:
            h.here()


@quiet
def answer_refined(h: History, number: int) -> None:
    """An answer that is written anew after each measurement."""
    for turn in range(7):
        h.turn(h.shell("./measure", f"value {turn * 17 + number}"))
        h.turn(h.write("answer.txt", f"{turn * 17 + number}\n"))


@loop
def caches_cleared_in_vain(h: History, number: int) -> None:
    """One cache after the other cleared before the same failure."""
    clears = ("rm -rf node_modules/.cache", "npm cache clean --force", "rm -rf dist", "rm -rf .next", "rm -rf .turbo")
    text = f"Module not found: Can't resolve './{WORDS[number]}' in '/app/{h.stem}'\n"
    text += "> Build failed because of webpack errors"
    for turn, command in enumerate(clears):
        h.turn(h.shell(command, h.empty))
        h.turn(
            h.shell("npm run build", f"> {h.stem}@1.0.0 build\nCompiled in {h.rng.randint(800, 9000)} ms\n{text}", True)
        )
        if turn == 2:
            h.here()


@quiet
def directories_cleared(h: History, number: int) -> None:
    """Directory after directory cleared and measured."""
    for turn in range(6):
        place = f"{DIRECTORIES[turn]}/{h.stem}"
        h.turn(h.shell(f"rm -rf {place}", h.empty))
        h.turn(h.shell("df -h /", f"/dev/vda1 100G {90 - turn * 3}G {10 + turn * 3}G"))


@loop
def writes_cut_off(h: History, number: int) -> None:
    """A file written in other words, of which the tool keeps a part only."""
    warning = (
        "Warning: content exceeded the limit and was truncated to 2000 characters.",
        "The file was written, but the output was cut off: response reached max_tokens.",
        "wrote 2000 bytes (truncated)",
    )[number % 3]
    for turn in range(6):
        content = "\n".join(h.lines(turn * 9 + n) for n in range(12))
        name, text, _, _ = h.tool("write_file", "", path=h.file(), content=content)
        h.turn((name, text, warning, False))
        if turn == 3:
            h.here()


@quiet
def writes_warned_of(h: History, number: int) -> None:
    """File after file written, each with the same warning."""
    for turn in range(7):
        name, text, _, _ = h.tool("write_file", "", path=h.file(turn), content=h.lines(turn))
        h.turn((name, text, "warning: LF will be replaced by CRLF. The file was written.", False))


@loop
def default_stays(h: History, number: int) -> None:
    """A value given in one way after the other, which the program does not take over."""
    ways = (
        "{1}=4 ./{0} info",
        "./{0} info --workers 4",
        "./{0} --workers=4 info",
        "echo 'workers: 4' > {0}.yml && ./{0} info",
        "./{0} -w 4 info",
        "./{0} info -c {0}.yml",
    )
    for turn, way in enumerate(ways):
        text = f"{h.stem} 2.{number}\nworkers: 1\nstarted: {clock(h, turn)}"
        h.turn(h.shell(way.format(h.stem, "WORKERS"), text))
        if turn == 3:
            h.here()


@quiet
def values_taken_over(h: History, number: int) -> None:
    """A value given in one way after the other, each with its effect."""
    for turn in range(7):
        h.turn(h.shell(f"./{h.stem} info --workers {turn + 1}", f"{h.stem} 2.{number}\nworkers: {turn + 1}"))


@loop
def style_without_effect(h: History, number: int) -> None:
    """A style edited again and again while the page looks the same."""
    look = (
        f"sha256:{h.rng.randrange(16**10):010x} 1280x720"
        if number % 2
        else f"The {h.stem} overlaps the header by 14 px."
    )
    for turn in range(7):
        h.turn(h.edit("style.css", f"margin: {turn}px", f"margin: {turn + 1}px"))
        h.turn(h.tool("browser_screenshot", look, title=f"after-{turn}"))
        if turn == 3:
            h.here()


@quiet
def style_with_effect(h: History, number: int) -> None:
    """A style edited again and again while the page changes."""
    for turn in range(7):
        h.turn(h.edit("style.css", f"margin: {turn}px", f"margin: {turn + 1}px"))
        h.turn(
            h.tool(
                "browser_screenshot", f"The {h.stem} overlaps the header by {14 - turn * 2} px.", title=f"after-{turn}"
            )
        )


@loop
def time_never_better(h: History, number: int) -> None:
    """A program made faster again and again which stays as slow."""
    base = h.rng.uniform(5, 40)
    for turn in range(12):
        h.turn(change(h, turn))
        took = base * h.rng.uniform(0.99, 1.01)
        text = (f"real\t0m{took:.3f}s", f"elapsed: {took:.2f} s (goal: under 2 s)", f"Benchmark: {took:.2f} s ± 0.1 s")[
            number % 3
        ]
        h.turn(h.shell(("time ./run.sh", "make bench", "hyperfine ./run.sh")[number % 3], text))
        if turn == 8:
            h.here()


@quiet
def time_gets_better(h: History, number: int) -> None:
    """A program made faster again and again."""
    took = h.rng.uniform(20, 40)
    for turn in range(12):
        h.turn(change(h, turn))
        took *= h.rng.uniform(0.85, 0.96)
        h.turn(h.shell("make bench", f"elapsed: {took:.2f} s (goal: under 2 s)"))


@loop
def file_nowhere(h: History, number: int) -> None:
    """One file looked for with tool after tool, which is nowhere."""
    name = f"{h.stem}_{WORDS[number]}.conf"
    tries: tuple[tuple[str, str, bool], ...] = (
        (f"find / -name {name} 2>/dev/null", "", False),
        (f"locate {name}", "", True),
        (f"ls -R / 2>/dev/null | grep {name}", "", True),
        (f"find / -iname '*{h.stem}*conf' 2>/dev/null", "", False),
        (f"fd {name} /", "", True),
        (f"sudo find / -xdev -name '{name}*'", "", False),
    )
    for turn, (command, text, failed) in enumerate(tries):
        h.says("It must be somewhere.", "Not there. I look elsewhere.", "Nirgends zu finden.")
        h.turn(h.shell(command, text or h.empty, failed and number % 2 == 1))
        if turn == 3:
            h.here()


@quiet
def files_checked_for(h: History, number: int) -> None:
    """File after file looked for, none of which is there."""
    for turn in range(7):
        h.turn(h.shell(f"find . -name '{VERBS[turn]}_{WORDS[turn]}.*'", h.empty))


@loop
def help_read_again(h: History, number: int) -> None:
    """The help of one program read again and again."""
    text = f"usage: {h.stem} [-h] [--{WORDS[number]} N] FILE\n\n" + h.lines(number)
    for turn in range(5):
        h.turn(h.shell(f"{h.stem} --help", text))
        if turn == 2:
            h.here()
        h.says("I see. Let me check the options again.", "What were the options?")


@quiet
def commands_looked_up(h: History, number: int) -> None:
    """The help of command after command of one program."""
    for turn in range(7):
        h.turn(h.shell(f"{h.stem} {VERBS[turn]} --help", f"usage: {h.stem} {VERBS[turn]} [-h]\n{h.lines(turn)}"))


@loop
def thoughts_only(h: History, number: int) -> None:
    """Thought after thought about one thing, without a step."""
    for turn in range(7):
        thought = f"I should {VERBS[(turn + number) % 10]} the {h.stem} first, then look at the {WORDS[number]}."
        h.turn(
            h.tool(
                ("think", "sequentialthinking", "mcp__think__think")[number % 3], "Thought recorded.", thought=thought
            )
        )
        if turn == 3:
            h.here()


@quiet
def thoughts_between(h: History, number: int) -> None:
    """Thoughts between steps that gain something."""
    for turn in range(6):
        h.turn(h.tool("think", "Thought recorded.", thought=f"Now {VERBS[turn]} the {WORDS[turn]}."))
        h.turn(h.read(h.file(turn), h.lines(turn)))
        h.turn(h.edit(h.file(turn), WORDS[turn], VERBS[turn]))


@loop
def failure_masked(h: History, number: int) -> None:
    """A failure whose exit code is hidden, met again and again."""
    text = f"{h.file()}:31:5: error: expected ';' before '{WORDS[number]}'\nmake: *** [all] Error 1"
    command = ("make || true", "make 2>&1 | tail -20", "make; echo done")[number % 3]
    for turn in range(6):
        if number % 2:
            h.turn(change(h, turn))
        h.turn(h.shell(command, text + ("\ndone" if number % 3 == 2 else "")))
        if turn == 2:
            h.here()


@quiet
def failures_masked_differ(h: History, number: int) -> None:
    """Failures whose exit code is hidden, another one after each edit."""
    for turn in range(6):
        h.turn(change(h, turn))
        h.turn(
            h.shell(
                "make 2>&1 | tail -2",
                f"{h.file()}:{turn * 9}:5: error: unknown type name '{WORDS[turn]}'\nmake: Error 1",
            )
        )


@loop
def same_test_other_views(h: History, number: int) -> None:
    """One failing test run again through other pipes, with nothing done between."""
    fails = f"FAILED tests/test_{h.stem}.py::test_{WORDS[number]} - assert 3 == 4\n1 failed, 11 passed in {{:.2f}}s"
    views = ("", " | tail -5", " 2>&1 | grep FAILED -A3", " -x | tail -2", " -v | tail -3", " --tb=short | tail -4")
    for turn, view in enumerate(views):
        h.turn(h.shell(f"pytest -q{view}", fails.format(h.rng.random() * 3), not view))
        if turn == 3:
            h.here()


@quiet
def log_read_in_parts(h: History, number: int) -> None:
    """Part after part of one log."""
    for turn in range(8):
        h.turn(h.shell(f"sed -n '{turn * 40 + 1},{turn * 40 + 40}p' build.log", h.lines(turn + number)))


@loop
def always_killed(h: History, number: int) -> None:
    """A training that is killed whatever is changed about it."""
    for turn in range(6):
        size = 128 >> turn
        text = (
            f"epoch 1: loading {h.stem}\nKilled",
            "torch.cuda.OutOfMemoryError: CUDA out of memory.",
            "signal: killed",
        )[number % 3]
        h.turn(h.shell(f"python train.py --batch-size {max(1, size)} --workers {turn}", text, True))
        if turn == 3:
            h.here()


@quiet
def killed_until_it_fits(h: History, number: int) -> None:
    """A training that is killed twice and then runs."""
    for turn, size in enumerate((128, 64, 32, 32, 32)):
        text = "Killed" if turn < 2 else f"epoch {turn}: loss {2.0 / turn:.3f}"
        h.turn(h.shell(f"python train.py --batch-size {size} --from {turn}", text, turn < 2))


@loop
def replacement_misses(h: History, number: int) -> None:
    """A replacement that meets nothing, seen by the same look after each."""
    tries = (
        f"sed -i 's/{WORDS[number]}=1/{WORDS[number]}=2/' app.conf",
        f"sed -i 's/{WORDS[number]} = 1/{WORDS[number]} = 2/' app.conf",
        f"sed -i 's/^{WORDS[number]}.*/{WORDS[number]}=2/' app.conf",
        f"perl -pi -e 's/{WORDS[number]}=1/{WORDS[number]}=2/' app.conf",
        f"sed -i -E 's/({WORDS[number]})=1/\\1=2/' app.conf",
        "awk '{gsub(/1/, 2)}1' app.conf > /tmp/a",
    )
    for turn, command in enumerate(tries):
        h.turn(h.shell(command, h.empty))
        h.turn(h.shell(f"grep -n {WORDS[number]} app.conf", f"7:  {WORDS[number]}: 1"))
        if turn == 3:
            h.here()


@quiet
def replacement_meets(h: History, number: int) -> None:
    """Replacement after replacement, each seen in the file."""
    for turn in range(6):
        h.turn(h.shell(f"sed -i 's/{WORDS[turn]}=1/{WORDS[turn]}=2/' app.conf", h.empty))
        h.turn(h.shell("grep -c =2 app.conf", str(turn + 1)))


@loop
def unit_fails_again(h: History, number: int) -> None:
    """A service started again and again which fails at once."""
    for turn in range(5):
        h.turn(h.shell(f"systemctl restart {h.stem}", h.empty))
        pid = h.rng.randint(400, 32_000)
        text = (
            f"● {h.stem}.service\n   Active: failed (Result: exit-code) since Mon 2026-11-23 {clock(h, turn)} UTC\n"
            f"  Process: {pid} ExecStart=/usr/bin/{h.stem} (code=exited, status=203/EXEC)"
        )
        h.turn(h.shell(f"systemctl status {h.stem}", text, number % 2 == 0))
        if turn == 2:
            h.here()


@quiet
def units_started(h: History, number: int) -> None:
    """Service after service started, each of them active."""
    for turn in range(6):
        h.turn(h.shell(f"systemctl start {WORDS[turn]}", h.empty))
        h.turn(h.shell(f"systemctl is-active {WORDS[turn]}", "active"))


@loop
def merge_given_up_again(h: History, number: int) -> None:
    """A merge that is tried, meets the same conflict and is given up."""
    for turn in range(5):
        text = f"Auto-merging {h.file()}\nCONFLICT (content): Merge conflict in {h.file()}\nAutomatic merge failed"
        flag = ("", " --no-ff", " -X patience", " --no-commit", " --no-edit")[turn] if number % 2 else ""
        h.turn(h.shell(f"git merge{flag} feature/{h.stem}", text, True))
        if turn == 2:
            h.here()
        h.turn(h.shell("git merge --abort", h.empty))


@quiet
def branches_merged(h: History, number: int) -> None:
    """Branch after branch merged, some with a conflict."""
    for turn in range(6):
        text = f"CONFLICT (content): Merge conflict in {h.file(turn)}\nAutomatic merge failed"
        h.turn(h.shell(f"git merge feature/{WORDS[turn]}", text, True))
        h.turn(h.shell(f"git checkout --theirs {h.file(turn)} && git commit -qam merged", h.empty))


@loop
def download_damaged(h: History, number: int) -> None:
    """A file fetched again and again whose checksum is always wrong."""
    for turn in range(5):
        tool = ("curl -LO", "wget -q", "aria2c")[turn % 3 if number % 2 else 0]
        h.turn(h.shell(f"{tool} https://dl.example/{h.stem}.tgz", f"{h.rng.randint(90, 900)} KB/s, done"))
        h.turn(
            h.shell(
                "sha256sum -c SUMS",
                f"{h.stem}.tgz: FAILED\nsha256sum: WARNING: 1 computed checksum did NOT match",
                True,
            )
        )
        if turn == 2:
            h.here()


@quiet
def downloads_checked(h: History, number: int) -> None:
    """File after file fetched and checked."""
    for turn in range(6):
        h.turn(h.shell(f"curl -LO https://dl.example/{WORDS[turn]}.tgz", "done"))
        h.turn(h.shell(f"grep {WORDS[turn]} SUMS | sha256sum -c", f"{WORDS[turn]}.tgz: OK"))


@loop
def commit_hook_refuses(h: History, number: int) -> None:
    """A commit refused by the same hook, with other messages."""
    for turn in range(5):
        message = f"{VERBS[turn]} the {h.stem}" if number % 2 else f"Add {h.stem}"
        text = "trim trailing whitespace....Passed\ncheck for secrets....Failed\n- hook id: secrets\n"
        text += f"{h.file()}:8: key found"
        h.turn(h.shell(f"git commit -am '{message}'", text, True))
        if turn == 2:
            h.here()


@quiet
def commit_hooks_satisfied(h: History, number: int) -> None:
    """A commit refused by one hook after the other."""
    for turn in range(5):
        text = f"{VERBS[turn]}....Failed\n- hook id: {VERBS[turn]}\n{h.file(turn)}:8: {WORDS[turn]}"
        h.turn(h.shell(f"git commit -am 'Add {h.stem}'", text, True))
        h.turn(h.edit(h.file(turn), WORDS[turn], VERBS[turn]))


@loop
def network_missing(h: History, number: int) -> None:
    """Program after program that cannot reach the network."""
    calls = [
        ("pip install {0}", "Temporary failure in name resolution"),
        ("npm install {0}", "npm ERR! code EAI_AGAIN getaddrinfo EAI_AGAIN registry.example"),
        ("curl -sS https://{0}.example", "curl: (6) Could not resolve host: {0}.example"),
        ("git clone https://git.example/{0}", "fatal: unable to access: Could not resolve host: git.example"),
        ("apt-get update", "Err:1 http://deb.example stable InRelease Temporary failure resolving 'deb.example'"),
        ("ping -c1 {0}.example", "ping: {0}.example: Temporary failure in name resolution"),
    ]
    h.rng.shuffle(calls)
    for turn, (command, text) in enumerate(calls):
        h.turn(h.shell(command.format(h.stem), text.format(h.stem), True))
        if turn == 2:
            h.here()


@quiet
def hosts_corrected(h: History, number: int) -> None:
    """Host after host, one of them mistyped."""
    for turn in range(6):
        text = f"curl: (6) Could not resolve host: {WORDS[turn]}.exmaple"
        if turn % 3 == 1:
            h.turn(h.shell(f"curl -sS https://{WORDS[turn]}.exmaple", text, True))
        h.turn(h.shell(f"curl -sS https://{WORDS[turn]}.example", f"<h1>{WORDS[turn]}</h1>"))


@loop
def password_wanted(h: History, number: int) -> None:
    """Command after command that needs a password which the agent does not have."""
    text = (
        "sudo: a password is required",
        "sudo: a terminal is required to read the password",
        "Password: \nsu: Authentication failure",
    )
    for turn in range(5):
        commands = (
            f"sudo apt install {h.stem}",
            f"sudo -n cp {h.file()} /etc",
            f"sudo systemctl restart {h.stem}",
            "sudo -n true",
            "sudo ls /root",
        )
        h.turn(h.shell(commands[turn], text[number % 3], True))
        if turn == 2:
            h.here()
        if turn < 2:
            h.work(1)


@quiet
def root_avoided(h: History, number: int) -> None:
    """Commands refused once each for want of rights, and done in another way."""
    for turn in range(2):
        h.turn(h.shell(f"sudo cp {WORDS[turn]} /usr/bin", "sudo: a password is required", True))
        h.turn(h.shell(f"cp {WORDS[turn]} ~/bin", h.empty))
        h.turn(h.shell(f"{WORDS[turn]} --run", h.lines(turn)))


@loop
def symbol_undefined(h: History, number: int) -> None:
    """A symbol that stays undefined under one set of flags after the other."""
    for turn, flags in enumerate(("-lm", "-L. -lm", "-static", "-Wl,--no-as-needed -lm", "-O2 -lm", "-fPIC -lm")):
        place = f"/usr/bin/ld: /tmp/cc{h.rng.randrange(36**4):06d}.o"
        text = (
            f"{place}: in function `main':\nmain.c:(.text+0x1e): undefined reference to `{h.stem}_{WORDS[number]}'"
            + LINKED
        )
        h.turn(h.shell(f"gcc main.c -o app {flags}", text, True))
        if turn == 3:
            h.here()


@quiet
def symbols_provided(h: History, number: int) -> None:
    """Symbol after symbol that is undefined until its library is named."""
    for turn in range(6):
        flags = " ".join(f"-l{WORDS[n]}" for n in range(turn))
        text = f"/usr/bin/ld: main.o: undefined reference to `{WORDS[turn]}_{VERBS[turn]}'" + LINKED
        h.turn(h.shell(f"gcc main.c -o app {flags}", text, True))


@loop
def text_never_read(h: History, number: int) -> None:
    """A picture read with setting after setting, always without text."""
    for turn in range(6):
        command = (
            f"tesseract {h.stem}.png - --psm {turn + 3}",
            f"convert {h.stem}.png -resize {turn + 2}00% t.png && tesseract t.png -",
            f"python3 ocr.py {h.stem}.png --threshold {turn * 20}",
        )[number % 3]
        h.turn(h.shell(command, h.empty if number % 2 else "Estimating resolution as 143\nEmpty page!!"))
        if turn == 3:
            h.here()


@quiet
def pages_recognised(h: History, number: int) -> None:
    """Page after page read, some of them empty."""
    for turn in range(8):
        h.turn(h.shell(f"tesseract page-{turn}.png -", "Empty page!!" if turn % 3 == 1 else h.lines(turn)))


@loop
def remembered_again(h: History, number: int) -> None:
    """The same note written into a memory again."""
    note = f"The {h.stem} lives in {h.file()}."
    for turn in range(5):
        text = f"Saved memory {h.rng.randrange(16**6):06x}." if number % 2 else "Memory saved."
        h.turn(h.tool(("save_memory", "memory_write", "mcp__memory__add")[number % 3], text, content=note))
        if turn == 2:
            h.here()
        h.says("I note that down.", "Let me remember this.")


@quiet
def notes_taken(h: History, number: int) -> None:
    """Note after note written into a memory."""
    for turn in range(7):
        h.turn(h.tool("save_memory", "Memory saved.", content=f"The {WORDS[turn]} lives in {h.file(turn)}."))


@quiet
def locale_translated(h: History, number: int) -> None:
    """Line after line of one file translated."""
    for turn in range(9):
        h.turn(h.edit(f"locale/{h.stem}.po", f'msgstr "{WORDS[turn]}"', f'msgstr "{VERBS[turn]} {number}"'))


@quiet
def formats_tried(h: History, number: int) -> None:
    """A file opened with one tool after the other, each of which says something else."""
    tries = (
        ("file blob", "blob: data", False),
        ("tar tf blob", "tar: This does not look like a tar archive", True),
        ("gunzip -c blob", "gzip: blob: not in gzip format", True),
        ("unzip -l blob", "End-of-central-directory signature not found.", True),
        ("7z l blob", "ERROR: blob : Cannot open the file as archive", True),
        ("xxd blob | head -1", "00000000: 8b1f 0008 0000 0000 0003", False),
    )
    for command, text, failed in tries:
        h.turn(h.shell(command, text, failed))


@quiet
def list_shrinks(h: History, number: int) -> None:
    """One search after each edit that finds less and less."""
    for turn in range(7):
        hits = "\n".join(f"{h.file(n)}:{n * 3 + 1}: TODO {WORDS[n]}" for n in range(turn, 8))
        h.turn(h.search("TODO", ".", hits))
        h.turn(h.edit(h.file(turn), f"TODO {WORDS[turn]}", ""))


@quiet
def file_read_in_parts(h: History, number: int) -> None:
    """Part after part of one file, and the same end twice."""
    for turn in range(7):
        h.turn(h.tool("Read", h.lines(min(turn, 5) * 3), file_path=h.file(), offset=turn * 100, limit=100))


@quiet
def searches_between_reads(h: History, number: int) -> None:
    """Names looked for, some of which are not there, and files read between."""
    for turn in range(7):
        nothing = NOT_FOUND[(number + turn) % len(NOT_FOUND)]
        h.turn(h.search(f"{VERBS[turn]}_{WORDS[turn]}", h.where, nothing))
        h.turn(h.read(h.file(turn), h.lines(turn)))


TASKS = frozenset({*LOOPS, *QUIET}) - BEFORE
KEPT_TASKS = frozenset(name for name in TASKS if hashlib.sha256(name.encode()).digest()[0] % 3 == 0)
