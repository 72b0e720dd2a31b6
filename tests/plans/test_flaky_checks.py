"""A check that fails and then passes without a change: the test is named, and counted over the runs of a project."""

from __future__ import annotations

import json

from tests.plans.conftest import Bench

# Fails without the work, and then at every odd look, as a test does that depends on the time or on another test.
FLAKY = (
    "test -e done.$SEEN || exit 1; n=$(($(cat $OUT/looks 2>/dev/null || echo 0) + 1)); echo $n > $OUT/looks; "
    "if [ $((n % 2)) = 1 ]; then cat $OUT/failing.txt; exit 1; fi; echo '2 passed in 0.01s'"
)
FAILING = """=================================== FAILURES ===================================
__________________________________ test_clock __________________________________

    def test_clock():
>       assert now() == 3
E       assert 4 == 3

test_time.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_time.py::test_clock - assert 4 == 3
1 failed, 1 passed in 0.02s
"""


def test_a_flaky_test_is_named_and_counted(bench: Bench) -> None:
    """It is no silent pass and not the agent's failure: one attempt, the test's name, and how often it was so."""
    (bench.outside / "failing.txt").write_text(FAILING, encoding="utf-8")
    for seen in (1, 2):
        check = FLAKY.replace("$OUT", str(bench.outside)).replace("$SEEN", str(seen))
        path = bench.plan(
            agents={"worker": bench.agent("worker", f"touch done.{seen}")},
            tasks=[{"id": "web", "agent": "worker", "prompt": "Do it.", "verify": check}],
        )
        done = bench.run(path)
        assert done.code == 0, done.out + done.err
        assert bench.attempts("web") == 1
        (flaked,) = bench.events("check_flaked")
        assert "test_clock" in flaked["data"]["test"]
        assert flaked["data"]["seen"] == seen
        assert "~ flaky: " in done.out
    assert "(2 times in this project)" in done.out
    assert "test_clock failed, then passed" in bench.call("show").out
    rows = [json.loads(line) for line in bench.call("memory", "list", "--kind", "flaky", "--json").out.splitlines()]
    assert len(rows) == 2
    assert "test_clock" in rows[0]["approach"]
