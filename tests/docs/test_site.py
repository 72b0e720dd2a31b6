"""The documentation site holds together: its pages, links, pictures and tables, without the tools that lay it out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from docs.generator.site import TABLES, TOP, pages, write_site

from unstuck import errors
from unstuck.errors import EXIT_CODES
from unstuck.words.signs import signs

LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+?)(?: \{ #([\w-]+) \})?$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the site, as ``make docs`` lays it out."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    write_site(folder)
    return folder


def anchors(text: str) -> set[str]:
    """The ids that headings of a page get."""
    found = HEADING.findall(FENCE.sub("", text))
    return {id or re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title, id in found}


def broken(page: Path, text: str) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for path, anchor in LINK.findall(FENCE.sub("", text)):
        target = page if not path else Path(os.path.normpath(page.parent / path))
        if not target.is_file() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            yield f"{path}#{anchor}"


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """A reader never follows a link to a page, a heading or a picture that does not exist."""
    found = {str(page.relative_to(site)): list(broken(page, page.read_text("utf-8"))) for page in site.rglob("*.md")}
    assert found
    assert {page: links for page, links in found.items() if links} == {}


def test_no_cell_of_a_table_shows_a_backslash(site: Path) -> None:
    """A bar inside code, as in ``float | None``, reads as it is meant."""
    rows = [line for page in site.rglob("*.md") for line in page.read_text("utf-8").splitlines() if line[:1] == "|"]
    assert any("&#124;" in row for row in rows)
    assert [row for row in rows if "\\|" in row] == []


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_of_the_repository_leads_somewhere(name: str) -> None:
    """The documents at the top of the repository link to files and headings that exist."""
    assert list(broken(TOP / name, (TOP / name).read_text("utf-8"))) == []


def test_the_navigation_has_every_page() -> None:
    """No page can be reached by search alone, and llms.txt names each with its first sentence."""
    nav = yaml.safe_load((TOP / "mkdocs.yml").read_text("utf-8"))["nav"]
    named = re.findall(r"[\w/-]+\.md", str(nav))
    assert sorted(named) == sorted(pages())


def test_an_overview_for_language_models(site: Path) -> None:
    """llms.txt has a line with a title and a sentence for every page, and llms-full.txt has their text."""
    lines = re.findall(r"^- \[(.+)\]\((.+)\.html\): (.+\w.+)$", (site / "llms.txt").read_text("utf-8"), re.MULTILINE)
    assert {f"{page}.md" for _, page, _ in lines} == set(pages())
    assert "`failure_handler.max_retries`" in (site / "llms-full.txt").read_text("utf-8")


def test_the_glossary_says_what_the_screen_says() -> None:
    """Every sign and word that the screen's help explains stands in the glossary, with the same sentence."""
    page = pages()["reference/glossary.md"].replace("*", "")
    assert [word for _, word, meaning in signs() if word not in page or meaning not in page] == []


def test_every_table_is_shown() -> None:
    """Every generated table stands on a page."""
    asked = re.findall(
        r"<!-- generated: (\w+) -->", "".join(path.read_text("utf-8") for path in (TOP / "docs").rglob("*.md"))
    )
    assert sorted(asked) == sorted(TABLES)


def test_a_page_cannot_ask_for_what_does_not_exist() -> None:
    """A wrong name stops the build instead of leaving a hole in the page."""
    from docs.generator.site import filled

    with pytest.raises(KeyError):
        filled("<!-- generated: nonsense -->")


def test_every_error_has_a_documented_exit_code() -> None:
    """No error ends a command with an exit code that the reference leaves out."""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert {one.exit_code for one in classes if issubclass(one, errors.UnstuckError)} <= set(EXIT_CODES)
