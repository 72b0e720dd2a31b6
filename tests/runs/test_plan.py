"""Plans: what is read, what is refused and on which line, and what follows from them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unstuck.errors import PlanError, UsageError
from unstuck.runs.plans.one_command import one_command
from unstuck.runs.plans.plan import Plan, one_task_plan
from unstuck.runs.plans.plan_file import load_plan

AGENTS = """\
agents:
  writer: {command: "writer --print {prompt}", type: backend_developer}
"""

FULL = """\
project: .
verify: pytest -q
setup: make deps
max_parallel: 3
budget: {tokens: 1000000, cost: 2.5}
remediation: fixer
unverified: accept
settings: {ask: never, failure_handler: {max_retries: 2}}
agents:
  writer:
    type: backend_developer
    command: "claude -p {prompt} --resume '{session}'"
    signals: true
    hold: step
  fixer:
    command: [python3, -m, fixer, "{prompt_file}"]
tasks:
  - id: models
    agent: writer
    prompt: |
      Write the models.
      Keep them small.
    timeout: 15m
    idle: 90
  - id: api
    agent: writer
    prompt: Write the interface.
    needs: [models]
    verify: pytest -q tests/api
    after-skip: run
    mode: direct
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a plan and give its path."""

    def write(text: str | bytes) -> Path:
        path = tmp_path / "plan.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def tasks(*rows: str, top: str = "") -> str:
    """A plan of one agent and these tasks, each a flow mapping's inside; the first task stands on line 4."""
    return AGENTS + "tasks:\n" + "".join(f"  - {{prompt: work, {row}}}\n" for row in rows) + top


