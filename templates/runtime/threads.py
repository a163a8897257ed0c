"""A bounded pool of threads for handlers that are plain functions.

The threads are daemons, so that a handler that never returns cannot keep the process from ending; a handler that ran
into its timeout keeps its thread, and is counted as busy, until it returns.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

_Job = tuple["Future[Any]", Callable[[], Any]]


class ThreadPool:
    """Runs functions on at most `size` threads, started as they are needed."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one thread")
        self.size = size
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._open = 0

    @property
    def busy(self) -> int:
        """Functions that are running or waiting for a thread."""
        return self._open

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Runs `function(*args)` in a copy of the caller's context. A future that has not started can be cancelled."""
        context = contextvars.copy_context()
        future: Future[Any] = Future()
        with self._lock:
            self._open += 1
            if self._open > self._started and self._started < self.size:
                self._started += 1
                threading.Thread(target=self._work, name=f"toolgen-handler-{self._started}", daemon=True).start()
        self._jobs.put((future, lambda: context.run(function, *args)))
        return future

    def close(self) -> None:
        """Lets the threads end once they are idle. Jobs already submitted still run."""
        with self._lock:
            for _ in range(self._started):
                self._jobs.put(None)
            self._started = 0

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, run = job
            try:
                if future.set_running_or_notify_cancel():
                    try:
                        outcome = run()
                    except BaseException as error:  # it belongs to whoever waits for the future
                        future.set_exception(error)
                    else:
                        future.set_result(outcome)
            finally:
                with self._lock:
                    self._open -= 1
                del job, future, run
