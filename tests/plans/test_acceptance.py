"""A plan of real tasks, real pytest as its check, in parallel work trees to its end."""

from __future__ import annotations

from tests.plans.conftest import Bench

CALC = "def add(a, b):\n    return a - b\n\n\ndef scale(a, by):\n    return None\n"
# The machine's own pytest plugins would only cost time here.
QUIET = "[pytest]\naddopts = -p no:asyncio -p no:xdist -p no:hypothesispytest -p no:timeout -p no:cacheprovider\n"
TESTS = {
    "test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "test_scale.py": "from calc import scale\n\n\ndef test_scale():\n    assert scale(2, 3) == 6\n",
    "test_report.py": "from report import report\n\n\ndef test_report():\n    assert report(2, 3) == '5 and 6'\n",
    "test_words.py": "from words import plural\n\n\ndef test_plural():\n    assert plural('test') == 'tests'\n",
    "test_all.py": "from summary import summary\n\n\ndef test_all():\n    assert summary() == '5 and 6 tests'\n",
}
PARTS = {
    "words.py": "def plural(word):\n    return word + 's'\n",
    "report.py": "from calc import add, scale\n\n\ndef report(a, b):\n    return f'{add(a, b)} and {scale(a, b)}'\n",
    "summary.py": "from report import report\nfrom words import plural\n\n\n"
    "def summary():\n    return report(2, 3) + ' ' + plural('test')\n",
}
# `add` and `words` wait for each other in a named pipe: neither gets through it alone. `add` is wrong at first.
AGENTS = {
    "add": '[ $n != 1 ] || : > "$OUT/door"; [ $n = 1 ] && sign=* || sign=+; sed -i "s/a . b/a $sign b/" calc.py',
    "words": 'if [ $n = 1 ]; then : < "$OUT/door"; fi; cp "$OUT/words.py" .',
    "scale": 'cp calc.py "$OUT/seen-by-scale.py"; sed -i "s/return None/return a * by/" calc.py',
    "report": 'cp "$OUT/report.py" .',
    "summary": 'ls > "$OUT/seen-by-summary"; cp "$OUT/summary.py" .',
}
NEEDS = {"scale": ["add"], "report": ["scale"], "summary": ["report", "words"]}
CHECKS = {name: f"pytest -q test_{name}.py" for name in AGENTS} | {"summary": "pytest -q"}


def test_five_dependent_tasks_reach_their_end_side_by_side(bench: Bench) -> None:
    """Five tasks with needs, two at a time, real pytest: all done, joined on one branch, and my own tree untouched."""
    bench.write({"calc.py": CALC, "pytest.ini": QUIET, ".gitignore": "__pycache__/\n", **TESTS})
    bench.write({"README.md": "# Mine, staged\n", "notes.txt": "mine, untracked\n"}, commit=False)
    bench.git("add", "README.md")
    state = ("status", "--porcelain"), ("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("diff", "--cached")
    before = [bench.git(*arguments) for arguments in state]
    for name, text in PARTS.items():
        (bench.outside / name).write_text(text)
    bench.pipe("door")
    plan = bench.plan(
        max_parallel=2,
        agents={name: bench.agent(name, script) for name, script in AGENTS.items()},
        tasks=[
            {"id": name, "agent": name, "prompt": f"Do {name}.", "needs": NEEDS.get(name, []), "verify": CHECKS[name]}
            for name in AGENTS
        ],
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert bench.statuses() == dict.fromkeys(AGENTS, "succeeded")

    assert [bench.attempts(name) for name in AGENTS] == [2, 1, 1, 1, 1]
    assert bench.prompt("add.1").startswith("Do add.")
    assert "assert 6 == 5" in bench.prompt("add.2")
    assert "test_add.py:5" in bench.prompt("add.2")

    assert "return a + b" in (bench.outside / "seen-by-scale.py").read_text()
    assert {"report.py", "words.py"} <= set((bench.outside / "seen-by-summary").read_text().split())

    assert bench.result("calc.py") == CALC.replace("a - b", "a + b").replace("None", "a * by")
    assert bench.results() == {"README.md", "calc.py", "pytest.ini", ".gitignore", *TESTS, *PARTS}
    assert bench.result("README.md") == "# Example\n"
    assert [bench.git(*arguments) for arguments in state] == before
    assert (bench.root / "calc.py").read_text() == CALC
    assert not bench.git("stash", "list")
