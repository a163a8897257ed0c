"""Time bounds and cancellation: at every await, against completion, and for handlers that will not stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]


class TestTimeouts:
    async def test_an_async_handler_is_cancelled(self, dispatcher: Make, call: Make) -> None:
        ended: list[str] = []

        async def quick_look(args: Any, call: Any) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append("cleaned up")

        result = await dispatcher(quick_look=quick_look).execute(call("quick_look", key="a"))
        assert (result.error.code, result.ran) == ("timeout", True)
        assert result.error.message == "The tool did not finish within 0.05 seconds."
        assert ended == ["cleaned up"]

    async def test_the_callers_task_is_left_as_it_was(self, dispatcher: Make, call: Make) -> None:
        async def quick_look(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        task = asyncio.current_task()
        assert task is not None
        d = dispatcher(quick_look=quick_look)
        for _ in range(3):
            await d.execute(call("quick_look", key="a"))
            assert task.cancelling() == 0
            await asyncio.sleep(0)

    async def test_it_may_clean_up_asynchronously(self, dispatcher: Make, call: Make) -> None:
        ended: list[str] = []

        async def quick_look(args: Any, call: Any) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0.01)
                ended.append("rolled back")

        result = await dispatcher(quick_look=quick_look).execute(call("quick_look", key="a"))
        assert (result.error.code, ended) == ("timeout", ["rolled back"])

    async def test_one_that_returns_all_the_same_has_its_value(self, dispatcher: Make, call: Make) -> None:
        async def quick_look(args: Any, call: Any) -> str:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(10)
            return "half of it"

        d = dispatcher(quick_look=quick_look)
        assert (await d.execute(call("quick_look", key="a"))).output == "half of it"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    async def test_one_that_fails_while_cleaning_up_timed_out(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        async def quick_look(args: Any, call: Any) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                raise OSError("cannot roll back")

        result = await dispatcher(quick_look=quick_look).execute(call("quick_look", key="a"))
        assert result.error.code == "timeout"
        assert "cannot roll back" in caplog.text

    async def test_a_timeout_of_its_own_is_a_failure_of_its_own(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> str:
            try:
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(10)
            except TimeoutError:
                return "gave up"
            return "never"

        async def pay(args: Any, call: Any) -> None:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(10)

        results = await dispatcher(look_up=look_up, pay=pay).execute_all(
            [call("look_up", key="a"), call("pay", key="a")]
        )
        assert results[0].output == "gave up"
        assert results[1].error.code == "handler_error"

    async def test_groups_of_tasks_end_with_it(self, dispatcher: Make, call: Make) -> None:
        ended: list[int] = []

        async def part(number: int) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(number)

        async def quick_look(args: Any, call: Any) -> None:
            async with asyncio.TaskGroup() as group:
                for number in range(3):
                    group.create_task(part(number))

        result = await dispatcher(quick_look=quick_look).execute(call("quick_look", key="a"))
        assert (result.error.code, sorted(ended)) == ("timeout", [0, 1, 2])

    @pytest.mark.parametrize("swallowed", [asyncio.CancelledError, BaseException])
    async def test_one_that_will_not_stop_is_taken_off_the_loop(
        self, dispatcher: Make, call: Make, runtime: Any, monkeypatch: Any, caplog: Any, swallowed: type[BaseException]
    ) -> None:
        monkeypatch.setattr(runtime("bounds"), "CLEAN_UP", 0.02)
        turns = 0

        async def quick_look(args: Any, call: Any) -> None:
            nonlocal turns
            while turns < 4:
                try:
                    await asyncio.sleep(10)
                except swallowed:
                    turns += 1

        d = dispatcher(quick_look=quick_look, ping=lambda args, call: "pong")
        results = await d.execute_all([call("quick_look", key="a"), call("ping")])
        assert [result.error and result.error.code for result in results] == ["timeout", None]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        turns = 4

    async def test_a_plain_function_keeps_its_thread(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        go = threading.Event()

        def look_up(args: Any, call: Any) -> str:
            assert go.wait(10)
            return "too late"

        d = dispatcher(look_up=look_up, timeout=0.3)
        result = await d.execute(call("look_up", key="a"))
        assert (result.error.code, result.ran) == ("timeout", True)
        assert d.busy_threads == 1
        go.set()
        await _until(lambda: d.busy_threads == 0)
        await _until(lambda: "ended after its call had" in caplog.text)

    async def test_a_pool_that_is_full_answers_too(self, dispatcher: Make, call: Make) -> None:
        go = threading.Event()
        ran: list[str] = []

        def look_up(args: Any, call: Any) -> None:
            assert go.wait(10)

        def quick_look(args: Any, call: Any) -> None:
            ran.append(args.key)

        d = dispatcher(look_up=look_up, quick_look=quick_look, threads=1)
        blocking = asyncio.create_task(d.execute(call("look_up", key="a")))
        await _until(lambda: d.busy_threads == 1)
        result = await d.execute(call("quick_look", key="b"))
        assert (result.error.code, result.ran) == ("timeout", False)
        assert result.error.message == "The tool did not start within 0.05 seconds."
        go.set()
        assert (await blocking).success
        assert (await d.execute(call("look_up", key="c"))).success
        assert ran == []

    async def test_what_a_plain_function_gives_to_await_is_bounded(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, call: Any) -> Any:
            return asyncio.sleep(10)

        result = await dispatcher(look_up=look_up, timeout=0.3).execute(call("look_up", key="a"))
        assert (result.error.code, result.ran) == ("timeout", True)

    def test_a_loop_that_ends_first_hears_nothing_of_the_thread(
        self, dispatcher: Make, call: Make, caplog: Any
    ) -> None:
        go = threading.Event()

        def quick_look(args: Any, call: Any) -> None:
            assert go.wait(10)

        d = dispatcher(quick_look=quick_look)
        assert asyncio.run(d.execute(call("quick_look", key="a"))).error.code == "timeout"
        go.set()
        _wait(lambda: d.busy_threads == 0)
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR]

    async def test_zero_is_a_bound(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> str:
            await asyncio.sleep(0.01)
            return "done"

        async def ping(args: Any, call: Any) -> str:
            return "pong"

        d = dispatcher(look_up=look_up, ping=ping, timeout=0)
        results = await d.execute_all([call("look_up", key="a"), call("ping")])
        assert [result.error and result.error.code for result in results] == ["timeout", None]


class TestRaces:
    async def test_a_bound_against_completion(self, dispatcher: Make, call: Make) -> None:
        """However close they come, there is one result, and the caller's task is left as it was."""

        async def quick_look(args: Any, call: Any) -> str:
            await asyncio.sleep(float(args.key))
            return "done"

        d = dispatcher(quick_look=quick_look, concurrency=100)
        calls = [call("quick_look", key=str(0.0497 + i / 100_000)) for i in range(60)]
        results = await d.execute_all(calls)
        assert {result.error.code if result.error else result.output for result in results} <= {"done", "timeout"}
        assert [result.call for result in results] == calls

    async def test_a_bound_that_falls_due_with_the_result(self, dispatcher: Make, call: Make) -> None:
        """The loop is held up until both the result and the bound are due; either may win, and only one does."""

        async def quick_look(args: Any, call: Any) -> str:
            loop = asyncio.get_running_loop()
            done = loop.create_future()
            loop.call_later(0.04, done.set_result, None)
            loop.call_later(0.01, time.sleep, 0.1)
            await done
            await asyncio.sleep(0)
            return "done"

        d = dispatcher(quick_look=quick_look)
        result = await d.execute(call("quick_look", key="a"))
        assert result.success or result.error.code == "timeout"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0.01)

    async def test_a_plain_functions_bound_against_completion(self, dispatcher: Make, call: Make) -> None:
        def quick_look(args: Any, call: Any) -> str:
            time.sleep(float(args.key))
            return "done"

        d = dispatcher(quick_look=quick_look, threads=4)
        calls = [call("quick_look", key=str(0.0495 + i / 10_000)) for i in range(12)]
        results = await d.execute_all(calls)
        assert {result.error.code if result.error else result.output for result in results} <= {"done", "timeout"}

    async def test_a_bound_and_a_cancellation_of_the_caller(self, dispatcher: Make, call: Make) -> None:
        """The caller's own end goes before the handler's."""

        async def quick_look(args: Any, call: Any) -> str:
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0.05)  # cleans up while the caller gives up as well
            return "never"

        d = dispatcher(quick_look=quick_look)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.07):
                await d.execute(call("quick_look", key="a"))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


