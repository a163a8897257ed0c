"""The adapter of OCI Generative AI Agents: every spelling of a chat result, and what answers it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oci.generative_ai_agent_runtime import models

from codegen.targets.oci_parameters import encode_parameters
from templates.runtime import Call, CallError, Content, Image, Issue, Result
from templates.runtime.adapters import oci_agents as adapter

ARGUMENTS = '{"bucket_name": "photos"}'

WIRE: dict[str, Any] = {
    "message": None,
    "requiredActions": [
        {
            "actionId": "a1",
            "requiredActionType": "FUNCTION_CALLING_REQUIRED_ACTION",
            "functionCall": {"name": "make_bucket", "arguments": ARGUMENTS},
        },
        {
            "actionId": "h1",
            "requiredActionType": "HUMAN_APPROVAL_REQUIRED_ACTION",
            "message": "May I run the query?",
            "options": ["APPROVE", "DENY"],
        },
        {
            "actionId": "a2",
            "requiredActionType": "FUNCTION_CALLING_REQUIRED_ACTION",
            "functionCall": {"name": "list_buckets", "arguments": {"limit": "5"}},
        },
    ],
}

SNAKE: dict[str, Any] = {
    "message": None,
    "required_actions": [
        {
            "action_id": "a1",
            "required_action_type": "FUNCTION_CALLING_REQUIRED_ACTION",
            "function_call": {"name": "make_bucket", "arguments": ARGUMENTS},
        },
        {
            "action_id": "h1",
            "required_action_type": "HUMAN_APPROVAL_REQUIRED_ACTION",
            "message": "May I run the query?",
            "options": ["APPROVE", "DENY"],
        },
        {
            "action_id": "a2",
            "required_action_type": "FUNCTION_CALLING_REQUIRED_ACTION",
            "function_call": {"name": "list_buckets", "arguments": {"limit": "5"}},
        },
    ],
}

OBJECTS = models.ChatResult(
    required_actions=[
        models.FunctionCallingRequiredAction(
            action_id="a1", function_call=models.FunctionCall(name="make_bucket", arguments=ARGUMENTS)
        ),
        models.HumanApprovalRequiredAction(action_id="h1", message="May I run the query?", options=["APPROVE", "DENY"]),
        models.FunctionCallingRequiredAction(
            action_id="a2", function_call=models.FunctionCall(name="list_buckets", arguments={"limit": "5"})
        ),
    ]
)


@pytest.mark.parametrize("chat_result", [WIRE, SNAKE, OBJECTS], ids=["wire", "snake", "objects"])
class TestSpellings:
    def test_calls(self, chat_result: Any) -> None:
        calls = adapter.read_calls(chat_result, session_id="s1", context={"user": 7})
        assert [(call.name, call.arguments, call.call_id) for call in calls] == [
            ("make_bucket", ARGUMENTS, "a1"),
            ("list_buckets", {"limit": "5"}, "a2"),
        ]
        assert {(call.session_id, call.target) for call in calls} == {("s1", "oci_agents")}
        assert all(call.context == {"user": 7} for call in calls)
        assert len({call.turn_id for call in calls}) == 1

    def test_other_actions(self, chat_result: Any) -> None:
        (action,) = adapter.other_actions(chat_result)
        assert (action.action_id, action.kind) == ("h1", adapter.APPROVAL)
        assert (action.message, action.options) == ("May I run the query?", ("APPROVE", "DENY"))

    def test_the_turn_is_the_same_in_every_spelling(self, chat_result: Any) -> None:
        assert adapter.turn_of(chat_result) == adapter.turn_of(WIRE)


@pytest.mark.parametrize(
    "finished",
    [
        {"message": {"role": "AGENT", "content": {"text": "Done."}}, "requiredActions": None},
        {"message": {"role": "AGENT", "content": {"text": "Done."}}, "requiredActions": []},
        {"message": {"role": "AGENT", "content": {"text": "Done."}}},
        models.ChatResult(
            message=models.Message(role="AGENT", content=models.MessageContent(text="Done.")), required_actions=[]
        ),
    ],
)
def test_no_actions_and_an_empty_list_both_mean_finished(finished: Any) -> None:
    assert adapter.required_actions(finished) == []
    assert adapter.read_calls(finished) == []
    assert adapter.text_of(finished) == "Done."


def test_a_pending_answer_has_no_text() -> None:
    assert adapter.text_of(WIRE) == ""


def test_the_turn_is_known_by_the_set_of_its_actions() -> None:
    backwards = {"requiredActions": list(reversed(WIRE["requiredActions"]))}
    fewer = {"requiredActions": WIRE["requiredActions"][:2]}
    assert adapter.turn_of(backwards) == adapter.turn_of(WIRE)
    assert adapter.turn_of(fewer) != adapter.turn_of(WIRE)
    again: dict[str, Any] = json.loads(json.dumps(WIRE))
    again["requiredActions"][2]["functionCall"]["arguments"]["limit"] = "6"
    assert adapter.turn_of(again) != adapter.turn_of(WIRE), "an id that is used again is another turn"
    assert adapter.read_calls(WIRE, turn_id="t9")[0].turn_id == "t9"


def test_types_that_are_not_known_keep_their_id() -> None:
    sent = {"actionId": "x1", "requiredActionType": "PAYMENT_REQUIRED_ACTION", "amount": 3}
    (raw,) = adapter.other_actions({"requiredActions": [sent]})
    assert (raw.action_id, raw.kind, raw.raw) == ("x1", "PAYMENT_REQUIRED_ACTION", sent)
    unknown = models.RequiredAction(action_id="x1", required_action_type="PAYMENT_REQUIRED_ACTION")
    (read,) = adapter.other_actions(models.ChatResult(required_actions=[unknown]))
    assert (read.action_id, read.kind) == ("x1", "UNKNOWN_ENUM_VALUE")


def test_a_function_call_without_a_type_is_one() -> None:
    (call,) = adapter.read_calls({"requiredActions": [{"actionId": "a1", "functionCall": {"name": "ping"}}]})
    assert (call.name, call.arguments) == ("ping", None)


def test_results_are_always_text() -> None:
    call = Call("make_bucket", call_id="a1")
    issue = Issue("/name", "type", "expected a string, got 3")
    results = [
        Result(call, '{"made":true}'),
        Result(call, "hecho ✓"),
        Result(call, "The map:", Content(["The map:", Image("https://example.com/map.png")])),
        Result(call, error=CallError("invalid_arguments", 'say "name"', (issue,))),
    ]
    entries = adapter.write_results(results)
    assert {entry["performedActionType"] for entry in entries} == {"FUNCTION_CALLING_PERFORMED_ACTION"}
    outputs = [entry["functionCallOutput"] for entry in entries]
    assert outputs[:3] == ['{"made":true}', "hecho ✓", "The map:"]
    assert json.loads(outputs[3]) == {"error": 'say "name"', "code": "invalid_arguments"}


def test_performed_actions_become_objects_of_the_sdk() -> None:
    entries = adapter.write_results([Result(Call("ping", call_id="a1"), "pong")])
    (action,) = adapter.other_actions(WIRE)
    function, approval = adapter.performed_models([*entries, adapter.write_decision(action, "DENY")])
    assert isinstance(function, models.FunctionCallingPerformedAction)
    assert (function.action_id, function.function_call_output) == ("a1", "pong")
    assert isinstance(approval, models.HumanApprovalPerformedAction)
    assert (approval.action_id, approval.chosen_option) == ("h1", "DENY")


@pytest.mark.parametrize(
    "pieces",
    [["Hello, world."], ["Hello,", " world."], ["Hello,", "Hello, world."], ["", "Hello, world.", ""]],
    ids=["at once", "in pieces", "growing", "with empty ones"],
)
def test_a_streamed_message_is_read_in_every_manner(pieces: list[str]) -> None:
    chat_result: dict[str, Any] = {}
    for piece in pieces:
        adapter.add_fragment(chat_result, {"message": {"role": "AGENT", "content": {"text": piece}}})
    assert adapter.text_of(chat_result) == "Hello, world."
    assert chat_result["message"]["role"] == "AGENT"


def test_fragments_add_up() -> None:
    chat_result: dict[str, Any] = {}
    for fragment in (
        {"traces": [{"key": "planning"}], "message": None},
        {"traces": [{"key": "running"}]},
        {"requiredActions": WIRE["requiredActions"][:1]},
        {"requiredActions": WIRE["requiredActions"]},
        {"traces": None, "guardrailResult": "{}"},
    ):
        adapter.add_fragment(chat_result, fragment)
    assert [trace["key"] for trace in chat_result["traces"]] == ["planning", "running"]
    assert [action["actionId"] for action in chat_result["requiredActions"]] == ["a1", "h1", "a2"]
    assert chat_result["guardrailResult"] == "{}"
    assert chat_result["message"] is None


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        ({"type": '"object"', "required": '["a"]'}, {"type": "object", "required": ["a"]}),
        ({"type": "object", "required": '["a"]'}, {"type": "object", "required": ["a"]}),
        ({"additionalProperties": "false"}, {"additionalProperties": False}),
        ({"additionalProperties": "False"}, {"additionalProperties": False}),
        ({"additionalProperties": '"false"'}, {"additionalProperties": "false"}),
        ({"default": "None"}, {"default": None}),
        ({"default": "null"}, {"default": None}),
        ({"title": "2024"}, {"title": "2024"}),
        ({"title": '"2024"'}, {"title": "2024"}),
        ({"title": "True"}, {"title": "True"}),
        ({"type": '["object","null"]'}, {"type": ["object", "null"]}),
        ({"minProperties": "1", "description": "una frase"}, {"minProperties": 1, "description": "una frase"}),
        ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "string"}}}),
        (None, {}),
    ],
)
def test_parameters_are_decoded_keyword_by_keyword(parameters: Any, schema: Any) -> None:
    assert adapter.decode_parameters(parameters) == schema


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.text(), JSON)},
    optional={
        "required": st.lists(st.text()),
        "additionalProperties": st.booleans() | st.dictionaries(st.text(), JSON),
        "minProperties": st.integers(),
        "description": st.text().filter(lambda text: not _is_json(text)),
    },
)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False


@given(SCHEMAS, st.sampled_from(["json", "adk"]))
def test_decoding_inverts_what_the_compiler_writes(schema: dict[str, Any], encoding: str) -> None:
    assert adapter.decode_parameters(encode_parameters(schema, encoding)) == schema


def test_arguments_that_nest_without_end_are_left_to_the_dispatcher() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"x": deep}
    pending = {"requiredActions": [{"actionId": "a1", "functionCall": {"name": "ping", "arguments": deep}}]}
    (call,) = adapter.read_calls(pending)
    assert call.arguments is deep
