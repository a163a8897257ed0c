"""The two drivers: one loop, written once, with clients of both kinds; every outcome and failure reaches the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]


class Stream:
    """A synchronous stream of events."""

    def __init__(self, *events: Any) -> None:
        self.events = list(events)
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.events:
            raise StopIteration
        event = self.events.pop(0)
        if isinstance(event, BaseException):
            raise event
        return event

    def close(self) -> None:
        self.closed += 1


class AsyncStream(Stream):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.closed += 1


class Client:
    """A vendor's client, and the stream it opens."""

    def __init__(self, *events: Any, error: BaseException | None = None) -> None:
        self.stream = Stream(*events)
        self.error = error
        self.threads: set[str] = set()

    def ask(self, **given: Any) -> Any:
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        return self.stream if given.get("stream") else {"asked": given}


class AsyncClient(Client):
    def __init__(self, *events: Any, error: BaseException | None = None) -> None:
        super().__init__(*events, error=error)
        self.stream = AsyncStream(*events)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    async def ask(self, **given: Any) -> Any:
        await asyncio.sleep(0)
        return super().ask(**given)


class HomeMadeClient(Client):
    """Asynchronous, without looking like the vendors' clients."""

    def __init__(self, *events: Any, error: BaseException | None = None) -> None:
        super().__init__(*events, error=error)
        self.stream = AsyncStream(*events)

    async def ask(self, **given: Any) -> Any:
        return super().ask(**given)


@pytest.fixture(scope="session")
def steps(runtime: Callable[[str], ModuleType]) -> ModuleType:
    return runtime("steps")


@pytest.fixture(params=["sync", "sync client under run", "async", "home-made"])
def drive(request: pytest.FixtureRequest, steps: ModuleType) -> Callable[..., Any]:
    """Runs a loop in each of the ways there are; gives its outcome and the client that it talked to."""
    kinds: dict[str, type[Client]] = {
        "sync": Client,
        "sync client under run": Client,
        "async": AsyncClient,
        "home-made": HomeMadeClient,
    }

    def run(loop: Any, dispatcher: Any, *events: Any, error: BaseException | None = None, **options: Any) -> Any:
        client = kinds[request.param](*events, error=error)
        if request.param == "sync":
            return steps.synchronous(loop)(dispatcher, client, **options), client
        return asyncio.run(steps.asynchronous(loop)(dispatcher, client, **options)), client

    return run


class TestOutcomes:
    def test_every_step_brings_its_outcome(self, drive: Make, steps: Any, dispatcher: Make, call: Make) -> None:
        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            seen = [(yield steps.Invoke(client.ask, {"n": 1}))]
            stream = yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            while (event := (yield steps.Next(stream))) is not steps.END:
                seen.append(event)
            seen.append((yield steps.Close(stream)))
            seen.append((yield steps.Sleep(0)))
            results = yield steps.Execute([call("look_up", key="a"), call("nobody")])
            seen += [result.success for result in results]
            seen.append((yield steps.Submitted(results)))
            seen.append((yield steps.Ask(lambda *facts: facts, (1, 2))))
            return seen

        seen, client = drive(loop, dispatcher(look_up=lambda args, call: "found"), "first", "second")
        assert seen == [{"asked": {"n": 1}}, "first", "second", None, None, True, False, None, (1, 2)]
        assert client.stream.closed == 1

    def test_a_step_may_name_another_dispatcher(self, drive: Make, steps: Any, dispatcher: Make, call: Make) -> None:
        other = dispatcher(ping=lambda args, call: "other").journalled()

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            here = yield steps.Execute([call("ping")])
            there = yield steps.Execute([call("ping")], other)
            yield steps.Submitted(there, other)
            return [result.output for result in (*here, *there)]

        outputs, _ = drive(loop, dispatcher(ping=lambda args, call: "own"))
        assert outputs == ["own", "other"]

    def test_a_failed_step_is_raised_where_it_was_asked_for(self, drive: Make, steps: Any, dispatcher: Make) -> None:
        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            seen: list[Any] = []
            try:
                yield steps.Invoke(client.ask)
            except OSError as error:
                seen.append(str(error))
            try:
                yield steps.Ask(lambda: 1 / 0, ())
            except ZeroDivisionError:
                seen.append("divided")
            return seen

        seen, _ = drive(loop, dispatcher(), error=OSError("no route"))
        assert seen == ["no route", "divided"]

    def test_what_the_loop_raises_reaches_the_caller(self, drive: Make, steps: Any, dispatcher: Make) -> None:
        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            yield steps.Sleep(0)
            raise LookupError("gone")

        with pytest.raises(LookupError, match="gone"):
            drive(loop, dispatcher())

    def test_options_reach_the_loop(self, drive: Make, steps: Any, dispatcher: Make) -> None:
        def loop(d: Any, client: Any, *, word: str = "no") -> Generator[Any, Any, Any]:
            yield steps.Sleep(0)
            return (d.names == ["look_up"], word)

        assert drive(loop, dispatcher().only("look_up"), word="yes")[0] == (True, "yes")


