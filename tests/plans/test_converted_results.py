"""The delivered files equal those that the check saw, also behind git filters."""

from __future__ import annotations

import pytest

# Name, attributes, settings, what lies on disk.
KINDS = {
    "crypt": (
        "*.d filter=crypt",
        {"clean": "tr a-mn-z n-za-m", "smudge": "tr n-za-m a-mn-z", "required": "true"},
        b"real content\n",
    ),
    "armoured": ("*.d filter=armour", {"clean": "sed s/^/+/", "smudge": "sed s/^+//"}, b"real content\n"),
    "line ends": ("*.d text eol=crlf", {}, b"real content\r\n"),
    "keywords": ("*.d ident", {}, b"real content $Id$\n"),
    "encoded": ("*.d working-tree-encoding=UTF-16LE", {}, "real content ä\n".encode("utf-16-le")),
}
# The file that is checked out last waits for the next second: git then looks at the content of the others no more.
LATE = "sh -c 'now=$(date +%s); until [ $(date +%s) != $now ]; do sleep 0.02; done; cat'"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isolation", ["worktree", "shared"])
def test_it_arrives_as_the_check_saw_it(bench, kind, isolation):
    """A file that one attempt spoils and a pivot sets back is in my tree and on my branch as it was; so a new one."""
    attributes, driver, content = KINDS[kind]
    name = attributes.partition("filter=")[2]
    for key, value in driver.items():
        bench.git("config", f"filter.{name}.{key}", value)
    bench.git("config", "filter.late.smudge", LATE)
    bench.write({".gitattributes": f"{attributes}\nzz filter=late\n", "zz": ""})
    (bench.root / "a.d").write_bytes(content)
    bench.git("add", "-A")
    bench.git("commit", "-q", "-m", "Converted")
    for file in ("a.d", "zz"):
        (bench.root / file).unlink()
    bench.git("checkout", "a.d", "zz")
    on_disk, kept = (bench.root / "a.d").read_bytes(), bench.git("rev-parse", "HEAD:a.d")
    script = 'cp a.d "$OUT/began.$n"; echo agent > a.d; [ $n = 1 ] || cp "$OUT/began.$n" new.d\n'
    script += '[ $n = 1 ] || { cp "$OUT/began.$n" a.d; echo right > work.txt; }'
    plan = bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[
            {
                "id": "web",
                "prompt": "x",
                "isolation": isolation,
                "verify": f"grep -q right work.txt && cp a.d {bench.outside}/seen && cp new.d {bench.outside}/seen.new",
            }
        ],
        settings={"results": "merge", "failure_handler": {"max_retries": 0, "max_pivots": 1, "max_research": 0}},
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    seen, new = (bench.outside / "seen").read_bytes(), (bench.outside / "seen.new").read_bytes()
    assert (bench.outside / "began.2").read_bytes() == on_disk == seen == new
    assert (bench.root / "a.d").read_bytes() == seen
    assert (bench.root / "new.d").read_bytes() == new
    if isolation == "worktree":
        assert bench.git("rev-parse", "main:a.d", "main:new.d").split() == [kept.strip()] * 2
        assert bench.git("status", "--porcelain") == ""


def test_outputs_that_no_commit_holds_are_saved_before_a_result_goes_over_them(bench):
    """A notebook of mine with outputs that a filter keeps out of commits comes back from a checkpoint of the run."""
    bench.git("config", "filter.nb.clean", "sed /^out:/d")
    bench.write({".gitattributes": "*.nb filter=nb\n", "a.nb": "code\nout: 14 hours\n"})
    assert bench.git("status", "--porcelain") == ""
    task = {"id": "web", "prompt": "x", "isolation": "worktree", "verify": "grep -q better a.nb"}
    plan = bench.plan(
        agents={"worker": bench.agent("worker", "echo better code > a.nb")}, tasks=[task], settings={"results": "merge"}
    )
    done = bench.run(plan)
    assert done.code == 0, done.out + done.err
    assert (bench.root / "a.nb").read_text() == "better code\n"
    (saved,) = [row for row in bench.call("checkpoints", "list").out.splitlines() if "before the results" in row]
    id = saved.split()[0]
    assert bench.call("checkpoints", "restore", id, "--file", "a.nb", "--yes").code == 0
    assert (bench.root / "a.nb").read_text() == "code\nout: 14 hours\n"
