"""The loop over Chat Completions, with the vendor's own clients: against a server by others, and answers of our own."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import openai
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from tests.loops.conftest import openai_clients, run_turn
from tests.loops.oci_support import Answer, Canned, canned
from tests.loops.town import Town, town_package
from tests.loops.vendors import chat_complaints, chat_stream

NAME = "chat_package"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("chat"), NAME, "openai_chat") as package:
        yield package


@pytest.fixture(scope="module")
def loop(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime.loops.openai_chat")


@pytest.fixture
def town(package: ModuleType) -> Town:
    return Town(importlib.import_module(f"{NAME}.runtime"))


@pytest.fixture
def dispatcher(package: ModuleType, town: Town) -> Iterator[Any]:
    made = package.dispatcher(town)
    yield made
    made.close()


Converse = Callable[..., Any]


@pytest.fixture
def runner(loop: ModuleType, dispatcher: Any) -> Converse:
    """Runs a turn in one of the ways there are: `runner(way, url, input, ...)`."""

    def run(
        way: str, url: str, input: Any = "hi", *, with_dispatcher: Any = None, retries: int = 0, **options: Any
    ) -> Any:
        clients = openai_clients(url, retries)
        d = dispatcher if with_dispatcher is None else with_dispatcher
        return run_turn(loop, way, d, clients, model="m", input=input, **options)

    return run


@pytest.fixture
def serve(stream: bool) -> Iterator[Callable[..., Canned]]:
    """Runs a server with these answers, streamed or not; at the end its requests are judged as the API would."""
    servers: list[Canned] = []
    with ExitStack() as stack:

        def start(*answers: dict[str, Any] | Answer) -> Canned:
            sent = [answer if isinstance(answer, Answer) or not stream else chat_stream(answer) for answer in answers]
            server = stack.enter_context(canned(sent))
            servers.append(server)
            return server

        yield start
    for server in servers:
        for body in server.bodies():
            assert chat_complaints(body) == []


def call(name: str, arguments: Any, call_id: str | None = "call_1", **fields: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}} | fields
    return {key: value for key, value in made.items() if value is not None}


def weather(city: str = "Madrid", call_id: str | None = "call_1") -> dict[str, Any]:
    return call("get_weather", {"city": city}, call_id)


def completion(*calls: dict[str, Any], end: str = "", id: str = "chatcmpl-1", **message: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None} | message
    if calls:
        body["tool_calls"] = list(calls)
    choice = {"index": 0, "message": body, "finish_reason": end or ("tool_calls" if calls else "stop")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    made = {"id": id, "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return {key: value for key, value in made.items() if value != ""}


DONE = completion(content="done", id="chatcmpl-9")


class TestAgainstAServerByOthers:
    """The server and its faults are LLMock's."""

    @pytest.fixture(autouse=True)
    def judged(self, llmock: LLMock) -> Iterator[None]:
        yield
        for request in llmock.requests:
            assert chat_complaints(request.body) == []

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_it_calls_by_itself_and_then_answers(
        self, converse: Converse, llmock: LLMock, town: Town, stream: bool
    ) -> None:
        turn = converse(llmock.base_url(), "Draw me a map", context="ada", stream=stream)
        assert turn.text
        assert (turn.status, turn.steps, town.asked) == ("stop", 2, ["map"])
        assert [(result.name, result.success) for result in turn.calls] == [("draw_map", True)]
        assert turn.history[2]["content"] == "A map:"
        assert turn.history[-1] == {"role": "assistant", "content": turn.text}
        llmock.assert_resilient()

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
        self, converse: Converse, llmock: LLMock, town: Town, stream: bool
    ) -> None:
        calls = [
            ToolCall("get_weather", {"city": "Madrid"}),
            ToolCall("get_weather", {"city": "X"}),
            ToolCall("get_wether", {"city": "Lima"}),
            ToolCall("get_weather", {"city": "Atlantis"}),
            ToolCall("write_essay", {"characters": 11 * 1024 * 1024}),
            ToolCall("book", {"people": 9, "note": None}),
            ToolCall("get_weather", {"city": "Quito"}),
        ]
        llmock.add(Reply(text="One moment.", tool_calls=tuple(calls))).reply("done")
        turn = converse(llmock.base_url(), "hi", stream=stream)
        assert (turn.text, turn.steps) == ("done", 2)
        assert [result.error and result.error.code for result in turn.calls] == [
            None,
            "invalid_arguments",
            "unknown_tool",
            "handler_error",
            "output_too_large",
            "handler_error",
            None,
        ]
        assistant, *answers = llmock.last_request.body["messages"][1:]
        assert assistant["content"] == "One moment."
        assert [
            (one["function"]["name"], json.loads(one["function"]["arguments"])) for one in assistant["tool_calls"]
        ] == [(one.name, one.arguments) for one in calls]
        assert [one["tool_call_id"] for one in answers] == [one["id"] for one in assistant["tool_calls"]]
        assert json.loads(answers[0]["content"]) == {"city": "Madrid", "degrees": 6, "for": None}
        assert [json.loads(one["content"]).get("code") for one in answers] == [
            result.error and result.error.code for result in turn.calls
        ]
        assert "secret" not in json.dumps(answers)

    @pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_a_broken_call_is_the_models_to_mend(
        self, converse: Converse, llmock: LLMock, town: Town, kind: str, stream: bool
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}).break_tool_call(kind)
        llmock.call_tool("get_weather", {"city": "Lima"}).reply("done")
        turn = converse(llmock.base_url(), "hi", stream=stream)
        code = "invalid_json" if kind == "malformed_arguments" else "unknown_tool"
        assert [result.error and result.error.code for result in turn.calls] == [code, None]
        assert (turn.text, town.asked) == ("done", ["Lima"])

    def test_errors_that_pass_are_the_clients_to_retry(self, converse: Converse, llmock: LLMock, town: Town) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}).reply("done")
        llmock.rate_limit(times=1, retry_after=0.01).fail(503, times=1, retry_after=0.01)
        assert converse(llmock.base_url(), retries=2).text == "done"
        assert town.asked == ["Madrid"]
        llmock.assert_resilient()

    def test_errors_that_stay_reach_the_caller(self, converse: Converse, llmock: LLMock, town: Town) -> None:
        llmock.outage()
        with pytest.raises(openai.InternalServerError):
            converse(llmock.base_url())
        assert town.asked == []

    @pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
    @pytest.mark.parametrize("after", [1, 3])
    def test_a_stream_that_breaks_is_asked_for_again(
        self, converse: Converse, llmock: LLMock, town: Town, fault: str, after: int
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=2).reply("done")
        getattr(llmock, fault)(after_chunks=after, times=1)
        assert converse(llmock.base_url(), stream=True).text == "done"
        assert town.asked == ["Madrid"]
        assert not llmock.verdict().errors

    @pytest.mark.parametrize("fault", ["disconnect", "truncate"])
    def test_a_stream_that_keeps_breaking_runs_nothing(
        self, converse: Converse, llmock: LLMock, town: Town, fault: str
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=None)
        getattr(llmock, fault)(after_chunks=2, times=None)
        with pytest.raises(openai.APIConnectionError if fault == "disconnect" else town.runtime.TurnFailed):
            converse(llmock.base_url(), stream=True)
        assert (len(llmock.requests), town.asked) == (3, [])

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    @pytest.mark.parametrize("end", ["length", "content_filter"])
    def test_a_completion_that_was_cut_off_runs_nothing(
        self, converse: Converse, llmock: LLMock, town: Town, stream: bool, end: str
    ) -> None:
        city = ToolCall("get_weather", {"city": "Madrid"})
        llmock.add(Reply(text="half of", tool_calls=(city, city), finish_reason=end)).reply("done")
        turn = converse(llmock.base_url(), stream=stream)
        assert (turn.status, turn.text, town.asked) == (end, "half of", [])
        assert [(result.error.code, result.ran) for result in turn.calls] == [("cut_off", False)] * 2
        half = [{"role": "assistant", "content": "half of"}] if end == "length" else []
        assert turn.history == [{"role": "user", "content": "hi"}, *half]
        assert converse(llmock.base_url(), [*turn.history, {"role": "user", "content": "go on"}]).text == "done"


