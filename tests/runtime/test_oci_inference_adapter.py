"""The adapter of OCI inference: calls of a chat result and what answers them, in all formats of the API."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oci.circuit_breaker import NoCircuitBreakerStrategy
from oci.generative_ai_inference import GenerativeAiInferenceClient, models
from oci.retry import NoneRetryStrategy

from codegen.simulator import Simulator
from examples.unsigned_oci import CONFIG, NoSigner
from tests.conftest import BuildPackage

OTHER = {"name": "other", "turns": [{"model": [{"say": "hello"}]}]}


@pytest.fixture(scope="session")
def adapter(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("oci_inference")("adapters.oci_inference")


@pytest.fixture(scope="session")
def api(runtime_for: Callable[[str], Any]) -> Any:
    return runtime_for("oci_inference")("")


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator([OTHER]) as simulator:
        yield simulator


def client_of(url: str) -> Any:
    return GenerativeAiInferenceClient(
        CONFIG,
        service_endpoint=url,
        signer=NoSigner(),
        retry_strategy=NoneRetryStrategy(),
        circuit_breaker_strategy=NoCircuitBreakerStrategy(),
        timeout=(10, 30),
    )


# ---- chat results


def chat_result(response: dict[str, Any]) -> dict[str, Any]:
    return {"modelId": "m", "modelVersion": "1", "chatResponse": response}


def generic(*calls: tuple[str, Any, str | None], text: str = "", end: str = "tool_calls") -> dict[str, Any]:
    made = [
        {"type": "FUNCTION", "name": name, "arguments": given, **({"id": own} if own else {})}
        for name, given, own in calls
    ]
    content = [{"type": "TEXT", "text": text}] if text else None
    message = {"role": "ASSISTANT", "content": content, **({"toolCalls": made} if made else {})}
    choice = {"index": 0, "message": message, "finishReason": end}
    return chat_result({"apiFormat": "GENERIC", "timeCreated": "2026-01-01T00:00:00.000Z", "choices": [choice]})


def cohere(*calls: tuple[str, Any], text: str = "", end: str = "COMPLETE") -> dict[str, Any]:
    made = [{"name": name, "parameters": given} for name, given in calls]
    return chat_result({"apiFormat": "COHERE", "text": text, "finishReason": end, "toolCalls": made or None})


def cohere_v2(*calls: tuple[str, Any, str], text: str = "", end: str = "TOOL_CALL") -> dict[str, Any]:
    made = [
        {"id": own, "type": "FUNCTION", "function": {"name": name, "arguments": given}} for name, given, own in calls
    ]
    content = [{"type": "TEXT", "text": text}] if text else None
    message = {"role": "ASSISTANT", "content": content, "toolPlan": "First this.", "toolCalls": made}
    return chat_result({"apiFormat": "COHEREV2", "id": "r1", "message": message, "finishReason": end})


def as_object(made: dict[str, Any]) -> Any:
    """A chat result as the SDK reads it."""
    return reader().deserialize_response_data(json.dumps(made).encode(), "ChatResult")


@cache
def reader() -> Any:
    return client_of("http://127.0.0.1:1").base_client


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "raw JSON": lambda made: made,
    "object": as_object,
    "chat response alone": lambda made: made["chatResponse"],
    "dict of the SDK": lambda made: json.loads(str(as_object(made))),
}


@pytest.fixture(params=list(FORMS.values()), ids=list(FORMS))
def form(request: pytest.FixtureRequest) -> Any:
    """A chat result in each of the spellings that it may come in."""
    return request.param


class TestReading:
    @pytest.mark.parametrize(
        ("made", "given"),
        [
            (generic(("look_up", '{"key":"a"}', "c1"), ("ping", "", "c2")), '{"key":"a"}'),
            (cohere_v2(("look_up", '{"key":"a"}', "c1"), ("ping", "", "c2")), '{"key":"a"}'),
        ],
        ids=["generic", "cohere v2"],
    )
    def test_calls_with_ids(self, adapter: Any, form: Any, made: Any, given: Any) -> None:
        context = object()
        calls = adapter.read_calls(form(made), session_id="s", context=context)
        assert [(call.name, call.arguments, call.call_id) for call in calls] == [
            ("look_up", given, "c1"),
            ("ping", "", "c2"),
        ]
        assert {(call.session_id, call.target) for call in calls} == {("s", "oci_inference")}
        assert all(call.context is context for call in calls)
        assert len({call.turn_id for call in calls}) == 1 and calls[0].turn_id

    def test_calls_of_cohere_have_ids_that_come_again(self, adapter: Any, form: Any) -> None:
        made = cohere(("look_up", {"key": "a"}), ("look_up", {"key": "a"}), ("ping", {}))
        calls, again = adapter.read_calls(form(made)), adapter.read_calls(copy.deepcopy(form(made)))
        assert [(call.name, call.arguments) for call in calls] == [
            ("look_up", {"key": "a"}),
            ("look_up", {"key": "a"}),
            ("ping", {}),
        ]
        assert len({call.call_id for call in calls}) == 3
        assert [call.call_id for call in calls] == [call.call_id for call in again]
        other = adapter.read_calls(form(made), turn_id="t2")
        assert other[0].turn_id == "t2" and other[0].call_id != calls[0].call_id

    @pytest.mark.parametrize(
        ("made", "cut_off"),
        [
            (generic(("ping", "{}", "c1"), end="length"), True),
            (generic(("ping", "{}", "c1"), end="content_filter"), True),
            (generic(("ping", "{}", "c1"), end="stop"), False),
            (generic(("ping", "{}", "c1"), end="a new one"), False),
            (cohere(("ping", {}), end="MAX_TOKENS"), True),
            (cohere(("ping", {}), end="ERROR_TOXIC"), True),
            (cohere_v2(("ping", "{}", "c1"), end="ERROR"), True),
            (cohere_v2(("ping", "{}", "c1")), False),
        ],
    )
    def test_an_answer_that_was_cut_off_has_no_calls_that_may_run(
        self, adapter: Any, form: Any, made: Any, cut_off: bool
    ) -> None:
        assert adapter.is_cut_off(form(made)) is cut_off
        assert [len(adapter.read_calls(form(made))), len(adapter.read_cut_off(form(made)))] == [not cut_off, cut_off]

    @pytest.mark.parametrize(
        ("made", "kind"),
        [
            (generic(text="It is warm.", end="stop"), "GENERIC"),
            (cohere(text="It is warm."), "COHERE"),
            (cohere_v2(text="It is warm.", end="COMPLETE"), "COHEREV2"),
        ],
    )
    def test_text_and_format(self, adapter: Any, form: Any, made: Any, kind: str) -> None:
        assert adapter.format_of(form(made)) == kind
        assert (adapter.text_of(form(made)), adapter.read_calls(form(made))) == ("It is warm.", [])
        unnamed = copy.deepcopy(made)
        del unnamed["chatResponse"]["apiFormat"]
        assert adapter.format_of(unnamed) == kind


class TestWriting:
    def test_generic(self, adapter: Any, api: Any, form: Any) -> None:
        made = form(generic(("look_up", '{"key":"ñ"}', "c1"), ("ping", "{", "c2")))
        one, two = adapter.read_calls(made)
        results = [api.Result(one, '{"ciudad":"Málaga"}'), api.Result(two, error=api.CallError("invalid_json", "Bad."))]
        assert adapter.write_results(results, made) == [
            {
                "role": "ASSISTANT",
                "content": None,
                "toolCalls": [
                    {"id": "c1", "type": "FUNCTION", "name": "look_up", "arguments": '{"key":"ñ"}'},
                    {"id": "c2", "type": "FUNCTION", "name": "ping", "arguments": "{"},
                ],
            },
            {"role": "TOOL", "toolCallId": "c1", "content": [{"type": "TEXT", "text": '{"ciudad":"Málaga"}'}]},
            {
                "role": "TOOL",
                "toolCallId": "c2",
                "content": [{"type": "TEXT", "text": '{"error":"Bad.","code":"invalid_json"}'}],
            },
        ]

    def test_missing_ids_are_the_same_in_the_call_and_its_answer(self, adapter: Any, api: Any, form: Any) -> None:
        made = form(generic(("ping", "{}", None), ("ping", "{}", "c2"), ("ping", "{}", None), text="One moment."))
        results = [api.Result(call, "x") for call in adapter.read_calls(made, turn_id="t")]
        assistant, *tools = adapter.write_results(results, made)
        assert assistant["content"] == [{"type": "TEXT", "text": "One moment."}]
        ids = [call["id"] for call in assistant["toolCalls"]]
        assert ids == [tool["toolCallId"] for tool in tools]
        assert len(set(ids)) == 3 and ids[1] == "c2"

    def test_an_id_that_comes_twice_is_made_different(self, adapter: Any, api: Any, form: Any) -> None:
        calls = [("ping", '{"a":1}', "c1"), ("ping", '{"a":2}', "c1"), ("ping", '{"a":1}', "c1")]
        made = form(generic(*calls))
        results = [api.Result(call, "x") for call in adapter.read_calls(made)]
        assistant, *tools = adapter.write_results(results, made)
        ids = [call["id"] for call in assistant["toolCalls"]]
        assert ids == [tool["toolCallId"] for tool in tools]
        assert len(ids) == len(set(ids)) == 2  # the third is the first one again

    def test_a_name_that_no_request_may_hold_is_mended(self, adapter: Any, api: Any, form: Any) -> None:
        for made in (form(generic(("$ping me", "{}", "c1"))), form(cohere_v2(("$ping me", "{}", "c1")))):
            (call,) = adapter.read_calls(made)
            assistant, _ = adapter.write_results([api.Result(call, "x")], made)
            (sent,) = assistant["toolCalls"]
            assert (call.name, sent.get("function", sent)["name"]) == ("$ping me", "_ping_me")

    def test_cohere_v2(self, adapter: Any, api: Any, form: Any) -> None:
        made = form(cohere_v2(("ping", "{}", "c1")))
        (call,) = adapter.read_calls(made)
        assert adapter.write_results([api.Result(call, "x")], made) == [
            {
                "role": "ASSISTANT",
                "content": None,
                "toolPlan": "First this.",
                "toolCalls": [{"id": "c1", "type": "FUNCTION", "function": {"name": "ping", "arguments": "{}"}}],
            },
            {"role": "TOOL", "toolCallId": "c1", "content": [{"type": "TEXT", "text": "x"}]},
        ]

    @pytest.mark.parametrize("nothing", ["", " \n"])
    def test_a_call_without_arguments_goes_back_with_an_empty_object(
        self, adapter: Any, api: Any, form: Any, nothing: str
    ) -> None:
        for made in (form(generic(("ping", nothing, "c1"))), form(cohere_v2(("ping", nothing, "c1")))):
            (call,) = adapter.read_calls(made)
            assistant, _ = adapter.write_results([api.Result(call, "x")], made)
            (sent,) = assistant["toolCalls"]
            assert sent.get("function", sent)["arguments"] == "{}"

    @pytest.mark.parametrize(
        ("output", "outputs"),
        [
            ('{"a":1}', [{"a": 1}]),
            ('[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
            ("[1,2]", [{"output": [1, 2]}]),
            ("[]", [{"output": []}]),
            ("x", [{"output": "x"}]),
            ("", [{"output": ""}]),
            ("5", [{"output": 5}]),
        ],
    )
    def test_cohere_takes_a_list_of_objects(self, adapter: Any, api: Any, form: Any, output: str, outputs: Any) -> None:
        made = form(cohere(("look_up", {"key": "a"})))
        (call,) = adapter.read_calls(made)
        named = {"name": "look_up", "parameters": {"key": "a"}}
        assert adapter.write_results([api.Result(call, output)], made) == [{"call": named, "outputs": outputs}]

    def test_failures_of_cohere_stand_in_the_outputs(self, adapter: Any, api: Any) -> None:
        made = cohere(("ping", {}))
        (call,) = adapter.read_calls(made)
        (written,) = adapter.write_results([api.Result(call, error=api.CallError("timeout", "Too long."))], made)
        assert written["outputs"] == [{"error": "Too long.", "code": "timeout"}]

    def test_each_call_needs_its_result(self, adapter: Any, api: Any) -> None:
        made = generic(("ping", "{}", "c1"), ("ping", "{}", "c2"))
        with pytest.raises(ValueError, match="1 results for the 2 calls"):
            adapter.write_results([api.Result(adapter.read_calls(made)[0], "x")], made)


NAMES = st.sampled_from(["look_up", "ping", "nope"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
OUTPUTS = st.lists(st.text(max_size=8), min_size=5, max_size=5)


@given(st.lists(st.tuples(NAMES, ARGUMENTS.map(json.dumps), st.none()), min_size=1, max_size=5), OUTPUTS)
def test_each_call_of_generic_has_one_answer_in_order(adapter: Any, api: Any, made: Any, outputs: Any) -> None:
    calls = [(name, given, None if at % 2 else f"c{at}") for at, (name, given, _) in enumerate(made)]
    answer = generic(*calls)
    results = [api.Result(call, out) for call, out in zip(adapter.read_calls(answer), outputs, strict=False)]
    assistant, *tools = adapter.write_results(results, answer)
    assert [(call["name"], call["arguments"]) for call in assistant["toolCalls"]] == [one[:2] for one in calls]
    assert [call["id"] for call in assistant["toolCalls"]] == [tool["toolCallId"] for tool in tools]
    assert len({tool["toolCallId"] for tool in tools}) == len(calls)
    assert [tool["content"][0]["text"] for tool in tools] == outputs[: len(calls)]


@given(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=5), OUTPUTS)
def test_each_call_of_cohere_has_one_answer_in_order(adapter: Any, api: Any, made: Any, outputs: Any) -> None:
    answer = cohere(*made)
    results = [api.Result(call, out) for call, out in zip(adapter.read_calls(answer), outputs, strict=False)]
    written = adapter.write_results(results, answer)
    assert [(one["call"]["name"], one["call"]["parameters"]) for one in written] == made
    assert all(one["outputs"] and all(isinstance(out, dict) for out in one["outputs"]) for one in written)


# ---- whole conversations with the vendor's client

SPECS = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
]
HANDLER = """
def get_weather(args, call):
    if args.city == "Atlantis":
        raise OSError("secret")
    return {"city": args.city, "degrees": len(args.city)}