class TestCancellation:
    @pytest.mark.parametrize("after", range(8))
    async def test_at_every_await(self, dispatcher: Make, call: Make, api: Any, after: int) -> None:
        """Whenever the caller is cancelled: the cancellation reaches it, and no handler ends twice."""
        ended: list[str] = []

        async def look_up(args: Any, call: Any) -> str:
            try:
                for _ in range(3):
                    await asyncio.sleep(0)
                return "done"
            finally:
                ended.append(args.key)

        async def approve(call: Any) -> bool:
            await asyncio.sleep(0)
            return True

        d = dispatcher(look_up=look_up, guarded_look=look_up, hooks=api.Hooks(approve=approve))
        for name in ("look_up", "guarded_look"):
            ended.clear()
            task = asyncio.create_task(d.execute(call(name, key="a")))
            for _ in range(after):
                await asyncio.sleep(0)
            was_done = task.done()
            task.cancel()
            if was_done:
                assert (await task).output == "done"
            else:
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert len(ended) <= 1

    async def test_of_a_batch_ends_all_of_it(self, dispatcher: Make, call: Make) -> None:
        ended: list[str] = []

        async def look_up(args: Any, call: Any) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(args.key)

        d = dispatcher(look_up=look_up, concurrency=2)
        task = asyncio.create_task(d.execute_all([call("look_up", key=key) for key in "abcd"]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(ended) == ["a", "b"]  # the others had not begun
        assert len(asyncio.all_tasks()) == 1

    async def test_a_plain_function_that_runs_goes_on(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        begun, go, ended = threading.Event(), threading.Event(), threading.Event()

        def look_up(args: Any, call: Any) -> None:
            begun.set()
            assert go.wait(10)
            ended.set()

        d = dispatcher(look_up=look_up)
        task = asyncio.create_task(d.execute(call("look_up", key="a")))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not ended.is_set()
        go.set()
        assert await asyncio.to_thread(ended.wait, 10)
        await _until(lambda: "ended after its call had" in caplog.text)

    async def test_a_plain_function_that_waits_for_a_thread_never_runs(self, dispatcher: Make, call: Make) -> None:
        go = threading.Event()
        ran: list[str] = []

        def look_up(args: Any, call: Any) -> None:
            ran.append(args.key)
            assert go.wait(10)

        d = dispatcher(look_up=look_up, threads=1)
        tasks = [asyncio.create_task(d.execute(call("look_up", key=key))) for key in "ab"]
        await _until(lambda: ran == ["a"])
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        go.set()
        assert (await tasks[0]).success
        assert ran == ["a"]

    async def test_inside_a_task_that_is_being_cancelled(self, dispatcher: Make, call: Make) -> None:
        """A service may still execute a call while it cleans up after a cancellation."""

        async def look_up(args: Any, call: Any) -> str:
            await asyncio.sleep(0.001)
            return "released"

        d = dispatcher(look_up=look_up)
        outputs: list[str] = []

        async def work() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                outputs.append((await d.execute(call("look_up", key="a"))).output)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert outputs == ["released"]

    async def test_a_coroutine_that_is_closed_closes_its_handler(self, dispatcher: Make, call: Make) -> None:
        ended: list[str] = []

        async def look_up(args: Any, call: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("closed")

        coroutine = dispatcher(look_up=look_up).execute(call("look_up", key="a"))
        coroutine.send(None)
        coroutine.close()
        assert ended == ["closed"]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.001)


def _wait(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.001)
