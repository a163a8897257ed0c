"""HTTP in and out: reads requests for the state machines and writes their replies, with Starlette.

Everything that takes time happens here: delays, streams, and steps that a state machine does later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from codegen.simulator.agents import Agents
from codegen.simulator.bedrock import Bedrock
from codegen.simulator.oci import Oci
from codegen.simulator.oci_inference import OciInference
from codegen.simulator.oci_tools import OciTools
from codegen.simulator.record import Exchange
from codegen.simulator.responses import Responses
from codegen.simulator.scenario import Scenario, ScenarioError
from codegen.simulator.stage import Stage
from codegen.simulator.weather import weather_routes
from codegen.simulator.wire import Cut, Incoming, Later, Refusal, Reply, Route, Stream, Surface, dump_json, load_json

# The OCI client reads an answer only when its content type is exactly this, without a charset.
_JSON = "application/json"

_log = logging.getLogger(__name__)
_log.addFilter(lambda record: "returned without completing response" not in record.getMessage())


class Protocol(H11Protocol):
    """uvicorn's HTTP, without access log and without complaints of answers that are broken off on purpose."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger, self.access_log = _log, False


class Host:
    """One simulated server: the APIs over one `Stage`, and the endpoints of the simulator itself.

    State is touched only under `lock`, because a `Simulator` is asked for reports from other threads.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.lock = threading.RLock()
        self._agents = Agents(stage)
        tools = OciTools(stage)
        self._surfaces: list[Surface] = [
            self._agents,
            Responses(stage),
            tools,
            Oci(stage, tools),
            OciInference(stage),
            Bedrock(stage),
        ]
        self.ending = 0
        """Answers that are being written and have an end: a client may have all of one before the record has."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def asgi(self) -> Starlette:
        """The application."""
        routes = [
            *(self._http_route(surface, route) for surface in self._surfaces for route in surface.routes()),
            *(self._http_route(None, route) for route in [*weather_routes(), *self._own_routes()]),
        ]
        return Starlette(routes=routes)

    def stop(self) -> None:
        """Ends open streams and delays. Safe to call from any thread."""
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)

    def _http_route(self, surface: Surface | None, route: Route) -> HttpRoute:
        async def endpoint(request: Request) -> Response:
            return await self._serve(surface, route, request)

        return HttpRoute(route.path, endpoint, methods=[route.method])

    # --- one request ---

    async def _serve(self, surface: Surface | None, route: Route, request: Request) -> Response:
        self._loop = asyncio.get_running_loop()
        if self._stopping is None:
            self._stopping = asyncio.Event()
        raw = await request.body()
        with self.lock:
            incoming, exchange = self._read(surface, route, request, raw)
            reply = self._reply(surface, route, incoming, exchange)
            self._schedule(reply.later)
        return _Answer(self, reply, exchange, self._loop, self._stopping)

    def _read(
        self, surface: Surface | None, route: Route, request: Request, raw: bytes
    ) -> tuple[Incoming | None, Exchange]:
        """The request for the state machines (None when its body is no JSON), and its entry in the record."""
        body, readable = None, True
        if raw:
            try:
                body = load_json(raw)
            except (ValueError, RecursionError):
                body, readable = raw.decode("utf-8", "replace"), False
        incoming = Incoming(
            route.method,
            request.url.path,
            dict(request.path_params),
            dict(request.query_params),
            {name.lower(): value for name, value in request.headers.items()},
            body,
        )
        scenario = surface.scenario_of(route.operation, incoming) if surface is not None and readable else None
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        api = surface.api if surface is not None else "simulator"
        number = len(self.stage.ledger.exchanges) + 1
        exchange = Exchange(number, api, route.operation, route.method, target, scenario, body)
        if not (surface is None and route.operation.startswith("simulator.")):
            self.stage.ledger.exchanges.append(exchange)
        return incoming if readable else None, exchange

    def _reply(self, surface: Surface | None, route: Route, incoming: Incoming | None, exchange: Exchange) -> Reply:
        try:
            if incoming is None:
                message = "The body of the request is not JSON."
                raise surface.refusal(400, "invalid_json", message) if surface else Refusal(400, {"error": message})
            if surface is not None and exchange.scenario is not None:
                scenario = self.stage.scenarios[exchange.scenario]
                self.stage.request_fault(surface, scenario, route.operation)
            return route.answer(incoming)
        except Refusal as refusal:
            exchange.outcome = "fault" if refusal.fault else "refused"
            return Reply(refusal.status, refusal.body, refusal.headers)

    def _schedule(self, later: Sequence[Later]) -> None:
        loop = self._loop
        assert loop is not None
        for item in later:
            loop.call_soon_threadsafe(loop.call_later, item.seconds, self._run, item)

    def _run(self, item: Later) -> None:
        with self.lock:
            self._schedule(item.run())

    # --- the simulator's own endpoints ---

    def _own_routes(self) -> Sequence[Route]:
        base = "/_simulator"
        return [
            Route("simulator.report", "GET", f"{base}/report", self._report),
            Route("simulator.transcript", "GET", f"{base}/transcript", self._transcript),
            Route("simulator.scenarios", "POST", f"{base}/scenarios", self._add_scenario),
            Route("simulator.connect", "POST", f"{base}/environments/{{environment_id}}/connect", self._connect),
        ]

    def _report(self, request: Incoming) -> Reply:
        report = self.stage.ledger.report(list(self.stage.scenarios))
        return Reply(body=report.to_dict())

    def _transcript(self, request: Incoming) -> Reply:
        return Reply(body=self.stage.ledger.report([]).transcript())

    def _add_scenario(self, request: Incoming) -> Reply:
        try:
            scenario = Scenario.parse(request.body, "request")
            self.add(scenario)
        except ScenarioError as error:
            return Reply(400, {"problems": error.problems})
        return Reply(201, {"name": scenario.name})

    def add(self, scenario: Scenario) -> None:
        """Adds a scenario. Raises `ScenarioError` when there is one of the same name."""
        with self.lock:
            if scenario.name in self.stage.scenarios:
                raise ScenarioError(scenario.name, ["a scenario of this name is already there"])
            self.stage.scenarios[scenario.name] = scenario

    def _connect(self, request: Incoming) -> Reply:
        return Reply(status=204, later=self._agents.connect(request.params["environment_id"]))


