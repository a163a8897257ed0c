"""Group commit: one thread that carries out the operations of many callers, as many at a time as have come in.

Making a write safe costs a wait for the disk or the server, whether it holds one operation or a hundred. While one
batch waits, the next one gathers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..forks import pause_for_fork
from . import JournalUnavailable

log = logging.getLogger(__name__)

LARGEST = 1000
"""Operations in one batch."""

IDLE = 30.0
"""Seconds after which the thread ends when there is nothing to do."""


@dataclass(slots=True, eq=False)
class _Job:
    operation: Any
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    outcome: Any = None
    is_done: bool = False
    is_abandoned: bool = False


class Batches:
    """Operations for one store, from any number of event loops and threads."""

    def __init__(
        self,
        carry_out: Callable[[list[Any]], list[Any]],
        lost: Callable[[Any], None],
        let_go: Callable[[], None],
        beat: Callable[[], float | None],
    ) -> None:
        """
        Args:
            carry_out: gives an outcome for each operation of a batch, in their order; an exception is one, too.
            lost: gets an outcome whose caller is gone.
            let_go: closes whatever must not be open while the process forks. Nothing is under way then.
            beat: is called in the thread while there is nothing else to do; gives the seconds until the next time, or
                None where there is no need.
        """
        self._carry_out = carry_out
        self._lost = lost
        self._let_go = let_go
        self._beat = beat
        self.renew()
        pause_for_fork(self)

    def renew(self) -> None:
        """Forgets all operations and the thread."""
        self._changed = threading.Condition()
        self._busy = threading.Lock()
        self._jobs: list[_Job] = []
        self._thread: threading.Thread | None = None
        self._waiting = False
        self._closed = False

    def pause(self) -> None:
        self._busy.acquire()
        self._let_go()

    def resume(self) -> None:
        self._busy.release()

    async def do(self, operation: Any) -> Any:
        """The outcome of an operation. Raises it where it is an exception, and `JournalUnavailable` once closed."""
        loop = asyncio.get_running_loop()
        job = _Job(operation, loop, loop.create_future())
        with self._changed:
            if self._closed:
                raise JournalUnavailable("the journal is closed")
            self._jobs.append(job)
            self._wake()
        try:
            return await job.future
        except BaseException:
            # Cancelled, or never gone on with. The outcome may be there already and on its way to this loop.
            self._abandon(job)
            raise

    def _abandon(self, job: _Job) -> None:
        with self._changed:
            job.is_abandoned = True
            if not job.is_done:
                return
        self._lost(job.outcome)

    def poke(self) -> None:
        """Lets the thread run, for work that no caller waits for."""
        with self._changed:
            if not self._closed:
                self._wake()

    def close(self) -> None:
        """Carries out what was asked for and ends the thread. Nothing can be asked for any more."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._busy:
            self._let_go()

    def _wake(self) -> None:
        if self._thread is None:
            thread = threading.Thread(
                target=self._work, name="toolgen-journal", daemon=True
            )
            self._thread = thread
            try:
                thread.start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                self._thread = None
                jobs, self._jobs = self._jobs, []
                error = JournalUnavailable("the journal's thread cannot start")
                self._deliver(jobs, [error] * len(jobs))
        elif self._waiting:
            self._changed.notify()

    def _work(self) -> None:
        while (jobs := self._next()) is not None:
            with self._busy:
                outcomes = self._outcomes(jobs)
            self._deliver(jobs, outcomes)

    def _next(self) -> list[_Job] | None:
        """The next batch, an empty one for a beat, or None where the thread is to end."""
        with self._changed:
            if not self._jobs:
                pause = None if self._closed else self._beat()
                if not self._closed:
                    self._waiting = True
                    woken = self._changed.wait(IDLE if pause is None else pause)
                    self._waiting = False
                    if not self._jobs and not self._closed and (woken or pause):
                        return []
                if not self._jobs:
                    self._thread = None
                    return None
            jobs, self._jobs = self._jobs[:LARGEST], self._jobs[LARGEST:]
            return jobs

    def _outcomes(self, jobs: list[_Job]) -> list[Any]:
        try:
            return self._carry_out([job.operation for job in jobs])
        except Exception as error:
            log.exception("the journal failed")
            unavailable = JournalUnavailable(f"{type(error).__name__}: {error}")
            return [unavailable] * len(jobs)

    def _deliver(self, jobs: list[_Job], outcomes: list[Any]) -> None:
        """Brings the outcomes to their loops, each loop being woken once."""
        per_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        lost: list[Any] = []
        with self._changed:
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.outcome, job.is_done = outcome, True
                if job.is_abandoned:
                    lost.append(outcome)
                else:
                    per_loop.setdefault(job.loop, []).append(job)
        for outcome in lost:
            self._lost(outcome)
        for loop, arriving in per_loop.items():
            # A loop that is closed has callers that are never gone on with; see `do`.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_arrive, arriving)


def _arrive(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():  # its caller was cancelled
            continue
        if isinstance(job.outcome, Exception):
            job.future.set_exception(job.outcome)
        else:
            job.future.set_result(job.outcome)
