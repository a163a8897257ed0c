"""The Responses adapter: calls of a response, and the items that answer them; SDK objects and plain dicts alike."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response

Make = Callable[..., Any]

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"key": "a"}'}
CALL_2 = dict(CALL, id="fc_2", call_id="call_2", arguments='{"key": "b"}')
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Here it is.", "annotations": []}],
}
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAAA",
    "status": None,
    "content": None,
}


def response(*output: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
        "output": list(copy.deepcopy(output)),
    } | fields


@pytest.fixture(params=["dict", "object"])
def form(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    """A response as a plain dict and as the SDK's object."""
    return (lambda made: made) if request.param == "dict" else (lambda made: Response.model_validate(made))


@pytest.fixture(scope="session")
def adapter(runtime: Callable[[str], ModuleType]) -> ModuleType:
    return runtime("adapters.openai_responses")


class TestReading:
    def test_calls_in_order_with_their_ids(self, adapter: Any, form: Any) -> None:
        context = object()
        calls = adapter.read_calls(form(response(REASONING, CALL, MESSAGE, CALL_2)), session_id="s", context=context)
        assert [(call.name, call.arguments, call.call_id) for call in calls] == [
            ("look_up", '{"key": "a"}', "call_1"),
            ("look_up", '{"key": "b"}', "call_2"),
        ]
        assert {(call.turn_id, call.session_id, call.target) for call in calls} == {("resp_1", "s", "openai_responses")}
        assert calls[0].context is context

    @pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled", "in_progress", "queued"])
    def test_a_response_that_is_not_complete_has_none(self, adapter: Any, form: Any, status: str) -> None:
        made = form(response(CALL, status=status))
        assert adapter.read_calls(made) == []
        assert [call.call_id for call in adapter.read_cut_off(made)] == (["call_1"] if status == "incomplete" else [])

    @pytest.mark.parametrize(
        ("namespace", "name"), [(None, "look_up"), ("", "look_up"), ("look_up", "look_up"), ("shop", "shop.look_up")]
    )
    def test_a_deferred_function_comes_in_a_namespace_of_its_own(
        self, adapter: Any, form: Any, namespace: Any, name: str
    ) -> None:
        assert adapter.read_calls(form(response(dict(CALL, namespace=namespace))))[0].name == name

    def test_calls_that_the_service_answered_itself_are_none_of_ours(self, adapter: Any, form: Any) -> None:
        done = {
            "type": "function_call_output",
            "id": "fco_1",
            "call_id": "call_1",
            "output": "x",
            "status": "completed",
        }
        assert [call.call_id for call in adapter.read_calls(form(response(CALL, done, CALL_2)))] == ["call_2"]

    def test_what_waits_for_an_answer(self, adapter: Any, form: Any) -> None:
        waiting: list[dict[str, Any]] = [
            {"type": "mcp_approval_request", "id": "m1", "name": "x", "arguments": "{}", "server_label": "s"},
            {"type": "custom_tool_call", "call_id": "c1", "name": "x", "input": "free text"},
            {
                "type": "tool_search_call",
                "id": "t1",
                "call_id": "c2",
                "execution": "client",
                "arguments": {},
                "status": "completed",
            },
        ]
        others: list[dict[str, Any]] = [
            {"type": "tool_search_call", "id": "t2", "execution": "server", "arguments": {}, "status": "completed"},
            {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "x"}},
            {"type": "mcp_call", "id": "m2", "name": "x", "arguments": "{}", "server_label": "s"},
            {"type": "mcp_list_tools", "id": "m3", "server_label": "s", "tools": []},
            {"type": "compaction", "id": "cmp", "encrypted_content": "x"},
            REASONING,
            MESSAGE,
            CALL,
        ]
        made = form(response(*others[:4], *waiting, *others[4:]))
        assert [adapter.to_wire(item)["type"] for item in adapter.read_actions(made)] == [i["type"] for i in waiting]

    def test_what_the_service_answered_itself_waits_for_nothing(self, adapter: Any) -> None:
        ran = {"type": "shell_call", "call_id": "c1"}
        made = response(ran, {"type": "shell_call_output", "call_id": "c1"}, {"type": "shell_call", "call_id": "c2"})
        assert [item["call_id"] for item in adapter.read_actions(made)] == ["c2"]

    def test_an_item_of_an_unknown_kind_is_no_reason_to_stop(self, adapter: Any) -> None:
        assert adapter.read_actions(response({"type": "telemetry", "id": "x"})) == []

    def test_the_text_is_the_answer(self, adapter: Any, form: Any) -> None:
        aside = dict(
            MESSAGE,
            id="msg_0",
            phase="commentary",
            content=[{"type": "output_text", "text": "Looking.", "annotations": []}],
        )
        assert adapter.text_of(form(response(MESSAGE))) == "Here it is."
        assert adapter.text_of(form(response(aside, dict(MESSAGE, phase="final_answer")))) == "Here it is."
        assert adapter.text_of(form(response(aside, CALL))) == "Looking."
        assert adapter.text_of(form(response(CALL))) == ""
        refusal = dict(MESSAGE, content=[{"type": "refusal", "refusal": "I cannot do that."}])
        assert adapter.text_of(form(response(refusal))) == "I cannot do that."


