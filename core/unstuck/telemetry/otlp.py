"""OTLP requests in JSON, and their delivery over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from threading import Thread
from typing import Any

from unstuck.telemetry.trace import CONVENTIONS, Metrics, Span, Value
from unstuck.text import Clean, one_line
from unstuck.version import __version__

ENDPOINT = "http://localhost:4318"
_SCHEMA = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
_TIMEOUT_S, _MOST_ANSWER = 5.0, 1 << 16
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


def send(endpoint: str, path: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Clean:
    """Post a request to ``endpoint`` and return what went wrong; empty if the collector took all of it.

    A redirect is not followed, because the headers hold keys, and no collector keeps this waiting.
    """
    url = f"{endpoint.rstrip('/')}/v1/{path}"
    said = ["no answer in time"]
    asking = Thread(target=lambda: said.append(_posted(url, request, headers)), daemon=True)
    asking.start()
    asking.join(_TIMEOUT_S)
    return one_line(f"{url}: {said[-1]}", 300) if said[-1] else Clean("")


def _posted(url: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Post a request and return what went wrong."""
    from http.client import HTTPException
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Refused(HTTPRedirectHandler):
        def redirect_request(self, *redirect: Any) -> None:
            return None

    content = {"Content-Type": "application/json", "User-Agent": f"unstuck/{__version__}", **headers}
    try:
        if not url.lower().startswith(("http://", "https://")):
            return "the address of a collector begins with http:// or https://"
        with build_opener(Refused).open(Request(url, json.dumps(request).encode(), content), timeout=_TIMEOUT_S) as got:
            answer = got.read(_MOST_ANSWER)
    except (OSError, ValueError, HTTPException) as error:
        return str(getattr(error, "reason", None) or error or type(error).__name__)
    return _rejected(answer)


def _rejected(answer: bytes) -> str:
    """Return what a collector says that it did not take."""
    try:
        partial = json.loads(answer)["partialSuccess"]
        counts = [int(partial.get(name) or 0) for name in ("rejectedSpans", "rejectedDataPoints")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return f"{sum(counts)} rejected: {partial.get('errorMessage', '')}" if any(counts) else ""


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
