"""A run as an OpenTelemetry trace: what a collector on this machine receives."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
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

from unstuck import Client
from unstuck.telemetry.otlp import post

Inside = Callable[..., tuple[int, str, str]]
MESSAGES = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
AGENT = """
echo 'UNSTUCK {"step": "action", "tool": "bash", "text": "secret words"}'
echo 'UNSTUCK {"step": "failure", "tool": "bash", "text": "KeyError: 1", "exit_code": 1}'
echo 'UNSTUCK {"step": "usage", "tokens": 1200, "cost": 0.02}'
test $UNSTUCK_RUNG = first || echo hello > greeting.txt
"""


Reply = tuple[int, dict[str, str], dict[str, Any]]
OK: Reply = (200, {}, {})


class Receiver:
    """An OTLP receiver over HTTP, which refuses what the protocol's own definitions do not read.

    ``replies`` are what it answers first, then it takes everything. What it answers with an error is ``refused``.
    """

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.headers: list[str] = []
        self.replies: list[Reply] = []
        self.refused: list[Any] = []
        self.came = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                code, headers, said = receiver.replies.pop(0) if receiver.replies else OK
                body = json.dumps(said).encode()
                with receiver.came:
                    try:
                        message = Parse(_as_protobuf(content), MESSAGES[self.path]())
                        (receiver.got if code == 200 else receiver.refused).append(message)
                        receiver.headers.append(self.headers.get("authorization", ""))
                        self.send_response(code)
                    except Exception as error:
                        self.send_response(400, str(error)[:200].replace("\n", " "))
                    receiver.came.notify_all()
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds`` after a request."""
        with self.came:
            assert self.came.wait_for(holds, timeout=60)

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
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%201, other=2")
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
        (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PARTIAL), PARTIAL), "rejected 3 of them: too old"),
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
        problem = post(f"{url}/v1/traces", {"resourceSpans": []}, {"authorization": "Bearer abc"}, 1.0).problem
        over.set()
    assert problem.startswith(f"{url}/v1/traces: ")
    assert said in problem
    assert problem.isprintable()
    assert receiver.headers == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "http://a b", "collector:4318", "http://[::1", ""])
def test_an_address_that_is_none_is_named(url: str) -> None:
    """No file is read in the place of a collector, and a typing error is one line."""
    assert f"{url}/v1/traces: " in post(f"{url}/v1/traces", {}, {}, 5.0).problem


def test_a_password_in_the_address_is_not_shown() -> None:
    """A problem names the collector, and not how to get in."""
    assert "hunter2pw" not in post("http://me:hunter2pw@127.0.0.1:9/v1/traces", {}, {}, 5.0).problem


BUSY: Reply = (429, {"Retry-After": "0"}, {})


