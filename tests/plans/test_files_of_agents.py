"""Files that an agent writes for itself into the tree that it works in: they are neither its work nor its results."""

from __future__ import annotations

from typing import Any

from tests.plans.conftest import Bench

HISTORY = "echo more >> .aider.chat.history.md; mkdir -p .aider.tags.cache.v4; echo $n > .aider.tags.cache.v4/cache.db"
FAILED = "echo '# 1 SEARCH/REPLACE block failed to match!'"


def plan(bench: Bench, script: str, **more: Any) -> Any:
    """One task for an agent that keeps a history as aider does."""
    tasks = [{"id": "web", "prompt": "Build it.", "verify": "test -f done.txt", **more}]
    return bench.plan(agents={"worker": bench.agent("worker", f"{HISTORY}\n{script}")}, tasks=tasks)


def test_an_attempt_that_only_wrote_its_history_changed_no_file(bench: Bench) -> None:
    """The next attempt hears that, with the last words; the history is not set back with the work."""
    script = (
        f"[ $n = 1 ] && {FAILED} && exit\ncp .aider.chat.history.md $OUT/history.$n; [ $n -lt 5 ] || touch done.txt"
    )
    done = bench.run(plan(bench, script))
    assert done.code == 0, done.out + done.err
    assert "The last attempt changed no file." in bench.prompt("web.2")
    assert "SEARCH/REPLACE block failed to match" in bench.prompt("web.2")
    assert "new approach" in done.out
    assert "aider" not in done.out
    assert (bench.outside / "history.5").read_text().count("more") == 5


def test_it_is_in_no_result_and_keeps_no_worktree(bench: Bench) -> None:
    """The task's branch has the work alone, and its worktree is removed."""
    done = bench.run(plan(bench, "touch done.txt", isolation="worktree"))
    assert done.code == 0, done.out + done.err
    assert "done.txt" in bench.results()
    assert not any("aider" in name for name in bench.results())
    assert "kept" not in done.out
    assert bench.git("worktree", "list").count("\n") == 1
