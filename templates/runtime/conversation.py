"""A turn of a conversation, for every API that is asked again and again: request, calls, results, next request.

A loop over such an API gives its adapter's functions as an `Api` and a function that makes one request, and gets the
turn: `take_turn` decides when to ask again, what runs, what the history holds, and when to stop. Making a request,
streamed or not, is the same for all APIs too: `respond`.

    API = Api(status=status, text_of=text_of, read_calls=read_calls, ...)

    def converse(dispatcher, client, /, *, model, input, stream=False, ...) -> Steps[Turn]:
        def ask(messages, first):
            body = {"model": model, "messages": messages, ...}
            return (yield from respond(client.create, body, Gathering if stream else None, on_event))

        return (yield from take_turn(API, dispatcher, ask, items_of(input), ...))
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .calls import Call, CallError, Result, fingerprint
from .dispatcher import Dispatcher
from .errors import LoopError, StepLimit, TurnFailed, UnhandledAction
from .resumption import Notes
from .sdk import connection_lost, get, status_of, to_wire
from .steps import END, Ask, Close, Invoke, Next, Steps
from .turn import OnEvent, Turn, note_submitted, run_calls

log = logging.getLogger(__name__)

MAX_STEPS = 20
"""How often the model is asked in one turn, where the caller does not say."""

STREAM_ATTEMPTS = 3
"""How often a response is asked for whose stream breaks off. Nothing of it has run, so asking again is safe."""


class ReadCalls(Protocol):
    """Reads calls of a complete response, in order. `turn_id` is the id of the response, or what stands for it."""

    def __call__(
        self, response: Any, /, *, session_id: str, turn_id: str, context: Any
    ) -> list[Call]: ...


class Replay(Protocol):
    """What of a response becomes part of the history; call ids that the API left out are derived from `turn_id`."""

    def __call__(self, response: Any, /, *, turn_id: str) -> list[Any]: ...


class WriteResults(Protocol):
    """All items that answer a response: results, in order, and the answers that `on_action` gave.

    An API that wants them in one message gets a list of one message.
    """

    def __call__(
        self, results: Sequence[Result], response: Any, answers: Sequence[Any], /
    ) -> list[Any]: ...


def _id(response: Any) -> str:
    return str(get(response, "id", ""))


def _no(response: Any) -> bool:
    return False


def _nothing(response: Any, /, *, turn_id: str = "") -> list[Any]:
    return []


def _no_failure(response: Any) -> TurnFailed | None:
    return None


@dataclass(frozen=True, slots=True)
class Api:
    """What a conversation must know of its API: small functions of the adapter, none of which does I/O.

    Each takes a complete response, as the SDK's object or as a plain dict.
    """

    status: Callable[[Any], str]
    """The API's word for how the response ended: `turn.status`."""
    text_of: Callable[[Any], str]
    """The text of the response: `turn.text`."""
    read_calls: ReadCalls
    """The function calls that are to run."""
    is_cut_off: Callable[[Any], bool]
    """Whether the response was cut off: the turn ends, and none of its calls run."""
    read_cut_off: ReadCalls
    """The function calls of such a response."""
    replay: Replay
    """The response as items of the history: everything that the API wants to see again, unchanged."""
    write_results: WriteResults
    remains: Replay = _nothing
    """What of a response that was cut off may stand in the history: none of its calls, as nothing answers them."""
    failure: Callable[[Any], TurnFailed | None] = _no_failure
    """Why a response, which was not cut off, is no answer at all; None for one that is."""
    read_actions: Callable[[Any], list[Any]] = _nothing
    """What waits for an answer and is no function call; `on_action` is asked."""
    goes_on: Callable[[Any], bool] = _no
    """Whether a response without calls wants to be sent back as it is, so that the model goes on."""
    id_of: Callable[[Any], str] = _id
    """The id of the response; empty where the API gives none."""


def items_of(input: str | Sequence[Any]) -> list[Any]:
    """What a turn begins with, as plain dicts: the user's text as a message, messages and items as they are."""
    if isinstance(input, str):
        return [{"role": "user", "content": input}]
    return [to_wire(item) for item in input]


