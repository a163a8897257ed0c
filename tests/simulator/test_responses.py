"""The OpenAI Responses API, through the real client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from openai import APIConnectionError, APIStatusError, APITimeoutError

from codegen.simulator import Simulator, SimulatorReport
from tests.simulator.clients import openai_client
from tests.simulator.loops import outputs, replayed
from tests.simulator.scripts import LOOKUP_SCHEMA, call, calls, fault, function, say, turn

Add = Callable[..., str]
Report = Callable[[str], SimulatorReport]
USER = {"role": "user", "content": "hi"}


def run(name: str, arguments: Any) -> Any:
    return arguments


def ask(client: Any, model: str, input: Any = "hi", tools: list[Any] | None = None, **more: Any) -> Any:
    return client.responses.create(model=model, input=input, tools=[function()] if tools is None else tools, **more)


def refused(status: int, text: str = ".") -> Any:
    """The block raises the client's error with this status, and this text in it."""
    return pytest.raises(APIStatusError, match=text, check=lambda error: error.status_code == status)


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


def the_call(response: Any) -> Any:
    (found,) = [item for item in response.output if item.type == "function_call"]
    return found


THINKING = calls(call("a"), call("b"), reasoning="Both are needed.", say="one moment")
ONE = (calls(call()), say("all done"))


