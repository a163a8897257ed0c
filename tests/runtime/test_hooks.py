"""Hooks see every call, and nothing they do changes a result; `approve` decides about tools with `confirm`."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import BuildPackage

Make = Callable[..., Any]


class Seen:
    """Remembers what the hooks were told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def start(self, call: Any) -> None:
        self.events.append(("start", call.call_id))

    def finish(self, call: Any, result: Any, seconds: float) -> None:
        assert result.call is call
        assert 0 <= seconds < 60
        self.events.append(("finish", call.call_id, result.error.code if result.error else None))


class TestLookingOn:
    async def test_every_call_is_seen_once(self, dispatcher: Make, call: Make, api: Any) -> None:
        async def slow(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        def broken(args: Any, call: Any) -> None:
            raise OSError

        seen = Seen()
        d = dispatcher(
            look_up=lambda args, call: 1,
            pay=broken,
            quick_look=slow,
            set_flag=lambda args, call: object(),
            hooks=api.Hooks(on_start=seen.start, on_finish=seen.finish),
            concurrency=1,
        )
        wanted = [
            ("look_up", {"key": "a"}, None),
            ("look_up", {}, "invalid_arguments"),
            ("look_up", "{", "invalid_json"),
            ("unheard_of", {}, "unknown_tool"),
            ("pay", {"key": "a"}, "handler_error"),
            ("quick_look", {"key": "a"}, "timeout"),
            ("set_flag", {"key": "a"}, "unserializable_output"),
            ("guarded_pay", {"key": "a"}, "not_implemented"),
        ]
        await d.execute_all(call(name, arguments=given, call_id=str(i)) for i, (name, given, _) in enumerate(wanted))
        assert seen.events == [
            event for i, (_, _, code) in enumerate(wanted) for event in (("start", str(i)), ("finish", str(i), code))
        ]

    async def test_a_replayed_result_is_seen_too(self, dispatcher: Make, call: Make, api: Any) -> None:
        told: list[bool] = []
        hooks = api.Hooks(on_finish=lambda call, result, seconds: told.append(result.replayed))
        d = dispatcher(ping=lambda args, call: "pong", hooks=hooks).journalled()
        for _ in range(2):
            await d.execute(call("ping"))
        assert told == [False, True]

    async def test_the_end_of_a_cancelled_call_is_seen(self, dispatcher: Make, call: Make, api: Any) -> None:
        seen = Seen()

        async def look_up(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        d = dispatcher(look_up=look_up, hooks=api.Hooks(on_start=seen.start, on_finish=seen.finish))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await d.execute(call("look_up", key="a"))
        assert seen.events == [("start", "call_1"), ("finish", "call_1", "cancelled")]

    @pytest.mark.parametrize("error", [OSError("x"), SystemExit(1), asyncio.CancelledError(), BaseException("x")])
    async def test_what_they_raise_changes_nothing(
        self, dispatcher: Make, call: Make, api: Any, caplog: Any, error: BaseException
    ) -> None:
        def broken(*facts: Any) -> None:
            raise error

        d = dispatcher(ping=lambda args, call: "pong", hooks=api.Hooks(on_start=broken, on_finish=broken))
        results = await d.execute_all([call("ping"), call("ping")])
        assert [result.output for result in results] == ["pong", "pong"]
        assert caplog.text.count("a hook failed") == 4

    async def test_an_async_one_is_said_not_to_run(self, dispatcher: Make, call: Make, api: Any, caplog: Any) -> None:
        async def hook(*facts: Any) -> None:
            raise AssertionError

        result = await dispatcher(ping=lambda a, c: "pong", hooks=api.Hooks(on_start=hook)).execute(call("ping"))
        assert result.output == "pong"
        assert "an async one does not run" in caplog.text

    def test_they_are_seen_without_an_event_loop(self, dispatcher: Make, call: Make, api: Any) -> None:
        seen = Seen()
        d = dispatcher(ping=lambda a, c: 1, hooks=api.Hooks(on_start=seen.start, on_finish=seen.finish))
        d.execute_sync(call("ping"))
        assert seen.events == [("start", "call_1"), ("finish", "call_1", None)]


def yes(call: Any) -> bool:
    return True


async def yes_async(call: Any) -> bool:
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize("journalled", [False, True], ids=["plain", "journalled"])
class TestApproval:
    def _dispatcher(self, dispatcher: Make, journalled: bool, **given: Any) -> Any:
        d = dispatcher(**given)
        return d.journalled() if journalled else d

    @pytest.mark.parametrize("hook", [yes, yes_async], ids=["plain", "async"])
    async def test_it_runs_when_approved(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool, hook: Any
    ) -> None:
        d = self._dispatcher(dispatcher, journalled, guarded_pay=lambda a, c: "paid", hooks=api.Hooks(approve=hook))
        assert (await d.execute(call("guarded_pay", key="a"))).output == "paid"

    async def test_without_a_hook_it_is_refused(self, dispatcher: Make, call: Make, journalled: bool) -> None:
        d = self._dispatcher(dispatcher, journalled, guarded_pay=lambda a, c: "paid")
        result = await d.execute(call("guarded_pay", key="a"))
        assert (result.error.code, result.ran) == ("not_approved", False)
        assert result.error.message == "This call needs approval and nobody can give it here."

    @pytest.mark.parametrize("word", [False, None, 0, 1, "yes", object(), [True]])
    async def test_only_true_is_a_yes(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool, word: Any
    ) -> None:
        ran: list[Any] = []
        hooks = api.Hooks(approve=lambda call: word)
        d = self._dispatcher(dispatcher, journalled, guarded_pay=lambda a, c: ran.append(a), hooks=hooks)
        result = await d.execute(call("guarded_pay", key="a"))
        assert (result.error.code, result.error.message, ran) == ("not_approved", "This call was not approved.", [])

    @pytest.mark.parametrize("error", [OSError("secret"), SystemExit(1), asyncio.CancelledError(), BaseException("x")])
    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_a_hook_that_fails_approves_nothing(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool, error: BaseException, kind: str
    ) -> None:
        def plain(call: Any) -> bool:
            raise error

        async def later(call: Any) -> bool:
            await asyncio.sleep(0)
            raise error

        hooks = api.Hooks(approve=plain if kind == "plain" else later)
        d = self._dispatcher(
            dispatcher, journalled, guarded_pay=lambda a, c: "paid", ping=lambda a, c: "pong", hooks=hooks
        )
        results = await d.execute_all([call("guarded_pay", key="a"), call("ping", call_id="2")])
        assert results[0].error.code == "not_approved"
        assert "secret" not in results[0].error.message
        assert results[1].output == "pong"

    async def test_wrong_arguments_need_no_approval(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool
    ) -> None:
        asked: list[Any] = []
        d = self._dispatcher(
            dispatcher, journalled, guarded_pay=lambda a, c: 1, hooks=api.Hooks(approve=lambda c: asked.append(c))
        )
        assert (await d.execute(call("guarded_pay", key=1))).error.code == "invalid_arguments"
        assert asked == []

    async def test_other_tools_need_none(self, dispatcher: Make, call: Make, api: Any, journalled: bool) -> None:
        asked: list[Any] = []
        d = self._dispatcher(dispatcher, journalled, ping=lambda a, c: 1, hooks=api.Hooks(approve=asked.append))
        assert (await d.execute(call("ping"))).success
        assert asked == []

    async def test_waiting_for_people_takes_no_time_from_the_handler(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool
    ) -> None:
        async def approve(call: Any) -> bool:
            await asyncio.sleep(0.1)  # twice the tool's own bound
            return True

        async def pay(args: Any, call: Any) -> str:
            await asyncio.sleep(0)
            return "paid"

        d = self._dispatcher(dispatcher, journalled, guarded_quick_pay=pay, hooks=api.Hooks(approve=approve))
        assert (await d.execute(call("guarded_quick_pay", key="a"))).output == "paid"

    async def test_a_call_that_waits_for_people_holds_up_no_other(
        self, dispatcher: Make, call: Make, api: Any, journalled: bool
    ) -> None:
        decided = asyncio.Event()

        async def approve(call: Any) -> bool:
            await decided.wait()
            return True

        async def ping(args: Any, call: Any) -> str:
            decided.set()
            return "pong"

        d = self._dispatcher(
            dispatcher, journalled, guarded_pay=lambda a, c: "paid", ping=ping, hooks=api.Hooks(approve=approve)
        )
        results = await d.execute_all([call("guarded_pay", key="a"), call("ping", call_id="2")])
        assert [result.output for result in results] == ["paid", "pong"]

    def test_without_an_event_loop(self, dispatcher: Make, call: Make, api: Any, journalled: bool) -> None:
        names: list[str] = []

        def approve(call: Any) -> bool:
            names.append(threading.current_thread().name)
            return True

        d = self._dispatcher(dispatcher, journalled, guarded_pay=lambda a, c: "paid", hooks=api.Hooks(approve=approve))
        assert d.execute_sync(call("guarded_pay", key="a")).output == "paid"
        assert names == ["toolgen-loop"]


async def test_who_decides_gets_the_call_in_the_words_of_the_spec(package: BuildPackage) -> None:
    spec = {
        "name": "room.book",
        "description": "Books a room.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"night": {"type": "string"}, "beds": {"type": "integer"}},
            "required": ["night"],
            "additionalProperties": False,
        },
        "x-toolgen": {"confirm": True, "targets": {"openai_chat": {"name": "book"}}},
    }
    made = package(spec, targets=["openai_chat"])
    asked: list[Any] = []

    class Rooms:
        def room_book_(self, args: Any, call: Any) -> str:
            return f"{call.name} {args.night}"

    def approve(call: Any) -> bool:
        asked.append((call.name, call.arguments, call.call_id))
        return True

    runtime = importlib.import_module(f"{made.__name__}.runtime")
    d = made.dispatcher(Rooms(), hooks=runtime.Hooks(approve=approve))
    arguments = '{"night": "Friday", "beds": null}'
    result = await d.execute(runtime.Call("book", arguments, call_id="c", target="openai_chat"))
    assert (result.output, result.call.arguments) == ("book Friday", arguments)
    assert asked == [("room.book", {"night": "Friday"}, "c")]
