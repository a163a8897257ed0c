"""Event loops in threads of our own, for services that have no event loop, and for work that outlives one."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .forks import renew_after_fork

T = TypeVar("T")


def run_apart(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    """Does some work with a thread and a loop of its own, for callers whose loop is gone or about to end.

    Does nothing while the interpreter ends: a thread that is started then never runs, and is waited for for ever.
    """
    if not sys.is_finalizing():
        threading.Thread(
            target=lambda: asyncio.run(work()), name=name, daemon=True
        ).start()


class LoopThread:
    """Runs coroutines for threads without a loop: one thread, started on first use, not one a call."""

    def __init__(self) -> None:
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Forgets the loop without ending it."""
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of `work`. Interrupting the caller cancels it.

        Raises `RuntimeError` when called on the private loop itself, which would wait for itself for ever.
        """
        try:
            running = self._enter()
        except BaseException:
            work.close()
            raise
        try:
            future = asyncio.run_coroutine_threadsafe(work, running.loop)
            try:
                return future.result()
            except BaseException:
                future.cancel()
                raise
        finally:
            self._leave(running)

    def close(self) -> None:
        """Stops the loop: at once when it is idle, else after the calls that run. A later call starts another one."""
        with self._lock:
            running, self._running = self._running, None
            if running is None:
                return
            running.closing = True
            idle = running.users == 0
        if idle:
            running.stop()
            if running.thread is not threading.current_thread():
                running.thread.join()

    def _enter(self) -> _Running:
        with self._lock:
            running = self._running
            if running is None or not running.thread.is_alive():
                running = self._running = _Running()
                weakref.finalize(self, running.stop)
            elif running.thread is threading.current_thread():
                raise RuntimeError(
                    "a handler that runs on the event loop cannot wait for another call: await it instead"
                )
            running.users += 1
            return running

    def _leave(self, running: _Running) -> None:
        with self._lock:
            running.users -= 1
            last = running.closing and running.users == 0
        if last:
            running.stop()


class _Running:
    """A loop, the thread that runs it, and how many calls wait for it."""

    def __init__(self) -> None:
        self.users = 0
        self.closing = False
        started = threading.Event()
        self.thread = threading.Thread(
            target=self._work, args=(started,), name="toolgen-loop", daemon=True
        )
        self.thread.start()
        started.wait()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self.loop.stop)

    def _work(self, started: threading.Event) -> None:
        with asyncio.Runner() as runner:  # cancels what is left, and closes the loop
            self.loop = runner.get_loop()
            started.set()
            self.loop.run_forever()
