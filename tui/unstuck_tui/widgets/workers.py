"""Starts work beside the handling of messages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, cast

from textual.dom import DOMNode

P = ParamSpec("P")


def start(
    node: DOMNode, group: str, work: Callable[P, Coroutine[Any, Any, None]], *args: P.args, **kwargs: P.kwargs
) -> None:
    """Run ``work`` on ``node``, in place of what runs in the same ``group``.

    It becomes a coroutine only when it begins: one that is given up before would never be awaited.
    """
    # Textual's types know no coroutine function that is an ordinary one.
    node.run_worker(cast(Any, partial(work, *args, **kwargs)), group=group, exclusive=True)
