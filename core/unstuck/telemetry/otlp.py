"""OTLP requests in JSON, and their delivery over HTTP."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from threading import Thread
from typing import Any, NamedTuple

from unstuck.errors import UsageError
from unstuck.telemetry.trace import CONVENTIONS, Metrics, Span, Value
from unstuck.text import one_line
from unstuck.version import __version__

ENDPOINT = "http://localhost:4318"
_SCHEMA = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
_TIMEOUT_MS = "10000"
_PAUSES_S = (1.0, 2.0, 4.0)
"""Pauses before a request is sent again, where the collector names none."""
_LONGEST_S = 30.0
_AGAIN = frozenset({429, 502, 503, 504})
"""Answers of a collector after which OTLP allows the same request again."""
_BATCH, _KEPT, _REPLY = 200, 20_000, 65_536
_STATUS = {"": 0, "ok": 1, "error": 2}
_INTERNAL, _CUMULATIVE = 1, 2


def trace_request(spans: Iterable[Span]) -> dict[str, Any]:
    """Return the ``ExportTraceServiceRequest`` of ``spans``."""
    return {
        "resourceSpans": [
            {
                "resource": _resource(),
                "schemaUrl": _SCHEMA,
                "scopeSpans": [{"scope": _scope(), "spans": [_span(span) for span in spans]}],
            }
        ]
    }


def metrics_request(sums: Metrics) -> dict[str, Any]:
    """Return the ``ExportMetricsServiceRequest`` of the usage of a run."""

    def point(value: Mapping[str, Any], attributes: Mapping[str, Value]) -> dict[str, Any]:
        about = {"unstuck.run.id": sums.run, **attributes}
        times = {"startTimeUnixNano": str(sums.start), "timeUnixNano": str(sums.end)}
        return {**times, **value, "attributes": _attributes(about)}

    def metric(name: str, unit: str, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
        total = {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True, "dataPoints": list(points)}
        return {"name": name, "unit": unit, "sum": total}

    tokens = {"input": sums.read, "output": sums.written}
    counts = [point({"asInt": str(count)}, {"gen_ai.token.type": kind}) for kind, count in tokens.items()]
    found = [metric("unstuck.usage.tokens", "{token}", counts)]
    if sums.cost is not None:
        found.append(metric("unstuck.usage.cost", "{USD}", [point({"asDouble": sums.cost}, {})]))
    scoped = [{"scope": _scope(), "metrics": found}]
    return {"resourceMetrics": [{"resource": _resource(), "schemaUrl": _SCHEMA, "scopeMetrics": scoped}]}


class Sent(NamedTuple):
    """Result of a request: what went wrong, and after how many seconds it may be sent again (None: never)."""

    problem: str = ""
    again: float | None = None


class Delivery:
    """Sends the spans and metrics of one run to a collector, from the environment variables of OpenTelemetry.

    Spans that a collector does not take now are kept for the next request. ``problems`` says what was not exported.
    """

    def __init__(self, endpoint: str | None, environ: Mapping[str, str]) -> None:
        """Raises UsageError for an endpoint or a timeout that cannot be used."""
        from urllib.parse import unquote

        self.endpoint = (endpoint or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or ENDPOINT).rstrip("/")
        if not self.endpoint.startswith(("http://", "https://")):
            raise UsageError(f"the endpoint {self.endpoint} must begin with http:// or https://")
        given = environ.get("OTEL_EXPORTER_OTLP_TIMEOUT") or _TIMEOUT_MS
        if not given.isdecimal() or not int(given):
            raise UsageError(f"OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, not {given}")
        self._timeout = int(given) / 1000
        pairs = [pair.partition("=") for pair in environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")]
        self._headers = {name.strip(): unquote(value.strip()) for name, is_pair, value in pairs if is_pair}
        self._pending: deque[Span] = deque(maxlen=_KEPT)
        self._not_before = 0.0
        self._failures = 0
        self.problems: list[str] = []

    def follow(self, spans: Iterable[Span]) -> None:
        """Send each span when it is there; the collector may be away meanwhile."""
        for span in spans:
            self._keep(span)
            if time.monotonic() >= self._not_before:
                self._flush(patient=False)
        self._flush(patient=True)

    def send(self, spans: Iterable[Span]) -> None:
        """Send spans that are all there. Nothing more is sent once the collector is given up."""
        for span in spans:
            self._keep(span)
            if len(self._pending) == _BATCH:
                self._flush(patient=True)
                if self._pending:
                    return
        self._flush(patient=True)

    def send_metrics(self, sums: Metrics) -> None:
        """Send the metrics of the run, unless its spans could not be sent."""
        if not self._pending:
            self._request("metrics", metrics_request(sums), patient=True)

    def _keep(self, span: Span) -> None:
        if len(self._pending) == _KEPT:
            self._note(f"spans were dropped: more than {_KEPT} waited for the collector")
        self._pending.append(span)

    def _flush(self, *, patient: bool) -> None:
        while batch := list(islice(self._pending, _BATCH)):
            if not self._request("traces", trace_request(batch), patient=patient):
                return
            for _ in batch:
                self._pending.popleft()

    def _request(self, path: str, request: Mapping[str, Any], *, patient: bool) -> bool:
        """Send a request and return whether it is done with; if not, it may be sent again later."""
        pauses = deque(_PAUSES_S if patient else ())
        while True:
            sent = post(f"{self.endpoint}/v1/{path}", request, self._headers, self._timeout)
            if sent.again is None:
                self._failures = 0
                self._note(sent.problem)
                return True
            if not pauses:
                pause = min(2.0**self._failures, _LONGEST_S) if sent.again < 0 else sent.again
                self._failures, self._not_before = self._failures + 1, time.monotonic() + pause
                if patient:
                    self._note(sent.problem)
                return False
            pause = pauses.popleft()
            time.sleep(min(sent.again, _LONGEST_S) if sent.again >= 0 else pause)

    def _note(self, problem: str) -> None:
        if problem and problem not in self.problems:
            self.problems.append(problem)


def post(url: str, request: Mapping[str, Any], headers: Mapping[str, str], timeout: float) -> Sent:
    """Post one request. ``again`` is negative where the collector does not say after how long.

    A redirect is not followed, because the headers hold keys, and no collector keeps this waiting much longer than
    ``timeout`` seconds.
    """
    found: list[Sent] = []
    asking = Thread(target=lambda: found.append(_posted(url, request, headers, timeout)), daemon=True)
    asking.start()
    asking.join(timeout + 1)
    sent = found[0] if found else Sent("no answer in time", -1.0)
    return sent._replace(problem=one_line(f"{url}: {sent.problem}", 300)) if sent.problem else sent


def _posted(url: str, request: Mapping[str, Any], headers: Mapping[str, str], timeout: float) -> Sent:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Refused(HTTPRedirectHandler):
        def redirect_request(self, *redirect: Any) -> None:
            return None

    content = {"Content-Type": "application/json", "User-Agent": f"unstuck/{__version__}", **headers}
    try:
        if not url.lower().startswith(("http://", "https://")):
            return Sent("the address of a collector begins with http:// or https://")
        asked = Request(url, json.dumps(request).encode(), content)
        with build_opener(Refused).open(asked, timeout=timeout) as reply:
            return Sent(_rejected(reply.read(_REPLY)))
    except HTTPError as error:
        after = error.headers.get("Retry-After", "")
        again = float(after) if after.isdecimal() else -1.0
        with error:
            return Sent(f"{error.code} {error.reason}", again if error.code in _AGAIN else None)
    except (OSError, HTTPException) as error:
        return Sent(str(getattr(error, "reason", None) or error or type(error).__name__), -1.0)
    except ValueError as error:
        return Sent(str(error))


def _rejected(reply: bytes) -> str:
    """Return what a collector says of a request that it took in part; such a request is not sent again."""
    try:
        part = json.loads(reply or b"{}").get("partialSuccess") or {}
        count = int(part.get("rejectedSpans") or part.get("rejectedDataPoints") or 0)
        said = part.get("errorMessage") or "no reason given"
        return f"the collector rejected {count} of them: {said}" if count else ""
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ""  # it answered 200, so it has taken them


def _resource() -> dict[str, Any]:
    return {"attributes": _attributes({"service.name": "unstuck", "service.version": __version__})}


def _scope() -> dict[str, Any]:
    return {"name": "unstuck", "version": __version__}


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent,
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
        "links": [{"traceId": span.trace, "spanId": link} for link in span.links],
        "status": {"code": _STATUS[span.status]},
    }


def _attributes(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"arrayValue": {"values": [_value(one) for one in value]}}
