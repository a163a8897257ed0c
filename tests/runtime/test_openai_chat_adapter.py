"""The Chat Completions adapter: calls of a completion, messages that answer them, and streams put together again."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from tests.loops.vendors import chat_chunks, chat_complaints


@pytest.fixture(scope="session")
def adapter(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("openai_chat")("adapters.openai_chat")


@pytest.fixture(scope="session")
def api(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("openai_chat")("")


@pytest.fixture(params=["dict", "object"])
def form(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    """A completion as a plain dict and as the SDK's object."""
    return (lambda made: made) if request.param == "dict" else (lambda made: ChatCompletion.construct(**made))


def call(id: str | None, arguments: Any = "{}", name: str = "look_up") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(*calls: Any, end: str = "tool_calls", **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None} | fields
    if calls:
        message["tool_calls"] = list(calls)
    choices = [{"index": 0, "message": message, "finish_reason": end}]
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}


class TestReading:
    def test_calls_in_order_with_their_ids(self, adapter: Any, form: Any) -> None:
        context = object()
        made = form(completion(call("call_1", '{"key": "a"}'), call("call_2", '{"key": "b"}')))
        calls = adapter.read_calls(made, session_id="s", context=context)
        assert [(one.name, one.arguments, one.call_id) for one in calls] == [
            ("look_up", '{"key": "a"}', "call_1"),
            ("look_up", '{"key": "b"}', "call_2"),
        ]
        assert {(one.turn_id, one.session_id, one.target) for one in calls} == {("chatcmpl-1", "s", "openai_chat")}
        assert calls[0].context is context

    @pytest.mark.parametrize("end", ["stop", "tool_calls", "function_call", "something_new"])
    def test_calls_run_whatever_the_end_is_called(self, adapter: Any, form: Any, end: str) -> None:
        """Some services end an answer with calls as `stop`."""
        assert len(adapter.read_calls(form(completion(call("call_1"), end=end)))) == 1

    @pytest.mark.parametrize("end", ["length", "content_filter"])
    def test_a_completion_that_was_cut_off_has_none(self, adapter: Any, form: Any, end: str) -> None:
        made = form(completion(call("call_1"), end=end))
        assert adapter.read_calls(made) == []
        assert [one.call_id for one in adapter.read_cut_off(made)] == ["call_1"]
        assert adapter.read_cut_off(form(completion(call("call_1")))) == []

    def test_calls_of_custom_tools_wait_for_an_answer(self, adapter: Any, form: Any) -> None:
        custom = {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
        made = form(completion(call("call_1"), custom))
        assert [one.call_id for one in adapter.read_calls(made)] == ["call_1"]
        assert [adapter.to_wire(one) for one in adapter.read_actions(made)] == [custom]

    @pytest.mark.parametrize("nothing", [{}, {"choices": []}, {"choices": None}, {"error": {"message": "no"}}])
    def test_an_answer_that_is_none(self, adapter: Any, nothing: Any) -> None:
        assert adapter.failure(nothing) is not None
        assert (adapter.read_calls(nothing), adapter.read_actions(nothing)) == ([], [])
        assert (adapter.replay(nothing), adapter.text_of(nothing), adapter.status(nothing)) == ([], "", "")

    def test_the_text_is_the_answer(self, adapter: Any, form: Any) -> None:
        assert adapter.text_of(form(completion(content="Here."))) == "Here."
        assert adapter.text_of(form(completion(refusal="I cannot."))) == "I cannot."
        assert adapter.text_of(form(completion(call("call_1")))) == ""
        parts = [{"type": "text", "text": "a"}, {"type": "other"}, {"type": "text", "text": "b"}]
        assert adapter.text_of(completion(content=parts)) == "ab"


class TestWriting:
    def test_an_error_is_an_object(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(completion(call("call_1")))
        error = api.Result(made, error=api.CallError("timeout", "Málaga was too slow."))
        assert adapter.write_results([error]) == [
            {"role": "tool", "tool_call_id": "call_1", "content": '{"error":"Málaga was too slow.","code":"timeout"}'}
        ]

    def test_images_stay_behind(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(completion(call("call_1")))
        content = api.Content(["The map:", api.Image("https://example.com/a.png")])
        assert adapter.write_results([api.Result(made, content.text, content)])[0]["content"] == "The map:"


class TestReplay:
    def test_what_a_service_adds_stays_and_what_inputs_may_not_have_goes(self, adapter: Any, form: Any) -> None:
        made = completion(
            call("call_1") | {"function": {"name": "look_up", "arguments": "{}", "parsed_arguments": {}}},
            refusal=None,
            annotations=[],
            function_call=None,
            parsed=None,
            reasoning_content="Hm.",
            audio={"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "x"},
        )
        assert adapter.replay(form(made)) == [
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hm.",
                "audio": {"id": "audio_1"},
                "tool_calls": [call("call_1")],
            }
        ]

    @pytest.mark.parametrize("arguments", [None, "", "  ", {}])
    def test_arguments_are_never_empty(self, adapter: Any, arguments: Any) -> None:
        (replayed,) = adapter.replay(completion(call("call_1", arguments)))
        assert replayed["tool_calls"][0]["function"]["arguments"] == "{}"

    @pytest.mark.parametrize("name", ["functions.look_up", "$look up", "", "búscar", "x" * 200])
    def test_a_name_that_no_request_may_hold_is_mended(self, adapter: Any, name: str) -> None:
        made = completion(call("call_1", "{}", name))
        assert [one.name for one in adapter.read_calls(made)] == [name]
        (replayed,) = adapter.replay(made)
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", replayed["tool_calls"][0]["function"]["name"])

    def test_the_completion_is_not_changed(self, adapter: Any) -> None:
        made = completion(call(None), call("call_1"), audio={"id": "a", "data": "x"})
        before = copy.deepcopy(made)
        adapter.replay(made)
        assert made == before


IDS = st.lists(st.one_of(st.none(), st.just(""), st.sampled_from(["call_1", "call_2"])), max_size=5)


@given(IDS, st.booleans())
def test_each_call_has_one_answer_in_order_whatever_the_ids(adapter: Any, api: Any, ids: Any, named: bool) -> None:
    made = completion(*[call(one, json.dumps({"key": str(at)})) for at, one in enumerate(ids)])
    if not named:
        del made["id"]
    given = {} if named else {"turn_id": "turn"}
    calls = adapter.read_calls(made, **given)
    assert [json.loads(one.arguments)["key"] for one in calls] == [str(at) for at in range(len(ids))]
    assert calls == adapter.read_calls(copy.deepcopy(made), **given)
    answers = adapter.write_results([api.Result(one, str(at)) for at, one in enumerate(calls)])
    assert [one["content"] for one in answers] == [str(at) for at in range(len(ids))]
    messages = [{"role": "user", "content": "hi"}, *adapter.replay(made, **given), *answers]
    assert chat_complaints({"messages": messages}) == []
    assert [one.call_id for one in calls if one.call_id in ids] == list(dict.fromkeys(filter(None, ids)))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
CALLS = st.lists(st.tuples(st.text("ab_", min_size=1, max_size=9), TEXTS), max_size=4)


@given(CALLS, TEXTS, TEXTS, TEXTS, st.integers(1, 9), st.sampled_from(["stop", "tool_calls", "length"]))
def test_a_stream_put_together_is_the_completion(
    adapter: Any, calls: Any, content: str, refusal: str, reasoning: str, size: int, end: str
) -> None:
    texts = {"content": content, "refusal": refusal, "reasoning_content": reasoning}
    made = completion(
        *[call(f"call_{at}", arguments, name) for at, (name, arguments) in enumerate(calls)],
        end=end,
        **{key: text for key, text in texts.items() if text},
    )
    made["usage"] = {"total_tokens": 3}
    gathering = adapter.Gathering()
    chunks = list(chat_chunks(made, size))
    for chunk in chunks[:-2]:
        assert gathering.add(chunk) is False
        assert gathering.response() is None
    for chunk in chunks[-2:]:
        gathering.add(chunk)
    assert gathering.response() == made


class TestGathering:
    """Streams of services that keep the letter less well."""

    def gather(self, adapter: Any, *deltas: dict[str, Any]) -> Any:
        gathering = adapter.Gathering()
        for delta in deltas:
            gathering.add({"id": "x", "choices": [{"index": 0, "delta": delta}]})
        gathering.add({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return gathering.response()["choices"][0]["message"]

    def part(self, index: int | None, id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        made = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"tool_calls": [made]}

    @pytest.mark.parametrize("index", [0, None], ids=["one index", "no index"])
    def test_another_id_begins_another_call(self, adapter: Any, index: int | None) -> None:
        message = self.gather(adapter, *[self.part(index, f"call_{at}", "look_up", '{"a":1}') for at in range(3)])
        assert message["tool_calls"] == [call(f"call_{at}", '{"a":1}') for at in range(3)]

    @pytest.mark.parametrize("again", [("call_1", "look_up"), ("", ""), (None, None), ("call_1", None)])
    @pytest.mark.parametrize("index", [0, None], ids=["index", "no index"])
    def test_the_same_id_or_none_goes_on_with_the_call(self, adapter: Any, again: Any, index: int | None) -> None:
        begin, more = self.part(index, "call_1", "look_up", '{"a"'), self.part(index, *again, ":1}")
        assert self.gather(adapter, begin, more)["tool_calls"] == [call("call_1", '{"a":1}')]

    def test_pieces_of_parallel_calls_may_come_mixed(self, adapter: Any) -> None:
        message = self.gather(
            adapter,
            self.part(0, "call_1", "look_up", '{"a"'),
            self.part(1, "call_2", "look_up", '{"b"'),
            self.part(0, None, None, ":1}"),
            self.part(1, None, None, ":2}"),
        )
        assert message["tool_calls"] == [call("call_1", '{"a":1}'), call("call_2", '{"b":2}')]

    def test_other_choices_are_left_alone(self, adapter: Any) -> None:
        gathering = adapter.Gathering()
        for index in (1, 0):
            choice = {"index": index, "delta": {"content": f"of {index}"}, "finish_reason": "stop"}
            gathering.add({"id": "x", "choices": [choice]})
        assert gathering.response()["choices"][0]["message"]["content"] == "of 0"

    def test_lists_of_a_delta_are_joined_by_index(self, adapter: Any) -> None:
        message = self.gather(
            adapter,
            {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "Let "}]},
            {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "me see"}]},
            {"reasoning_details": [{"index": 0, "signature": "abc"}, {"index": 1, "type": "reasoning.summary"}]},
        )
        assert message["reasoning_details"] == [
            {"index": 0, "type": "reasoning.text", "text": "Let me see", "signature": "abc"},
            {"index": 1, "type": "reasoning.summary"},
        ]