def test_a_busy_collector_is_asked_again(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """After 429, 502, 503 and 504 the same request comes again, and everything has arrived in the end."""
    receiver.replies = [BUSY, *((code, {"Retry-After": "0"}, {}) for code in (503, 502))]
    code, _, problem = inside(worked, "export", "--otlp", "--endpoint", receiver.url)
    assert code == 0, problem
    assert [*receiver.refused] == [receiver.got[0]] * 3
    assert len(receiver.got) == 2
    receiver.replies = [OK, (504, {"Retry-After": "0"}, {})]
    assert inside(worked, "export", "--otlp", "--endpoint", receiver.url)[0] == 0
    assert isinstance(receiver.got[-1], ExportMetricsServiceRequest)


def test_a_collector_that_stays_busy_is_given_up(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """After some tries the command says so and fails; it sends nothing more."""
    receiver.replies = [BUSY] * 50
    code, said, problem = inside(worked, "export", "--otlp", "--endpoint", receiver.url)
    assert (code, said, len(receiver.refused)) == (1, "", 4)
    assert "429" in problem
    assert "not exported whole" in problem


def test_a_refusal_is_not_repeated(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """A refusal for good, such as of a wrong token, is told and not sent again."""
    receiver.replies = [(401, {"Retry-After": "0"}, {})]
    code, _, problem = inside(worked, "export", "--otlp", "--endpoint", receiver.url)
    assert (code, len(receiver.refused)) == (1, 1)
    assert "/v1/traces: 401 Unauthorized" in problem


def test_a_partial_success_is_told(worked: Path, receiver: Receiver, inside: Inside) -> None:
    """Spans that a collector has rejected are counted with its reason; a warning alone is no failure."""
    partly = {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too \x1b[31mold"}}
    receiver.replies = [(200, {}, partly)]
    code, _, problem = inside(worked, "export", "--otlp", "--endpoint", receiver.url)
    assert (code, len(receiver.got)) == (1, 2)
    assert "rejected 3 of them: too old" in problem
    receiver.replies = [
        (200, {}, {"partialSuccess": {"errorMessage": "use gRPC"}}),
        (200, {}, {"partialSuccess": None}),
    ]
    assert inside(worked, "export", "--otlp", "--endpoint", receiver.url)[0] == 0


def test_a_collector_that_hangs_is_left(worked: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that takes the request and never answers costs no more than OTEL_EXPORTER_OTLP_TIMEOUT."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
    monkeypatch.setattr("unstuck.telemetry.otlp._PAUSES_S", (0.0,))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        code, _, problem = inside(worked, "export", "--otlp", "--endpoint", url)
    assert code == 1
    assert f"{url}/v1/traces: timed out" in problem


@pytest.mark.parametrize("said", [b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"])
def test_a_collector_that_breaks_off_is_told(
    said: bytes, worked: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply that is none of a collector is one line, and no traceback."""
    monkeypatch.setattr("unstuck.telemetry.otlp._PAUSES_S", (0.0,))
    with socket.create_server(("127.0.0.1", 0)) as broken:

        def answers() -> None:
            with suppress(OSError):
                while True:
                    connection = broken.accept()[0]
                    with connection, suppress(OSError):
                        connection.recv(100)
                        connection.sendall(said)

        threading.Thread(target=answers, daemon=True).start()
        url = f"http://127.0.0.1:{broken.getsockname()[1]}"
        code, _, problem = inside(worked, "export", "--otlp", "--endpoint", url)
        broken.shutdown(socket.SHUT_RDWR)
    assert code == 1
    assert f"{url}/v1/traces: " in problem


@pytest.mark.parametrize(
    ("variables", "endpoint", "said"),
    [
        ({}, "localhost:4318", "must begin with http:// or https://"),
        ({}, "file:///etc/passwd", "must begin with http:// or https://"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "http://localhost", "OTEL_EXPORTER_OTLP_TIMEOUT"),
    ],
)
def test_a_wrong_endpoint_is_told(
    variables: dict[str, str], endpoint: str, said: str, worked: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong setting is one line with the exit code of a wrong call."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, _, problem = inside(worked, "export", "--otlp", "--endpoint", endpoint)
    assert code == 2
    assert said in problem


def doors(repo: Path) -> list[Path]:
    """Write an agent that waits in each of its two attempts; return what opens when it is written."""
    found = [repo / f"door.{level}" for level in ("first", "retry")]
    for door in found:
        os.mkfifo(door)
    (repo / "agent.sh").write_text(AGENT.replace("test $UNSTUCK_RUNG", "cat door.$UNSTUCK_RUNG; test $UNSTUCK_RUNG"))
    return found


def test_a_live_run_is_followed(repo: Path, receiver: Receiver) -> None:
    """Spans leave while the run works, also those that a collector could not take at first; the run's own is last."""
    first, second = doors(repo)
    receiver.replies = [BUSY]
    client = Client(repo)
    started = client.start("Greet.", agent=["sh", "agent.sh"], check="grep -q hello greeting.txt")
    command = [sys.executable, "-m", "unstuck", "export", "--otlp", "--follow", "--endpoint", receiver.url]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, text=True) as following:
        receiver.until(lambda: bool(receiver.refused))
        first.write_text("")
        receiver.until(lambda: "unstuck.check" in [span.name for span in receiver.spans])
        assert client.state().run == started.run
        second.write_text("")
        assert started.wait() == 0
        assert following.wait() == 0
    kept = [span.name.split()[0] for span in receiver.spans]
    assert kept[-1] == "invoke_workflow"
    assert (kept.count("invoke_agent"), kept.count("unstuck.check")) == (2, 2)
    assert receiver.refused[0].resource_spans[0].scope_spans[0].spans[0] in receiver.spans
    assert isinstance(receiver.got[-1], ExportMetricsServiceRequest)


def test_a_collector_that_comes_back_gets_what_it_has_missed(repo: Path, receiver: Receiver) -> None:
    """A run that is followed while the collector is down works as ever, and is whole in the collector at the end."""
    first, second = doors(repo)
    receiver.replies = [(503, {"Retry-After": "600"}, {})]
    started = Client(repo).start("Greet.", agent=["sh", "agent.sh"], check="grep -q hello greeting.txt")
    command = [sys.executable, "-m", "unstuck", "export", "--otlp", "--follow", "--endpoint", receiver.url]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, text=True) as following:
        receiver.until(lambda: bool(receiver.refused))
        for door in (first, second):
            door.write_text("")
        assert started.wait() == 0
        assert following.wait() == 0
    kept = [span.name.split()[0] for span in receiver.spans]
    assert (kept.count("invoke_agent"), kept.count("invoke_workflow"), kept.count("execute_tool")) == (2, 1, 2)
    assert len(receiver.got) == 2
