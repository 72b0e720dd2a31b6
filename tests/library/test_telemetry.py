"""A run as an OpenTelemetry trace: what a collector on this machine receives."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from unstuck.telemetry.otlp import send

Inside = Callable[..., tuple[int, str, str]]
MESSAGES = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
AGENT = """
echo 'UNSTUCK {"step": "action", "tool": "bash", "text": "secret words"}'
echo 'UNSTUCK {"step": "failure", "tool": "bash", "text": "KeyError: 1", "exit_code": 1}'
echo 'UNSTUCK {"step": "usage", "tokens": 1200, "cost": 0.02}'
test $UNSTUCK_RUNG = first || echo hello > greeting.txt
"""


class Receiver:
    """An OTLP receiver over HTTP, which refuses what the protocol's own definitions do not read."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.headers: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    receiver.got.append(Parse(_as_protobuf(content), MESSAGES[self.path]()))
                    receiver.headers.append(self.headers.get("authorization", ""))
                    self.send_response(200)
                except Exception as error:
                    self.send_response(400, str(error)[:200].replace("\n", " "))
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def spans(self) -> list[Any]:
        traces = [message for message in self.got if isinstance(message, ExportTraceServiceRequest)]
        return [span for one in traces for r in one.resource_spans for scope in r.scope_spans for span in scope.spans]


def _as_protobuf(content: bytes) -> str:
    """OTLP writes ids in hexadecimal, where JSON of protocol buffers has base64."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(one) for one in value]
        if not isinstance(value, dict):
            return value
        ids = ("traceId", "spanId", "parentSpanId")
        return {
            name: base64.b64encode(bytes.fromhex(one)).decode() if name in ids else changed(one)
            for name, one in value.items()
        }

    return json.dumps(changed(json.loads(content)))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    threading.Thread(target=one.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def worked(repo: Path, inside: Inside) -> Path:
    """A project whose run needed two attempts."""
    (repo / "agent.sh").write_text(AGENT)
    code, _, problem = inside(
        repo, "run", "--headless", "--check", "grep -q hello greeting.txt", "--", "sh", "agent.sh"
    )
    assert code == 0, problem
    return repo


def told(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_collector_gets_the_trace_of_a_run(
    worked: Path, receiver: Receiver, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is the root, attempts and tool steps hang below it, checks link to the attempt that they judge."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer 1, other=2")
    code, said, problem = inside(worked, "export", "--otlp", "--endpoint", receiver.url)
    assert code == 0, problem
    assert receiver.url in said
    spans = {span.span_id: span for span in receiver.spans}
    by_name: dict[str, list[Any]] = {}
    for span in spans.values():
        by_name.setdefault(span.name.split()[0], []).append(span)
    (root,) = by_name["invoke_workflow"]
    assert not root.parent_span_id
    assert told(root)["gen_ai.operation.name"] == "invoke_workflow"
    assert told(root)["unstuck.run.exit_reason"] == "succeeded"
    attempts = sorted(by_name["invoke_agent"], key=lambda span: span.start_time_unix_nano)
    assert [told(span)["unstuck.escalation.level"] for span in attempts] == ["first", "retry"]
    assert all(span.parent_span_id == root.span_id for span in attempts)
    assert told(attempts[0])["gen_ai.usage.input_tokens"] == 1200
    (first, _) = steps = by_name["execute_tool"]
    assert told(first)["gen_ai.tool.name"] == "bash"
    assert told(first)["error.type"] == "KEY_ERROR"
    assert {step.parent_span_id for step in steps} == {span.span_id for span in attempts}
    checks = sorted(by_name["unstuck.check"], key=lambda span: span.end_time_unix_nano)
    assert [told(span)["unstuck.check.result"] for span in checks] == ["failed", "passed"]
    assert [span.links[0].span_id for span in checks] == [span.span_id for span in attempts]
    for span in spans.values():
        assert span.trace_id == root.trace_id
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    (metrics,) = [one for one in receiver.got if isinstance(one, ExportMetricsServiceRequest)]
    found = {one.name: one for one in metrics.resource_metrics[0].scope_metrics[0].metrics}
    assert sum(point.as_int for point in found["unstuck.usage.tokens"].sum.data_points) == 2400
    assert found["unstuck.usage.cost"].sum.data_points[0].as_double == pytest.approx(0.04)
    assert set(receiver.headers) == {"Bearer 1"}
    assert metrics.resource_metrics[0].schema_url.startswith("https://opentelemetry.io/schemas/1.")


def test_no_text_leaves_the_machine_unasked(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """Commands, prompts and outputs are in the export only with ``--texts``."""
    assert inside(worked, "export", "--otlp", "--endpoint", receiver.url)[0] == 0
    assert "secret words" not in str(receiver.got)
    assert "greeting.txt" not in str(receiver.got)
    assert inside(worked, "export", "--otlp", "--endpoint", receiver.url, "--texts")[0] == 0
    assert "secret words" in str(receiver.got)


def test_it_is_the_same_in_a_file_and_followed(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """``--file`` holds the same spans, one request a line, and so does what is followed; ids are the same each time."""
    file = worked / "trace.jsonl"
    assert inside(worked, "export", "--otlp", "--file", str(file))[0] == 0
    assert inside(worked, "export", "--otlp", "--follow", "--endpoint", receiver.url)[0] == 0
    traces = [Parse(_as_protobuf(line), ExportTraceServiceRequest()) for line in file.read_bytes().splitlines()[:-1]]
    kept = [span for one in traces for span in one.resource_spans[0].scope_spans[0].spans]
    assert [span.span_id for span in kept] == [span.span_id for span in receiver.spans]


def test_a_question_is_a_span(repo: Path, receiver: Receiver, inside: Inside) -> None:
    """A question that waits when the run pauses is in the trace, with its type, and the run is not a success."""
    (repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n")
    assert inside(repo, "run", "--headless", "--check", "false", "--", "true")[0] == 3
    assert inside(repo, "export", "--otlp", "--endpoint", receiver.url)[0] == 0
    (question,) = [span for span in receiver.spans if span.name.startswith("unstuck.question")]
    assert told(question)["unstuck.question.type"] == "stuck"
    assert question.links[0].span_id in {span.span_id for span in receiver.spans}
    (root,) = [span for span in receiver.spans if not span.parent_span_id]
    assert told(root)["unstuck.run.exit_reason"] == "needs_person"


def test_a_collector_that_is_down_costs_nothing(worked: Path, inside: Inside) -> None:
    """The command says which URL did not answer, and the run's log is as it was."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    (log,) = (worked / ".git" / "unstuck" / "runs").glob("*/events.jsonl")
    before = log.read_bytes()
    code, _, problem = inside(worked, "export", "--otlp", "--endpoint", url)
    assert code == 1
    assert f"{url}/v1/traces" in problem
    assert log.read_bytes() == before


