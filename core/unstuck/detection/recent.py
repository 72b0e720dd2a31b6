"""Mapping that is bounded in memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


_put = OrderedDict.__setitem__


class Recent(OrderedDict[_Key, _Value]):
    """Mapping of the ``limit`` keys that were set last, oldest first."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: _Key, value: _Value) -> None:
        # A plain call is cheaper than super(), and the rules set some keys at each step.
        _put(self, key, value)
        self.move_to_end(key)
        if len(self) > self._limit:
            self.popitem(last=False)
