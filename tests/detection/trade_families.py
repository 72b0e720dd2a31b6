"""Families of histories after trades, written when the rules stood.

``KEPT_TRADES``, a third by the hash of their names, and ``CRAFTS``, written after the rules for the others, were
measured as a whole before they were looked at.
"""

from __future__ import annotations

import hashlib

from tests.detection.loop_families import LOOPS, QUIET, VERBS, WORDS, History, loop, quiet
from tests.detection.task_families import change, clock

BEFORE = frozenset({*LOOPS, *QUIET})


@loop
def plan_of_infrastructure_drifts(h: History, number: int) -> None:
    """An apply that succeeds and a plan that wants the same change again."""
    kind = ("aws_instance.web", "google_dns_record_set.a", "azurerm_subnet.app", "helm_release.api")[number % 4]
    for turn in range(5):
        h.turn(
            h.shell(
                "terraform apply -auto-approve",
                f"{kind}: Modifying... [id={h.rng.randrange(16**8):08x}]\n{kind}: Modified after {turn + 1}s"
                "\n\nApply complete! Resources: 0 added, 1 changed, 0 destroyed.",
            )
        )
        h.says("Let me see whether it has settled.", "Now the plan should be empty.")
        h.turn(
            h.shell(
                "terraform plan", f"  # {kind} will be updated in-place\n\nPlan: 0 to add, 1 to change, 0 to destroy."
            )
        )
        if turn == 2:
            h.here()


@quiet
def infrastructure_built(h: History, number: int) -> None:
    """Resource after resource applied and planned."""
    for turn in range(6):
        h.turn(h.edit("main.tf", f"# {WORDS[turn]}", f'resource "dns_record" "{WORDS[turn]}" {{}}'))
        h.turn(
            h.shell("terraform plan", f"  # dns_record.{WORDS[turn]} will be created\n\nPlan: 1 to add, 0 to change.")
        )
        h.turn(h.shell("terraform apply -auto-approve", "Apply complete! Resources: 1 added, 0 changed, 0 destroyed."))


@loop
def proof_goal_stays(h: History, number: int) -> None:
    """Tactic after tactic that leaves the same goal of a proof open."""
    tactics = ("simp", "linarith", "ring", "omega", "aesop", "norm_num", "tauto")
    goal = f"n m : Nat\nh : n < m\n⊢ {WORDS[number]} n + 1 ≤ {WORDS[number]} m"
    for turn, tactic in enumerate(tactics):
        h.turn(h.edit("Main.lean", f"  {tactics[turn - 1]}", f"  {tactic}"))
        told = (
            f"Main.lean:{number + 7}:2: error: unsolved goals\n{goal}",
            f"Main.lean:{number + 7}:2: error: {tactic} failed to close the goal\n{goal}",
        )[number % 2]
        h.turn(h.shell("lake build", told, True))
        if turn == 2 + number % 2:
            h.here()


@quiet
def proof_goals_shrink(h: History, number: int) -> None:
    """Tactic after tactic that changes the goal of a proof."""
    for turn in range(6):
        h.turn(h.edit("Main.lean", f"  sorry -- {turn}", f"  rw [{WORDS[turn]}_{VERBS[turn]}]"))
        goal = f"⊢ {VERBS[turn]} {WORDS[turn + 2]} = {VERBS[turn + 3]} {WORDS[turn]}"
        h.turn(h.shell("lake build", f"Main.lean:{turn * 4 + 7}:2: error: unsolved goals\nn : Nat\n{goal}", True))


@loop
def navigation_in_a_circle(h: History, number: int) -> None:
    """Two or three pages of a site visited in turns, each as before."""
    pages = [f"https://shop.example/{word}" for word in WORDS[number : number + 2 + number % 2]]
    for round_ in range(4):
        for place, page in enumerate(pages):
            text = f'- heading "{VERBS[place]} {h.stem}" [ref=e{h.rng.randint(10, 99)}]\n- link "Back"\n- link "Next"'
            h.turn(h.tool("browser_navigate", f"Page URL: {page}\nPage snapshot:\n{text}", url=page))
        if round_ == 2:
            h.here()


@quiet
def site_visited(h: History, number: int) -> None:
    """Page after page of a site, with the list of them between."""
    for turn in range(6):
        base = "https://shop.example/list"
        links = "\n".join(f'- link "{word}" [ref=e{place}]' for place, word in enumerate(WORDS))
        h.turn(h.tool("browser_navigate", f"Page URL: {base}\nPage snapshot:\n{links}", url=base))
        page = f"https://shop.example/{WORDS[turn]}"
        h.turn(h.tool("browser_navigate", f"Page URL: {page}\nPage snapshot:\n{h.lines(turn)}", url=page))


@loop
def notebook_cell_rerun(h: History, number: int) -> None:
    """A cell of a notebook run again after cosmetic changes, with the same error."""
    wrong = (
        "KeyError: 'date'",
        "ValueError: could not convert string to float: ''",
        "NameError: name 'df' is not defined",
    )
    for turn in range(6):
        code = f"df['{('date', 'Date', 'DATE', 'day')[turn % 4]}']  # {VERBS[turn]}"
        trace = (
            f"---------------------------------------------------------------------------\n"
            f"{wrong[number % 3].split(':')[0]}                                  Traceback (most recent call last)\n"
            f"Cell In[{turn + 11}], line 1\n----> 1 {code}\n\n{wrong[number % 3]}"
        )
        h.turn(h.tool("notebook_run_cell", trace, number % 4 > 0, cell=number, source=code))
        if turn == 3:
            h.here()


