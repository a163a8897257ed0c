"""The calls that run now, and how they end when the service does."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import weakref
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from .forks import renew_after_fork


@dataclass(frozen=True, slots=True)
class Shutdown:
    """What became of the calls that ran when a shutdown began."""

    finished: int
    """Calls that ended by themselves in time."""
    stopped: int
    """Calls that were stopped and answered `shutting_down`. With a journal their outcome is noted as unknown."""
    left: int
    """Handlers that could not be stopped: plain functions in threads, and what ignores its cancellation. They run on
    until the process ends, and the journal stays open for what they come to."""


class RunningCall:
    """One call on its way."""

    stopped = False
    _task: weakref.ref[asyncio.Task[Any]] | None = None

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """The task that awaits the call, from the first time on that the call may have to wait."""
        return None if self._task is None else self._task()

    def awaited_by(self, task: asyncio.Task[Any]) -> None:
        """Notes the task that awaits the call."""
        # Not kept alive: a task whose loop was closed has to be found to be lost, and its call with it.
        self._task = weakref.ref(task)

    def stop(self, among: Collection[RunningCall]) -> None:
        """Cancels the call from any thread, if it still is among these by then."""
        task = self.task
        if task is None:
            return

        def cancel() -> None:
            if self in among and not self.stopped:
                self.stopped = True
                task.cancel()

        with contextlib.suppress(RuntimeError):  # that loop is closed
            task.get_loop().call_soon_threadsafe(cancel)

    def take_back(self) -> bool:
        """Ends the cancellation by `stop`. False where there was none, or somebody else cancelled the task as well."""
        task = self.task
        if not self.stopped or task is None:
            return False
        self.stopped = False
        return task.uncancel() == 0


CURRENT: contextvars.ContextVar[RunningCall | None] = contextvars.ContextVar(
    "toolgen_running_call", default=None
)
"""The call whose handler runs here."""


def may_wait(task: asyncio.Task[Any] | None = None) -> None:
    """Is called before a call waits for anything: from then on it can be stopped."""
    call = CURRENT.get()
    if call is not None and call.task is None:
        task = task or asyncio.current_task()
        if task is not None:
            call.awaited_by(task)


class RunningCalls:
    """All calls of a dispatcher and of those made from it, on any number of event loops."""

    def __init__(self) -> None:
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Forgets all calls."""
        self.now: set[RunningCall] = set()
        self.closed = False
        """Whether no call may begin any more."""
        self._lock = threading.Lock()
        self._waiting: list[Future[None]] = []

    def may_begin(self, outer: Any) -> bool:
        """Whether a call may begin once this is closed: where it is part of `outer`, which is waited for."""
        return outer in self.now

    def ended(self, call: RunningCall) -> None:
        """Is called after a call has left `now`, if it was stopped or this is closed."""
        call.take_back()  # where its handler ignored it
        if self.closed and not self.now:
            self._tell()

    def close(self) -> frozenset[RunningCall]:
        """From now on no call begins. Gives those that run."""
        self.closed = True
        return frozenset(self.now)

    async def drained(
        self, calls: Collection[RunningCall], seconds: float | None
    ) -> frozenset[RunningCall]:
        """Waits until no call runs any more, at most so long. Gives those of `calls` that still run."""
        empty: Future[None] = Future()
        with self._lock:
            self._waiting.append(empty)
        if not self.now:
            self._tell()
        waiting = asyncio.wrap_future(empty)
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        finally:
            waiting.cancel()
        return frozenset(calls) & self.now

    def stop(self) -> None:
        """Cancels all calls that still run."""
        for call in frozenset(self.now):
            call.stop(self.now)

    def _tell(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for empty in waiting:
            if empty.set_running_or_notify_cancel():
                empty.set_result(None)
