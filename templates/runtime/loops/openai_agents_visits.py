"""Agents sessions without a stream: visits, which webhooks and polling ask for.

A visit answers what a session waits for and ends. It keeps nothing in this process that the next one needs: the session
says what is pending, the journal what has run. So a visit may be cut short at any point, and made again by whoever
comes next, also by several at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..adapters.openai_agents import other_actions
from ..calls import Result
from ..dispatcher import Dispatcher
from ..errors import ResultsNotStored
from ..sdk import connection_lost, get, status_of
from ..steps import Ask, Invoke, Sleep, Steps
from .openai_agents_worker import OnAction, Worker, unchanged

log = logging.getLogger(__name__)

Sessions = Sequence[str] | Callable[[], Any]
"""Ids of sessions, or a function that gives them, which may be async under `poll`."""

ACTION_REQUIRED = "agent.session.action_required"
"""The type of the webhook event that a session waits for something."""

OK, BAD_REQUEST, UNAVAILABLE = 204, 400, 503
"""HTTP statuses for a delivery: taken, not genuine, to be delivered again."""


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

    error: Exception | None = None
    """What kept the visit from its end, where it is not raised."""


@dataclass(slots=True)
class Delivery:
    """What came of one delivery of a webhook."""

    status: int
    """The HTTP status to answer with: 204, 400 for a signature that is not right, 503 to have it delivered again."""
    event: Any = None
    """The event; None for one that is not genuine."""
    served: Served | None = None
    """The visit, where the event asked for one."""


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
    worker = Worker(
        dispatcher, client, session_id, context, None, on_action, leave=True
    )
    session = yield from unchanged(worker.answer_all())
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


def look_after(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    sessions: Sessions,
    rounds: int = 1,
    pause: float = 5.0,
    context: Any = None,
    on_action: OnAction | None = None,
    on_served: Callable[[Served], Any] | None = None,
) -> Steps[list[Served]]:
    """Visits sessions, one after the other, in a bounded number of rounds: for services that no webhook reaches.

    What a service wants done at once or for ever it says itself: several of these at a time, or one again and again.
    A session that cannot be served does not keep the others waiting: its `error` says why, and the next round tries
    again.

    Args:
        dispatcher: the tools.
        client: an `AsyncOpenAI` or an `OpenAI`.
        sessions: ids, or a function that gives the ids for each round. Of given ids, those whose turn is over (`idle`
            or `failed`) are left out of further rounds, and the last round is the one that leaves none.
        rounds: how often, at most.
        pause: seconds between two rounds.
        context: handed to the handlers as `call.context`.
        on_action: answers what is no function call, as for `serve`.
        on_served: is told of each visit.

    Returns:
        The last visit to each session, in the order of the first ones.

    Raises:
        ValueError: `rounds` is less than 1.
        Whatever `sessions` and `on_served` raise.
    """
    if rounds < 1:
        raise ValueError("rounds must be at least 1")
    last: dict[str, Served] = {}
    for left in reversed(range(rounds)):
        if callable(sessions):
            ids: list[str] = list((yield Ask(sessions, ())))
        else:
            ids = [
                one for one in sessions if one not in last or not _is_done(last[one])
            ]
        for session_id in dict.fromkeys(ids):
            try:
                served = yield from attend(
                    dispatcher,
                    client,
                    session_id=session_id,
                    context=context,
                    on_action=on_action,
                )
            except Exception as error:
                log.warning(
                    "session %s could not be served: %s",
                    session_id,
                    type(error).__name__,
                    exc_info=True,
                )
                served = Served(session_id, "", error=error)
            last[session_id] = served
            if on_served is not None:
                yield Ask(on_served, (served,))
        if not callable(sessions) and all(_is_done(last[one]) for one in sessions):
            break
        if left:
            yield Sleep(pause)
    return list(last.values())


def take_delivery(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    body: str | bytes,
    headers: Mapping[str, str],
    secret: str | None = None,
    serves: Callable[[str], Any] | None = None,
    context: Any = None,
    on_action: OnAction | None = None,
) -> Steps[Delivery]:
    """One delivery of a webhook, from its bytes to the HTTP status to answer with. Checks the signature first.

    The session is served before the delivery is answered. So an event is only taken once its calls are answered, and is
    delivered again where that did not come to its end.

    Args:
        dispatcher: the tools.
        client: an `AsyncOpenAI` or an `OpenAI`; it checks the signature.
        body: the body as it came, unparsed.
        headers: the headers; their names in any spelling.
        secret: of the webhook; the client's own where it is left out.
        serves: tells by its id whether a session is one for these tools, where a webhook is told of others too. May be
            async under `receive`.
        context: handed to the handlers as `call.context`.
        on_action: answers what is no function call, as for `serve`.

    Returns:
        The delivery. It has the status 503 where the API or the journal failed in a way that may pass.

    Raises:
        ValueError: there is no secret.
        Whatever `serves` raises, and whatever the client raises that a second delivery would not change.
    """
    secret = secret or get(client, "webhook_secret")
    if not secret:
        raise ValueError(
            "a webhook needs its secret: OPENAI_WEBHOOK_SECRET, the client's webhook_secret, or secret="
        )
    lowered = {name.lower(): value for name, value in headers.items()}
    try:
        event = yield Invoke(
            client.webhooks.unwrap,
            {"payload": body, "headers": lowered, "secret": secret},
        )
    except Exception as error:  # noqa: BLE001
        # Nothing is sent to check it, so whatever is wrong, the delivery brought it along.
        log.warning("a webhook delivery is not genuine: %s", type(error).__name__)
        return Delivery(BAD_REQUEST)
    session_id = str(get(get(event, "data"), "id", ""))
    if get(event, "type") != ACTION_REQUIRED or not session_id:
        return Delivery(OK, event)
    if serves is not None and not (yield Ask(serves, (session_id,))):
        return Delivery(OK, event)
    try:
        served = yield from attend(
            dispatcher,
            client,
            session_id=session_id,
            context=context,
            on_action=on_action,
        )
    except Exception as error:
        if status_of(error) == 404:
            log.warning("session %s of a webhook delivery is gone", session_id)
            return Delivery(OK, event)
        if not _may_pass(error):
            raise
        log.warning(
            "session %s could not be served now: %s",
            session_id,
            type(error).__name__,
            exc_info=True,
        )
        return Delivery(UNAVAILABLE, event, Served(session_id, "", error=error))
    return Delivery(OK, event, served)


def _may_pass(error: Exception) -> bool:
    """Whether it may go better next time."""
    return (
        isinstance(error, ResultsNotStored)
        or connection_lost(error)
        or status_of(error) in (408, 409, 429)
        or status_of(error) >= 500
    )


def _is_done(served: Served) -> bool:
    return served.status in ("idle", "failed")
