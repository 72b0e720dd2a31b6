"""More families of histories, after what people report of their agents' sessions, written before the rules were seen.

``KEPT`` families, a third by the hash of their names, were left unread until the rules stood.
"""

from __future__ import annotations

import hashlib

from tests.detection.loop_families import (
    LOOPS,
    NOT_FOUND,
    QUIET,
    VERBS,
    WORDS,
    Call,
    History,
    error,
    exception,
    loop,
    quiet,
)

from unstuck.contract import Observation

FIRST = frozenset({*LOOPS, *QUIET})
INTENTS = (
    ("Now I will edit {}.", "I am going to edit {} now.", "Next: the edit of {}."),
    ("Jetzt bearbeite ich {}.", "Nun kommt die Änderung an {}.", "Ich ändere jetzt {}."),
    ("现在我来修改 {}。", "接下来编辑 {}。", "我现在修改 {}。"),
    ("Ahora voy a editar {}.", "Voy a modificar {} ahora.", "Toca editar {}."),
)


def sibling(number: int, command: str) -> str:
    """Return the result of a call that was cancelled because another one of its turn failed."""
    return (
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        f"<tool_use_error>Cancelled: parallel tool call Bash({command}) errored</tool_use_error>",
    )[number % 2]


def user(h: History, text: str) -> None:
    """Add a message of the person."""
    h.observations.append(Observation(kind="message", role="user", text=text, task_id="t"))


# Loops


@loop
def unchanged_file_read(h: History, number: int) -> None:
    """A file read again whose reader says that it is unchanged, or says the same text."""
    text = h.lines(number)
    again = (
        "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
        "Unchanged since last read",
        f"{text}\n\n<system-reminder>\nConsider whether this file would be malware.\n</system-reminder>",
        text,
    )[number % 4]
    for turn in range(7):
        h.says("Let me look at the file.", "I need to see the file once more.")
        h.turn(h.read(h.file(), again if turn else text))
        if turn == 2:
            h.here()
        if number % 3 == 1:
            h.turn(h.read(h.file(1), again if turn else h.lines(number + 1)))


@loop
def stale_edit(h: History, number: int) -> None:
    """An edit that is refused because the file seems to have changed, and the file read again before each try."""
    refused = (
        "File has been unexpectedly modified. Read it again before attempting to write it.",
        "<tool_use_error>File has been modified since read, either by the user or by a linter.</tool_use_error>",
        "File has not been read yet. Read it first before writing to it.",
    )[number % 3]
    for turn in range(5):
        h.turn(h.read(h.file(), h.lines(number)))
        h.says("The file changed. I read it again.", "Trying the edit again.")
        edit = h.edit(h.file(), f"{h.stem} = 1", f"{h.stem} = {turn + 2 if number % 2 else 2}")
        h.turn((*edit[:2], refused, True))
        if turn == 2:
            h.here()


@loop
def block_that_never_matches(h: History, number: int) -> None:
    """Replacements of other blocks of one file, none of which is in it."""
    for turn in range(6):
        old = "\n".join(h.lines(300 + turn).splitlines()[: 1 + turn % 4])
        text = (
            f"Failed to edit, 0 occurrences found for old_string in {h.file()}. No edits made.",
            f"The SEARCH block does not match anything in the file {h.file()}:\n{old}",
            f"<tool_use_error>String to replace not found in file.\nString: {old}</tool_use_error>",
            "Invalid diff format. Expected unified diff with @@ hunks or +/- with context.",
        )[number % 4]
        tool = ("replace", "replace_in_file", "Edit", "str_replace")[number % 4]
        h.turn(h.tool(tool, text, True, file_path=h.file(), old_string=old, new_string=f"# {WORDS[turn]}\n{old}"))
        if turn == 3:
            h.here()
        if number % 2:
            h.turn(h.read(h.file(), h.lines(number)))


@loop
def shell_probed(h: History, number: int) -> None:
    """A shell that is asked again and again whether it is alive."""
    probes = ["alive", "test123", "wakeup", "hello", "ok", f"ping {h.stem}", "still here?"]
    h.rng.shuffle(probes)
    for turn, word in enumerate(probes):
        h.says("The shell does not seem to answer.", "Is the shell broken?", "Let me test the shell.")
        command = (f"echo {word}", f"echo '{word}'; true", f"printf '{word}\\n'")[(turn + number) % (1 + number % 3)]
        h.turn(h.shell(command, word))
        if turn == 3:
            h.here()


@loop
def directory_listed(h: History, number: int) -> None:
    """One directory listed again and again, in one form or in two."""
    names = "\n".join(f"{word}.{h.suffix}" for word in WORDS[: 3 + number % 5])
    long = "\n".join(
        f"-rw-r--r-- 1 dev dev {n * 311} May  3 10:1{n} {name}" for n, name in enumerate(names.split("\n"))
    )
    where = f"{h.where}/{h.stem}"
    for turn in range(6):
        h.says("Let me check the directory first.", "I look at what is there.")
        other = turn >= 4 if number % 2 else False
        h.turn(h.shell(f"ls -la {where}" if other else f"ls {where}", long if other else names))
        if turn == 2:
            h.here()


@loop
def clean_tree(h: History, number: int) -> None:
    """A working tree with nothing to commit, looked at and committed again and again."""
    clean = "On branch main\nnothing to commit, working tree clean"
    for turn in range(5):
        h.turn(h.shell("git status" if number % 3 else "git status && git diff HEAD", clean))
        if turn == 2:
            h.here()
        h.says("There are no changes to commit.", "The tree is clean. I wait for instructions.")
        if number % 2:
            h.turn(h.shell(f"git add -A && git commit -m 'Add {h.stem}'", clean, True))
        else:
            h.turn(h.shell("git diff HEAD", h.empty))


@loop
def lookup_cycle(h: History, number: int) -> None:
    """The same two, three or four calls in the same order, each with the answer of before."""
    names = h.rng.sample(
        ["memory_search", "memory_get", "list_components", "describe_trigger", "get_docs"], 2 + number % 3
    )
    for turn in range(5):
        for place, name in enumerate(names):
            took = f'"took_ms": {h.rng.randint(3, 90)}, ' if number % 2 else ""
            answer = f'{{{took}"{WORDS[place]}": "{h.stem} {VERBS[place]}", "matches": {place + 1}}}'
            h.turn(h.tool(name, answer, query=f"{h.stem} {WORDS[place]}"))
            if turn == 2 and place == 0:
                h.here()