@quiet
def notebook_worked_through(h: History, number: int) -> None:
    """Cell after cell of a notebook, two of them corrected."""
    for turn in range(7):
        if turn % 3 == 0:
            h.turn(
                h.tool("notebook_run_cell", f"KeyError: '{WORDS[turn]}'", True, cell=turn, source=f"df.{WORDS[turn]}")
            )
        h.turn(
            h.tool(
                "notebook_run_cell", f"Out[{turn + 3}]: {turn * 17}.5", cell=turn, source=f"df['{WORDS[turn]}'].sum()"
            )
        )


@loop
def review_comment_answered_again(h: History, number: int) -> None:
    """The open remarks of a review asked for again and again, always the same one, with replies that close nothing."""
    remark = (
        f'[{{"id": {number + 4000}, "path": "{h.file()}", "body": "please handle {WORDS[number]}", "resolved": false}}]'
    )
    for turn in range(5):
        h.turn(h.shell("gh api repos/acme/app/pulls/7/comments", remark))
        reply = ("Done.", "Handled now.", "Fixed, thanks!", "Should be fine.", "Please look again.")[turn]
        h.turn(
            h.shell(
                f"gh api repos/acme/app/pulls/7/comments -f body='{reply}' -F in_reply_to={number + 4000}",
                f'{{"id": {h.rng.randint(5000, 9999)}, "created_at": "2026-11-2{turn}T{clock(h, turn)}Z"}}',
            )
        )
        if turn == 2:
            h.here()


@quiet
def review_worked_off(h: History, number: int) -> None:
    """Remark after remark of a review changed and answered."""
    for turn in range(6):
        left = ", ".join(f'{{"id": {4000 + place}, "body": "{WORDS[place]}"}}' for place in range(turn, 6))
        h.turn(h.shell("gh api repos/acme/app/pulls/7/comments", f"[{left}]"))
        h.turn(change(h, turn))
        h.turn(
            h.shell(f"gh api repos/acme/app/pulls/7/comments -f body='Done.' -F in_reply_to={4000 + turn}", '{"id": 1}')
        )


@loop
def board_not_found(h: History, number: int) -> None:
    """A board flashed again and again that the tool does not see."""
    say = (
        "A fatal error occurred: Failed to connect to ESP32: No serial data received.",
        "Error: unable to find a matching CMSIS-DAP device",
        "avrdude: stk500_recv(): programmer is not responding",
        "dfu-util: No DFU capable USB device available",
    )[number % 4]
    ways = (
        "make flash",
        "make flash BAUD=115200",
        "make flash PORT=/dev/ttyUSB0",
        "make flash PORT=/dev/ttyACM0",
        "make flash V=1",
        "sudo make flash",
    )
    for turn, way in enumerate(ways):
        h.says("Maybe another port.", "A lower speed might do.")
        h.turn(
            h.shell(
                way,
                f"Serial port /dev/ttyUSB{turn % 2}\nConnecting{'.' * (turn + 5)}\n{say}\nmake: *** [flash] Error 2",
                True,
            )
        )
        if turn == 3:
            h.here()


@quiet
def boards_flashed(h: History, number: int) -> None:
    """Board after board flashed, one of them after a second try."""
    for turn in range(5):
        if turn == 2:
            h.turn(h.shell(f"make flash PORT=/dev/ttyUSB{turn}", "Failed to connect: No serial data received.", True))
        h.turn(
            h.shell(f"make flash PORT=/dev/ttyUSB{turn}", f"Wrote {turn * 1000 + 4096} bytes. Hash of data verified.")
        )


@loop
def lock_file_stays_stale(h: History, number: int) -> None:
    """A lock file made anew before an install that says that it is stale."""
    lock, install, say = (
        (
            "npm install --package-lock-only",
            "npm ci",
            "npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.",
        ),
        (
            "poetry lock",
            "poetry install",
            "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix it.",
        ),
        (
            "pnpm install --lockfile-only",
            "pnpm install --frozen-lockfile",
            ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"',
        ),
    )[number % 3]
    for turn in range(5):
        h.turn(h.shell(lock, f"Resolving dependencies... ({h.rng.random() * 9:.1f}s)\n\nWriting lock file"))
        if turn % 2 and number % 2:
            h.turn(h.shell(f"rm -rf node_modules .venv # {turn}", h.empty))
        h.turn(h.shell(install, say, True))
        if turn == 2:
            h.here()


@quiet
def packages_added(h: History, number: int) -> None:
    """Package after package added, locked and installed."""
    for turn in range(5):
        h.turn(h.shell(f"poetry add {WORDS[turn]}", f"Using version ^{turn}.1 for {WORDS[turn]}\n\nWriting lock file"))
        h.turn(h.shell("poetry install", f"Installing {WORDS[turn]} ({turn}.1.0)\n\nPackage operations: 1 install"))


@loop
def memory_read_again(h: History, number: int) -> None:
    """Notes of earlier work read again and again, with announcements between."""
    text = h.lines(number)
    for turn in range(6):
        name = ("read_memory", "recall", "memory_search")[number % 3]
        h.turn(h.tool(name, text, **{"query" if number % 3 == 2 else "topic": h.stem}))
        h.says(f"I continue with {WORDS[turn]}.", "Let me remember where I was.", "First I check my notes.")
        if turn == 2:
            h.here()


@quiet
def memories_listed(h: History, number: int) -> None:
    """Note after note read, the list of them twice."""
    listed = "\n".join(WORDS[:8])
    h.turn(h.tool("list_memories", listed))
    for turn in range(6):
        h.turn(h.tool("read_memory", h.lines(turn), topic=WORDS[turn]))
    h.turn(h.tool("list_memories", listed))


