"""The tree that an index says it would become."""

from __future__ import annotations

import pytest
from tests.workspace.conftest import Project

from unstuck.workspace.storage.index_tree_id import noted_tree


@pytest.mark.parametrize("ids", ["sha1", "sha256"])
def test_it_is_the_one_that_git_writes_or_none(plain: Project, ids: str) -> None:
    """What is not told by git is not guessed: not after a change, not by a file's name, not from half an index."""
    plain.git("init", "-q", f"--object-format={ids}")
    index = plain.root / ".git" / "index"
    plain.write({"TREEabcd": "x", "TREE\x01": "x", "lib/TREE": "x"})
    plain.git("add", "-A")
    assert noted_tree(index.read_bytes()) == ("", 0)
    tree = plain.git("write-tree").strip()
    whole = index.read_bytes()
    assert noted_tree(whole) == (tree, 3)
    assert {noted_tree(whole[:length]) for length in (0, len(whole) // 2, len(whole) - 1)} == {("", 0)}
    plain.write({"lib/TREE": "changed"})
    plain.git("add", "-A")
    assert noted_tree(index.read_bytes()) == ("", 0)
    assert plain.git("write-tree").strip() != tree
