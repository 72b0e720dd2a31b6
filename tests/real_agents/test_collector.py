"""A real OTLP receiver, that of Datadog's test agent, takes what ``unstuck export`` sends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real_agents.conftest import CACHE, ENVIRON
from tests.real_agents.environments import environment

pytestmark = pytest.mark.agents

RECEIVER = "ddapm-test-agent==1.69.1"
AGENT = """
echo 'UNSTUCK {"step": "action", "tool": "bash", "text": "make"}'
echo 'UNSTUCK {"step": "failure", "tool": "bash", "text": "KeyError: 1", "exit_code": 1}'
echo 'UNSTUCK {"step": "usage", "tokens": 1200, "cost": 0.02}'
test $UNSTUCK_RUNG = first || echo hello > greeting.txt
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[str]:
    """The URL of a receiver that takes OTLP in JSON by the protocol's own definitions."""
    cache = ENVIRON.get(CACHE)
    try:
        folder = (Path(cache) if cache else tmp_path) / "collector"
        bin = environment(folder, RECEIVER, environ=ENVIRON, limited=False)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(str(error))
    ports = {name: free_port() for name in ("--port", "--otlp-http-port", "--otlp-grpc-port")}
    command = [str(bin / "ddapm-test-agent"), "--host", "127.0.0.1"]
    for name, port in ports.items():
        command += [name, str(port)]
    environ = {**os.environ, "SNAPSHOT_DIR": str(tmp_path / "snapshots")}
    with (tmp_path / "receiver.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{ports['--otlp-http-port']}"
    try:
        while server.poll() is None:
            try:
                received(url, "traces")
                break
            except OSError:
                time.sleep(0.1)
        assert server.poll() is None, (tmp_path / "receiver.log").read_text("utf-8")
        yield url
    finally:
        server.kill()
        server.wait()


def received(url: str, kind: str) -> list[dict[str, Any]]:
    """The requests that the receiver has decoded."""
    with urllib.request.urlopen(f"{url}/test/session/{kind}") as reply:
        found: list[dict[str, Any]] = json.load(reply)
    return found


def test_a_real_receiver_has_the_run(collector: str, repo: Path, inside: Callable[..., tuple[int, str, str]]) -> None:
    """Every span with its parent, and the sums of tokens and cost, are what the receiver gives out again."""
    (repo / "agent.sh").write_text(AGENT)
    assert inside(repo, "run", "--headless", "--check", "grep -q hello greeting.txt", "--", "sh", "agent.sh")[0] == 0
    code, _, problem = inside(repo, "export", "--otlp", "--follow", "--endpoint", collector)
    assert code == 0, problem
    scopes = [s for one in received(collector, "traces") for r in one["resourceSpans"] for s in r["scopeSpans"]]
    spans = {span["spanId"]: span for scope in scopes for span in scope["spans"]}
    (root,) = [span for span in spans.values() if not span.get("parentSpanId")]
    assert root["name"].startswith("invoke_workflow")
    assert all(span["traceId"] == root["traceId"] for span in spans.values())
    assert all(span["parentSpanId"] in spans for span in spans.values() if span is not root)
    assert all(link["spanId"] in spans for span in spans.values() for link in span.get("links", ()))
    names = sorted(span["name"].split()[0] for span in spans.values())
    assert names == sorted(["invoke_workflow", *["execute_tool", "invoke_agent", "unstuck.check"] * 2])
    (metrics,) = received(collector, "metrics")
    (scope,) = metrics["resourceMetrics"][0]["scopeMetrics"]
    sums = {one["name"]: one["sum"]["dataPoints"] for one in scope["metrics"]}
    assert sum(int(point["asInt"]) for point in sums["unstuck.usage.tokens"]) == 2400
    assert sums["unstuck.usage.cost"][0]["asDouble"] == pytest.approx(0.04)
