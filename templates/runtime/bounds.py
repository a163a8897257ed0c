"""Running one function within its time bound: on the event loop or in a thread of the pool."""

from __future__ import annotations

import asyncio
import logging
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from .running import may_wait
from .threads import ThreadPool

log = logging.getLogger(__name__)

T = TypeVar("T")

CLEAN_UP = 5.0
"""Seconds that a handler on the event loop may take to clean up once its time is over."""


class TookTooLong(Exception):
    """A handler ran into its time bound; `started` tells whether it began at all."""

    def __init__(self, started: bool) -> None:
        self.started = started
        super().__init__(started)


class NotStarted(asyncio.CancelledError):
    """A cancellation that came before the handler began."""


class StillRunning(asyncio.CancelledError):
    """A cancellation that could not stop the handler, which goes on in its thread as `job`."""

    def __init__(self, job: Future[Any]) -> None:
        self.job = job
        super().__init__()


def concerns_the_caller(error: BaseException) -> bool:
    """Whether what was raised on the loop is about more than one call: it ends the caller's task, or the process."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    if isinstance(
        error, KeyboardInterrupt
    ):  # only the main thread is ever interrupted from outside
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, GeneratorExit)


async def on_loop(awaitable: Awaitable[T], seconds: float | None) -> T:
    """The outcome of an awaitable, which is awaited in the caller's own task.

    Raises what it raises, and `TookTooLong`.
    """
    coroutine = _coroutine(awaitable)
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    return await rest_on_loop(coroutine, waiting, seconds)


async def rest_on_loop(
    coroutine: Coroutine[Any, Any, T], waiting: Any, seconds: float | None
) -> T:
    """The outcome of a coroutine that was begun with `send(None)` and waits for `waiting` now.

    A bound costs time, and many functions never wait: so it begins here. One that goes on waiting although it was
    cancelled is closed after `CLEAN_UP` seconds.

    Raises what the coroutine raises, and `TookTooLong`.
    """
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    may_wait(task)
    deadline = _Deadline(task, seconds)
    try:
        return await _rest(coroutine, waiting, deadline)
    except BaseException as error:
        deadline.withdraw()
        if not deadline.expired or concerns_the_caller(error):
            raise
        cause = (
            None if isinstance(error, (asyncio.CancelledError, TookTooLong)) else error
        )
        raise TookTooLong(started=True) from cause
    finally:
        deadline.withdraw()


async def in_thread(
    pool: ThreadPool,
    function: Callable[[], T],
    seconds: float | None,
    name: str,
    jobs: list[Future[Any]] | None = None,
) -> T:
    """The outcome of a plain function, which runs in a thread of `pool`; `name` is for the log.

    What runs there is added to `jobs`, for callers who have to know whether it has ended.

    It may wait for a thread as long as it may run. Raises what the function raises, `TookTooLong`, and for a
    cancellation `NotStarted` or `StillRunning`.
    """
    may_wait()
    loop = asyncio.get_running_loop()
    begun: list[float] = []

    def run() -> T:
        begun.append(loop.time())
        return function()

    job: Future[T] = pool.submit(run)
    if jobs is not None:
        jobs.append(job)
    future = asyncio.wrap_future(job)
    left = seconds
    try:
        while not (await asyncio.wait({future}, timeout=left))[0]:
            if job.cancel():
                raise TookTooLong(started=False)
            left = (
                (begun[0] if begun else loop.time())
                + cast(float, seconds)
                - loop.time()
            )
            if left <= 0:
                job.add_done_callback(_late(name))
                raise TookTooLong(started=True)
    except asyncio.CancelledError:
        if job.cancel():
            raise NotStarted from None
        job.add_done_callback(_late(name))
        raise StillRunning(job) from None
    finally:
        # Else the outcome of a job that nobody waits for any more is brought to a loop that may be closed by then.
        future.cancel()
    return future.result()


def _late(name: str) -> Callable[[Future[Any]], None]:
    def note(job: Future[Any]) -> None:
        log.warning("the handler of %s ended after its call had", name)
        if job.exception() is None and isinstance(
            left := job.result(), types.CoroutineType
        ):
            left.close()  # what a plain function returned to be awaited

    return note


async def _coroutine(awaitable: Awaitable[T]) -> T:
    return await awaitable


@types.coroutine
def _rest(
    coroutine: Coroutine[Any, Any, T], waiting: Any, deadline: _Deadline
) -> Generator[Any, Any, T]:
    """Goes on with a coroutine that waits for `waiting`, as `await` does, unless the deadline gives it up."""
    try:
        while True:
            try:
                yield waiting
            except BaseException as error:  # noqa: BLE001 - it is thrown on, below
                if deadline.given_up:
                    break
                waiting = coroutine.throw(error)
            else:
                waiting = coroutine.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    try:
        coroutine.close()
    except BaseException:  # the handler refuses even that; it is never resumed again
        log.exception("a handler could not be closed")
    raise TookTooLong(started=True)


class _Deadline:
    """Cancels a task after some seconds, and takes the cancellation back at the end."""

    def __init__(self, task: asyncio.Task[Any], seconds: float | None) -> None:
        self.expired = False
        self.given_up = False
        self._task = task
        self._cancelled = 0
        self._loop = task.get_loop()
        self._handle = (
            None if seconds is None else self._loop.call_later(seconds, self._expire)
        )

    def withdraw(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        while self._cancelled:
            self._cancelled -= 1
            self._task.uncancel()

    def _expire(self) -> None:
        self.expired = True
        self._cancel()
        self._handle = self._loop.call_later(CLEAN_UP, self._give_up)

    def _give_up(self) -> None:
        self.given_up = True
        self._cancel()

    def _cancel(self) -> None:
        self._cancelled += 1
        self._task.cancel()
