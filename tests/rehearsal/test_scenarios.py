"""Every scenario takes the path that it is about: rungs, gates and answers, and the files that come out of it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml
from click.testing import CliRunner
from tests.rehearsal.conftest import Stage

from unstuck.testing import Part, Rehearsal, load_scenario
from unstuck_tui.cli import cli

FULL_LADDER = [
    *("first", "failed", "retry", "failed", "retry", "failed", "retry", "failed"),
    *("restored", "pivot", "failed", "restored", "pivot", "failed", "restored", "pivot", "failed"),
    *("researched", "research", "failed", "researched", "research", "failed", "gate stuck"),
]
# With a check that costs next to nothing, for it runs often.
OF_MY_OWN = """
prompt: The answer has to be right.
verify: "grep -q right answer.txt || { echo 'AssertionError: the answer is not right'; exit 1; }"
files: {answer.txt: wrong}
attempts:
  - rung: human
    do: [{write: {answer.txt: right}}]
  - do:
      - say: It could be so
      - write: {answer.txt: perhaps}
"""


def test_succeeds_at_once(stage: Stage) -> None:
    """One attempt, one check, done."""
    played = stage.play("succeeds-at-once")
    assert played.path == ["first", "passed", "succeeded"]
    assert played.code == 0
    assert "def label" in played.file("shop/models.py")


def test_fixed_on_a_retry(stage: Stage) -> None:
    """The second attempt is told what failed and where, and mends it."""
    played = stage.play("fixed-on-a-retry")
    assert played.path == ["first", "failed", "retry", "passed", "succeeded"]
    assert "assert 10.0 == 30.0" in played.told(2)
    assert "tests/test_cart.py" in played.told(2)
    assert "mend this problem in another way than before" in played.told(2)
    assert played.kinds[0] == ("AGENT_FAILURE", "VERIFICATION_FAILED")
    assert "(100 - discount) / 100" in played.file("shop/cart.py")


def test_fixed_by_a_pivot(stage: Stage) -> None:
    """A pivot starts from the files as they were, is told an approach, and what failed is not in the result."""
    stage.limits(max_retries=0)
    played = stage.play("fixed-by-a-pivot")
    assert played.path == ["first", "failed", "restored", "pivot", "passed", "succeeded"]
    assert "Take a different one" in played.told(2)
    assert "\nApproach: " in played.told(2)
    assert "casefold" in played.file("shop/search.py")
    assert "lower()" not in played.file("shop/search.py")


def test_fixed_after_research(stage: Stage) -> None:
    """Research findings are handed to the agent, which can only then succeed."""
    stage.limits(max_retries=0, max_pivots=0)
    played = stage.play("fixed-after-research")
    assert played.path == ["first", "failed", "researched", "research", "passed", "succeeded"]
    assert "GRAMS_PER_OUNCE = 28.349523125" in played.told(2)
    assert "ounces * GRAMS_PER_OUNCE" in played.file("shop/catalog.py")


def test_three_identical_failures(stage: Stage) -> None:
    """The agent hears that it failed in the same way three times; the ladder goes on, and no question opens."""
    stage.limits(max_retries=2)
    played = stage.play("three-identical-failures")
    retries = ["retry", "failed"] * 2
    assert played.path == ["first", "failed", *retries, "restored", "pivot", "passed", "succeeded"]
    assert "the same failure 3 times in a row" in played.told(4)
    assert played.file("shop/orders.py").endswith("return count + 1000\n")


def test_same_idea_reworded(stage: Stage) -> None:
    """One idea under new names is noticed before the retries are used up, and the person's words end it."""
    played = stage.play("same-idea-reworded", {"gate": "stuck", "answer": "retry", "approach": "use one dictionary"})
    assert played.path[:6] == ["first", "failed", "retry", "failed", "retry", "failed"]
    assert played.path[6:] == ["gate stuck", "answer retry", "human", "passed", "succeeded"]
    assert "use one dictionary" in played.told(4)
    assert played.data("check_finished")[2]["circular"] is True
    (asked,) = [directive for directive in played.data("directive_issued") if directive["level"] == "human"][:1]
    assert asked["line"] == 9
    assert asked["reason"] == "the same idea was tried again and again"
    assert "_written.get" in played.file("shop/stock.py")


