"""A turn of an OpenAI Agents session (beta).

The service runs the agent and keeps its history; this side runs the function calls that it waits for. Three rules of
the API shape the loop:

- Streams are live only. The stream is opened before the input goes out, and when it breaks, the session and the turn
  are read again while the next one is open.
- Events are notifications. What is pending is what `required_actions` of the retrieved session says.
- Accepting is not processing. A result is stored before it is sent; while its call is listed as pending, it is sent
  again with the same ids and the same idempotency key, and the call does not run again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ..adapters.openai_agents import (
    ENVIRONMENT_CONNECTION,
    FUNCTION_CALL,
    ActionKey,
    action_key,
    answer_of,
    call_key,
    idempotency_key,
    is_assistant_message,
    is_registration_race,
    is_too_large,
    other_actions,
    read_calls,
    registration,
    required_actions,
    smaller,
    write_input,
    write_result,
)
from ..calls import Call, Result, fingerprint
from ..dispatcher import Dispatcher
from ..errors import LoopError, TurnFailed, UnhandledAction
from ..sdk import connection_lost, get, status_of
from ..steps import (
    END,
    Ask,
    Close,
    Invoke,
    Next,
    Sleep,
    Step,
    Steps,
    Submitted,
    asynchronous,
    synchronous,
)
from ..turn import CallsReceived, OnEvent, ResultsReady, Turn, run_calls

log = logging.getLogger(__name__)

T = TypeVar("T")

OnAction = Callable[[Any], Any]
"""Gets a required action that is no function call and gives the input event, or events, to send for it (see
`write_approval`); None where there is nothing to send. May be async under `run` and `serve`."""

RACE_PAUSES = (0.1, 0.3, 0.6)
"""Seconds between attempts where the service may not have caught up yet. The vendor's client uses the same."""