def take_turn(
    api: Api,
    dispatcher: Dispatcher,
    ask: Callable[[list[Any], bool], Steps[Any]],
    new: list[Any],
    *,
    session_id: str = "",
    context: Any = None,
    max_steps: int = MAX_STEPS,
    on_event: OnEvent | None = None,
    on_action: Callable[[Any], Any] | None = None,
    kept_by_service: bool = False,
    turn_key: str = "",
    may_repeat: bool = True,
    heard: Callable[[Any], None] | None = None,
) -> Steps[Turn]:
    """One turn: asks, runs the calls, sends their results, and asks again until the model answers without calls.

    Args:
        api: the functions of the adapter.
        dispatcher: the tools.
        ask: makes one request with these items and gives the complete response. Its second argument says whether it is
            the first of the turn: a forced tool choice holds for that one alone, else the turn would never end.
        new: the items that the turn begins with: the history so far, where the caller keeps it, and the new message.
        session_id: the caller's own key of the conversation.
        context: handed to the handlers as `call.context`.
        max_steps: how often the model may be asked.
        on_event: sees `CallsReceived` and `ResultsReady`; stream events are for `ask` to tell.
        on_action: answers what `api.read_actions` finds; None for an answer means that it has none.
        kept_by_service: the API keeps the history: each request carries only what is new.
        turn_key: the caller's own key of the turn. With it, responses are kept in the journal, and a run that ended
            anyhow is repeated with the same arguments: it hears the same responses, and goes on where that one was.
        may_repeat: whether a request may be made again whose response an earlier run may have had.
        heard: is told every response, also of an earlier run.

    Returns:
        The turn. `history` is everything that was sent and, but for what was cut off, received; empty where the service
        keeps the history, except for the answers to calls of a response that was cut off, which it still waits for.

    Raises:
        ValueError: the dispatcher has a journal and there is no session id, or a turn key and no journal.
        AnswerLost: a response of an earlier run was not kept, and the request must not be made again.
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: `api.failure` says so.
        UnhandledAction: something needs an answer, and `on_action` is missing or answered None. No call of it ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: another worker runs a call of the same response, and there is no turn key; nothing was submitted.
            Or the turn key was used for another turn.
        Whatever `ask` raises.
    """
    if dispatcher.journal is not None and not session_id:
        raise ValueError(
            "with a journal, give session_id: your own key of the conversation"
        )
    notes = Notes(dispatcher, session_id, turn_key, new) if turn_key else None
    turn = Turn("")
    results: list[Result] = []
    known: set[str] = set()
    while True:
        turn.steps += 1
        if not kept_by_service:
            turn.history += new
        sent = new if kept_by_service else list(turn.history)
        response = yield from _kept(
            notes,
            f"answer {turn.steps}",
            functools.partial(ask, sent, turn.steps == 1),
            may_repeat,
        )
        if heard is not None:
            heard(response)
        if results:
            yield from note_submitted(results)
        turn.raw, turn.status = response, api.status(response)
        turn.text = api.text_of(response)
        turn_id = api.id_of(response)
        if not turn_id or turn_id in known:
            # Some services give all their responses one id.
            turn_id = _position(sent, api.replay(response, turn_id=""))
        known.add(turn_id)
        if api.is_cut_off(response):
            lost = api.read_cut_off(
                response, session_id=session_id, turn_id=turn_id, context=context
            )
            cut_off = [_cut_off(call) for call in lost]
            turn.calls += cut_off
            if kept_by_service:
                # The service has the calls, and will want to see them answered.
                turn.history += api.write_results(cut_off, response, ())
            else:
                turn.history += api.remains(response, turn_id=turn_id)
            return turn
        if (failure := api.failure(response)) is not None:
            raise failure
        if not kept_by_service:
            turn.history += api.replay(response, turn_id=turn_id)
        calls = api.read_calls(
            response, session_id=session_id, turn_id=turn_id, context=context
        )
        actions = api.read_actions(response)
        if not calls and not actions and not api.goes_on(response):
            return turn
        if turn.steps >= max_steps:
            raise StepLimit(turn.steps, calls, response)
        answers: list[Any] = []
        for number, action in enumerate(actions, 1):
            asked = functools.partial(_act, on_action, action, response)
            name = f"action {turn.steps}.{number}"
            answers.append((yield from _kept(notes, name, asked, True)))
        results, new = [], []
        if calls or answers:
            results = yield from run_calls(calls, on_event, wait=notes is not None)
            _refuse_unfit(results, response)
            turn.calls += results
            new = api.write_results(results, response, answers)