@loop
def sheet_formula_in_error(h: History, number: int) -> None:
    """Formula after formula put into a cell that shows the same error."""
    wrong = ("#REF!", "#NAME?", "#VALUE!", "#N/A")[number % 4]
    for turn in range(7):
        formula = (
            f"={('SUM', 'SUMIF', 'VLOOKUP', 'INDEX', 'QUERY', 'FILTER', 'XLOOKUP')[turn]}({WORDS[turn].title()}!A:A)"
        )
        h.turn(h.tool("set_cell", '{"ok": true}', cell="C7", value=formula))
        h.turn(h.tool("get_cell", f'{{"cell": "C7", "shown": "{wrong}"}}', cell="C7"))
        if turn == 3:
            h.here()


@quiet
def sheet_filled(h: History, number: int) -> None:
    """Cell after cell filled and read."""
    for turn in range(7):
        h.turn(h.tool("set_cell", '{"ok": true}', cell=f"C{turn}", value=f"=SUM(A{turn}:B{turn})"))
        h.turn(h.tool("get_cell", f'{{"cell": "C{turn}", "shown": "{turn * 13}"}}', cell=f"C{turn}"))


@loop
def container_restarts(h: History, number: int) -> None:
    """A container brought up again and again that restarts at once."""
    for turn in range(5):
        h.turn(
            h.shell(
                "docker compose up -d",
                f" Container app-{h.stem}-1  {'Started' if turn else 'Created'}  {h.rng.random():.1f}s",
            )
        )
        id = f"{h.rng.randrange(16**12):012x}"
        h.turn(
            h.shell(
                "docker compose ps -a",
                f"NAME          IMAGE        STATUS\napp-{h.stem}-1   {id}   Restarting (1) {turn * 3 + 2} seconds ago",
            )
        )
        if turn == 2:
            h.here()
        if number % 2:
            h.turn(h.shell("docker compose down", f" Container app-{h.stem}-1  Removed  {h.rng.random():.1f}s"))


@quiet
def containers_started(h: History, number: int) -> None:
    """Container after container brought up."""
    for turn in range(6):
        h.turn(
            h.shell(
                f"docker compose up -d {WORDS[turn]}", f" Container app-{WORDS[turn]}-1  Started  {h.rng.random():.1f}s"
            )
        )
        h.turn(
            h.shell("docker compose ps", "\n".join(f"app-{word}-1   Up {turn} seconds" for word in WORDS[: turn + 1]))
        )


@loop
def layout_misses_its_picture(h: History, number: int) -> None:
    """A page changed again and again whose picture differs from the wanted one by as much as before."""
    share = h.rng.randint(4, 60) / 10
    for turn in range(6):
        h.turn(h.edit("app.css", f"gap: {turn}px", f"gap: {turn + 1}px"))
        h.turn(
            h.shell(
                "npx playwright test",
                "  1) home.spec.ts:4:1 › looks right\n\n    Error: expect(page).toHaveScreenshot(expected)\n\n"
                f"      {h.rng.randint(900, 999) if number % 3 == 0 else 931} pixels "
                f"(ratio {share:.2f} of all image pixels) are different.\n\n  1 failed",
                True,
            )
        )
        if turn == 2:
            h.here()


@quiet
def layout_comes_nearer(h: History, number: int) -> None:
    """A page changed again and again whose picture differs less and less."""
    for turn in range(6):
        h.turn(h.edit("app.css", f"gap: {turn}px", f"gap: {turn + 1}px"))
        h.turn(
            h.shell(
                "npx playwright test",
                "  1) home.spec.ts:4:1 › looks right\n\n"
                f"      {9000 - turn * 1400} pixels "
                f"(ratio {0.9 - turn * 0.14:.2f} of all image pixels) are different.\n\n  1 failed",
                True,
            )
        )


@loop
def tool_results_too_long(h: History, number: int) -> None:
    """Reads of one big file in other parts, each refused as too long."""
    for turn in range(6):
        given = (
            {"offset": turn},
            {"limit": 9_000 - turn},
            {"pages": f"1-{20 - turn}"},
            {"encoding": "utf8", "try": turn},
        )[turn % 4]
        size = (41_006, 41_006 - turn * 13)[number % 2]
        text = (
            f"File content ({size} tokens) exceeds maximum allowed tokens (25000). Use offset and limit parameters.",
            f"Error: result of {size} tokens exceeds the limit of 25000 tokens.",
        )[number % 3 == 0]
        h.turn(h.tool("Read" if h.style == "claude" else "read_file", text, True, path=h.file(), **given))
        if turn == 3:
            h.here()


@quiet
def long_files_read_in_parts(h: History, number: int) -> None:
    """Long file after long file refused once and read in parts."""
    for turn in range(4):
        name = "Read" if h.style == "claude" else "read_file"
        h.turn(
            h.tool(
                name, f"File content ({41_006 + turn} tokens) exceeds maximum allowed tokens.", True, path=h.file(turn)
            )
        )
        h.turn(h.tool(name, h.lines(turn), path=h.file(turn), offset=1, limit=100))


@loop
def types_silenced_and_restored(h: History, number: int) -> None:
    """A cast that one checker wants and another one refuses, put in and out."""
    one, two = (
        ("mypy src", "ruff check src"),
        ("npx tsc --noEmit", "npx eslint src"),
        ("cargo clippy", "cargo test"),
    )[number % 3]
    for turn in range(4):
        h.turn(h.edit(h.file(), f"return {WORDS[number]}", f"return cast(int, {WORDS[number]})"))
        if turn == 1:
            h.here()
        h.turn(h.shell(two, f"{h.file()}:12:5: unnecessary cast of `{WORDS[number]}`\nFound 1 error.", True))
        h.turn(h.edit(h.file(), f"return cast(int, {WORDS[number]})", f"return {WORDS[number]}"))
        h.turn(
            h.shell(one, f"{h.file()}:12: error: incompatible return value of `{WORDS[number]}`\nFound 1 error", True)
        )
        if turn == 1:
            h.here()