RECONNECT_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to connect again; the count starts anew when the turn has moved on."""

CANCEL_PAUSES = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
"""Seconds between looks at a turn that was cancelled."""

IN_PROGRESS_PAUSE = 0.5
"""Seconds between looks at a call that another worker is running."""

REMEMBERED_EVENTS = 1024
"""Event ids that are kept to know repeated deliveries by."""

_OVER = ("completed", "failed", "cancelled")
_TURN_EVENT = "agent.session.turn."


@dataclass(slots=True)
class Served:
    """What one visit of a worker to a session did, and how it left the session."""

    session_id: str
    status: str
    """`idle`, `in_progress`, `requires_action` or `failed`, as last read."""
    results: list[Result] = field(default_factory=list[Result])
    """The results that were submitted and accepted, in order."""
    unhandled: list[Any] = field(default_factory=list[Any])
    """Pending actions that are no function calls, where there was no `on_action` for them."""


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    input: str | Sequence[Any] | None = None,
    session_id: str | None = None,
    create: Mapping[str, Any] | None = None,
    context: Any = None,
    tools: Sequence[Any] = (),
    register: bool | None = None,
    on_event: OnEvent | None = None,
    on_action: OnAction | None = None,
) -> Steps[Turn]:
    """One turn: from `input` to the agent's answer, running the calls it asks for.

    Args:
        dispatcher: the tools. Without a journal it uses one in memory, so that a call that was delivered twice, or is
            still pending after a reconnect, runs once.
        client: an `AsyncOpenAI` or an `OpenAI`.
        input: the user's text, or messages. None goes on with the session's last turn, for instance with the results
            it waited for when an earlier run of this loop ended; a turn that is over gives its outcome. A message to a
            session whose turn is still running steers that turn.
        session_id: the session to go on with.
        create: arguments of `sessions.create` for a new session, such as `{"agent": {"model": ...}}`; `environment` is
            `{"type": "none"}` where it is left out. `turn.session_id` names the session.
        context: handed to the handlers as `call.context`.
        tools: further entries to register, such as hosted tools.
        register: whether the tools of the dispatcher become the tools of the session, in place of those it has. By
            default that is done for a new session only.
        on_event: sees stream events (a repeated one only once), `CallsReceived` and `ResultsReady`.
        on_action: answers what else the session waits for: approvals, logins, connections of environments.

    Returns:
        The turn. `calls` are the results of this run, `raw` is the API's turn. A turn that was cancelled has the status
        "cancelled". Cancelling the task that runs this loop does not cancel the turn, see `cancel`.

    Raises:
        TurnFailed: the turn or the session failed.
        UnhandledAction: the session waits for an action and there is no `on_action`. Nothing of it ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: there is no turn to go on with, or the stream kept ending without a word.
        ValueError: not exactly one of `session_id` and `create`, an empty input, or a new session without one.
        Whatever the client raises and is no documented condition of the API.
    """
    if (session_id is None) == (create is None):
        raise ValueError("give either session_id or create")
    worker = _Worker(dispatcher, client, session_id or "", context, on_event, on_action)
    messages = None if create is not None or input is None else write_input(input)
    first: Step | None = None
    if create is not None:
        first = _creation(
            dispatcher, client, create, input, tools, register is not False
        )
    elif register:
        entries = {"tools": _entries(dispatcher, tools)}
        yield Invoke(
            client.beta.agents.sessions.update,
            {"session_id": worker.session_id, "agent": entries},
        )
    follower = _Follower(worker, messages, first)
    failures = 0
    while True:
        try:
            return (yield from follower.follow())
        except _Lost as lost:
            error = lost.error or LoopError(
                f"the stream of session {worker.session_id} keeps ending"
            )
        failures = 0 if follower.moved else failures
        if not follower.may_reconnect or failures == len(RECONNECT_PAUSES):
            raise error
        log.info(
            "the stream of session %s ended before its turn did; connecting again",
            worker.session_id,
        )
        yield from follower.hang_up()
        yield Sleep(RECONNECT_PAUSES[failures])
        failures += 1


def attend(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    session_id: str,
    context: Any = None,
    on_action: OnAction | None = None,
) -> Steps[Served]:
    """Answers everything that a session waits for now, without a stream: for webhooks and for polling.

    Safe to call twice at once for one session: a call runs once, and both send the same result. Across processes that
    takes a journal which they share.

    Args:
        dispatcher: the tools.
        client: an `AsyncOpenAI` or an `OpenAI`.
        session_id: the session.
        context: handed to the handlers as `call.context`.
        on_action: answers what is no function call. Without it such actions are left alone and named in `unhandled`.

    Returns:
        What was done and the session's status. While that is `in_progress` or `requires_action`, the turn goes on.

    Raises:
        ResultsNotStored: the journal failed; nothing was submitted.
        Whatever the client raises and is no documented condition of the API.
    """
    worker = _Worker(
        dispatcher, client, session_id, context, None, on_action, leave=True
    )
    session = yield from _unchanged(worker.answer_all())
    unhandled = other_actions(session) if on_action is None else []
    if unhandled:
        kinds = ", ".join(
            sorted({str(get(action, "type", "")) for action in unhandled})
        )
        log.warning(
            "session %s waits for actions that no callback handles: %s",
            session_id,
            kinds,
        )
    return Served(
        session_id, str(get(session, "status", "")), worker.submitted, unhandled
    )


def end_turn(dispatcher: Dispatcher, client: Any, /, *, session_id: str) -> Steps[str]:
    """Cancels the turn that a session is working on, and waits for its end.

    A loop that follows the turn then gives a `Turn` with the status "cancelled"; results that are still under way are
    dropped. Gives the last status of the session's last turn: "cancelled", or "completed" or "failed" when it ended by
    itself; another one when the service did not end it in time; nothing when the session has no turn.
    """
    sessions = client.beta.agents.sessions
    yield Invoke(
        sessions.events.create,
        {"session_id": session_id, "events": [{"type": "agent.session.input.cancel"}]},
    )
    status = ""
    for pause in (*CANCEL_PAUSES, None):
        turn = yield from _unchanged(_newest_turn(client, session_id))
        status = str(get(turn, "status", ""))
        if status in ("", *_OVER) or pause is None:
            break
        yield Sleep(pause)
    return status


run = asynchronous(converse)
run_sync = synchronous(converse)
serve = asynchronous(attend)
serve_sync = synchronous(attend)
cancel = asynchronous(end_turn)
cancel_sync = synchronous(end_turn)


class _Lost(Exception):
    """The connection is gone: `error` is what the client raised, None where a stream just ended."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        super().__init__()


def _request(step: Step) -> Steps[Any]:
    """The outcome of a request. Raises `_Lost` where the connection broke; only requests to the API go through here,
    so that a broken connection of a callback is not taken for one of theirs."""
    try:
        return (yield step)
    except Exception as error:
        if connection_lost(error):
            raise _Lost(error) from error
        raise