class Gathering(Protocol):
    """Puts the events of one stream together to the response that an unstreamed request would have given."""

    def add(self, event: Any, /) -> bool:
        """Takes an event. True when nothing that follows matters. Raises `TurnFailed` for an event that says so."""
        ...

    def response(self) -> Any:
        """The whole response; None while its end has not come."""
        ...


def respond(
    function: Callable[..., Any],
    body: Mapping[str, Any],
    gathering: Callable[[], Gathering] | None,
    on_event: OnEvent | None = None,
    attempts: int = STREAM_ATTEMPTS,
) -> Steps[Any]:
    """One complete response.

    Args:
        function: the client's function, called with the members of `body`.
        body: the request, with what switches streaming on where that is part of it.
        gathering: makes what puts the events of a stream together; None for a request without streaming.
        on_event: sees every event of the stream.
        attempts: how often the response is asked for while its stream breaks off before its end.

    Raises `TurnFailed` for a stream that ends early each time, and whatever the client raises.
    """
    if gathering is None:
        return (yield Invoke(function, body))
    while True:
        attempts -= 1
        events = yield Invoke(function, body, stream=True)
        gathered = gathering()
        failure: Exception = TurnFailed(
            "failed",
            "stream_ended",
            "the stream ended before the response was complete",
        )
        while True:
            try:
                event = yield Next(events)
            except Exception as error:
                if not connection_lost(error):
                    raise
                failure = error
                break
            if event is END:
                break
            if on_event is not None:
                yield Ask(on_event, (event,))
            if gathered.add(event):
                break
        yield Close(events)
        if (response := gathered.response()) is not None:
            return response
        if not attempts:
            raise failure
        log.warning(
            "the stream of a response broke off (%s); it is asked for again",
            type(failure).__name__,
        )


def _position(sent: Sequence[Any], received: Sequence[Any]) -> str:
    """What stands for the id of a response that has none: the same for the same conversation so far, and only then."""
    texts = (
        json.dumps(items, sort_keys=True, default=repr) for items in (sent, received)
    )
    return fingerprint(texts)[:32]


def _cut_off(call: Call) -> Result:
    return Result(
        call,
        error=CallError("cut_off", "The answer was cut off, so this call was not run."),
    )


def _kept(
    notes: Notes | None, name: str, ask: Callable[[], Steps[Any]], may_repeat: bool
) -> Steps[Any]:
    """What comes of `ask`, or came of it in an earlier run of the turn."""
    if notes is None:
        return (yield from ask())
    answer = yield from notes.answer(
        name, ask, may_repeat=may_repeat, was_refused=_was_refused
    )
    return answer.value


def _was_refused(error: BaseException) -> bool:
    return 400 <= status_of(error) < 500


def _act(
    on_action: Callable[[Any], Any] | None, action: Any, response: Any
) -> Steps[Any]:
    answer = None if on_action is None else (yield Ask(on_action, (action,)))
    if answer is None:
        raise UnhandledAction(str(get(action, "type", "")), action, response)
    return to_wire(answer)


def _refuse_unfit(results: Sequence[Result], response: Any) -> None:
    """Raises for results that are no answer."""
    for result in results:
        code = "" if result.error is None else result.error.code
        if code == "in_progress":
            raise LoopError(
                f"another worker answers this response: it runs {result.name}", response
            )
        if code == "result_redacted":
            raise LoopError(
                f"the history needs the result of {result.name}, which the journal has redacted",
                response,
            )
