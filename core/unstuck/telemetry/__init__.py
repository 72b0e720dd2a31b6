"""Runs as OpenTelemetry traces and metrics, sent as OTLP over HTTP with JSON."""