@quiet
def casts_added(h: History, number: int) -> None:
    """Cast after cast added, each with one error less."""
    for turn in range(6):
        h.turn(
            h.shell(
                "mypy src",
                f"{h.file(turn)}:{turn + 3}: error: incompatible return value\nFound {6 - turn} errors",
                True,
            )
        )
        h.turn(h.edit(h.file(turn), f"return {WORDS[turn]}", f"return cast(int, {WORDS[turn]})"))


@loop
def mail_not_there(h: History, number: int) -> None:
    """A message looked for in a mailbox with words after words, never there."""
    asks = (
        f"subject:{h.stem}",
        f"from:{WORDS[number]} {h.stem}",
        f"{h.stem} newer_than:7d",
        f"in:anywhere {h.stem}",
        f"{h.stem} is:unread",
        f"label:inbox {h.stem}",
    )
    none = ('{"messages": [], "resultSizeEstimate": 0}', "No messages matched your search.", '{"value": []}', "[]")[
        number % 4
    ]
    for turn, ask in enumerate(asks):
        h.turn(h.tool(("search_messages", "gmail_search", "list_emails")[number % 3], none, q=ask))
        h.says("Perhaps it is in another folder.", "Let me widen the search.")
        if turn == 3:
            h.here()


@quiet
def mailbox_sorted(h: History, number: int) -> None:
    """Sender after sender looked for in a mailbox, some without messages."""
    for turn in range(7):
        found = (
            '{"messages": []}'
            if turn % 3 == 1
            else f'{{"messages": [{{"id": "{turn:04x}", "subject": "{VERBS[turn]}"}}]}}'
        )
        h.turn(h.tool("search_messages", found, q=f"from:{WORDS[turn]}@example.com"))


@loop
def seconds_waited_for_nothing(h: History, number: int) -> None:
    """A result waited for with sleeps whose file is never written, although the job has ended."""
    h.turn(h.shell(f"./train.sh > {h.stem}.log 2>&1; echo ended $?", "ended 1"))
    for turn in range(8):
        h.turn(h.shell(f"sleep {turn * 5 + 5}; cat {h.stem}.log | tail -3", "Killed"))
        if turn == 2:
            h.here()


@quiet
def training_watched(h: History, number: int) -> None:
    """A training that is looked at between sleeps and gets on."""
    for turn in range(8):
        h.turn(h.shell(f"sleep 60; tail -1 {h.stem}.log", f"epoch {turn}/8 loss {2.0 / (turn + 1):.3f}"))


@loop
def mock_put_right_in_vain(h: History, number: int) -> None:
    """One test that fails in the same assertion, whichever way the agent mocks."""
    wrong = (
        "AssertionError: Expected 'send' to be called once. Called 0 times.",
        "expect(jest.fn()).toHaveBeenCalledTimes(expected)\n\nExpected number of calls: 1\nReceived number of calls: 0",
        "Wanted but not invoked:\nmailer.send();\nActually, there were zero interactions with this mock.",
    )[number % 3]
    for turn in range(6):
        h.turn(h.edit(f"tests/test_{h.stem}.py", f"patch('{WORDS[turn]}.send')", f"patch('{WORDS[turn + 1]}.send')"))
        if turn % 2:
            h.turn(h.read(h.file(turn), h.lines(turn + 40)))
        command = ("pytest -q tests", "npx jest", "mvn -q test")[number % 3]
        h.turn(
            h.shell(
                command, f"FAILED tests/test_{h.stem}.py::test_sends\n{wrong}\n1 failed in {h.rng.random():.2f}s", True
            )
        )
        if turn == 2:
            h.here()


@quiet
def mocks_added(h: History, number: int) -> None:
    """Mock after mock added, each with another missing call."""
    for turn in range(6):
        h.turn(h.edit(f"tests/test_{h.stem}.py", f"# {turn}", f"patch('{WORDS[turn]}.send')"))
        wrong = f"AttributeError: <module '{h.stem}'> does not have the attribute '{WORDS[turn + 1]}'"
        h.turn(h.shell("pytest -q tests", f"FAILED tests/test_{h.stem}.py::test_sends\n{wrong}\n1 failed", True))


@loop
def video_cut_in_vain(h: History, number: int) -> None:
    """A film converted with option after option, refused for the same stream."""
    for turn in range(6):
        option = ("-c copy", "-c:v libx264", "-map 0", "-vn", "-c:v h264 -c:a aac", "-f mp4")[turn]
        text = (
            "ffmpeg version 6.1 Copyright (c) 2000-2023\n"
            f"[mov,mp4 @ 0x{h.rng.randrange(16**10):x}] moov atom not found\n"
            f"{h.stem}.mp4: Invalid data found when processing input"
        )
        h.turn(h.shell(f"ffmpeg -i {h.stem}.mp4 {option} out.{'mp4' if turn % 2 else 'mkv'}", text, number % 3 > 0))
        if turn == 3:
            h.here()


@quiet
def videos_cut(h: History, number: int) -> None:
    """Film after film converted."""
    for turn in range(6):
        text = f"ffmpeg version 6.1\nframe={turn * 240} fps=60 size={turn * 900}kB time=00:00:{turn + 10}.00"
        h.turn(h.shell(f"ffmpeg -i {WORDS[turn]}.mp4 -c copy out/{WORDS[turn]}.mkv", text))


