"""``unstuck export``: a run for other tools."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from itertools import islice
from pathlib import Path

import click

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.log.record_reader import RunReader
from unstuck.runs.queries.run_list import find_run, is_live
from unstuck.telemetry.otlp import ENDPOINT, Delivery, metrics_request, trace_request
from unstuck.telemetry.trace import Tracer, spans_of
from unstuck.text import one_line
from unstuck_tui.cli.common import complain, echo, here, project_option
from unstuck_tui.cli.names import run_ids

_PAUSE_S, _BATCH = 1.0, 200


@click.command(name="export")
@click.argument("run", default="last", shell_complete=run_ids)
@click.option("--otlp", is_flag=True, help="Send traces and metrics over HTTP, as OpenTelemetry collectors take them.")
@click.option("--endpoint", metavar="URL", help=f"Collector; by default OTEL_EXPORTER_OTLP_ENDPOINT, else {ENDPOINT}.")
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="Write the requests to FILE, one a line.")
@click.option("--follow", "-f", is_flag=True, help="Follow the run until it ends.")
@click.option("--texts", is_flag=True, help="Include prompts, commands and questions.")
@project_option
def command(
    run: str, project: Path, otlp: bool, endpoint: str | None, file: Path | None, follow: bool, texts: bool
) -> None:
    """Export RUN as an OpenTelemetry trace with metrics of its usage: an id, the start of an id, or last.

    Nothing of prompts and outputs is sent unless you give --texts. A collector that is down costs only this export.
    """
    if not otlp:
        raise UsageError("name the format: unstuck export --otlp")
    if file is not None and endpoint:
        raise UsageError("--endpoint and --file exclude each other")
    place = here(project)
    run = find_run(place, run)
    reader, tracer = RunReader(place.runs / run), Tracer(run, texts=texts)
    wait, live = partial(time.sleep, _PAUSE_S), partial(is_live, place, run)
    spans = spans_of(tracer, reader.follow(is_live=live, wait=wait) if follow else reader.records())
    if file is not None:
        with file.open("w", encoding="utf-8") as out:
            while batch := list(islice(spans, 1 if follow else _BATCH)):
                out.write(json.dumps(trace_request(batch)) + "\n")
                out.flush()
            out.write(json.dumps(metrics_request(tracer.metrics)) + "\n")
        return
    delivery = Delivery(endpoint, os.environ)
    (delivery.follow if follow else delivery.send)(spans)
    delivery.send_metrics(tracer.metrics)
    for problem in delivery.problems:
        complain(problem)
    if delivery.problems:
        raise UnstuckError(f"{run} was not exported whole: send it again, or write it with --file")
    echo(f"{run} exported to {one_line(delivery.endpoint, 300)}")
