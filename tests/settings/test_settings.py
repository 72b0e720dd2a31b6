"""Sources of settings, their precedence, and the errors about wrong ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from unstuck.errors import SettingsError
from unstuck.settings.effective import ignored_values
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.models import DEFAULT_TIMEOUTS, Settings
from unstuck.settings.regex import matches

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the settings of a project that was made from the texts given for its files."""

    def make(
        *,
        user: str | None = None,
        shared: str | None = None,
        own: str | None = None,
        environ: Mapping[str, str] | None = None,
        **flags: Any,
    ) -> Settings:
        files = {"user.yaml": user, ".claude/config.yaml": shared, "unstuck.yaml": own}
        for name, text in files.items():
            if text is not None:
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text(text, encoding="utf-8")
        return load_settings(tmp_path, user_file=tmp_path / "user.yaml", environ=environ or {}, overrides=flags)

    return make


def refused(load: Load, **sources: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(**sources)
    assert str(caught.value).isprintable()
    return caught.value


def test_nothing_set_means_the_documented_defaults(load: Load) -> None:
    """A project without any file has the numbers that the documentation names."""
    settings = load()
    assert settings == Settings()
    handler = settings.failure_handler
    assert handler.max_retries == 3
    assert handler.max_pivots == 3
    assert handler.max_research == 2
    assert handler.max_attempts == 20
    assert settings.task_failure_limit == 3
    assert settings.remediation_attempts == 3
    assert settings.hold_limit == 3
    assert settings.agent_timeout == 900
    assert settings.idle_timeout == 300
    assert settings.verify_timeout == 600
    assert settings.window_size == 3
    assert settings.max_parallel == 2
    assert settings.check_interval == 10
    assert settings.ask == "always"
    assert settings.unverified == "reject"
    assert settings.language == "en"
    assert settings.output_limit == 16 * 1024 * 1024
    assert settings.prompt_limit == 100_000


def test_the_seeds_configuration_file_works_as_written(load: Load) -> None:
    """The documented `.claude/config.yaml` is read, and what else stands in it belongs to others."""
    settings = load(
        shared="""
model: something-else
failure_handler:
  max_retries: 3
  max_pivots: 3
  max_research: 2

  # Skip directly to ask for certain errors
  skip_to_ask:
    - "EACCES"  # Permission denied
    - "ENOENT"  # File not found (critical path)

  # Auto-answer common stuck scenarios
  auto_resolve:
    - pattern: "node_modules missing"
      action: "run npm install"
"""
    )
    assert settings.failure_handler.skip_to_ask == ("EACCES", "ENOENT")
    (rule,) = settings.failure_handler.auto_resolve
    assert rule.pattern == "node_modules missing"
    assert rule.action == "run npm install"


def test_each_source_goes_over_the_one_before(load: Load) -> None:
    """Defaults < user file < shared file < project file < environment < flags, key by key."""
    files = {
        "user": "failure_handler: {max_retries: 1, max_pivots: 1, max_research: 1}\nidle_timeout: 1m\nwindow_size: 5",
        "shared": "failure_handler: {max_retries: 2, max_pivots: 2}",
        "own": "failure_handler: {max_retries: 4}\nagent_timeout: 20m\nmax_parallel: 1",
    }
    environ = {"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "5", "UNSTUCK_AGENT_TIMEOUT": "30m", "HOME": "/"}
    settings = load(**files, environ=environ, agent_timeout="40m", max_parallel=None)
    handler = settings.failure_handler
    assert handler.max_retries == 5
    assert handler.max_pivots == 2
    assert handler.max_research == 1
    assert handler.max_attempts == 20
    assert settings.agent_timeout == 2_400
    assert settings.idle_timeout == 60
    assert settings.window_size == 5
    assert settings.max_parallel == 1


def test_overrides_may_be_dotted(load: Load) -> None:
    """A flag for a nested setting needs no mapping."""
    settings = load(**{"failure_handler.max_pivots": 0, "timeouts.qa-engineer": "1m"})
    assert settings.failure_handler.max_pivots == 0
    assert settings.failure_handler.max_retries == 3
    assert settings.timeout_for("qa_engineer") == 60


def test_limits_are_by_type_of_agent(load: Load) -> None:
    """Each type has its default, may be overridden or added, and every other type gets the fallback."""
    settings = load(own="timeouts:\n  qa-engineer: 15m\n  data_scientist: 1h\nagent_timeout: 7m")
    assert settings.timeout_for("qa_engineer") == settings.timeout_for("qa-engineer") == 900
    assert settings.timeout_for("data_scientist") == 3_600
    assert settings.timeout_for("orchestrator") == DEFAULT_TIMEOUTS["orchestrator"] == 1_800
    assert settings.timeout_for("anything") == 420


def test_hyphens_and_underscores_are_the_same(load: Load) -> None:
    """A key may be written as on the command line; both spellings at once are a mistake."""
    assert load(own="agent-timeout: 5\nfailure-handler: {max-retries: 1}").failure_handler.max_retries == 1
    assert refused(load, own="agent-timeout: 5\nagent_timeout: 6").problem == "is given twice"


def test_lists_and_empty_sections(load: Load) -> None:
    """A section whose lines are all commented out means the defaults; a variable may hold a list."""
    settings = load(
        own="failure_handler:\n  # max_retries: 1\ntimeouts:\n",
        environ={"UNSTUCK_FAILURE_HANDLER__SKIP_TO_ASK": '["EACCES", ENOENT]', "UNSTUCK_IDLE_TIMEOUT": ""},
    )
    assert settings.failure_handler.skip_to_ask == ("EACCES", "ENOENT")
    assert settings.idle_timeout == 300


def test_what_the_supervisor_tells_its_agents_is_no_setting(load: Load) -> None:
    """A supervisor that is started inside a supervised agent is not confused by its variables."""
    names = ("TASK", "ATTEMPT", "PROMPT_FILE", "STATE_DIR", "RUNTIME_DIR", "SOCKET", "PROCESS")
    assert load(environ={f"UNSTUCK_{name}": "x" for name in names}) == Settings()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("unverified", "unverified: accept"),
        ("ask", "ask: never"),
        ("check_policy", "check_policy: {baseline: 0}"),
        ("results", "results: merge"),
        ("timers", "timers: {timeout: {after: 1s, answer: extend, number: 15m}}"),
        ("prompts.human", "prompts: {human: 'A person says: {answer}'}"),
    ],
)
def test_a_file_of_the_project_cannot_say_what_is_done_or_what_a_person_said(load: Load, key: str, text: str) -> None:
    """An agent can edit it: what counts as success, and my words, are for my own settings and for plans."""
    error = refused(load, own=text)
    assert error.key == key
    assert "an agent can edit" in error.problem
    load(user=text, own="")


