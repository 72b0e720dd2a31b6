"""A run that was killed: said as interrupted, and its agent's own conversation goes on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plans.conftest import Bench

SESSION = "0198-session"
INIT = json.dumps({"type": "system", "subtype": "init", "session_id": SESSION})


def claude(bench: Bench, script: str) -> Path:
    """A plan for a program named claude that notes its arguments."""
    worker = bench.agent("worker", f'printf "%s\\n" "$@" > "$TOLD/$UNSTUCK_ATTEMPT.arguments"\n{script}')
    named = bench.outside / "claude"
    Path(worker["command"][0]).rename(named)
    command = [str(named), "-p", "{prompt}", "--output-format", "stream-json", "--verbose"]
    task = {"id": "web", "prompt": "Build it.", "verify": "test -f done.txt"}
    return bench.plan(agents={"worker": {"command": command}}, tasks=[task])


def test_after_a_kill_the_conversation_goes_on(bench: Bench) -> None:
    """The session is on record as soon as the agent names it, so the next attempt resumes it; `runs` and `show` say
    that the run was interrupted."""
    script = f"echo '{INIT}'\n[ $n = 2 ] && touch done.txt && exit 0\nwhile :; do sleep 0.1; done"
    process = bench.start("run", claude(bench, script), "--headless", "--json")
    assert process.stdout is not None
    named = next(line for line in process.stdout if '"event":"session_named"' in line.replace(" ", ""))
    assert json.loads(named)["data"] == {"session": SESSION}
    assert '"running"' in bench.call("show", "--json").out
    process.kill()
    bench.end(process)
    assert f"run {bench.folder.name}  interrupted  started" in bench.call("show").out
    assert "interrupted" in bench.call("runs").out
    assert json.loads(bench.call("runs", "--json").out.splitlines()[-1])["state"] == "interrupted"
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    arguments = (bench.told / "web.2.arguments").read_text().splitlines()
    assert arguments[arguments.index("--resume") + 1] == SESSION
    assert "was cut off from outside" in bench.prompt("web.2")


def test_a_restored_attempt_begins_a_new_conversation(bench: Bench) -> None:
    """A restored attempt gets a new session, not words about files that are gone."""
    script = f"echo '{INIT}'\n[ $n = 2 ] && touch done.txt && exit 0\nwhile :; do sleep 0.1; done"
    process = bench.start("run", claude(bench, script), "--headless", "--json")
    assert process.stdout is not None
    next(line for line in process.stdout if "session_named" in line)
    process.kill()
    bench.end(process)
    assert bench.resume("--recover", "web=retry").code == 0
    assert "--resume" not in (bench.told / "web.2.arguments").read_text()


def test_show_says_what_a_question_offers_and_what_is_known(bench: Bench) -> None:
    """The options by number, and the facts as the dialog has them."""
    worker = bench.agent("worker", "echo 'error: not logged in. Run `acme login` first' >&2; exit 1")
    task = {"id": "web", "prompt": "Build it.", "verify": "test -f done.txt"}
    assert bench.run(bench.plan(agents={"worker": worker}, tasks=[task])).code == 3
    shown = bench.call("show").out
    assert "1. I have fixed it: go on" in shown
    assert "Ended         the agent ended with exit code 1" in shown
    assert "Saved         chk-" in shown
    row = json.loads(bench.call("show", "--json").out.splitlines()[-1])
    assert row["facts"]["Saved"].startswith("chk-")
