"""The loop over generateContent, with the vendor's own client: against a server by others, and answers of our own."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from tests.loops.conftest import run_turn
from tests.loops.oci_support import Answer, Canned, canned
from tests.loops.town import Town, town_package
from tests.loops.vendors import pieces

NAME = "gemini_package"

# The client's asynchronous half does so with aiohttp, which dislikes it.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("gemini"), NAME, "gemini") as package:
        yield package


@pytest.fixture(scope="module")
def loop(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime.loops.gemini")


@pytest.fixture
def town(package: ModuleType) -> Town:
    return Town(importlib.import_module(f"{NAME}.runtime"))


@pytest.fixture
def dispatcher(package: ModuleType, town: Town) -> Iterator[Any]:
    made = package.dispatcher(town)
    yield made
    made.close()


Converse = Callable[..., Any]


def client_of(url: str, retries: int = 0) -> genai.Client:
    # The certificates that a client reads by default are of no use here, and take it a tenth of a second.
    unverified = {"verify": False}
    retry = types.HttpRetryOptions(attempts=retries + 1, initial_delay=0.01, max_delay=0.01)
    options = types.HttpOptions(
        base_url=url,
        api_version="v1beta",
        client_args=unverified,
        async_client_args={"ssl": False},
        retry_options=retry,
    )
    return genai.Client(api_key="x", http_options=options)


@contextmanager
def sync_client(url: str, retries: int) -> Iterator[Any]:
    with client_of(url, retries) as client:
        yield client


@asynccontextmanager
async def async_client(url: str, retries: int) -> AsyncIterator[Any]:
    with client_of(url, retries) as client:
        async with client.aio as aio:
            yield aio


@pytest.fixture
def runner(loop: ModuleType, dispatcher: Any) -> Converse:
    """Runs a turn in one of the ways there are: `runner(way, url, input, ...)`."""

    def run(
        way: str, url: str, input: Any = "hi", *, with_dispatcher: Any = None, retries: int = 0, **options: Any
    ) -> Any:
        clients: dict[str, Callable[[], Any]] = {
            "sync": lambda: sync_client(url, retries),
            "async": lambda: async_client(url, retries),
        }
        d = dispatcher if with_dispatcher is None else with_dispatcher
        return run_turn(loop, way, d, clients, model="m", input=input, **options)

    return run


@pytest.fixture
def serve(stream: bool) -> Iterator[Callable[..., Canned]]:
    """Runs a server with these answers, streamed or not; at the end its requests are judged as the API would."""
    servers: list[Canned] = []
    with ExitStack() as stack:

        def start(*answers: dict[str, Any] | Answer) -> Canned:
            sent = [one if isinstance(one, Answer) or not stream else streamed(one) for one in answers]
            server = stack.enter_context(canned(sent))
            servers.append(server)
            return server

        yield start
    for server in servers:
        for body in server.bodies():
            assert complaints(body) == []


# ---- the service's side


def call(name: str, args: Any, id: str = "", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args, **({"id": id} if id else {})}, **fields}


def weather(city: str = "Madrid", id: str = "", **fields: Any) -> dict[str, Any]:
    return call("get_weather", {"city": city}, id, **fields)


def answer(*parts: dict[str, Any], end: str = "STOP", id: str | None = "r1", **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": end, "index": 0, **fields}
    usage = {"promptTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [candidate], "usageMetadata": usage, **({"responseId": id} if id else {})}


def chunks(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of a stream: a part each, text in pieces, the finish reason in the last but one."""
    shared = {key: response[key] for key in ("responseId",) if key in response}
    (candidate,) = response["candidates"]
    for part in candidate["content"]["parts"]:
        plain = part.keys() <= {"text", "thought"}
        for piece in [{**part, "text": one} for one in pieces(part["text"], 3)] if plain else [part]:
            yield shared | {"candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]}
    ending = {key: value for key, value in candidate.items() if key != "content"}
    yield shared | {"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, **ending}]}
    yield shared | {"usageMetadata": response["usageMetadata"]}


def streamed(response: dict[str, Any], *, cut: bool = False) -> Answer:
    """The stream of a response; one that is cut ends inside the chunk with the finish reason."""
    if "candidates" not in response:
        events = [f"data: {json.dumps(response)}\r\n\r\n"]
    else:
        events = [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks(response)]
    if cut:
        events = [*events[:-2], events[-2][:20]]
    return Answer("".join(events), content_type="text/event-stream", cut=cut)


def complaints(body: Any) -> list[str]:
    """Why the API would answer 400: the rules of its function calling guide, and those that its errors tell."""
    found: list[str] = []
    waiting: list[dict[str, Any]] = []
    for at, content in enumerate(body["contents"]):
        if content.keys() != {"role", "parts"} or not content["parts"]:
            found.append(f"{at}: a content has a role and parts")
            continue
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        responses = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        asked = [(one.get("name"), one.get("id")) for one in waiting]
        if [(one.get("name"), one.get("id")) for one in responses] != asked:
            found.append(f"{at}: the responses {responses} do not answer {asked}")
        for one in responses:
            if not isinstance(one.get("response"), dict):
                found.append(f"{at}: a response is an object: {one}")
        if (calls and content["role"] != "model") or (responses and content["role"] != "user"):
            found.append(f"{at}: the role {content['role']}")
        waiting = calls
    return found + ([f"no response to {waiting}"] if waiting else [])


def response(name: str, value: Any, id: str = "", **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {**({"id": id} if id else {}), "name": name, "response": value, **fields}}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"text": words, **fields}


SIGNATURE = "c2lnbmF0dXJlIC8_"  # as the client writes base64
DONE = answer(text("done"), id="r9")
USER = {"role": "user", "parts": [text("hi")]}
CODES = [None, "invalid_arguments", "unknown_tool", "handler_error", "output_too_large", "handler_error", None]


class TestAgainstAServerByOthers:
    """The server and its faults are LLMock's."""

    @pytest.fixture(autouse=True)
    def judged(self, llmock: LLMock) -> Iterator[None]:
        yield
        for request in llmock.requests:
            assert complaints(request.body) == []

    @pytest.fixture
    def url(self, llmock: LLMock) -> str:
        return llmock.base_url("gemini")

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_it_calls_by_itself_and_then_answers(self, converse: Converse, url: str, town: Town, stream: bool) -> None:
        turn = converse(url, "Draw me a map", context="ada", stream=stream)
        assert turn.text
        assert (turn.status, turn.steps, town.asked) == ("STOP", 2, ["map"])
        assert [(result.name, result.success) for result in turn.calls] == [("draw_map", True)]
        assert turn.history[-1] == {"role": "model", "parts": [text(turn.text)]}
        assert turn.raw.text == turn.text

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, stream: bool
    ) -> None:
        calls = [
            ToolCall("get_weather", {"city": "Madrid"}),
            ToolCall("get_weather", {"city": "X"}),
            ToolCall("get_wether", {"city": "Lima"}),
            ToolCall("get_weather", {"city": "Atlantis"}),
            ToolCall("write_essay", {"characters": 11 * 1024 * 1024}),
            ToolCall("book", {"people": 9}),
            ToolCall("get_weather", {"city": "Quito", "days": 2}),
        ]
        llmock.add(Reply(text="One moment.", tool_calls=tuple(calls))).reply("done")
        turn = converse(url, stream=stream)
        assert (turn.text, turn.steps) == ("done", 2)
        assert [result.error and result.error.code for result in turn.calls] == CODES
        _, model, user = llmock.last_request.body["contents"]
        assert model["parts"][0] == text("One moment.")
        assert [(one["functionCall"]["name"], one["functionCall"]["args"]) for one in model["parts"][1:]] == [
            (one.name, one.arguments) for one in calls
        ]
        answers = [part["functionResponse"]["response"] for part in user["parts"]]
        assert answers[0] == {"city": "Madrid", "degrees": 6, "for": None}
        assert answers[5] == {"error": "There are tables for eight at most."}
        assert [list(one) == ["error"] for one in answers] == [code is not None for code in CODES]
        assert "secret" not in json.dumps(user)

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_errors_that_pass_are_the_clients_to_retry(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, stream: bool
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}).reply("done")
        llmock.rate_limit(times=1, retry_after=0.01).fail(503, times=1, retry_after=0.01)
        assert converse(url, retries=2, stream=stream).text == "done"
        assert town.asked == ["Madrid"]

    def test_errors_that_stay_reach_the_caller(self, converse: Converse, llmock: LLMock, url: str) -> None:
        llmock.outage()
        with pytest.raises(errors.ServerError):
            converse(url)

    @pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
    def test_a_stream_that_breaks_is_asked_for_again(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, fault: str
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=2).reply("done")
        getattr(llmock, fault)(after_chunks=0, times=1)
        assert converse(url, stream=True).text == "done"
        assert town.asked == ["Madrid"]
        assert not llmock.verdict().errors

    @pytest.mark.parametrize("fault", ["disconnect", "truncate"])
    def test_a_stream_that_keeps_breaking_runs_nothing(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, fault: str
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=None)
        getattr(llmock, fault)(after_chunks=0, times=None)
        with pytest.raises(Exception) as failed:  # which one is the client's and its transport's to say
            converse(url, stream=True)
        assert (fault == "truncate") == isinstance(failed.value, town.runtime.TurnFailed)
        assert (len(llmock.requests), town.asked) == (3, [])

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    @pytest.mark.parametrize("end,status", [("length", "MAX_TOKENS"), ("content_filter", "SAFETY")])
    def test_a_response_that_was_cut_off_runs_nothing(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, stream: bool, end: str, status: str
    ) -> None:
        city = ToolCall("get_weather", {"city": "Madrid"})
        llmock.add(Reply(text="half of", tool_calls=(city, city), finish_reason=end)).reply("done")
        turn = converse(url, stream=stream)
        assert (turn.status, turn.text, town.asked) == (status, "half of", [])
        assert [(result.error.code, result.ran) for result in turn.calls] == [("cut_off", False)] * 2
        half = [{"role": "model", "parts": [text("half of")]}] if end == "length" else []
        assert turn.history == [USER, *half]
        assert converse(url, [*turn.history, "go on"]).text == "done"


