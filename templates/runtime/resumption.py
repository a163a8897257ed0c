"""What a loop has to know again after a crash, kept in the journal under the caller's own key of the turn.

Calls are in the journal anyway. Where an API can be asked what it waits for, that is enough. Where it cannot, its
answers have to be kept too, or a restart would know of no calls: each is a note, which is begun before the request goes
out and kept before anything is done about the answer. A note is an entry of the journal like any other: sealed,
redacted once it was dealt with, purged, and shown with the tool `(request)`.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .calls import fingerprint
from .dispatcher import Dispatcher
from .errors import AnswerLost, LoopError, ResultsNotStored
from .journal import (
    Begun,
    Claim,
    Conflict,
    Fresh,
    Intent,
    Interrupted,
    Journal,
    Key,
    Redacted,
    Running,
    Stored,
)
from .loopthread import run_apart
from .output import encode
from .sdk import to_wire
from .steps import Await, Sleep, Steps
from .turn import IN_PROGRESS_PAUSE

log = logging.getLogger(__name__)

T = TypeVar("T")

TOOL = "(request)"
"""Stands for the tool's name in the journal's entries of notes."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The note was kept before, and this is its value; `known` is False where it was redacted since."""

    value: Any = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class New:
    """The note is this run's to keep."""

    claim: Claim
    begun: bool
    """Whether an earlier run had begun it and did not get as far as keeping it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an API said."""

    value: Any
    """Plain JSON values; None where it was said to an earlier run and was redacted since."""
    again: bool
    """Whether an earlier run heard it."""


