"""Output of one attempt: observations and closing text, from the JSON of a known agent or from signal lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from unstuck.agents.command.signal_line import read_step
from unstuck.agents.streams import STREAMS, Stream
from unstuck.contract import Observation, Observer
from unstuck.errors import RecordError
from unstuck.text import Clean, admit, end_of
from unstuck.text.last_words import SAID_LIMIT, last_words
from unstuck.words.exit_words import exit_words

MOST_STEPS = 20_000
"""Most observations of one attempt: more would fill the disk with the event log."""
LAST_MESSAGE_LIMIT = 4_000
_ERROR_LIMIT = 4_000


def see(observer: Observer, observation: Observation) -> None:
    """Pass on ``observation``. An event log that cannot be written ends the attempt elsewhere, so it is no error."""
    with suppress(RecordError):
        observer.see(observation)


def own(observation: Observation, attempt: str) -> Observation:
    """Return ``observation`` with an id unique across attempts: some agents count from the start in every process."""
    if not observation.id:
        return observation
    return replace(observation, id=Clean(f"{attempt}:{observation.id}"))


class AgentOutput:
    """Parser of one attempt's output; observations go to ``report``.

    ``stream`` names the agent whose JSON it is; it is empty for plain text. ``before`` are the tokens that the session
    had used, and written, before. ``refused`` is the refusal that a turn was ended for, because it only repeated it.
    """

    def __init__(
        self, stream: str, attempt: str, report: Callable[[Observation], None], *, before: tuple[int, int] = (0, 0)
    ) -> None:
        self._stream: Stream | None = STREAMS[stream](before=before[0], written_before=before[1]) if stream else None
        self._name, self._attempt, self._report = stream, attempt, report
        self._count = 0
        self._named = ""
        self.refused = Clean("")

    def resume(self) -> None:
        """Begin the output of another process, which goes on with the session."""
        before = self._stream
        if before is not None:
            self.close()
            tokens, written = self.used
            self._stream = STREAMS[self._name](before=tokens, written_before=written)
            self._stream.session, self._stream.denied = before.session, before.denied

    @property
    def ended(self) -> bool:
        """Return whether the agent has reported the end of its turn."""
        return self._stream is not None and self._stream.ended

    @property
    def session(self) -> str:
        """Return the agent's own session; empty if it names none."""
        return self._stream.session if self._stream is not None else ""

    @property
    def used(self) -> tuple[int, int]:
        """Return the tokens counted so far and those written, for the attempt that resumes the session."""
        return (self._stream.tokens, self._stream.written) if self._stream is not None else (0, 0)

    @property
    def message(self) -> str:
        """Return the last message of the agent; empty if it is no known agent."""
        return self._stream.last_message if self._stream is not None else ""

    def feed(self, line: str) -> None:
        """Parse one line."""
        if self._stream is None or not line.startswith("{"):
            step = read_step(line)
            found = [step] if step is not None else []
        else:
            found = [own(observation, self._attempt) for observation in self._stream.read(line)]
        if self._stream is not None and self._stream.session != self._named:
            self._named = self._stream.session
            found.append(Observation(kind="alive", session=self._named))
        for observation in found:
            # Usage is counted to the end: it costs.
            if observation.kind == "usage" or self._count < MOST_STEPS:
                self._count += 1
                self._report(observation)

    def close(self) -> None:
        """Report what is due once the process has ended."""
        for observation in self._stream.close() if self._stream is not None else ():
            self._report(observation)

    def text(self, printed: str) -> str:
        """Return the text that may hold a signal: the agent's messages, or everything it printed."""
        return (self._stream.messages if self._stream is not None else "") or printed

    def last_message(self, printed: str) -> str:
        """Return the agent's last message; for plain text the end of everything it printed."""
        return self._stream.last_message if self._stream is not None else end_of(printed, LAST_MESSAGE_LIMIT)

    @property
    def model(self) -> str:
        """Return the model that the agent names; empty if it names none."""
        return self._stream.model if self._stream is not None else ""

    def problem(self, code: int | None, printed: str) -> Clean | None:
        """Return the agent's own error; None if it reports none."""
        if self.refused:
            return self.refused
        if error := self._error(printed):
            return admit(error, limit=_ERROR_LIMIT)
        if self.broke_off(code):
            said = last_words(_beside_stream(printed))
            return admit(f"it ended with {exit_words(code or 0)} before it was done:\n{said}", limit=_ERROR_LIMIT)
        return None

    def said(self, code: int | None, printed: str) -> Clean:
        """Return the agent's last words: its own error, else its last message, else the end of what it printed."""
        if self._stream is None or self.refused:
            return admit(last_words(self.refused or printed), limit=SAID_LIMIT)
        beside = _beside_stream(printed) if code != 0 and not self._stream.ended else ""
        return admit(last_words(self._error(printed) or beside or self._stream.last_message), limit=SAID_LIMIT)

    def _error(self, printed: str) -> str:
        """Return the error that the stream reports, in the words beside it where those say more."""
        if self._stream is None or not self._stream.error:
            return ""
        return self._stream.error_beside(_beside_stream(printed)) or self._stream.error

    def denied(self, printed: str) -> list[tuple[str, str]]:
        """Return the calls that were not allowed, each a tool and what it was to do."""
        if self._stream is None:
            return []
        return [*self._stream.denied.values(), *self._stream.denied_beside(_beside_stream(printed))]

    @property
    def marked(self) -> bool:
        """Return whether the agent itself reports an error."""
        return bool(self.refused) or (self._stream is not None and bool(self._stream.error))

    def broke_off(self, code: int | None) -> bool:
        """Return whether the stream has no end and the exit code is a failure."""
        return self._stream is not None and not self._stream.ended and bool(code)


def _beside_stream(printed: str) -> str:
    """Return what a program printed beside its JSON lines, where there is anything."""
    return "\n".join(line for line in printed.splitlines() if not line.startswith("{")).strip()
