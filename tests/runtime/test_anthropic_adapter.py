"""The Messages adapter: tool uses of a message, the message that answers them, and streams put together again."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import Message
from hypothesis import given
from hypothesis import strategies as st

from tests.loops.vendors import message_complaints, message_events


@pytest.fixture(scope="session")
def adapter(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("anthropic")("adapters.anthropic")


@pytest.fixture(scope="session")
def api(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("anthropic")("")


@pytest.fixture(params=["dict", "object"])
def form(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    """A message as a plain dict and as the SDK's object."""
    return (lambda made: made) if request.param == "dict" else (lambda made: Message.construct(**made))


def use(id: str, input: Any = None, name: str = "look_up", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input} | fields


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}


def message(*content: Any, end: str = "tool_use", **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(copy.deepcopy(content)),
        "stop_reason": end,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 5},
    } | fields


class TestReading:
    def test_uses_in_order_with_their_ids(self, adapter: Any, form: Any) -> None:
        context = object()
        made = form(message(THINKING, text("Now."), use("toolu_1", {"key": "a"}), SEARCH, use("toolu_2")))
        calls = adapter.read_calls(made, session_id="s", context=context)
        assert [(one.name, one.arguments, one.call_id) for one in calls] == [
            ("look_up", {"key": "a"}, "toolu_1"),
            ("look_up", {}, "toolu_2"),
        ]
        assert {(one.turn_id, one.session_id, one.target) for one in calls} == {("msg_1", "s", "anthropic")}
        assert calls[0].context is context

    @pytest.mark.parametrize("end", ["max_tokens", "model_context_window_exceeded", "refusal"])
    def test_a_message_that_was_cut_off_has_none(self, adapter: Any, form: Any, end: str) -> None:
        made = form(message(use("toolu_1"), use("toolu_2", name="bash"), end=end))
        assert (adapter.read_calls(made), adapter.read_actions(made, others=["bash"])) == ([], [])
        assert [one.call_id for one in adapter.read_cut_off(made, others=["bash"])] == ["toolu_1"]
        assert adapter.read_cut_off(form(message(use("toolu_1")))) == []

    def test_uses_of_tools_that_are_not_ours(self, adapter: Any, form: Any) -> None:
        click = use("toolu_3", name="click", toolset_name="computer")
        made = form(message(use("toolu_1"), use("toolu_2", name="bash"), click))
        assert [one.call_id for one in adapter.read_calls(made, others={"bash"})] == ["toolu_1"]
        assert [one.call_id for one in adapter.read_calls(made)] == ["toolu_1", "toolu_2"]
        actions = adapter.read_actions(made, others={"bash"})
        assert [adapter.get(one, "id") for one in actions] == ["toolu_2", "toolu_3"]

    @pytest.mark.parametrize("end", ["pause_turn", "compaction", "end_turn", "tool_use"])
    def test_a_pause_is_no_end(self, adapter: Any, form: Any, end: str) -> None:
        assert adapter.goes_on(form(message(SEARCH, end=end))) == (end in ("pause_turn", "compaction"))

    def test_the_text_is_the_answer(self, adapter: Any, form: Any) -> None:
        assert adapter.text_of(form(message(THINKING, text("It is "), SEARCH, text("warm.")))) == "It is warm."

    def test_an_answer_that_is_none(self, adapter: Any) -> None:
        failure = adapter.failure({"type": "error", "error": {"type": "api_error", "message": "Broken."}})
        assert (failure.code, str(failure)) == ("api_error", "the turn ended as failed: Broken.")
        assert adapter.failure(message()) is None