class Notes:
    """The notes of one turn."""

    def __init__(
        self, dispatcher: Dispatcher, scope: str, turn_key: str, given: Sequence[Any]
    ) -> None:
        """
        Args:
            dispatcher: its journal holds the notes.
            scope: the session, or whatever else `turn_key` is unique in.
            turn_key: the caller's own key of the turn.
            given: what the turn begins with: a key that comes again with something else is a mistake.
        """
        if dispatcher.journal is None:
            raise ValueError("a turn_key needs a dispatcher with a journal")
        self._journal: Journal = dispatcher.journal
        self._scope = scope
        self._turn_key = turn_key
        text = json.dumps(to_wire(given), sort_keys=True, default=_plain)
        self._digest = fingerprint((scope, turn_key, text))

    def token(self, name: str) -> str:
        """What makes a repeated request known to the service as the same one: 32 hex digits."""
        return fingerprint((self._scope, self._turn_key, name))[:32]

    def answer(
        self,
        name: str,
        ask: Callable[[], Steps[T]],
        *,
        may_repeat: bool,
        was_refused: Callable[[BaseException], bool],
        was_taken: Callable[[BaseException], bool] = lambda error: False,
        to_json: Callable[[T], Any] = to_wire,
    ) -> Steps[Answer]:
        """The answer to one request: kept by an earlier run, or asked for and kept now.

        Args:
            name: of the note.
            ask: makes the request.
            may_repeat: whether it may be made when an earlier run may have made it already.
            was_refused: whether an error that `ask` raised says that the request had no effect now.
            was_taken: whether an error says that it had its effect before.
            to_json: makes plain values of an answer.

        Raises:
            AnswerLost: an earlier run may have had the answer, and the request may not be made again or is refused.
            LoopError: `turn_key` was used for another turn.
            ResultsNotStored: the journal failed.
            Whatever `ask` raises.
        """
        note = yield from self.begin(name)
        if isinstance(note, Kept):
            return Answer(note.value, True)
        if note.begun and not may_repeat:
            yield from self.give_up(note, sent=True)
            raise AnswerLost(self._scope, self._turn_key, name)
        try:
            value = yield from ask()
        except GeneratorExit:
            self._leave(note)
            raise
        except BaseException as error:
            yield from self.give_up(note, sent=note.begun or not was_refused(error))
            if note.begun and was_taken(error):
                raise AnswerLost(self._scope, self._turn_key, name) from error
            raise
        record = yield from self.keep(note, to_json(value))
        # As a later run will have it: what follows from an answer, such as ids, must be the same in both.
        return Answer(_read(record), False)

    def is_kept(self, name: str) -> Steps[bool]:
        """Whether this note was kept before. False, too, where the journal cannot be looked into."""
        show = getattr(self._journal, "show", None)
        if show is None:
            return False
        entry = yield from self._ask(lambda: show(self._key(name)))
        return entry is not None and entry.state == "succeeded"

    def begin(self, name: str) -> Steps[Kept | New]:
        """The note's value, or the right to keep it. Waits while another worker has that.

        Raises `LoopError` where `turn_key` was used for another turn, `ResultsNotStored` where the journal fails.
        """
        intent = Intent(self._key(name), TOOL, self._digest, self.token(name))
        while True:
            begun: Begun = yield from self._ask(lambda: self._journal.begin(intent))
            if not isinstance(begun, Running):
                break
            yield Sleep(IN_PROGRESS_PAUSE)
        if isinstance(begun, Conflict):
            raise LoopError(
                f"the turn_key {self._turn_key!r} was used before for another turn"
            )
        if isinstance(begun, Stored):
            try:
                return Kept(_read(begun.record))
            except KeyError:
                words = f"{name} of {self._turn_key!r} was resolved as a call"
                raise LoopError(words) from None
        if isinstance(begun, Redacted):
            return Kept(known=False)
        assert isinstance(begun, (Fresh, Interrupted))
        return New(begun.claim, isinstance(begun, Interrupted))

    def keep(self, new: New, value: Any) -> Steps[str]:
        """Keeps the value, made of what JSON has words for, or of a vendor's objects; gives it as it is kept.

        Raises `ResultsNotStored` where it cannot be kept; then nothing must be done about it.
        """
        try:
            record = json.dumps({_NOTE: to_wire(value)}, default=_plain)
        except (TypeError, ValueError, RecursionError):
            yield from self.give_up(new, sent=True)
            raise
        finish = self._journal.finish
        if not (
            yield from self._ask(lambda: finish(new.claim, record, "succeeded"), new)
        ):
            raise ResultsNotStored(())  # another worker took the turn over
        return record

    def give_up(self, new: New, *, sent: bool) -> Steps[None]:
        """Lets go of a note that cannot be kept; `sent` where its request may have had an effect."""
        try:
            yield Await(lambda: self._journal.release(new.claim, ran=sent))
        except Exception:
            log.exception("the journal cannot note that a request was given up")

    def _leave(self, new: New) -> None:
        """Lets go of a note in a loop that was stopped, and takes no steps any more. It does not wait."""

        async def release() -> None:
            try:
                await self._journal.release(new.claim, ran=True)
            except Exception:
                # Where the journal is closed already, its claims have ended with it.
                log.info(
                    "the journal cannot note that a request was given up",
                    exc_info=True,
                )

        # The journal takes callers from any event loop, and that of the loop may be about to end.
        run_apart(release, "toolgen-note")

    def dealt_with(self, name: str) -> Steps[None]:
        """Notes that the value is needed no more. A journal that fails now is logged."""
        try:
            yield from self._ask(lambda: self._journal.submitted(self._key(name)))
        except ResultsNotStored:
            log.exception("the journal cannot note that an answer was dealt with")

    def _ask(
        self, ask: Callable[[], Awaitable[Any]], new: New | None = None
    ) -> Steps[Any]:
        try:
            return (yield Await(ask))
        except Exception as error:
            if new is not None:
                yield from self.give_up(new, sent=True)
            raise ResultsNotStored(()) from error

    def _key(self, name: str) -> Key:
        return Key(self._scope, self._turn_key, name)


def _plain(value: Any) -> Any:
    """What JSON has no word for."""
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode()}
    wire = to_wire(value)
    return encode(wire) if wire is value else wire


def _read(record: str) -> Any:
    """The value of a record. Raises `KeyError` for the record of something else."""
    return json.loads(record, object_hook=_restored)[_NOTE]


def _restored(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value


_NOTE, _BYTES = "note", "toolgen.bytes"