class TestHistories:
    def test_items_are_replayed_in_order(self, add: Add, openai: Any, report: Report) -> None:
        name = add(THINKING, say("all done"))
        first = ask(openai, name)
        assert kinds(first) == ["reasoning", "message", "function_call", "function_call"]
        assert (first.status, first.output[1].phase) == ("completed", "commentary")
        last = ask(openai, name, [USER, *replayed(first, run)])
        assert (last.output_text, kinds(last)) == ("all done", ["message"])
        assert report(name).ok

    def test_a_response_is_continued_by_its_id(self, add: Add, openai: Any, report: Report) -> None:
        name = add(THINKING, say("all done"))
        first = ask(openai, name)
        last = ask(openai, name, outputs(first, run), previous_response_id=first.id)
        assert last.output_text == "all done"
        assert last.previous_response_id == first.id
        assert report(name).ok

    def test_a_conversation_keeps_the_items(self, add: Add, openai: Any, report: Report) -> None:
        name = add(turn(*ONE, user="hi"), turn(say("again"), user="more"))
        conversation = openai.conversations.create(metadata={"a": "b"})
        first = ask(openai, name, conversation=conversation.id)
        ask(openai, name, outputs(first, run), conversation={"id": conversation.id})
        last = ask(openai, name, "more", conversation=conversation.id)
        assert last.output_text == "again"
        assert last.conversation is not None and last.conversation.id == conversation.id
        items = list(openai.conversations.items.list(conversation.id, order="asc", limit=2))
        assert [item.type for item in items] == [
            *("message", "function_call", "function_call_output", "message", "message", "message")
        ]
        assert openai.conversations.update(conversation.id, metadata={}).metadata == {}
        assert openai.conversations.retrieve(conversation.id).id == conversation.id
        assert openai.conversations.delete(conversation.id).deleted is True
        with refused(404):
            openai.conversations.retrieve(conversation.id)
        assert report(name).ok

    def test_a_conversation_may_begin_with_items(self, add: Add, openai: Any) -> None:
        name = add(turn(say(), user="hi"))
        conversation = openai.conversations.create(items=[{"role": "developer", "content": "be brief"}])
        openai.conversations.items.create(conversation.id, items=[USER])
        assert ask(openai, name, [], conversation=conversation.id).output_text == "done"

    def test_two_conversations_go_on_from_one_response(self, add: Add, openai: Any) -> None:
        name = add(turn(calls(call(**{"as": "x"})), say("got {{x.key}}")))
        first = ask(openai, name)
        for value in ("one", "two"):
            answer = [
                {"type": "function_call_output", "call_id": the_call(first).call_id, "output": f'{{"key": "{value}"}}'}
            ]
            assert ask(openai, name, answer, previous_response_id=first.id).output_text == f"got {value}"

    def test_plain_text_history_is_enough_between_turns(self, add: Add, openai: Any, report: Report) -> None:
        name = add(turn(say("hello"), user="hi"), turn(say("bye"), user="more"))
        first = ask(openai, name)
        history = [USER, {"role": "assistant", "content": first.output_text}, {"role": "user", "content": "more"}]
        assert ask(openai, name, history).output_text == "bye"

    def test_an_item_reference_stands_for_a_stored_item(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        first = ask(openai, name)
        history = [USER, {"type": "item_reference", "id": the_call(first).id}, *outputs(first, run)]
        assert ask(openai, name, history).output_text == "all done"
        with refused(404, "msg_x"):
            ask(openai, name, [{"id": "msg_x"}])

    def test_stored_responses_are_read_and_deleted(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        first = ask(openai, name)
        assert openai.responses.retrieve(first.id).output == first.output
        assert [item.type for item in openai.responses.input_items.list(first.id)] == ["message"]
        openai.responses.delete(first.id)
        with refused(404):
            openai.responses.retrieve(first.id)
        with refused(400, "Previous response with id"):
            ask(openai, name, outputs(first, run), previous_response_id=first.id)

    def test_what_is_not_stored_cannot_be_continued(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        first = ask(openai, name, store=False)
        with refused(400, "not found"):
            ask(openai, name, outputs(first, run), previous_response_id=first.id)
        assert ask(openai, name, [USER, *replayed(first, run)], store=False).output_text == "all done"

    async def test_async_client(self, add: Add, async_openai: Any, report: Report) -> None:
        name = add(*ONE)
        tools: Any = [function(strict=True)]
        first = await async_openai.responses.create(model=name, input="hi", tools=tools)
        last = await async_openai.responses.create(
            model=name, input=outputs(first, run), tools=tools, previous_response_id=first.id
        )
        assert last.output_text == "all done"
        assert report(name).ok


class TestPairs:
    """A history whose parts do not fit together is refused."""

    def test_every_call_needs_an_output(self, add: Add, openai: Any) -> None:
        name = add(calls(call("a"), call("b")), say())
        first = ask(openai, name)
        items = replayed(first, run)
        with refused(400, f"No tool output found for function call {first.output[1].call_id}"):
            ask(openai, name, [USER, *items[:-1]])
        with refused(400, "No tool output found"):
            ask(openai, name, outputs(first, run)[:1], previous_response_id=first.id)
        with refused(400, "No tool output found"):
            ask(openai, name, "another message", previous_response_id=first.id)

    def test_an_output_needs_its_call(self, add: Add, openai: Any) -> None:
        orphan = {"type": "function_call_output", "call_id": "call_x", "output": ""}
        with refused(400, "No tool call found for function call output with call_id call_x"):
            ask(openai, add(*ONE), [USER, orphan])

    def test_an_output_comes_after_its_call(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        made, output = replayed(ask(openai, name), run)
        with refused(400, "No tool call found"):
            ask(openai, name, [USER, output, made])

    def test_one_output_is_enough(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        made, output = replayed(ask(openai, name), run)
        with refused(400, "Duplicate function call output"):
            ask(openai, name, [USER, made, output, output])
        with refused(400, "Duplicate"):
            ask(openai, name, [USER, made, made, output])

    def test_history_and_its_continuation_do_not_mix(self, add: Add, openai: Any) -> None:
        name = add(*ONE)
        first = ask(openai, name)
        with refused(400, "Duplicate item found with id"):
            ask(openai, name, [USER, *replayed(first, run)], previous_response_id=first.id)
        with refused(400, "Mutually exclusive"):
            ask(openai, name, [], previous_response_id=first.id, conversation="conv_x")

    def test_a_call_needs_its_reasoning(self, add: Add, openai: Any) -> None:
        name = add(calls(call(), reasoning="think"), say())
        reasoning, *rest = replayed(ask(openai, name), run)
        with refused(400, "of type 'function_call' was provided without its required 'reasoning' item"):
            ask(openai, name, [USER, *rest])
        with refused(400, "without its required following item"):
            ask(openai, name, [USER, reasoning])
        with refused(400, "without its required following item"):
            ask(openai, name, [USER, reasoning, USER, *rest])

    def test_reasoning_that_is_not_stored_needs_its_content(self, add: Add, openai: Any) -> None:
        name = add(calls(call(), reasoning="think"), say())
        wanted: Any = {"store": False, "include": ["reasoning.encrypted_content"]}
        first = ask(openai, name, **wanted)
        assert first.output[0].encrypted_content
        items = replayed(first, run)
        changed = [{**items[0], "encrypted_content": "other"}, *items[1:]]
        with refused(400, "could not be verified"):
            ask(openai, name, [USER, *changed], **wanted)
        bare = [{k: v for k, v in items[0].items() if k != "encrypted_content"}, *items[1:]]
        with refused(404, "Items are not persisted"):
            ask(openai, name, [USER, *bare], **wanted)
        assert ask(openai, name, [USER, *items], **wanted).output_text == "done"

    def test_summaries_come_when_they_are_wanted(self, add: Add, openai: Any) -> None:
        name = add(say(reasoning="think"))
        assert ask(openai, name).output[0].summary == []
        shown = ask(openai, name, reasoning={"summary": "auto"}).output[0].summary
        assert [part.text for part in shown] == ["think"]


class TestRequests:
    @pytest.mark.parametrize(
        "item,text",
        [
            (
                {"type": "function_call", "call_id": "c", "name": "x"},
                "Missing required parameter: 'input\\[1\\].arguments'",
            ),
            ({"type": "function_call", "call_id": "c", "name": "x", "arguments": {}}, "expected a string"),
            (
                {"type": "function_call", "call_id": "c", "name": "x", "arguments": "", "parsed_arguments": {}},
                "parsed_arguments",
            ),
            ({"type": "function_call", "call_id": "c", "name": "x", "arguments": "", "created_by": "m"}, "created_by"),
            (
                {"type": "function_call", "call_id": "c", "name": "x", "arguments": "", "status": None},
                "Invalid type for 'input\\[1\\].status'",
            ),
            (
                {"type": "function_call", "call_id": "c", "name": "x", "arguments": "", "id": "call_1"},
                "begins with 'fc'",
            ),
            ({"type": "function_call_output", "call_id": "c", "output": {"a": 1}}, "expected a string or an array"),
            (
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "text", "text": "x"}]},
                "Supported values",
            ),
            ({"type": "function_call_output", "call_id": "x" * 65, "output": ""}, "1 to 64"),
            ({"type": "function_call_output", "output": ""}, "call_id"),
            ({"type": "tool_result", "output": ""}, "Invalid value: 'tool_result'"),
            ({"role": "user"}, "content"),
            ({"role": "user", "content": {"text": "x"}}, "expected a string or an array"),
            ("text", "expected an object"),
            ({"role": "user", "content": [{"type": "output_text", "text": "x"}]}, "Supported values are: 'input_text'"),
            (
                {"role": "assistant", "content": [{"type": "output_text", "text": "x", "parsed": 1}]},
                "content\\[0\\].parsed",
            ),
        ],
    )
    def test_a_wrong_item_is_refused(self, add: Add, openai: Any, item: Any, text: str) -> None:
        with refused(400, text):
            ask(openai, add(*ONE), [USER, item])

    @pytest.mark.parametrize(
        "tool,text",
        [
            ({"type": "function", "function": {"name": "x"}}, "Missing required parameter: 'tools\\[0\\].name'"),
            (function("bad name", strict=False), "does not match pattern"),
            (function("x" * 65, strict=False), "64 characters"),
            (function(strict="yes"), "expected a boolean"),
            (function(parameters={"type": "array"}, strict=False), "Invalid schema for function 'lookup'"),
            (
                function(parameters={**LOOKUP_SCHEMA, "required": []}, strict=True),
                "Invalid schema for function 'lookup'",
            ),
            (function(parameters={"type": "object", "required": "key"}, strict=False), "no JSON Schema: /required"),
            (function(handler="x"), "Unknown parameter: 'tools\\[0\\].handler'"),
            (function(defer_loading=True), "tool_search"),
            ({"type": "functions"}, "Invalid value: 'functions'"),
            ({"name": "x"}, "type"),
            ({"type": "namespace", "name": "n", "tools": []}, "description"),
        ],
    )
    def test_a_wrong_tool_refuses_the_whole_request(self, add: Add, openai: Any, tool: Any, text: str) -> None:
        with refused(400, text):
            ask(openai, add(*ONE), tools=[tool])

    def test_names_are_unique(self, add: Add, openai: Any) -> None:
        with refused(400, "Duplicate tool name"):
            ask(openai, add(*ONE), tools=[function(), function()])

    def test_a_tool_that_does_not_say_becomes_strict_when_it_can(self, add: Add, openai: Any) -> None:
        loose = {"type": "object", "properties": {"key": {"type": "string"}}}
        tools = [function(), function("loose", loose), function("set", strict=False)]
        assert [t.strict for t in ask(openai, add(*ONE), tools=tools).tools] == [True, False, False]

    def test_a_strict_model_writes_null_for_what_is_left_out(self, add: Add, openai: Any) -> None:
        optional = {"type": ["string", "null"]}
        schema = {
            "type": "object",
            "properties": {"key": {"type": "string"}, "note": optional},
            "required": ["key", "note"],
            "additionalProperties": False,
        }
        name = add(*ONE)
        assert json.loads(the_call(ask(openai, name, tools=[function(parameters=schema, strict=True)])).arguments) == {
            "key": "a",
            "note": None,
        }
        loose = ask(openai, name, tools=[function(parameters=schema, strict=False)])
        assert json.loads(the_call(loose).arguments) == {"key": "a"}

    @pytest.mark.parametrize(
        "body,status,text",
        [
            ({"model": "nobody"}, 404, "does not exist"),
            ({"tool": []}, 400, "Unknown parameter: 'tool'"),
            ({"input": None}, 400, "Missing required parameter: 'input'"),
            ({"background": True}, 400, "background"),
            ({"conversation": "conv_x"}, 404, "conv_x"),
            ({"input": []}, 400, "no new user message"),
        ],
    )
    def test_a_wrong_request_is_refused(
        self, add: Add, openai: Any, body: dict[str, Any], status: int, text: str
    ) -> None:
        sent = {"model": add(*ONE), "input": "hi", **body}
        with refused(status, text):
            openai.post("/responses", body=sent, cast_to=object)

    def test_a_key_is_required(self, add: Add, openai: Any) -> None:
        with refused(401):
            openai.with_options(api_key="x").responses.create(
                model=add(*ONE), input="hi", extra_headers={"authorization": ""}
            )

    @pytest.mark.parametrize("output", ["", "text", [{"type": "input_text", "text": "x"}], []])
    def test_every_right_output_is_taken(self, add: Add, openai: Any, output: Any) -> None:
        name = add(*ONE)
        first = ask(openai, name)
        answer = {"type": "function_call_output", "call_id": the_call(first).call_id, "output": output}
        assert ask(openai, name, [answer], previous_response_id=first.id).output_text == "all done"


class TestToolChoice:
    def test_one_call_at_a_time(self, add: Add, openai: Any, report: Report) -> None:
        name = add(THINKING, say("all done"))
        first = ask(openai, name, parallel_tool_calls=False)
        assert kinds(first) == ["reasoning", "message", "function_call"]
        second = ask(openai, name, outputs(first, run), previous_response_id=first.id, parallel_tool_calls=False)
        assert (kinds(second), the_call(second).arguments) == (["function_call"], '{"key":"b"}')
        last = ask(openai, name, outputs(second, run), previous_response_id=second.id, parallel_tool_calls=False)
        assert last.output_text == "all done"
        assert report(name).ok

    @pytest.mark.parametrize(
        "choice",
        [
            "required",
            {"type": "function", "name": "lookup"},
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "lookup"}]},
        ],
    )
    def test_a_forced_call_is_made_again_and_again(self, add: Add, openai: Any, report: Report, choice: Any) -> None:
        name = add(*ONE)
        response = ask(openai, name, tool_choice=choice)
        assert not report(name).failures
        for _ in range(3):
            response = ask(openai, name, outputs(response, run), previous_response_id=response.id, tool_choice=choice)
            assert the_call(response).arguments == '{"key":"a"}'
        last = ask(openai, name, outputs(response, run), previous_response_id=response.id)
        assert last.output_text == "all done"
        assert {f.message.partition(" forced")[2] for f in report(name).failures} == {
            " a call that the model had no use for; reset it after the first step"
        }

    def test_another_function_is_forced(self, add: Add, openai: Any) -> None:
        tools = [function(), function("other")]
        response = ask(openai, add(*ONE), tools=tools, tool_choice={"type": "function", "name": "other"})
        assert (the_call(response).name, the_call(response).arguments) == ("other", "{}")

    @pytest.mark.parametrize(
        "choice", ["none", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "x"}]}]
    )
    def test_a_call_that_is_forbidden_is_told(self, add: Add, openai: Any, report: Report, choice: Any) -> None:
        name = add(*ONE)
        with refused(400, "which tool_choice forbids"):
            ask(openai, name, tool_choice=choice)
        assert len(report(name).failures) == 1

    @pytest.mark.parametrize("choice", ["always", {"type": "function", "name": "x"}])
    def test_a_wrong_choice_is_refused(self, add: Add, openai: Any, choice: Any) -> None:
        with refused(400, "(?i)tool.choice"):
            ask(openai, add(*ONE), tool_choice=choice)