class TestRequests:
    def test_the_second_one_is_exactly_this(self, talk: Converse, serve: Any, dispatcher: Any) -> None:
        calls = [weather("Málaga"), call("draw_map", "", "call_2"), call("nope", "{}", "call_3")]
        server = serve(completion(*calls, reasoning_content="Hm, a map."), DONE)
        turn = talk(server.url, temperature=0.5)
        assert turn.text == "done"
        first, second = server.bodies()
        assert first["tools"] == dispatcher.payload("openai_chat")
        assert second["messages"] == [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hm, a map.",
                "tool_calls": [calls[0], call("draw_map", "{}", "call_2"), calls[2]],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": '{"city":"Málaga","degrees":6,"for":null}'},
            {"role": "tool", "tool_call_id": "call_2", "content": "A map:"},
            {
                "role": "tool",
                "tool_call_id": "call_3",
                "content": '{"error":"There is no tool \\"nope\\". The tools are: book, draw_map, get_weather, '
                'write_essay.","code":"unknown_tool"}',
            },
        ]
        assert first["messages"] == [{"role": "user", "content": "hi"}]
        assert first == second | {"messages": first["messages"]}
        assert first["temperature"] == 0.5

    def test_the_next_turn(self, talk: Converse, serve: Any) -> None:
        server = serve(completion(weather()), DONE, completion(weather("Lima", "call_2")), completion(content="cold"))
        system = {"role": "system", "content": "Be brief."}
        first = talk(server.url, [system, {"role": "user", "content": "How warm?"}])
        second = talk(server.url, [*first.history, {"role": "user", "content": "And Lima?"}])
        assert second.text == "cold"
        assert [message["role"] for message in second.history] == [
            "system",
            *("user", "assistant", "tool", "assistant"),
            *("user", "assistant", "tool", "assistant"),
        ]

    def test_messages_of_the_sdk_are_taken_too(self, talk: Converse, serve: Any, stream: bool) -> None:
        server = serve(completion(content="one"), completion(content="two"))
        first = talk(server.url)
        message = first.raw["choices"][0]["message"] if stream else first.raw.choices[0].message
        history = [{"role": "user", "content": "hi"}, message, {"role": "user", "content": "more"}]
        assert talk(server.url, history).text == "two"

    @pytest.mark.parametrize(
        ("choice", "then"),
        [
            ("required", None),
            ("auto", "auto"),
            ("none", "none"),
            ({"type": "function", "function": {"name": "get_weather"}}, None),
            (
                {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
                {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
            ),
        ],
    )
    def test_a_forced_choice_holds_for_the_first_request(
        self, talk: Converse, serve: Any, choice: Any, then: Any
    ) -> None:
        server = serve(completion(weather()), completion(weather("Lima")), DONE)
        assert talk(server.url, tool_choice=choice).text == "done"
        assert [body.get("tool_choice") for body in server.bodies()] == [choice, then, then]

    def test_a_part_of_the_tools(self, talk: Converse, serve: Any, dispatcher: Any) -> None:
        server = serve(DONE)
        talk(server.url, with_dispatcher=dispatcher.only("get_*"))
        assert [tool["function"]["name"] for tool in server.bodies()[0]["tools"]] == ["get_weather"]

    def test_more_than_one_answer_is_not_asked_for(self, talk: Converse, serve: Any) -> None:
        server = serve(DONE)
        with pytest.raises(ValueError, match="n must be 1"):
            talk(server.url, n=2)
        assert server.bodies() == []
        assert talk(server.url, n=1).text == "done"


class TestCalls:
    def test_they_run_at_once(self, talk: Converse, serve: Any, town: Town) -> None:
        town.meeting = threading.Barrier(3)
        cities = ["Madrid", "Lima", "Quito"]
        server = serve(completion(*[weather(city, f"call_{city}") for city in cities]), DONE)
        assert [json.loads(result.output)["city"] for result in talk(server.url).calls] == cities

    @pytest.mark.parametrize("missing", [None, ""])
    def test_ids_that_are_missing_are_made_up(
        self, talk: Converse, serve: Any, town: Town, missing: str | None
    ) -> None:
        calls = [weather("Lima", missing), weather("Cusco", missing), weather("Lima", "call_9")]
        bodies: list[Any] = []
        for _ in range(2):
            server = serve(completion(*calls), DONE)
            assert [json.loads(result.output)["city"] for result in talk(server.url).calls] == [
                "Lima",
                "Cusco",
                "Lima",
            ]
            bodies.append(server.bodies()[1]["messages"])
        assert bodies[0] == bodies[1]
        ids = [one["id"] for one in bodies[0][1]["tool_calls"]]
        assert [one["tool_call_id"] for one in bodies[0][2:]] == ids
        assert ids[2] == "call_9"

    def test_an_id_that_comes_twice_is_made_different(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(completion(weather("Lima", "call_1"), weather("Cusco", "call_1")), DONE)
        turn = talk(server.url)
        assert sorted(town.asked) == ["Cusco", "Lima"]
        assert turn.calls[0].call_id == "call_1" != turn.calls[1].call_id

    def test_a_call_that_comes_twice_runs_once(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(completion(weather("Lima"), weather("Lima")), DONE)
        assert len(talk(server.url).calls) == 1
        assert town.asked == ["Lima"]
        assert server.bodies()[1]["messages"][1]["tool_calls"] == [weather("Lima")]

    def test_a_stream_that_gives_all_calls_one_index(self, converse: Converse, town: Town) -> None:
        delta = {"role": "assistant", "tool_calls": [{"index": 0, **weather("Lima", "call_1")}]}
        more = {"tool_calls": [{"index": 0, **weather("Cusco", "call_2")}]}
        chunks = [
            {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            for choice in (
                {"index": 0, "delta": delta, "finish_reason": None},
                {"index": 0, "delta": more, "finish_reason": None},
                {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
            )
        ]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        with canned([Answer(text, content_type="text/event-stream"), chat_stream(DONE)]) as server:
            assert converse(server.url, stream=True).text == "done"
        assert sorted(town.asked) == ["Cusco", "Lima"]

    def test_a_stream_that_makes_up_an_id_for_every_piece(self, converse: Converse, town: Town) -> None:
        pieces = ['{"city":', ' "Li', 'ma"}']
        deltas: list[dict[str, Any]] = [
            {"index": 0, "id": f"call_{at}", "function": {"arguments": one}} for at, one in enumerate(pieces)
        ]
        deltas[0] |= {"type": "function", "function": {"name": "get_weather", "arguments": pieces[0]}}
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": {"tool_calls": [delta]}, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
        shared = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        text = "".join(f"data: {json.dumps(shared | {'choices': [choice]})}\n\n" for choice in choices)
        with canned([Answer(text, content_type="text/event-stream"), chat_stream(DONE)]) as server:
            turn = converse(server.url, stream=True)
        assert [(result.call_id, result.success) for result in turn.calls] == [("call_0", True)]
        assert town.asked == ["Lima"]

    def test_a_null_of_strict_mode_is_an_absent_property(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(completion(call("book", {"people": 3, "note": None})), DONE)
        talk(server.url)
        assert town.asked == ["3 None"]

    def test_the_number_of_steps(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(completion(weather()), completion(weather("Lima")), DONE)
        with pytest.raises(town.runtime.StepLimit, match="after 2 steps: get_weather") as limit:
            talk(server.url, max_steps=2)
        assert [json.loads(call.arguments)["city"] for call in limit.value.pending] == ["Lima"]
        assert town.asked == ["Madrid"]

    def test_a_custom_tool_is_the_callbacks(self, talk: Converse, serve: Any, town: Town) -> None:
        custom = {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
        tool = {"type": "custom", "custom": {"name": "sql"}}
        server = serve(completion(custom, weather()), DONE)
        seen: list[Any] = []

        def on_action(action: Any) -> Any:
            seen.append(action)
            return {"role": "tool", "tool_call_id": "call_2", "content": "1"}

        assert talk(server.url, tools=[tool], on_action=on_action).text == "done"
        assert [getattr(one, "type", None) or one["type"] for one in seen] == ["custom"]
        first, second = server.bodies()
        assert first["tools"][-1] == tool
        assert [message["tool_call_id"] for message in second["messages"][2:]] == ["call_1", "call_2"]
        town.asked.clear()
        for callback in (None, lambda action: None):
            server = serve(completion(custom, weather()))
            with pytest.raises(town.runtime.UnhandledAction, match="'custom'"):
                talk(server.url, on_action=callback)
        assert town.asked == []


class TestEndings:
    def test_a_refusal_is_an_answer(self, talk: Converse, serve: Any) -> None:
        server = serve(completion(refusal="I cannot do that."))
        turn = talk(server.url)
        assert (turn.text, turn.status) == ("I cannot do that.", "stop")
        assert turn.history[-1] == {"role": "assistant", "content": None, "refusal": "I cannot do that."}

    def test_the_predecessor_of_tool_calls_is_left_alone(self, talk: Converse, serve: Any, stream: bool) -> None:
        old = completion(function_call={"name": "get_weather", "arguments": "{}"}, content="x", end="function_call")
        turn = talk(serve(old).url)
        assert (turn.calls, turn.history[-1]) == ([], {"role": "assistant", "content": "x"})

    @pytest.mark.parametrize(
        "body",
        [{"error": {"code": "overloaded", "message": "Try later."}}, {"id": "x", "object": "chat.completion"}],
        ids=["error", "nothing"],
    )
    def test_an_answer_that_is_none(self, converse: Converse, town: Town, body: Any) -> None:
        with canned([body]) as server, pytest.raises(town.runtime.TurnFailed) as failed:
            converse(server.url)
        assert failed.value.code == ("overloaded" if "error" in body else "")

    def test_a_stream_that_breaks_after_its_end_is_whole(self, converse: Converse) -> None:
        answer = chat_stream(DONE)
        answer.body = answer.body.replace("data: [DONE]\n\n", "")
        answer.cut = True
        with canned([answer]) as server:
            assert converse(server.url, stream=True).text == "done"
            assert len(server.requests) == 1


class TestEvents:
    def test_on_event_sees_what_happens(self, talk: Converse, serve: Any, stream: bool, town: Town) -> None:
        seen: list[Any] = []
        server = serve(completion(weather(), weather("X", "call_2")), DONE)
        turn = talk(server.url, on_event=seen.append)
        ours = [event for event in seen if isinstance(event, (town.runtime.CallsReceived, town.runtime.ResultsReady))]
        assert [type(event).__name__ for event in ours] == ["CallsReceived", "ResultsReady"]
        assert [result.success for result in ours[1].results] == [True, False]
        chunks = [event for event in seen if event not in ours]
        assert bool(chunks) == stream
        assert isinstance(turn.raw, dict) == stream
        if stream:
            assert turn.raw == DONE | {
                "choices": [DONE["choices"][0] | {"message": {"role": "assistant", "content": "done"}}]
            }

    @pytest.mark.parametrize("error", [LookupError("mine"), ConnectionError("mine")])
    def test_what_it_raises_ends_the_turn(
        self, talk: Converse, serve: Any, stream: bool, town: Town, error: Exception
    ) -> None:
        def on_event(event: Any) -> None:
            raise error

        with pytest.raises(type(error), match="mine"):
            talk(serve(completion(weather()), DONE).url, on_event=on_event)
        assert town.asked == []


class TestJournal:
    @pytest.fixture
    def journal(self) -> Any:
        return importlib.import_module(f"{NAME}.runtime.journal.memory").MemoryJournal()

    def test_a_completion_that_is_read_twice_runs_once(
        self, talk: Converse, serve: Any, dispatcher: Any, town: Town, journal: Any
    ) -> None:
        types = importlib.import_module(f"{NAME}.runtime.journal")
        d = dispatcher.with_journal(journal)
        calls = [weather("Lima", None), weather("Lima", None), weather("Lima", "call_9")]
        answers: list[Any] = []
        for _ in range(2):
            server = serve(completion(*calls), DONE)
            turn = talk(server.url, with_dispatcher=d, session_id="chat 7")
            answers.append(server.bodies()[1]["messages"])
        assert answers[0] == answers[1]
        assert town.asked == ["Lima"] * 3
        for result in turn.calls:
            assert result.replayed
            assert (result.call.session_id, result.call.turn_id) == ("chat 7", "chatcmpl-1")
            assert journal.is_submitted(types.Key("chat 7", "chatcmpl-1", result.call_id))

    def test_a_completion_without_an_id_has_its_place_in_the_conversation(
        self, talk: Converse, serve: Any, dispatcher: Any, town: Town, journal: Any, stream: bool
    ) -> None:
        """The same calls after the same words are the same; the same calls later are others."""
        d = dispatcher.with_journal(journal)
        script = [completion(weather(), id=""), completion(weather(), id=""), completion(content="done", id="")]
        if stream:
            script = [chat_stream(answer) for answer in script]
        turns = [talk(serve(*script).url, with_dispatcher=d, session_id="s") for _ in range(2)]
        assert town.asked == ["Madrid", "Madrid"]
        assert [[result.replayed for result in turn.calls] for turn in turns] == [[False, False], [True, True]]
        assert turns[0].calls[0].call.turn_id != turns[0].calls[1].call.turn_id

    def test_completions_that_all_have_one_id_are_different(
        self, talk: Converse, serve: Any, dispatcher: Any, town: Town, journal: Any
    ) -> None:
        d = dispatcher.with_journal(journal)
        script = [completion(weather()), completion(weather()), completion(weather("Lima")), DONE]
        turns = [talk(serve(*script).url, with_dispatcher=d, session_id="s") for _ in range(2)]
        assert town.asked == ["Madrid", "Madrid", "Lima"]
        assert [[result.replayed for result in turn.calls] for turn in turns] == [[False] * 3, [True] * 3]

    def test_without_a_session_nothing_runs(
        self, talk: Converse, serve: Any, dispatcher: Any, journal: Any, town: Town
    ) -> None:
        with pytest.raises(ValueError, match="give session_id"):
            talk(serve(completion(weather())).url, with_dispatcher=dispatcher.with_journal(journal))
        assert town.asked == []

    def test_a_journal_that_fails_submits_nothing(
        self, talk: Converse, serve: Any, dispatcher: Any, journal: Any, town: Town
    ) -> None:
        async def fail(*args: Any) -> None:
            raise OSError

        journal.finish = fail
        server = serve(completion(weather()), DONE)
        with pytest.raises(town.runtime.ResultsNotStored):
            talk(server.url, with_dispatcher=dispatcher.with_journal(journal), session_id="s")
        assert len(server.requests) == 1

    def test_a_call_that_another_worker_runs_is_its_to_answer(
        self, talk: Converse, serve: Any, dispatcher: Any, journal: Any, town: Town, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(importlib.import_module(f"{NAME}.runtime.journalled"), "WAIT", 0)
        types = importlib.import_module(f"{NAME}.runtime.journal")

        async def begin(*args: Any) -> Any:
            return types.Running()

        journal.begin = begin
        server = serve(completion(weather()), DONE)
        with pytest.raises(town.runtime.LoopError, match="another worker answers this response"):
            talk(server.url, with_dispatcher=dispatcher.with_journal(journal), session_id="s")
        assert (town.asked, len(server.requests)) == ([], 1)
