"""The loop over Messages, with the vendor's own clients: against a server by others, and answers of our own."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic, DefaultAsyncHttpxClient, DefaultHttpxClient
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from tests.loops.conftest import run_turn
from tests.loops.oci_support import Answer, Canned, canned
from tests.loops.town import Town, town_package
from tests.loops.vendors import message_complaints, message_stream

NAME = "messages_package"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("messages"), NAME, "anthropic") as package:
        yield package


@pytest.fixture(scope="module")
def loop(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime.loops.anthropic")


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
        settings: Any = {"base_url": url, "api_key": "x", "max_retries": retries}
        # The certificates that a client reads by default are of no use here, and take it a tenth of a second.
        clients: dict[str, Callable[[], Any]] = {
            "sync": lambda: Anthropic(**settings, http_client=DefaultHttpxClient(verify=False)),
            "async": lambda: AsyncAnthropic(**settings, http_client=DefaultAsyncHttpxClient(verify=False)),
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
            sent = [one if isinstance(one, Answer) or not stream else message_stream(one) for one in answers]
            server = stack.enter_context(canned(sent))
            servers.append(server)
            return server

        yield start
    for server in servers:
        for body in server.bodies():
            assert message_complaints(body) == []


def use(name: str, input: Any, id: str = "toolu_1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input} | fields


def weather(city: str = "Madrid", id: str = "toolu_1") -> dict[str, Any]:
    return use("get_weather", {"city": city}, id)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content} | fields


def message(*content: dict[str, Any], end: str = "", id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    uses = any(block["type"] == "tool_use" for block in content)
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": end or ("tool_use" if uses else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 5},
    } | fields


DONE = message(text("done"), id="msg_9")
THINKING = {"type": "thinking", "thinking": "A map, and the weather.", "signature": "c2lnbmF0dXJl"}
REDACTED = {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="}
USER = {"role": "user", "content": "hi"}


class TestAgainstAServerByOthers:
    """The server and its faults are LLMock's."""

    @pytest.fixture(autouse=True)
    def judged(self, llmock: LLMock) -> Iterator[None]:
        yield
        for request in llmock.requests:
            assert message_complaints(request.body) == []

    @pytest.fixture
    def url(self, llmock: LLMock) -> str:
        return llmock.base_url("anthropic")

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_it_calls_by_itself_and_then_answers(self, converse: Converse, url: str, town: Town, stream: bool) -> None:
        turn = converse(url, "Draw me a map", context="ada", stream=stream)
        assert turn.text
        assert (turn.status, turn.steps, town.asked) == ("end_turn", 2, ["map"])
        assert [(result.name, result.success) for result in turn.calls] == [("draw_map", True)]
        assert turn.history[-1] == {"role": "assistant", "content": [text(turn.text)]}

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, stream: bool
    ) -> None:
        calls = [
            ToolCall("get_weather", {"city": "Madrid"}),
            ToolCall("get_weather", {"city": "X"}),
            ToolCall("get_wether", {"city": "Lima"}),
            ToolCall("get_weather", {"city": "Atlantis"}),
            ToolCall("write_essay", {"characters": 17 * 1024 * 1024}),
            ToolCall("book", {"people": 9}),
            ToolCall("get_weather", {"city": "Quito"}),
        ]
        llmock.add(Reply(text="One moment.", tool_calls=tuple(calls))).reply("done")
        turn = converse(url, stream=stream)
        assert (turn.text, turn.steps) == ("done", 2)
        codes = [result.error and result.error.code for result in turn.calls]
        assert codes == [
            None,
            "invalid_arguments",
            "unknown_tool",
            "handler_error",
            "output_too_large",
            "handler_error",
            None,
        ]
        _, assistant, answer = llmock.last_request.body["messages"]
        assert assistant["content"][0] == text("One moment.")
        assert [(block["name"], block["input"]) for block in assistant["content"][1:]] == [
            (one.name, one.arguments) for one in calls
        ]
        assert answer["role"] == "user"
        assert [block["tool_use_id"] for block in answer["content"]] == [
            block["id"] for block in assistant["content"][1:]
        ]
        assert [block.get("is_error", False) for block in answer["content"]] == [code is not None for code in codes]
        assert json.loads(answer["content"][0]["content"]) == {"city": "Madrid", "degrees": 6, "for": None}
        assert answer["content"][5]["content"] == "There are tables for eight at most."
        assert "secret" not in json.dumps(answer)

    def test_a_broken_input_is_the_models_to_mend(
        self, converse: Converse, llmock: LLMock, url: str, town: Town
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}).break_tool_call("malformed_arguments")
        llmock.call_tool("get_weather", {"city": "Lima"}).reply("done")
        turn = converse(url, stream=True)
        assert [result.error and result.error.code for result in turn.calls] == ["invalid_json", None]
        assert (turn.text, town.asked) == ("done", ["Lima"])
        assert list(turn.history[1]["content"][0]["input"]) == ["INVALID_JSON"]

    def test_errors_that_pass_are_the_clients_to_retry(
        self, converse: Converse, llmock: LLMock, url: str, town: Town
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}).reply("done")
        llmock.rate_limit(times=1, retry_after=0.01).fail(529, times=1, retry_after=0.01)
        assert converse(url, retries=2).text == "done"
        assert town.asked == ["Madrid"]

    def test_errors_that_stay_reach_the_caller(self, converse: Converse, llmock: LLMock, url: str) -> None:
        llmock.outage()
        with pytest.raises(anthropic.InternalServerError):
            converse(url)

    @pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
    @pytest.mark.parametrize("after", [1, 3])
    def test_a_stream_that_breaks_is_asked_for_again(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, fault: str, after: int
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=2).reply("done")
        getattr(llmock, fault)(after_chunks=after, times=1)
        assert converse(url, stream=True).text == "done"
        assert town.asked == ["Madrid"]
        assert not llmock.verdict().errors

    @pytest.mark.parametrize("fault", ["disconnect", "truncate"])
    def test_a_stream_that_keeps_breaking_runs_nothing(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, fault: str
    ) -> None:
        llmock.call_tool("get_weather", {"city": "Madrid"}, times=None)
        getattr(llmock, fault)(after_chunks=2, times=None)
        with pytest.raises(Exception) as failed:  # which one is the client's and its transport's to say
            converse(url, stream=True)
        assert type(failed.value).__name__ in ("RemoteProtocolError", "APIConnectionError", "TurnFailed")
        assert (fault == "truncate") == isinstance(failed.value, town.runtime.TurnFailed)
        assert (len(llmock.requests), town.asked) == (3, [])

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    @pytest.mark.parametrize("end", ["max_tokens", "model_context_window_exceeded", "refusal"])
    def test_a_message_that_was_cut_off_runs_nothing(
        self, converse: Converse, llmock: LLMock, url: str, town: Town, stream: bool, end: str
    ) -> None:
        city = ToolCall("get_weather", {"city": "Madrid"})
        llmock.add(Reply(text="half of", tool_calls=(city, city), finish_reason=end)).reply("done")
        turn = converse(url, stream=stream)
        assert (turn.status, turn.text, town.asked) == (end, "half of", [])
        assert [(result.error.code, result.ran) for result in turn.calls] == [("cut_off", False)] * 2
        half = [] if end == "refusal" else [{"role": "assistant", "content": [text("half of")]}]
        assert turn.history == [USER, *half]
        assert converse(url, [*turn.history, {"role": "user", "content": "go on"}]).text == "done"


