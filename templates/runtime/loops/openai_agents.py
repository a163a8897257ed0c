"""A turn of an OpenAI Agents session (beta).

The service runs the agent and keeps its history; this side runs the function calls that it waits for.

| Function | What it does |
|---|---|
| `run` | follows one turn over a stream, from its input to the agent's answer |
| `serve` | answers what one session waits for now |
| `poll` | does that for several sessions, in rounds |
| `receive` | does that for a webhook's delivery, whose signature it checks |
| `cancel` | cancels the turn that a session is working on |

Each has a twin whose name ends in `_sync`. They are written once, in the modules beside this one: what a session waits
for is answered in `openai_agents_worker`, a turn is followed in `openai_agents_follower`, and `openai_agents_visits`
does without a stream.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..adapters.openai_agents import registration, write_input
from ..dispatcher import Dispatcher
from ..errors import LoopError
from ..resumption import Notes
from ..sdk import get
from ..steps import Invoke, Sleep, Step, Steps, asynchronous, synchronous
from ..turn import OnEvent, Turn
from .openai_agents_follower import OVER, Follower, newest_turn
from .openai_agents_visits import (
    Delivery,
    Served,
    Sessions,
    attend,
    look_after,
    take_delivery,
)
from .openai_agents_worker import Lost, OnAction, Worker, unchanged

__all__ = [
    "Delivery",
    "OnAction",
    "Served",
    "Sessions",
    "cancel",
    "cancel_sync",
    "poll",
    "poll_sync",
    "receive",
    "receive_sync",
    "run",
    "run_sync",
    "serve",
    "serve_sync",
]

log = logging.getLogger(__name__)

RECONNECT_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to connect again; the count starts anew when the turn has moved on."""

CANCEL_PAUSES = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
"""Seconds between looks at a turn that was cancelled."""


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    input: str | Sequence[Any] | None = None,
    session_id: str | None = None,
    turn_key: str = "",
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
        turn_key: your own key of the input, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: the input goes in once.
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
        ValueError: not exactly one of `session_id` and `create`, an empty input, a new session without one, or a
            `turn_key` without a session id, an input, or a journal.
        Whatever the client raises and is no documented condition of the API.
    """
    if (session_id is None) == (create is None):
        raise ValueError("give either session_id or create")
    worker = Worker(dispatcher, client, session_id or "", context, on_event, on_action)
    messages = None if create is not None or input is None else write_input(input)
    notes: Notes | None = None
    if turn_key:
        if messages is None:
            raise ValueError("a turn_key needs a session_id and an input")
        notes = Notes(dispatcher, worker.session_id, turn_key, messages)
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
    follower = Follower(worker, messages, first, notes)
    failures = 0
    while True:
        try:
            return (yield from follower.follow())
        except Lost as lost:
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
        turn = yield from unchanged(newest_turn(client, session_id))
        status = str(get(turn, "status", ""))
        if status in ("", *OVER) or pause is None:
            break
        yield Sleep(pause)
    return status


run = asynchronous(converse)
run_sync = synchronous(converse)
serve = asynchronous(attend)
serve_sync = synchronous(attend)
poll = asynchronous(look_after)
poll_sync = synchronous(look_after)
receive = asynchronous(take_delivery)
receive_sync = synchronous(take_delivery)
cancel = asynchronous(end_turn)
cancel_sync = synchronous(end_turn)


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