RULE = "failure_handler:\n  auto_resolve:\n    - {pattern: p, action: run it}"


def test_only_what_the_user_alone_can_write_is_trusted(load: Load, tmp_path: Path) -> None:
    """An agent that edits a file of the repository cannot make the supervisor run a command."""
    assert [rule.trusted for rule in load(user=RULE).failure_handler.auto_resolve] == [True]
    assert [rule.trusted for rule in load(shared=RULE).failure_handler.auto_resolve] == [False]
    assert [rule.trusted for rule in load(own=RULE).failure_handler.auto_resolve] == [False]
    variable = {"UNSTUCK_FAILURE_HANDLER__AUTO_RESOLVE": "[{pattern: p, action: run it}]"}
    assert [rule.trusted for rule in load(environ=variable).failure_handler.auto_resolve] == [True]
    flag = {"failure_handler.auto_resolve": [{"pattern": "p", "action": "run it"}]}
    assert [rule.trusted for rule in load(**flag).failure_handler.auto_resolve] == [True]


@pytest.mark.parametrize("source", ["user", "shared", "own"])
def test_trust_cannot_be_written_into_a_file(load: Load, source: str) -> None:
    """A file that claims to be trusted is refused."""
    error = refused(load, **{source: RULE.replace("run it", "run it, trusted: true")})
    assert error.key == "failure_handler.auto_resolve.0.trusted"


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("agent_timeot: 5", "agent_timeot", "unknown key; did you mean agent_timeout?"),
        ("max_retrys: 5", "max_retrys", "unknown key; did you mean failure_handler.max_retries?"),
        ("failure_handler: {max_retry: 5}", "failure_handler.max_retry", "unknown key; did you mean max_retries?"),
        (
            "failure_handler: {auto_resolve: [{pattern: x, action: y, zzz: 1}]}",
            "failure_handler.auto_resolve.0.zzz",
            "unknown key; allowed are action, pattern",
        ),
        ("failure_handler: {auto_resolve: [{pattern: x}]}", "failure_handler.auto_resolve.0.action", "is missing"),
        ("failure_handler: {auto_resolve: [x]}", "failure_handler.auto_resolve.0", "must be a mapping, not 'x'"),
        ("failure_handler: 3", "failure_handler", "must be a mapping, not 3"),
        ("failure_handler: {skip_to_ask: EACCES}", "failure_handler.skip_to_ask", "must be a list, not 'EACCES'"),
        (
            "failure_handler: {skip_to_ask: [404]}",
            "failure_handler.skip_to_ask.0",
            "must be text, not 404; put it in quotes",
        ),
        (
            "failure_handler: {max_retries: -1}",
            "failure_handler.max_retries",
            "must be a whole number from 0 to 100, not -1",
        ),
        ("window_size: true", "window_size", "must be a whole number from 2 to 100, not True"),
        ("max_parallel: 1.5", "max_parallel", "must be a whole number from 1 to 64, not 1.5"),
        ("hold_limit:", "hold_limit", "must be a whole number from 0 to 100, not nothing"),
        ("output_limit: [1]", "output_limit", "must be a whole number from 4096 to 1099511627776, not a list"),
        ("timeouts: {qa_engineer: 0}", "timeouts.qa_engineer", "must be more than zero, not 0"),
        ("timeouts: 5", "timeouts", "must be a mapping, not 5"),
        ("ask: sometimes", "ask", "must be 'always' or 'never', not 'sometimes'"),
        ("ask: no", "ask", "must be 'always' or 'never', not False"),
        ("unverified: yes", "unverified", "must be 'reject' or 'accept', not True"),
        (
            "idle_timeout: soon",
            "idle_timeout",
            "must be a duration such as 90 (seconds), 15m, 1h30m, 2m 10s or 250ms, not 'soon'",
        ),
        ('"a\\nb\\e[31m": 1', "a?b?[31m", None),
        ("ask: x\nwindow_size: 1", "window_size", "must be a whole number from 2 to 100, not 1 (and 1 more)"),
        ("max_retries: 5\n1: 2", "1", "keys must be text"),
        ("failure_handler: {1: 2}", "failure_handler", "keys must be text, not 1"),
        ("- a\n- b", "", "must be a mapping of settings, not a list"),
        ("ask: &a [*a]", "ask", "must be 'always' or 'never', not a list"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(
    load: Load, tmp_path: Path, text: str, key: str, problem: str | None
) -> None:
    """The file, the key and what is allowed are named; nothing starts."""
    error = refused(load, user=text)
    assert error.source.partition(":")[0] == str(tmp_path / "user.yaml")
    assert error.key == key
    assert problem is None or error.problem == problem
    assert error.exit_code == 2


def test_a_wrong_variable_or_flag_is_named(load: Load) -> None:
    """The message says which of many sources holds the mistake."""
    error = refused(load, environ={"UNSTUCK_FAILURE_HANDLER__MAX_RETRIES": "many"})
    assert error.source == "UNSTUCK_FAILURE_HANDLER__MAX_RETRIES"
    assert error.key == "failure_handler.max_retries"
    assert refused(load, environ={"UNSTUCK_TIMEOUT": "5"}).problem.startswith("unknown key; did you mean ")
    assert refused(load, agent_timeout="0").source == "flags"


def test_broken_yaml_is_refused_by_line(load: Load, tmp_path: Path) -> None:
    """A slip of the finger is found without counting brackets."""
    assert refused(load, own="ask: never\nagent_timeout: [5").source == f"{tmp_path / 'unstuck.yaml'}:2"
    assert refused(load, own="ask: never\n\n\tx: 1").source == f"{tmp_path / 'unstuck.yaml'}:3"
    assert refused(load, own="a: 1\nb: \x07").source == f"{tmp_path / 'unstuck.yaml'}:2"
    assert "not valid YAML" in str(refused(load, own="ask: 2020-99-99"))
    assert "not valid YAML" in str(refused(load, own="!!python/object/apply:os.system [true]"))
    assert "nested too deeply" in str(refused(load, own="[" * 1_000))


def test_a_file_that_would_fill_the_memory_is_refused(load: Load) -> None:
    """A few lines that copy each other cannot stop the supervisor from starting."""
    bomb = "a0: &a0 {x: 1}\n" + "".join(
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}\n" for level in range(1, 12)
    )
    assert "aliases" in str(refused(load, shared=bomb))


