"""One result for each call, in order, whatever happens: all kinds of handlers, and all that can go wrong."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

Make = Callable[..., Any]

user: ContextVar[str] = ContextVar("user", default="nobody")


def answer(args: Any, call: Any) -> Any:
    return {"key": args.key}


async def answer_async(args: Any, call: Any) -> Any:
    await asyncio.sleep(0)
    return {"key": args.key}


async def answer_at_once(args: Any, call: Any) -> Any:
    return {"key": args.key}


class Answers:
    """An object that is its own handler."""

    def __call__(self, args: Any, call: Any) -> Any:
        return {"key": args.key}


class AnswersAsync:
    async def __call__(self, args: Any, call: Any) -> Any:
        await asyncio.sleep(0)
        return {"key": args.key}


class Methods:
    def plain(self, args: Any, call: Any) -> Any:
        return {"key": args.key}

    async def waiting(self, args: Any, call: Any) -> Any:
        await asyncio.sleep(0.001)
        return {"key": args.key}

    @classmethod
    def of_class(cls, args: Any, call: Any) -> Any:
        return {"key": args.key}

    @staticmethod
    async def static(args: Any, call: Any) -> Any:
        return {"key": args.key}


def wraps_async(args: Any, call: Any) -> Any:
    return answer_async(args, call)


def gives_a_future(args: Any, call: Any) -> Any:
    return _Later(args.key)


class _Later:
    """An awaitable that is no coroutine."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return {"key": self.key}


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


HANDLERS = {
    "plain": answer,
    "async": answer_async,
    "async, at once": answer_at_once,
    "partial": functools.partial(answer),
    "async partial": functools.partial(answer_async),
    "callable object": Answers(),
    "async callable object": AnswersAsync(),
    "method": Methods().plain,
    "async method": Methods().waiting,
    "class method": Methods.of_class,
    "async static method": Methods.static,
    "plain that wraps async": wraps_async,
    "plain that gives an awaitable": gives_a_future,
    "decorated": decorated(answer),
    "decorated async": decorated(answer_async),
    "lambda": lambda args, call: {"key": args.key},
}


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
class TestEveryKindOfHandler:
    async def test_execute(self, dispatcher: Make, call: Make, handler: Any) -> None:
        result = await dispatcher(look_up=handler).execute(call("look_up", key="é"))
        assert (result.success, result.output, result.error, result.ran) == (True, '{"key":"é"}', None, True)
        assert (result.name, result.call_id, result.arguments) == ("look_up", "call_1", {"key": "é"})

    def test_execute_sync(self, dispatcher: Make, call: Make, handler: Any) -> None:
        d = dispatcher(look_up=handler)
        assert d.execute_sync(call("look_up", key="a")).output == '{"key":"a"}'
        assert [r.output for r in d.execute_all_sync(call("look_up", key=k) for k in "ab")] == [
            '{"key":"a"}',
            '{"key":"b"}',
        ]

    async def test_execute_all(self, dispatcher: Make, call: Make, handler: Any) -> None:
        calls = [call("look_up", key=str(i), call_id=str(i)) for i in range(40)]
        results = await dispatcher(look_up=handler, concurrency=7, threads=3).execute_all(calls)
        assert [result.call for result in results] == calls
        assert [json.loads(result.output)["key"] for result in results] == [str(i) for i in range(40)]

    async def test_wrong_arguments_do_not_reach_it(self, dispatcher: Make, call: Make, handler: Any) -> None:
        reached: list[Any] = []

        def watch(args: Any, call: Any) -> Any:
            reached.append(args)
            return handler(args, call)

        result = await dispatcher(look_up=watch).execute(call("look_up", key=5))
        assert (result.success, result.ran, reached) == (False, False, [])


