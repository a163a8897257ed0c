"""What one Agents session waits for, answered: its function calls run, and each answer is sent until it is accepted.

Two rules of the API shape this:

- What is pending is what `required_actions` of the retrieved session says.
- Accepting is not processing. A result is stored before it is sent; while its call is listed as pending, it is sent
  again with the same ids and the same idempotency key, and the call does not run again.

So a worker may die at any point: the next one reads the session, finds in the journal what ran, and goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from ..adapters.openai_agents import (
    ENVIRONMENT_CONNECTION,
    ActionKey,
    action_key,
    call_key,
    idempotency_key,
    is_registration_race,
    is_too_large,
    other_actions,
    read_calls,
    required_actions,
    smaller,
    write_result,
)
from ..calls import Call, Result, fingerprint
from ..dispatcher import Dispatcher
from ..errors import LoopError, UnhandledAction
from ..sdk import connection_lost, status_of
from ..steps import Ask, Invoke, Sleep, Step, Steps
from ..turn import (
    IN_PROGRESS_PAUSE,
    CallsReceived,
    OnEvent,
    ResultsReady,
    is_elsewhere,
    note_submitted,
    run_calls,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

OnAction = Callable[[Any], Any]
"""Gets a required action that is no function call and gives the input event, or events, to send for it (see
`write_approval`); None where there is nothing to send. May be async under `run` and `serve`."""

RACE_PAUSES = (0.1, 0.3, 0.6)
"""Seconds between attempts where the service may not have caught up yet. The vendor's client uses the same."""


