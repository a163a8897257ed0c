"""What a loop gives back, and what it tells on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .calls import Call, Result
from .dispatcher import Dispatcher
from .errors import ResultsNotStored
from .steps import Ask, Execute, Sleep, Steps, Submitted

log = logging.getLogger(__name__)

OnEvent = Callable[[Any], Any]
"""Gets every raw event of a stream, `CallsReceived` and `ResultsReady`; may be async under `run`."""


NOT_TO_BE_SENT = ("journal_unavailable", "shutting_down")
"""Codes of results that are no answer: the call is to be run again, or answered from the journal, later."""

IN_PROGRESS_PAUSE = 0.5
"""Seconds between looks at a call that another worker is running."""


@dataclass(slots=True)
class CallsReceived:
    """The model asked for these calls; they run now."""

    calls: Sequence[Call]


@dataclass(slots=True)
class ResultsReady:
    """The calls have ended; these results are sent next."""

    results: Sequence[Result]


@dataclass(slots=True)
class Turn:
    """A conversation's turn, from the input to the model's answer."""

    text: str
    """The model's answer."""
    calls: list[Result] = field(default_factory=list[Result])
    """The results of all calls of the turn, in their order; each has its call (`.call`, `.name`, `.arguments`)."""
    raw: Any = None
    """The API's last answer."""
    status: str = "completed"
    """The API's word for how the turn ended."""
    history: list[Any] = field(default_factory=list[Any])
    """Where the caller keeps the history: the items to begin the next turn's input with."""
    steps: int = 0
    """How often the model was asked."""
    session_id: str = ""
    """Where the API keeps the history: the session to go on with."""


def is_elsewhere(result: Result) -> bool:
    """Whether another worker is running the call, so that this is no answer yet."""
    return result.error is not None and result.error.code == "in_progress"


def run_calls(
    calls: list[Call],
    on_event: OnEvent | None,
    dispatcher: Dispatcher | None = None,
    *,
    wait: bool = False,
) -> Steps[list[Result]]:
    """Runs calls, by `dispatcher` or the driver's, and tells `on_event` before and after. Raises `ResultsNotStored`.

    With `wait`, the results of calls that another worker runs are waited for, else they are `in_progress`.
    """
    if on_event is not None:
        yield Ask(on_event, (CallsReceived(calls),))
    results: list[Result] = yield Execute(calls, dispatcher)
    while wait and (open := [n for n, one in enumerate(results) if is_elsewhere(one)]):
        yield Sleep(IN_PROGRESS_PAUSE)
        again: list[Result] = yield Execute([calls[n] for n in open], dispatcher)
        for n, result in zip(open, again, strict=True):
            results[n] = result
    if any(
        result.error is not None and result.error.code in NOT_TO_BE_SENT
        for result in results
    ):
        raise ResultsNotStored(results)
    if on_event is not None:
        yield Ask(on_event, (ResultsReady(results),))
    return results


def note_submitted(
    results: Sequence[Result], dispatcher: Dispatcher | None = None
) -> Steps[None]:
    """Notes that results were accepted. They were: a journal that fails now is logged, and the turn goes on."""
    try:
        yield Submitted(results, dispatcher)
    except Exception:
        log.exception("the journal cannot note that results were submitted")
