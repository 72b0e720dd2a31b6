"""The page tab: the browsers that are signed in to the page; revoke one, or copy a link for another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck_tui.render.browse.listing import Order
from unstuck_tui.render.browse.page_sessions import COLUMNS, session_about, session_texts
from unstuck_tui.screens.browse.tab import Tab

if TYPE_CHECKING:
    from unstuck_web.access import Access, Session


class PageTab(Tab["Session"]):
    """The newest first."""

    name: ClassVar[str] = "page"
    empty = "no browser is signed in"
    would: ClassVar[str] = "Browsers that may read and answer on the page, which `unstuck web` and `--web` serve."
    columns = COLUMNS
    texts = staticmethod(session_texts)
    about = staticmethod(session_about)
    rowless: ClassVar[frozenset[str]] = frozenset({"link"})
    orders: ClassVar[Sequence[Order]] = (
        Order("newest first"),
        Order("last seen first", lambda row: row.seen, descends=True),
        Order("by browser", lambda row: row.browser),
    )

    def key(self, row: Session) -> str:
        return row.id

    async def read(self) -> Sequence[Session]:
        return await asyncio.to_thread(lambda: self._access.sessions()[::-1])

    @property
    def _access(self) -> Access:
        from unstuck_web.access import Access

        return Access(self.context.place.home, SystemClock().now)

    # --- what the person does ----------------------------------------------------------------------------------------

    async def do_link(self, row: Session | None) -> None:
        """Copy a link. It is in no file, because an agent could open it there."""

        def link() -> str:
            access = self._access
            address = access.address()
            if not address:
                raise UsageError("no page is served: start one with `unstuck web`, or runs with --web")
            return f"{address}/enter/{access.link()}"

        found = await asyncio.to_thread(link)
        self.context.screen.app.copy_to_clipboard(found)
        self.context.screen.report(f"Copied; open it once, within 15 minutes: {found}")

    async def do_revoke(self, row: Session) -> None:
        said = [row.browser or "unknown browser", f"session {row.id}, opened at {row.host}"]
        if not await self.context.screen.confirm("Revoke this session?", said, "Revoke it"):
            return
        await asyncio.to_thread(lambda: self._access.revoke(row.id))
        self.context.screen.report(f"Revoked: session {row.id}. Its browser is asked for a new link.")
        self.context.screen.reload()
