"""Honest agents that fix one thing per attempt, before checks that say what the real tools said."""

from __future__ import annotations

import pytest
from tests.compare.families import FAMILIES
from tests.compare.recording import read

COUNTS = (2, 3, 4, 5)
SEEN = tuple(family.name for family in FAMILIES if not (family.unseen or family.imports))
UNSEEN = tuple(family.name for family in FAMILIES if family.unseen and not family.imports)


def one_thing_per_attempt(bench, cases, *, whole=False):
    """Run a task for each case, (family, things to fix): its agent leaves one less. How many attempts each needed.

    ``whole``: its check is the plan's, which is known before the task.
    """
    said = bench.outside / "said"
    said.mkdir()
    for row in read():
        text = f"cat <<'END OF IT'\n{row['output']}\nEND OF IT\nexit {row['exit_code']}\n"
        (said / f"{row['family']}-{row['left']}").write_text(text, encoding="utf-8")
    names = {f"{family}-{count}": (family, count) for family, count in cases}
    bench.write({f"{name}.left": f"{count}\n" for name, (_, count) in names.items()})
    checks = {name: f"read left < {name}.left; . {said}/{family}-$left" for name, (family, _) in names.items()}
    script = 'read left < "$UNSTUCK_TASK.left"; echo $((left - 1)) > "$UNSTUCK_TASK.left"'
    tasks = [{"id": name, "prompt": "Fix it."} | ({} if whole else {"verify": checks[name]}) for name in names]
    plan = bench.plan(
        max_parallel=1,
        **({"verify": next(iter(checks.values()))} if whole else {}),
        agents={"worker": bench.agent("worker", script)},
        tasks=[task | {"isolation": "worktree" if whole else "shared"} for task in tasks],
    )
    bench.run(plan)
    statuses = bench.statuses()
    return {name: bench.attempts(name) if statuses[name] == "succeeded" else None for name in names}


def late(needed):
    """Those of which the agent needed more attempts than there were things to fix, and one."""
    return {name: tries for name, tries in needed.items() if tries is None or tries > int(name[-1]) + 1}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("families", [SEEN, UNSEEN], ids=["seen", "unseen"])
def test_nothing_that_was_fixed_is_lost(bench, families, count):
    """An agent that fixes one thing per attempt succeeds after as many attempts as things, whatever the tool."""
    assert late(one_thing_per_attempt(bench, [(family, count) for family in families])) == {}


@pytest.mark.parametrize("case", [("tsc-imports", 2), ("tsc-imports", 5), ("pytest-collection", 5)], ids=str)
def test_missing_imports_are_progress_where_the_beginning_is_known(bench, case):
    """A missing import asks for another approach, unless the plan's check said that more were missing before."""
    assert late(one_thing_per_attempt(bench, [case], whole=True)) == {}