def test_what_is_no_readable_file_is_refused(load: Load, tmp_path: Path) -> None:
    """A directory, a pipe, a huge or a binary file is named, and nothing hangs."""
    file = tmp_path / "unstuck.yaml"
    file.mkdir()
    assert refused(load).problem == "must be a file"
    file.rmdir()
    os.mkfifo(file)
    assert refused(load).problem == "must be a file"
    file.unlink()
    file.symlink_to(file)
    assert refused(load).problem.startswith("cannot be read: ")
    file.unlink()
    file.write_bytes(b"# " + b"x" * 2**20)
    assert refused(load).problem == "is larger than 1 MiB"
    file.write_bytes(b"ask: never\nx: \xff")
    assert str(refused(load)) == f"{file}:2: is not UTF-8"


def test_a_byte_order_mark_or_an_empty_file_does_no_harm(load: Load) -> None:
    """Files from other editors are read."""
    assert load(own="\ufeffmax_parallel: 2").max_parallel == 2
    assert load(own="# nothing yet\n") == Settings()


def test_settings_survive_the_log(load: Load) -> None:
    """A resumed run has exactly the settings it began with, trust included."""
    settings = load(user=RULE, own="timeouts: {qa_engineer: 5}\nidle_timeout: 250ms")
    assert Settings.thaw(json.loads(json.dumps(settings.frozen()))) == settings
    with pytest.raises(SettingsError, match="the event log: nonsense: unknown key"):
        Settings.thaw({"nonsense": 1})