@loop
def agent_waits_for_itself(h: History, number: int) -> None:
    """A background task asked for whose answer is that there is no such task."""
    for turn in range(6):
        id = f"{h.rng.randrange(16**6):06x}" if number % 2 else "a81f02"
        text = (f"No task found with ID: {id}", f"Error: no shell with id {id}", f"task {id} does not exist")[
            number % 3
        ]
        h.turn(h.tool(("TaskOutput", "BashOutput", "check_job")[number % 3], text, number % 4 > 0, task_id=id))
        if turn == 2:
            h.here()


@quiet
def tasks_collected(h: History, number: int) -> None:
    """Background task after background task collected."""
    for turn in range(6):
        h.turn(h.tool("TaskOutput", f"<status>completed</status> {h.lines(turn)}", task_id=f"{turn:06x}"))


@loop
def query_plan_unchanged(h: History, number: int) -> None:
    """Index after index made, and the same plan of the same query."""
    plan = f"Seq Scan on {h.stem}  (cost=0.00..{number + 41}0.00 rows=9000 width=8)\n  Filter: ({WORDS[number]} = 7)"
    for turn in range(6):
        h.turn(h.shell(f'psql -c "create index i{turn} on {h.stem} ({WORDS[turn]})"', "CREATE INDEX"))
        spent = f"\nExecution Time: {h.rng.random() * 2 + 40:.3f} ms" if number % 2 else ""
        h.turn(
            h.shell(
                f'psql -c "explain {"analyze " if spent else ""}select * from {h.stem} where {WORDS[number]} = 7"',
                plan + spent,
            )
        )
        if turn == 3:
            h.here()


@quiet
def query_plan_improves(h: History, number: int) -> None:
    """Index after index made, each with another plan."""
    for turn in range(5):
        h.turn(h.shell(f'psql -c "create index i{turn} on {h.stem} ({WORDS[turn]})"', "CREATE INDEX"))
        scan = ("Seq Scan", "Bitmap Heap Scan", "Index Scan", "Index Only Scan", "Parallel Index Scan")[turn]
        h.turn(
            h.shell(
                f'psql -c "explain select * from {h.stem}"', f"{scan} on {h.stem}  (cost=0.0..{900 - turn * 150}.0)"
            )
        )


@loop
def signature_refused(h: History, number: int) -> None:
    """A build for a device that is refused for want of a signature."""
    say = (
        'error: No signing certificate "iOS Development" found: No certificate matching team ID was found.',
        'Execution failed for task \':app:packageRelease\'.\n> SigningConfig "release" is missing "storeFile".',
        "error: gpg failed to sign the data\nfatal: failed to write commit object",
    )[number % 3]
    ways = (
        "build",
        "clean build",
        "build -configuration Release",
        "archive",
        "build CODE_SIGN_STYLE=Automatic",
        "-allowProvisioningUpdates build",
    )
    for turn, way in enumerate(ways):
        command = (f"xcodebuild {way}", f"./gradlew {way} --stacktrace", f"git commit -m '{way}'")[number % 3]
        h.turn(h.shell(command, say, True))
        if turn == 3:
            h.here()


@quiet
def targets_built(h: History, number: int) -> None:
    """Target after target built, one of them with an error that is mended."""
    for turn in range(6):
        if turn == 3:
            h.turn(
                h.shell(
                    f"xcodebuild -target {WORDS[turn]}",
                    f"{h.file()}:4:2: error: cannot find '{VERBS[1]}' in scope",
                    True,
                )
            )
            h.turn(change(h, turn))
        h.turn(h.shell(f"xcodebuild -target {WORDS[turn]}", "** BUILD SUCCEEDED **"))


@loop
def generated_answer_discarded(h: History, number: int) -> None:
    """A generator run again with the same prompt whose result the agent throws away each time."""
    for turn in range(5):
        h.turn(h.shell(f"python generate.py --seed {turn if number % 2 else 7}", f"wrote out/{h.stem}.json"))
        h.turn(
            h.shell(
                f"python validate.py out/{h.stem}.json",
                f"invalid: field '{WORDS[number]}' is missing in {h.rng.randint(3, 9) if number % 3 == 0 else 4} rows",
                number % 4 > 0,
            )
        )
        h.turn(h.shell(f"rm out/{h.stem}.json", h.empty))
        if turn == 2:
            h.here()


@quiet
def generated_files_validated(h: History, number: int) -> None:
    """File after file generated and validated."""
    for turn in range(6):
        h.turn(h.shell(f"python generate.py --name {WORDS[turn]}", f"wrote out/{WORDS[turn]}.json"))
        h.turn(h.shell(f"python validate.py out/{WORDS[turn]}.json", "valid"))


@loop
def rename_refused(h: History, number: int) -> None:
    """A rename that a language server refuses, asked for at place after place."""
    for turn in range(6):
        text = (
            "No symbol found at the given position.",
            "Cannot rename this element.",
            "The element can't be renamed.",
        )[number % 3]
        h.turn(
            h.tool(
                "lsp_rename",
                text,
                number % 2 == 0,
                file=h.file(),
                line=turn + 3,
                column=turn * 2,
                new_name=WORDS[number],
            )
        )
        if turn == 3:
            h.here()


@quiet
def symbols_renamed(h: History, number: int) -> None:
    """Symbol after symbol renamed."""
    for turn in range(6):
        h.turn(
            h.tool("lsp_rename", f"Renamed in {turn + 2} files.", file=h.file(), line=turn * 4, new_topic=WORDS[turn])
        )


@quiet
def hosts_rolled_out(h: History, number: int) -> None:
    """The same three commands on host after host, with the same answers."""
    for turn in range(6):
        for command, said in (
            ("systemctl restart app", ""),
            ("systemctl is-active app", "active"),
            ("uname -r", "6.1.0-18-amd64"),
        ):
            h.turn(h.shell(f"ssh {WORDS[turn]}.example '{command}'", said))