class TestRequests:
    def test_the_second_one_is_exactly_this(self, talk: Converse, serve: Any, dispatcher: Any) -> None:
        parts = [
            text("Two cities.", thought=True),
            text("One moment."),
            weather("Málaga", "fc_1", thoughtSignature=SIGNATURE),
            call("draw_map", {}, "fc_2"),
            call("nope", {}),
        ]
        server = serve(answer(*parts), DONE)
        turn = talk(server.url, config={"systemInstruction": "Be brief.", "temperature": 0.5})
        assert (turn.text, turn.status, turn.steps) == ("done", "STOP", 2)
        first, second = server.bodies()
        assert first["systemInstruction"]["parts"] == [text("Be brief.")]
        assert first["generationConfig"] == {"temperature": 0.5}
        assert [one["name"] for tool in first["tools"] for one in tool["functionDeclarations"]] == dispatcher.names
        assert second["contents"] == [
            USER,
            {"role": "model", "parts": parts},
            {
                "role": "user",
                "parts": [
                    response("get_weather", {"city": "Málaga", "degrees": 6, "for": None}, "fc_1"),
                    response(
                        "draw_map",
                        {"output": "A map:"},
                        "fc_2",
                        parts=[{"inline_data": {"mime_type": "image/png", "data": "AAAA"}}],  # as the client has it
                    ),
                    response("nope", {"error": turn.calls[2].error.message}),
                ],
            },
        ]
        assert {key: second[key] for key in second if key != "contents"} == {
            key: first[key] for key in first if key != "contents"
        }
        assert json.loads(json.dumps(turn.history))[:2] == second["contents"][:2]
        assert turn.history[3:] == [{"role": "model", "parts": [text("done")]}]

    def test_ids_are_sent_exactly_where_they_came(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(answer(weather("Lima"), weather("Cusco"), weather("Lima", "fc_9")), DONE)
        turn = talk(server.url)
        assert [part["functionResponse"].get("id") for part in server.bodies()[1]["contents"][2]["parts"]] == [
            None,
            None,
            "fc_9",
        ]
        assert [json.loads(result.output)["city"] for result in turn.calls] == ["Lima", "Cusco", "Lima"]

    def test_signatures_come_back_with_their_parts(self, talk: Converse, serve: Any) -> None:
        signed = [
            text("Let me see.", thoughtSignature=SIGNATURE),
            weather("Lima", thoughtSignature="AAAA"),
            weather("Cusco"),
        ]
        server = serve(answer(*signed), answer(text("it is", thoughtSignature="BBBB"), text(" warm"), id="r2"), DONE)
        turn = talk(server.url)
        assert server.bodies()[1]["contents"][1]["parts"] == signed
        assert turn.history[-1]["parts"] == [text("it is", thoughtSignature="BBBB"), text(" warm")]
        again = talk(server.url, [*turn.history, {"role": "user", "parts": [text("and now?")]}])
        assert again.text == "done"
        assert server.bodies()[2]["contents"][1]["parts"] == signed

    def test_numbers_may_come_as_floats(self, talk: Converse, serve: Any) -> None:
        server = serve(answer(call("get_weather", {"city": "Lima", "days": 3.0})), DONE)
        assert talk(server.url).calls[0].success

    def test_all_results_of_one_answer_run_at_once(self, talk: Converse, serve: Any, town: Town) -> None:
        town.meeting = threading.Barrier(3)
        server = serve(answer(weather("Madrid"), weather("Lima"), weather("Quito")), DONE)
        assert [json.loads(result.output)["city"] for result in talk(server.url).calls] == ["Madrid", "Lima", "Quito"]

    def test_a_forced_call_is_forced_once(self, talk: Converse, serve: Any) -> None:
        forced = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}}
        given: list[Any] = [
            {"tool_config": forced, "seed": 1},
            {"toolConfig": forced, "seed": 1},
            types.GenerateContentConfig.model_validate({"toolConfig": forced, "seed": 1}),
        ]
        for config in given:
            server = serve(answer(weather()), DONE)
            talk(server.url, config=config)
            first, second = server.bodies()
            assert first["toolConfig"] == forced
            assert not second.get("toolConfig")
            assert first["generationConfig"] == second["generationConfig"] == {"seed": 1}

    def test_tools_of_the_config_come_beside_ours(self, talk: Converse, serve: Any) -> None:
        server = serve(DONE)
        config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
        talk(server.url, config=config)
        talk(server.url, config={"tools": [{"google_search": {}}]})
        for body in server.bodies():
            assert [list(tool) for tool in body["tools"]] == [["googleSearch"], ["functionDeclarations"]]
        assert config.tools is not None and len(config.tools) == 1

    def test_texts_parts_and_contents_are_taken(self, talk: Converse, serve: Any) -> None:
        server = serve(DONE)
        photo = types.Part.from_bytes(data=b"\x00", mime_type="image/png")
        talk(server.url, ["Look:", photo, types.Content(role="model", parts=[types.Part(text="a")]), {"text": "b"}])
        assert server.bodies()[0]["contents"] == [
            {"role": "user", "parts": [text("Look:"), {"inlineData": {"data": "AA==", "mime_type": "image/png"}}]},
            {"role": "model", "parts": [text("a")]},
            {"role": "user", "parts": [text("b")]},
        ]

    def test_what_a_turn_cannot_do_is_refused(self, talk: Converse) -> None:
        for config in ({"candidate_count": 2}, {"candidateCount": 2}):
            with pytest.raises(ValueError, match="candidate_count"):
                talk("http://127.0.0.1:1", config=config)
        pieces_of_arguments = {"function_calling_config": {"stream_function_call_arguments": True}}
        with pytest.raises(ValueError, match="stream_function_call_arguments"):
            talk("http://127.0.0.1:1", config={"tool_config": pieces_of_arguments})