@loop
def listing_empty(h: History, number: int) -> None:
    """A listing that is always empty, asked with the same or another filter."""
    nothing = ("[]", '{"items": [], "total": 0}', "No resources found.", "(0 rows)", '{"results":[]}')[number % 5]
    for turn in range(7):
        h.says("Maybe the filter was wrong.", "Let me list them again.")
        given = {"integration": h.stem} | ({"limit": 10 * (turn + 1)} if number % 2 else {})
        h.turn(h.tool("list_integration_resources", nothing, **given))
        if turn == (3 if number % 2 else 2):
            h.here()


@loop
def missing_argument(h: History, number: int) -> None:
    """A tool called without an argument that it needs."""
    tool, key = (("Write", "content"), ("skill_manage", "content"), ("read", "path"), ("record_notes", "notes"))[
        number % 4
    ]
    text = (
        f"<tool_use_error>{tool}: The required parameter `{key}` is missing</tool_use_error>",
        f"{tool}() missing 1 required positional argument: '{key}'",
        f"Error: missing required argument: {key}",
    )[number % 3]
    for turn in range(6):
        h.says("Let me write the file.", "I try the call once more.")
        given = {} if number % 2 else {"file_path": h.file(turn % 2 * (number % 3))}
        h.turn(h.tool(tool, text, True, **given))
        if turn == 2:
            h.here()


@loop
def verified_again(h: History, number: int) -> None:
    """Tests that pass, run again and again without any change between."""
    commands = ("pytest -q", "npm test", "go test ./...", "cargo test", "flake8 --count", "make check")
    command, passed = commands[number % 6], h.rng.randint(20, 300)
    for turn in range(6):
        text = (
            f"{passed} passed in {h.rng.random() * 9 + 1:.2f}s",
            f"Tests:       {passed} passed, {passed} total\nTime:        {h.rng.random() * 9:.3f} s",
            f"ok  \texample.com/{h.stem}\t{h.rng.random():.3f}s",
            f"test result: ok. {passed} passed; 0 failed; finished in {h.rng.random():.2f}s",
            "1",
            "All checks passed!",
        )[number % 6]
        h.says(
            "Let me verify once more that all is well.", "Most nézzük meg a kód minőséget:", "I run the tests again."
        )
        h.turn(h.shell(f"{command} 2>&1 | tail -{turn + 5}" if number % 2 and turn % 2 else command, text))
        if turn == 2:
            h.here()


@loop
def wrapped_command(h: History, number: int) -> None:
    """One failing command in other wrappings, with the same failure."""
    plain, text = error(number, h.file(), h.rng.randint(3, 90), f"{VERBS[number % 10]}_{h.stem}")
    wrappings = [
        plain,
        f"cd {h.where} && {plain}",
        f"{plain} 2>&1 | tail -20",
        f"bash -lc '{plain}'",
        f"env CI=1 {plain}",
        f"timeout 120 {plain}",
        f"cd {h.where}; {plain} 2>&1 | head -40",
    ]
    start = number % 3
    for turn in range(6):
        h.says("Let me see the whole error.", "Running it in another way.")
        h.turn(h.shell(wrappings[(turn + start) % 7], text, True))
        if turn == 3:
            h.here()


@loop
def cosmetic_edits(h: History, number: int) -> None:
    """Changes of comments, blanks and names, after which the same check fails in the same place."""
    command, text = error(number, h.file(1), h.rng.randint(3, 90), f"{VERBS[number % 10]}_{h.stem}")
    for turn in range(6):
        new = (f"# {WORDS[turn]}", f"{h.stem}  =  {turn}  # fixed", f"\n\n# {VERBS[turn]}", f"'''{WORDS[turn]}'''")[
            turn % 4
        ]
        h.turn(h.edit(h.file(), f"# line {turn}", new))
        h.says("That should fix it.", "I have found the cause.")
        h.turn(h.shell(command, text, True))
        if turn == 2:
            h.here()


@loop
def port_in_use(h: History, number: int) -> None:
    """A server that cannot start because its port is taken, started again."""
    port = h.rng.randint(3000, 9000)
    text = (
        f"Error: listen EADDRINUSE: address already in use :::{port}",
        f"OSError: [Errno 98] Address already in use: ('0.0.0.0', {port})",
        f"listen tcp :{port}: bind: address already in use",
    )[number % 3]
    for turn in range(6):
        command = (f"npm start -- --port {port}", f"PORT={port} node {h.file()}", f"./{h.stem} serve -p {port}")
        h.turn(h.shell(command[turn % (1 + number % 2 * 2)], f"[{h.rng.randint(900, 99999)}] {text}", True))
        if turn == (3 if number % 2 else 2):
            h.here()
        if number % 3 == 2:
            h.turn(h.shell("sleep 2", h.empty))


@loop
def service_missing(h: History, number: int) -> None:
    """A service of the machine that does not run, needed by one command after the other."""
    text, commands = (
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            ("docker ps", "docker compose up -d", "docker build .", "docker info", "docker images", "docker run x"),
        ),
        (
            "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
            (
                "kubectl get pods",
                "kubectl apply -f k8s",
                "kubectl cluster-info",
                "kubectl get ns",
                "kubectl get svc",
                "kubectl logs x",
            ),
        ),
        (
            "could not connect to server: No such file or directory\n\tIs the server running locally",
            ("psql -l", "createdb app", "pg_dump app", "psql -c 'select 1'", "pg_isready", "dropdb app"),
        ),
        (
            "error: no devices/emulators found",
            ("adb shell ls", "adb install app.apk", "adb logcat -d", "adb push a /b", "adb pull /b", "adb root"),
        ),
    )[number % 4]
    for turn in range(6):
        h.turn(h.shell(commands[turn], text, True))
        if turn == 2:
            h.here()
        if turn < 2 and number % 2:
            h.turn(h.read(h.file(turn), h.lines(turn)))