LOGIN = b"HTTP/1.1 302 Found\r\nLocation: %s/v1/traces\r\nContent-Length: 0\r\n\r\n"
PARTIAL = b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (LOGIN, "Found"),
        (b"\x1b]0;mine\x07junk\r\n\r\n", "junk"),
        (b"HTTP/1.1 500 \x1b]0;mine\x07\x1b[31mfull\r\nContent-Length: 0\r\n\r\n", "full"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PARTIAL), PARTIAL), "3 rejected: too old"),
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", "no answer in time"),
    ],
)
def test_a_hostile_collector_gets_no_keys_and_no_terminal(receiver: Receiver, answer: bytes, said: str) -> None:
    """Whatever it answers is one clear line; no redirect takes the keys elsewhere, and no export waits for ever."""
    over = threading.Event()

    def answered(connection: socket.socket) -> None:
        with connection:
            connection.recv(1 << 20)
            connection.sendall(answer % receiver.url.encode() if answer is LOGIN else answer)
            while "Slow" in answer.decode() and not over.wait(0.05):
                connection.sendall(b"a")

    def serve() -> None:
        while not over.is_set():
            with suppress(OSError):
                connection, _ = listening.accept()
                threading.Thread(target=answered, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        problem = send(url, "traces", {"resourceSpans": []}, {"authorization": "Bearer abc"})
        over.set()
    assert problem.startswith(f"{url}/v1/traces: ")
    assert said in problem
    assert problem.isprintable()
    assert receiver.headers == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "http://a b", "collector:4318", "http://[::1", ""])
def test_an_address_that_is_none_is_named(url: str) -> None:
    """No file is read in the place of a collector, and a typing error is one line."""
    assert f"{url}/v1/traces: " in send(url, "traces", {}, {})


def test_a_password_in_the_address_is_not_shown() -> None:
    """A problem names the collector, and not how to get in."""
    assert "hunter2pw" not in send("http://me:hunter2pw@127.0.0.1:9", "traces", {}, {})
