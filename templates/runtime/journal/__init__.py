"""The journal: the durable record of calls.

A journal knows one call by three fields: session, turn and call id. Before a handler runs, its intent is written
(`begin`); after it ran, its result (`finish`). So a call that is delivered twice runs once and is answered the same
both times, and after a crash it is known which calls may have had an effect. Whoever sent a result notes it
(`submitted`).

A call is in one of these states:

    started ──> succeeded | failed         its result is kept and given again whenever the call comes again
       │
       ├──────> parked                     its outcome is unknown; that answer is kept and given again
       │           │
       │           └──> succeeded | cleared    a person has found out (`resolve`)
       └ (its owner is gone) = interrupted

The execution rules stand in `journalled.py`; a store only has to keep these promises:

- `begin` decides atomically. Of two callers with one key, one gets a claim, the other `Running` or `Stored`.
- A claim ends with its owner. Whoever takes a call over gets a new claim, and the old one is worth nothing from then
  on: `finish` with it changes nothing.
- What `begin` and `finish` wrote survives what the store promises to survive.
- A failure raises: `begin` must not return before the intent is as safe as the store can make it.

    JournalError
    └── JournalUnavailable     the store cannot be read or written now: disk full, locked, no connection, read-only
        ├── JournalDamaged     the store is no journal, or its content is broken; it is left as it is
        └── JournalTooNew      the store was written by a newer version of this code
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from ..errors import ToolgenError


class JournalError(ToolgenError):
    """Base of what journals raise."""


class JournalUnavailable(JournalError):
    """The store cannot be read or written now. Nothing that was asked for has happened, as far as is known."""


class JournalDamaged(JournalUnavailable):
    """The store is no journal, or its content is broken. It is left as it is, for a person to look at."""


class JournalTooNew(JournalUnavailable):
    """The store was written by a newer version of this code; `found` and `known` are versions of its schema."""

    def __init__(self, where: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{where} has the schema version {found}, and this code knows versions up to {known}"
        )


@dataclass(frozen=True, slots=True)
class Key:
    """What identifies a call. Three fields, never a joined text."""

    session_id: str
    turn_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to be run."""

    key: Key
    tool: str
    """Wire name."""
    fingerprint: str
    """Digest of the tool and its arguments. A store that outlasts the process keeps only a keyed digest of it."""
    idempotency_key: str = ""
    arguments: str = ""
    """The arguments as canonical JSON. A store keeps them only where it is told to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one call and to store its result, until its owner is gone."""

    key: Key
    token: str
    """No two claims of one key ever share it."""
    attempt: int = 1
    """How often the call was claimed, this time included."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The handler of this call has not run; the intent is now written and it may run."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Stored:
    """The call has ended before: `record` is its result as `journalled.py` wrote it."""

    record: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """The call has ended before, its result was sent and accepted, and is not kept any more."""


@dataclass(frozen=True, slots=True)
class Running:
    """Another caller that is still alive runs this call."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An intent without a result, of an owner that is gone: whether the handler ran is unknown.

    The caller owns the call now.
    """

    claim: Claim


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key is known for another tool or other arguments."""


Begun = Fresh | Stored | Redacted | Running | Interrupted | Conflict

Ended = Literal["succeeded", "failed", "parked"]
"""How a call ended. `parked`: nobody knows whether it had its effect, and that was the answer."""

State = Literal["started", "interrupted", "cleared", "succeeded", "failed", "parked"]
"""`cleared`: a person found that the call had no effect; it runs when it comes again."""

STATES: tuple[State, ...] = (
    "started",
    "interrupted",
    "cleared",
    "succeeded",
    "failed",
    "parked",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One call as the journal has it, for the people who run the service."""

    key: Key
    tool: str
    state: State
    attempt: int
    idempotency_key: str
    owner: str
    """Who runs it, or ran it last."""
    started_at: float
    """Seconds since 1970 by the clock of the store, of the last attempt."""
    ended_at: float | None = None
    submitted_at: float | None = None
    """When the result was accepted by the API; None where that is not known."""
    arguments: str | None = None
    """Canonical JSON; only from `show`, and only where the store keeps it."""
    record: str | None = None
    """The result; only from `show`, and None once it is redacted."""


class Journal(Protocol):
    """A store of calls. All methods may be called from several event loops and threads at once."""

    async def begin(self, intent: Intent) -> Begun:
        """Claims a call."""
        ...

    async def finish(self, claim: Claim, record: str, how: Ended) -> bool:
        """Stores the result of a claimed call. False, and no change, where another owner has taken the call over."""
        ...

    async def release(self, claim: Claim, *, ran: bool) -> None:
        """Gives a claim up without a result.

        With `ran`, the handler may have begun: what it did is unknown from now on, and the next `begin` says
        `Interrupted`. Without, the intent is taken back, and the next `begin` says `Fresh`.
        """
        ...

    async def submitted(self, key: Key) -> None:
        """Notes that the stored result was sent and accepted."""
        ...


class Operable(Journal, Protocol):
    """A journal that people can look into. Every store here is one; execution needs none of it."""

    async def entries(
        self,
        state: State | None = None,
        *,
        limit: int = 100,
        after: Key | None = None,
    ) -> list[Entry]:
        """Calls in the order of their keys, from the one after `after`."""
        ...

    async def show(self, key: Key) -> Entry | None:
        """One call with all that is kept of it."""
        ...

    async def resolve(self, key: Key, record: str | None) -> bool:
        """Ends a parked or interrupted call with what a person found out: its result, or None for no effect.

        False, and no change, where there is no such call. See `journalled.resolve`, which takes a value.
        """
        ...

    async def purge(self, older_than: float, *, unsent: bool = True) -> int:
        """Forgets calls that ended more than so many seconds ago; gives their number.

        Calls that are started, interrupted or parked stay. With `unsent` false, results that nobody noted as sent stay
        too. A call that comes again after it was purged is a new call.
        """
        ...

    async def verify(self) -> list[str]:
        """What is wrong with the store, a line each."""
        ...

    def close(self) -> None:
        """Ends the work that was begun and lets go of the store. Calls that still run become interrupted ones."""
        ...
