"""Calls as they travel through a workflow engine.

The rule that no side effect happens twice lives in the journal (`journalled.py`) and runs where a call is executed. So
an engine only has to carry a call to a worker, at least once, and its result back; nothing here queues, schedules or
remembers anything. All workers share one journal: PostgreSQL where they are on several machines.

The wire form is plain JSON, so that every data converter takes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from ..calls import Call, Result
from ..dispatcher import Dispatcher
from ..errors import ToolgenError
from ..journalled import from_record, to_record

Wire: TypeAlias = dict[str, Any]
"""A call or a result as JSON."""

DispatcherSource: TypeAlias = Dispatcher | Callable[[], Dispatcher]
"""A dispatcher with a journal, or a function that makes it when the first call comes."""

ContextOf: TypeAlias = Callable[[Any], Any]
"""Makes what the handlers see as `call.context` (user, tenant) of the `context` put on the wire, or of None."""

NO_ANSWER = ("in_progress", "journal_unavailable", "shutting_down")
"""Codes of results that are no answer yet: another worker runs the call, or this one could not."""


class TryAgain(ToolgenError):
    """The call has no answer yet; the engine has to deliver it again. `code` says why."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"the call has no answer yet: {code}")

    def __reduce__(self) -> tuple[Any, ...]:  # engines pickle errors
        return type(self), (self.code,)


def call_to_wire(call: Call, context: Any = None) -> Wire:
    """A call as JSON. `context` stands in for `call.context`, which does not travel: JSON, and nothing secret.

    Raises `TypeError` where the arguments or `context` are not JSON.
    """
    arguments = call.arguments
    if isinstance(arguments, bytes):
        # What is no UTF-8 is refused later, with the other arguments that are no JSON.
        arguments = arguments.decode("utf-8", "surrogateescape")
    wire = {
        "name": call.name,
        "arguments": arguments if isinstance(arguments, str) else _plain(arguments),
        "call_id": call.call_id,
        "turn_id": call.turn_id,
        "session_id": call.session_id,
        "target": call.target,
    }
    return wire if context is None else {**wire, "context": _plain(context)}


def call_from_wire(wire: Wire, context: ContextOf | None = None) -> Call:
    """The call that was put on the wire. Raises `TypeError` for what is none, and what `context` raises."""
    fields = {name: value for name, value in wire.items() if name != "context"}
    given = wire.get("context")
    return Call(**fields, context=given if context is None else context(given))


def result_to_wire(result: Result) -> Wire:
    """A result as JSON, without its call."""
    return {
        "record": to_record(result),
        "ran": result.ran,
        "replayed": result.replayed,
    }


def result_from_wire(call: Call, wire: Wire) -> Result:
    """The result of `call` that was put on the wire."""
    result = from_record(call, wire["record"])
    result.ran = bool(wire["ran"])
    result.replayed = bool(wire["replayed"])
    return result


class Executor:
    """Executes calls as they arrive from an engine."""

    def __init__(self, dispatcher: DispatcherSource, context: ContextOf | None) -> None:
        """Raises `ValueError` for a dispatcher without a journal."""
        self._source = dispatcher
        self._context = context
        self._dispatcher: Dispatcher | None = None
        if isinstance(dispatcher, Dispatcher):
            self._use(dispatcher)

    async def execute(self, wire: Wire) -> Wire:
        """Executes one call. Raises `TryAgain`, which the engine has to answer with another delivery."""
        dispatcher = self._dispatcher
        if dispatcher is None:
            make = cast("Callable[[], Dispatcher]", self._source)
            dispatcher = self._dispatcher or self._use(make())
        result = await dispatcher.execute(call_from_wire(wire, self._context))
        if result.error is not None and result.error.code in NO_ANSWER:
            raise TryAgain(result.error.code)
        return result_to_wire(result)

    def _use(self, dispatcher: Dispatcher) -> Dispatcher:
        if dispatcher.journal is None:
            raise ValueError(
                "an engine delivers a call more than once: the dispatcher needs a journal"
            )
        self._dispatcher = dispatcher
        return dispatcher


def _plain(value: Any) -> Any:
    """A copy of JSON. Raises `TypeError` for what is none.

    What only a lenient reader takes for JSON, such as NaN, travels too: the gate is to refuse it, not the workflow.
    """
    return json.loads(json.dumps(value, default=_object))


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"a value of type {type(value).__name__} is no JSON value")
