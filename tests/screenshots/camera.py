"""Camera for pictures: the app without a terminal, its keys from the registry, and its screen as SVG."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from unstuck_tui.app.unstuck_app import UnstuckApp
from unstuck_tui.keys.actions import key_of

__all__ = ["PICTURES", "press", "settled", "shot", "showing", "text_of"]

PICTURES = Path(__file__).resolve().parents[2] / "screenshots"


@asynccontextmanager
async def showing(app: UnstuckApp, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[None]]:
    """The app in this size, with a question that has come up put aside."""
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause(1.0)
        if app.screen.is_modal:
            await pilot.press(key_of("dialog.back"))
        yield pilot


async def press(pilot: Pilot[None], *actions: str) -> None:
    """Press the keys of these actions, each once the one before has been worked."""
    for action in actions:
        await pilot.press(key_of(action))
        await settled(pilot)


async def settled(pilot: Pilot[None]) -> None:
    """Whatever the screen reads beside its work has come; a dialog takes keys."""
    await pilot.pause(0.6)
    if reading := [one for one in pilot.app.workers if one.group in ("reading", "details")]:
        await pilot.app.workers.wait_for_complete(reading)
        await pilot.pause()


async def shot(pilot: Pilot[None], name: str) -> None:
    """Write what is on the screen."""
    await pilot.pause()
    # Without the font that a viewer would fetch from elsewhere, it takes its own monospaced one.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", pilot.app.export_screenshot(title="unstuck"), flags=re.DOTALL)
    (PICTURES / f"{name}.svg").write_text(picture.replace(str(Path.home()), "~"), encoding="utf-8")


def text_of(pilot: Pilot[None]) -> str:
    """Return the text on the screen, line by line."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)
