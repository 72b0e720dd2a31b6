"""Places that are not the user's, and paths that are only Windows': neither is lost nor taken for the other."""

from __future__ import annotations

from unstuck.diagnosis.agent_messages.troubles import without_prompt
from unstuck.diagnosis.pipeline import diagnose


def place_of(output: str) -> str | None:
    found = diagnose(output, exit_code=1)
    assert found is not None
    return found.location


def test_a_frame_of_a_library_is_no_place() -> None:
    """An error of Ruby that is raised and called in gems alone has no place of the user's."""
    gem = "/usr/lib/ruby/gems/3.1.0/gems/rack/lib/rack.rb"
    assert place_of(f"{gem}:3:in `call': no app (RuntimeError)\n\tfrom {gem}:9:in `run'\n") is None
    assert place_of(f"{gem}:3:in `call': no app (RuntimeError)\n\tfrom app.rb:9:in `run'\n") == "app.rb:9"


def test_a_bundled_package_is_no_place() -> None:
    """An import that esbuild cannot resolve within a package of others is not in the user's file."""
    for file, place in (("node_modules/x/i.js", None), ("src/i.js", "src/i.js:4")):
        assert place_of(f'✘ [ERROR] Could not resolve "y"\n\n    {file}:4:7:\n      4 │ import "y"\n') == place


def test_a_path_with_backslashes_alone_is_a_place() -> None:
    """The colon of a drive is no separator, also where no slash is in the output."""
    assert place_of("C:\\work\\app.py:3:1: E999 SyntaxError: invalid syntax\n") == "C:\\work\\app.py:3"


def test_an_agent_that_worked_got_its_prompt() -> None:
    """A changed file is work of an agent whose usage is not known; one that reports no token has done nothing."""
    assert without_prompt("claude", untouched=False, used=0) is None
    assert without_prompt("aider", untouched=False, used=3) is None
    assert without_prompt("aider", untouched=False, used=0) is not None
    assert without_prompt("claude", untouched=True, used=0) is not None