@loop
def credentials_missing(h: History, number: int) -> None:
    """A key that nobody but a person can give, missing in one script after the other."""
    text = (
        "openai.AuthenticationError: Error code: 401 - Incorrect API key provided: sk-xxxx",
        "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
        "remote: Invalid username or password.\nfatal: Authentication failed for 'https://git.example/app.git/'",
        "npm ERR! code E401\nnpm ERR! Unable to authenticate, need: Bearer",
        "gh: To use GitHub CLI, please run:  gh auth login",
    )[number % 5]
    for turn in range(6):
        h.turn(h.shell(f"python {VERBS[turn]}_{WORDS[turn]}.py --{WORDS[turn + 1]}", text, True))
        if turn == 2:
            h.here()
        if number % 2 and turn < 4:
            h.turn(h.write(f"{VERBS[turn + 1]}_{WORDS[turn + 1]}.py", h.lines(turn)))


@loop
def disk_full(h: History, number: int) -> None:
    """A full disk, met by one command after the other."""
    for turn in range(6):
        command, who = (
            (f"cp {h.file(turn)} build/", "cp: error writing 'build/x'"),
            (f"npm install {WORDS[turn]}", "npm ERR! ENOSPC: write"),
            (f"git clone https://x.example/{WORDS[turn]}", "error: unable to write file"),
            (f"echo {turn} > {WORDS[turn]}.txt", "bash: echo: write error"),
        )[(turn + number) % 4]
        h.turn(h.shell(command, f"{who}: No space left on device", True))
        if turn == 2:
            h.here()


@loop
def standing_job(h: History, number: int) -> None:
    """A job that never says anything new, looked at again and again."""
    id = f"{h.rng.randrange(16**6):06x}"
    for turn in range(10):
        waited = 30 * (turn + 1)
        text = (
            f"<status>running</status>\n<stdout></stdout>\n<timestamp>2026-05-03T10:{turn:02}:12.{turn}Z</timestamp>",
            f"Task {id} still running (elapsed {waited}s). No new output.",
            f"job {id}: waiting for {h.stem} ...",
            f'{{"id": "{id}", "state": "running", "output": "", "waited": {waited}}}',
        )[number % 4]
        call = (
            h.tool("BashOutput", text, bash_id=id) if number % 2 else h.shell(f"sleep 30; tail -3 {h.stem}.log", text)
        )
        h.turn(call)
        if turn == 5:
            h.here()


@loop
def ended_job(h: History, number: int) -> None:
    """A job that has ended, asked for its output again and again."""
    id = f"bash_{h.rng.randint(1, 40)}"
    for turn in range(6):
        text = (
            f"<status>completed</status>\n<stdout>{h.lines(number)}</stdout>\n<timestamp>2026-05-03T10:{turn:02}:41Z</timestamp>",
            f"<status>failed</status>\n<exit_code>{number + 1}</exit_code>",
            f"Process exited with code {number % 3}. No further output.",
        )[number % 3]
        h.says("Let me check on the job.", "I look whether it is done.")
        h.turn(h.tool(("BashOutput", "TaskOutput", "process")[number % 3], text, id=id))
        if turn == 2:
            h.here()


@loop
def versions_swapped(h: History, number: int) -> None:
    """Two versions of a file, each with its own failure, written in turns."""
    one, two = h.lines(number), h.lines(number + 40)
    for turn in range(8):
        h.turn(h.write(h.file(), two if turn % 2 else one))
        if turn == 3:
            h.here()
        command, text = error(number, h.file(), 3 + turn % 2 * 40, f"{VERBS[turn % 2]}_{h.stem}")
        h.turn(h.shell(command, text, True))


@loop
def addresses_guessed(h: History, number: int) -> None:
    """Addresses guessed at one host, none of which exists."""
    host = f"https://docs.{h.stem}.example"
    text = ("404: Not Found", "Request failed with status code 404", "HTTP/1.1 404 Not Found\n<h1>Not Found</h1>")[
        number % 3
    ]
    for turn in range(7):
        url = f"{host}/{VERBS[turn]}/{WORDS[turn]}{('', '.html', '.md')[turn % 3]}"
        fetch = h.tool("WebFetch", text, True, url=url, prompt=f"Find the {h.stem}")
        h.turn(fetch if number % 2 else h.shell(f"curl -fsSL {url}", text, True))
        if turn == 3:
            h.here()


@loop
def same_delegation(h: History, number: int) -> None:
    """A helper asked for the same thing in other words, who finds nothing each time."""
    answer = f"I searched the repository and could not find any definition of {h.stem}_{WORDS[number]}."
    for turn in range(6):
        asked = (
            f"Find where {h.stem}_{WORDS[number]} is defined",
            f"Search thoroughly for {h.stem}_{WORDS[number]} in all files",
            f"Locate the definition of {h.stem}_{WORDS[number]}",
        )[turn % 3]
        id = f"\nagentId: {h.rng.randrange(16**8):08x}" if number % 2 else ""
        h.turn(h.tool("Task", f"{answer}{id}", description=f"Find {h.stem}", prompt=asked, subagent_type="explore"))
        if turn == 3:
            h.here()


@loop
def timed_out(h: History, number: int) -> None:
    """A command that never ends, run again into the same limit."""
    for turn in range(6):
        command = (
            f"python {h.file()}",
            f"python -u {h.file()}",
            f"python {h.file()} < /dev/null",
            f"python3 {h.file()}",
        )
        text = (
            "Command timed out after 2m 0.0s",
            "Error: Command timed out after 120000ms",
            "TIMEOUT: killed after 120 s",
        )
        h.says("It may need a little longer.", "Let me run it again.")
        h.turn(h.shell(command[turn % (1 + number % 2 * 3)], text[number % 3], True))
        if turn == (3 if number % 2 else 2):
            h.here()


@loop
def alternating_failures(h: History, number: int) -> None:
    """Two failures that take turns, each fix bringing the other one back."""
    for turn in range(8):
        h.turn(h.edit(h.file(turn % 2), f"{WORDS[turn]} = {turn}", f"{WORDS[turn]} = {VERBS[turn]}()"))
        command, text = error(number, h.file(turn % 2), 12 + turn % 2 * 30, f"{VERBS[turn % 2]}_{h.stem}")
        h.turn(h.shell(command, text, True))
        if turn == 4:
            h.here()


