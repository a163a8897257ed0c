"""The Converse adapter: tool uses of a response, the message that answers them, and streams put together again."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="session")
def adapter(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("bedrock")("adapters.bedrock")


@pytest.fixture(scope="session")
def api(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("bedrock")("")


@pytest.fixture(scope="session")
def fits() -> Callable[[Any], bool]:
    """Whether botocore's service model takes these messages."""
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape

    def check(messages: Any) -> bool:
        report = ParamValidator().validate({"modelId": "m", "messages": messages}, shape)
        assert not report.has_errors(), report.generate_report()
        return True

    return check


def use(id: str = "t1", input: Any = None, name: str = "look_up", **fields: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": name, "input": {} if input is None else input, **fields}}


def response(*content: Any, reason: str = "tool_use") -> dict[str, Any]:
    message = {"role": "assistant", "content": copy.deepcopy(list(content))}
    return {"output": {"message": message}, "stopReason": reason, "usage": {"totalTokens": 2}}


REASONING = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}}
REDACTED = {"reasoningContent": {"redactedContent": b"\x00\x01"}}


class TestReading:
    def test_calls_in_order(self, adapter: Any) -> None:
        context = object()
        made = response(REASONING, {"text": "x"}, use("t1", {"key": "a"}), use("t2", name="ping"))
        calls = adapter.read_calls(made, session_id="s", turn_id="t", context=context)
        assert [(call.name, call.arguments, call.call_id) for call in calls] == [
            ("look_up", {"key": "a"}, "t1"),
            ("ping", {}, "t2"),
        ]
        assert {(call.turn_id, call.session_id, call.target) for call in calls} == {("t", "s", "bedrock")}
        assert all(call.context is context for call in calls)

    def test_the_turn_follows_from_the_calls(self, adapter: Any) -> None:
        def turn_of(*content: Any) -> Any:
            return adapter.read_calls(response(*content))[0].turn_id

        assert turn_of(use("t1")) == turn_of(use("t1")) != turn_of(use("t2"))
        assert turn_of(use("t1", {"a": 1})) != turn_of(use("t1", {"a": 2}))

    @pytest.mark.parametrize(
        ("reason", "runs"),
        [
            ("tool_use", True),
            ("end_turn", True),
            ("stop_sequence", False),
            ("max_tokens", False),
            ("malformed_tool_use", False),
            ("malformed_model_output", False),
            ("guardrail_intervened", False),
            ("model_context_window_exceeded", False),
        ],
    )
    def test_only_a_complete_response_has_calls_that_may_run(self, adapter: Any, reason: str, runs: bool) -> None:
        made = response(use(), reason=reason)
        assert [len(adapter.read_calls(made)), len(adapter.read_cut_off(made))] == [runs, not runs]
        assert adapter.is_cut_off(made) is not runs

    def test_a_stop_sequence_ends_text_properly(self, adapter: Any) -> None:
        assert not adapter.is_cut_off(response({"text": "done"}, reason="stop_sequence"))

    def test_text_and_citations(self, adapter: Any) -> None:
        cited = {"citationsContent": {"content": [{"text": "It is "}], "citations": [{"title": "a"}]}}
        assert adapter.text_of(response(REASONING, cited, {"text": "warm."})) == "It is warm."

    @pytest.mark.parametrize("made", [{}, {"output": {}}, {"output": {"message": {}}}, {"stopReason": "end_turn"}])
    def test_nothing_is_found_in_nothing(self, adapter: Any, made: Any) -> None:
        assert (adapter.read_calls(made), adapter.text_of(made), adapter.replay(made)) == ([], "", [])