@quiet
def conversation_searched(h: History, number: int) -> None:
    """A failing test looked into by reading one file after the other, the test run between."""
    for turn in range(4):
        h.turn(
            h.shell(
                "pytest -q -x", f"FAILED tests/test_{h.stem}.py::test_{WORDS[turn]} - assert {turn}\n1 failed", True
            )
        )
        h.turn(
            h.read(h.file(turn), h.lines(turn)), h.search(WORDS[turn], "src", f"{h.file(turn)}:{turn}: {WORDS[turn]}")
        )
        h.turn(h.edit(h.file(turn), WORDS[turn], VERBS[turn]))


@quiet
def parameters_swept(h: History, number: int) -> None:
    """A program run with one parameter after the other, many of them with the same rounded result."""
    for turn in range(7):
        h.turn(h.shell(f"./sweep --rate {turn / 10}", f"rate {turn / 10}: accepted 0.{31 + turn % 3}"))


@quiet
def value_set_until_right(h: History, number: int) -> None:
    """A value set again and again, read after each, which is another one each time."""
    for turn in range(6):
        h.turn(h.tool("set_option", '{"ok": true}', key=h.stem, value=WORDS[turn]))
        h.turn(h.tool("get_option", f'{{"key": "{h.stem}", "value": "{WORDS[turn]}"}}', key=h.stem))


@quiet
def names_defined_after_use(h: History, number: int) -> None:
    """Function after function used before it is defined, as a test asks for it."""
    for turn in range(5):
        name = f"{VERBS[turn]}_{WORDS[turn + number % 5]}"
        h.turn(h.edit(f"tests/test_{h.stem}.py", f"# {turn}", f"assert {name}() == {turn}"))
        h.turn(h.shell("pytest -q", f"NameError: name '{name}' is not defined\n1 failed, {turn} passed", True))
        h.turn(h.edit(h.file(), f"# {turn}", f"def {name}(): return {turn}"))
        if number % 2:
            h.turn(h.shell("pytest -q", f"{turn + 1} passed"))


@quiet
def fixed_and_checked(h: History, number: int) -> None:
    """A tool that mends and its check, which finds something else each time."""
    mend, check = (
        ("ruff check --fix", "ruff check"),
        ("prettier --write src", "prettier --check src"),
        ("cargo fmt", "cargo fmt --check"),
    )[number % 3]
    for turn in range(5):
        h.turn(h.shell(check, f"{h.file(turn)}:{turn + 3}: would change {WORDS[turn]}\nFound 1 error.", True))
        h.turn(h.shell(mend, "1 file changed"))
        h.turn(h.edit(h.file(turn + 1), WORDS[turn], VERBS[turn]))


TRADES = frozenset({*LOOPS, *QUIET} - BEFORE)
KEPT_TRADES = frozenset(name for name in TRADES if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0)


@loop
def chart_never_renders(h: History, number: int) -> None:
    """A chart of a cluster whose template fails in the same way after each change of its values."""
    for turn in range(5):
        h.turn(h.edit("values.yaml", f"replicas: {turn}", f"replicas: {turn + 1}\n{WORDS[turn]}: {VERBS[turn]}"))
        h.says("The values should be right now.", "Let me render it again.")
        say = (
            f"Error: INSTALLATION FAILED: template: {h.stem}/templates/deployment.yaml:{number + 8}:22: executing "
            f'"{h.stem}/templates/deployment.yaml" at <.Values.image.tag>: nil pointer evaluating interface {{}}.tag'
        )
        h.turn(h.shell(f"helm install {h.stem} ./chart{' --debug' if turn % 2 else ''}", say, True))
        if turn == 2:
            h.here()


@quiet
def charts_installed(h: History, number: int) -> None:
    """Chart after chart installed."""
    for turn in range(6):
        text = f"NAME: {WORDS[turn]}\nLAST DEPLOYED: Tue Nov 24 {clock(h, turn)} 2026\nSTATUS: deployed\nREVISION: 1"
        h.turn(h.shell(f"helm install {WORDS[turn]} ./charts/{WORDS[turn]}", text))


@loop
def column_guessed(h: History, number: int) -> None:
    """Column after column guessed in a table that nobody looks at."""
    for turn in range(6):
        column = f"{WORDS[turn]}_{('id', 'name', 'at')[number % 3]}"
        text = (
            f'ERROR:  column "{column}" does not exist\nLINE 1: select {column} from {h.stem}\n               ^',
            f"ERROR 1054 (42S22) at line 1: Unknown column '{column}' in 'field list'",
            f"Parse error: no such column: {column}",
        )[number % 3]
        program = ("psql -c", "mysql -e", "sqlite3 app.db")[number % 3]
        h.turn(h.shell(f'{program} "select {column} from {h.stem}"', text, True))
        if turn == 3:
            h.here()


@quiet
def columns_read(h: History, number: int) -> None:
    """Column after column read, one of them mistyped."""
    for turn in range(6):
        if turn == 2:
            h.turn(h.shell(f'psql -c "select {WORDS[turn]}x from {h.stem}"', "ERROR:  column does not exist", True))
        h.turn(
            h.shell(f'psql -c "select {WORDS[turn]} from {h.stem}"', f" {WORDS[turn]}\n-----\n {turn * 31}\n(1 row)")
        )


@loop
def tracker_state_never_changes(h: History, number: int) -> None:
    """A ticket moved again and again that stays where it is."""
    for turn in range(5):
        target = ("Done", "Closed", "Resolved", "done", "DONE")[turn]
        h.turn(
            h.tool(
                "transition_issue", ("null", "ok", '{"success": true}')[number % 3], issue=f"APP-{number}", to=target
            )
        )
        h.turn(
            h.tool(
                "get_issue",
                f'{{"issue": "APP-{number}", "status": "In Review", "title": "{h.stem}"}}',
                issue=f"APP-{number}",
            )
        )
        if turn == 3:
            h.here()


