"""The generateContent adapter: function calls of a response, the content that answers them, streams put together."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="session")
def adapter(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("gemini")("adapters.gemini")


@pytest.fixture(scope="session")
def api(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("gemini")("")


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "raw JSON": lambda made: made,
    "object": types.GenerateContentResponse.model_validate,
    "dict of the SDK": lambda made: types.GenerateContentResponse.model_validate(made).model_dump(exclude_none=True),
}


@pytest.fixture(params=list(FORMS.values()), ids=list(FORMS))
def form(request: pytest.FixtureRequest) -> Any:
    """A response in each of the spellings that it may come in."""
    return request.param


def call(name: str = "look_up", args: Any = None, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {} if args is None else args, **fields}}


def response(*parts: Any, end: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": copy.deepcopy(list(parts))}}
    if end is not None:
        candidate["finishReason"] = end
    return {"candidates": [candidate], "responseId": "r1"} | fields


def result(api: Any, call: Any, output: str = "", **fields: Any) -> Any:
    return api.Result(call, output, **fields)


class TestReading:
    def test_calls_in_order(self, adapter: Any, form: Any) -> None:
        context = object()
        made = form(response({"text": "x"}, call(args={"key": "a"}, id="fc_1"), call("ping", id="fc_2")))
        calls = adapter.read_calls(made, session_id="s", context=context)
        assert [(call.name, call.arguments, call.call_id) for call in calls] == [
            ("look_up", {"key": "a"}, "fc_1"),
            ("ping", {}, "fc_2"),
        ]
        assert {(call.turn_id, call.session_id, call.target) for call in calls} == {("r1", "s", "gemini")}
        assert all(call.context is context for call in calls)

    def test_calls_without_ids_have_one_that_comes_again(self, adapter: Any, form: Any) -> None:
        made = form(response(call(args={"key": "a"}), call(args={"key": "a"}), call(id="fc_9")))
        first, again = adapter.read_calls(made), adapter.read_calls(copy.deepcopy(made))
        assert [one.call_id for one in first] == ["#0", "#1", "fc_9"]
        assert first == again

    def test_a_response_without_an_id_has_one_that_follows_from_its_calls(self, adapter: Any, form: Any) -> None:
        def turn_of(*parts: Any) -> str:
            made = response(*parts)
            del made["responseId"]
            return str(adapter.read_calls(form(made))[0].turn_id)

        assert turn_of(call(args={"key": "a"})) == turn_of(call(args={"key": "a"}))
        assert turn_of(call(args={"key": "a"})) != turn_of(call(args={"key": "b"}))
        assert adapter.read_calls(form(response(call())), turn_id="t")[0].turn_id == "t"

    @pytest.mark.parametrize("end", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "TOO_MANY_TOOL_CALLS"])
    def test_a_response_that_is_not_complete_has_none_that_may_run(self, adapter: Any, form: Any, end: str) -> None:
        made = form(response(call(id="fc_1"), end=end))
        assert adapter.status(made) == end
        assert adapter.read_calls(made) == []
        assert [one.call_id for one in adapter.read_cut_off(made)] == ["fc_1"]

    @pytest.mark.parametrize("end", ["STOP", "FINISH_REASON_UNSPECIFIED", None])
    def test_a_complete_one_has_none_that_was_cut_off(self, adapter: Any, form: Any, end: str | None) -> None:
        made = form(response(call(), end=end))
        assert adapter.read_cut_off(made) == []
        assert len(adapter.read_calls(made)) == 1

    @pytest.mark.parametrize("made", [{}, {"candidates": []}, {"candidates": [{}]}, {"candidates": [{"content": {}}]}])
    def test_nothing_is_found_in_nothing(self, adapter: Any, form: Any, made: Any) -> None:
        made = form(made)
        assert (adapter.read_calls(made), adapter.text_of(made), adapter.replay(made)) == ([], "", [])
        assert adapter.status(made) == ""

    def test_the_text_is_without_thoughts(self, adapter: Any, form: Any) -> None:
        made = form(response({"text": "Hm.", "thought": True}, {"text": "It is "}, call(), {"text": "warm."}))
        assert adapter.text_of(made) == "It is warm."

    def test_a_blocked_prompt(self, adapter: Any, form: Any) -> None:
        made = form({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."}})
        failure = adapter.failure(made)
        assert (failure.status, failure.code, failure.raw) == ("blocked", "SAFETY", made)
        assert "No." in str(failure)
        assert adapter.failure(form(response())) is None


class TestWriting:
    @pytest.mark.parametrize(
        ("output", "sent"),
        [
            ('{"a":1}', {"a": 1}),
            ('{"a": {"error": 1}}', {"a": {"error": 1}}),
            ('{"error":"none","rows":[]}', {"output": {"error": "none", "rows": []}}),
            ('{"output":1}', {"output": {"output": 1}}),
            ("[1,2]", {"output": [1, 2]}),
            ("x", {"output": "x"}),
            ("", {"output": ""}),
            ("5", {"output": 5}),
            ("1.10", {"output": "1.10"}),
            ("007", {"output": "007"}),
            ('"x"', {"output": '"x"'}),
            ("null", {"output": None}),
            ("NaN", {"output": "NaN"}),
            ('{"a":1,"a":2}', {"output": '{"a":1,"a":2}'}),
            ("123456789012345678901234567890", {"output": 123456789012345678901234567890}),
            ('{"ciudad":"Málaga","nota":"日本 🙂"}', {"ciudad": "Málaga", "nota": "日本 🙂"}),
        ],
    )
    def test_an_output_is_an_object(self, adapter: Any, api: Any, output: str, sent: Any) -> None:
        (made,) = adapter.read_calls(response(call(id="fc_1")))
        written = {"functionResponse": {"id": "fc_1", "name": "look_up", "response": sent}}
        assert adapter.write_results([result(api, made, output)]) == [{"role": "user", "parts": [written]}]

    def test_a_failure_has_its_own_key(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(response(call()))
        failed = result(api, made, error=api.CallError("timeout", "It took too long."))
        assert adapter.write_results([failed]) == [
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "look_up", "response": {"error": "It took too long."}}}],
            }
        ]

    def test_images_go_beside_the_output(self, adapter: Any, api: Any) -> None:
        (made,) = adapter.read_calls(response(call()))
        images = [api.Image("data:image/jpeg;base64,AAAA"), api.Image("https://example.com/a.webp?size=1")]
        content = api.Content(["{}", *images])
        ((one,),) = (part["parts"] for part in adapter.write_results([result(api, made, "{}", content=content)]))
        assert one["functionResponse"]["response"] == {"output": "{}"}
        assert one["functionResponse"]["parts"] == [
            {"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}},
            {"fileData": {"fileUri": "https://example.com/a.webp?size=1", "mimeType": "image/webp"}},
        ]
        types.Content.model_validate({"role": "user", "parts": [one]})

    def test_no_results_need_no_content(self, adapter: Any) -> None:
        assert adapter.write_results([]) == []

    def test_what_is_replayed_is_what_came(self, adapter: Any, form: Any) -> None:
        parts = [
            {"text": "Hm.", "thought": True, "thoughtSignature": "c2lnbmF0dXJl"},
            {"functionCall": {"name": "look_up", "args": {"key": 5.0}}, "thoughtSignature": "_-8="},
            {"executableCode": {"code": "1", "language": "PYTHON"}},
        ]
        (content,) = adapter.replay(form(response(*parts)))
        kept = types.Content.model_validate(content)
        assert kept == types.Content.model_validate({"role": "model", "parts": parts})

    @pytest.mark.parametrize(("end", "kept"), [("MAX_TOKENS", True), ("SAFETY", False)])
    def test_what_remains_of_a_cut_off_response(self, adapter: Any, form: Any, end: str, kept: bool) -> None:
        made = form(response({"text": "half"}, call(), end=end))
        assert adapter.remains(made) == ([{"role": "model", "parts": [{"text": "half"}]}] if kept else [])
        assert adapter.remains(form(response(call(), end=end))) == []


NAMES = st.sampled_from(["look_up", "ping", "nope"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
IDS = st.none() | st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=5)


@given(st.lists(st.tuples(NAMES, ARGUMENTS, IDS), min_size=1, max_size=6), st.lists(st.text(max_size=8)))
def test_each_call_has_one_response_in_order(adapter: Any, api: Any, made: Any, outputs: Any) -> None:
    parts = [call(name, args, **({"id": own} if own else {})) for name, args, own in made]
    calls = adapter.read_calls(response(*parts))
    results = [result(api, one, output) for one, output in zip(calls, [*outputs, *["x"] * 6], strict=False)]
    (content,) = adapter.write_results(results)
    answers = [part["functionResponse"] for part in content["parts"]]
    # One that comes again with its id and arguments is the same call.
    kept = [one for at, one in enumerate(made) if one[2] is None or one not in made[:at]]
    assert [(one["name"], one.get("id")) for one in answers] == [(name, own) for name, _, own in kept]
    assert all(isinstance(one["response"], dict) for one in answers)
    assert len({one.call_id for one in calls}) == len(calls)
    assert [one.call_id for one in calls if not one.call_id.startswith("#")] == list(
        dict.fromkeys(own for *_, own in made if own)
    )
    (replayed,) = adapter.replay(response(*parts))
    assert replayed["parts"] == [call(name, args, **({"id": own} if own else {})) for name, args, own in kept]
    types.Content.model_validate(content)


TEXT = st.builds(
    lambda words, thought: {"text": words} | thought, st.text(max_size=9), st.sampled_from([{}, {"thought": True}])
)
SIGNED = st.builds(lambda part: {**part, "thoughtSignature": "AAAA"}, TEXT | st.just(call()))


@given(st.lists(TEXT | SIGNED | st.builds(call, NAMES, ARGUMENTS), max_size=6), st.data())
def test_a_stream_is_the_response_in_pieces(adapter: Any, parts: Any, data: Any) -> None:
    """Wherever text is cut: the same texts, thoughts, calls and signatures, in the same order."""
    gathering = adapter.Gathering()
    for part in parts:
        pieces = [part]
        if part.keys() <= {"text", "thought"} and part["text"]:
            at = data.draw(st.integers(0, len(part["text"])))
            pieces = [{**part, "text": part["text"][:at]}, {**part, "text": part["text"][at:]}]
        for piece in pieces:
            assert not gathering.add(types.GenerateContentResponse.model_validate(response(piece, end=None)))
            assert gathering.response() is None
    gathering.add(types.GenerateContentResponse.model_validate(response(end="STOP")))
    gathered = gathering.response()
    whole = types.GenerateContentResponse.model_validate(response(*parts))
    assert isinstance(gathered, types.GenerateContentResponse)
    assert (adapter.text_of(gathered), adapter.status(gathered)) == (adapter.text_of(whole), "STOP")
    assert adapter.read_calls(gathered) == adapter.read_calls(whole)
    kept = [part.get("thoughtSignature") for one in adapter.replay(gathered) for part in one["parts"]]
    assert [one for one in kept if one] == ["AAAA" for part in parts if "thoughtSignature" in part]
    assert json.loads(json.dumps(adapter.replay(gathered))) == adapter.replay(gathered)


def test_a_stream_of_plain_chunks_gives_a_plain_response(adapter: Any) -> None:
    gathering = adapter.Gathering()
    for chunk in (
        response({"text": "a"}, end=None),
        response({"text": "b"}),
        {"usageMetadata": {"totalTokenCount": 3}},
    ):
        gathering.add(chunk)
    assert gathering.response() == response({"text": "ab"}) | {"usageMetadata": {"totalTokenCount": 3}}
