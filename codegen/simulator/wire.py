"""What passes between the HTTP layer and the state machines of the APIs.

The HTTP layer (`codegen.simulator.app`) reads a request into an `Incoming` and writes out a `Reply`; the state machines
know nothing else of HTTP, never wait and never do I/O, so each can be read from top to bottom.
"""

from __future__ import annotations

import enum
import json
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Api = Literal["openai_agents", "openai_responses", "oci_agents", "oci_inference", "bedrock"]
"""The APIs, by the ids that toolgen's targets have."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request. Header names are in lower case; `body` is the parsed JSON, None where there was none."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream. `mark` has its roles in a step, the same on every API: "call", "answer", "end"."""

    name: str
    data: dict[str, Any]
    mark: str = ""

    def answers_to(self, names: Collection[str]) -> bool:
        """Whether one of `names` is its name or one of its roles."""
        return self.name in names or any(role in names for role in self.mark.split())


class Cut(enum.Enum):
    """How a stream ends: as it should, or with the connection torn down in the middle of the answer."""

    CLEAN = "clean"
    ABORT = "abort"


class Stream:
    """The events of one open event stream, in order, waiting to be written.

    State machines `push` and `end`; the HTTP layer takes what is there with `take` and sets `wake` to be told of more.
    """

    content_type = "text/event-stream"

    def __init__(
        self, *, named: bool = True, decorate: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    ) -> None:
        self.named = named
        self.wake: Callable[[], None] = _nothing
        self.closed: Callable[[], None] = _nothing
        self._decorate = decorate
        self._waiting: deque[Event | Cut] = deque()
        self._ended = False

    def push(self, *events: Event) -> None:
        """Adds events; a stream that has ended takes no more."""
        if not self._ended:
            self._waiting.extend(events)
            self.wake()

    def end(self, cut: Cut = Cut.CLEAN) -> None:
        """Ends the stream after what has been pushed."""
        if not self._ended:
            self._ended = True
            self._waiting.append(cut)
            self.wake()

    def take(self) -> Event | Cut | None:
        """The next event, or how the stream ends; None when there is nothing yet."""
        return self._waiting.popleft() if self._waiting else None

    def frame(self, event: Event) -> bytes:
        """An event as it goes over the wire."""
        data = self._decorate(event.data) if self._decorate else event.data
        head = f"event: {event.name}\n" if self.named else ""
        return f"{head}data: {dump_json(data)}\n\n".encode()


def _nothing() -> None:
    return None


@dataclass(slots=True)
class Later:
    """Something a state machine does by itself after `seconds`; it may ask for more of the same."""

    seconds: float
    run: Callable[[], Sequence[Later]]


@dataclass(slots=True)
class Reply:
    """One answer: `body` as JSON, or a `stream`, or nothing at all."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Stream | None = None
    delay: float = 0.0
    """Seconds before the answer is sent."""
    commit: Callable[[], None] = _nothing
    """Called once the answer has been written in full; what it does has no effect on a client that never got it."""
    lost: bool = False
    """The connection is closed instead of an answer."""
    later: Sequence[Later] = ()


class Refusal(Exception):
    """A request that is answered with an error.

    `status` is the HTTP status, `body` the error in the API's own shape, `headers` what goes with it. `fault` is true
    when a scenario asked for the error, false when the client is to blame.
    """

    def __init__(
        self, status: int, body: Any, headers: Mapping[str, str] | None = None, *, fault: bool = False
    ) -> None:
        super().__init__(f"{status}: {dump_json(body)}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of an API: its name (as scenarios and reports call it), its place, and what answers it."""

    operation: str
    method: str
    path: str
    answer: Callable[[Incoming], Reply]


class Surface(Protocol):
    """One simulated API."""

    api: Api

    def routes(self) -> Sequence[Route]:
        """Its operations."""
        ...

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """The name of the scenario that a request belongs to, as far as the request tells."""
        ...

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error in the API's own shape."""
        ...


def dump_json(value: Any) -> str:
    """Compact JSON without ASCII escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def load_json(text: str | bytes) -> Any:
    """JSON by RFC 8259: what Python adds to it (NaN, Infinity) and duplicate keys are a `ValueError`."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object names one key twice")
    return value