def refusal(path: Path, **options: bool) -> PlanError:
    """The error that reading this plan ends with."""
    with pytest.raises(PlanError) as caught:
        load_plan(path, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    return caught.value


def test_full_plan(write: Callable[[str | bytes], Path]) -> None:
    """Everything that a plan may say is there after reading it."""
    path = write(FULL)
    plan = load_plan(path)
    assert plan.project == path.parent.resolve()
    assert plan.verify == "pytest -q"
    assert plan.setup == "make deps"
    assert plan.max_parallel == 3
    assert plan.remediation == "fixer"
    assert plan.unverified == "accept"
    assert dict(plan.budget) == {"tokens": 1000000, "cost": 2.5}
    assert dict(plan.settings) == {"ask": "never", "failure_handler": {"max_retries": 2}}
    writer, fixer = plan.agents["writer"], plan.agents["fixer"]
    assert writer.command == ("claude", "-p", "{prompt}", "--resume", "{session}")
    assert writer.type == "backend_developer"
    assert writer.signals is True
    assert writer.hold == "step"
    assert fixer.command == ("python3", "-m", "fixer", "{prompt_file}")
    assert fixer.type == "default"
    assert fixer.signals is False
    assert fixer.hold is None
    models, api = plan.tasks["models"], plan.tasks["api"]
    assert models.task.prompt == "Write the models.\nKeep them small.\n"
    assert models.task.timeout_s == 900.0
    assert models.task.idle_s == 90.0
    assert models.task.agent == "writer"
    assert models.task.agent_type == "backend_developer"
    assert api.after_skip == "run"
    assert api.mode == "direct"
    assert api.task.needs == ("models",)
    assert models.after_skip == "block"
    assert models.mode == "orchestrated"
    assert models.task.needs == ()


def test_shared_and_own_check(write: Callable[[str | bytes], Path]) -> None:
    """A task without a check is checked by the plan's, and it stays known whose check it is."""
    plan = load_plan(write(FULL))
    assert plan.task("models").verify == "pytest -q"
    assert plan.tasks["models"].own_verify is False
    assert plan.task("api").verify == "pytest -q tests/api"
    assert plan.tasks["api"].own_verify is True


def test_survives_the_log(write: Callable[[str | bytes], Path]) -> None:
    """A plan that went through the log as JSON is the same plan."""
    plan = load_plan(write(FULL), parallel_worktrees=True)
    assert Plan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    assert Plan.from_dict(json.loads(json.dumps(one_task_plan(one_command(["x"])).as_dict()))).tasks.keys() == {"task"}


def test_order(write: Callable[[str | bytes], Path]) -> None:
    """Tasks come after what they need and otherwise as they were written."""
    plan = load_plan(write(tasks("id: d, needs: [b, c]", "id: b, needs: [a]", "id: a", "id: c, needs: [a]", "id: e")))
    assert plan.order() == ("a", "b", "c", "d", "e")


def test_long_chain(write: Callable[[str | bytes], Path]) -> None:
    """A thousand tasks in a row, written backwards, are no problem."""
    rows = ["id: t0"] + [f"id: t{n}, needs: [t{n - 1}]" for n in range(1, 1000)]
    assert load_plan(write(tasks(*reversed(rows)))).order() == tuple(f"t{n}" for n in range(1000))


def test_merge_and_alias(write: Callable[[str | bytes], Path]) -> None:
    """Repeated settings may be shared by an anchor, and what a task says itself wins."""
    text = AGENTS + (
        "tasks:\n"
        "  - &base {id: a, prompt: work, timeout: 10m, mode: direct}\n"
        "  - {<<: *base, id: b, timeout: 20m}\n"
        "  - {<<: [{mode: orchestrated}, *base], id: c}\n"
    )
    plan = load_plan(write(text))
    assert [(p.task.timeout_s, p.mode) for p in plan.tasks.values()] == [
        (600.0, "direct"),
        (1200.0, "direct"),
        (600.0, "orchestrated"),
    ]


def test_prompt_is_admitted(write: Callable[[str | bytes], Path]) -> None:
    """A terminal escape in a prompt reaches neither an agent nor a screen."""
    plan = load_plan(write(AGENTS + 'tasks:\n  - {id: a, prompt: "go\\e]0;title\\a on"}\n'))
    assert "\x1b" not in plan.task("a").prompt
    assert "\x07" not in plan.task("a").prompt
    assert plan.task("a").prompt.startswith("go")


WRONG = [
    (AGENTS + "task: []\n", 3, "did you mean `tasks`"),
    (AGENTS + "tasks: []\n", 3, "no tasks"),
    (AGENTS, 1, "no tasks"),
    (AGENTS + "tasks: {a: b}\n", 3, "must be a list"),
    ("tasks:\n  - {id: a, prompt: work}\n", 1, "needs `agents`"),
    ("- a\n", 1, "must be a mapping"),
    (AGENTS + "tasks:\n  - id: a\n    promt: x\n", 5, "unknown key `promt` in a task (did you mean `prompt`?)"),
    (AGENTS + "tasks:\n  - just do it\n", 4, "a task must be a mapping, not text"),
    (tasks("id: a", "id: b, verify: true"), 5, "`verify` must be text, not true or false; put it in quotes"),
    (tasks("id: a, verify: [x]"), 4, "`verify` must be text, not a list"),
    (tasks('id: a, verify: "  "'), 4, "`verify` is blank"),
    (tasks('id: a, verify: "ls\\u202e"'), 4, "invisible"),
    (tasks("agent: writer"), 4, "a task needs `id`"),
    (tasks("id: 1"), 4, "must be text, not a number"),
    (tasks("id: a", "id: b", "id: a"), 6, "`a` is there twice"),
    (tasks("id: a, needs: [b]"), 4, "unknown task: `b`"),
    (tasks("id: server, needs: [a]", "id: a, needs: [serve]"), 5, "did you mean `server`"),
    (tasks("id: a, needs: b"), 4, "`needs` must be a list"),
    (tasks("id: a, agent: writter"), 4, "unknown agent `writter` (did you mean `writer`?)"),
    (tasks("id: a, timeout: soon"), 4, "`timeout`"),
    (tasks("id: a, timeout: 0"), 4, "`timeout`"),
    (tasks("id: a, idle: [1]"), 4, "`idle`"),
    (tasks("id: a, mode: quick"), 4, "allowed are orchestrated, direct"),
    (tasks("id: a, after_skip: stop"), 4, "allowed are block, run, skip"),
    (tasks("id: a, isolation: both"), 4, "allowed are shared, worktree"),
    (tasks("id: a", "id: b", "prompt: again, id: c"), 6, "`prompt` is given twice"),
    (tasks("id: a", top="max_parallel: 0\n"), 5, "whole number from 1"),
    (tasks("id: a", top="remediation: medic\n"), 5, "unknown agent `medic`"),
    (tasks("id: a", top="unverified: maybe\n"), 5, "allowed are reject, accept"),
    (tasks("id: a", top="budget: 5\n"), 5, "`budget` must be a mapping"),
    (
        tasks("id: a", top="budget: {euros: 5}\n"),
        5,
        "`budget`: euros: unknown key; allowed are attempt_cost, attempt_tokens, cost, task_cost",
    ),
    (tasks("id: a", top="budget: {time: soon}\n"), 5, "`budget`: time: must be a duration"),
    (tasks("id: a", top="budget: {cost: .nan}\n"), 5, "a number that is none"),
    (tasks("id: a", top="project: no/such/place\n"), 5, "no such directory: no/such/place"),
    (tasks("id: a", top="? [x]\n: y\n"), 5, "must be text, not a list"),
    ("agents: {a: {}}\ntasks: [{id: x, prompt: p}]\n", 1, "agent `a` needs `command`"),
    ("agents: {a: {command: []}}\ntasks: [{id: x, prompt: p}]\n", 1, "agent `a` has no command"),
    ("agents: {a: {command: [run, 5]}}\ntasks: [{id: x, prompt: p}]\n", 1, "list of texts"),
    ('agents: {a: {command: "say \'hi"}}\ntasks: [{id: x, prompt: p}]\n', 1, "no closing quotation"),
    ("agents: {a: {command: x, signals: 1}}\ntasks: [{id: x, prompt: p}]\n", 1, "`signals` must be true or false"),
    ("agents: {a: {command: x, hold: tight}}\ntasks: [{id: x, prompt: p}]\n", 1, "allowed are step, freeze, none"),
    ("agents: {../a: {command: x}}\ntasks: [{id: x, prompt: p}]\n", 1, "an agent's name"),
    ("agents: {a: {command: x}, b: {command: y}}\ntasks: [{id: x, prompt: p}]\n", 2, "task `x` needs `agent`"),
    ("agents:\n  a: {command: x\ntasks: []\n", 3, "not YAML"),
    ("a: b\n---\nc: d\n", 2, "not YAML"),
    ("a: 1\nb: \x07\n", 2, "not YAML: a control character"),
    ("a: 1\nb: *nobody\n", 2, "not YAML"),
    ('a: "\\UFFFFFFFF"\n', 0, "an escape names no character"),
    (tasks("id: a", top="budget: !!python/object/apply:os.system {tokens: 1}\ntask: 1\n"), 6, "unknown key"),
    (tasks("id: !!str [a]"), 4, "must be text, not a list"),
    (tasks("id: a", top="max_parallel: !!int [1]\n"), 5, "whole number"),
    (tasks("id: a", top='budget: {cost: !!int "2020-13-45"}\n'), 5, "a number that is none"),
    (tasks("id: a", top="settings: {x: 0x_}\n"), 5, "a number that is none"),
    ("", 0, "is empty"),
    ("# nothing\n", 0, "is empty"),
]


@pytest.mark.parametrize(("text", "line", "problem"), WRONG)
def test_wrong_plan(write: Callable[[str | bytes], Path], text: str, line: int, problem: str) -> None:
    """A wrong plan is refused with its line and with what is wrong there."""
    error = refusal(write(text))
    assert problem in error.problem
    assert error.line == line
    assert error.exit_code == 2


@pytest.mark.parametrize("id", ["-a", ".a", "a/b", "a..b", "a.lock", "a.", "a b", "ä", "a" * 65, "a\\n"])
def test_wrong_id(write: Callable[[str | bytes], Path], id: str) -> None:
    """An id that could not name a branch or a directory is refused."""
    assert "a task's id has" in refusal(write(tasks(f'id: "{id}"'))).problem


@pytest.mark.parametrize("id", ["a", "A1", "web-1", "a_b.c", "9", "a" * 64, "lock", "a.locked"])
def test_good_id(write: Callable[[str | bytes], Path], id: str) -> None:
    """Ordinary names are taken as they are."""
    assert load_plan(write(tasks(f'id: "{id}"'))).order() == (id,)


def test_cycle_named(write: Callable[[str | bytes], Path]) -> None:
    """A cycle is named task by task, without the tasks that only lead to it."""
    rows = ("id: free", "id: x, needs: [a]", "id: a, needs: [free, b]", "id: b, needs: [c]", "id: c, needs: [a]")
    error = refusal(write(tasks(*rows)))
    assert error.problem == "these tasks wait for each other: a -> b -> c -> a"
    assert error.line == 6
    assert "a -> a" in refusal(write(tasks("id: a, needs: [a]"))).problem


def test_first_problem_and_count(write: Callable[[str | bytes], Path]) -> None:
    """Of several problems the first in the file is told, and how many more there are."""
    error = refusal(write(tasks("id: a, mode: x", "id: b, idle: x", "id: c, needs: [q]")))
    assert error.line == 4
    assert error.problem.endswith("(and 2 more)")


def test_unreadable_files(tmp_path: Path, write: Callable[[str | bytes], Path]) -> None:
    """A file that is no plan is refused in one line, and nothing hangs."""
    assert "No such file" in refusal(tmp_path / "missing.yaml").problem
    assert "is a directory" in refusal(tmp_path).problem
    assert "larger than 1 MiB" in refusal(write(b"#" * (2**20 + 1))).problem
    error = refusal(write(b"a: b\nc: \xff\n"))
    assert error.line == 2
    assert error.problem == "is not UTF-8 text"
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe").problem


def test_bombs(write: Callable[[str | bytes], Path]) -> None:
    """Aliases that unfold without end, or contain themselves, and endless nesting are refused."""
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "unfold" in refusal(write("\n".join(layers))).problem
    merges = ["a0: &a0 {x: y}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 31))]
    assert "unfold" in refusal(write("\n".join(merges))).problem
    assert "contains itself" in refusal(write("a: &a [*a]\n")).problem
    assert "nested too deeply" in refusal(write("[" * 40 + "]" * 40)).problem
    assert "nested too deeply" in refusal(write("[\n" * 5_000)).problem


def isolation(plan: Plan) -> dict[str, str]:
    """The isolation of every task."""
    return {id: plan.task(id).isolation for id in plan.tasks}


def test_parallel_tasks_get_worktrees(write: Callable[[str | bytes], Path]) -> None:
    """Two tasks that may run at once in a repository get a worktree each."""
    path = write(tasks("id: a", "id: b", "id: c, needs: [a, b]"))
    assert set(isolation(load_plan(path, parallel_worktrees=True)).values()) == {"worktree"}
    assert set(isolation(load_plan(path)).values()) == {"shared"}


@pytest.mark.parametrize(
    ("rows", "top"),
    [
        (("id: a", "id: b, needs: [a]", "id: c, needs: [b]"), ""),
        (("id: a", "id: b"), "max_parallel: 1\n"),
        (("id: a",), ""),
    ],
)
def test_sequential_tasks_share(write: Callable[[str | bytes], Path], rows: tuple[str, ...], top: str) -> None:
    """Tasks that cannot run at once all work in the user's own files."""
    assert set(isolation(load_plan(write(tasks(*rows, top=top)), parallel_worktrees=True)).values()) == {"shared"}


def test_written_isolation(write: Callable[[str | bytes], Path]) -> None:
    """The plan's word on isolation holds; a task that needs a worktree's work follows it there."""
    plan = load_plan(write(tasks("id: a, isolation: worktree", "id: b, needs: [a]", "id: c")))
    assert isolation(plan) == {"a": "worktree", "b": "worktree", "c": "shared"}
    path = write(tasks("id: a", "id: b, isolation: shared"))
    assert isolation(load_plan(path, parallel_worktrees=True)) == {"a": "worktree", "b": "shared"}


def test_shared_task_cannot_need_a_worktree(write: Callable[[str | bytes], Path]) -> None:
    """A task in the user's tree would not see the work of one in a worktree, so the plan is refused."""
    error = refusal(write(tasks("id: a", "id: b", "id: c, needs: [a], isolation: shared")), parallel_worktrees=True)
    assert error.line == 6
    assert "`c` is shared but needs `a`" in error.problem


def test_one_command() -> None:
    """One command on the command line is a plan of one task."""
    options = {"task": "Fix it", "verify": "pytest -q", "agent_type": "qa_engineer", "timeout": "10m"}
    plan = one_task_plan(one_command(["/opt/bin/claude", "-p", "{prompt}"], **options))
    task = plan.task("task")
    assert task.prompt == "Fix it"
    assert task.verify == "pytest -q"
    assert task.agent_type == "qa_engineer"
    assert task.timeout_s == 600.0
    assert plan.agents[task.agent].command == ("/opt/bin/claude", "-p", "{prompt}")
    assert task.agent == "claude"
    assert plan.tasks["task"].own_verify is True


def test_one_command_wrong() -> None:
    """No command, or a duration that is none, is wrong usage."""
    with pytest.raises(UsageError, match="no command"):
        one_command([])
    with pytest.raises(UsageError, match="--timeout"):
        one_command(["x"], timeout="soon")
    assert one_command(["./…"]).agent == "agent"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="abc:-[]{}&*!|>\"'\n #<,0.", max_size=120).map(lambda text: (AGENTS + text).encode()),
    )
)
def test_any_bytes(write: Callable[[str | bytes], Path], raw: bytes) -> None:
    """Whatever the file holds, it is a plan or a plan error of one clean line: never anything else."""
    try:
        plan = load_plan(write(raw))
    except PlanError as error:
        kept = str(error)
    else:
        kept = " ".join(plan.order())
    assert kept.isprintable()