@loop
def generated_file_edited(h: History, number: int) -> None:
    """The same edit of a file that the build writes anew each time."""
    command, text = error(number, f"{h.where}/gen/{h.stem}.{h.suffix}", 7, f"{VERBS[number % 10]}_{h.stem}")
    for turn in range(5):
        h.turn(h.edit(f"{h.where}/gen/{h.stem}.{h.suffix}", f"{h.stem}: old", f"{h.stem}: new"))
        h.turn(h.shell("make generate", f"generated {number + 4} files in {h.rng.randint(10, 99)} ms"))
        h.turn(h.shell(command, text, True))
        if turn == 2:
            h.here()


@loop
def message_sent(h: History, number: int) -> None:
    """The same message sent again, each time with another number in its receipt."""
    for turn in range(6):
        receipt = (
            f'{{"ok": true, "messageId": "om_{h.rng.randrange(16**12):012x}"}}',
            f"Message sent (id {h.rng.randint(10**6, 10**7)})",
            f"Posted comment #{h.rng.randint(100, 999)}: https://x.example/c/{h.rng.randint(10**6, 10**7)}",
        )[number % 3]
        h.turn(h.tool("message_send", receipt, to=f"#{h.stem}", text=f"The {WORDS[number]} is ready."))
        if turn == 2:
            h.here()


@loop
def patch_rejected(h: History, number: int) -> None:
    """A patch in other forms, none of which can be applied."""
    for turn in range(6):
        text = (
            f"error: corrupt patch at line {turn * 3 + 8}",
            f"error: patch failed: {h.file()}:{turn + 20}\nerror: {h.file()}: patch does not apply",
            f"patch: **** malformed patch at line {turn + 5}: ",
        )[number % 3]
        hunk = f"@@ -{turn + 1},{turn + 3} @@\n-{WORDS[turn]}\n+{VERBS[turn]}"
        body = f"git apply <<'EOF'\n--- a/{h.file()}\n+++ b/{h.file()}\n{hunk}\nEOF"
        h.turn(h.shell(body, text, True))
        if turn == 3:
            h.here()


@loop
def push_refused(h: History, number: int) -> None:
    """A push that the server refuses, in other forms."""
    text = (
        "remote: Permission to team/app.git denied to bot.\nfatal: the requested URL returned error: 403",
        " ! [remote rejected] main -> main (protected branch hook declined)\nerror: failed to push some refs",
        "git@git.example: Permission denied (publickey).\nfatal: Could not read from remote repository.",
    )[number % 3]
    forms = (
        "git push",
        "git push origin main",
        "git push -u origin HEAD",
        "git push --force-with-lease",
        "git push -v",
    )
    for turn in range(5):
        h.turn(h.shell(forms[turn], text, True))
        if turn == 2:
            h.here()
        if number % 2 and turn < 3:
            h.turn(h.shell("git log --oneline -1", f"4be1c02 Add {h.stem}"))


@loop
def screen_unchanged(h: History, number: int) -> None:
    """Keys and clicks that change nothing on the screen."""
    screen = f"- heading '{h.stem}'\n- textbox '{WORDS[number]}'\n- button 'Next' [disabled]"
    for turn in range(7):
        if number % 2:
            h.turn(h.tool("browser_click", screen, element=f"button {WORDS[turn]}", ref=f"e{turn + 11}"))
        else:
            h.turn(h.tool("send_keys", screen, keys=("Enter", "Tab", "Down", "Escape", "Space", "y", "q")[turn]))
        h.says("The button does not react.", "Let me try another key.")
        if turn == 3:
            h.here()


@loop
def same_search_found(h: History, number: int) -> None:
    """One search whose many results are the same each time."""
    found = "\n".join(f"{h.file(n)}:{n * 7 + 2}:  {h.stem}.{WORDS[n]}()" for n in range(4 + number))
    for turn in range(6):
        h.says("Let me look for the callers.", "I search once more to be sure.")
        h.turn(h.search(f"{h.stem}\\.", ".", found))
        if turn == 2:
            h.here()
        if number % 4 == 3:
            h.turn(h.read(h.file(number), h.lines(number)))


@loop
def install_flags(h: History, number: int) -> None:
    """A package that does not exist, installed with other options and installers."""
    name = f"{h.stem}-{WORDS[number]}"
    forms, text = (
        (
            (
                "pip install {}",
                "pip3 install --user {}",
                "python -m pip install {} --no-cache-dir",
                "pip install {} --pre",
                "uv pip install {}",
            ),
            f"ERROR: Could not find a version that satisfies the requirement {name}\nERROR: No matching distribution",
        ),
        (
            ("npm i {}", "npm install --force {}", "npm install -g {}", "npm add {} --legacy-peer-deps", "npm i -D {}"),
            f"npm ERR! code E404\nnpm ERR! 404 '{name}@*' is not in this registry.",
        ),
        (
            (
                "apt-get install -y {}",
                "sudo apt-get install {}",
                "apt install {}",
                "apt-get update && apt-get install -y {}",
                "apt install -f {}",
            ),
            f"E: Unable to locate package {name}",
        ),
    )[number % 3]
    for turn in range(5):
        h.turn(h.shell(forms[turn].format(name), text, True))
        if turn == 3:
            h.here()


@loop
def same_round_of_siblings(h: History, number: int) -> None:
    """The same parallel calls in turn after turn: the first fails each time, and the others are cancelled."""
    if h.style == "shell":
        h.style = "named"
    command = f"./{VERBS[number % 10]}.sh"
    cancelled = sibling(number, command)
    for turn in range(5):
        others = [h.tool("Read", cancelled, True, file_path=h.file(n)) for n in range(2 + number % 4)]
        h.turn(h.shell(command, f"{h.stem}: {exception(number, h.stem)}", True), *others)
        if turn == 2:
            h.first = h.steps - len(others) - 1


@loop
def announced_only(h: History, number: int) -> None:
    """An agent that announces the same call again and again without making it."""
    h.work(2)
    h.turn(h.read(h.file(), h.lines(number)))
    h.here()
    texts = INTENTS[number % 4]
    for turn in range(9):
        text = texts[turn % (1 + number % 3)].format(h.file())
        h.observations.append(Observation(kind="message", role="agent", text=text, task_id="t"))


# What only looks like them


