"""A journal in memory: for tests, and for loops whose service set no journal.

It survives dropped streams and repeated deliveries, not the end of the process.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass

from . import (
    Begun,
    Claim,
    Conflict,
    Ended,
    Entry,
    Fresh,
    Intent,
    Interrupted,
    Key,
    Running,
    State,
    Stored,
)


@dataclass(slots=True)
class _Call:
    intent: Intent
    claim: Claim | None
    started_at: float
    attempt: int = 1
    state: State = "started"
    record: str | None = None
    ended_at: float | None = None
    submitted_at: float | None = None


class MemoryJournal:
    """Keeps every call of the process until it is dropped; with `limit`, only so many of those that have ended."""

    def __init__(self, limit: int | None = None) -> None:
        self._lock = threading.Lock()
        self._limit = limit
        self._numbers = itertools.count(1)
        self._calls: dict[Key, _Call] = {}
        self._ended: dict[Key, None] = {}
        """The calls with a result, oldest first."""

    async def begin(self, intent: Intent) -> Begun:
        with self._lock:
            call = self._calls.get(intent.key)
            if call is None:
                claim = self._claim(intent.key, 1)
                self._calls[intent.key] = _Call(intent, claim, time.time())
                return Fresh(claim)
            if call.intent.fingerprint != intent.fingerprint:
                return Conflict()
            if call.record is not None:
                return Stored(call.record)
            if call.claim is not None:
                return Running()
            cleared = call.state == "cleared"
            call.attempt += 1
            call.claim = self._claim(intent.key, call.attempt)
            call.state = "started"
            call.started_at = time.time()
            return Fresh(call.claim) if cleared else Interrupted(call.claim)

    async def finish(self, claim: Claim, record: str, how: Ended) -> bool:
        with self._lock:
            call = self._claimed(claim)
            if call is None:
                return False
            self._end(call, record, how)
            while self._limit is not None and len(self._ended) > self._limit:
                oldest = next(iter(self._ended))
                del self._ended[oldest], self._calls[oldest]
            return True

    async def release(self, claim: Claim, *, ran: bool) -> None:
        with self._lock:
            call = self._claimed(claim)
            if call is None:
                return
            if ran:
                call.claim = None
                call.state = "interrupted"
            else:
                del self._calls[claim.key]

    async def submitted(self, key: Key) -> None:
        with self._lock:
            call = self._calls.get(key)
            if call is not None and call.record is not None:
                call.submitted_at = time.time()

    def is_submitted(self, key: Key) -> bool:
        """Whether the result of this call was sent and accepted."""
        with self._lock:
            call = self._calls.get(key)
            return call is not None and call.submitted_at is not None

    async def entries(
        self,
        state: State | None = None,
        *,
        limit: int = 100,
        after: Key | None = None,
    ) -> list[Entry]:
        with self._lock:
            keys = sorted(self._calls, key=_fields)
            found = [
                key
                for key in keys
                if (after is None or _fields(key) > _fields(after))
                and (state is None or self._calls[key].state == state)
            ]
            return [self._entry(key) for key in found[:limit]]

    async def show(self, key: Key) -> Entry | None:
        with self._lock:
            return self._entry(key, full=True) if key in self._calls else None

    async def resolve(self, key: Key, record: str | None) -> bool:
        with self._lock:
            call = self._calls.get(key)
            if call is None or call.state not in ("parked", "interrupted"):
                return False
            if record is not None:
                self._end(call, record, "succeeded")
            else:
                self._ended.pop(key, None)
                call.state, call.record, call.ended_at = "cleared", None, None
            call.submitted_at = None
            return True

    async def purge(self, older_than: float, *, unsent: bool = True) -> int:
        with self._lock:
            before = time.time() - older_than
            gone = [
                key
                for key, call in self._calls.items()
                if call.state in ("succeeded", "failed")
                and call.ended_at is not None
                and call.ended_at < before
                and (unsent or call.submitted_at is not None)
            ]
            for key in gone:
                self._ended.pop(key, None)
                del self._calls[key]
            return len(gone)

    async def verify(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing to let go of: the calls stay."""

    def _claim(self, key: Key, attempt: int) -> Claim:
        return Claim(key, str(next(self._numbers)), attempt)

    def _claimed(self, claim: Claim) -> _Call | None:
        """The call, where the claim still holds."""
        call = self._calls.get(claim.key)
        return call if call is not None and call.claim == claim else None

    def _end(self, call: _Call, record: str, how: Ended) -> None:
        call.claim, call.state, call.record = None, how, record
        call.ended_at = time.time()
        self._ended[call.intent.key] = None

    def _entry(self, key: Key, *, full: bool = False) -> Entry:
        call = self._calls[key]
        return Entry(
            key,
            call.intent.tool,
            call.state,
            call.attempt,
            call.intent.idempotency_key,
            "" if call.claim is None else "this process",
            call.started_at,
            call.ended_at,
            call.submitted_at,
            call.intent.arguments if full else None,
            call.record if full else None,
        )


def _fields(key: Key) -> tuple[str, str, str]:
    return key.session_id, key.turn_id, key.call_id