class TestEnds:
    @pytest.mark.parametrize("end", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "RECITATION", "A_NEW_ONE"])
    @pytest.mark.filterwarnings("ignore:A_NEW_ONE is not a valid:UserWarning")
    def test_a_response_that_is_not_complete_runs_nothing(
        self, talk: Converse, serve: Any, town: Town, end: str
    ) -> None:
        server = serve(answer(weather(), end=end))
        turn = talk(server.url)
        assert (turn.status, turn.text, turn.history, town.asked) == (end, "", [USER], [])
        assert [result.error.code for result in turn.calls] == ["cut_off"]

    def test_a_malformed_call_may_leave_nothing(self, talk: Converse, serve: Any) -> None:
        bare = answer(end="MALFORMED_FUNCTION_CALL")
        bare["candidates"][0] = {"finishReason": "MALFORMED_FUNCTION_CALL", "content": {"parts": []}}
        turn = talk(serve(bare).url)
        assert (turn.status, turn.calls, turn.history) == ("MALFORMED_FUNCTION_CALL", [], [USER])

    def test_a_blocked_prompt_is_a_failure(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "responseId": "r1"})
        with pytest.raises(town.runtime.TurnFailed, match="PROHIBITED_CONTENT") as failed:
            talk(server.url)
        assert (failed.value.status, failed.value.code) == ("blocked", "PROHIBITED_CONTENT")

    def test_an_answer_without_a_candidate_is_a_failure(self, runner: Converse, town: Town) -> None:
        with canned([{"responseId": "r1"}]) as server, pytest.raises(town.runtime.TurnFailed, match="no candidate"):
            runner("run_sync", server.url)

    @pytest.mark.parametrize("stream", [True], indirect=False)
    def test_half_an_answer_counts_for_nothing(self, runner: Converse, town: Town, stream: bool) -> None:
        whole = answer(text("Well: "), weather())
        with canned([streamed(whole, cut=True), streamed(whole), streamed(DONE)]) as server:
            assert runner("run", server.url, stream=True).text == "done"
            assert len(server.bodies()) == 3
        assert town.asked == ["Madrid"]

    def test_a_model_that_never_ends(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(answer(weather()))
        with pytest.raises(town.runtime.StepLimit) as limit:
            talk(server.url, max_steps=2)
        assert [one.name for one in limit.value.pending] == ["get_weather"]
        assert town.asked == ["Madrid"]

    def test_events_are_told_in_their_order(self, talk: Converse, serve: Any, stream: bool) -> None:
        seen: list[str] = []
        server = serve(answer(weather()), DONE)
        talk(server.url, on_event=lambda event: seen.append(type(event).__name__))
        told = [name for name in seen if name != "GenerateContentResponse"]
        assert told == ["CallsReceived", "ResultsReady"]
        assert ("GenerateContentResponse" in seen) == stream


class TestTheJournal:
    @pytest.fixture
    def journalled(self, package: ModuleType, town: Town) -> Iterator[Any]:
        memory = importlib.import_module(f"{NAME}.runtime.journal.memory")
        made = package.dispatcher(town, journal=memory.MemoryJournal())
        yield made
        made.close()

    def test_an_answer_that_comes_again_runs_nothing_again(
        self, talk: Converse, serve: Any, town: Town, journalled: Any
    ) -> None:
        """Calls without ids, and an answer without one: all have an entry of their own, and are found again."""
        for id in ("r1", None):
            town.asked.clear()
            server = serve(answer(weather("Lima"), weather("Cusco"), weather("Lima", "fc_9"), id=id), DONE)
            first = talk(server.url, with_dispatcher=journalled, session_id=f"s {id}")
            assert sorted(town.asked) == ["Cusco", "Lima", "Lima"]
            server = serve(answer(weather("Lima"), weather("Cusco"), weather("Lima", "fc_9"), id=id), DONE)
            second = talk(server.url, with_dispatcher=journalled, session_id=f"s {id}")
            assert len(town.asked) == 3
            assert [result.replayed for result in second.calls] == [True] * 3
            assert [result.output for result in second.calls] == [result.output for result in first.calls]

    def test_equal_answers_of_one_turn_are_two(self, talk: Converse, serve: Any, town: Town, journalled: Any) -> None:
        server = serve(answer(weather(), id=None), answer(weather(), id=None), DONE)
        turn = talk(server.url, with_dispatcher=journalled, session_id="s")
        assert (town.asked, [result.replayed for result in turn.calls]) == (["Madrid", "Madrid"], [False, False])

    def test_it_needs_a_session(self, talk: Converse, journalled: Any) -> None:
        with pytest.raises(ValueError, match="session_id"):
            talk("http://127.0.0.1:1", with_dispatcher=journalled)