@quiet
def tickets_moved(h: History, number: int) -> None:
    """Ticket after ticket moved and looked at."""
    for turn in range(6):
        h.turn(h.tool("transition_issue", "ok", issue=f"APP-{turn}", to="Done"))
        h.turn(h.tool("get_issue", f'{{"issue": "APP-{turn}", "status": "Done"}}', issue=f"APP-{turn}"))


@loop
def same_words_translated(h: History, number: int) -> None:
    """A name given to a thing, refused by the linter for its form, in name after name."""
    for turn in range(6):
        name = f"{VERBS[turn].title()}{WORDS[turn].title()}"
        before = f"{VERBS[turn - 1].title()}{WORDS[turn - 1].title()}" if turn else "x"
        h.turn(h.edit(h.file(), f"def {before}():", f"def {name}():"))
        text = (
            f"{h.file()}:7:4: N802 Function name `{name}` should be lowercase\nFound 1 error.",
            f"{h.file()}\n  7:10  error  Identifier '{name}' is not in snake case  camelcase\n\n✖ 1 problem",
        )[number % 2]
        h.turn(h.shell(("ruff check .", "npx eslint .")[number % 2], text, True))
        if turn == 3:
            h.here()


@quiet
def names_put_right(h: History, number: int) -> None:
    """Name after name put into the form that a linter wants."""
    for turn in range(6):
        name = f"{VERBS[turn].title()}{WORDS[turn].title()}"
        h.turn(
            h.shell(
                "ruff check .", f"{h.file(turn)}:{turn * 5}:4: N802 Function name `{name}` should be lowercase", True
            )
        )
        h.turn(h.edit(h.file(turn), f"def {name}():", f"def {VERBS[turn]}_{WORDS[turn]}():"))


@loop
def fixer_and_check_disagree(h: History, number: int) -> None:
    """A formatter that says that it has mended all, and its check that still finds the same."""
    mend, check = (
        ("npx prettier --write src", "npx prettier --check src"),
        ("black src", "black --check src"),
        ("gofmt -w .", "gofmt -l . | grep . && exit 1"),
        ("rustfmt src/lib.rs", "cargo fmt --check"),
    )[number % 4]
    for turn in range(5):
        h.turn(h.shell(mend, f"{h.file()} {h.rng.randint(10, 90)}ms" if number % 4 < 2 else h.empty))
        h.turn(h.shell(check, f"would reformat {h.file()}\n1 file would be reformatted", True))
        if turn == 2:
            h.here()


@quiet
def formatted_before_commits(h: History, number: int) -> None:
    """A formatter and its check before commit after commit."""
    for turn in range(6):
        h.turn(change(h, turn))
        h.turn(h.shell("black src", "1 file reformatted." if turn % 2 else "All done!"))
        h.turn(h.shell("black --check src", "All done! 4 files would be left unchanged."))
        h.turn(h.shell(f"git commit -qam {WORDS[turn]}", h.empty))


@loop
def archive_extracted_again(h: History, number: int) -> None:
    """An archive fetched and unpacked again and again that ends too early."""
    for turn in range(5):
        size = h.rng.randint(1000, 9000)
        h.turn(h.shell(f"curl -sSLO https://example.com/{h.stem}.tgz", h.empty if number % 2 else f"{size} bytes"))
        say = "gzip: stdin: unexpected end of file\ntar: Error is not recoverable: exiting now"
        h.turn(h.shell(f"tar xzf {h.stem}.tgz{' -C /opt' if turn % 2 else ''}", say, True))
        if turn == 2:
            h.here()


@quiet
def archives_extracted(h: History, number: int) -> None:
    """Archive after archive fetched and unpacked."""
    for turn in range(6):
        h.turn(h.shell(f"curl -sSLO https://example.com/{WORDS[turn]}.tgz", h.empty))
        h.turn(h.shell(f"tar xzf {WORDS[turn]}.tgz", h.empty))


@loop
def helper_repeats_itself(h: History, number: int) -> None:
    """A helper sent out again and again whose report is the same."""
    report = (
        f"I looked at {h.file()} and found that {WORDS[number]} is set in {VERBS[number % 10]}(). Nothing else uses it."
    )
    for turn in range(5):
        ask = (
            "Find who sets {0}",
            "Search the code for {0}",
            "Where does {0} come from?",
            "Trace {0}",
            "Look for {0} again",
        )[turn]
        h.turn(h.tool(("Task", "delegate", "spawn_agent")[number % 3], report, prompt=ask.format(WORDS[number])))
        if turn == 3:
            h.here()


@quiet
def helpers_report(h: History, number: int) -> None:
    """Helper after helper, each with a report of its own."""
    for turn in range(6):
        h.turn(h.tool("Task", f"{WORDS[turn]} is set in {VERBS[turn]}().", prompt=f"Find who sets {WORDS[turn]}"))


@loop
def quota_stays_used_up(h: History, number: int) -> None:
    """Files deleted again and again while the disk stays as full as before."""
    for turn in range(6):
        h.turn(h.shell(f"rm -rf /var/tmp/{WORDS[turn]}", h.empty))
        h.turn(
            h.shell(
                "df -h /", "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        40G   40G     0 100% /"
            )
        )
        if turn == 3:
            h.here()


@quiet
def quota_is_freed(h: History, number: int) -> None:
    """Directory after directory deleted while the disk becomes emptier."""
    for turn in range(6):
        h.turn(h.shell(f"rm -rf /var/tmp/{WORDS[turn]}", h.empty))
        h.turn(
            h.shell(
                "df -h /",
                "Filesystem      Size  Used Avail Use% Mounted on\n"
                f"/dev/sda1        40G   {40 - turn}G     {turn}G {100 - turn * 3}% /",
            )
        )


