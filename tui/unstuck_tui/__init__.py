"""The command line and the screen of unstuck."""


def main() -> None:
    """Run the ``unstuck`` command; an interrupt while the command line is imported ends it without a traceback."""
    try:
        from unstuck_tui.cli import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