@quiet
def pending_checks(h: History, number: int) -> None:
    """Checks of a server that are pending for a while, and then done."""
    for _ in range(2 + number % 3):
        h.turn(h.shell("gh pr checks 41", f"{h.stem}\tpending\t0\thttps://ci.example/{number}"))
        h.turn(h.shell("sleep 60", h.empty))
    h.turn(h.shell("gh pr checks 41", f"{h.stem}\tpass\t2m14s\thttps://ci.example/{number}"))
    h.work(3)


@quiet
def files_moved(h: History, number: int) -> None:
    """File after file moved, with its references looked for and changed."""
    for turn in range(7):
        old, new = h.file(turn), f"{h.where}/moved/{WORDS[turn]}.{h.suffix}"
        h.turn(
            h.search(f"{WORDS[turn]}", ".", f"{h.file(turn + 1)}:3: import {WORDS[turn]}" if turn % 2 else NOT_FOUND[0])
        )
        h.turn(h.shell(f"git mv {old} {new}", h.empty))
        if turn % 2:
            h.turn(h.edit(h.file(turn + 1), f"import {WORDS[turn]}", f"import moved.{WORDS[turn]}"))


@quiet
def batches_processed(h: History, number: int) -> None:
    """A long list worked through in parts, each with nearly the same answer."""
    size = h.rng.choice((50, 100, 500))
    for turn in range(10):
        command = f"python {h.file()} --offset {turn * size} --limit {size}"
        h.turn(h.shell(command, f"processed {size} rows" if number % 2 else f"processed {size} rows, 0 errors\nOK"))


@quiet
def test_first(h: History, number: int) -> None:
    """A failing test written, and then made to pass, feature after feature."""
    command = ("pytest -q", "npm test", "go test ./...", "bundle exec rspec")[number % 4]
    for turn in range(6):
        name = f"{VERBS[turn]}_{WORDS[turn + number % 5]}"
        h.turn(h.edit(f"tests/test_{h.stem}.{h.suffix}", f"# end {turn}", f"test {name}\n# end {turn + 1}"))
        h.turn(h.shell(command, f"FAILED test_{name}: {name} is not defined\n1 failed, {turn + 8} passed", True))
        h.turn(h.edit(h.file(), f"# end {turn}", f"{name} = {turn}\n# end {turn + 1}"))
        h.turn(h.shell(command, f"{turn + 9} passed"))


@quiet
def read_after_edits(h: History, number: int) -> None:
    """A file that is read again after each of its changes."""
    lines = h.lines(number).splitlines()
    for turn in range(7):
        h.turn(h.read(h.file(), "\n".join(lines)))
        lines.insert(turn % len(lines), f"{VERBS[turn]}({turn})")
        h.turn(h.edit(h.file(), lines[-1], f"{VERBS[turn]}({turn})\n{lines[-1]}"))


@quiet
def checked_after_each_edit(h: History, number: int) -> None:
    """A check that passes after each change of another place."""
    command, passed = (("ruff check .", "All checks passed!"), ("npx tsc --noEmit", ""), ("go vet ./...", ""))[
        number % 3
    ]
    for turn in range(9):
        h.turn(h.edit(h.file(turn % (1 + number % 4)), f"{WORDS[turn]} = {turn}", f"{WORDS[turn]} = {VERBS[turn]}()"))
        h.turn(h.shell(command, passed or h.empty))


@quiet
def big_round_cancelled(h: History, number: int) -> None:
    """Many parallel calls cancelled by the failure of one, and then made one by one."""
    if h.style == "shell":
        h.style = "claude"
    for round in range(2):
        command = f"ls docs/{WORDS[round]} | grep -i {h.stem}"
        cancelled = sibling(number, command)
        probes: list[Call] = [h.shell(f"cat {h.file(n + round * 5)}", cancelled, True) for n in range(5 + number * 2)]
        h.turn(h.shell(command, "", True), *probes)
        for n in range(3):
            h.turn(h.shell(f"cat {h.file(n + round * 5)}", h.lines(n + round * 5)))


@quiet
def debugging_prints(h: History, number: int) -> None:
    """A test that fails in the same way while prints say more and more of its cause."""
    command, text = error(0, h.file(), 40, f"{VERBS[number % 10]}_{h.stem}")
    for turn in range(5):
        h.turn(h.edit(h.file(), f"# probe {turn}", f"print({WORDS[turn]})\n# probe {turn + 1}"))
        said = f"{WORDS[turn]} = {{'{VERBS[turn]}': {turn * 31 + number}, '{WORDS[turn + 2]}': None}}"
        h.turn(h.shell(f"{command} -s -k {h.stem}", f"{said}\n{text}", True))
    h.turn(h.edit(h.file(), "return None", f"return {WORDS[4]}"))
    h.turn(h.shell(f"{command} -s -k {h.stem}", "1 passed"))


@quiet
def bisected(h: History, number: int) -> None:
    """A history halved by the same test, which passes and fails in turns."""
    for turn in range(7):
        bad = h.rng.random() < 0.5
        text = f"FAILED test_{h.stem}: expected 4, got 5\n1 failed" if bad else "1 passed"
        h.turn(h.shell(f"pytest -q -k {h.stem}", text, bad))
        id = f"{h.rng.randrange(16**7):07x}"
        left = f"Bisecting: {2 ** (7 - turn) - 1} revisions left to test after this (roughly {7 - turn} steps)"
        h.turn(h.shell(f"git bisect {'bad' if bad else 'good'}", f"{left}\n[{id}] {VERBS[turn]} the {WORDS[turn]}"))


@quiet
def same_code_in_many_places(h: History, number: int) -> None:
    """The same kind of error, fixed in one place after the other."""
    for turn in range(7):
        command, text = error(number, h.file(turn), 9 + turn * 13, f"{VERBS[turn]}_{WORDS[turn]}")
        h.turn(h.shell(command, text, True))
        h.turn(h.edit(h.file(turn), f"{VERBS[turn]}_{WORDS[turn]}", f"{h.stem}.{VERBS[turn]}_{WORDS[turn]}"))


@quiet
def experiments_reverted(h: History, number: int) -> None:
    """One change after the other tried, measured, and taken back."""
    for turn in range(5):
        h.turn(h.edit(h.file(), "mode = 'plain'", f"mode = '{WORDS[turn]}_{VERBS[turn]}'"))
        h.turn(h.shell("make bench", f"{h.stem}: {h.rng.randint(100, 900)} ms with {WORDS[turn]}"))
        if number % 2:
            h.turn(h.shell(f"git checkout {h.file()}", "Updated 1 path from the index"))
        else:
            h.turn(h.edit(h.file(), f"mode = '{WORDS[turn]}_{VERBS[turn]}'", "mode = 'plain'"))