class TestNamespaces:
    def test_a_deferred_function_is_found_first(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(), calls(), say("all done"))
        tools = [function(defer_loading=True, strict=True), {"type": "tool_search"}]
        first = ask(openai, name, tools=tools)
        assert kinds(first) == ["tool_search_call", "tool_search_output", "function_call"]
        assert the_call(first).namespace == "lookup"
        second = ask(openai, name, [USER, *replayed(first, run)], tools=tools)
        assert kinds(second) == ["function_call"]
        history = [USER, *replayed(first, run), *replayed(second, run)]
        assert ask(openai, name, history, tools=tools).output_text == "all done"
        assert report(name).ok

    def test_a_function_in_a_namespace(self, add: Add, openai: Any) -> None:
        space = {"type": "namespace", "name": "crm", "description": "d", "tools": [function(strict=True)]}
        assert the_call(ask(openai, add(*ONE), tools=[space])).namespace == "crm"


class TestStreams:
    def test_the_events_of_a_response_in_order(self, add: Add, openai: Any) -> None:
        name = add(calls(call("a long key"), reasoning="think", say="wait"), say("all done"))
        events = list(ask(openai, name, stream=True, reasoning={"summary": "auto"}))
        assert [event.type.removeprefix("response.") for event in events] == [
            *("created", "in_progress"),
            *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
            *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
            *("output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
            *("content_part.done", "output_item.done"),
            *("output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"),
            *("function_call_arguments.done", "output_item.done"),
            "completed",
        ]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        added = [e.item for e in events if e.type == "response.output_item.added"]
        assert (added[2].arguments, added[2].name) == ("", "lookup")
        done = next(e for e in events if e.type == "response.function_call_arguments.done")
        assert (done.arguments, done.item_id) == ('{"key":"a long key"}', added[2].id)
        assert [e.item for e in events if e.type == "response.output_item.done"] == events[-1].response.output

    def test_the_clients_own_helper_plays_a_scenario(self, add: Add, openai: Any, report: Report) -> None:
        name = add(THINKING, say("all done"))
        with openai.responses.stream(model=name, input="hi", tools=[function(strict=True)]) as stream:
            first = stream.get_final_response()
        with openai.responses.stream(
            model=name, input=outputs(first, run), previous_response_id=first.id, tools=[function()]
        ) as stream:
            assert stream.get_final_response().output_text == "all done"
        assert report(name).ok

    async def test_async_stream(self, add: Add, async_openai: Any) -> None:
        tools: Any = [function(strict=True)]
        async with async_openai.responses.stream(model=add(*ONE), input="hi", tools=tools) as stream:
            assert kinds(await stream.get_final_response()) == ["function_call"]


class TestFaults:
    def test_http_errors_have_no_effect_and_pass(self, add: Add, openai: Any, report: Report) -> None:
        limited = fault("http", status=429, times=2, retry_after=1)
        name = add(calls(call(), faults=[limited]), say(faults=[fault("http", status=500)]))
        for _ in range(2):
            with refused(429) as caught:
                ask(openai, name)
            assert caught.value.response.headers["retry-after"] == "1"
        first = ask(openai, name)
        with refused(500):
            ask(openai, name, outputs(first, run), previous_response_id=first.id)
        ask(openai, name, outputs(first, run), previous_response_id=first.id)
        assert report(name).ok and not report(name).refused

    def test_faults_come_back_with_the_next_play(self, add: Add, openai: Any) -> None:
        name = add(say(faults=[fault("http", status=503)]))
        for _ in range(2):
            with refused(503):
                ask(openai, name)
            assert ask(openai, name).output_text == "done"

    @pytest.mark.parametrize("place", [{"after": 3}, {"before": "call"}, {"before": "response.completed"}])
    def test_a_dropped_stream_leaves_nothing_behind(
        self, add: Add, openai: Any, report: Report, place: dict[str, Any]
    ) -> None:
        name = add(calls(call(), faults=[fault("drop", **place)]), say("all done"))
        conversation = openai.conversations.create()
        seen = []
        with pytest.raises(APIConnectionError):
            for event in ask(openai, name, stream=True, conversation=conversation.id):
                seen.append(event.type)
        assert seen[:2] == ["response.created", "response.in_progress"] and "response.completed" not in seen
        first = ask(openai, name, conversation=conversation.id)
        assert ask(openai, name, outputs(first, run), conversation=conversation.id).output_text == "all done"
        assert report(name).ok

    def test_a_stream_that_ends_too_soon_has_no_last_event(self, add: Add, openai: Any) -> None:
        name = add(calls(call(), faults=[fault("drop", before="end", clean=True)]), say())
        types = [event.type for event in ask(openai, name, stream=True)]
        assert types[-1] == "response.output_item.done"

    async def test_the_async_client_sees_the_drop_too(self, add: Add, async_openai: Any) -> None:
        name = add(calls(call(), faults=[fault("drop", after=1)]), say())
        tools: Any = [function(strict=True)]
        stream = await async_openai.responses.create(model=name, input="hi", tools=tools, stream=True)
        with pytest.raises(APIConnectionError):
            async for _ in stream:
                pass

    def test_an_answer_that_is_no_stream_is_lost_whole(self, add: Add, simulator: Simulator, report: Report) -> None:
        name = add(calls(call(), faults=[fault("drop", times=2)]), say("all done"))
        with openai_client(simulator) as client, pytest.raises(APIConnectionError):
            ask(client, name)
        with openai_client(simulator, retries=1) as client:  # the second is retried by the client itself
            first = ask(client, name)
            ask(client, name, outputs(first, run), previous_response_id=first.id)
        assert report(name).ok

    def test_a_slow_answer_that_nobody_waited_for_had_no_effect(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(), faults=[fault("delay", seconds=600)]), say("all done"))
        with pytest.raises(APITimeoutError):
            ask(openai, name, timeout=0.2)
        first = ask(openai, name)
        ask(openai, name, outputs(first, run), previous_response_id=first.id)
        assert [run.finished for run in report(name).runs] == [True]

    def test_duplicate_events_have_the_same_number(self, add: Add, openai: Any) -> None:
        name = add(calls(call(), faults=[fault("duplicate")]), say())
        numbers = [event.sequence_number for event in ask(openai, name, stream=True)]
        assert numbers == [n for n in range(len(numbers) // 2) for _ in range(2)]

    @pytest.mark.parametrize("stream", [False, True])
    def test_an_answer_that_was_cut_off(self, add: Add, openai: Any, report: Report, stream: bool) -> None:
        name = add(calls(call("a"), call("a long key"), end="incomplete"))
        response = ask(openai, name, stream=stream)
        if stream:
            events = list(response)
            done = [e for e in events if e.type == "response.function_call_arguments.done"]
            assert (events[-1].type, len(done)) == ("response.incomplete", 1)
            response = events[-1].response
        assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
        assert [item.status for item in response.output] == ["completed", "incomplete"]
        with pytest.raises(ValueError):
            json.loads(response.output[1].arguments)
        assert report(name).ok

    def test_a_text_that_was_cut_off(self, add: Add, openai: Any) -> None:
        response = ask(openai, add(say("half of it", end="incomplete")))
        assert (response.status, response.output_text) == ("incomplete", "half ")

    def test_a_cut_off_call_may_be_answered_all_the_same(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(result={"error": "cut off"}), end="incomplete"), say("again then"))
        first = ask(openai, name)
        answer = {"type": "function_call_output", "call_id": the_call(first).call_id, "output": '{"error": "cut off"}'}
        assert ask(openai, name, [answer], previous_response_id=first.id).output_text == "again then"
        assert report(name).ok

    @pytest.mark.parametrize("end", ["failed", "cancelled"])
    def test_a_response_that_fails(self, add: Add, openai: Any, report: Report, end: str) -> None:
        name = add({"end": end, "error": {"code": "server_error", "message": "It broke."}})
        response = ask(openai, name)
        assert (response.status, response.error.message, response.output) == ("failed", "It broke.", [])
        assert [e.type for e in ask(openai, name, stream=True)][-1] == "response.failed"
        assert report(name).ok

    def test_raw_arguments_and_invented_names(self, add: Add, openai: Any) -> None:
        name = add(calls(call(raw='{"key": '), call(raw=""), call("x", name="invented", invented=True)), say())
        first = ask(openai, name)
        assert [item.arguments for item in first.output] == ['{"key": ', "", '{"key":"x"}']
        assert first.output[2].name == "invented"

    def test_approvals_do_not_exist_here(self, add: Add, openai: Any, report: Report) -> None:
        name = add({"approvals": [{"kind": "mcp"}]}, say("all done"))
        assert ask(openai, name).output_text == "all done"
        assert report(name).ok