class TestWriting:
    @pytest.mark.parametrize(
        ("output", "content"),
        [
            ('{"a":1}', {"json": {"a": 1}}),
            ("[1,2]", {"text": "[1,2]"}),
            ("x", {"text": "x"}),
            ("5", {"text": "5"}),
            ("null", {"text": "null"}),
            ("", {"json": {"output": ""}}),
            (" \n", {"json": {"output": " \n"}}),
            ('{"a":NaN}', {"text": '{"a":NaN}'}),
            ('{"ciudad":"Málaga","nota":"日本 🙂"}', {"json": {"ciudad": "Málaga", "nota": "日本 🙂"}}),
        ],
    )
    def test_an_object_is_json_and_all_else_text(
        self, adapter: Any, api: Any, fits: Any, output: str, content: Any
    ) -> None:
        (call,) = adapter.read_calls(response(use()))
        (message,) = adapter.write_results([api.Result(call, output)])
        expected = {"toolUseId": "t1", "content": [content], "status": "success"}
        assert message == {"role": "user", "content": [{"toolResult": expected}]}
        assert fits([message])

    def test_a_failure_is_said_twice(self, adapter: Any, api: Any) -> None:
        (call,) = adapter.read_calls(response(use()))
        (message,) = adapter.write_results([api.Result(call, error=api.CallError("timeout", "It took too long."))])
        assert message["content"][0]["toolResult"]["status"] == "error"
        assert message["content"][0]["toolResult"]["content"] == [{"text": "Error: It took too long."}]

    @pytest.mark.parametrize(
        ("url", "sent"),
        [
            ("data:image/png;base64,AAAA", {"image": {"format": "png", "source": {"bytes": bytes(3)}}}),
            ("data:image/jpg;base64,AAAA", {"image": {"format": "jpeg", "source": {"bytes": bytes(3)}}}),
            ("data:image/GIF,abc", {"image": {"format": "gif", "source": {"bytes": b"abc"}}}),
            (
                "s3://bucket/map.WEBP",
                {"image": {"format": "webp", "source": {"s3Location": {"uri": "s3://bucket/map.WEBP"}}}},
            ),
            ("https://example.com/map.png", {"text": "https://example.com/map.png"}),
            (
                "data:image/svg+xml;base64,AAAA",
                {"text": "(an image of the type image/svg+xml, which cannot be sent)"},
            ),
            ("data:image/png;base64,!", {"text": "(an image of the type image/png, which cannot be sent)"}),
        ],
    )
    def test_images(self, adapter: Any, api: Any, fits: Any, url: str, sent: Any) -> None:
        (call,) = adapter.read_calls(response(use()))
        content = api.Content(["A map:", api.Image(url)])
        (message,) = adapter.write_results([api.Result(call, "A map:", content)])
        assert message["content"][0]["toolResult"]["content"] == [{"text": "A map:"}, sent]
        assert fits([message])

    def test_no_results_need_no_message(self, adapter: Any) -> None:
        assert adapter.write_results([]) == []

    def test_what_is_replayed_is_what_came(self, adapter: Any, fits: Any) -> None:
        content = [REASONING, REDACTED, {"text": "One moment."}, use("t1", {"key": "a"})]
        assert adapter.replay(response(*content)) == [{"role": "assistant", "content": content}]
        assert fits(adapter.replay(response(*content)))

    def test_what_the_service_would_refuse_is_mended(self, adapter: Any) -> None:
        (message,) = adapter.replay(response({"text": " \n"}, use("t1", '{"city": "Mad'), {"text": "x"}))
        assert message["content"] == [use("t1", {"INVALID_JSON": '{"city": "Mad'}), {"text": "x"}]
        assert adapter.replay(response({"text": ""})) == []

    @pytest.mark.parametrize("name", ["functions.look_up", "$look up", "", "x" * 200])
    def test_a_name_that_no_request_may_hold_is_mended(self, adapter: Any, fits: Any, name: str) -> None:
        made = response(use("t1", name=name))
        assert [one.name for one in adapter.read_calls(made)] == [name]
        (replayed,) = adapter.replay(made)
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", replayed["content"][0]["toolUse"]["name"])
        assert fits([replayed])

    def test_what_remains_of_a_cut_off_response(self, adapter: Any) -> None:
        half = {"role": "assistant", "content": [{"text": "half"}]}
        assert adapter.remains(response({"text": "half"}, use(), reason="max_tokens")) == [half]
        assert adapter.remains(response({"text": "half"}, reason="content_filtered")) == []
        assert adapter.remains(response(use(), reason="max_tokens")) == []


INPUTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=3)
TEXTS = st.text(min_size=1, max_size=9).filter(str.strip)


IDS = st.sampled_from(["t1", "t2", "t3", "", None])


