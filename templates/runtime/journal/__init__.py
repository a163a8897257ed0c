"""The journal: the durable record of calls.

A journal knows one call by three fields: session, turn and call id. Before a handler runs, its intent is written
(`begin`); after it ran, its result (`finish`). So a call that is delivered twice runs once and is answered the same
both times, and after a crash it is known which calls may have had an effect. Whoever sent a result notes it
(`submitted`).

The execution rules stand in `journalled.py`; a store only has to keep these promises:

- `begin` decides atomically. Of two callers with one key, one gets `Fresh`, the other `Running` or `Stored`.
- What `begin` and `finish` wrote survives what the store promises to survive.
- A failure raises: `begin` must not return before the intent is as safe as the store can make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Key:
    """What identifies a call. Three fields, never a joined text."""

    session_id: str
    turn_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """The key was not known; the intent is now written and the handler may run."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The call has ended before: `record` is its result as `journalled.py` wrote it."""

    record: str


@dataclass(frozen=True, slots=True)
class Running:
    """Another caller that is still alive runs this call."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An intent without a result, of an owner that is gone: whether the handler ran is unknown."""

    attempt: int
    """Number of the attempt that the caller now owns, from 2."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key is known for another tool or other arguments."""


Begun = Fresh | Stored | Running | Interrupted | Conflict


class Journal(Protocol):
    """A store of calls. All methods may be called from several event loops and threads at once."""

    async def begin(self, key: Key, digest: str) -> Begun:
        """Claims `key` for a call whose tool and arguments have this digest."""
        ...

    async def finish(self, key: Key, record: str) -> None:
        """Stores the result of a claimed call."""
        ...

    async def release(self, key: Key, *, ran: bool) -> None:
        """Gives a claim up without a result.

        With `ran`, the handler may have begun: what it did is unknown from now on, and the next `begin` says
        `Interrupted`. Without, the intent is taken back, and the next `begin` says `Fresh`.
        """
        ...

    async def submitted(self, key: Key) -> None:
        """Notes that the stored result was sent and accepted."""
        ...