def _unchanged(steps: Steps[T]) -> Steps[T]:
    """The same steps, out of which a lost connection comes as the error that the client raised."""
    try:
        return (yield from steps)
    except _Lost as lost:
        error = lost.error or LoopError("the connection was lost")
    raise error


class _Worker:
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
            yield from _request(
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
        ready = [
            result
            for result in results
            if result.error is None or result.error.code != "in_progress"
        ]
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
        try:
            yield Submitted([result], self._dispatcher)
        except Exception:
            # The service has the result: the conversation can go on without the note.
            log.exception(
                "the journal cannot note that a result of %s was submitted", result.name
            )

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
            yield from _request(
                Invoke(self.client.beta.agents.sessions.events.create, request)
            )
        except _Lost:
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


class _Follower:
    """Follows one turn to its end, over as many streams as it takes."""

    def __init__(
        self,
        worker: _Worker,
        messages: list[dict[str, Any]] | None,
        creation: Step | None,
    ) -> None:
        """`messages` are sent once a stream is open; `creation` opens a stream by creating a session with its input."""
        self.may_reconnect = False
        self._worker = worker
        self._messages = messages
        self._creation = creation
        self._sessions = worker.client.beta.agents.sessions
        self._input_key = uuid.uuid4().hex
        self._stream: Any = None
        self._moved = False
        self._submitted = 0
        self._turn_id = ""
        self._steering = False
        """Whether the input went into a turn that was running, unless it was over by then."""
        self._before: str | None = "" if creation is not None else None
        """The last turn before the input, "" where there was none; None as long as that is not known."""
        self._begun = creation is not None
        """Whether the input was sent, or none has to be."""
        self._whole = True
        """Whether one stream has covered the whole turn, so that no event of it is missing."""
        self._seen: dict[str, None] = {}
        self._said: dict[str, Any] = {}
        self._announced: set[ActionKey] = set()
        self._error: Any = None

    @property
    def moved(self) -> bool:
        """Whether the turn moved on since the last stream was to be opened."""
        return self._moved or len(self._worker.submitted) > self._submitted

    def follow(self) -> Steps[Turn]:
        """Opens a stream and follows the turn to its end. Raises `_Lost` when the stream ends first."""
        self._moved, self._submitted = False, len(self._worker.submitted)
        over: Any = None
        if self._creation is not None:
            self._stream = yield from _request(self._creation)
            self._creation = None
        else:
            yield from self._connect()
            over = yield from self._begin()
        while over is None:
            event = yield from _request(Next(self._stream))
            if event is END:
                raise _Lost(None)
            over = yield from self._take(event)
        turn = yield from self._outcome(over)
        yield from self.hang_up()
        return turn

    def hang_up(self) -> Steps[None]:
        """Closes the stream. The turn goes on without it."""
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                yield Close(stream)
            except Exception:
                log.debug("closing a stream failed", exc_info=True)

    def _connect(self) -> Steps[None]:
        """Opens a stream. After the first, a service that is down for a moment counts as a lost connection."""
        request = Invoke(
            self._sessions.events.stream,
            {"session_id": self._worker.session_id},
            stream=True,
        )
        try:
            self._stream = yield from _request(request)
        except _Lost:
            raise
        except Exception as error:
            if self.may_reconnect and (
                status_of(error) == 429 or status_of(error) >= 500
            ):
                raise _Lost(error) from error
            raise
        self._whole = not self.may_reconnect
        self.may_reconnect = True

    def _begin(self) -> Steps[Any]:
        """With the stream open: sends the input if that is still to do, else catches up with what was missed.

        Gives the turn where it is over.
        """
        if self._begun:
            return (yield from self._catch_up())
        newest = yield from _newest_turn(self._worker.client, self._worker.session_id)
        newest_id, active = str(
            get(newest, "id", "")
        ), newest is not None and not _is_over(newest)
        if self._messages is None:
            if newest is None:
                raise LoopError(
                    f"session {self._worker.session_id} has no turn to go on with"
                )
            self._turn_id, self._begun, self._whole = newest_id, True, False
            return (yield from self._catch_up())
        # The input that was lost on the way had been taken all the same.
        arrived = self._before not in (None, newest_id)
        if self._before is None:
            self._before, self._steering = newest_id, active
        if arrived or self._steering:
            self._turn_id, self._whole = newest_id, False
        if not arrived:
            message = {"type": "agent.session.input.message", "input": self._messages}
            request = {
                "session_id": self._worker.session_id,
                "events": [message],
                "idempotency_key": self._input_key,
            }
            yield from _request(Invoke(self._sessions.events.create, request))
        self._begun = True
        return (yield from self._catch_up()) if self._turn_id else None

    def _catch_up(self) -> Steps[Any]:
        """Answers what is pending and finds out whether the turn is over, in which case it is given.

        What was accepted on an earlier connection is sent again while the session still lists it. Then the session is
        read until it has taken notice, or it is clear that it does not: a state that is reached before the stream was
        open would never be heard of.
        """
        self._worker.accepted.clear()
        for pause in (*RACE_PAUSES, None):
            session, answered = yield from self._answer_pending()
            turn = yield from self._turn()
            if _is_over(turn):
                return turn
            waiting = (
                bool(required_actions(session)) or get(turn, "status") == "waiting"
            )
            if pause is None or not (answered or waiting):
                break
            yield Sleep(pause)
        return None

    def _take(self, event: Any) -> Steps[Any]:
        """Takes notice of one event. Gives the turn when it is over."""
        if self._is_repeated(event):
            return None
        kind = str(get(event, "type", ""))
        session = get(event, "session")
        if not self._worker.session_id:
            self._worker.session_id = str(
                get(session, "id") or get(event, "session_id", "")
            )
            self.may_reconnect = bool(self._worker.session_id)
        if self._worker.on_event is not None:
            yield Ask(self._worker.on_event, (event,))
        if kind.startswith(_TURN_EVENT):
            self._moved = True
            return (yield from self._take_turn_event(kind, event))
        if kind == "agent.session.requires_action":
            self._moved = True
            yield from self._answer(set(map(action_key, required_actions(session))))
        elif kind == "agent.session.failed":
            raise self._session_failed(session)
        elif kind == "agent.session.idle" and self._turn_id:
            # An idle may be older than the turn, so it is only a reason to look.
            turn = yield from self._turn()
            return turn if _is_over(turn) else None
        elif kind == "agent.session.budget_reached" and not self._turn_id:
            raise TurnFailed(
                "failed", "budget_reached", "the session's budget is used up", session
            )
        elif kind == "error":
            self._error = get(event, "error")  # the event of what failed comes next
        return None

    def _take_turn_event(self, kind: str, event: Any) -> Steps[Any]:
        turn, item = get(event, "turn"), get(event, "item")
        if turn is not None and get(turn, "subagent_id") is None:
            turn_id = str(get(event, "turn_id") or get(turn, "id", ""))
            created = kind == f"{_TURN_EVENT}created"
            if (
                self._begun
                and turn_id != self._before
                and (not self._turn_id or (created and self._steering))
            ):
                self._turn_id, self._steering = turn_id, False
            if turn_id == self._turn_id and kind.removeprefix(_TURN_EVENT) in _OVER:
                return turn
        elif kind == f"{_TURN_EVENT}item.done" and is_assistant_message(item):
            self._said[str(get(item, "id", ""))] = item
        elif kind == f"{_TURN_EVENT}item.added":
            if get(item, "type") == FUNCTION_CALL:
                self._announced.add(action_key(item))
            elif is_assistant_message(item) and self._announced - self._worker.accepted:
                # The agent goes on although a call has no result: one that it does not wait for says no more than this.
                yield from self._answer(set())
                self._announced.clear()
        return None

    def _answer(self, expected: set[ActionKey]) -> Steps[None]:
        """Answers what the session waits for; reads it again while actions that an event named are not listed yet."""
        for pause in (*RACE_PAUSES, None):
            yield from self._answer_pending()
            if expected <= self._worker.accepted or pause is None:
                return
            yield Sleep(pause)

    def _answer_pending(self) -> Steps[tuple[Any, bool]]:
        """Answers what the session lists, waiting for calls that another worker runs.

        Gives the session as last read, and whether there was anything to answer.
        """
        answered = False
        while True:
            session = yield from self._read()
            if not (yield from self._worker.answer(session)):
                return session, answered
            answered = True
            if self._worker.settled(session):
                return session, True

    def _read(self) -> Steps[Any]:
        session = yield from self._worker.read()
        if get(session, "status") == "failed":
            raise self._session_failed(session)
        return session

    def _turn(self) -> Steps[Any]:
        """The turn as it is now; None as long as there is none."""
        if self._turn_id:
            request = {"turn_id": self._turn_id, "session_id": self._worker.session_id}
            return (yield from _request(Invoke(self._sessions.turns.retrieve, request)))
        newest = yield from _newest_turn(self._worker.client, self._worker.session_id)
        newest_id = str(get(newest, "id", ""))
        if newest_id in ("", self._before):
            return None
        self._turn_id = newest_id
        return newest

    def _outcome(self, turn: Any) -> Steps[Turn]:
        """What the caller gets of a turn that is over. Raises `TurnFailed`."""
        status = str(get(turn, "status", ""))
        if status == "failed":
            error = get(turn, "error") or self._error
            raise TurnFailed(
                status,
                str(get(error, "code", "")),
                str(get(error, "message", "")),
                turn,
            )
        said = [
            item
            for item in self._said.values()
            if get(item, "turn_id", self._turn_id) == self._turn_id
        ]
        if not (self._whole and said):
            said = yield from self._items()
        calls = list(self._worker.results.values())
        session_id = self._worker.session_id
        steps = self._worker.batches + 1
        return Turn(
            answer_of(said),
            calls,
            raw=turn,
            status=status,
            steps=steps,
            session_id=session_id,
        )

    def _items(self) -> Steps[list[Any]]:
        """All items of the turn, oldest first."""
        request = {
            "turn_id": self._turn_id,
            "session_id": self._worker.session_id,
            "order": "asc",
            "limit": 100,
        }
        return (yield from _pages(self._sessions.turns.items.list, request))

    def _session_failed(self, session: Any) -> TurnFailed:
        error = self._error
        message = str(get(session, "error") or get(error, "message", ""))
        return TurnFailed("failed", str(get(error, "code", "")), message, session)

    def _is_repeated(self, event: Any) -> bool:
        event_id = str(get(event, "event_id", ""))
        if not event_id:
            return False
        if event_id in self._seen:
            return True
        self._seen[event_id] = None
        if len(self._seen) > REMEMBERED_EVENTS:
            del self._seen[next(iter(self._seen))]
        return False


def _creation(
    dispatcher: Dispatcher,
    client: Any,
    create: Mapping[str, Any],
    input: str | Sequence[Any] | None,
    tools: Sequence[Any],
    register: bool,
) -> Step:
    """The request that creates a session with its input and streams what comes of it: no event is missed."""
    body = {"environment": {"type": "none"}, **create, "stream": True}
    said = input if input is not None else create.get("input")
    if said is None:
        raise ValueError("a new session begins with an input")
    body["input"] = write_input(said)
    if register or tools:
        agent: dict[str, Any] = dict(create.get("agent") or {})
        own = _entries(dispatcher, ()) if register else []
        agent["tools"] = _joined(own, agent.get("tools") or (), tools)
        body["agent"] = agent
    return Invoke(client.beta.agents.sessions.create, body, stream=True)


def _entries(dispatcher: Dispatcher, tools: Iterable[Any]) -> list[Any]:
    return _joined(registration(dispatcher), tools)


def _joined(*lists: Iterable[Any]) -> list[Any]:
    """Lists of tools as one, with one `tool_search` at most."""
    joined: list[Any] = []
    for tool in (tool for tools in lists for tool in tools):
        if get(tool, "type") != "tool_search" or not any(
            get(other, "type") == "tool_search" for other in joined
        ):
            joined.append(tool)
    return joined


def _newest_turn(client: Any, session_id: str) -> Steps[Any]:
    """The last turn of the root agent; None where there is none."""
    request = {"session_id": session_id, "order": "desc", "limit": 20}
    roots = yield from _pages(
        client.beta.agents.sessions.turns.list, request, until=_is_root
    )
    return roots[-1] if roots and _is_root(roots[-1]) else None


def _pages(
    function: Callable[..., Any],
    request: dict[str, Any],
    until: Callable[[Any], bool] | None = None,
) -> Steps[list[Any]]:
    """The entries of a list over its pages, as far as the first one that `until` accepts."""
    entries: list[Any] = []
    while True:
        page = yield from _request(Invoke(function, request))
        data: list[Any] = list(get(page, "data", ()))
        for entry in data:
            entries.append(entry)
            if until is not None and until(entry):
                return entries
        if not data or not get(page, "has_more"):
            return entries
        request = {**request, "after": get(page, "last_id") or get(data[-1], "id")}


def _is_root(turn: Any) -> bool:
    return get(turn, "subagent_id") is None


def _is_over(turn: Any) -> bool:
    return get(turn, "status") in _OVER


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
