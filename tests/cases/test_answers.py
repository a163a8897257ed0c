"""Answers to calls, through the adapter of each API: one for each call, in order, and readable."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import importlib
import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tests.cases.conftest import TARGETS, Serve, Service, tool

ALL = (*TARGETS, "openai_chat", "anthropic")
WHOLE = {"type": "integer"}


class Light(str, enum.Enum):  # noqa: UP042 - the older spelling is in use
    GREEN = "green"


class Place(NamedTuple):
    name: str
    at: tuple[float, float]


@dataclasses.dataclass
class Trip:
    to: Place
    on: date
    paid: Decimal | None = None


class Handlers:
    """What the tools of the tests do."""

    def __init__(self) -> None:
        self.value: Any = None

    def look(self, args: Any, call: Any) -> Any:
        return {"id": args.id, "ciudad": "Málaga", "nota": "日本 🙂"}

    async def wait(self, args: Any, call: Any) -> Any:
        await asyncio.sleep(60)

    async def stop(self, args: Any, call: Any) -> Any:
        raise asyncio.CancelledError

    def fail(self, args: Any, call: Any) -> Any:
        raise RuntimeError("password=ñ")

    def give(self, args: Any, call: Any) -> Any:
        return self.value


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    wait = tool("wait", {})
    return serve(
        tool("look", {"id": WHOLE}, "id"),
        wait | {"x-toolgen": {"timeout": 0.05}},
        *[tool(name, {}) for name in ("stop", "fail", "give")],
        targets=list(ALL),
    )


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
def dispatcher(service: Service, handlers: Handlers) -> Any:
    return service.package.dispatcher(handlers)


def asked(target: str, calls: list[tuple[str, str, Any]]) -> Any:
    """What the API sends when the model makes these calls: id, tool, arguments."""
    if target == "openai_responses":
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"}
        items = [
            {"type": "function_call", "call_id": key, "name": name, "arguments": json.dumps(arguments)}
            for key, name, arguments in calls
        ]
        return {"id": "resp_1", "status": "completed", "output": [reasoning, *items]}
    if target == "openai_agents":
        actions = [
            {"type": "function_call", "turn_id": "turn_1", "call_id": key, "name": name, "arguments": arguments}
            for key, name, arguments in calls
        ]
        return {"id": "sess_1", "status": "requires_action", "required_actions": actions}
    if target == "openai_chat":
        functions = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for key, name, arguments in calls
        ]
        message = {"role": "assistant", "content": None, "tool_calls": functions}
        return {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    if target == "anthropic":
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        uses = [{"type": "tool_use", "id": key, "name": name, "input": arguments} for key, name, arguments in calls]
        return {"id": "msg_1", "content": [thinking, *uses], "stop_reason": "tool_use"}
    actions = [
        {
            "actionId": key,
            "requiredActionType": "FUNCTION_CALLING_REQUIRED_ACTION",
            "functionCall": {"name": name, "arguments": json.dumps(arguments)},
        }
        for key, name, arguments in calls
    ]
    return {"message": None, "requiredActions": actions}


def answered(
    service: Service, dispatcher: Any, target: str, calls: list[tuple[str, str, Any]]
) -> list[tuple[str, Any]]:
    """The id and the text of each answer as it goes back; a failure as the exception's message."""
    adapter = importlib.import_module(f"{service.package.__name__}.runtime.adapters.{target}")
    source = asked(target, calls)
    results = dispatcher.execute_all_sync(adapter.read_calls(source, session_id="s"))
    if target == "openai_responses":
        return [(item["call_id"], item["output"]) for item in adapter.write_results(results, source)]
    if target == "openai_agents":
        events = [adapter.write_result(result) for result in results]
        assert {event["turn_id"] for event in events} <= {"turn_1"}
        return [(event["call_id"], event["output"] if event["success"] else event["error"]) for event in events]
    if target == "openai_chat":
        return [(item["tool_call_id"], item["content"]) for item in adapter.write_results(results)]
    if target == "anthropic":
        (message,) = adapter.write_results(results)
        return [(block["tool_use_id"], block["content"]) for block in message["content"]]
    return [(item["actionId"], item["functionCallOutput"]) for item in adapter.write_results(results)]


@pytest.mark.parametrize("target", ALL)
def test_each_call_has_one_answer_in_order(service: Service, dispatcher: Any, handlers: Handlers, target: str) -> None:
    handlers.value = object()
    calls = [
        ("c1", "look", {"id": 1}),
        ("c2", "look", {"id": "x"}),
        ("c3", "loko", {"id": 1}),
        ("c4", "fail", {}),
        ("c5", "wait", {}),
        ("c6", "stop", {}),
        ("c7", "give", {}),
        ("c8", "look", {"id": 8}),
    ]
    answers = answered(service, dispatcher, target, calls)
    assert [key for key, _ in answers] == [key for key, _, _ in calls]
    texts = dict(answers)
    assert [json.loads(texts[key])["id"] for key in ("c1", "c8")] == [1, 8]
    for key, words in [
        ("c2", "/id: expected an integer"),
        ("c3", "Did you mean look?"),
        ("c4", "internal reason"),
        ("c5", "did not finish within 0.05 seconds"),
        ("c6", "cancelled"),
        ("c7", "cannot write the type object at $"),
    ]:
        assert words in texts[key]
        assert "password" not in texts[key]