def test_settings_do_not_change() -> None:
    """Nothing can move a limit while a run goes on."""
    with pytest.raises(ValidationError, match="frozen"):
        Settings().window_size = 9  # type: ignore[misc]


def test_the_users_file_lies_where_the_platform_keeps_them(isolated: Path) -> None:
    """The user's own settings are found without being named."""
    assert default_user_file() == isolated / "config" / "unstuck" / "config.yaml"


TIMER = "timers: {timeout: {after: 30s, answer: extend, number: 15m}}"


def test_a_timer_is_the_users_own_to_set(load: Load) -> None:
    """My own file, a variable or the command line may let a question answer itself."""
    assert load(user=TIMER).timers["timeout"].number == 900
    assert load(environ={"UNSTUCK_TIMERS": "{stuck: {after: 1h, answer: skip}}"}).timers["stuck"].after == 3_600
    both = load(user=TIMER, **{"timers.loop-detected": {"after": 5, "answer": "retry", "approach": "smaller steps"}})
    assert set(both.timers) == {"timeout", "loop_detected"}
    assert Settings.thaw(both.frozen()) == both


def test_a_repositorys_file_sets_no_timer(load: Load) -> None:
    """An agent can edit the repository's files, so they cannot make a question answer itself."""
    error = refused(load, own=TIMER)
    assert error.key == "timers"
    assert "an agent can edit" in error.problem


@pytest.mark.parametrize(
    "timer",
    [
        "{timeout: {answer: stop}}",
        "{timeout: {after: 0, answer: stop}}",
        "{timeout: {after: 30s, answer: abandon}}",
        "{timeout: {after: 30s, answer: extend}}",
        "{timeout: {after: 30s, answer: stop, number: 5m}}",
        "{timeout: {after: 30s, answer: stop, approach: other}}",
        "{stuck: {after: 30s, answer: extend, number: 5m}}",
        "{time: {after: 30s, answer: stop}}",
        "[30s]",
    ],
)
def test_a_timer_that_makes_no_sense_is_refused(load: Load, timer: str) -> None:
    """A timer needs its time and an answer that can be taken back; what does not go together is one clear line."""
    assert refused(load, user=f"timers: {timer}").key.startswith("timers")