"""


def converse_generic(adapter: Any, dispatcher: Any, client: Any, model: str, kind: str) -> Any:
    request = models.GenericChatRequest if kind == "generic" else models.CohereChatRequestV2
    messages: list[Any] = [{"role": "USER", "content": [{"type": "TEXT", "text": "How warm is it?"}]}]
    tools = dispatcher.payload("oci_inference")
    if kind == "cohere_v2":
        tools = [{"type": "FUNCTION", "function": {k: tool[k] for k in tool if k != "type"}} for tool in tools]
    results: list[Any] = []
    while True:
        result = chat(client, model, request(messages=messages, tools=tools))
        calls = adapter.read_calls(result, turn_id=str(len(messages)))
        if not calls:
            return adapter.text_of(result), results
        results += (done := dispatcher.execute_all_sync(calls))
        messages += adapter.write_results(done, result)


def converse_cohere(adapter: Any, dispatcher: Any, client: Any, model: str, kind: str) -> Any:
    given: dict[str, Any] = {"message": "How warm is it?"}
    results: list[Any] = []
    while True:
        request = models.CohereChatRequest(tools=dispatcher.payload("oci_inference"), **given)
        result = chat(client, model, request)
        calls = adapter.read_calls(result, turn_id=str(len(results)))
        if not calls:
            return adapter.text_of(result), results
        results += (done := dispatcher.execute_all_sync(calls))
        history = result.chat_response.chat_history
        given = {"message": "", "chat_history": history, "tool_results": adapter.write_results(done, result)}


def chat(client: Any, model: str, request: Any) -> Any:
    mode = models.OnDemandServingMode(model_id=model)
    return client.chat(models.ChatDetails(compartment_id="c", serving_mode=mode, chat_request=request)).data


@pytest.mark.parametrize(
    ("kind", "missing"), [("generic", False), ("generic", True), ("cohere", True), ("cohere_v2", False)]
)
def test_a_conversation(package: BuildPackage, simulator: Simulator, kind: str, missing: bool) -> None:
    """Parallel calls, an unknown tool, a wrong argument and a failing handler; the next request is taken."""
    encoding = "cohere" if kind == "cohere" else "generic"
    built = package(
        SPECS,
        targets=["oci_inference"],
        oci_inference_format=encoding,
        handlers={"get_weather": HANDLER},
    )
    adapter = importlib.import_module(f"{built.__name__}.runtime.adapters.oci_inference")
    name = f"{kind}-{missing}"
    weather = {"name": "get_weather"}
    calls = [
        {
            **weather,
            "arguments": {"city": "Madrid"},
            "as": "madrid",
            "result": {"json": {"city": "Madrid", "degrees": 6}},
        },
        {**weather, "arguments": {"city": "Lima", "days": 9}, "result": {"error": ["/days", "7"]}},
        {"name": "get_wether", "arguments": {"city": "Lima"}, "invented": True, "result": {"error": "get_weather"}},
        {**weather, "arguments": {"city": "Atlantis"}, "result": {"error": "internal reason"}},
        {**weather, "arguments": {"city": "Quito"}, "result": {"has": {"city": "Quito"}}},
    ]
    again = {**weather, "arguments": {"city": "Xi"}, "result": {"has": {"city": "Xi"}}}
    steps = [{"calls": calls}, {"calls": [again]}, {"say": "{{madrid.degrees}} degrees."}]
    simulator.add({"name": name, "turns": [{"model": steps}], "oci": {"quirks": ["no_call_ids"] if missing else []}})
    converse = converse_cohere if kind == "cohere" else converse_generic
    dispatcher = built.dispatcher()
    text, results = converse(adapter, dispatcher, client_of(simulator.oci_endpoint), name, kind)
    dispatcher.close()
    assert text == "6 degrees."
    assert [result.error and result.error.code for result in results] == [
        None,
        "invalid_arguments",
        "unknown_tool",
        "handler_error",
        None,
        None,
    ]
    report = simulator.report().of(name)
    assert report.ok, report.problems()
    assert not report.refused
    assert "secret" not in json.dumps([exchange.request for exchange in report.exchanges])
