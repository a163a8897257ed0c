"""Real OCI clients that talk to a server on this machine, and a server that answers whatever a test says."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from oci.circuit_breaker import NoCircuitBreakerStrategy
from oci.generative_ai_agent import GenerativeAiAgentClient
from oci.generative_ai_agent_runtime import GenerativeAiAgentRuntimeClient
from oci.retry import NoneRetryStrategy

from examples.unsigned_oci import CONFIG, NoSigner

AGENT = "ocid1.genaiagent.oc1..agent"
ENDPOINT = "ocid1.genaiagentendpoint.oc1..endpoint"
COMPARTMENT = "ocid1.compartment.oc1..compartment"


def runtime_client(url: str, **options: Any) -> Any:
    """The client of sessions and chat."""
    return GenerativeAiAgentRuntimeClient(CONFIG, **_options(url, options))


def management_client(url: str, **options: Any) -> Any:
    """The client of tools and work requests."""
    return GenerativeAiAgentClient(CONFIG, **_options(url, options))


def _options(url: str, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "service_endpoint": url,
        "signer": NoSigner(),
        "retry_strategy": NoneRetryStrategy(),
        "circuit_breaker_strategy": NoCircuitBreakerStrategy(),
        "timeout": (10, 30),
    } | options


@dataclass(slots=True)
class Answer:
    """One answer of the server."""

    body: Any = ""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Whether the connection ends before the body is complete."""


def events(*fragments: Any, cut: bool = False) -> Answer:
    """An event stream of fragments; a text is sent as the data of an event as it is."""
    texts = [fragment if isinstance(fragment, str) else json.dumps(fragment) for fragment in fragments]
    return Answer("".join(f"data: {text}\n\n" for text in texts), content_type="text/event-stream", cut=cut)


@dataclass(slots=True)
class Canned:
    """A server that gives its answers one after the other, the last one again and again; and what it was asked."""

    url: str
    requests: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    """Method, path and parsed body."""
    tokens: list[str | None] = field(default_factory=list["str | None"])
    """The `opc-retry-token` of each request."""

    def bodies(self) -> list[Any]:
        """The bodies of all requests."""
        return [body for _, _, body in self.requests]


@contextmanager
def canned(answers: Sequence[Answer | dict[str, Any]]) -> Iterator[Canned]:
    """Runs a server with these answers; a dict is a JSON answer."""
    waiting = [answer if isinstance(answer, Answer) else Answer(answer) for answer in answers]
    state = Canned("")
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes, and the second must not wait

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            with lock:
                state.requests.append((self.command, self.path, json.loads(body) if body else None))
                state.tokens.append(self.headers.get("opc-retry-token"))
                answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            data = text.encode()
            self.send_response(answer.status)
            for name, value in {"content-type": answer.content_type, **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data) + (1 if answer.cut else 0)))
            if answer.cut:
                self.send_header("connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def drive_without_sleep(package: str, dispatcher: Any, steps: Generator[Any, Any, Any], slept: list[float]) -> Any:
    """Drives a loop of a package with its own driver; sleeps take no time and are noted."""
    module = importlib.import_module(f"{package}.runtime.steps")

    def awake() -> Generator[Any, Any, Any]:
        step = next(steps)
        try:
            while True:
                if isinstance(step, module.Sleep):
                    slept.append(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    outcome = yield step
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as stop:
            return stop.value

    return module.drive(dispatcher, awake())