def test_budgets_and_what_they_may_be(load: Load) -> None:
    """Numbers of tokens, a cost, a duration; zero is a budget, and none is none."""
    assert set(load().budget.model_dump().values()) == {None}
    budget = load(user="budget: {tokens: 200000, cost: 2.5, time: 2h}").budget
    assert budget.tokens == 200_000
    assert budget.cost == 2.5
    assert budget.time == 7_200
    nothing = load(**{"budget.time": "0", "budget.cost": "0", "budget.tokens": "0"}).budget
    assert nothing.model_dump(exclude_none=True) == dict.fromkeys(("tokens", "cost", "time"), 0)
    for wrong in ("{tokens: -1}", "{tokens: 1.5}", "{cost: -0.1}", "{cost: .nan}", "{cost: much}", "{time: soon}"):
        assert refused(load, user=f"budget: {wrong}").key.startswith("budget.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("unstuck.yaml", "root:*:20228:0:99999:7:::\n"),
        ("unstuck.yaml", "budget: {tokens: AB12}\n"),
        ("unstuck.yaml", "key: [AB12\n"),
        (".claude/config.yaml", "AB12CD34\n"),
    ],
)
def test_a_link_out_of_the_project_shows_nothing_of_the_file(tmp_path: Path, name: str, text: str) -> None:
    """A repository that links to a file of mine cannot have its content printed where others read it."""
    (tmp_path / "mine").write_text(text, encoding="utf-8")
    link = tmp_path / "project" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "mine")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "project", user_file=None, environ={}, overrides={})
    assert str(caught.value) == f"{link}: is a link out of the project, to a file that holds no valid settings"


def test_a_link_within_the_project_says_what_is_wrong(load: Load, tmp_path: Path) -> None:
    """A problem in a file of the repository is named wherever it stands."""
    (tmp_path / "real.yaml").write_text("max_parallel: 0\n", encoding="utf-8")
    (tmp_path / "unstuck.yaml").symlink_to("real.yaml")
    assert refused(load).key == "max_parallel"


def test_a_repositorys_file_may_only_lower_a_budget(load: Load) -> None:
    """A file that an agent can edit cannot raise my budget, but a project may ask for less."""
    budget = load(user="budget: {tokens: 1000, cost: 5}", own="budget: {tokens: 9000, cost: 2, time: 1h}").budget
    assert budget.tokens == 1_000
    assert budget.cost == 2
    assert budget.time == 3_600
    assert load(user="budget: {tokens: 1000}", **{"budget.tokens": 9_000}).budget.tokens == 9_000


@pytest.mark.parametrize(
    ("key", "least", "usual", "most"),
    [
        ("max_parallel", 1, 2, 8),
        ("pivot.parallel", 1, 1, 8),
        ("failure_handler.max_attempts", 5, 20, 900),
        ("remediation_attempts", 1, 3, 90),
    ],
)
def test_a_repositorys_file_may_only_lower_what_costs_more(
    load: Load, key: str, least: int, usual: int, most: int
) -> None:
    """More agents at once, or more attempts than I allow, are for my own settings, the environment and a plan."""

    def value(settings: Settings) -> object:
        return attrgetter(key)(settings)

    def given(number: int) -> str:
        above, _, name = key.rpartition(".")
        return f"{above}: {{{name}: {number}}}" if above else f"{name}: {number}"

    assert value(load(own=given(most))) == usual
    assert value(load(own=given(least))) == least
    assert value(load(user=given(most), own=given(most - 1))) == most - 1
    assert value(load(user=given(least), own=given(most))) == least
    assert value(load(own=given(least), **{key: most})) == most


def test_what_a_repositorys_file_cannot_raise_is_said(tmp_path: Path) -> None:
    """Each ignored value has its line, the value that holds, and where to raise it; a stronger source silences it."""
    own = tmp_path / "unstuck.yaml"
    mine = tmp_path / "mine.yaml"
    assert ignored_values(tmp_path, mine, {}, {}) == []
    own.write_text("pivot: {parallel: 1}\nmax_parallel: 6\nbudget:\n  tokens: 900\n  cost: 1\n", encoding="utf-8")
    mine.write_text("budget: {tokens: 500}\n", encoding="utf-8")
    budget, parallel = ignored_values(tmp_path, mine, {}, {})
    more = "only your own settings can raise it"
    assert budget == f"budget.tokens: 900 is ignored, 500 holds: {more} ({own}:4)"
    assert parallel == f"max_parallel: 6 is ignored, 2 holds: {more} ({own}:2)"
    assert ignored_values(tmp_path, mine, {"UNSTUCK_MAX_PARALLEL": "8"}, {"budget.tokens": 100}) == []