def test_tool_call_loop(stage: Stage) -> None:
    """A command that fails in the same way inside one attempt is stopped, and the next one has the person's words."""
    answer = {"gate": "loop-detected", "answer": "show-me", "text": "write() does not exist yet: write it"}
    played = stage.play("tool-call-loop", answer)
    assert played.path[:5] == ["first", "nudged", "gate loop_detected", "answer show_me", "failed"]
    assert played.path[5:] == ["human", "passed", "succeeded"]
    failures = [step for step in played.data("step_recorded") if step["kind"] == "failure"]
    assert 3 <= len(failures) < 40
    assert "write() does not exist yet" in played.told(2)
    assert "def write" in played.file("shop/receipt.py")


def test_hangs_silently(stage: Stage) -> None:
    """No output, no work, no files: noticed long before the limit of half an hour, and stopped with a receipt."""
    played = stage.play("hangs-silently")
    assert played.path == ["first", "timeout", "failed", "first", "passed", "succeeded"]
    (late,) = played.data("agent_timeout")
    assert late["elapsed_ms"] < 600_000
    (receipt,) = played.data("stop_receipt")
    assert receipt["ended"]
    assert not receipt["alive"]
    assert "price * 100" in played.file("shop/prices.py")


def test_busy_but_silent(stage: Stage) -> None:
    """An agent that computes twice as long as the idle limit is left alone."""
    played = stage.play("busy-but-silent", speed="10")
    assert played.path == ["first", "passed", "succeeded"]
    assert "max(sales" in played.file("shop/recommend.py")


def test_out_of_context(stage: Stage) -> None:
    """A session that is full is continued by a new one, which is told what is there already."""
    played = stage.play("out-of-context")
    assert played.path == ["first", "failed", "continue", "passed", "succeeded"]
    assert played.kinds[0] == ("AGENT_FAILURE", "CONTEXT_EXHAUSTED")
    assert [saved["reason"] for saved in played.data("checkpoint_created") if saved["purpose"] == "directive"] == [
        "progress"
    ]
    assert "The last session ran out of context. Its work is in the files. Go on from there:" in played.told(2)
    assert "docs/hello.md" in played.told(2)
    assert played.file("docs/thanks.md")
    assert played.file("docs/sorry.md")


def test_needs_a_decision(stage: Stage) -> None:
    """The question goes to the person with its options, and the chosen one to the agent."""
    played = stage.play("needs-a-decision", {"gate": "question", "answer": "choose", "number": 2})
    assert played.path == ["first", "failed", "gate question", "answer choose", "human", "passed", "succeeded"]
    (gate,) = played.data("gate_opened")
    assert gate["context"]["options"] == ["EUR", "USD"]
    assert [asked["error_type"] for asked in played.data("configuration_error")] == ["ambiguous_requirement"]
    assert [asked["question"] for asked in played.data("agent_seeks_guidance")] == [gate["context"]["question"]]
    assert [answer["response"] for answer in played.data("divine_response_received")] == ["USD"]
    assert "USD" in played.told(2)
    assert "USD" in played.file("shop/currency.py")


def test_transient_trouble(stage: Stage) -> None:
    """A busy service is waited for, twice as long each time: the check runs again, not the agent, and no rung is used
    up.
    """
    played = stage.play("transient-trouble")
    waits = ["first", "failed", "wait 1", "failed", "wait 2"]
    assert played.path == [*waits, "passed", "resolved", "succeeded"]
    assert [wait["delay_seconds"] for wait in played.data("transient_error_retry")] == [1, 2]
    assert not played.data("directive_issued")
    assert {kind[0] for kind in played.kinds} == {"TRANSIENT"}
    assert [done["total_retries"] for done in played.data("transient_error_resolved")] == [2]
    assert {wait["check_alone"] for wait in played.data("transient_error_retry")} == {True}
    assert "urllib.request" in played.file("shop/rates.py")


def test_broken_check(stage: Stage) -> None:
    """The project's own check is mended before the task is blamed; the task's work is then believed."""
    played = stage.play("broken-check")
    expected = ["blocked", "remediation", "unblocked", "first", "passed", "succeeded"]
    assert [word for word in played.path if word in expected][-6:] == expected
    assert played.code == 0
    assert not played.data("directive_issued")
    (blocked,), (sent,) = played.data("infrastructure_blocked"), played.data("remediation_dispatched")
    assert sent == {"attempt": 1, "issue": blocked["issue"]}
    assert [done["attempts_used"] for done in played.data("infrastructure_restored")] == [1]
    assert blocked["issue"] in played.told_to("_remediation.1")
    assert "No task caused this" in played.told_to("_remediation.1")
    assert "def wish" in played.result("shop/wishes.py")
    assert 'CURRENCY = "EUR"' in played.result("shop/settings.py")


