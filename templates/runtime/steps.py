"""How a loop talks to the world: it yields steps and gets their outcomes, and does no I/O itself.

A loop is a generator, written once. `drive` runs it with a synchronous client, `drive_async` with an asynchronous one,
streaming or not; a failed step is raised inside the generator, at the place that yielded it.

    def converse(dispatcher, client, /, *, input) -> Steps[Turn]:
        response = yield Invoke(client.responses.create, {"input": input})
        results = yield Execute(read_calls(response))
        ...
        return Turn(...)

    run = asynchronous(converse)
    run_sync = synchronous(converse)
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import threading
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from .calls import Call, Result
from .dispatcher import Dispatcher

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(slots=True)
class Invoke:
    """Call a function of the client; the outcome is what it returns."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stream: bool = False
    """Whether the outcome is a stream, which the driver then closes at the end, whatever happens."""


@dataclass(slots=True)
class Next:
    """Take the next event of a stream; the outcome is the event, or `END`."""

    stream: Any


@dataclass(slots=True)
class Close:
    """Close a stream now."""

    stream: Any


@dataclass(slots=True)
class Execute:
    """Run calls; the outcome is the list of their results."""

    calls: Sequence[Call]
    dispatcher: Dispatcher | None = None
    """The dispatcher to use in place of the driver's, such as the same with a journal."""


@dataclass(slots=True)
class Submitted:
    """Note that results were accepted."""

    results: Sequence[Result]
    dispatcher: Dispatcher | None = None
    """The dispatcher that ran the calls, where it is not the driver's."""


@dataclass(slots=True)
class Ask:
    """Call a callback of the service, plain or async; the outcome is its answer."""

    callback: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(slots=True)
class Await:
    """Await something of this side, such as the journal; the outcome is what it gives."""

    make: Callable[[], Awaitable[Any]]


@dataclass(slots=True)
class Sleep:
    """Wait some seconds."""

    seconds: float


Step = Invoke | Next | Close | Execute | Submitted | Ask | Await | Sleep
Steps = Generator[Step, Any, T]


class _End:
    def __repr__(self) -> str:
        return "END"


END = _End()
"""The outcome of `Next` on a stream that has ended."""


def is_async_client(client: object) -> bool:
    """Whether a vendor's client is an asynchronous one: those are async context managers."""
    return hasattr(type(client), "__aenter__")


def asynchronous(
    loop: Callable[Concatenate[Dispatcher, Any, P], Steps[T]],
) -> Callable[Concatenate[Dispatcher, Any, P], Coroutine[Any, Any, T]]:
    """The loop as a coroutine function. A synchronous client is taken too: its calls then run in a thread."""

    @functools.wraps(loop)
    async def run(
        dispatcher: Dispatcher, client: Any, /, *args: P.args, **options: P.kwargs
    ) -> T:
        steps = loop(dispatcher, client, *args, **options)
        return await drive_async(
            dispatcher, steps, blocking=not is_async_client(client)
        )

    return run


def synchronous(
    loop: Callable[Concatenate[Dispatcher, Any, P], Steps[T]],
) -> Callable[Concatenate[Dispatcher, Any, P], T]:
    """The loop as a plain function, for services without an event loop; the client is a synchronous one."""

    @functools.wraps(loop)
    def run_sync(
        dispatcher: Dispatcher, client: Any, /, *args: P.args, **options: P.kwargs
    ) -> T:
        return drive(dispatcher, loop(dispatcher, client, *args, **options))

    return run_sync


def drive(dispatcher: Dispatcher, steps: Steps[T]) -> T:
    """Runs a loop in the calling thread, with a synchronous client.

    Raises what the loop raises, and `TypeError` where a callback or the client turns out to be async.
    """
    streams: list[Any] = []
    outcome: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                step = (
                    steps.throw(failure) if failure is not None else steps.send(outcome)
                )
            except StopIteration as stop:
                value: T = stop.value
                return value
            outcome, failure = None, None
            try:
                outcome = _perform(dispatcher, step, streams)
            except Exception as error:  # noqa: BLE001 - the loop gets it
                failure = error
    finally:
        try:
            steps.close()
        finally:
            for stream in reversed(streams):
                with _logged():
                    stream.close()


async def drive_async(
    dispatcher: Dispatcher, steps: Steps[T], *, blocking: bool = False
) -> T:
    """Runs a loop on the event loop.

    With `blocking`, the client is a synchronous one: its calls run in a thread, unless they turn out to be coroutines.
    Raises what the loop raises.
    """
    streams: list[Any] = []
    outcome: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                step = (
                    steps.throw(failure) if failure is not None else steps.send(outcome)
                )
            except StopIteration as stop:
                value: T = stop.value
                return value
            outcome, failure = None, None
            try:
                outcome = await _perform_async(dispatcher, step, streams, blocking)
            except Exception as error:  # noqa: BLE001 - the loop gets it
                failure = error
    finally:
        try:
            steps.close()
        finally:
            for stream in reversed(streams):
                with _logged():
                    await _close(stream)