class _Answer(Response):
    """Writes a `Reply`: waits, streams, or breaks off as it says."""

    def __init__(
        self, host: Host, reply: Reply, exchange: Exchange, loop: asyncio.AbstractEventLoop, stopping: asyncio.Event
    ) -> None:
        self._host = host
        self._reply = reply
        self._exchange = exchange
        self._loop = loop
        self._stopping = stopping
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_disconnected(receive))
        has_end = self._exchange.api != "openai_agents"  # whose streams stay open between turns
        self._host.ending += has_end
        try:
            if self._reply.delay and not await self._pause(gone):
                await self._break_off(send, [])
            elif self._reply.lost:
                await self._break_off(send, [(b"content-type", _JSON.encode())])
            elif self._reply.stream is not None:
                await self._write_stream(self._reply.stream, send, gone)
            else:
                await self._write_body(send)
        except (ClientDisconnect, OSError):
            self._exchange.outcome = "lost"
        finally:
            self._host.ending -= has_end
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    async def _pause(self, gone: asyncio.Task[None]) -> bool:
        """Waits for the reply's delay; false when the client or the server went away meanwhile."""
        stopped = asyncio.create_task(self._stopping.wait())
        done, _ = await asyncio.wait({gone, stopped}, timeout=self._reply.delay, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        return not done

    async def _break_off(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        """Begins an answer and leaves it: returning without the body that was announced closes the connection."""
        self._exchange.outcome = "lost"
        start = {"status": self._reply.status, "headers": [*headers, (b"content-length", b"1")]}
        await send({"type": "http.response.start", **start})

    async def _write_body(self, send: Send) -> None:
        reply = self._reply
        body = b"" if reply.body is None else dump_json(reply.body).encode()
        headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
        if reply.body is not None:
            headers.append((b"content-type", _JSON.encode()))
        if reply.status != 204:
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        self._finish(reply.body)
        await send({"type": "http.response.body", "body": body})

    def _finish(self, body: Any = None) -> None:
        with self._host.lock:
            self._exchange.status = self._reply.status
            self._exchange.response = body
            self._reply.commit()

    async def _write_stream(self, stream: Stream, send: Send, gone: asyncio.Task[None]) -> None:
        news = asyncio.Event()

        def wake() -> None:
            self._loop.call_soon_threadsafe(news.set)

        stream.wake = wake
        self._exchange.status = self._reply.status
        headers = [(b"content-type", stream.content_type.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": self._reply.status, "headers": headers})
        try:
            while not gone.done() and not self._stopping.is_set():
                with self._host.lock:
                    item = stream.take()
                if item is Cut.ABORT:  # returning in the middle of a body makes the server close the connection
                    self._exchange.outcome = "lost"
                    return
                if item is Cut.CLEAN:
                    self._finish()
                    break
                if item is None:
                    await self._news(news, gone)
                    continue
                self._exchange.events.append(item.name)
                await send({"type": "http.response.body", "body": stream.frame(item), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            with self._host.lock:
                stream.wake = lambda: None
                stream.closed()

    async def _news(self, news: asyncio.Event, gone: asyncio.Task[None]) -> None:
        """Waits until there is something new, or no one to tell it to."""
        waits = [asyncio.create_task(event.wait()) for event in (news, self._stopping)]
        await asyncio.wait({gone, *waits}, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        news.clear()


async def _disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    """Returns once the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