def test_broken_build(stage: Stage) -> None:
    """The changes that broke the build are gone before the retry, earlier work is kept, and the way back is named."""
    played = stage.play("broken-build")
    assert played.path == ["first", "failed", "retry", "failed", "restored", "retry", "passed", "succeeded"]
    assert not (played.directory / "shop" / "shop" / "draft.py").exists()
    assert played.file("shop/invoice.py").count("\n") == 5
    assert played.kinds == [("AGENT_FAILURE", "VERIFICATION_FAILED"), ("AGENT_FAILURE", "BROKEN_BUILD")]
    assert "set back" not in played.told(2)
    assert "it does not even load or compile. Mend that first" in played.told(3)
    assert "because the build was broken (files: 2)." in played.told(3)
    assert "- removed shop/draft.py" in played.told(3)
    (restored,) = played.data("restore_done")
    assert sorted(restored["changes"]) == ["changed back shop/invoice.py", "removed shop/draft.py"]
    assert f"unstuck checkpoints diff {restored['safety']}" in played.told(3)


def test_agent_fails_itself(stage: Stage) -> None:
    """A killed agent, and one with an unreadable line, hear how their last attempt ended; a sample is recorded."""
    played = stage.play("agent-fails-itself")
    assert played.path == ["first", "failed", "first", "failed", "first", "passed", "succeeded"]
    names = [row["event"] for row in played.rows if row.get("event", "").startswith(("agent_", "signal_"))]
    assert [name for name in names if name != "agent_spawned"] == [
        *("agent_crashed", "agent_failure"),
        *("signal_parse_failure", "agent_failure"),
    ]
    failures = played.data("agent_failure")
    assert [(failure["error_type"], failure["attempt"]) for failure in failures] == [
        ("agent_crash", 1),
        ("parse_failure", 2),
    ]
    assert "broken off in the mid" in played.data("signal_parse_failure")[0]["raw_output_sample"]
    again = f"{played.told(1)}\n\nThis is a new start of the same task. The last attempt "
    assert played.told(2).startswith(f"{again}was killed by signal 9: out of memory? and changed no file.")
    assert played.told(3).startswith(f"{again}ended with a signal line that cannot be used")
    assert played.data("attempt_ended")[-1]["report"]["phase"] == "writing"
    assert not played.data("directive_issued")
    assert played.file("docs/terms.md") == "# Terms\n"


def test_unheard_of_error(stage: Stage) -> None:
    """An unknown failure is tried once more, then a pivot starts afresh, also with an empty memory."""
    played = stage.play("unheard-of-error")
    assert played.path == ["first", "failed", "retry", "failed", "restored", "pivot", "passed", "succeeded"]
    assert {check["diagnosis"]["failure_type"] for check in played.data("check_finished")[:2]} == {"UNKNOWN"}
    (pivot,) = [directive for directive in played.data("directive_issued") if directive["level"] == "pivot"]
    assert pivot["reason"] == "from built_in"
    assert f"Approach: {pivot['approach']}" in played.told(3)
    assert "so that the new approach starts clean (files: 1).\n- changed back shop/paint.txt" in played.told(3)
    assert played.file("shop/paint.txt") == "green\n"
    assert played.file("shop/blue.txt") == "blue\n"


def test_nobody_to_ask(stage: Stage) -> None:
    """Unrecoverable: the run is halted with its reason and the published message; what is known is kept."""
    played = stage.play("nobody-to-ask")
    assert played.code == 4
    assert played.path == ["first", "failed", "retry", "failed"]
    (failed,) = played.data("workflow_failed")
    assert failed["reason"] == "task_limit_exceeded"
    assert failed["last_state"] == "undecided"
    assert failed["details"].startswith("Error: nobody has signed this")
    message = failed["message"].splitlines()
    assert message[0] == "WORKFLOW FAILED - TASK_LIMIT_EXCEEDED"
    assert message[-2:] == ["Review event log for failure history.", "Human intervention required to proceed."]
    for line in message[4:6]:
        assert Path(line.partition(": ")[2]).exists()
    assert not played.data("gate_opened")
    assert "Problem: Error: nobody has signed this" in played.told(2)
    assert not (played.directory / "shop" / "certificate.txt").exists()


def test_says_done_and_is_not(stage: Stage) -> None:
    """The agent's word is not taken for it: the check decides."""
    played = stage.play("says-done-and-is-not")
    assert played.path == ["first", "failed", "retry", "passed", "succeeded"]
    assert played.data("attempt_ended")[0]["report"]["signal"] == "complete"


