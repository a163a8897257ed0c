"""The pool of threads, and the private loop of services that have none: bounds, nesting, closing, forks."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from templates.runtime import threads as threads_module
from templates.runtime.threads import ThreadPool

Make = Callable[..., Any]


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    made = ThreadPool(2)
    yield made
    made.close()


def handler_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("toolgen-handler")]


def wait_until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.001)


class TestPool:
    def test_threads_are_started_as_they_are_needed(self, pool: ThreadPool) -> None:
        names: set[str] = set()
        for _ in range(5):
            names.add(pool.submit(lambda: threading.current_thread().name).result(10))
            wait_until(lambda: pool._idle == 1)
        assert names == {"toolgen-handler-1"}

    def test_outcomes_of_all_kinds(self, pool: ThreadPool) -> None:
        def fail() -> None:
            raise SystemExit(3)

        assert pool.submit(max, 1, 2).result(10) == 2
        assert isinstance(pool.submit(fail).exception(10), SystemExit)
        assert pool.submit(lambda: None).result(10) is None

    def test_all_jobs_run_and_no_more_than_the_bound_at_once(self, pool: ThreadPool) -> None:
        lock = threading.Lock()
        running = most = 0

        def work(number: int) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.0005)
            with lock:
                running -= 1
            return number

        futures = [pool.submit(work, number) for number in range(100)]
        assert [future.result(10) for future in futures] == list(range(100))
        assert most == 2

    def test_many_submitters(self, pool: ThreadPool) -> None:
        futures: list[Future[Any]] = []

        def submit() -> None:
            for number in range(50):
                futures.append(pool.submit(lambda n=number: n))

        submitters = [threading.Thread(target=submit) for _ in range(8)]
        for submitter in submitters:
            submitter.start()
        for submitter in submitters:
            submitter.join()
        assert sorted(future.result(10) for future in futures) == sorted(list(range(50)) * 8)
        wait_until(lambda: pool.busy == 0)

    def test_a_job_that_has_not_begun_can_be_cancelled(self, pool: ThreadPool) -> None:
        go = threading.Event()
        ran: list[int] = []
        blocking = [pool.submit(go.wait, 10) for _ in range(2)]
        waiting = [pool.submit(ran.append, number) for number in range(3)]
        assert waiting[1].cancel()
        assert pool.busy == 5
        go.set()
        for future in (*blocking, waiting[0], waiting[2]):
            future.result(10)
        assert ran == [0, 2]
        wait_until(lambda: pool.busy == 0)

    def test_closing_lets_jobs_end_and_threads_go(self) -> None:
        before = set(handler_threads())
        pool = ThreadPool(2)
        futures = [pool.submit(time.sleep, 0.01) for _ in range(4)]
        pool.close()
        for future in futures:
            future.result(10)
        wait_until(lambda: not set(handler_threads()) - before)

    def test_it_can_be_used_again_after_closing(self) -> None:
        """Also while threads are busy, and never so that a job waits for a thread that has gone."""
        pool = ThreadPool(2)
        for round_ in range(50):
            go = threading.Event()
            blocked = pool.submit(go.wait, 10)
            pool.close()
            assert pool.submit(lambda n=round_: n).result(10) == round_
            go.set()
            blocked.result(10)
        pool.close()

    def test_idle_threads_end_after_a_while(self, pool: ThreadPool, monkeypatch: Any) -> None:
        monkeypatch.setattr(threads_module, "IDLE", 0.01)
        before = set(handler_threads())
        pool.submit(lambda: 1).result(10)
        wait_until(lambda: not set(handler_threads()) - before)
        assert pool.submit(lambda: 2).result(10) == 2

    def test_a_waiting_job_lends_its_thread(self) -> None:
        pool = ThreadPool(1)

        def outer(levels: int) -> int:
            if levels == 0:
                return 0
            with pool.lending():
                inner: int = pool.submit(outer, levels - 1).result(10)
                return 1 + inner

        assert pool.submit(outer, 5).result(10) == 5
        # What was lent is given back: the bound holds again.
        go = threading.Event()
        blocked = pool.submit(go.wait, 10)
        waiting = pool.submit(lambda: 1)
        time.sleep(0.02)
        assert not waiting.done()
        go.set()
        assert blocked.result(10)
        assert waiting.result(10) == 1
        wait_until(lambda: pool.busy == 0)
        pool.close()

    def test_lending_is_for_threads_of_the_pool(self, pool: ThreadPool) -> None:
        with pool.lending():
            assert pool.submit(lambda: 1).result(10) == 1

    def test_a_process_without_more_threads(self, pool: ThreadPool, monkeypatch: Any) -> None:
        go = threading.Event()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", _no_thread)
            with pytest.raises(RuntimeError, match="can't start"):
                pool.submit(lambda: 1)
            assert pool.busy == 0
        blocked = pool.submit(go.wait, 10)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", _no_thread)
            waiting = pool.submit(lambda: 2)
        go.set()
        assert blocked.result(10)
        assert waiting.result(10) == 2

    def test_a_pool_needs_a_thread(self) -> None:
        with pytest.raises(ValueError, match="at least one"):
            ThreadPool(0)


def _no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class TestPrivateLoop:
    def test_one_thread_for_all_calls(self, dispatcher: Make, call: Make) -> None:
        threads: set[threading.Thread] = set()

        async def ping(args: Any, call: Any) -> str:
            threads.add(threading.current_thread())
            return "pong"

        d = dispatcher(ping=ping)
        callers = [threading.Thread(target=d.execute_sync, args=(call("ping"),)) for _ in range(20)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(10)
        assert [thread.name for thread in threads] == ["toolgen-loop"]

    def test_calls_of_several_threads_run_at_once(self, dispatcher: Make, call: Make) -> None:
        meet = threading.Barrier(5, timeout=10)
        outputs: list[str] = []
        d = dispatcher(ping=lambda args, call: str(meet.wait() >= 0))
        callers = [
            threading.Thread(target=lambda: outputs.append(d.execute_sync(call("ping")).output)) for _ in range(5)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(10)
        assert outputs == ["True"] * 5

    async def test_beside_a_running_loop(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(ping=lambda args, call: "pong")
        assert d.execute_sync(call("ping")).output == "pong"
        assert (await d.execute(call("ping"))).output == "pong"

    def test_what_is_wrong_with_the_call_reaches_the_caller(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(ping=lambda args, call: "pong").journalled()
        with pytest.raises(ValueError, match="session_id"):
            d.execute_sync(call("ping", session_id=""))
        assert d.execute_sync(call("ping")).output == "pong"


class TestNesting:
    """Handlers that call other tools."""

    @pytest.mark.parametrize("threads", [1, 3])
    def test_plain_handlers_in_plain_handlers(self, dispatcher: Make, call: Make, threads: int) -> None:
        def look_up(args: Any, inner: Any) -> str:
            if args.key == "end":
                return "end"
            results = d.execute_all_sync([call("look_up", key=args.key[1:] or "end") for _ in range(2)])
            return f"({results[0].output} {results[1].output})"

        d = dispatcher(look_up=look_up, threads=threads, timeout=20)
        results = d.execute_all_sync([call("look_up", key="xx") for _ in range(5)])
        assert [result.output for result in results] == ["((end end) (end end))"] * 5

    async def test_from_a_service_with_a_loop(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, _: Any) -> Any:
            return d.execute_sync(call("ping")).output

        d = dispatcher(look_up=look_up, ping=lambda args, _: "pong", threads=1, timeout=20)
        assert (await d.execute(call("look_up", key="a"))).output == "pong"

    async def test_async_handlers_await_others(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, _: Any) -> str:
            return str((await d.execute(call("ping"))).output)

        d = dispatcher(look_up=look_up, ping=lambda args, _: "pong")
        assert (await d.execute(call("look_up", key="a"))).output == "pong"
        assert (await asyncio.to_thread(d.execute_sync, call("look_up", key="a"))).output == "pong"

    def test_an_async_handler_cannot_wait_for_its_own_loop(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        async def look_up(args: Any, _: Any) -> Any:
            return d.execute_sync(call("ping"))

        d = dispatcher(look_up=look_up, ping=lambda args, _: "pong")
        assert d.execute_sync(call("look_up", key="a")).error.code == "handler_error"
        assert "await it instead" in caplog.text
        assert d.execute_sync(call("ping")).output == "pong"

    def test_a_handler_with_a_loop_of_its_own(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, _: Any) -> Any:
            return asyncio.run(d.execute(call("ping"))).output

        d = dispatcher(look_up=look_up, ping=lambda args, _: "pong")
        assert d.execute_sync(call("look_up", key="a")).output == "pong"


@pytest.mark.parametrize("fails", [False, True])
def test_who_has_the_outcome_finds_nothing_running(pool: ThreadPool, fails: bool) -> None:
    seen: list[tuple[int, int]] = []

    def work() -> int:
        return 1 // (not fails)

    for _ in range(300):
        ended = threading.Event()
        future = pool.submit(work)
        future.add_done_callback(lambda _, ended=ended: (seen.append((pool.running, pool.busy)), ended.set()))  # type: ignore[misc]
        assert ended.wait(10)
        assert isinstance(future.exception(), ZeroDivisionError) is fails
    assert set(seen) == {(0, 0)}


class TestClosing:
    def test_calls_that_run_are_answered(self, dispatcher: Make, call: Make) -> None:
        others = set(threading.enumerate())  # what earlier tests of this process may have left
        go = threading.Event()
        begun = threading.Barrier(3, timeout=10)
        outputs: list[str] = []

        def look_up(args: Any, call: Any) -> str:
            begun.wait()
            assert go.wait(10)
            return "plain"

        async def pay(args: Any, call: Any) -> str:
            await asyncio.to_thread(begun.wait)
            await asyncio.to_thread(go.wait, 10)
            return "async"

        d = dispatcher(look_up=look_up, pay=pay)
        callers = [
            threading.Thread(target=lambda n=name: outputs.append(d.execute_sync(call(n, key="a")).output))
            for name in ("look_up", "pay")
        ]
        for caller in callers:
            caller.start()
        begun.wait()
        d.close()
        go.set()
        for caller in callers:
            caller.join(10)
        assert sorted(outputs) == ["async", "plain"]
        wait_until(lambda: "toolgen-loop" not in {each.name for each in set(threading.enumerate()) - others})

    def test_it_can_be_used_again(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(ping=lambda args, call: "pong")
        for _ in range(20):
            assert d.execute_sync(call("ping")).output == "pong"
            d.close()
            d.close()

    def test_a_handler_may_close_it(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> str:
            d.close()
            return "closed"

        def pay(args: Any, call: Any) -> str:
            d.close()
            return "closed"

        d = dispatcher(look_up=look_up, pay=pay)
        for name in ("look_up", "pay", "look_up"):
            assert d.execute_sync(call(name, key="a")).output == "closed"

    async def test_while_a_batch_runs(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, call: Any) -> str:
            time.sleep(0.001)
            return str(args.key)

        d = dispatcher(look_up=look_up, threads=2)
        batch = asyncio.create_task(d.execute_all([call("look_up", key=str(i)) for i in range(50)]))
        while not batch.done():
            d.close()
            await asyncio.sleep(0.002)
        assert [result.output for result in await batch] == [str(i) for i in range(50)]

    def test_closing_and_calling_at_once(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(ping=lambda args, call: "pong")
        stop = threading.Event()

        def close() -> None:
            while not stop.is_set():
                d.close()

        closer = threading.Thread(target=close)
        closer.start()
        try:
            for _ in range(100):
                assert d.execute_sync(call("ping")).output == "pong"
        finally:
            stop.set()
            closer.join(10)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
class TestForks:
    def test_a_child_runs_calls_of_its_own(self, dispatcher: Make, call: Make) -> None:
        async def pay(args: Any, call: Any) -> str:
            await asyncio.sleep(0)
            return "paid"

        d = dispatcher(look_up=lambda args, call: "found", pay=pay)
        assert d.execute_sync(call("look_up", key="a")).output == "found"
        assert _in_child(lambda: d.execute_sync(call("look_up", key="a")).output) == "found"
        assert _in_child(lambda: d.execute_sync(call("pay", key="a")).output) == "paid"
        assert _in_child(lambda: asyncio.run(d.execute(call("look_up", key="a"))).output) == "found"
        assert d.execute_sync(call("look_up", key="a")).output == "found"

    def test_while_calls_run_in_the_parent(self, dispatcher: Make, call: Make) -> None:
        go = threading.Event()
        begun = threading.Event()

        def look_up(args: Any, call: Any) -> str:
            begun.set()
            assert go.wait(10)
            return "found"

        d = dispatcher(look_up=look_up, ping=lambda args, call: "pong", threads=1)
        outputs: list[str] = []
        caller = threading.Thread(target=lambda: outputs.append(d.execute_sync(call("look_up", key="a")).output))
        caller.start()
        assert begun.wait(10)
        assert _in_child(lambda: d.execute_sync(call("ping")).output) == "pong"
        go.set()
        caller.join(10)
        assert outputs == ["found"]

    def test_with_every_lock_held(self) -> None:
        pool = ThreadPool(1)
        with pool._changed:
            assert _in_child(lambda: pool.submit(lambda: "done").result(10)) == "done"
        pool.close()


def _in_child(work: Callable[[], str]) -> str:
    """What `work` gives in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = "nothing"
        try:
            outcome = work()
        except BaseException as error:
            outcome = repr(error)
        finally:
            os.write(writing, outcome.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        outcome = pipe.read().decode()
    os.waitpid(child, 0)
    return outcome
