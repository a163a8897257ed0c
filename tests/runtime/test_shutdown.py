"""The end of a service: calls end, or are stopped, and what may have had an effect is known afterwards."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]
Runtime = Callable[[str], ModuleType]


def code(result: Any) -> str | None:
    return None if result.error is None else str(result.error.code)


class Handler:
    """An async handler that waits until it is let go; `begun` tells that it has started."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.runs = 0
        self.ended = 0

    async def __call__(self, args: Any, call: Any) -> Any:
        self.runs += 1
        self.begun.set()
        await self.go.wait()
        self.ended += 1
        return {"n": self.runs}


class PlainHandler:
    """The same as a plain function, which nothing can stop."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, args: Any, call: Any) -> str:
        self.begun.set()
        assert self.go.wait(30)
        return "done"


async def started(d: Any, call: Any, begun: asyncio.Event | threading.Event) -> asyncio.Task[Any]:
    task = asyncio.create_task(d.execute(call))
    await (begun.wait() if isinstance(begun, asyncio.Event) else asyncio.to_thread(begun.wait))
    return task


async def test_running_calls_may_end(dispatcher: Make, call: Make) -> None:
    handler = Handler()
    d = dispatcher(pay=handler)
    running = await started(d, call("pay", key="a"), handler.begun)
    ending = asyncio.create_task(d.shutdown(30))
    await asyncio.sleep(0)
    late = await d.execute(call("pay", key="b", call_id="call_2"))
    assert (code(late), late.ran) == ("shutting_down", False)
    assert handler.runs == 1
    handler.go.set()
    done = await ending
    assert (done.finished, done.stopped, done.left) == (1, 0, 0)
    assert (await running).output == '{"n":1}'


async def test_nothing_to_wait_for(dispatcher: Make, call: Make) -> None:
    d = dispatcher()
    for _ in range(2):
        done = await d.shutdown(0)
        assert (done.finished, done.stopped, done.left) == (0, 0, 0)
    assert code(await d.execute(call("pay", key="a"))) == "shutting_down"
    assert code(await d.execute(call("nobody"))) == "shutting_down"


async def test_the_parts_of_a_dispatcher_end_with_it(dispatcher: Make, call: Make) -> None:
    d = dispatcher()
    await d.only("pay").shutdown(0)
    assert code(await d.journalled().execute(call("pay", key="a"))) == "shutting_down"


async def test_what_is_not_ended_in_time_is_stopped(dispatcher: Make, call: Make) -> None:
    handler = Handler()
    d = dispatcher(pay=handler)
    running = await started(d, call("pay", key="a"), handler.begun)
    done = await d.shutdown(0)
    assert (done.finished, done.stopped, done.left) == (0, 1, 0)
    result = await running
    assert (code(result), result.ran) == ("shutting_down", True)
    assert handler.ended == 0
    assert running.cancelling() == 0  # the task of the caller is its own again


async def test_the_callers_own_cancellation_stays_one(dispatcher: Make, call: Make) -> None:
    handler = Handler()
    d = dispatcher(pay=handler)
    running = await started(d, call("pay", key="a"), handler.begun)
    running.cancel()
    await d.shutdown(30)
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_batch_is_answered_whole(dispatcher: Make, call: Make, api: Any) -> None:
    handler = Handler()
    finished: list[Any] = []
    hooks = api.Hooks(on_finish=lambda call, result, seconds: finished.append(code(result)))
    d = dispatcher(pay=handler, ping=lambda a, c: "pong", hooks=hooks, concurrency=2)
    calls = [call("ping", call_id="1"), *(call("pay", key="a", call_id=str(n)) for n in range(2, 6))]
    batch = asyncio.create_task(d.execute_all(calls))
    await handler.begun.wait()
    await d.shutdown(0)
    results = await batch
    assert [result.call for result in results] == calls
    assert [code(result) for result in results[1:]] == ["shutting_down"] * 4
    assert [result.ran for result in results[3:]] == [False, False]
    assert sorted(map(str, finished)) == sorted(str(code(result)) for result in results)


async def test_what_a_running_handler_calls_belongs_to_it(dispatcher: Make, call: Make) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def outer(args: Any, _call: Any) -> list[str]:
        begun.set()
        await go.wait()
        first = await d.execute(call("ping", call_id="2"))
        others = await d.execute_all([call("ping", call_id="3"), call("look_up", key="b", call_id="4")])
        return [first.output, *(other.output for other in others)]

    def from_a_thread(args: Any, _call: Any) -> Any:
        return d.execute_sync(call("ping", call_id="5")).output

    d = dispatcher(pay=outer, ping=lambda a, c: "pong", look_up=from_a_thread)
    running = await started(d, call("pay", key="a"), begun)
    ending = asyncio.create_task(d.shutdown(30))
    await asyncio.sleep(0)
    go.set()
    assert (await running).output == '["pong","pong","pong"]'
    assert (await ending).finished == 1


async def test_a_plain_function_cannot_be_stopped(dispatcher: Make, call: Make) -> None:
    handler = PlainHandler()
    d = dispatcher(pay=handler)
    running = await started(d, call("pay", key="a"), handler.begun)
    done = await d.shutdown(0)
    assert (done.finished, done.stopped, done.left) == (0, 1, 1)
    assert code(await running) == "shutting_down"
    handler.go.set()


def test_services_without_an_event_loop(dispatcher: Make, call: Make) -> None:
    handler = PlainHandler()
    d = dispatcher(pay=handler)
    called: list[Any] = []
    ended: list[Any] = []
    caller = threading.Thread(target=lambda: called.append(d.execute_sync(call("pay", key="a"))))
    caller.start()
    assert handler.begun.wait(30)
    ending = threading.Thread(target=lambda: ended.append(d.shutdown_sync(30)))
    ending.start()
    while code(d.execute_sync(call("ping"))) != "shutting_down":
        pass
    handler.go.set()
    caller.join()
    ending.join()
    assert called[0].output == "done"
    assert ended[0].finished >= 1  # the last `ping` may have been under way
    assert (ended[0].stopped, ended[0].left) == (0, 0)


class TestWithAJournal:
    """What the process that comes next finds."""

    @pytest.fixture
    def journal(self, runtime: Runtime, tmp_path: Path) -> Callable[[], Any]:
        return lambda: runtime("journal.sqlite").SQLiteJournal(tmp_path / "journal.db")

    async def test_a_stopped_write_is_unknown(self, dispatcher: Make, call: Make, api: Any, journal: Any) -> None:
        handler = Handler()
        d = dispatcher(pay=handler, journal=journal())
        running = await started(d, call("pay", key="a"), handler.begun)
        await d.shutdown(0)
        assert code(await running) == "shutting_down"
        asked: list[Any] = []
        hooks = api.Hooks(reconcile=lambda call: asked.append(call.idempotency_key) or api.Done({"n": 1}))
        again = dispatcher(pay=handler, journal=journal(), hooks=hooks)
        result = await again.execute(call("pay", key="a"))
        assert (result.output, handler.runs, len(asked)) == ('{"n":1}', 1, 1)
        await again.shutdown(0)

    async def test_a_stopped_read_runs_again(self, dispatcher: Make, call: Make, journal: Any) -> None:
        handler = Handler()
        d = dispatcher(look_up=handler, journal=journal())
        running = await started(d, call("look_up", key="a"), handler.begun)
        await d.shutdown(0)
        assert code(await running) == "shutting_down"
        handler.go.set()
        again = dispatcher(look_up=handler, journal=journal())
        assert (await again.execute(call("look_up", key="a"))).output == '{"n":2}'
        await again.shutdown(0)

    async def test_what_did_not_begin_leaves_no_trace(self, dispatcher: Make, call: Make, journal: Any) -> None:
        handler = Handler()
        d = dispatcher(pay=handler, journal=journal())
        await d.shutdown(0)
        assert code(await d.execute(call("pay", key="a"))) == "shutting_down"
        handler.go.set()
        again = dispatcher(pay=handler, journal=journal())
        result = await again.execute(call("pay", key="a"))
        assert (result.output, result.replayed) == ('{"n":1}', False)
        await again.shutdown(0)

    async def test_asking_for_approval_leaves_no_trace(
        self, dispatcher: Make, call: Make, api: Any, journal: Any
    ) -> None:
        asked = asyncio.Event()

        async def approve(call: Any) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return True

        d = dispatcher(guarded_pay=lambda a, c: "paid", journal=journal(), hooks=api.Hooks(approve=approve))
        running = await started(d, call("guarded_pay", key="a"), asked)
        await d.shutdown(0)
        assert code(await running) == "shutting_down"
        hooks = api.Hooks(approve=lambda call: True)
        again = dispatcher(guarded_pay=lambda a, c: "paid", journal=journal(), hooks=hooks)
        assert (await again.execute(call("guarded_pay", key="a"))).output == "paid"
        await again.shutdown(0)

    async def test_the_journal_waits_for_what_cannot_be_stopped(
        self, dispatcher: Make, call: Make, journal: Any
    ) -> None:
        handler = PlainHandler()
        store = journal()
        d = dispatcher(pay=handler, journal=store)
        running = await started(d, call("pay", key="a"), handler.begun)
        assert (await d.shutdown(0)).left == 1
        assert code(await running) == "shutting_down"
        # Nobody else may run the call while its handler does, and its result is kept in the end.
        (entry,) = await store.entries()
        assert entry.state == "started"
        handler.go.set()
        while (await store.entries())[0].state == "started":
            await asyncio.sleep(0.01)
        again = dispatcher(pay=handler, journal=store)
        result = await again.execute(call("pay", key="a"))
        assert (result.output, result.replayed) == ("done", True)
        store.close()

    async def test_loops_send_nothing(self, dispatcher: Make, call: Make, api: Any, runtime: Runtime) -> None:
        handler = Handler()
        d = dispatcher(pay=handler, ping=lambda a, c: "pong", journal=runtime("journal.memory").MemoryJournal())
        calls = [call("ping", call_id="1"), call("pay", key="a", call_id="2")]
        steps = runtime("turn").run_calls(calls, None)
        batch = asyncio.create_task(runtime("steps").drive_async(d, steps))
        await handler.begun.wait()
        await d.shutdown(0)
        with pytest.raises(api.ResultsNotStored, match="the service is shutting down: nothing was submitted"):
            await batch


async def test_in_a_storm_every_call_is_answered_and_nothing_is_forgotten(
    dispatcher: Make, call: Make, runtime: Runtime, tmp_path: Path
) -> None:
    chance = random.Random(5)
    runs: Counter[str] = Counter()

    async def waits(args: Any, call: Any) -> str:
        runs[call.call_id] += 1
        await asyncio.sleep(chance.uniform(0, 0.05))
        return "done"

    def blocks(args: Any, call: Any) -> str:
        runs[call.call_id] += 1
        time.sleep(chance.uniform(0, 0.02))
        return "done"

    for round_ in range(6):
        store = runtime("journal.sqlite").SQLiteJournal(tmp_path / f"{round_}.db")
        d = dispatcher(pay=waits, look_up=waits, set_flag=blocks, journal=store, concurrency=20, threads=4)
        tools = ("pay", "look_up", "set_flag")
        calls = [call(tools[n % 3], key="a", call_id=f"{round_}/{n}") for n in range(60)]
        batch = asyncio.create_task(d.execute_all(calls))
        await asyncio.sleep(chance.uniform(0, 0.1))
        done = await d.shutdown(chance.choice((0, 0.02)))
        results = await batch
        while d.busy_threads:
            await asyncio.sleep(0.01)
        store.close()
        again = runtime("journal.sqlite").SQLiteJournal(tmp_path / f"{round_}.db")
        states = {entry.key.call_id: entry.state for entry in await again.entries(limit=100)}
        again.close()
        assert [result.call for result in results] == calls
        for result in results:
            state = states.get(result.call_id)
            if result.success:
                assert state == "succeeded"
            else:
                assert code(result) == "shutting_down"
                # What a thread came to afterwards may be kept; what did not run left nothing.
                assert state in ((None, "succeeded", "interrupted") if runs[result.call_id] else (None, "interrupted"))
            assert state is not None or not runs[result.call_id]
            assert runs[result.call_id] <= 1
        assert done.finished + done.stopped <= 60


PROGRAM = """
import asyncio, os, signal, sys
sys.path.insert(0, {folder!r})
from {name} import dispatcher
from {name}.runtime import Call
from {name}.runtime.journal.sqlite import SQLiteJournal

