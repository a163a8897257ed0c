"""OpenTelemetry, with its real SDK: what a service sees of its calls."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, StatusCode

Make = Callable[..., Any]
Runtime = Callable[[str], ModuleType]


class Seen:
    """What a service that has set its providers gets to see."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])

    @property
    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())

    def points(self, metric: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """The data of a metric by its attributes, sorted."""
        data: Any = self.reader.get_metrics_data()
        return {
            tuple(sorted(point.attributes.items())): point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        }


@pytest.fixture
def seen(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Providers can be set only once a process: so the API hands out these."""
    made = Seen()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: made.tracers)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: made.meters)
    monkeypatch.setattr(trace, "get_tracer", made.tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", made.meters.get_meter)
    monkeypatch.setattr(runtime("tracing"), "_look_at", 0.0)
    monkeypatch.setattr(runtime("tracing"), "_telemetry", None)  # and again after the test
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


async def test_a_call_is_a_span(dispatcher: Make, call: Make, seen: Seen) -> None:
    await dispatcher(pay=lambda args, call: "paid").execute(call("pay", key="secret"))
    (span,) = seen.spans
    assert (span.name, span.kind, span.status.status_code) == ("execute_tool pay", SpanKind.INTERNAL, StatusCode.UNSET)
    assert dict(span.attributes) == {
        names.GEN_AI_OPERATION_NAME: "execute_tool",
        names.GEN_AI_TOOL_NAME: "pay",
        names.GEN_AI_TOOL_TYPE: "function",
        names.GEN_AI_TOOL_CALL_ID: "call_1",
        names.GEN_AI_CONVERSATION_ID: "session_1",
    }
    ((attributes, point),) = seen.points("gen_ai.execute_tool.duration").items()
    assert dict(attributes) == {names.GEN_AI_OPERATION_NAME: "execute_tool", names.GEN_AI_TOOL_NAME: "pay"}
    assert point.count == 1


async def test_a_call_that_fails_says_how_and_nothing_else(dispatcher: Make, call: Make, seen: Seen, api: Any) -> None:
    def pay(args: Any, call: Any) -> None:
        raise api.ToolError(f"no money for {args.key}")

    d = dispatcher(pay=pay)
    await d.execute(call("pay", key="secret"))
    await d.execute(call("pay", arguments='{"key": 5, "secret": 1}'))
    assert [span.attributes[ERROR_TYPE] for span in seen.spans] == ["handler_error", "invalid_arguments"]
    assert {span.status.status_code for span in seen.spans} == {StatusCode.ERROR}
    told = repr([(span.to_json(), span.events) for span in seen.spans]) + repr(seen.points("toolgen.calls"))
    assert "secret" not in told
    assert "money" not in told


async def test_calls_are_counted_by_how_they_end(dispatcher: Make, call: Make, seen: Seen, runtime: Runtime) -> None:
    d = dispatcher(pay=lambda args, call: "paid", journal=runtime("journal.memory").MemoryJournal())
    for key in ("a", "a", "b"):
        await d.execute(call("pay", key=key))
    assert {
        tuple(value for _, value in attributes): point.value
        for attributes, point in seen.points("toolgen.calls").items()
    } == {("pay", "succeeded", False): 1, ("pay", "succeeded", True): 1, ("pay", "call_conflict", False): 1}
    assert [span.attributes.get("toolgen.replayed") for span in seen.spans] == [None, True, None]


async def test_names_that_a_model_made_up_are_not_told(dispatcher: Make, call: Make, seen: Seen) -> None:
    await dispatcher().execute(call("no such tool"))
    (span,) = seen.spans
    assert span.name == "execute_tool _OTHER"
    assert span.attributes[names.GEN_AI_TOOL_NAME] == "_OTHER"
    assert span.attributes[ERROR_TYPE] == "unknown_tool"


async def test_the_spans_of_handlers_are_below(dispatcher: Make, call: Make, seen: Seen) -> None:
    tracer = trace.get_tracer("the service")

    def plain(args: Any, call: Any) -> None:
        tracer.start_span("plain").end()

    async def waits(args: Any, call: Any) -> None:
        await asyncio.sleep(0)
        with tracer.start_as_current_span("async"):
            await d.execute(inner)

    inner = call("ping", call_id="inner")
    d = dispatcher(pay=waits, look_up=plain, ping=lambda args, call: None)
    with tracer.start_as_current_span("request"):
        await d.execute_all([call("pay", key="a"), call("look_up", key="a", call_id="call_2")])
        tracer.start_span("after").end()
    spans = {span.name: span for span in seen.spans}
    assert {name: span.parent and _name(spans, span.parent.span_id) for name, span in spans.items()} == {
        "request": None,
        "execute_tool pay": "request",
        "execute_tool look_up": "request",
        "async": "execute_tool pay",
        "execute_tool ping": "async",
        "plain": "execute_tool look_up",
        "after": "request",
    }


def _name(spans: dict[str, Any], span_id: int) -> str:
    (name,) = (name for name, span in spans.items() if span.context.span_id == span_id)
    return name


async def test_a_call_that_is_cancelled_ends_its_span(dispatcher: Make, call: Make, seen: Seen) -> None:
    begun = asyncio.Event()

    async def pay(args: Any, call: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(dispatcher(pay=pay).execute(call("pay", key="a")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (span,) = seen.spans
    assert span.attributes[ERROR_TYPE] == "cancelled"


PROGRAM = """
import asyncio, sys
sys.path.insert(0, {folder!r})
import {name}
from {name}.runtime import Call, tracing

class Handlers:
    def ping(self, args, call): return "pong"

d = {name}.dispatcher(Handlers())
def run():
    return d.execute_sync(Call("ping")).output
"""


def _run(tools: ModuleType, program: str) -> str:
    assert tools.__file__ is not None
    folder = str(Path(tools.__file__).parents[1])
    text = PROGRAM.format(folder=folder, name=tools.__name__) + program
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_opentelemetry_is_not_imported_for_nobody(tools: ModuleType) -> None:
    program = """
assert run() == "pong"
print(tracing.telemetry(), [name for name in sys.modules if name.startswith("opentelemetry")])
"""
    assert _run(tools, program) == "None []\n"


def test_a_service_that_only_has_the_library_is_not_traced(tools: ModuleType) -> None:
    program = """
from opentelemetry import metrics, trace
assert run() == "pong"
print(tracing.telemetry())
"""
    assert _run(tools, program) == "None\n"


def test_a_provider_may_be_set_after_the_first_call(tools: ModuleType) -> None:
    program = """
assert run() == "pong"
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
trace.set_tracer_provider(provider := TracerProvider())
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracing._look_at = 0.0  # a second later
assert run() == "pong"
print([span.name for span in exporter.get_finished_spans()])
"""
    assert _run(tools, program) == "['execute_tool ping']\n"


def test_what_fails_in_opentelemetry_fails_no_call(
    dispatcher: Make, call: Make, seen: Seen, monkeypatch: pytest.MonkeyPatch, runtime: Runtime
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    for name in ("on_start", "on_end"):
        monkeypatch.setattr(seen.tracers._active_span_processor, name, broken)
    assert dispatcher(pay=lambda args, call: "paid").execute_sync(call("pay", key="a")).output == "paid"