@pytest.mark.parametrize(
    ("flag", "value", "problem"),
    [
        (
            "failure_handler.skip_to_ask",
            ["[a"],
            "skip_to_ask.0: must be a regular expression, not '[a'",
        ),
        ("failure_handler.auto_resolve", [{"pattern": "(", "action": "a"}], "must be a regular expression, not '('"),
        ("failure_handler.patterns", [{"pattern": "*", "approach": "a"}], "must be a regular expression, not '*'"),
        (
            "failure_handler.patterns",
            [{"pattern": "a", "approach": "b", "confidence": 2}],
            "from 0 to 1, not 2",
        ),
        ("prompts", {"retry": "{problme}"}, "there is no placeholder '{problme}'; allowed are instruction, answer"),
        ("prompts", {"human": "Try again."}, "human must hold {answer}"),
        ("prompts", {"retry": 3}, "prompts.retry: must be text, not 3"),
        ("prompts", {"retry": "x" * 20_001}, "retry must be text of 1 to 20000 characters"),
        ("prompts", {"pivot": " \n"}, "pivot must be text of 1 to 20000 characters"),
        ("prompts", {"third": "x"}, "must be 'first', 'retry'"),
        ("after_quota", "yes", "after_quota: must be 'ask' or 'resume'"),
    ],
)
def test_patterns_and_own_words_are_checked_before_anything_starts(
    load: Load, flag: str, value: Any, problem: str
) -> None:
    """A half-open bracket, a placeholder that is misspelt, an answer that would be lost: one clear line."""
    assert problem in str(refused(load, **{flag: value}))


HANDLER = """\
# mine
max-parallel: 2
failure-handler:
  max_retries: 1
  skip-to-ask:
    - EACCES
    - "%s"
"""


def test_a_wrong_setting_says_its_line(load: Load, tmp_path: Path) -> None:
    """In a longer file I am told the very line, however the key is written."""
    error = refused(load, own=HANDLER % "((")
    assert error.source == f"{tmp_path / 'unstuck.yaml'}:7"
    assert error.key == "failure_handler.skip_to_ask.1"


RUNNING_AWAY = (
    "(a+)+$", "(a|b)*c", "((ab*))*", "(?:x{2,})+", "(a?b?){3,}", "a*a*a*x", "(?P<n>[)+]|y)+", r"(\w+\s?)*$",
    "(a|a){40}b", "(.*a){25}b", "((a?){30}){30}b", "a?" * 40 + "a" * 40 + "b", "(x+x+)+y", "(a|aa)+$", "([a-z]+)*!",
)  # fmt: skip
FINE = ("EACCES", "Cannot find .* from .*", "(ENOENT|EACCES): .*", r"\(a+\)+", "[(a+)]+", "(ab)+", "(a|b){2}", "(?i)é")
FOUND = ("(a+)+$", "((ab*))*", "(a?b?){3,}", r"(\w+\s?)*$", "(a|aa)+$")
HEADLINE = "AssertionError: " + "a" * 384


@pytest.mark.parametrize("pattern", RUNNING_AWAY)
def test_a_repositorys_pattern_holds_nothing_up(load: Load, pattern: str) -> None:
    """A pattern for which other engines take years has its result, whoever wrote it."""
    own = f"failure_handler: {{skip_to_ask: ['{pattern}'], auto_resolve: [{{pattern: '{pattern}', action: x}}]}}"
    handler = load(own=own).failure_handler
    assert handler.skip_to_ask == (handler.auto_resolve[0].pattern,) == (pattern,)
    assert matches(pattern, HEADLINE) is (pattern in FOUND)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("((a?){50}){50}b", "repetition"),
        (r"\pL{1000}", "too large"),
        ("(?<=x)y", "(?<="),
        (r"(a)\1", r"\1"),
        ("((", "missing )"),
    ],
)
def test_a_pattern_that_the_engine_does_not_take_is_named(load: Load, pattern: str, problem: str) -> None:
    """I am told why: it is too large, or looks around or back."""
    for source in ("own", "user"):
        error = refused(load, **{source: f"failure_handler: {{skip_to_ask: ['{pattern}']}}"})
        assert "must be a regular expression" in error.problem
        assert problem in error.problem


def test_a_pattern_of_half_a_character_is_refused(load: Load) -> None:
    """YAML can write what no text holds."""
    assert "half a character" in refused(load, own='failure_handler: {skip_to_ask: ["\\ud800"]}').problem


def test_more_patterns_than_anybody_writes_are_refused(load: Load) -> None:
    """Matching is bounded by the number of patterns, too."""
    for key, entry in (("skip_to_ask", "a"), ("auto_resolve", "{pattern: a, action: x}")):
        own = f"failure_handler: {{{key}: [{', '.join([entry] * 101)}]}}"
        assert "at most 100" in refused(load, own=own).problem
    assert (
        len(load(own=f"failure_handler: {{skip_to_ask: [{', '.join(['a'] * 100)}]}}").failure_handler.skip_to_ask)
        == 100
    )


