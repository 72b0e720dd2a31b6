"""OTLP requests in JSON, and their delivery over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unstuck.telemetry.trace import CONVENTIONS, Metrics, Span, Value
from unstuck.version import __version__

ENDPOINT = "http://localhost:4318"
_SCHEMA = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
_TIMEOUT_S = 5.0
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


def send(endpoint: str, path: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Post a request to ``endpoint`` and return what went wrong; empty if nothing did."""
    import urllib.request

    content = {"Content-Type": "application/json", "User-Agent": f"unstuck/{__version__}", **headers}
    url = f"{endpoint.rstrip('/')}/v1/{path}"
    try:
        asked = urllib.request.Request(url, json.dumps(request).encode(), content)
        with urllib.request.urlopen(asked, timeout=_TIMEOUT_S):
            return ""
    except (OSError, ValueError) as error:
        return f"{url}: {getattr(error, 'reason', None) or error}"


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
