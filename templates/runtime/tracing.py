"""OpenTelemetry for calls, where the process uses it: a span and two metrics a call, by the GenAI conventions.

It needs no setting. As soon as the service has set a tracer provider or a meter provider, each call is a span
`execute_tool NAME` and counts in `gen_ai.execute_tool.duration` (seconds) and `toolgen.calls`. Handlers run inside the
span, so that their own spans are below it. Where OpenTelemetry is not installed, or no provider is set, a call costs a
look at the clock.

Names are those of https://opentelemetry.io/docs/specs/semconv/gen-ai/ (status: development); those that begin with
`toolgen.` are ours. Neither arguments nor outputs are told, nor messages of errors, and no name that a model made up.
"""

from __future__ import annotations

import logging
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .calls import Call, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

OPERATION = "execute_tool"

OTHER = "_OTHER"
"""Stands for every name that no tool has."""

AGAIN = 1.0
"""Seconds until it is looked again whether the service has set a provider."""

BOUNDARIES = tuple(0.01 * 2**power for power in range(14))
"""Upper bounds of the histogram's buckets, as the conventions give them for durations of GenAI operations."""


class Telemetry:
    """What records calls, once the service has set a provider."""

    def __init__(self) -> None:
        # Not by a statement: type checkers would miss a library that few services have.
        self.trace: Any = import_module("opentelemetry.trace")
        self.context: Any = import_module("opentelemetry.context")
        self.tracer: Any = self.trace.get_tracer("toolgen")
        meter: Any = import_module("opentelemetry.metrics").get_meter("toolgen")
        self.duration = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="Duration of calls of tools.",
            explicit_bucket_boundaries_advisory=BOUNDARIES,
        )
        self.calls = meter.create_counter(
            "toolgen.calls", unit="{call}", description="Calls by how they ended."
        )

    def begin(self, call: Call, tool: str | None) -> Span | None:
        """Begins the span of a call, as the current one. `tool` is its wire name, None where no tool has the name."""
        try:
            return Span(self, call, tool or OTHER)
        except Exception:  # what only looks on must not keep a call from running
            log.exception("a span could not be begun")
            return None


class Span:
    """The span of one call, while it runs."""

    def __init__(self, telemetry: Telemetry, call: Call, tool: str) -> None:
        self._telemetry = telemetry
        self._tool = tool
        attributes = {
            "gen_ai.operation.name": OPERATION,
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
        }
        if call.call_id:
            attributes["gen_ai.tool.call.id"] = call.call_id
        if call.session_id:
            attributes["gen_ai.conversation.id"] = call.session_id
        trace = telemetry.trace
        self._span = telemetry.tracer.start_span(
            f"{OPERATION} {tool}", kind=trace.SpanKind.INTERNAL, attributes=attributes
        )
        self._token = telemetry.context.attach(trace.set_span_in_context(self._span))
        self._started = time.perf_counter()

    def end(self, result: Result) -> None:
        """Ends the span with the result of the call, and counts it."""
        try:
            self._end(result)
        except Exception:
            log.exception("a span could not be ended")

    def _end(self, result: Result) -> None:
        telemetry = self._telemetry
        seconds = time.perf_counter() - self._started
        telemetry.context.detach(self._token)
        outcome = "succeeded"
        attributes = {
            "gen_ai.operation.name": OPERATION,
            "gen_ai.tool.name": self._tool,
        }
        if result.error is not None:
            outcome = result.error.code
            attributes["error.type"] = outcome
            self._span.set_attribute("error.type", outcome)
            self._span.set_status(telemetry.trace.StatusCode.ERROR)
        telemetry.duration.record(seconds, attributes)
        counted: Mapping[str, Any] = {
            "gen_ai.tool.name": self._tool,
            "toolgen.outcome": outcome,
            "toolgen.replayed": result.replayed,
        }
        telemetry.calls.add(1, counted)
        if result.replayed:
            self._span.set_attribute("toolgen.replayed", True)
        self._span.end()


_telemetry: Telemetry | None = None
_look_at = 0.0


def telemetry() -> Telemetry | None:
    """What records calls; None as long as nobody would see them. It is looked for once in `AGAIN` seconds."""
    if _telemetry is None and time.monotonic() >= _look_at:
        _look()
    return _telemetry


def _look() -> None:
    global _telemetry, _look_at
    _look_at = time.monotonic() + AGAIN
    # Nobody can have set a provider without these modules, and importing them here would cost every service.
    if _is_set("opentelemetry.trace", "get_tracer_provider") or _is_set(
        "opentelemetry.metrics", "get_meter_provider"
    ):
        _telemetry = Telemetry()


def _is_set(module: str, getter: str) -> bool:
    """Whether there is a provider of the service. Those that the API itself has record nothing."""
    get = getattr(sys.modules.get(module), getter, None)
    return get is not None and not type(get()).__module__.startswith(module)