@quiet
def refused_twice(h: History, number: int) -> None:
    """A permission refused twice, and another way that works."""
    for turn in range(2):
        text = f"Permission to use {('WebFetch', 'WebSearch')[turn]} has been denied."
        h.turn(h.tool(("WebFetch", "WebSearch")[turn], text, True, query=f"{h.stem} {WORDS[turn]}"))
    h.turn(h.search(h.stem, "vendor/docs", f"vendor/docs/{h.stem}.md:3: {h.stem}"))
    h.work(3)
    h.turn(h.read(f"vendor/docs/{h.stem}.md", h.lines(number)))


@quiet
def service_warming_up(h: History, number: int) -> None:
    """A service that is waited for until it answers."""
    for turn in range(2 + number % 2):
        h.turn(h.shell("curl -sf localhost:8080/health", "curl: (7) Failed to connect to localhost port 8080", True))
        h.turn(h.shell(f"sleep {2 ** (turn + 1)}", h.empty))
    h.turn(h.shell("curl -sf localhost:8080/health", '{"status":"UP"}'))
    h.turn(h.shell(f"curl -s localhost:8080/{h.stem}", h.lines(number)))


@quiet
def same_command_elsewhere(h: History, number: int) -> None:
    """One command in one package after the other, with the same answer."""
    command, text = (
        ("npm test", "12 passed"),
        ("cargo build", "Finished dev profile"),
        ("npm ci", "added 61 packages"),
    )[number % 3]
    for turn in range(8):
        h.turn(h.shell(f"cd packages/{WORDS[turn]} && {command}", text))


@quiet
def silent_failures(h: History, number: int) -> None:
    """Questions to the shell whose answer is only an exit code."""
    for turn in range(8):
        command = (
            f"grep -q {WORDS[turn]} {h.file()}",
            f"test -f {h.file(turn)}",
            f"diff -q {h.file(turn)} {h.file(turn + 1)}",
        )
        h.turn(h.shell(command[(turn + number) % 3], ("", "Error: Exit code 1")[number % 2], True))


@quiet
def asked_again(h: History, number: int) -> None:
    """A command that the person asks for again and again."""
    for turn in range(5):
        user(h, ("again", "Run it once more, please.", "noch einmal", "one more time")[(turn + number) % 4])
        h.turn(h.shell(f"./{h.stem} --once", f"{h.stem}: done"))


@quiet
def menu_walked(h: History, number: int) -> None:
    """The same key pressed on one screen after the other."""
    for turn in range(8):
        screen = f"{VERBS[turn]} the {h.stem}?\n> {WORDS[turn]}\n  {WORDS[turn + 1]}\n({turn + 1}/9)"
        h.turn(h.tool("send_keys", screen, keys="Enter" if number % 2 else "Down"))


@quiet
def edits_mended(h: History, number: int) -> None:
    """An edit refused once or twice in file after file, and then done after a look at it."""
    for turn in range(4):
        old = f"{VERBS[turn]} = {turn}"
        refused = f"<tool_use_error>String to replace not found in file.\nString: {old}</tool_use_error>"
        for _ in range(1 + (turn + number) % 2):
            h.turn((*h.edit(h.file(turn), old, f"{old}0")[:2], refused, True))
        h.turn(h.read(h.file(turn), h.lines(turn)))
        h.turn(h.edit(h.file(turn), f"{old} ", f"{old}0"))


@quiet
def download_resumed(h: History, number: int) -> None:
    """A download that breaks off and goes on until it is whole."""
    for turn in range(6):
        share = 13 + turn * 17
        h.turn(
            h.shell(
                f"wget -c https://x.example/{h.stem}.bin",
                f"{h.stem}.bin {share}% [{share * 7}K] connection reset",
                True,
            )
        )
    h.turn(h.shell(f"wget -c https://x.example/{h.stem}.bin", f"'{h.stem}.bin' saved"))


@quiet
def address_found(h: History, number: int) -> None:
    """Addresses that do not exist at different hosts, and then the right one."""
    for turn in range(3):
        h.turn(
            h.tool(
                "WebFetch", "Request failed with status code 404", True, url=f"https://{WORDS[turn]}.example/{h.stem}"
            )
        )
    h.turn(h.tool("WebFetch", h.lines(number), url=f"https://{h.stem}.example/guide"))
    h.work(3)


@quiet
def migrations(h: History, number: int) -> None:
    """The same command, which does the next step of many each time."""
    before = "base"
    for turn in range(7):
        id = f"{h.rng.randrange(16**12):012x}"
        text = f"Running upgrade {before} -> {id}, {VERBS[turn]} {WORDS[turn]}"
        h.turn(
            h.shell(("alembic upgrade +1", "python manage.py migrate --next", "rake db:migrate:up")[number % 3], text)
        )
        before = id


@quiet
def queue_drained(h: History, number: int) -> None:
    """The same command, which takes the next job from a queue each time."""
    for turn in range(9):
        h.turn(h.shell(f"./{h.stem} work --once", f"job {turn + 311} done, {9 - turn} left"))


@quiet
def same_change_in_many_files(h: History, number: int) -> None:
    """The same words replaced in one file after the other."""
    for turn in range(10):
        if number % 2:
            h.turn(h.edit(h.file(turn), f"import {h.stem}", f"import new_{h.stem}"))
        else:
            h.turn(h.shell(f"sed -i 's/{h.stem}/new_{h.stem}/g' {h.file(turn)}", h.empty))


@quiet
def setting_toggled(h: History, number: int) -> None:
    """A setting turned on and off once, to compare."""
    for value, other in (("on", "off"), ("off", "on")):
        h.turn(h.edit(h.file(), f"cache = '{other}'", f"cache = '{value}'"))
        h.turn(h.shell("make bench", f"cache {value}: {h.rng.randint(100, 900)} ms"))
    h.work(3)