class Lost(Exception):
    """The connection is gone: `error` is what the client raised, None where a stream just ended."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        super().__init__()


def perform(step: Step) -> Steps[Any]:
    """The outcome of a request. Raises `Lost` where the connection broke; only requests to the API go through here,
    so that a broken connection of a callback is not taken for one of theirs."""
    try:
        return (yield step)
    except Exception as error:
        if connection_lost(error):
            raise Lost(error) from error
        raise


def unchanged(steps: Steps[T]) -> Steps[T]:
    """The same steps, out of which a lost connection comes as the error that the client raised."""
    try:
        return (yield from steps)
    except Lost as lost:
        error = lost.error or LoopError("the connection was lost")
    raise error


class Worker:
    """Answers what one session waits for, and remembers what it has run and sent."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        client: Any,
        session_id: str,
        context: Any,
        on_event: OnEvent | None,
        on_action: OnAction | None,
        *,
        leave: bool = False,
    ) -> None:
        """With `leave`, actions that nobody handles stay as they are instead of being an error."""
        self.client = client
        self.session_id = session_id
        self.on_event = on_event
        self.results: dict[ActionKey, Result] = {}
        self.submitted: list[Result] = []
        self.batches = 0
        """How often the model asked for calls."""
        self.accepted: set[ActionKey] = set()
        """What was answered on this connection, or turned out to need no answer any more."""
        self._dispatcher = dispatcher.journalled()
        self._context = context
        self._on_action = on_action
        self._leave = leave
        self._received: set[ActionKey] = set()
        self._reduced: set[ActionKey] = set()
        self._replies: dict[ActionKey, list[Any]] = {}

    def read(self) -> Steps[Any]:
        """The session as it is now."""
        return (
            yield from perform(
                Invoke(
                    self.client.beta.agents.sessions.retrieve,
                    {"session_id": self.session_id},
                )
            )
        )

    def answer_all(self) -> Steps[Any]:
        """Answers what the session waits for until it waits for nothing new; gives the session as last read."""
        while True:
            session = yield from self.read()
            if not (yield from self.answer(session)):
                return session

    def settled(self, session: Any) -> bool:
        """Whether nothing that a session lists is without an answer."""
        return all(
            action_key(action) in self.accepted for action in required_actions(session)
        )

    def answer(self, session: Any) -> Steps[bool]:
        """Answers what a retrieved session waits for and has no answer yet; tells whether there was any."""
        self._forget_connections(session)
        calls = [
            call
            for call in read_calls(
                session, session_id=self.session_id, context=self._context
            )
            if call_key(call) not in self.accepted
        ]
        actions = [
            action
            for action in other_actions(session)
            if action_key(action) not in self.accepted
        ]
        if self._on_action is None:
            if actions and not self._leave:
                raise _unhandled(actions, session)
            actions = []
        yield from self._run(calls)
        for call in calls:
            if (result := self.results.get(call_key(call))) is not None:
                yield from self._submit(result)
        for action in actions:
            yield from self._reply(action)
        elsewhere = [
            call.call_id for call in calls if call_key(call) not in self.accepted
        ]
        if elsewhere:
            log.info(
                "session %s: waiting for calls that another worker runs: %s",
                self.session_id,
                ", ".join(elsewhere),
            )
            yield Sleep(IN_PROGRESS_PAUSE)
        return bool(calls or actions)

    def _run(self, calls: list[Call]) -> Steps[None]:
        """Runs the calls that have no result yet. One that another worker is running stays without."""
        calls = [call for call in calls if call_key(call) not in self.results]
        if not calls:
            return
        new = [call for call in calls if call_key(call) not in self._received]
        if new:
            self.batches += 1
            self._received.update(map(call_key, new))
            yield from self._tell(CallsReceived(new))
        results = yield from run_calls(calls, None, self._dispatcher)
        ready = [result for result in results if not is_elsewhere(result)]
        if ready:
            self.results.update((call_key(result.call), result) for result in ready)
            yield from self._tell(ResultsReady(ready))

    def _tell(self, fact: CallsReceived | ResultsReady) -> Steps[None]:
        if self.on_event is not None:
            yield Ask(self.on_event, (fact,))

    def _submit(self, result: Result) -> Steps[None]:
        """Sends one result, or finds out that nobody waits for it any more."""
        key = call_key(result.call)
        pauses = iter(RACE_PAUSES)
        while True:
            variant = "smaller" if key in self._reduced else ""
            refusal = yield from self._send(
                [write_result(result)], idempotency_key(result, variant)
            )
            if refusal is None:
                break
            if (
                is_registration_race(refusal, result.call_id)
                and (pause := next(pauses, None)) is not None
            ):
                yield Sleep(pause)
            elif is_too_large(refusal) and not variant:
                log.error(
                    "the service refused the output of %s for its size", result.name
                )
                self._reduced.add(key)
                result = self.results[key] = smaller(result)
            elif (yield from self._gone(key, refusal)):
                return
        self.accepted.add(key)
        self.submitted.append(result)
        yield from note_submitted([result], self._dispatcher)

    def _reply(self, action: Any) -> Steps[None]:
        """Asks the callback about an action, once, and sends what it says."""
        key = action_key(action)
        if key not in self._replies:
            reply = yield Ask(cast("OnAction", self._on_action), (action,))
            self._replies[key] = _events(reply)
        if events := self._replies[key]:
            refusal = yield from self._send(
                events, fingerprint((self.session_id, *key))[:32]
            )
            if refusal is not None and (yield from self._gone(key, refusal)):
                return
        self.accepted.add(key)

    def _send(self, events: list[Any], key: str) -> Steps[Exception | None]:
        """Submits input events; gives the refusal, which may say that nobody waits for them."""
        request = {
            "session_id": self.session_id,
            "events": events,
            "idempotency_key": key,
        }
        try:
            yield from perform(
                Invoke(self.client.beta.agents.sessions.events.create, request)
            )
        except Lost:
            raise
        except Exception as error:
            if status_of(error) not in (400, 404, 409, 413, 422):
                raise
            return error
        return None

    def _gone(self, key: ActionKey, refusal: Exception) -> Steps[bool]:
        """Whether an action whose answer was refused is pending no more. Raises the refusal while it still is."""
        for pause in (*RACE_PAUSES, None):
            session = yield from self.read()
            if key not in map(action_key, required_actions(session)):
                break
            if pause is None:
                raise refusal
            yield Sleep(pause)
        log.warning(
            "session %s no longer waits for %s %s of turn %s: the answer was dropped",
            self.session_id,
            key[0],
            key[2],
            key[1],
        )
        self.accepted.add(key)
        return True

    def _forget_connections(self, session: Any) -> None:
        """An environment may be lost again under the same id, so its connection is no answer for good."""
        listed = set(map(action_key, required_actions(session)))
        for key in [
            key
            for key in self._replies
            if key[0] == ENVIRONMENT_CONNECTION and key not in listed
        ]:
            del self._replies[key]
            self.accepted.discard(key)


def _events(reply: Any) -> list[Any]:
    """What a callback wants to be sent: one event, several, or none."""
    if reply is None:
        return []
    if isinstance(reply, Sequence) and not isinstance(reply, (str, bytes)):
        return list(cast(Any, reply))
    return [reply]


def _unhandled(actions: Sequence[Any], session: Any) -> UnhandledAction:
    kind, _, own_id = action_key(actions[0])
    return UnhandledAction(kind, actions[0], session, action_id=own_id)