@pytest.mark.parametrize("target", ALL)
def test_characters_go_out_as_they_are(service: Service, dispatcher: Any, handlers: Handlers, target: str) -> None:
    handlers.value = "línea\u2028日本 🙂"
    calls: list[tuple[str, str, Any]] = [("a", "look", {"id": 1}), ("b", "give", {}), ("c", "búsqueda", {"niño": "é"})]
    answers = dict(answered(service, dispatcher, target, calls))
    assert answers["a"] == '{"id":1,"ciudad":"Málaga","nota":"日本 🙂"}'
    assert answers["b"] == "línea\u2028日本 🙂"
    assert "búsqueda" in answers["c"]
    assert "\\u" not in "".join(answers.values())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "null"),
        ([1, "a", 2.5, True], '[1,"a",2.5,true]'),
        (Decimal("10.50"), '"10.50"'),
        (datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=-3))), '"2024-05-01T10:00:00-03:00"'),
        (timedelta(hours=25), '"P1DT3600S"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (PurePosixPath("/a/ñ"), '"/a/ñ"'),
        (b"\x00\xff", '"AP8="'),
        (Light.GREEN, '"green"'),
        ({"b", "a", "ñ"}, '["a","b","ñ"]'),
        ({1, "a", None, 2.5, (1, 2), b"x"}, '[null,1,2.5,"a","eA==",[1,2]]'),
        ({Light.GREEN: {3, 1}, 1: None, None: (), False: []}, '{"green":[1,3],"1":null,"null":[],"false":[]}'),
        (
            Trip(Place("Cádiz", (36.5, -6.3)), date(2024, 2, 29)),
            '{"to":{"name":"Cádiz","at":[36.5,-6.3]},"on":"2024-02-29","paid":null}',
        ),
        ((number for number in range(3)), "[0,1,2]"),
        ({"deep": [{"x": (n for n in "ab")}]}, '{"deep":[{"x":["a","b"]}]}'),
    ],
)
def test_values_of_python_as_text(dispatcher: Any, service: Service, handlers: Handlers, value: Any, text: str) -> None:
    handlers.value = value
    assert dispatcher.execute_sync(service.runtime.Call("give", {})).output == text


LOOP: list[Any] = []
LOOP.append({"again": LOOP})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": [1, {"b": object()}]}, "the type object at $.a[1].b"),
        ({"a": float("nan")}, "nan at $.a"),
        ({(1, 2): "x"}, "a key at $ is of type tuple"),
        ({1: "x", "1": "y"}, "two keys at $ become '1'"),
        (LOOP, "at $[0].again contains itself"),
        (["\ud800"], "the text at $[0] holds a lone surrogate"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_what_json_cannot_say_is_an_error_with_its_place(
    dispatcher: Any, service: Service, handlers: Handlers, value: Any, words: str
) -> None:
    handlers.value = value
    result = dispatcher.execute_sync(service.runtime.Call("give", {}))
    assert (result.success, result.error.code, result.ran) == (False, "unserializable_output", True)
    assert words in result.error.message


@pytest.mark.parametrize("target", ["openai_responses", "oci_agents"])
def test_ids_that_come_twice_in_one_answer_of_the_model(service: Service, target: str) -> None:
    seen: list[int] = []

    class Counting(Handlers):
        def look(self, args: Any, call: Any) -> Any:
            seen.append(args.id)
            return super().look(args, call)

    memory = importlib.import_module(f"{service.package.__name__}.runtime.journal.memory")
    dispatcher = service.package.dispatcher(Counting(), journal=memory.MemoryJournal())
    calls = [("c1", "look", {"id": 1}), ("c1", "look", {"id": 1}), ("c1", "look", {"id": 2}), ("c2", "look", {"id": 1})]
    answers = answered(service, dispatcher, target, calls)
    keys = [key for key, _ in answers]
    if target == "oci_agents":
        assert keys == ["c1", "c1", "c1", "c2"]
        assert answers[0] == answers[1]
        assert "another" in answers[2][1]
        assert seen == [1, 1]
    else:  # the same call is one; another call gets an id of its own, under which it goes back with the history
        assert (keys[0], keys[2], len({*keys}), len(keys)) == ("c1", "c2", 3, 3)
        assert seen == [1, 2, 1]


def test_an_action_that_a_session_lists_twice_is_one(service: Service, dispatcher: Any) -> None:
    calls = [("c1", "look", {"id": 1}), ("c1", "look", {"id": 1}), ("c2", "look", {"id": 2})]
    assert [key for key, _ in answered(service, dispatcher, "openai_agents", calls)] == ["c1", "c2"]