def test_the_whole_ladder_is_climbed_before_a_person_is_asked(stage: Stage, tmp_path: Path) -> None:
    """Three retries, three pivots, two rounds of research, then the question; in a scenario that I wrote myself."""
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(OF_MY_OWN, encoding="utf-8")
    played = stage.play(str(scenario), {"gate": "stuck", "answer": "show-me", "text": "write that it is right"})
    assert played.path == [*FULL_LADDER, "answer show_me", "human", "passed", "succeeded"]
    assert "write that it is right" in played.told(10)
    assert played.file("answer.txt") == "right"


def test_truly_stuck_asks_after_every_rung(stage: Stage) -> None:
    """Neither a pivot nor research helps, so there is the question; a person's way solves it."""
    stage.limits(max_retries=0, max_pivots=1, max_research=1)
    played = stage.play("truly-stuck", {"gate": "stuck", "answer": "show-me", "text": "sign with: endpoint secret"})
    path = ["first", "failed", "restored", "pivot", "failed", "researched", "research", "failed", "gate stuck"]
    assert played.path == [*path, "answer show_me", "human", "passed", "succeeded"]
    assert "sign with: endpoint secret" in played.told(4)
    assert 'SECRET = b"endpoint secret"' in played.file("shop/webhook.py")


def test_floods_the_screen(stage: Stage) -> None:
    """A million lines full of escape sequences end in a file of the size that I have set, and the work is done."""
    stage.set("OUTPUT_LIMIT", 2**20)
    played = stage.play("floods-the-screen")
    assert played.path == ["first", "passed", "succeeded"]
    (output,) = (played.directory / "shop" / ".git" / "unstuck" / "runs").glob("*/output/*.1.log")
    assert 2**19 < output.stat().st_size < 2**20 + 1_000
    assert b"line 0 of 1000000" in output.read_bytes()[:100]
    assert not any("\x1b" in str(row) or "\u202e" in str(row) for row in played.rows)


def test_stubborn_child(stage: Stage) -> None:
    """A process that was left behind and ignores being asked to end is ended, and named in the receipt."""
    played = stage.play("stubborn-child")
    assert played.path == ["first", "passed", "succeeded"]
    receipt = played.data("attempt_ended")[0]["report"]["receipt"]
    killed = [pid for pid, _, how in receipt["ended"] if how == "killed"]
    assert len(killed) == 1
    assert not psutil.pid_exists(killed[0])


def test_its_check_is_found_by_whoever_goes_on_later(tmp_path: Path) -> None:
    """The plan names our Python by its whole path if a shell would not find it."""
    for path, python in (("/nowhere", shlex.quote(sys.executable)), (str(Path(sys.executable).parent), "python")):
        rehearsal = Rehearsal.prepare(
            [Part("cart", load_scenario("fixed-on-a-retry"))], tmp_path / python.strip("/"), environ={"PATH": path}
        )
        (task,) = yaml.safe_load(rehearsal.plan.read_text(encoding="utf-8"))["tasks"]
        assert task["check"].startswith(f"{python}")
        assert task["check"].endswith(" -m pytest -q tests/test_cart.py")


@pytest.mark.parametrize(("other", "code"), [("fixed-on-a-retry", 0), ("needs-a-decision", 3)])
def test_the_end_of_a_demo_offers_nothing_to_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, code: int
) -> None:
    """Started outside a project, a demo ends without a branch for git merge, whether it stays or is removed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    options = ("--scenario", "succeeds-at-once", "--scenario", other, "--headless", "--speed", "20")
    done = subprocess.run(
        [sys.executable, "-m", "unstuck", "demo", *options],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "  integrated " in done.stdout
    end = done.stdout[done.stdout.index("\nrun ") :]
    assert ("run these commands there" in end) == (code == 3)
    assert "merge" not in end


def test_the_list_of_scenarios_for_programs() -> None:
    """``demo --list --json`` has the same scenarios as ``demo --list``, one object a line."""
    told = CliRunner().invoke(cli, ["demo", "--list"]).stdout.splitlines()
    rows = [json.loads(line) for line in CliRunner().invoke(cli, ["demo", "--list", "--json"]).stdout.splitlines()]
    assert [[row["scenario"], row["about"]] for row in rows] == [line.split(maxsplit=1) for line in told[1:]]
    assert "hangs-silently" in [row["scenario"] for row in rows]