@given(st.lists(st.tuples(IDS, INPUTS), min_size=1, max_size=6), st.lists(st.text(max_size=8), min_size=6, max_size=6))
def test_each_use_has_one_result_in_order(adapter: Any, api: Any, fits: Any, made: Any, outputs: Any) -> None:
    answer = response(*(use(own, given) for own, given in made))
    calls = adapter.read_calls(answer)
    assert calls == adapter.read_calls(copy.deepcopy(answer))
    results = [api.Result(call, output) for call, output in zip(calls, outputs, strict=False)]
    (message,) = adapter.write_results(results)
    (replayed,) = adapter.replay(answer)
    uses = [block["toolUse"] for block in replayed["content"]]
    ids = [one["toolUseId"] for one in uses]
    assert [block["toolResult"]["toolUseId"] for block in message["content"]] == ids
    assert len(set(ids)) == len(ids) and fits([replayed])
    # One that comes again with its id and input is the same; what is left keeps its order.
    kept = [pair for at, pair in enumerate(made) if not pair[0] or pair not in made[:at]]
    assert [one["input"] for one in uses] == [given for _, given in kept]
    assert [one for one in ids if one in dict(made)] == list(dict.fromkeys(own for own, _ in made if own))
    for block in message["content"]:
        (content,) = block["toolResult"]["content"]
        assert isinstance(content.get("json", {}), dict) and content.get("text", "x").strip()
    assert fits([message])


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.lists(TEXTS, min_size=1, max_size=3)), max_size=8))
def test_messages_alternate(adapter: Any, made: Any) -> None:
    messages = [{"role": role, "content": [{"text": one} for one in texts]} for role, texts in made]
    before = copy.deepcopy(messages)
    joined = adapter.alternating(messages)
    roles = [message["role"] for message in joined]
    assert all(left != right for left, right in itertools.pairwise(roles))
    assert [block for message in joined for block in message["content"]] == [
        block for message in messages for block in message["content"]
    ]
    assert messages == before


def events(content: Any, reason: str, cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    """The events in which a response is streamed, with texts in the pieces that `cut` makes."""
    yield {"messageStart": {"role": "assistant"}}
    for index, block in enumerate(content):
        at = {"contentBlockIndex": index}
        deltas: list[dict[str, Any]] = []
        if "toolUse" in block:
            start = {"toolUse": {key: block["toolUse"][key] for key in ("toolUseId", "name")}}
            yield {"contentBlockStart": {**at, "start": start}}
            deltas = [{"toolUse": {"input": piece}} for piece in cut(json.dumps(block["toolUse"]["input"]))]
        elif "text" in block:
            deltas = [{"text": piece} for piece in cut(block["text"])]
        elif "reasoningText" in block["reasoningContent"]:
            said = block["reasoningContent"]["reasoningText"]
            deltas = [{"reasoningContent": {"text": piece}} for piece in cut(said["text"])]
            deltas.append({"reasoningContent": {"signature": said["signature"]}})
        else:
            deltas = [{"reasoningContent": block["reasoningContent"]}]
        for delta in deltas:
            yield {"contentBlockDelta": {**at, "delta": delta}}
        yield {"contentBlockStop": at}
    yield {"messageStop": {"stopReason": reason}}


BLOCKS = (
    st.sampled_from([REASONING, REDACTED])
    | st.builds(lambda words: {"text": words}, TEXTS)
    | st.builds(use, st.just("t1"), INPUTS)
)


@given(st.lists(BLOCKS, max_size=5), st.sampled_from(["tool_use", "end_turn", "max_tokens"]), st.integers(1, 4))
def test_a_stream_is_the_response_in_pieces(adapter: Any, content: Any, reason: str, size: int) -> None:
    gathering = adapter.Gathering()
    cut = lambda text: [text[at : at + size] for at in range(0, len(text), size)]  # noqa: E731 - one line says it
    for event in events(copy.deepcopy(content), reason, cut):
        assert gathering.response() is None
        gathering.add(event)
    whole = response(*content, reason=reason)
    gathering.add({"metadata": {"usage": whole["usage"]}})
    assert gathering.response() == whole


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [([], {}), ([""], {}), (['{"ci', 'ty": "Li', 'ma"}'], {"city": "Lima"}), (['{"city": "Mad'], '{"city": "Mad')],
)
def test_arguments_that_are_streamed(adapter: Any, pieces: list[str], arguments: Any) -> None:
    gathering = adapter.Gathering()
    start = {"toolUse": {"toolUseId": "t1", "name": "look_up"}}
    gathering.add({"contentBlockStart": {"contentBlockIndex": 0, "start": start}})
    for piece in pieces:
        gathering.add({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}})
    gathering.add({"contentBlockStop": {"contentBlockIndex": 0}})
    gathering.add({"messageStop": {"stopReason": "tool_use"}})
    (call,) = adapter.read_calls(gathering.response())
    assert call.arguments == arguments


def test_citations_that_are_streamed_stand_in_one_block(adapter: Any) -> None:
    gathering = adapter.Gathering()
    for delta in ({"text": "It is "}, {"citation": {"title": "a"}}, {"text": "warm."}, {"citation": {"title": "b"}}):
        gathering.add({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}})
    gathering.add({"contentBlockStop": {"contentBlockIndex": 0}})
    gathering.add({"messageStop": {"stopReason": "end_turn"}})
    made = gathering.response()
    assert adapter.text_of(made) == "It is warm."
    cited = {"content": [{"text": "It is warm."}], "citations": [{"title": "a"}, {"title": "b"}]}
    assert made["output"]["message"]["content"] == [{"citationsContent": cited}]