def test_an_older_run_keeps_patterns_that_the_engine_does_not_take() -> None:
    """A run that began with another engine can be opened; such a pattern is compared as text."""
    frozen = Settings().frozen()
    frozen["failure_handler"]["skip_to_ask"] = ["(?<=x)y"] * 200
    assert Settings.thaw(frozen).failure_handler.skip_to_ask == ("(?<=x)y",) * 200
    assert matches("(?<=x)y", "what is (?<=x)y here")
    assert not matches("(?<=x)y", "xy")
    assert matches("x.y", "x\ud800y")


@pytest.mark.parametrize("pattern", FINE)
def test_a_plain_pattern_is_for_everybody(load: Load, pattern: str) -> None:
    """A plain pattern for error messages is taken from a repository's file, too."""
    assert load(own=f"failure_handler: {{skip_to_ask: ['{pattern}']}}").failure_handler.skip_to_ask == (pattern,)


def test_a_repositorys_file_lets_nothing_start_at_night(load: Load) -> None:
    """Only I say that tasks go on by themselves after a quota: in my file, a variable or a flag."""
    assert load(user="after_quota: resume").after_quota == "resume"
    assert load(environ={"UNSTUCK_AFTER_QUOTA": "resume"}).after_quota == "resume"
    assert load(own="after_quota: ask").after_quota == "ask"
    assert "after_quota" in str(refused(load, own="after_quota: resume"))


def test_an_evaluator_is_named_by_the_user_alone(load: Load) -> None:
    """It is a command, so a file of the project cannot name it; what becomes of a cut-off attempt it may say."""
    assert load(user="evaluator: claude -p").evaluator.command == "claude -p"
    given = load(environ={"UNSTUCK_EVALUATOR": "{command: codex exec, timeout: 30s}"}).evaluator
    assert given.command == "codex exec"
    assert given.timeout == 30.0
    assert "evaluator" in str(refused(load, own="evaluator: rm -rf /"))
    assert load(own="recovery: retry").recovery == "retry"
    assert "recovery" in str(refused(load, own="recovery: done"))


def test_the_screen_is_set_by_its_person_alone(load: Load) -> None:
    """Looks, keys and commands of the screen come from the user's own file and environment."""
    settings = load(
        user="notify: off\ntitle: off\ntheme: light\nkeys: {task.open: o}\n",
        environ={"UNSTUCK_NOTIFY": "command", "UNSTUCK_NOTIFY_COMMAND": "[notify-send, unstuck]"},
    )
    assert settings.notify == "command"
    assert settings.notify_command == ("notify-send", "unstuck")
    assert settings.title is False
    assert settings.theme == "light"
    assert dict(settings.keys) == {"task.open": "o"}
    assert not {"notify", "keys", "theme"} & settings.frozen().keys()


@pytest.mark.parametrize("source", ["own", "flags"])
def test_nobody_else_sets_the_screen(load: Load, source: str) -> None:
    """A file of the project, or a plan, names no command for notifications and changes no key."""
    given = {"own": {"own": "notify_command: [sh, -c, evil]\n"}, "flags": {"notify_command": ["sh"]}}[source]
    assert "is a matter of your screen, not of a run: set it in your own settings" in str(refused(load, **given))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("notify: loud", "must be 'off', 'bell', 'osc9', 'osc99', 'osc777' or 'command', not 'loud'"),
        ("notify_command: notify-send x", "must be a list such as [notify-send, unstuck], not 'notify-send x'"),
        ("theme: solarized", "must be 'dark', 'light', 'contrast' or 'ansi', not 'solarized'"),
        ("title: perhaps", "must be on or off, not 'perhaps'"),
        ("dialogs: never", "must be 'pop' or 'list', not 'never'"),
        ("keys: {task.open: [o]}", "must name a key in quotes for each action"),
    ],
)
def test_a_wrong_setting_of_the_screen_says_what_is_allowed(load: Load, text: str, said: str) -> None:
    """One line with the file, its line, the key and what may stand there."""
    problem = refused(load, user=f"\n{text}\n")
    assert said in str(problem)
    assert "user.yaml:2: " in str(problem)
