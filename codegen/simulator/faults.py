"""What a scenario can make go wrong.

Every fault is deterministic: it hits the first `times` chances it gets and none after that, until a play of the
scenario has been finished on the same API; then it counts again.
`apis` limits a fault to some of the APIs, so that one scenario can hold different faults for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from codegen.simulator.wire import Api, Cut, Event

Operation = Literal[
    "sessions.create",
    "sessions.retrieve",
    "sessions.update",
    "sessions.delete",
    "events.create",
    "events.stream",
    "items.list",
    "turns.list",
    "turns.retrieve",
    "responses.create",
    "conversations.create",
    "tools.create",
    "tools.list",
    "tools.get",
    "tools.update",
    "tools.delete",
    "work_requests.get",
    "chat",
    "inference.chat",
    "converse",
    "converse_stream",
]
"""Requests that a fault of a whole scenario may be aimed at."""


class _Fault(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    apis: list[Api] | None = None
    """The APIs the fault happens on; all when absent."""
    times: int = Field(default=1, ge=1)
    """How often it happens before things go right."""


class HttpFault(_Fault):
    """The requests that lead to the step are answered with an HTTP error and have no other effect."""

    kind: Literal["http"]
    status: int = Field(ge=400, le=599)
    retry_after: float | None = Field(default=None, ge=0)
    """Seconds, for the `Retry-After` header; no header when absent."""


class RequestFault(HttpFault):
    """Requests of one operation are answered with an HTTP error, whatever the step."""

    on: Operation


class DropFault(_Fault):
    """The connection breaks in the middle of a step's events; events after the break are lost.

    `after` counts the events of the step that still arrive. `before` names the first event that does not: an event
    type of the API, or "call", "answer" or "end", which mean the first event of that role on any API. With neither,
    nothing arrives. An answer that is no stream is lost as a whole.
    """

    kind: Literal["drop"]
    after: int | None = Field(default=None, ge=0)
    before: str | None = None
    clean: bool = False
    """The stream ends as if it were complete, instead of with a broken connection."""


class DuplicateFault(_Fault):
    """Events of the step are delivered twice, with the same ids."""

    kind: Literal["duplicate"]
    events: list[str] | None = None
    """Event types, or roles as in `drop`; all events when absent."""


class DelayFault(_Fault):
    """The step starts late. Until then it shows no effect; a session is still idle before the first step of a turn."""

    kind: Literal["delay"]
    seconds: float = Field(gt=0)


class RaceFault(_Fault):
    """Results that come right after a call was announced are refused as unknown (Agents sessions only).

    `times` counts the submissions of each call that are refused.
    """

    kind: Literal["race"]
    calls: list[int] | None = None
    """Positions in the step's `calls`; all when absent."""


class StaleFault(_Fault):
    """A session that is read right after an input was accepted still looks as before it (Agents sessions only).

    `times` counts the reads.
    """

    kind: Literal["stale"]


StepFault = Annotated[
    HttpFault | DropFault | DuplicateFault | DelayFault | RaceFault | StaleFault, Field(discriminator="kind")
]

_FaultT = TypeVar("_FaultT", bound=_Fault)


@dataclass(slots=True)
class Tally:
    """Counts which faults of a scenario have happened."""

    _used: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def take(self, fault: _Fault, *place: object) -> bool:
        """Whether `fault` happens now, at `place`; counts it if so."""
        key = (id(fault), *place)
        if self._used[key] >= fault.times:
            return False
        self._used[key] += 1
        return True

    def first(self, kind: type[_FaultT], faults: Iterable[_Fault], api: Api, *place: object) -> _FaultT | None:
        """The first fault of a kind that still happens on `api`; counts it."""
        for fault in of_kind(kind, faults, api):
            if self.take(fault, *place):
                return fault
        return None

    def clear(self) -> None:
        """Starts again, for the next play."""
        self._used.clear()


def of_kind(kind: type[_FaultT], faults: Iterable[_Fault], api: Api) -> list[_FaultT]:
    """The faults of a kind that concern `api`."""
    return [f for f in faults if isinstance(f, kind) and (f.apis is None or api in f.apis)]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A step's events as they are delivered, and how the connection breaks after them (None when it does not)."""

    events: list[Event]
    cut: Cut | None = None


def shape(events: Sequence[Event], faults: Iterable[_Fault], api: Api, tally: Tally) -> Shaped:
    """Applies duplication and loss to the events of one step."""
    faults = list(faults)
    delivered = list(events)
    for drop in of_kind(DropFault, faults, api):
        position = _break_at(drop, delivered)
        if position is not None and tally.take(drop):
            delivered = delivered[:position]
            return Shaped(_duplicated(delivered, faults, api), Cut.CLEAN if drop.clean else Cut.ABORT)
    return Shaped(_duplicated(delivered, faults, api))


def _break_at(drop: DropFault, events: Sequence[Event]) -> int | None:
    if drop.before is not None:
        return next((i for i, event in enumerate(events) if event.answers_to([drop.before])), None)
    after = drop.after or 0
    return after if after <= len(events) else None


def _duplicated(events: Sequence[Event], faults: Iterable[_Fault], api: Api) -> list[Event]:
    chosen = of_kind(DuplicateFault, faults, api)
    doubled = []
    for event in events:
        twice = any(fault.events is None or event.answers_to(fault.events) for fault in chosen)
        doubled += [event, event] if twice else [event]
    return doubled