class TestWriting:
    def test_an_error_says_that_it_is_one(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(message(use("toolu_1")))
        error = api.Result(made, error=api.CallError("timeout", "Málaga was too slow."))
        assert adapter.write_results([error]) == [
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": "Málaga was too slow.",
                        "is_error": True,
                    }
                ],
            }
        ]

    def test_no_results_are_no_message(self, adapter: Any) -> None:
        assert adapter.write_results([]) == []

    def test_results_come_before_anything_else(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(message(use("toolu_1")))
        other = {"type": "tool_result", "tool_use_id": "toolu_2", "content": "x"}
        (sent,) = adapter.write_results([api.Result(made, "y")], [text("And this."), other])
        assert [block.get("tool_use_id") for block in sent["content"]] == ["toolu_1", "toolu_2", None]

    def test_content_goes_as_blocks(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(message(use("toolu_1")))
        parts = ["The map:", "", api.Image("https://example.com/a.png"), api.Image.from_bytes(b"\x00", "image/png")]
        content = api.Content(parts)
        (sent,) = adapter.write_results([api.Result(made, content.text, content)])
        assert sent["content"][0]["content"] == [
            text("The map:"),
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        ]
        empty = api.Content([""])
        (sent,) = adapter.write_results([api.Result(made, empty.text, empty)])
        assert sent["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1"}]


class TestReplay:
    def test_everything_goes_back_unchanged(self, adapter: Any, form: Any) -> None:
        content = [THINKING, REDACTED, text("Now."), SEARCH, use("toolu_1", {"key": "a"})]
        assert adapter.replay(form(message(*content))) == [{"role": "assistant", "content": content}]

    def test_blank_texts_do_not(self, adapter: Any, form: Any) -> None:
        made = message(text(""), use("toolu_1"), text(" \n"))
        assert adapter.replay(form(made)) == [{"role": "assistant", "content": [use("toolu_1")]}]
        assert adapter.replay(form(message(text("")))) == []
        parsed = text("{}") | {"parsed_output": {}}
        assert adapter.replay(message(parsed)) == [{"role": "assistant", "content": [text("{}")]}]

    @pytest.mark.parametrize(
        ("input", "sent"),
        [('{"key": "a"}', {"key": "a"}), (None, {}), ("[1", {"INVALID_JSON": "[1"}), ([1], {"INVALID_JSON": [1]})],
    )
    def test_an_input_is_always_an_object(self, adapter: Any, input: Any, sent: Any) -> None:
        """Some gateways in front of the API pass on what another API gave."""
        block = use("toolu_1") | {"input": input}
        assert adapter.replay(message(block))[0]["content"] == [use("toolu_1", sent)]
        assert adapter.read_calls(message(block))[0].arguments == input

    @pytest.mark.parametrize(
        ("end", "kept"), [("max_tokens", True), ("model_context_window_exceeded", True), ("refusal", False)]
    )
    def test_of_what_was_cut_off_the_text_remains(self, adapter: Any, form: Any, end: str, kept: bool) -> None:
        made = form(message(THINKING, text("half"), use("toolu_1"), end=end))
        assert adapter.remains(made) == ([{"role": "assistant", "content": [text("half")]}] if kept else [])
        assert adapter.remains(form(message(use("toolu_1"), end=end))) == []

    @pytest.mark.parametrize("name", ["functions.look_up", "$look up", "", "x" * 200])
    def test_a_name_that_no_request_may_hold_is_mended(self, adapter: Any, name: str) -> None:
        made = message(use("toolu_1") | {"name": name})
        assert [one.name for one in adapter.read_calls(made)] == [name]
        (replayed,) = adapter.replay(made)
        assert re.fullmatch("[A-Za-z0-9_-]{1,128}", replayed["content"][0]["name"])

    def test_the_message_is_not_changed(self, adapter: Any) -> None:
        made = message(THINKING, text(""), use(""), use("toolu_1"), use("toolu_1"))
        before = copy.deepcopy(made)
        adapter.replay(made)
        assert made == before


IDS = st.lists(st.sampled_from(["", "toolu_1", "toolu_2"]), max_size=5)


@given(IDS, st.booleans())
def test_each_use_has_one_result_in_order_whatever_the_ids(adapter: Any, api: Any, ids: Any, named: bool) -> None:
    made = message(text("Now."), *[use(one, {"key": at}) for at, one in enumerate(ids)])
    if not named:
        del made["id"]
    given = {} if named else {"turn_id": "turn"}
    calls = adapter.read_calls(made, **given)
    assert [one.arguments["key"] for one in calls] == list(range(len(ids)))
    assert calls == adapter.read_calls(copy.deepcopy(made), **given)
    answers = adapter.write_results([api.Result(one, str(at)) for at, one in enumerate(calls)])
    assert [one["content"] for answer in answers for one in answer["content"]] == [str(at) for at in range(len(ids))]
    messages = [{"role": "user", "content": "hi"}, *adapter.replay(made, **given), *answers]
    assert message_complaints({"messages": messages, "max_tokens": 1}) == []


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
BLOCKS = st.one_of(
    WORDS.map(text),
    st.tuples(WORDS, WORDS).map(lambda pair: {"type": "thinking", "thinking": pair[0], "signature": pair[1]}),
    WORDS.map(lambda data: {"type": "redacted_thinking", "data": data}),
    st.dictionaries(WORDS, VALUES, max_size=3).map(lambda input: use("toolu_1", input)),
    st.lists(st.just({"type": "char_location", "cited_text": "x"}), min_size=1, max_size=2).map(
        lambda citations: text("cited") | {"citations": citations}
    ),
)


@given(st.lists(BLOCKS, max_size=5), st.integers(1, 9), st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
def test_a_stream_put_together_is_the_message(adapter: Any, blocks: Any, size: int, end: str) -> None:
    made = message(*blocks, end=end)
    gathering = adapter.Gathering()
    *events, last_but_one, last = message_events(made, size)
    for event in events:
        assert gathering.add(event) is False
        assert gathering.response() is None
    assert (gathering.add(last_but_one), gathering.add(last)) == (False, True)
    assert gathering.response() == made


class TestGathering:
    @pytest.mark.parametrize("given", ['{"key": "a', "[1]", '"text"', '{"a": 1, "a": 2}', '{"a": NaN}'])
    def test_an_input_that_is_no_object_stays_text_for_the_call(self, adapter: Any, given: str) -> None:
        gathering = adapter.Gathering()
        for event in message_events(message(use("toolu_1", given))):
            gathering.add(event)
        made = gathering.response()
        assert [one.arguments for one in adapter.read_calls(made)] == [given]
        (replayed,) = adapter.replay(made)
        assert replayed["content"] == [use("toolu_1", {"INVALID_JSON": given})]
        json.dumps(replayed)

    def test_an_input_that_comes_whole(self, adapter: Any) -> None:
        gathering = adapter.Gathering()
        for event in message_events(message(use("toolu_1", {"key": "a"}))):
            if event["type"] == "content_block_start":
                event["content_block"]["input"] = {"key": "a"}
            if event["type"] != "content_block_delta":
                gathering.add(event)
        assert gathering.response()["content"] == [use("toolu_1", {"key": "a"})]

    def test_an_error_that_comes_as_an_event(self, adapter: Any, api: Any) -> None:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Try later."}}
        with pytest.raises(api.TurnFailed, match="Try later") as failed:
            adapter.Gathering().add(error)
        assert failed.value.code == "overloaded_error"