class TestRequests:
    def test_the_second_one_is_exactly_this(self, talk: Converse, serve: Any, dispatcher: Any) -> None:
        content = [THINKING, REDACTED, text("One moment."), weather("Málaga"), use("draw_map", {}, "toolu_2")]
        server = serve(message(*content, use("nope", {}, "toolu_3")), DONE)
        turn = talk(server.url, system="Be brief.")
        assert turn.text == "done"
        first, second = server.bodies()
        assert first["tools"] == dispatcher.payload("anthropic")
        assert second["messages"] == [
            USER,
            {"role": "assistant", "content": [*content, use("nope", {}, "toolu_3")]},
            {
                "role": "user",
                "content": [
                    result("toolu_1", '{"city":"Málaga","degrees":6,"for":null}'),
                    result(
                        "toolu_2",
                        [
                            text("A map:"),
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                            },
                        ],
                    ),
                    result(
                        "toolu_3",
                        'There is no tool "nope". The tools are: book, draw_map, get_weather, write_essay.',
                        is_error=True,
                    ),
                ],
            },
        ]
        assert first["messages"] == [USER]
        assert first == second | {"messages": [USER]}
        assert (first["system"], first["max_tokens"]) == ("Be brief.", 4096)

    def test_an_output_without_text_has_no_content(self, talk: Converse, serve: Any) -> None:
        server = serve(message(use("write_essay", {"characters": 0})), DONE)
        assert talk(server.url).text == "done"
        assert server.bodies()[1]["messages"][-1]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1"}]

    def test_blank_texts_and_empty_messages_are_not_sent_back(self, talk: Converse, serve: Any) -> None:
        server = serve(message(text("\n\n"), weather()), message(), DONE)
        first = talk(server.url)
        assert (first.text, first.status) == ("", "end_turn")
        assert [one["role"] for one in first.history] == ["user", "assistant", "user"]
        assert first.history[1]["content"] == [weather()]
        assert talk(server.url, [*first.history, {"role": "user", "content": "Well?"}]).text == "done"

    def test_the_next_turn(self, talk: Converse, serve: Any) -> None:
        server = serve(message(weather()), DONE, message(weather("Lima", "toolu_2")), message(text("cold")))
        first = talk(server.url, "How warm?")
        second = talk(server.url, [*first.history, {"role": "user", "content": "And Lima?"}])
        assert second.text == "cold"
        assert [one["role"] for one in second.history] == ["user", "assistant"] * 4

    def test_an_answer_of_the_api_may_stand_in_the_history(self, talk: Converse, serve: Any) -> None:
        server = serve(message(text("one")), message(text("two")))
        first = talk(server.url)
        assert talk(server.url, [USER, first.raw, {"role": "user", "content": "more"}]).text == "two"
        assert server.bodies()[1]["messages"][1] == {"role": "assistant", "content": [text("one")]}

    @pytest.mark.parametrize(
        ("choice", "then"),
        [
            ({"type": "any"}, None),
            ({"type": "auto"}, {"type": "auto"}),
            ({"type": "none"}, {"type": "none"}),
            ({"type": "tool", "name": "get_weather"}, None),
            (
                {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
                {"type": "auto", "disable_parallel_tool_use": True},
            ),
        ],
    )
    def test_a_forced_choice_holds_for_the_first_request(
        self, talk: Converse, serve: Any, choice: Any, then: Any
    ) -> None:
        server = serve(message(weather()), message(weather("Lima")), DONE)
        assert talk(server.url, tool_choice=choice).text == "done"
        assert [body.get("tool_choice") for body in server.bodies()] == [choice, then, then]

    def test_a_part_of_the_tools(self, talk: Converse, serve: Any, dispatcher: Any) -> None:
        server = serve(DONE)
        talk(server.url, with_dispatcher=dispatcher.only("get_*"))
        assert [tool["name"] for tool in server.bodies()[0]["tools"]] == ["get_weather"]


class TestCalls:
    def test_they_run_at_once(self, talk: Converse, serve: Any, town: Town) -> None:
        town.meeting = threading.Barrier(3)
        cities = ["Madrid", "Lima", "Quito"]
        server = serve(message(*[weather(city, f"toolu_{city}") for city in cities]), DONE)
        assert [json.loads(result.output)["city"] for result in talk(server.url).calls] == cities

    def test_ids_that_are_missing_or_come_twice_are_made_up(self, talk: Converse, serve: Any, town: Town) -> None:
        uses = [weather("Lima", ""), weather("Cusco", ""), weather("Lima", "toolu_9"), weather("Quito", "toolu_9")]
        sent: list[Any] = []
        for _ in range(2):
            server = serve(message(*uses), DONE)
            assert [json.loads(result.output)["city"] for result in talk(server.url).calls] == [
                *("Lima", "Cusco"),
                *("Lima", "Quito"),
            ]
            sent.append(server.bodies()[1]["messages"])
        assert sent[0] == sent[1]
        assert sent[0][1]["content"][2]["id"] == "toolu_9"

    def test_a_use_that_comes_twice_runs_once(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(message(weather("Lima"), text("and"), weather("Lima")), DONE)
        assert len(talk(server.url).calls) == 1
        assert town.asked == ["Lima"]
        assert server.bodies()[1]["messages"][1]["content"] == [weather("Lima"), text("and")]

    def test_numbers_of_a_stream_keep_their_digits(self, converse: Converse, town: Town) -> None:
        big = 2**70 + 1
        answers = [message_stream(message(use("book", {"people": -big, "note": "x"}))), message_stream(DONE)]
        with canned(answers) as server:
            converse(server.url, stream=True)
            assert server.bodies()[1]["messages"][1]["content"][0]["input"]["people"] == -big
        assert town.asked == [f"{-big} 'x'"]

    @pytest.mark.parametrize("given", ['{"city": "Mad', '["Madrid"]', '{"city": "Madrid", "city": "Lima"}', "NaN"])
    def test_an_input_that_is_no_object_runs_nothing(self, converse: Converse, town: Town, given: str) -> None:
        answers = [message_stream(message(use("get_weather", given))), message_stream(DONE)]
        with canned(answers) as server:
            turn = converse(server.url, stream=True)
            second = server.bodies()[1]
        assert (turn.text, turn.calls[0].success, town.asked) == ("done", False, [])
        assert second["messages"][1]["content"] == [use("get_weather", {"INVALID_JSON": given})]
        assert message_complaints(second) == []

    def test_an_optional_property_stays_absent(self, talk: Converse, serve: Any, town: Town) -> None:
        talk(serve(message(use("book", {"people": 3})), DONE).url)
        assert town.asked == ["3 None"]

    def test_tools_of_the_service_are_the_services(self, talk: Converse, serve: Any, town: Town) -> None:
        search = [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        ]
        server = serve(message(*search, weather()), message(*search, text("done"), id="msg_2"))
        turn = talk(server.url, tools=[{"type": "web_search_20250305", "name": "web_search"}])
        assert turn.text == "done"
        assert [result.name for result in turn.calls] == ["get_weather"]
        assert server.bodies()[1]["messages"][1]["content"] == [*search, weather()]

    def test_a_tool_of_the_vendor_that_runs_here_is_the_callbacks(self, talk: Converse, serve: Any, town: Town) -> None:
        bash = {"type": "bash_20250124", "name": "bash"}
        uses = [text("Both."), use("bash", {"command": "ls"}, "toolu_2"), weather()]
        server = serve(message(*uses), DONE)
        answers = iter([result("toolu_2", "a file")])
        turn = talk(server.url, tools=[bash], on_action=lambda action: next(answers))
        assert (turn.text, [result.name for result in turn.calls]) == ("done", ["get_weather"])
        content = server.bodies()[1]["messages"][2]["content"]
        assert [block["tool_use_id"] for block in content] == ["toolu_1", "toolu_2"]
        town.asked.clear()
        for callback in (None, lambda action: None):
            with pytest.raises(town.runtime.UnhandledAction, match="'tool_use'"):
                talk(serve(message(*uses)).url, tools=[bash], on_action=callback)
        assert town.asked == []

    def test_the_container_of_a_step_is_the_next_ones(self, talk: Converse, serve: Any) -> None:
        container = {"id": "container_1", "expires_at": "2030-01-01T00:00:00Z"}
        server = serve(message(weather(), container=container), DONE)
        assert talk(server.url).text == "done"
        assert [body.get("container") for body in server.bodies()] == [None, "container_1"]


class TestEndings:
    def test_a_paused_turn_goes_on(self, talk: Converse, serve: Any) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
        server = serve(message(search, end="pause_turn"), DONE)
        turn = talk(server.url)
        assert (turn.text, turn.status, turn.steps) == ("done", "end_turn", 2)
        assert server.bodies()[1]["messages"] == [USER, {"role": "assistant", "content": [search]}]

    def test_a_turn_that_only_pauses_ends_too(self, talk: Converse, serve: Any, town: Town) -> None:
        with pytest.raises(town.runtime.StepLimit, match="the model has not come to an end after 3 steps"):
            talk(serve(message(text("hm"), end="pause_turn")).url, max_steps=3)

    def test_the_number_of_steps(self, talk: Converse, serve: Any, town: Town) -> None:
        server = serve(message(weather()), message(weather("Lima")), DONE)
        with pytest.raises(town.runtime.StepLimit, match="after 2 steps: get_weather") as limit:
            talk(server.url, max_steps=2)
        assert [call.arguments for call in limit.value.pending] == [{"city": "Lima"}]
        assert town.asked == ["Madrid"]

    def test_an_answer_that_is_none(self, converse: Converse, town: Town) -> None:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Try later."}}
        with canned([error]) as server, pytest.raises(town.runtime.TurnFailed, match="Try later") as failed:
            converse(server.url)
        assert failed.value.code == "overloaded_error"

    def test_an_error_in_a_stream_is_the_clients_to_raise(self, converse: Converse, town: Town) -> None:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Try later."}}
        answer = message_stream(message(weather()))
        begin = answer.body.index("event: message_delta")
        answer.body = answer.body[:begin] + f"event: error\ndata: {json.dumps(error)}\n\n"
        with canned([answer]) as server, pytest.raises(anthropic.APIStatusError, match="Try later"):
            converse(server.url, stream=True)
        assert town.asked == []


class TestEvents:
    def test_on_event_sees_what_happens(self, talk: Converse, serve: Any, stream: bool, town: Town) -> None:
        seen: list[Any] = []
        turn = talk(serve(message(weather(), weather("X", "toolu_2")), DONE).url, on_event=seen.append)
        ours = [event for event in seen if isinstance(event, (town.runtime.CallsReceived, town.runtime.ResultsReady))]
        assert [type(event).__name__ for event in ours] == ["CallsReceived", "ResultsReady"]
        assert [result.success for result in ours[1].results] == [True, False]
        assert bool([event for event in seen if event not in ours]) == stream
        assert isinstance(turn.raw, dict) == stream
        if stream:
            assert turn.raw == DONE

    @pytest.mark.parametrize("error", [LookupError("mine"), ConnectionError("mine")])
    def test_what_it_raises_ends_the_turn(self, talk: Converse, serve: Any, town: Town, error: Exception) -> None:
        def on_event(event: Any) -> None:
            raise error

        with pytest.raises(type(error), match="mine"):
            talk(serve(message(weather()), DONE).url, on_event=on_event)
        assert town.asked == []


class TestJournal:
    @pytest.fixture
    def journal(self) -> Any:
        return importlib.import_module(f"{NAME}.runtime.journal.memory").MemoryJournal()

    def test_a_message_that_is_read_twice_runs_once(
        self, talk: Converse, serve: Any, dispatcher: Any, town: Town, journal: Any
    ) -> None:
        types = importlib.import_module(f"{NAME}.runtime.journal")
        d = dispatcher.with_journal(journal)
        sent: list[Any] = []
        for _ in range(2):
            server = serve(message(weather(), weather("Lima", "toolu_2")), DONE)
            turn = talk(server.url, with_dispatcher=d, session_id="chat 7")
            sent.append(server.bodies()[1]["messages"])
        assert sent[0] == sent[1]
        assert sorted(town.asked) == ["Lima", "Madrid"]
        for result in turn.calls:
            assert (result.replayed, result.call.session_id, result.call.turn_id) == (True, "chat 7", "msg_1")
            assert journal.is_submitted(types.Key("chat 7", "msg_1", result.call_id))

    def test_without_a_session_nothing_runs(
        self, talk: Converse, serve: Any, dispatcher: Any, journal: Any, town: Town
    ) -> None:
        with pytest.raises(ValueError, match="give session_id"):
            talk(serve(message(weather())).url, with_dispatcher=dispatcher.with_journal(journal))
        assert town.asked == []

    def test_a_journal_that_fails_submits_nothing(
        self, talk: Converse, serve: Any, dispatcher: Any, journal: Any, town: Town
    ) -> None:
        async def fail(*args: Any) -> None:
            raise OSError

        journal.finish = fail
        server = serve(message(weather()), DONE)
        with pytest.raises(town.runtime.ResultsNotStored):
            talk(server.url, with_dispatcher=dispatcher.with_journal(journal), session_id="s")
        assert len(server.requests) == 1