@quiet
def two_tries_each(h: History, number: int) -> None:
    """Problem after problem, each tried twice in one way and then solved in another."""
    for turn in range(4):
        command, text = error(number + turn, h.file(turn), 5 + turn * 9, f"{VERBS[turn]}_{WORDS[turn]}")
        for more in range(2):
            h.turn(h.edit(h.file(turn), f"{WORDS[more]} = {more}", f"{WORDS[more]} = {VERBS[more]}()"))
            h.turn(h.shell(command, text, True))
        h.turn(h.write(h.file(turn), h.lines(turn + 70)))
        h.turn(h.shell(command, f"{turn + 11} passed"))


@quiet
def short_answers(h: History, number: int) -> None:
    """Different questions to a program, all with the same short answer."""
    answer = ("True", "None", "0", "ok", "null")[number % 5]
    for turn in range(9):
        h.turn(h.shell(f"python3 -c 'import {h.stem}; print({h.stem}.{VERBS[turn]}({WORDS[turn]!r}))'", answer))


@quiet
def arguments_mended(h: History, number: int) -> None:
    """Calls of different tools that lack an argument, each made rightly at once."""
    for turn, (tool, key) in enumerate(
        (("Write", "content"), ("Edit", "old_string"), ("Grep", "pattern"), ("Task", "prompt"))
    ):
        text = (
            f"<tool_use_error>InputValidationError: {tool}: The required parameter `{key}` is missing</tool_use_error>"
        )
        h.turn(h.tool(tool, text, True, file_path=h.file(turn)))
        h.turn(h.tool(tool, f"{VERBS[turn]}: {h.lines(turn)}", file_path=h.file(turn), **{key: WORDS[turn]}))


@quiet
def daemon_started(h: History, number: int) -> None:
    """A service that does not run, which the agent starts."""
    text = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    for command in ("docker compose up -d", "docker ps")[: 1 + number % 2]:
        h.turn(h.shell(command, text, True))
    h.turn(h.shell("sudo service docker start", "Starting Docker: docker."))
    h.turn(h.shell("docker compose up -d", f"Container {h.stem}-1  Started"))
    h.turn(h.shell("docker ps", f"4be1c0  {h.stem}  Up 3 seconds"))


@quiet
def announced_and_done(h: History, number: int) -> None:
    """The same announcement before each of many changes that are then made."""
    for turn in range(8):
        text = INTENTS[number % 4][0].format(h.file(turn if number % 2 else 0))
        h.observations.append(Observation(kind="message", role="agent", text=text, task_id="t"))
        h.turn(h.edit(h.file(turn if number % 2 else 0), f"{WORDS[turn]} = {turn}", f"{WORDS[turn]} = {VERBS[turn]}()"))


@quiet
def value_approached(h: History, number: int) -> None:
    """One failing assertion whose value comes nearer with each change."""
    for turn in range(5):
        h.turn(h.edit(h.file(), f"step({turn})", f"step({turn + 1})"))
        h.turn(h.shell("pytest -q", f"E   assert {turn * 2 + number} == {number + 10}\n1 failed", True))
    h.turn(h.shell("pytest -q", "1 passed"))


@quiet
def flaky_network(h: History, number: int) -> None:
    """An installation that fails twice on the network and then goes through."""
    for turn in range(2):
        h.turn(h.shell(f"npm install {h.stem}", f"npm ERR! network ECONNRESET {h.rng.randint(1, 99)}", True))
        if number % 2:
            h.turn(h.shell(f"sleep {5 * (turn + 1)}", h.empty))
    h.turn(h.shell(f"npm install {h.stem}", "added 4 packages in 2s"))
    h.work(3)


# A last batch, written after the rules stood; no rule was changed for it


@loop
def conflict_again(h: History, number: int) -> None:
    """A rebase that stops at the same conflict each time that it is continued."""
    file = h.file(number)
    text = (
        f"CONFLICT (content): Merge conflict in {file}\nerror: could not apply 4be1c02... {VERBS[number % 10]} {h.stem}"
    )
    for turn in range(5):
        h.turn(h.shell("git rebase --continue", text, True))
        if turn == 2:
            h.here()
        h.turn(h.shell(f"git add {file}" if number % 2 else "git add -A", h.empty))


@loop
def wrong_directory(h: History, number: int) -> None:
    """One program after the other started where the project is not."""
    commands, text = (
        (
            ("npm test", "npm ci", "npm run build", "npm ls"),
            f"npm ERR! enoent Could not read package.json in {h.where}",
        ),
        (
            ("cargo build", "cargo test", "cargo run", "cargo check"),
            f"error: could not find `Cargo.toml` in `{h.where}`",
        ),
        (
            ("git status", "git log", "git diff", "git add ."),
            "fatal: not a git repository (or any of the parents): .git",
        ),
    )[number % 3]
    for turn in range(6):
        h.says("Let me try this one.", "That should work here.")
        h.turn(h.shell(f"{commands[turn % 4]}{' --quiet' * (turn // 4)}", text, True))
        if turn == 3:
            h.here()


@loop
def lock_in_the_way(h: History, number: int) -> None:
    """A lock that nobody removes, met by one command after the other."""
    text = (
        "fatal: Unable to create '/repo/.git/index.lock': File exists.\nAnother git process seems to be running",
        "sqlite3.OperationalError: database is locked",
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4121 (apt-get)",
    )[number % 3]
    for turn in range(6):
        h.turn(h.shell(f"./{VERBS[turn]}.sh {h.stem} {WORDS[turn]}", text, True))
        if turn == 3:
            h.here()
        if number % 2 and turn < 3:
            h.turn(h.read(h.file(turn), h.lines(turn)))


@loop
def snapshot_never_matches(h: History, number: int) -> None:
    """A snapshot that is written anew and still fails the next run."""
    name, old = f"{h.stem} {VERBS[number % 10]} 1", WORDS[number]
    text = f"Snapshot name: `{name}`\n- <b>{old}</b>\n+ <b>undefined</b>\n1 snapshot failed"
    for turn in range(5):
        h.turn(h.shell("npx jest", text, True))
        if turn == 2:
            h.here()
        h.turn(h.shell("npx jest --updateSnapshot", f"1 snapshot updated\nTime: {h.rng.random() * 4:.2f} s"))


@loop
def setting_ignored(h: History, number: int) -> None:
    """One setting changed again and again, which the program does not heed."""
    for turn in range(7):
        h.turn(h.edit(h.file(), f"port = {3000 + turn}", f"port = {3001 + turn}"))
        h.turn(h.shell(f"./{h.stem} --print-config", f"port = 8080 (default)\nname = {h.stem}"))
        if turn == 3:
            h.here()