class TestMixedCalls:
    async def test_five_calls_of_which_three_fail(self, dispatcher: Make, call: Make) -> None:
        """An unknown name, wrong arguments and a handler that raises leave their neighbours alone."""

        async def ping(args: Any, call: Any) -> Any:
            raise OSError("disk on fire")

        calls = [
            call("look_up", key="a", call_id="c1"),
            call("look_up", key=1, call_id="c2"),
            call("lookup", key="b", call_id="c3"),
            call("ping", call_id="c4"),
            call("look_up", key="e", call_id="c5"),
        ]
        results = await dispatcher(look_up=answer_async, ping=ping).execute_all(calls)
        assert [result.call_id for result in results] == ["c1", "c2", "c3", "c4", "c5"]
        assert [result.error and result.error.code for result in results] == [
            None,
            "invalid_arguments",
            "unknown_tool",
            "handler_error",
            None,
        ]
        assert [result.ran for result in results] == [True, False, False, True, True]
        assert [result.output for result in results] == ['{"key":"a"}', "", "", "", '{"key":"e"}']

    async def test_no_calls(self, dispatcher: Make) -> None:
        d = dispatcher()
        assert await d.execute_all([]) == []
        assert await d.execute_all(iter(())) == []

    async def test_they_run_at_once_within_the_bound(self, dispatcher: Make, call: Make) -> None:
        running = most = 0

        async def look_up(args: Any, call: Any) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

        await dispatcher(look_up=look_up, concurrency=5).execute_all(call("look_up", key="a") for _ in range(50))
        assert most == 5

    async def test_plain_functions_run_at_once_within_the_bound_of_threads(self, dispatcher: Make, call: Make) -> None:
        meet = threading.Barrier(3, timeout=10)
        names: set[str] = set()

        def look_up(args: Any, call: Any) -> None:
            names.add(threading.current_thread().name)
            meet.wait()

        d = dispatcher(look_up=look_up, threads=3, concurrency=50)
        results = await d.execute_all(call("look_up", key="a") for _ in range(9))
        assert all(result.success for result in results)
        assert len(names) == 3

    async def test_plain_functions_do_not_block_the_loop(self, dispatcher: Make, call: Make) -> None:
        go = threading.Event()

        def look_up(args: Any, call: Any) -> str:
            assert go.wait(10)
            return "done"

        async def ping(args: Any, call: Any) -> str:
            go.set()
            return "pong"

        results = await dispatcher(look_up=look_up, ping=ping).execute_all([call("look_up", key="a"), call("ping")])
        assert [result.output for result in results] == ["done", "pong"]

    async def test_a_thousand_at_once(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> str:
            await asyncio.sleep(0)
            return str(args.key)

        def set_flag(args: Any, call: Any) -> str:
            return str(args.key)

        names = ["look_up", "set_flag", "nothing"]
        calls = [call(names[i % 3], key=str(i), call_id=str(i)) for i in range(1000)]
        results = await dispatcher(look_up=look_up, set_flag=set_flag).execute_all(calls)
        assert [result.call_id for result in results] == [str(i) for i in range(1000)]
        assert [result.output for result in results] == [str(i) if i % 3 < 2 else "" for i in range(1000)]

    async def test_batches_at_once_share_nothing_but_the_threads(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(look_up=answer, threads=2)
        batches = await asyncio.gather(
            *(d.execute_all([call("look_up", key=f"{b}.{i}") for i in range(20)]) for b in range(10))
        )
        for b, results in enumerate(batches):
            assert [json.loads(result.output)["key"] for result in results] == [f"{b}.{i}" for i in range(20)]


class TestArguments:
    @pytest.mark.parametrize("arguments", [None, "", "  \n", "{}", "null", b"", {}, b"\xef\xbb\xbf{}"])
    async def test_no_arguments(self, dispatcher: Make, call: Make, arguments: Any) -> None:
        result = await dispatcher(ping=lambda args, call: "pong").execute(call("ping", arguments=arguments))
        assert result.output == "pong"

    async def test_a_property_that_is_missing_is_no_json_error(self, dispatcher: Make, call: Make) -> None:
        result = await dispatcher(look_up=answer).execute(call("look_up", arguments=""))
        assert result.error.code == "invalid_arguments"
        assert result.error.message == 'Invalid arguments: the required property "key" is missing.'
        assert [(i.pointer, i.keyword) for i in result.error.issues] == [("", "required")]

    @pytest.mark.parametrize(
        ("arguments", "code", "told"),
        [
            ("[]", "invalid_arguments", "must be a JSON object, not an array"),
            ('"{}"', "invalid_arguments", "must be a JSON object, not a string"),
            ("0", "invalid_arguments", "must be a JSON object, not a number"),
            ('{"key": "Mad', "invalid_json", "not valid JSON: Unterminated string"),
            ('{"key": NaN}', "invalid_json", "NaN is no JSON number"),
            ('{"key": "a", "key": "b"}', "invalid_json", 'the key "key" appears twice'),
            ('{"key": ' + "[" * 3000 + "]" * 3000 + "}", "invalid_json", "nest deeper than 128 levels"),
            ({"key": object()}, "invalid_json", "/key: a value of type object is no JSON value"),
            (b"\xff\xfe{\x00}\x00", "invalid_json", "not UTF-8"),
            ({"key": 5}, "invalid_arguments", "/key: expected a string, got 5"),
            ({"kye": "a"}, "invalid_arguments", 'unknown property "kye" (did you mean "key"?)'),
            ({"key": '{"a": 1}', "x": 1}, "invalid_arguments", 'unknown property "x"; known are "key"'),
        ],
    )
    async def test_wrong_ones_are_explained(
        self, dispatcher: Make, call: Make, arguments: Any, code: str, told: str
    ) -> None:
        result = await dispatcher(look_up=answer).execute(call("look_up", arguments=arguments))
        assert (result.error.code, result.ran, result.output) == (code, False, "")
        assert result.error.message.startswith("Invalid arguments: ")
        assert told in result.error.message
        assert result.error.issues

    async def test_they_keep_their_values(self, dispatcher: Make, call: Make) -> None:
        text = (
            '{"id": 12345678901234567890123, "x": 1e2, "s": "\\u0000\\ud83d\\ude42", "deep": {"a": [null, {"b": 0}]}}'
        )
        seen: list[Any] = []

        async def anything(args: Any, call: Any) -> None:
            seen.append(args.model_dump(mode="json", by_alias=True, exclude_unset=True))

        await dispatcher(anything=anything).execute(call("anything", arguments=text))
        assert repr(seen) == repr([json.loads(text)])

    async def test_a_handler_cannot_change_the_callers_mapping(self, dispatcher: Make, call: Make) -> None:
        given = {"rows": [1, 2]}

        async def anything(args: Any, call: Any) -> None:
            args.model_extra["rows"].append(3)

        await dispatcher(anything=anything).execute(call("anything", arguments=given))
        assert given == {"rows": [1, 2]}

    async def test_a_mapping_that_fails_is_one_failed_call(self, dispatcher: Make, call: Make) -> None:
        class Broken(dict[str, Any]):
            def items(self) -> Any:
                raise OSError("secret")

        d = dispatcher(anything=answer, ping=lambda args, call: "pong")
        results = await d.execute_all([call("anything", arguments=Broken(a=1)), call("ping")])
        assert [result.error and result.error.code for result in results] == ["handler_error", None]
        assert "secret" not in results[0].error.message


class TestNames:
    async def test_an_unknown_name_is_answered_with_near_ones(self, dispatcher: Make, call: Make) -> None:
        result = await dispatcher().execute(call("look_upp", key="a"))
        assert result.error.code == "unknown_tool"
        assert result.error.message.startswith('There is no tool "look_upp". Did you mean look_up')
        assert "The tools are: anything, " in result.error.message

    async def test_a_part_knows_only_its_own(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(look_up=answer, pay=answer).only("look_up")
        assert (await d.execute(call("look_up", key="a"))).success
        result = await d.execute(call("pay", key="a"))
        assert result.error.message == 'There is no tool "pay". The tools are: look_up.'

    @pytest.mark.parametrize("name", [None, 5, ["look_up"], b"look_up", "", "\ud800", "x" * 1_000_000, "a\nb", {}])
    async def test_whatever_stands_for_a_name(self, dispatcher: Make, api: Any, name: Any) -> None:
        result = await dispatcher().execute(api.Call(name))
        assert result.error.code == "unknown_tool"
        assert len(result.error.message) < 500
        result.error.message.encode()


class Unhappy(BaseException):
    """Not even an Exception."""


RAISED = {
    "an exception": RuntimeError("secret"),
    "a group": ExceptionGroup("secret", [ValueError("secret")]),
    "an exception without text": KeyError(),
    "the end of an iteration": StopIteration("secret"),
    "the end of an async iteration": StopAsyncIteration("secret"),
    "a timeout of its own": TimeoutError("secret"),
    "a broken assertion": AssertionError("secret"),
    "too much recursion": RecursionError("secret"),
    "no memory": MemoryError("secret"),
    "the end of the process": SystemExit("secret"),
    "something that is no Exception": Unhappy("secret"),
    "a group that is no Exception": BaseExceptionGroup("secret", [Unhappy("secret")]),
}


@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
@pytest.mark.parametrize("kind", ["plain", "async", "async that waits", "plain that wraps async"])
class TestWhatHandlersRaise:
    async def test_it_is_one_failed_call_and_not_quoted(
        self, dispatcher: Make, call: Make, caplog: Any, kind: str, error: BaseException
    ) -> None:
        d = dispatcher(look_up=_raising(kind, error), ping=lambda args, call: "pong")
        results = await d.execute_all([call("ping"), call("look_up", key="a"), call("ping")])
        assert [result.output for result in results] == ["pong", "", "pong"]
        failed = results[1]
        assert (failed.error.code, failed.ran) == ("handler_error", True)
        assert failed.error.message == "The tool failed for an internal reason."
        # It is logged in full, here.
        assert [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]

    def test_without_an_event_loop(self, dispatcher: Make, call: Make, kind: str, error: BaseException) -> None:
        d = dispatcher(look_up=_raising(kind, error), ping=lambda args, call: "pong")
        assert d.execute_sync(call("look_up", key="a")).error.code == "handler_error"
        assert d.execute_sync(call("ping")).output == "pong"


def _raising(kind: str, error: BaseException) -> Callable[..., Any]:
    def plain(args: Any, call: Any) -> Any:
        raise error

    async def at_once(args: Any, call: Any) -> Any:
        raise error

    async def later(args: Any, call: Any) -> Any:
        await asyncio.sleep(0.001)
        raise error

    return {"plain": plain, "async": at_once, "async that waits": later}.get(kind, lambda a, c: later(a, c))


class TestToolError:
    @pytest.mark.parametrize("kind", ["plain", "async", "async that waits", "plain that wraps async"])
    async def test_its_message_is_passed_on(self, dispatcher: Make, call: Make, api: Any, kind: str) -> None:
        d = dispatcher(look_up=_raising(kind, api.ToolError("No customer C7. Ask for the number.")))
        result = await d.execute(call("look_up", key="a"))
        assert (result.error.code, result.error.message) == ("handler_error", "No customer C7. Ask for the number.")
        assert (result.success, result.ran) == (False, True)

    async def test_it_is_not_logged_as_a_failure(self, dispatcher: Make, call: Make, api: Any, caplog: Any) -> None:
        await dispatcher(look_up=_raising("async", api.ToolError("No."))).execute(call("look_up", key="a"))
        assert caplog.records == []

    async def test_a_message_always_can_be_sent(self, dispatcher: Make, call: Make, api: Any) -> None:
        for error, message in ((api.ToolError(), "The tool failed."), (api.ToolError("a\ud800b"), "a?b")):
            result = await dispatcher(look_up=_raising("plain", error)).execute(call("look_up", key="a"))
            assert result.error.message == message

    async def test_a_message_has_an_end(self, dispatcher: Make, call: Make, api: Any) -> None:
        error = api.ToolError("x" * 20_000_000)
        result = await dispatcher(look_up=_raising("plain", error)).execute(call("look_up", key="a"))
        assert len(result.error.message) < 200_000

    async def test_a_generator_may_raise_it_too(self, dispatcher: Make, call: Make, api: Any) -> None:
        def look_up(args: Any, call: Any) -> Iterator[int]:
            yield 1
            raise api.ToolError("The second page is gone.")

        result = await dispatcher(look_up=look_up).execute(call("look_up", key="a"))
        assert (result.error.code, result.error.message) == ("handler_error", "The second page is gone.")


class TestInterrupts:
    def test_ctrl_c_in_the_main_thread_ends_the_process_and_no_call_hides_it(
        self, dispatcher: Make, call: Make
    ) -> None:
        d = dispatcher(look_up=_raising("async", KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(d.execute(call("look_up", key="a")))

    @pytest.mark.parametrize("kind", ["plain", "async", "async that waits"])
    def test_in_any_other_thread_it_is_a_failed_handler(self, dispatcher: Make, call: Make, kind: str) -> None:
        d = dispatcher(look_up=_raising(kind, KeyboardInterrupt()))
        assert d.execute_sync(call("look_up", key="a")).error.code == "handler_error"
        assert d.execute_sync(call("look_up", key="a")).error.code == "handler_error"

    async def test_in_a_thread_of_the_pool_it_is_a_failed_handler(self, dispatcher: Make, call: Make) -> None:
        for error in (KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()):
            result = await dispatcher(look_up=_raising("plain", error)).execute(call("look_up", key="a"))
            assert result.error.code == ("cancelled" if isinstance(error, asyncio.CancelledError) else "handler_error")


class TestOutput:
    async def test_by_the_rules(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> Any:
            return {"ciudad": "Málaga", "pages": (n for n in range(3))}

        result = await dispatcher(look_up=look_up).execute(call("look_up", key="a"))
        assert result.output == '{"ciudad":"Málaga","pages":[0,1,2]}'

    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_content_has_parts_and_text(self, dispatcher: Make, call: Make, api: Any, kind: str) -> None:
        content = api.Content(["The map:", api.Image("https://example.com/map.png")])
        result = await dispatcher(look_up=_returning(kind, content)).execute(call("look_up", key="a"))
        assert (result.output, result.content) == ("The map:", content)

    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_what_cannot_be_sent_names_the_place(self, dispatcher: Make, call: Make, kind: str) -> None:
        result = await dispatcher(look_up=_returning(kind, {"a": [object()]})).execute(call("look_up", key="a"))
        assert (result.error.code, result.ran) == ("unserializable_output", True)
        assert result.error.message == (
            "The tool ran, but its output cannot be sent: cannot write the type object at $.a[0] as JSON"
        )

    async def test_a_generator_that_fails_is_not_quoted(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        def look_up(args: Any, call: Any) -> Iterator[int]:
            yield 1
            raise OSError("secret")

        d = dispatcher(look_up=look_up, ping=lambda args, call: "pong")
        results = await d.execute_all([call("look_up", key="a"), call("ping")])
        assert results[0].error.code == "unserializable_output"
        assert results[0].error.message == "The tool ran, but its output cannot be sent."
        assert results[1].output == "pong"
        assert "secret" in caplog.text

    async def test_a_generator_runs_in_the_thread_of_its_handler(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, call: Any) -> Iterator[str]:
            yield threading.current_thread().name

        result = await dispatcher(look_up=look_up).execute(call("look_up", key="a"))
        assert "toolgen-handler" in result.output

    async def test_an_async_generator_is_no_output(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> Any:
            yield 1

        result = await dispatcher(look_up=look_up).execute(call("look_up", key="a"))
        assert result.error.code == "unserializable_output"
        assert "async_generator at $" in result.error.message

    async def test_it_is_held_against_the_specs_returns(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        good = await dispatcher(total=lambda args, call: {"total": 5}).execute(call("total"))
        assert good.output == '{"total":5}'
        bad = await dispatcher(total=lambda args, call: {"total": "5 secrets"}).execute(call("total"))
        assert bad.error.code == "unserializable_output"
        assert bad.error.message.endswith("the output does not fit the spec's returns at /total: expected a number")
        assert [str(issue) for issue in bad.error.issues] == ['/total: expected a number, got "5 secrets"']
        assert "secrets" not in caplog.text

    async def test_text_is_held_against_returns_too(self, dispatcher: Make, call: Make) -> None:
        assert (await dispatcher(name=lambda args, call: "Ada").execute(call("name"))).output == "Ada"
        bad = await dispatcher(name=lambda args, call: 5).execute(call("name"))
        assert bad.error.message.endswith("the output does not fit the spec's returns: expected a string")

    @pytest.mark.parametrize("target", ["openai_agents", "openai_responses"])
    async def test_what_is_too_large_for_the_api_is_said_to_be(
        self, dispatcher: Make, call: Make, tools: ModuleType, target: str
    ) -> None:
        limit = tools.dispatch.PACKAGE.output_limits[target]
        sizes = {"fits": limit - 2, "is too large": limit - 1}  # as JSON text, with its quotes
        d = dispatcher(look_up=lambda args, call: "x" * sizes[args.key])
        fits, large = await d.execute_all([call("look_up", key=key, target=target) for key in sizes])
        assert len(fits.output) == limit - 2
        assert (large.error.code, large.ran, large.output) == ("output_too_large", True, "")
        assert f"{limit + 1} bytes, at most {limit} are allowed" in large.error.message
        assert (await d.execute(call("look_up", key="is too large"))).success  # no API, no limit

    async def test_escapes_and_images_count(self, dispatcher: Make, call: Make, tools: ModuleType, api: Any) -> None:
        limit = tools.dispatch.PACKAGE.output_limits["openai_agents"]
        outputs = {
            "escapes": "\n" * (limit // 2),
            "wide": "é" * (limit // 2),
            "image": api.Content(["a", api.Image("data:" + "x" * limit)]),
        }
        d = dispatcher(look_up=lambda args, call: outputs[args.key])
        results = await d.execute_all([call("look_up", key=key, target="openai_agents") for key in outputs])
        assert {result.error.code for result in results} == {"output_too_large"}

    async def test_models_of_the_result(self, dispatcher: Make, call: Make, tools: ModuleType) -> None:
        total = importlib.import_module(f"{tools.__name__}.models.total")
        result = await dispatcher(total=lambda args, call: total.TotalResult(total=5.5)).execute(call("total"))
        assert result.output == '{"total":5.5}'


def _returning(kind: str, value: Any) -> Callable[..., Any]:
    async def later(args: Any, call: Any) -> Any:
        return value

    return later if kind == "async" else lambda args, call: value


class TestContext:
    async def test_the_call_carries_it_to_the_handler(self, dispatcher: Make, call: Make) -> None:
        seen: list[Any] = []
        context = object()

        async def look_up(args: Any, call: Any) -> None:
            seen.append((call.context, call.call_id, call.turn_id, call.session_id, call.target))

        await dispatcher(look_up=look_up).execute(call("look_up", key="a", context=context, target="openai_responses"))
        assert seen == [(context, "call_1", "turn_1", "session_1", "openai_responses")]

    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_context_variables_reach_the_handler(self, dispatcher: Make, call: Make, kind: str) -> None:
        def plain(args: Any, call: Any) -> str:
            return user.get()

        async def waiting(args: Any, call: Any) -> str:
            await asyncio.sleep(0)
            return user.get()

        d = dispatcher(look_up=plain if kind == "plain" else waiting)
        token = user.set("ada")
        try:
            assert (await d.execute(call("look_up", key="a"))).output == "ada"
            both = await d.execute_all([call("look_up", key="a"), call("look_up", key="b")])
            assert [result.output for result in both] == ["ada", "ada"]
            assert (await asyncio.to_thread(d.execute_sync, call("look_up", key="a"))).output == "ada"
        finally:
            user.reset(token)

    async def test_calls_of_a_batch_do_not_see_each_others_variables(self, dispatcher: Make, call: Make) -> None:
        async def look_up(args: Any, call: Any) -> str:
            before = user.get()
            user.set(args.key)
            await asyncio.sleep(0)
            return f"{before} {user.get()}"

        results = await dispatcher(look_up=look_up).execute_all(call("look_up", key=k) for k in "abc")
        assert [result.output for result in results] == ["nobody a", "nobody b", "nobody c"]

    async def test_a_plain_functions_variables_stay_in_its_thread(self, dispatcher: Make, call: Make) -> None:
        def look_up(args: Any, call: Any) -> str:
            before = user.get()
            user.set(args.key)
            return before

        d = dispatcher(look_up=look_up, threads=1)
        for key in "ab":
            assert (await d.execute(call("look_up", key=key))).output == "nobody"


class TestLogs:
    async def test_no_argument_values(self, dispatcher: Make, call: Make, api: Any, caplog: Any) -> None:
        caplog.set_level(logging.DEBUG)

        async def slow(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        async def approve(call: Any) -> bool:
            return False

        handlers = {
            "look_up": lambda args, call: 1 / 0,
            "pay": _raising("async", api.ToolError("No.")),
            "quick_look": slow,
            "set_flag": lambda args, call: {1.5: 1},
            "guarded_pay": answer,
        }
        memory = dispatcher(**handlers, hooks=api.Hooks(approve=approve))
        journalled = memory.journalled()
        for d in (memory, journalled):
            for name in ("look_up", "pay", "quick_look", "set_flag", "guarded_pay", "unheard_of", "guarded_look"):
                for arguments in ({"key": "classified"}, {"key": 5, "classified": "classified"}, '{"key": "classified'):
                    await d.execute(
                        call(name, arguments=arguments, call_id=f"{name}{arguments}"[:40].replace("classified", ""))
                    )
        assert caplog.records
        assert "classified" not in caplog.text


class TestStubs:
    async def test_a_stub_answers_that_it_is_one(self, tools: ModuleType, call: Make, caplog: Any) -> None:
        d = tools.dispatcher()
        result = await d.execute(call("look_up", key="a"))
        assert (result.success, result.error.code) == (False, "not_implemented")
        assert result.error.message == "This tool is not implemented."
        assert "not implemented" in caplog.text
        d.close()

    async def test_a_missing_method_is_not_implemented(self, dispatcher: Make, call: Make, caplog: Any) -> None:
        result = await dispatcher().execute(call("look_up", key="a"))
        assert (result.error.code, result.ran) == ("not_implemented", False)
        assert "look_up: there is no function SimpleNamespace.look_up" in caplog.text

    @pytest.mark.parametrize("broken", [5, "text", None])
    async def test_what_cannot_be_called_is_no_handler(self, dispatcher: Make, call: Make, broken: Any) -> None:
        assert (await dispatcher(look_up=broken).execute(call("look_up", key="a"))).error.code == "not_implemented"

    async def test_a_handler_of_another_shape_is_a_failed_handler(self, dispatcher: Make, call: Make) -> None:
        d = dispatcher(look_up=lambda: 1, ping=lambda args, call: "pong")
        results = await d.execute_all([call("look_up", key="a"), call("ping")])
        assert [result.error and result.error.code for result in results] == ["handler_error", None]

    async def test_a_handler_that_cannot_be_got_is_a_failed_handler(self, tools: ModuleType, call: Make) -> None:
        class Handlers:
            @property
            def look_up(self) -> Any:
                raise OSError("secret")

            def ping(self, args: Any, call: Any) -> str:
                return "pong"

        d = tools.dispatcher(Handlers())
        results = await d.execute_all([call("look_up", key="a"), call("ping")])
        assert [result.error and result.error.code for result in results] == ["handler_error", None]
        d.close()


class TestNeighbours:
    async def test_a_slow_call_delays_nobody(self, dispatcher: Make, call: Make) -> None:
        order: list[str] = []

        async def look_up(args: Any, call: Any) -> None:
            await asyncio.sleep(0.05 if args.key == "slow" else 0)
            order.append(args.key)

        d = dispatcher(look_up=look_up)
        results = await d.execute_all(call("look_up", key=key) for key in ("slow", "a", "b"))
        assert order == ["a", "b", "slow"]
        assert [result.arguments["key"] for result in results] == ["slow", "a", "b"]

    async def test_a_handler_that_cancels_its_own_task_is_one_cancelled_call(
        self, dispatcher: Make, call: Make
    ) -> None:
        async def look_up(args: Any, call: Any) -> str:
            if args.key == "b":
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(1)
            await asyncio.sleep(0.001)
            return str(args.key)

        results = await dispatcher(look_up=look_up).execute_all(call("look_up", key=key) for key in "abc")
        assert [result.output for result in results] == ["a", "", "c"]
        assert results[1].error.code == "cancelled"

    async def test_a_handler_that_awaits_something_cancelled_is_one_cancelled_call(
        self, dispatcher: Make, call: Make
    ) -> None:
        async def look_up(args: Any, call: Any) -> str:
            if args.key == "b":
                other = asyncio.ensure_future(asyncio.sleep(10))
                asyncio.get_running_loop().call_soon(other.cancel)
                await other
            return str(args.key)

        d = dispatcher(look_up=look_up)
        results = await d.execute_all(call("look_up", key=key) for key in "abc")
        assert [result.output for result in results] == ["a", "", "c"]
        assert results[1].error.code == "cancelled"
        assert (await d.execute(call("look_up", key="b"))).error.code == "cancelled"


def test_results_are_written_where_they_are_needed(dispatcher: Make, call: Make) -> None:
    """A big output of a plain function does not hold up the event loop: it is written in the function's thread."""
    names: list[str] = []

    class Telling:
        @property
        def key(self) -> str:
            return "a"

    def look_up(args: Any, call: Any) -> Iterator[str]:
        for _ in range(2):
            names.append(threading.current_thread().name)
            time.sleep(0)
            yield "row"

    assert dispatcher(look_up=look_up).execute_sync(call("look_up", key=Telling().key)).output == '["row","row"]'
    assert all(name.startswith("toolgen-handler") for name in names)


def test_injected_and_module_handlers_are_alike(package: Any) -> None:
    """spec → build → import → call, once with the functions in `handlers/` and once with an object."""
    spec = {
        "name": "discount",
        "description": "Reduces a price.",
        "parameters": {
            "type": "object",
            "properties": {"price": {"type": "number"}, "percent": {"type": "integer", "default": 10}},
            "required": ["price"],
            "additionalProperties": False,
        },
    }
    source = "def discount(args, call):\n    return {'price': round(args.price * (100 - args.percent) / 100, 2)}\n"
    made = package(spec, handlers={"discount": source})
    injected = SimpleNamespace(discount=lambda args, call: {"price": round(args.price * (100 - args.percent) / 100, 2)})
    for d in (made.dispatcher(), made.dispatcher(injected)):
        call = made.runtime.Call("discount", '{"price": 50}')
        assert d.execute_sync(call).output == '{"price":45.0}'
        d.close()
