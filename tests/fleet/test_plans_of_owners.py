"""Plans for many machines without a server: what is written, trusted, refused, and what travels."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Inside

from unstuck.errors import UsageError
from unstuck.fleet.nats.keys import Credentials, Pass, admitted, new_seed, public_key
from unstuck.fleet.shared_plan.entries import (
    AgentEntry,
    ClaimEntry,
    Files,
    OfferEntry,
    PlanEntry,
    WorkEntry,
    parts,
    subject,
)
from unstuck.fleet.shared_plan.host import Claim
from unstuck.fleet.shared_plan.owner import lacking
from unstuck.fleet.shared_plan.plan_table import Entry, PlanTable
from unstuck.fleet.shared_plan.small_run import SmallRun
from unstuck.fleet.shared_plan.transport import remote_of
from unstuck.fleet.shared_plan.trust import Trust
from unstuck.runs.plans.plan import Plan
from unstuck.runs.plans.plan_file import load_plan

COMMIT = Files(commit="0" * 40)


def test_a_task_with_dots_has_a_subject_of_its_own() -> None:
    """Names come back from a subject as they were; other subjects and names that leave a folder do not."""
    assert parts(subject("work", "anna", "20270115-080000-abc", "web.1")) == (
        "work",
        ("anna", "20270115-080000-abc", "web.1"),
    )
    for wrong in ("unstuck.host.box1", subject("work", "anna", "plan"), subject("work", "anna", "..", "a/b")):
        with pytest.raises(ValueError, match="no entry of a shared plan"):
            parts(wrong)


@pytest.mark.parametrize("directory", ["/etc", "a/../../b", ".."])
def test_a_plan_cannot_leave_its_repository(directory: str) -> None:
    """The directory in which checks run lies below the worktree of the host."""
    with pytest.raises(ValueError, match="does not lie in the repository"):
        PlanEntry(run="r", project="p", roots="", base=COMMIT, agents=(), directory=directory)


@pytest.mark.parametrize("branch", ["main", "unstuck/../../heads/main", "--upload-pack=evil"])
def test_files_are_fetched_from_branches_of_unstuck_alone(branch: str) -> None:
    """A claim cannot name another branch, nor an option of git."""
    with pytest.raises(ValueError, match="branch"):
        Files(commit="0" * 40, branch=branch)


def test_trust_is_kept_for_a_key_and_ends_with_it(tmp_path: Path) -> None:
    """Keys are listed with what they may; anything else than a key is refused in one line."""
    trust, key = Trust({"UNSTUCK_STATE_DIR": str(tmp_path)}), public_key(new_seed())
    trust.add(key, commands=False)
    assert trust.keys() == {key: False}
    trust.add(key, commands=True)
    assert trust.keys() == {key: True}
    trust.remove(key)
    assert trust.keys() == {}
    for wrong in ("anna", key[:-1], key + "\n"):
        with pytest.raises(UsageError, match="is no key"):
            trust.add(wrong, commands=False)
    with pytest.raises(UsageError, match="is not trusted here"):
        trust.remove(key)


def test_a_small_run_has_the_hosts_command_and_the_settings_of_the_plan(tmp_path: Path) -> None:
    """Budget, results and timers stay with the owner; the file is a plan that reads as what it says."""
    agent = AgentEntry(name="fix", command=("only-on-hosts",), type="qa_engineer")
    settings = {"budget": {"tokens": 5}, "timers": {"stuck": {}}, "window_size": 4, "max_parallel": 9, "ask": "never"}
    plan = PlanEntry(
        run="r", project="p", roots="", base=COMMIT, agents=(agent,), settings=settings, setup="make\n# {yes}: no"
    )
    work = WorkEntry(
        attempt="web.1",
        agent="fix",
        prompt="a: [b\n'\"{c}\x85",
        check="true # x",
        base=COMMIT,
        start=COMMIT,
        timeout_s=9.5,
    )
    path = tmp_path / "plan.yaml"
    SmallRun(tmp_path, {}, "web.1", lambda: None).write_plan(path, plan, work, ("claude", "-p", "{prompt}"))
    found: Plan = load_plan(path, parallel_worktrees=True)
    task = found.task("web.1")
    assert found.agents["fix"].command == ("claude", "-p", "{prompt}")
    assert (task.verify, task.timeout_s, task.isolation) == ("true # x", 9.5, "worktree")
    assert dict(found.settings) == {"window_size": 4, "results": "branch", "ask": "never", "disk_wait": 10}
    assert found.setup == "make\n# {yes}: no"
    assert not found.budget


@pytest.mark.parametrize(
    ("offers", "waits"),
    [
        ([], "waits for a host: unstuck fleet work"),
        ([{"trusts": {}}], "waits for a host that trusts you: type unstuck fleet trust UME on build0"),
        (
            [{"trusts": {}}] * 3,
            "waits for a host that trusts you: type unstuck fleet trust UME on build0 or one of 2 more",
        ),
        ([{"agents": ("other",), "trusts": {"UME": False}}], "waits for the agent fix: no host offers it"),
        ([{"agents": ("other",), "trusts": {"UME": True}}], ""),
        (
            [{"labels": ("gpu",)}, {"labels": ("big",)}],
            "waits for the labels big, gpu on a host that offers the agent fix",
        ),
        ([{"drained": True}, {"labels": ()}], "waits for a host: those that could take it are drained"),
        ([{"drained": True}, {}], ""),
        ([{"trusts": None}], ""),
    ],
)
def test_a_task_says_what_it_waits_for(offers: list[dict[str, object]], waits: str) -> None:
    """The first thing that is missing, of a host, its trust, the agent, the labels, and a host that takes tasks."""
    usual = {"agents": ("fix",), "labels": ("big", "gpu"), "slots": 1, "free": 0, "trusts": {"UME": False}}
    found = {f"build{number}": OfferEntry.model_validate(usual | one) for number, one in enumerate(offers)}
    assert lacking(found, "fix", ("gpu", "big"), "UME") == waits


def test_what_a_wiped_server_has_forgotten_still_holds() -> None:
    """A host goes on with its task until the owner has written it again, and stops when that says so."""
    owner, seed = new_seed(), new_seed()
    key = Credentials(
        "box1", "host", "", "", public_key(owner), seed, admitted(owner, "box1", "host", public_key(seed))
    )
    table, names = PlanTable(key), ("anna", "20270115-080000-abc", "one")
    work = WorkEntry(attempt="one.1", agent="fix", prompt="a", base=COMMIT, start=COMMIT)
    claim = Claim(table, names, ClaimEntry(attempt="one.1", host="box1"), work, 30)
    assert claim.work() == work
    for changed in ({"stop": True}, {"attempt": "one.2"}):
        place, again = subject("work", *names), work.model_copy(update=changed)
        table.entries[place] = Entry("work", names, 7, Pass("anna", "person", ""), again, 0.0)
        assert claim.work() is None


def test_a_plan_has_labels_and_keeps_them(tmp_path: Path) -> None:
    """Labels are text or a list, and come back from the event log."""
    path = tmp_path / "plan.yaml"
    tasks = [{"id": "one", "prompt": "a", "labels": ["gpu", "big"]}, {"id": "two", "prompt": "b", "labels": "gpu"}]
    path.write_text(json.dumps({"agents": {"fix": {"command": "true"}}, "tasks": tasks}))
    plan = load_plan(path)
    assert [plan.tasks[name].labels for name in ("one", "two")] == [("gpu", "big"), ("gpu",)]
    again = Plan.from_dict(json.loads(json.dumps(plan.as_dict())))
    assert again.tasks["one"].labels == ("gpu", "big")


def test_files_go_through_the_remote_of_the_branch(repo: Path) -> None:
    """Without a remote they go in bundles; an address with a password is not passed on."""

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=repo, check=True)

    def remote(wanted: str = "") -> str:
        return asyncio.run(remote_of(repo, wanted))

    assert remote() == ""
    git("remote", "add", "upstream", "git@example.org:upstream.git")
    assert remote() == "git@example.org:upstream.git"
    git("remote", "add", "origin", "https://example.org/origin.git")
    assert remote() == "https://example.org/origin.git"
    git("config", "branch.main.remote", "upstream")
    assert remote() == "git@example.org:upstream.git"
    assert remote("bundle") == ""
    git("remote", "set-url", "origin", "https://ann:password@example.org/origin.git")
    with pytest.raises(UsageError, match="holds a password"):
        remote("origin")
    with pytest.raises(UsageError, match="no such git remote"):
        remote("nowhere")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--via", "origin", "--", "true"), "go with --fleet"),
        (("run", "--fleet", "--", "true"), "needs the key of a person"),
        (("fleet", "work", "--agent", "fix=true"), "is no host of a fleet"),
        (("fleet", "work"), "offer at least one agent"),
        (("fleet", "work", "--agent", "fix"), "no known agent"),
        (("fleet", "work", "--agent", "fix='"), "--agent: "),
        (("fleet", "trust", "anna"), "is no key"),
        (("fleet", "trust", "--remove"), "name a key"),
        (("fleet", "drain", "build1"), "needs the key of a person"),
        (("fleet", "drain", "../x"), "needs the key of a person"),
    ],
)
def test_each_command_says_in_one_line_what_is_missing(
    repo: Path, tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    """It is said what to do, and nothing has begun."""
    monkeypatch.setenv("UNSTUCK_STATE_DIR", str(tmp_path / "state"))
    code, _, errors = inside(repo, *words)
    assert code == 2
    assert said in errors
    assert len(errors.strip().splitlines()) == 1
    assert not (repo / ".git" / "unstuck" / "runs").exists()
