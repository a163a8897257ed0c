"""A bounded pool of threads for handlers that are plain functions.

The threads are daemons, so that a handler that never returns cannot keep the process from ending; a handler that ran
into its timeout keeps its thread, and is counted as busy, until it returns.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from .forks import renew_after_fork

IDLE = 30.0
"""Seconds after which a thread without work ends."""

_Job = tuple["Future[Any]", Callable[[], Any]]


class ThreadPool:
    """Runs functions on at most `size` threads, started as they are needed."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one thread")
        self.size = size
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Forgets all jobs and threads."""
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._running = 0
        self._idle = 0
        self._threads = 0
        self._lent = 0
        self._number = 0
        self._closing = False

    @property
    def busy(self) -> int:
        """Functions that are running or waiting for a thread."""
        return self._running + len(self._jobs)

    @property
    def running(self) -> int:
        """Functions that are running."""
        return self._running

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Runs `function(*args)` in a copy of the caller's context. A future that has not started can be cancelled."""
        context = contextvars.copy_context()
        future: Future[Any] = Future()
        with self._changed:
            self._closing = False
            self._jobs.append((future, lambda: context.run(function, *args)))
            self._serve()
        return future

    @contextlib.contextmanager
    def lending(self) -> Generator[None]:
        """While a function of this pool waits for another one, its thread does not count: else both may wait for ever.

        Does nothing in other threads.
        """
        if getattr(_worker, "pool", None) is not self:
            yield
            return
        with self._changed:
            self._lent += 1
            self._serve()
        try:
            yield
        finally:
            with self._changed:
                self._lent -= 1
                self._changed.notify()  # an idle thread that is now one too many

    def close(self) -> None:
        """Ends the threads as they become idle. Jobs already submitted still run; a later job begins anew."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def _serve(self) -> None:
        """Finds a thread for the newest job: an idle one, a new one, or whichever is free first."""
        if self._idle >= len(self._jobs):
            self._changed.notify()
        elif self._threads < self.size + self._lent:
            self._number += 1
            name = f"toolgen-handler-{self._number}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the process may have no more threads
                if not self._threads:
                    self._jobs.pop()
                    raise
            else:
                self._threads += 1

    def _work(self) -> None:
        _worker.pool = self
        while (job := self._next()) is not None:
            future, run = job
            settle: Callable[[], None] | None = None
            try:
                if future.set_running_or_notify_cancel():
                    try:
                        settle = functools.partial(future.set_result, run())
                    except BaseException as error:  # noqa: BLE001 - for who waits
                        settle = functools.partial(future.set_exception, error)
            finally:
                # Before anybody hears of the outcome: who then asks what still runs must not find this job.
                with self._changed:
                    self._running -= 1
            if settle is not None:
                settle()
            del job, future, run, settle

    def _next(self) -> _Job | None:
        """The next job for the calling thread, or None when the thread is to end."""
        with self._changed:
            while self._threads <= self.size + self._lent:
                if self._jobs:
                    self._running += 1
                    return self._jobs.popleft()
                if self._closing:
                    break
                self._idle += 1
                worked = self._changed.wait(IDLE)
                self._idle -= 1
                if not worked and not self._jobs:
                    break
            self._threads -= 1
            if self._jobs:  # the call that woke this thread was meant for a job
                self._changed.notify()
            return None


_worker = threading.local()