def _perform(dispatcher: Dispatcher, step: Step, streams: list[Any]) -> Any:
    match step:
        case Invoke():
            outcome = _not_awaitable(step.function(**step.arguments))
            if step.stream:
                streams.append(outcome)
            return outcome
        case Next():
            return next(step.stream, END)
        case Close():
            streams[:] = [stream for stream in streams if stream is not step.stream]
            with _logged():
                step.stream.close()
            return None
        case Execute():
            return (step.dispatcher or dispatcher).execute_all_sync(step.calls)
        case Submitted():
            return (step.dispatcher or dispatcher).submitted_sync(step.results)
        case Ask():
            return _not_awaitable(step.callback(*step.arguments))
        case Await():
            return dispatcher.wait_for(step.make)
        case Sleep():
            return time.sleep(step.seconds)


async def _perform_async(
    dispatcher: Dispatcher, step: Step, streams: list[Any], blocking: bool
) -> Any:
    match step:
        case Invoke():
            if not blocking or inspect.iscoroutinefunction(step.function):
                outcome = step.function(**step.arguments)
            elif step.stream:
                streams.append(in_thread := _InThread())
                outcome = await asyncio.to_thread(in_thread.open, step)
                if in_thread.stream is not None:
                    return outcome
            else:
                outcome = await asyncio.to_thread(step.function, **step.arguments)
            if inspect.isawaitable(outcome):
                outcome = await outcome
            if step.stream:
                streams.append(
                    outcome if _is_asynchronous(outcome) else _InThread(outcome)
                )
            return outcome
        case Next():
            if _is_asynchronous(step.stream):
                return await anext(step.stream, END)
            return await asyncio.to_thread(_opened(streams, step.stream).next)
        case Close():
            opened = _opened(streams, step.stream)
            streams[:] = [stream for stream in streams if stream is not opened]
            with _logged():
                await _close(opened)
            return None
        case Execute():
            return await (step.dispatcher or dispatcher).execute_all(step.calls)
        case Submitted():
            return await (step.dispatcher or dispatcher).submitted(step.results)
        case Ask():
            answer = step.callback(*step.arguments)
            return await answer if inspect.isawaitable(answer) else answer
        case Await():
            return await step.make()
        case Sleep():
            return await asyncio.sleep(step.seconds)


class _InThread:
    """A stream of a synchronous client, which threads open, read and close.

    No thread can be stopped, and no stream be closed while it is read. So when a turn is cancelled that waits for a
    thread, the turn ends, and that thread closes the stream when it is done.
    """

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream
        self._lock = threading.Lock()
        self._is_used = False
        self._is_unwanted = False

    def open(self, step: Invoke) -> Any:
        """What the step gives, which is the stream, or a promise of one."""
        if not self._begin():
            return None
        try:
            outcome = step.function(**step.arguments)
            if not inspect.isawaitable(outcome) and not _is_asynchronous(outcome):
                self.stream = outcome
            return outcome
        finally:
            self._end()

    def next(self) -> Any:
        """The next event, or `END`."""
        if not self._begin():
            return END
        try:
            return next(self.stream, END)
        finally:
            self._end()

    def close(self) -> None:
        """Closes the stream, now or when it is not used any more."""
        with self._lock:
            self._is_unwanted = True
            if self._is_used or self.stream is None:
                return
        self.stream.close()

    def _begin(self) -> bool:
        with self._lock:
            self._is_used = not self._is_unwanted
            return self._is_used

    def _end(self) -> None:
        with self._lock:
            self._is_used = False
            if not self._is_unwanted or self.stream is None:
                return
        with _logged():
            self.stream.close()


def _is_asynchronous(stream: Any) -> bool:
    return hasattr(stream, "__anext__")


def _opened(streams: list[Any], stream: Any) -> Any:
    """What stands among the open streams for this one."""
    for one in streams:
        if isinstance(one, _InThread) and one.stream is stream:
            return one
    return stream if _is_asynchronous(stream) else _InThread(stream)


async def _close(stream: Any) -> None:
    if isinstance(stream, _InThread):
        await asyncio.to_thread(stream.close)
        return
    # An asynchronous generator has a name of its own for it.
    closed = (getattr(stream, "close", None) or stream.aclose)()
    if inspect.isawaitable(closed):
        await closed


@contextlib.contextmanager
def _logged() -> Generator[None]:
    """A stream that cannot be closed must not hide how the loop ended, nor keep the others open."""
    try:
        yield
    except Exception:
        log.exception("a stream could not be closed")


def _not_awaitable(outcome: Any) -> Any:
    if inspect.isawaitable(outcome):
        if inspect.iscoroutine(outcome):
            outcome.close()
        raise TypeError(
            "this is an async client or callback: use `run` in place of `run_sync`"
        )
    return outcome