@loop
def handshake_refused(h: History, number: int) -> None:
    """A certificate refused by program after program."""
    say = "SSL certificate problem: unable to get local issuer certificate"
    ways = (
        (f"curl https://{h.stem}.example/a", f"curl: (60) {say}"),
        (f"wget https://{h.stem}.example/a", f"ERROR: cannot verify {h.stem}.example's certificate\n{say}"),
        (f"git clone https://{h.stem}.example/r", f"fatal: unable to access 'https://{h.stem}.example/r/': {say}"),
        (f"curl -v https://{h.stem}.example/b", f"* TLS handshake\ncurl: (60) {say}"),
        (f"pip install -i https://{h.stem}.example/simple x", f"ERROR: Could not fetch URL: {say}"),
    )
    for turn, (command, text) in enumerate(ways):
        h.turn(h.shell(command, text, True))
        if turn == 3:
            h.here()


@quiet
def hosts_with_their_own_trouble(h: History, number: int) -> None:
    """Host after host, each refusing for a reason of its own."""
    says = (
        "certificate has expired",
        "wrong version number",
        "connection reset by peer",
        "no route to host",
        "404 Not Found",
    )
    for turn, say in enumerate(says):
        h.turn(h.shell(f"curl -sS https://{WORDS[turn]}.example", f"curl: ({turn + 31}) {say}", True))


@loop
def prompt_of_a_debugger(h: History, number: int) -> None:
    """A breakpoint set again and again at places that the program never reaches."""
    for turn in range(5):
        command = f"gdb -batch -ex 'break {h.stem}.c:{turn * 7 + 3}' -ex run ./{h.stem}"
        text = (
            f"Breakpoint 1 at 0x{h.rng.randrange(16**6):x}: file {h.stem}.c, line {turn * 7 + 3}.\n"
            f"[Inferior 1 (process {h.rng.randint(1000, 60000)}) exited normally]"
        )
        h.turn(h.shell(command, text))
        if turn == 3:
            h.here()


@quiet
def breakpoints_reached(h: History, number: int) -> None:
    """Breakpoint after breakpoint reached, each with other values."""
    for turn in range(6):
        place = f"{VERBS[turn]} ({WORDS[turn]}={turn * 17}) at {h.stem}.c:{turn * 7 + 3}"
        text = f"Breakpoint 1, {place}\n{turn * 7 + 3}\treturn {WORDS[turn]};"
        h.turn(h.shell(f"gdb -batch -ex 'break {VERBS[turn]}' -ex run ./{h.stem}", text))


@loop
def pipeline_red_again(h: History, number: int) -> None:
    """A change pushed again and again whose pipeline fails in the same job."""
    for turn in range(5):
        h.turn(change(h, turn))
        h.turn(h.shell(f"git commit -qam 'Fix CI {turn}' && git push -q", h.empty))
        run = h.rng.randint(10**9, 10**10)
        h.turn(h.shell("gh run list -L 1", f"completed\tfailure\tFix CI\tci\tmain\tpush\t{run}\t{turn + 1}m{turn}s"))
        says = (
            ("npm error code E404", f"npm error 404 Not Found - GET https://registry.example/{h.stem}"),
            (f"FAILED tests/test_{h.stem}.py::test_{WORDS[number]} - AssertionError: assert {number} == 4", "1 failed"),
            (f"src/{h.stem}.ts(7,3): error TS2304: Cannot find name '{WORDS[number]}'.",),
        )[number % 3]
        at = f"build\tRun\t2026-11-24T{clock(h, turn)}.{h.rng.randrange(10**7):07d}Z "
        log = "\n".join(at + said for said in (*says, "##[error]Process completed with exit code 1."))
        h.turn(h.shell(f"gh run view {run} --log-failed", log))
        if turn == 2:
            h.here()


@quiet
def pipelines_red_and_green(h: History, number: int) -> None:
    """A pipeline that fails in job after job and gets further."""
    for turn in range(5):
        h.turn(change(h, turn))
        h.turn(h.shell(f"git commit -qam '{WORDS[turn]}' && git push -q", h.empty))
        run = h.rng.randint(10**9, 10**10)
        at = f"build\tRun\t2026-11-24T{clock(h, turn)}.1234567Z "
        failed = f"FAILED tests/test_{h.stem}.py::test_{WORDS[turn]} - AssertionError: assert {turn} == {VERBS[turn]}"
        h.turn(h.shell(f"gh run view {run} --log-failed", f"{at}{failed}\n{at}1 failed, {turn} passed"))


@loop
def selector_of_pods_empty(h: History, number: int) -> None:
    """Pods looked for with label after label, never there."""
    none = ("No resources found in default namespace.", "No resources found")[number % 2]
    for turn in range(6):
        label = (
            f"app={h.stem}",
            f"name={h.stem}",
            f"app.kubernetes.io/name={h.stem}",
            f"k8s-app={h.stem}",
            f"component={h.stem}",
            f"tier={h.stem}",
        )[turn]
        h.turn(h.shell(f"kubectl get pods -l {label}", none))
        if turn == 3:
            h.here()


@quiet
def pods_of_each_application(h: History, number: int) -> None:
    """The pods of application after application, some without any."""
    for turn in range(7):
        text = (
            "No resources found in default namespace."
            if turn % 2
            else f"{WORDS[turn]}-{turn}  1/1  Running  0  {turn}d"
        )
        h.turn(h.shell(f"kubectl get pods -l app={WORDS[turn]}", text))


CRAFTS = frozenset({*LOOPS, *QUIET} - BEFORE - TRADES)
