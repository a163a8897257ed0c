"""A journal in memory: for tests, and for loops whose service set no journal.

It survives dropped streams and repeated deliveries, not the end of the process.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from . import Begun, Conflict, Fresh, Interrupted, Key, Running, Stored


@dataclass(slots=True)
class _Entry:
    digest: str
    attempt: int = 1
    running: bool = True
    record: str | None = None
    submitted: bool = False


class MemoryJournal:
    """Keeps every call of the process until it is dropped; with `limit`, only so many of those that have ended."""

    def __init__(self, limit: int | None = None) -> None:
        self._lock = threading.Lock()
        self._limit = limit
        self._entries: dict[Key, _Entry] = {}
        self._ended: dict[Key, None] = {}
        """The calls with a result, oldest first."""

    async def begin(self, key: Key, digest: str) -> Begun:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._entries[key] = _Entry(digest)
                return Fresh()
            if entry.digest != digest:
                return Conflict()
            if entry.record is not None:
                return Stored(entry.record)
            if entry.running:
                return Running()
            entry.attempt += 1
            entry.running = True
            return Interrupted(entry.attempt)

    async def finish(self, key: Key, record: str) -> None:
        with self._lock:
            entry = self._entries[key]
            entry.record = record
            entry.running = False
            self._ended[key] = None
            while self._limit is not None and len(self._ended) > self._limit:
                oldest = next(iter(self._ended))
                del self._ended[oldest], self._entries[oldest]

    async def release(self, key: Key, *, ran: bool) -> None:
        with self._lock:
            if ran:
                self._entries[key].running = False
            else:
                del self._entries[key]

    async def submitted(self, key: Key) -> None:
        with self._lock:
            if (entry := self._entries.get(key)) is not None:
                entry.submitted = True

    def is_submitted(self, key: Key) -> bool:
        """Whether the result of this call was sent and accepted."""
        with self._lock:
            entry = self._entries.get(key)
            return entry is not None and entry.submitted