@loop
def same_hits_for_other_words(h: History, number: int) -> None:
    """A question in other words, always with the same hits."""
    hits = "\n".join(f"{n + 1}. {VERBS[n]} the {h.stem}: https://docs.example/{WORDS[n]}" for n in range(3))
    tail = ("", " example", " guide", " 2025", " how to", " tutorial", " official")
    for turn in range(7):
        h.turn(h.tool("WebSearch", hits, query=f"{h.stem} {VERBS[number % 10]} {WORDS[number]}{tail[turn]}"))
        if turn == 3:
            h.here()


@loop
def plan_shuffled(h: History, number: int) -> None:
    """A plan whose items change their places and states, with looks at the same file between."""
    for turn in range(7):
        states = ["in_progress" if item == turn % 3 else "pending" for item in range(3)]
        items = [{"content": f"{VERBS[item]} the {h.stem}", "status": state} for item, state in enumerate(states)]
        h.turn(h.tool(("TodoWrite", "update_plan")[number % 2], "Todos have been modified.", todos=items))
        if turn == 3:
            h.here()
        h.says("I should first look at the plan.", "Let me reorder the tasks.")


@loop
def script_cut_off(h: History, number: int) -> None:
    """A script written through the shell, which is cut off each time."""
    for turn in range(6):
        body = "\n".join(f"{VERBS[turn]}_{WORDS[n]}({n})" for n in range(5 + turn))
        text = (
            f"/bin/bash: line {turn * 7 + 9}: warning: here-document at line 1 delimited by end-of-file (wanted `EOF')"
        )
        h.turn(h.shell(f"cat > {h.file()} <<'EOF'\n{body}", text, number % 2 == 0))
        if turn == 3:
            h.here()


@quiet
def conflicts_solved(h: History, number: int) -> None:
    """A rebase with a conflict in commit after commit, each of another file."""
    for turn in range(6):
        text = (
            f"CONFLICT (content): Merge conflict in {h.file(turn)}\nerror: could not apply {h.rng.randrange(16**7):07x}"
        )
        h.turn(h.shell("git rebase --continue", f"{text}... {VERBS[turn]} {WORDS[turn]}", True))
        h.turn(h.edit(h.file(turn), f"<<<<<<< {turn}", f"{WORDS[turn]}()"))
        h.turn(h.shell(f"git add {h.file(turn)}", h.empty))


@quiet
def lock_removed(h: History, number: int) -> None:
    """A lock that is met twice and then removed."""
    text = "fatal: Unable to create '/repo/.git/index.lock': File exists."
    for command in ("git add -A", "git commit -qm one"):
        h.turn(h.shell(command, text, True))
    h.turn(h.shell("rm -f .git/index.lock", h.empty))
    for command in ("git add -A", "git commit -qm one", "git push -q"):
        h.turn(h.shell(command, h.empty))


@quiet
def setting_heeded(h: History, number: int) -> None:
    """One setting changed again and again, each time with its effect."""
    for turn in range(7):
        h.turn(h.edit(h.file(), f"port = {3000 + turn}", f"port = {3001 + turn}"))
        h.turn(h.shell(f"./{h.stem} --print-config", f"port = {3001 + turn}\nname = {h.stem}"))


@quiet
def same_build_between_edits(h: History, number: int) -> None:
    """A build that says the same between changes of other files."""
    for turn in range(8):
        h.turn(h.edit(h.file(turn), f"# {WORDS[turn]}", f"{VERBS[turn]}()"))
        h.turn(h.shell("npm run build", f"> build\n> tsc -p .\n\nwarning: {h.stem} is deprecated\nDone."))


@quiet
def pages_fetched(h: History, number: int) -> None:
    """Page after page of a list, the last of which is empty."""
    for turn in range(7):
        items = f'[{{"id": {turn * 3 + 1}, "name": "{WORDS[turn]}"}}]' if turn < 6 else "[]"
        if number % 2:
            h.turn(h.shell(f"curl -s 'https://api.example/{h.stem}?page={turn}'", items))
        else:
            h.turn(h.tool("list_orders", items, page=turn, shop=h.stem))


@quiet
def units_without_entries(h: History, number: int) -> None:
    """The logs of one service after the other, most of them empty."""
    for turn in range(7):
        h.turn(h.shell(f"journalctl -u {WORDS[turn]}.service -n 20", "-- No entries --" if turn % 4 else h.lines(turn)))


@quiet
def comments_posted(h: History, number: int) -> None:
    """Comment after comment, each with other words."""
    for turn in range(7):
        words = f"{VERBS[turn]} the {WORDS[turn]} in {h.file(turn)}"
        h.turn(
            h.tool("create_review_comment", f'{{"id": {h.rng.randint(10**6, 10**7)}}}', body=words, path=h.file(turn))
        )


@quiet
def commits_picked(h: History, number: int) -> None:
    """Commit after commit taken over from another branch."""
    for turn in range(7):
        id = f"{h.rng.randrange(16**7):07x}"
        h.turn(
            h.shell(
                f"git cherry-pick {id}",
                f"[main {h.rng.randrange(16**7):07x}] {VERBS[turn]} {WORDS[turn]}\n 1 file changed",
            )
        )


@quiet
def models_compared(h: History, number: int) -> None:
    """One model after the other measured, each with its value."""
    for turn in range(8):
        h.turn(
            h.shell(f"python evaluate.py {WORDS[turn]}", f"model {WORDS[turn]}\naccuracy: 0.{h.rng.randint(60, 65)}")
        )


LAST = frozenset(
    {
        *("conflict_again", "wrong_directory", "lock_in_the_way", "snapshot_never_matches", "setting_ignored"),
        *("same_hits_for_other_words", "plan_shuffled", "script_cut_off", "conflicts_solved", "lock_removed"),
        *("setting_heeded", "same_build_between_edits", "pages_fetched", "units_without_entries", "comments_posted"),
        *("commits_picked", "models_compared"),
    }
)
SESSIONS = frozenset({*LOOPS, *QUIET}) - FIRST - LAST
KEPT_SESSIONS = frozenset(name for name in SESSIONS if hashlib.sha256(name.encode()).digest()[0] % 3 == 0)