class Handlers:
    async def pay(self, args, call):
        print("began", flush=True)
        await asyncio.Event().wait()

async def main():
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    d = dispatcher(Handlers(), journal=SQLiteJournal({journal!r}))
    serving = asyncio.create_task(d.execute(Call("pay", {{"key": "a"}}, "call_1", "turn_1", "session_1")))
    await stop.wait()
    done = await d.shutdown(timeout=0)
    print(done.stopped, done.left, (await serving).error.code)

asyncio.run(main())
"""


async def test_a_process_that_gets_sigterm(
    tools: ModuleType, dispatcher: Make, call: Make, runtime: Runtime, tmp_path: Path
) -> None:
    assert tools.__file__ is not None
    journal = str(tmp_path / "journal.db")
    text = PROGRAM.format(folder=str(Path(tools.__file__).parents[1]), name=tools.__name__, journal=journal)
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", text, stdout=asyncio.subprocess.PIPE)
    assert program.stdout is not None
    assert await program.stdout.readline() == b"began\n"
    program.send_signal(signal.SIGTERM)
    told, _ = await program.communicate()
    assert (program.returncode, told) == (0, b"1 0 shutting_down\n")
    d = dispatcher(pay=lambda args, call: "paid", journal=runtime("journal.sqlite").SQLiteJournal(journal))
    assert code(await d.execute(call("pay", key="a"))) == "outcome_unknown"
    await d.shutdown()