class TestWriting:
    def test_one_output_a_result_in_order(self, adapter: Any, api: Any) -> None:
        calls = adapter.read_calls(response(CALL, CALL_2))
        results = [
            api.Result(calls[1], "plain"),
            api.Result(calls[0], error=api.CallError("timeout", "Málaga was too slow.")),
        ]
        assert adapter.write_results(results) == [
            {"type": "function_call_output", "call_id": "call_2", "output": "plain"},
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": '{"error":"Málaga was too slow.","code":"timeout"}',
            },
        ]

    def test_content_goes_as_parts(self, adapter: Any, api: Any) -> None:
        content = api.Content(["The map:", api.Image("https://example.com/a.png")])
        result = api.Result(adapter.read_calls(response(CALL))[0], content.text, content)
        assert adapter.write_results([result])[0]["output"] == [
            {"type": "input_text", "text": "The map:"},
            {"type": "input_image", "image_url": "https://example.com/a.png"},
        ]

    def test_the_caller_is_copied(self, adapter: Any, api: Any, form: Any) -> None:
        caller = {"type": "program", "caller_id": "p1"}
        made = form(response(dict(CALL, caller=caller), CALL_2))
        items = adapter.write_results([api.Result(call, "x") for call in adapter.read_calls(made)], made)
        assert [item.get("caller") for item in items] == [caller, None]


class TestReplay:
    def test_everything_goes_back_but_what_an_input_may_not_have(self, adapter: Any, form: Any) -> None:
        made = form(response(REASONING, dict(MESSAGE, created_by="x"), CALL))
        for item in adapter.replay(made["output"] if isinstance(made, dict) else made.output):
            json.dumps(item)
            assert not {"parsed_arguments", "parsed", "created_by"} & item.keys()
            assert None not in item.values()
        assert [item["id"] for item in adapter.replay(response(REASONING, MESSAGE, CALL)["output"])] == [
            "rs_1",
            "msg_1",
            "fc_1",
        ]

    def test_a_parsed_response_too(self, adapter: Any) -> None:
        content = [{"type": "output_text", "text": "{}", "annotations": [], "parsed": {"a": 1}}]
        replayed = adapter.replay([dict(MESSAGE, content=content), dict(CALL, parsed_arguments={"key": "a"})])
        assert replayed == [dict(MESSAGE, content=[{"type": "output_text", "text": "{}", "annotations": []}]), CALL]

    @pytest.mark.parametrize("name", ["functions.look_up", "$look up", "", "x" * 200])
    def test_a_name_that_no_request_may_hold_is_mended(self, adapter: Any, form: Any, name: str) -> None:
        made = form(response(dict(CALL, name=name)))
        assert [one.name for one in adapter.read_calls(made)] == [name]
        (item,) = adapter.replay(made["output"] if isinstance(made, dict) else made.output)
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", item["name"])

    def test_the_response_is_not_changed(self, adapter: Any) -> None:
        made = response(REASONING, MESSAGE, CALL)
        before = copy.deepcopy(made)
        adapter.replay(made["output"])
        assert made == before


IDS = st.lists(st.one_of(st.none(), st.just(""), st.sampled_from(["call_1", "call_2"])), max_size=5)


@given(IDS, st.booleans())
def test_each_call_has_one_output_in_order_whatever_the_ids(adapter: Any, api: Any, ids: Any, named: bool) -> None:
    """Some services that speak this API leave ids out, or give one twice."""
    output = [dict(CALL, call_id=one, arguments=json.dumps({"key": str(at)})) for at, one in enumerate(ids)]
    made = response(*output, *map(dict, output[:1]))
    if not named:
        del made["id"]
    given = {"turn_id": "resp_1" if named else "turn"}
    calls = adapter.read_calls(made, **({} if named else given))
    repeated = [one for one in ids[:1] if not one]  # without an id nothing says that it is the same call
    assert [json.loads(one.arguments)["key"] for one in calls] == [str(at) for at in range(len(ids))] + ["0"] * len(
        repeated
    )
    items = adapter.replay(made["output"], **given)
    outputs = adapter.write_results([api.Result(one, "x") for one in calls], made)
    assert [item["call_id"] for item in items] == [item["call_id"] for item in outputs]
    assert len({item["call_id"] for item in items}) == len(items) and all(item["call_id"] for item in items)
    assert [item["call_id"] for item in items if item["call_id"] in ids] == list(dict.fromkeys(filter(None, ids)))
