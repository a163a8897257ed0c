"""Any mix of calls, handlers and settings: one result for each call, in order, and each as if it had been alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


class Odd(BaseException):
    """Not even an Exception."""


def _plain(args: Any, call: Any) -> Any:
    return _act(args.key, call)


async def _async(args: Any, call: Any) -> Any:
    match args.key:
        case "waits":
            await asyncio.sleep(0.001)
            return "fine"
        case "takes too long":
            await asyncio.sleep(5)
        case "cancels itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(5)
    return _act(args.key, call)


def _act(what: str, call: Any) -> Any:
    match what:
        case "fine":
            return "fine"
        case "waits":
            time.sleep(0.001)
            return "fine"
        case "takes too long":
            time.sleep(0.08)
            return "never seen"
        case "fails":
            raise OSError("secret")
        case "is odd":
            raise Odd("secret")
        case "leaves":
            raise SystemExit("secret")
        case "stops":
            raise StopIteration("secret")
        case "is cancelled" | "cancels itself":
            raise asyncio.CancelledError
        case "says why":
            raise call.context("it says why")
        case "cannot be sent":
            return {"a": object()}
        case "fails later":
            return (1 / 0 for _ in range(2))
        case _:
            raise NotImplementedError


EXPECTED = {
    "fine": None,
    "waits": None,
    "takes too long": "timeout",
    "fails": "handler_error",
    "is odd": "handler_error",
    "leaves": "handler_error",
    "stops": "handler_error",
    "is cancelled": "cancelled",
    "cancels itself": "cancelled",
    "says why": "handler_error",
    "cannot be sent": "unserializable_output",
    "fails later": "unserializable_output",
    "is nothing": "not_implemented",
}

_calls = st.lists(
    st.tuples(st.sampled_from(["quick_look", "look_up"]), st.sampled_from(sorted(EXPECTED)))
    | st.tuples(st.just("wrong"), st.just("")),
    max_size=15,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wanted=_calls,
    concurrency=st.integers(1, 6),
    threads=st.integers(1, 6),
    journalled=st.booleans(),
    without_loop=st.booleans(),
)
def test_each_call_has_its_own_result(
    tools: ModuleType,
    runtime: Callable[[str], ModuleType],
    wanted: list[tuple[str, str]],
    concurrency: int,
    threads: int,
    journalled: bool,
    without_loop: bool,
) -> None:
    api = runtime("")
    # `quick_look` is async, `look_up` is plain; both have a short bound.
    d = tools.dispatcher(
        SimpleNamespace(quick_look=_async, look_up=_plain), concurrency=concurrency, threads=threads, timeout=0.05
    )
    calls = [
        api.Call("nothing" if name == "wrong" else name, {"key": what}, str(i), "t", "s", context=api.ToolError)
        for i, (name, what) in enumerate(wanted)
    ]
    part = d.journalled() if journalled else d
    results = part.execute_all_sync(calls) if without_loop else asyncio.run(part.execute_all(calls))
    d.close()
    assert [result.call for result in results] == calls
    for (name, what), result in zip(wanted, results, strict=True):
        code = result.error.code if result.error else None
        text = f"{result.output} {result.error}"
        assert "secret" not in text
        assert "never seen" not in text
        if name == "wrong":
            assert code == "unknown_tool"
        elif code != "timeout":  # a busy machine may take longer than the bound; it may never do anything else
            assert code == EXPECTED[what], what
            assert code is not None or result.output == "fine"
            assert what != "says why" or result.error.message == "it says why"
