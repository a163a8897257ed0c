"""Following one turn of an Agents session to its end.

Streams are live only, and events are notifications: when a stream breaks, the session and the turn are read again while
the next one is open.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

from ..adapters.openai_agents import (
    FUNCTION_CALL,
    ActionKey,
    action_key,
    answer_of,
    is_assistant_message,
    required_actions,
)
from ..errors import LoopError, TurnFailed
from ..resumption import New, Notes
from ..sdk import get, status_of
from ..steps import END, Ask, Close, Invoke, Next, Sleep, Step, Steps
from ..turn import Turn
from .openai_agents_worker import RACE_PAUSES, Lost, Worker, perform

log = logging.getLogger(__name__)

REMEMBERED_EVENTS = 1024
"""Event ids that are kept to know repeated deliveries by."""

INPUT = "input"
"""Name of the note on the input."""

OVER = ("completed", "failed", "cancelled")
_TURN_EVENT = "agent.session.turn."


class Follower:
    """Follows one turn to its end, over as many streams as it takes."""

    def __init__(
        self,
        worker: Worker,
        messages: list[dict[str, Any]] | None,
        creation: Step | None,
        notes: Notes | None = None,
    ) -> None:
        """`messages` are sent once a stream is open; `creation` opens a stream by creating a session with its input.

        With `notes`, a run after a crash knows whether the messages have arrived.
        """
        self.may_reconnect = False
        self._worker = worker
        self._messages = messages
        self._creation = creation
        self._sessions = worker.client.beta.agents.sessions
        self._notes = notes
        self._input_key = uuid.uuid4().hex if notes is None else notes.token(INPUT)
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
        """Opens a stream and follows the turn to its end. Raises `Lost` when the stream ends first."""
        self._moved, self._submitted = False, len(self._worker.submitted)
        over: Any = None
        if self._creation is not None:
            self._stream = yield from perform(self._creation)
            self._creation = None
        else:
            yield from self._connect()
            over = yield from self._begin()
        while over is None:
            event = yield from perform(Next(self._stream))
            if event is END:
                raise Lost(None)
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
            self._stream = yield from perform(request)
        except Lost:
            raise
        except Exception as error:
            if self.may_reconnect and (
                status_of(error) == 429 or status_of(error) >= 500
            ):
                raise Lost(error) from error
            raise
        self._whole = not self.may_reconnect
        self.may_reconnect = True

    def _begin(self) -> Steps[Any]:
        """With the stream open: sends the input if that is still to do, else catches up with what was missed.

        Gives the turn where it is over.
        """
        if self._begun:
            return (yield from self._catch_up())
        newest = yield from newest_turn(self._worker.client, self._worker.session_id)
        newest_id, active = str(
            get(newest, "id", "")
        ), newest is not None and not is_over(newest)
        if self._messages is None:
            if newest is None:
                raise LoopError(
                    f"session {self._worker.session_id} has no turn to go on with"
                )
            self._turn_id, self._begun, self._whole = newest_id, True, False
            return (yield from self._catch_up())
        if self._before is None:
            self._before, self._steering = newest_id, active
            if self._notes is not None:
                yield from self._recall(self._notes)
        # The input that was lost on the way had been taken all the same.
        arrived = self._before != newest_id
        if arrived or self._steering:
            self._turn_id, self._whole = newest_id, False
        if not arrived:
            message = {"type": "agent.session.input.message", "input": self._messages}
            request = {
                "session_id": self._worker.session_id,
                "events": [message],
                "idempotency_key": self._input_key,
            }
            yield from perform(Invoke(self._sessions.events.create, request))
        self._begun = True
        return (yield from self._catch_up()) if self._turn_id else None

    def _recall(self, notes: Notes) -> Steps[None]:
        """What went before the input, as the first run saw it that was to send it. It is kept before that is done."""
        note = yield from notes.begin(INPUT)
        if isinstance(note, New):
            yield from notes.keep(note, [self._before, self._steering])
        elif note.known:
            self._before, self._steering = note.value

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
            if is_over(turn):
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
            return turn if is_over(turn) else None
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
            if turn_id == self._turn_id and kind.removeprefix(_TURN_EVENT) in OVER:
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
            return (yield from perform(Invoke(self._sessions.turns.retrieve, request)))
        newest = yield from newest_turn(self._worker.client, self._worker.session_id)
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
        return (yield from pages(self._sessions.turns.items.list, request))

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


def newest_turn(client: Any, session_id: str) -> Steps[Any]:
    """The last turn of the root agent; None where there is none."""
    request = {"session_id": session_id, "order": "desc", "limit": 20}
    roots = yield from pages(
        client.beta.agents.sessions.turns.list, request, until=_is_root
    )
    return roots[-1] if roots and _is_root(roots[-1]) else None


def pages(
    function: Callable[..., Any],
    request: dict[str, Any],
    until: Callable[[Any], bool] | None = None,
) -> Steps[list[Any]]:
    """The entries of a list over its pages, as far as the first one that `until` accepts."""
    entries: list[Any] = []
    while True:
        page = yield from perform(Invoke(function, request))
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


def is_over(turn: Any) -> bool:
    return get(turn, "status") in OVER