class TestStreams:
    @pytest.mark.parametrize("end", ["returns", "raises", "breaks off"])
    def test_they_are_closed_whatever_happens(self, drive: Make, steps: Any, dispatcher: Make, end: str) -> None:
        clients: list[Any] = []

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            clients.append(client)
            stream = yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            yield steps.Next(stream)
            if end == "raises":
                raise LookupError
            if end == "breaks off":
                yield steps.Next(stream)

        events = ["first", ConnectionError("broken")]
        if end == "returns":
            drive(loop, dispatcher(), *events)
        else:
            with pytest.raises(LookupError if end == "raises" else ConnectionError):
                drive(loop, dispatcher(), *events)
        assert clients[0].stream.closed == 1

    def test_one_that_cannot_be_closed_hides_nothing(
        self, drive: Make, steps: Any, dispatcher: Make, caplog: Any
    ) -> None:
        closed: list[str] = []

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            class Broken(type(client.stream)):  # type: ignore[misc]
                def close(self) -> Any:
                    closed.append("tried")
                    raise OSError("stays open")

            client.stream = Broken()
            first = yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            yield steps.Close(first)
            yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            raise LookupError("the reason")

        with pytest.raises(LookupError, match="the reason"):
            drive(loop, dispatcher())
        assert closed == ["tried"] * 3
        assert caplog.text.count("a stream could not be closed") == 3

    def test_an_asynchronous_generator_is_closed_too(self, steps: Any, dispatcher: Make) -> None:
        closed: list[str] = []

        async def events() -> AsyncIterator[str]:
            try:
                yield "first"
                yield "second"
            finally:
                closed.append("events")

        async def stream() -> AsyncIterator[str]:
            return events()

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            opened = yield steps.Invoke(stream, stream=True)
            return (yield steps.Next(opened))

        assert asyncio.run(steps.asynchronous(loop)(dispatcher(), AsyncClient())) == "first"
        assert closed == ["events"]

    def test_a_loop_that_will_not_end_still_has_its_streams_closed(
        self, drive: Make, steps: Any, dispatcher: Make
    ) -> None:
        clients: list[Any] = []

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            clients.append(client)
            yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            try:
                yield steps.Ask(_interrupt, ())
            finally:
                yield steps.Sleep(0)

        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            drive(loop, dispatcher())
        assert clients[0].stream.closed == 1


def _interrupt() -> None:
    raise KeyboardInterrupt


class TestSynchronousClients:
    def test_run_calls_them_in_a_thread(self, steps: Any, dispatcher: Make) -> None:
        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            stream = yield steps.Invoke(client.ask, {"stream": True}, stream=True)
            return (yield steps.Next(stream))

        client = Client("event")
        assert asyncio.run(steps.asynchronous(loop)(dispatcher(), client)) == "event"
        assert threading.main_thread().name not in client.threads

    def test_run_sync_refuses_an_async_client(self, steps: Any, dispatcher: Make) -> None:
        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            return (yield steps.Invoke(client.ask))

        with pytest.raises(TypeError, match="use `run` in place of `run_sync`"):
            steps.synchronous(loop)(dispatcher(), AsyncClient())

    def test_run_sync_refuses_an_async_callback(self, steps: Any, dispatcher: Make) -> None:
        async def callback() -> None: ...

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            return (yield steps.Ask(callback, ()))

        with pytest.raises(TypeError, match="async client or callback"):
            steps.synchronous(loop)(dispatcher(), Client())
        assert asyncio.run(steps.asynchronous(loop)(dispatcher(), Client())) is None


class TestCancellation:
    async def test_it_ends_the_loop_and_closes_its_streams(self, steps: Any, dispatcher: Make) -> None:
        ended: list[str] = []

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            try:
                yield steps.Invoke(client.ask, {"stream": True}, stream=True)
                yield steps.Sleep(10)
            finally:
                ended.append("loop")

        client = AsyncClient()
        task = asyncio.create_task(steps.asynchronous(loop)(dispatcher(), client))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (ended, client.stream.closed) == (["loop"], 1)

    @pytest.mark.parametrize("moment", ["opens", "reads"])
    async def test_a_thread_that_still_uses_a_stream_closes_it(
        self, steps: Any, dispatcher: Make, moment: str, caplog: Any
    ) -> None:
        """A thread cannot be stopped, and a generator not be closed while it runs; nobody waits for either."""
        busy, go_on, closed = threading.Event(), threading.Event(), threading.Event()

        def events() -> Generator[str]:
            try:
                if moment == "reads":
                    busy.set()
                    go_on.wait(10)
                yield "event"
            finally:
                closed.set()

        class Opened:
            def __init__(self) -> None:
                self.events = events()

            def __next__(self) -> str:
                return next(self.events)

            def close(self) -> None:
                self.events.close()
                closed.set()

        def opens() -> Any:
            if moment == "opens":
                busy.set()
                go_on.wait(10)
            return Opened()

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            stream = yield steps.Invoke(opens, stream=True)
            yield steps.Next(stream)

        task = asyncio.create_task(steps.asynchronous(loop)(dispatcher(), Client()))
        await asyncio.to_thread(busy.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not closed.is_set()
        go_on.set()
        assert await asyncio.to_thread(closed.wait, 10)
        assert caplog.text == ""

    async def test_of_calls_that_run(self, steps: Any, dispatcher: Make, call: Make) -> None:
        ended: list[str] = []

        async def look_up(args: Any, call: Any) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(args.key)

        def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
            yield steps.Execute([call("look_up", key=key) for key in "ab"])

        task = asyncio.create_task(steps.asynchronous(loop)(dispatcher(look_up=look_up), AsyncClient()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(ended) == ["a", "b"]


def test_callbacks_may_be_plain_or_async(steps: Any, dispatcher: Make) -> None:
    async def later(word: str) -> str:
        await asyncio.sleep(0)
        return word.upper()

    def loop(d: Any, client: Any) -> Generator[Any, Any, Any]:
        return [(yield steps.Ask(later, ("a",))), (yield steps.Ask(str.upper, ("b",)))]

    assert asyncio.run(steps.asynchronous(loop)(dispatcher(), AsyncClient())) == ["A", "B"]
