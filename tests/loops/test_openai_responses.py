"""The loop over OpenAI Responses, with the vendor's own clients against a simulated service."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from codegen.simulator import Simulator, SimulatorReport
from tests.loops.town import Town, town_package
from tests.simulator.scripts import fault, say, turn

NAME = "responses_package"
OTHER = {"name": "other", "turns": [{"model": [{"say": "hello"}]}]}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("responses"), NAME, "openai_responses") as package:
        yield package


@pytest.fixture(scope="module")
def loop(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime.loops.openai_responses")


@pytest.fixture
def town(package: ModuleType) -> Town:
    return Town(importlib.import_module(f"{NAME}.runtime"))


@pytest.fixture
def dispatcher(package: ModuleType, town: Town) -> Iterator[Any]:
    made = package.dispatcher(town)
    yield made
    made.close()


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator([OTHER]) as simulator:
        yield simulator


@pytest.fixture
def add(simulator: Simulator, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Adds a scenario under the name of the test: steps of one turn, or whole turns."""

    def add(*parts: Any, **fields: Any) -> str:
        name = "".join(c if c.isalnum() or c in "_-" else "-" for c in request.node.name)
        turns = list(parts) if "model" in parts[0] else [{"model": list(parts)}]
        simulator.add({"name": name, "turns": turns, **fields})
        return name

    return add


@pytest.fixture
def report(simulator: Simulator) -> Callable[[str], SimulatorReport]:
    return lambda name: simulator.report().of(name)


def weather(city: str = "Madrid", **fields: Any) -> dict[str, Any]:
    return {"name": "get_weather", "arguments": {"city": city}, **fields}


def step(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"calls": list(calls), **fields}


WAYS = {
    "run_sync": ("sync", "run_sync"),
    "run with a sync client": ("sync", "run"),
    "run": ("async", "run"),
}


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def converse(
    request: pytest.FixtureRequest, loop: ModuleType, dispatcher: Any, simulator: Simulator
) -> Callable[..., Any]:
    """Runs a turn in each of the ways there are: `converse(model, input, ...)`."""
    client_kind, function = request.param

    def run(model: str, input: Any = "hi", *, with_dispatcher: Any = None, retries: int = 0, **options: Any) -> Any:
        d = dispatcher if with_dispatcher is None else with_dispatcher
        settings: Any = {"base_url": simulator.openai_base_url, "api_key": "x", "max_retries": retries, "timeout": 30}
        if function == "run_sync":
            with OpenAI(**settings) as client:
                return loop.run_sync(d, client, model=model, input=input, **options)

        async def work() -> Any:
            if client_kind == "sync":
                with OpenAI(**settings) as client:
                    return await loop.run(d, client, model=model, input=input, **options)
            async with AsyncOpenAI(**settings) as client:
                return await loop.run(d, client, model=model, input=input, **options)

        return asyncio.run(work())

    return run


@pytest.fixture(params=["history", "chain", "conversation"])
def kept(request: pytest.FixtureRequest, simulator: Simulator) -> dict[str, Any]:
    """The ways to keep the history, as options of the loop."""
    if request.param == "history":
        return {}
    if request.param == "chain":
        return {"chain": True}
    with OpenAI(base_url=simulator.openai_base_url, api_key="x") as client:
        return {"conversation": client.conversations.create().id}


THINKING = step(
    weather("Madrid", **{"as": "madrid", "result": {"has": {"degrees": 6, "for": "ada"}}}),
    weather("Barcelona", result={"has": {"degrees": 9}}),
    {"name": "book", "arguments": {"people": 2}, "result": {"text": "booked"}},
    reasoning="Two cities and a table.",
    say="One moment.",
)
LATER = step(weather("Lima", result={"has": {"city": "Lima"}}), reasoning="One more.")
ANSWER = say("{{madrid.degrees}} degrees.")


class TestConversations:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_to_the_answer(
        self, converse: Any, add: Any, report: Any, town: Town, kept: dict[str, Any], stream: bool
    ) -> None:
        """The simulated service refuses what the real one refuses: lost reasoning, a missing or a second output."""
        name = add(THINKING, LATER, ANSWER)
        turn = converse(name, "How warm is it?", context="ada", stream=stream, **kept)
        assert (turn.text, turn.status, turn.steps) == ("6 degrees.", "completed", 3)
        assert [result.name for result in turn.calls] == ["get_weather", "get_weather", "book", "get_weather"]
        assert all(result.success for result in turn.calls)
        assert json.loads(turn.calls[0].output) == {"city": "Madrid", "degrees": 6, "for": "ada"}
        assert json.loads(turn.calls[0].arguments)["city"] == "Madrid"
        assert turn.raw.output_text == turn.text
        assert sorted(town.asked) == ["2 None", "Barcelona", "Lima", "Madrid"]
        assert report(name).ok, report(name).problems()
        assert not report(name).refused

    def test_without_storage_reasoning_travels_encrypted(self, converse: Any, add: Any, report: Any) -> None:
        name = add(THINKING, ANSWER)
        assert converse(name, context="ada", store=False).text == "6 degrees."
        assert converse(name, context="ada", store=False, include=["message.output_text.logprobs"]).steps == 2
        assert report(name).ok, report(name).problems()

    def test_a_turn_without_calls(self, converse: Any, add: Any, kept: dict[str, Any]) -> None:
        turn = converse(add(say("hello")), **kept)
        assert (turn.text, turn.calls, turn.steps) == ("hello", [], 1)

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_the_next_turn(self, converse: Any, add: Any, report: Any, kept: dict[str, Any], stream: bool) -> None:
        name = add(
            turn(THINKING, ANSWER, user="How warm?"),
            turn(step(weather("Lima")), say("cold"), user={"contains": "Lima"}),
        )
        first = converse(name, "How warm?", context="ada", stream=stream, **kept)
        again = dict(kept)
        if "chain" in kept:
            again = {"previous_response_id": first.raw.id}
        second = converse(
            name, [*first.history, {"role": "user", "content": "And Lima?"}], context="ada", stream=stream, **again
        )
        assert second.text == "cold"
        assert [result.name for result in second.calls] == ["get_weather"]
        assert bool(first.history) == (not kept)
        assert report(name).ok, report(name).problems()

    def test_a_conversation_may_be_given_as_an_object(
        self, loop: Any, dispatcher: Any, simulator: Simulator, add: Any
    ) -> None:
        name = add(step(weather()), say("done"))
        with OpenAI(base_url=simulator.openai_base_url, api_key="x") as client:
            conversation = client.conversations.create()
            for given in ({"id": conversation.id}, client.conversations.create().id):
                assert loop.run_sync(dispatcher, client, model=name, input="hi", conversation=given).text == "done"

    def test_two_ways_at_once_exclude_each_other(self, converse: Any) -> None:
        for options in ({"chain": True}, {"previous_response_id": "resp_1"}):
            with pytest.raises(ValueError, match="exclude each other"):
                converse("other", conversation="conv_1", **options)

    def test_input_items_of_the_sdk_are_taken_too(self, converse: Any, add: Any) -> None:
        name = add(turn(say("one")), turn(say("two")))
        first = converse(name, "hi")
        items = [{"role": "user", "content": "hi"}, *first.raw.output, {"role": "user", "content": "more"}]
        assert converse(name, items).text == "two"

    def test_further_arguments_go_with_every_request(
        self, converse: Any, add: Any, simulator: Simulator, report: Any
    ) -> None:
        name = add(step(weather()), say("done"))
        converse(name, instructions="Be brief.", parallel_tool_calls=False)
        bodies = [exchange.request for exchange in report(name).exchanges if exchange.operation == "responses.create"]
        assert len(bodies) == 2
        assert all(body["instructions"] == "Be brief." and not body["parallel_tool_calls"] for body in bodies)
        assert all([tool.get("name") for tool in body["tools"]][:2] == ["book", "draw_map"] for body in bodies)


class TestCalls:
    def test_they_run_at_once(self, converse: Any, add: Any, town: Town) -> None:
        town.meeting = threading.Barrier(3)
        name = add(step(weather("Madrid"), weather("Lima"), weather("Quito")), say("done"))
        assert [json.loads(result.output)["city"] for result in converse(name).calls] == ["Madrid", "Lima", "Quito"]

    def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
        self, converse: Any, add: Any, report: Any, kept: dict[str, Any]
    ) -> None:
        name = add(
            step(
                weather("Madrid", result={"has": {"degrees": 6}}),
                weather("X", result={"error": ["/city", "at least 2 characters"]}),
                {
                    "name": "get_wether",
                    "arguments": {"city": "Lima"},
                    "invented": True,
                    "result": {"error": "get_weather"},
                },
                weather("Atlantis", result={"error": "internal reason"}),
                {"name": "get_weather", "raw": '{"city": "Mad', "result": {"error": "not valid JSON"}},
                {"name": "book", "arguments": {"people": 9, "note": "x"}, "result": {"error": "tables for eight"}},
                {"name": "get_weather", "raw": "", "result": {"error": "city"}},
                weather("Quito", result={"has": {"city": "Quito"}}),
            ),
            step(weather("Xi", result={"has": {"city": "Xi"}})),
            say("done"),
        )
        turn = converse(name, **kept)
        assert [result.error and result.error.code for result in turn.calls] == [
            None,
            "invalid_arguments",
            "unknown_tool",
            "handler_error",
            "invalid_json",
            "handler_error",
            "invalid_arguments",
            None,
            None,
        ]
        assert "secret" not in json.dumps([exchange.request for exchange in report(name).exchanges])
        assert report(name).ok, report(name).problems()
        assert not report(name).refused

    def test_a_null_of_strict_mode_is_an_absent_property(
        self, converse: Any, add: Any, town: Town, report: Any
    ) -> None:
        name = add(step({"name": "book", "arguments": {"people": 3}}), say("done"))
        turn = converse(name)
        assert json.loads(turn.calls[0].arguments) == {"people": 3, "note": None}
        assert town.asked == ["3 None"]

    def test_a_deferred_function_is_found_and_runs(
        self, converse: Any, add: Any, report: Any, kept: dict[str, Any]
    ) -> None:
        name = add(step({"name": "draw_map", "result": {"contains": "A map:"}}), say("done"))
        turn = converse(name, **kept)
        assert [(result.name, result.success) for result in turn.calls] == [("draw_map", True)]
        assert turn.calls[0].content is not None
        assert report(name).ok, report(name).problems()

    def test_a_part_of_the_tools(self, converse: Any, add: Any, dispatcher: Any, report: Any) -> None:
        name = add(step(weather()), say("done"))
        turn = converse(name, with_dispatcher=dispatcher.only("get_*"))
        assert turn.text == "done"
        assert [tool["name"] for tool in report(name).exchanges[0].request["tools"]] == ["get_weather"]

    def test_a_failing_tool_is_the_models_to_mend(self, converse: Any, add: Any, report: Any) -> None:
        name = add(
            step(weather("M", result={"error": "/city"})),
            step(weather("Madrid", result={"success": True})),
            say("done"),
        )
        assert [result.success for result in converse(name).calls] == [False, True]
        assert report(name).ok


class TestLimits:
    def test_the_number_of_steps(self, converse: Any, add: Any, town: Town, kept: dict[str, Any]) -> None:
        name = add(step(weather("Madrid")), step(weather("Lima")), step(weather("Quito")), say("done"))
        with pytest.raises(town.runtime.StepLimit, match="after 2 steps: get_weather") as limit:
            converse(name, max_steps=2, **kept)
        assert limit.value.steps == 2
        assert [json.loads(call.arguments)["city"] for call in limit.value.pending] == ["Lima"]
        assert limit.value.raw.status == "completed"
        assert town.asked == ["Madrid"]

    @pytest.mark.parametrize(
        ("choice", "then"),
        [
            ("required", None),
            ({"type": "function", "name": "get_weather"}, None),
            ("auto", "auto"),
            (
                {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]},
                {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]},
            ),
        ],
    )
    def test_a_forced_choice_holds_for_the_first_request(
        self, converse: Any, add: Any, report: Any, choice: Any, then: Any
    ) -> None:
        name = add(step(weather()), step(weather("Lima")), say("done"))
        assert converse(name, tool_choice=choice).text == "done"
        choices = [exchange.request.get("tool_choice") for exchange in report(name).exchanges]
        assert choices == [choice, then, then]
        assert report(name).ok, report(name).problems()

    def test_no_tools_means_none_throughout(self, converse: Any, add: Any, report: Any) -> None:
        name = add(say("done"))
        converse(name, tool_choice="none")
        assert report(name).exchanges[0].request["tool_choice"] == "none"


class TestEndings:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_a_response_that_was_cut_off_runs_nothing(
        self, converse: Any, add: Any, town: Town, kept: dict[str, Any], stream: bool
    ) -> None:
        name = add(step(weather("Madrid"), weather("A city with a long name"), end="incomplete"))
        turn = converse(name, stream=stream, **kept)
        assert (turn.status, town.asked) == ("incomplete", [])
        assert [(result.name, result.error.code, result.ran) for result in turn.calls] == [
            ("get_weather", "cut_off", False)
        ] * 2

    def test_after_such_a_response_the_conversation_goes_on(
        self, converse: Any, add: Any, town: Town, report: Any, kept: dict[str, Any]
    ) -> None:
        if kept:
            name = add(step(weather(), end="incomplete"), say("I see."))
        else:  # the service does not have the half answer
            name = add(turn(say("half of an answer", end="incomplete")))
        first = converse(name, "hi", **kept)
        assert first.status == "incomplete"
        if not kept:
            assert first.history == [{"role": "user", "content": "hi"}]
            return
        again = {"previous_response_id": first.raw.id} if "chain" in kept else kept
        assert converse(name, first.history, **again).text == "I see."
        assert town.asked == []
        assert report(name).ok, report(name).problems()

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_a_text_that_was_cut_off(self, converse: Any, add: Any, stream: bool) -> None:
        turn = converse(add(say("half of it", end="incomplete")), stream=stream)
        assert (turn.status, turn.text, turn.calls) == ("incomplete", "half ", [])

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_a_response_that_failed(self, converse: Any, add: Any, town: Town, stream: bool) -> None:
        name = add(step(weather()), {"end": "failed", "error": {"code": "server_error", "message": "It broke."}})
        with pytest.raises(town.runtime.TurnFailed, match=r"ended as failed: It broke\.") as failed:
            converse(name, stream=stream)
        assert (failed.value.status, failed.value.code) == ("failed", "server_error")
        assert failed.value.raw.status == "failed"
        assert town.asked == ["Madrid"]


class TestFaults:
    @pytest.mark.parametrize("status", [429, 500])
    def test_errors_that_pass_are_the_clients_to_retry(
        self, converse: Any, add: Any, report: Any, town: Town, status: int
    ) -> None:
        name = add(
            step(weather(), faults=[fault("http", status=status, times=2, retry_after=0.01)]),
            say("done", faults=[fault("http", status=status, times=1, retry_after=0.01)]),
        )
        assert converse(name, retries=2).text == "done"
        assert town.asked == ["Madrid"]
        assert report(name).ok

    def test_errors_that_stay_reach_the_caller(self, converse: Any, add: Any, town: Town) -> None:
        name = add(step(weather()), say("done", faults=[fault("http", status=500, times=9, retry_after=0.01)]))
        with pytest.raises(openai.InternalServerError):
            converse(name)
        assert town.asked == ["Madrid"]

    @pytest.mark.parametrize("options", [{}, {"chain": True}], ids=["history", "chain"])
    @pytest.mark.parametrize("clean", [False, True], ids=["breaks off", "ends early"])
    @pytest.mark.parametrize("before", ["call", "end"])
    def test_a_stream_that_drops_is_asked_for_again(
        self, converse: Any, add: Any, report: Any, town: Town, options: Any, clean: bool, before: str
    ) -> None:
        name = add(
            step(weather(), faults=[fault("drop", before=before, times=2, clean=clean)]),
            step(weather("Lima"), faults=[fault("drop", after=1, clean=clean)]),
            say("done"),
        )
        assert converse(name, stream=True, **options).text == "done"
        assert town.asked == ["Madrid", "Lima"]
        assert report(name).ok, report(name).problems()

    @pytest.mark.parametrize("clean", [False, True], ids=["breaks off", "ends early"])
    def test_a_stream_that_keeps_dropping_runs_nothing(self, converse: Any, add: Any, town: Town, clean: bool) -> None:
        name = add(step(weather(), faults=[fault("drop", before="end", times=9, clean=clean)]), say("done"))
        with pytest.raises(town.runtime.TurnFailed if clean else openai.APIConnectionError):
            converse(name, stream=True)
        assert town.asked == []

    def test_nothing_is_sent_to_a_conversation_twice(
        self, converse: Any, add: Any, simulator: Simulator, town: Town, report: Any
    ) -> None:
        name = add(step(weather(), faults=[fault("drop", before="end")]), say("done"))
        with OpenAI(base_url=simulator.openai_base_url, api_key="x") as client:
            conversation = client.conversations.create().id
        with pytest.raises(openai.APIConnectionError):
            converse(name, stream=True, conversation=conversation)
        assert len([e for e in report(name).exchanges if e.operation == "responses.create"]) == 1

    def test_events_that_come_twice(self, converse: Any, add: Any, report: Any, town: Town) -> None:
        name = add(step(weather(), faults=[fault("duplicate")]), say("done"))
        assert converse(name, stream=True).text == "done"
        assert town.asked == ["Madrid"]


class TestEvents:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_on_event_sees_what_happens(self, converse: Any, add: Any, loop: Any, package: Any, stream: bool) -> None:
        runtime = importlib.import_module(f"{NAME}.runtime")
        seen: list[Any] = []
        name = add(step(weather("Madrid"), weather("X")), say("done"))
        converse(name, stream=stream, on_event=seen.append)
        ours = [event for event in seen if isinstance(event, (runtime.CallsReceived, runtime.ResultsReady))]
        assert [type(event).__name__ for event in ours] == ["CallsReceived", "ResultsReady"]
        assert [call.name for call in ours[0].calls] == ["get_weather"] * 2
        assert [result.success for result in ours[1].results] == [True, False]
        kinds = [event.type for event in seen if event not in ours]
        assert bool(kinds) == stream
        if stream:
            assert kinds.count("response.completed") == 2
            assert "response.output_text.delta" in kinds

    def test_an_async_one(self, loop: Any, dispatcher: Any, simulator: Simulator, add: Any) -> None:
        seen: list[str] = []

        async def on_event(event: Any) -> None:
            await asyncio.sleep(0)
            seen.append(type(event).__name__)

        async def work() -> Any:
            async with AsyncOpenAI(base_url=simulator.openai_base_url, api_key="x") as client:
                return await loop.run(dispatcher, client, model=name, input="hi", on_event=on_event)

        name = add(step(weather()), say("done"))
        assert asyncio.run(work()).text == "done"
        assert seen == ["CallsReceived", "ResultsReady"]

    @pytest.mark.parametrize("error", [LookupError("mine"), ConnectionError("mine"), TimeoutError("mine")])
    def test_what_it_raises_ends_the_turn(self, converse: Any, add: Any, town: Town, error: Exception) -> None:
        def on_event(event: Any) -> None:
            raise error

        with pytest.raises(type(error), match="mine"):
            converse(add(step(weather()), say("done")), stream=True, on_event=on_event)
        assert town.asked == []


class Scripted:
    """A client whose answers are given: for what the simulated service has no words."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.responses = self

    def create(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return self.answers.pop(0)


def scripted(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "status": "completed", "output": list(output)} | fields


APPROVAL = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "name": "delete",
    "arguments": "{}",
    "server_label": "files",
}
DONE = {"type": "message", "content": [{"type": "output_text", "text": "done"}]}
WEATHER_CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Madrid"}'}


class TestActions:
    def test_the_callback_answers_them(self, loop: Any, dispatcher: Any) -> None:
        client = Scripted(scripted(APPROVAL, WEATHER_CALL), scripted(DONE))
        answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
        asked: list[Any] = []

        def on_action(item: Any) -> Any:
            asked.append(item)
            return answer

        turn = loop.run_sync(dispatcher, client, model="m", input="hi", on_action=on_action)
        assert (turn.text, asked) == ("done", [APPROVAL])
        sent = client.requests[1]["input"]
        assert [item["type"] for item in sent[1:]] == [
            "mcp_approval_request",
            "function_call",
            "function_call_output",
            "mcp_approval_response",
        ]

    def test_without_one_it_is_said_clearly_and_nothing_runs(self, loop: Any, dispatcher: Any, town: Town) -> None:
        for on_action in (None, lambda item: None):
            client = Scripted(scripted(WEATHER_CALL, APPROVAL))
            with pytest.raises(town.runtime.UnhandledAction, match="'mcp_approval_request'") as unhandled:
                loop.run_sync(dispatcher, client, model="m", input="hi", on_action=on_action)
            assert (unhandled.value.kind, unhandled.value.action) == ("mcp_approval_request", APPROVAL)
        assert town.asked == []

    def test_a_home_made_async_client(self, loop: Any, dispatcher: Any) -> None:
        class Async(Scripted):
            async def create(self, **request: Any) -> dict[str, Any]:  # type: ignore[override]
                return super().create(**request)

        client = Async(scripted(WEATHER_CALL), scripted(DONE))
        assert asyncio.run(loop.run(dispatcher, client, model="m", input="hi")).text == "done"

    def test_items_that_need_no_answer(self, loop: Any, dispatcher: Any) -> None:
        hosted = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
        client = Scripted(scripted(hosted, {"type": "something_new", "id": "x"}, DONE))
        assert loop.run_sync(dispatcher, client, model="m", input="hi").text == "done"

    def test_a_background_response_is_refused_clearly(self, loop: Any, dispatcher: Any, town: Town) -> None:
        with pytest.raises(town.runtime.TurnFailed, match="ended as queued"):
            loop.run_sync(dispatcher, Scripted(scripted(WEATHER_CALL, status="queued")), model="m", input="hi")
        assert town.asked == []


class TestJournal:
    @pytest.fixture
    def journal(self) -> Any:
        return importlib.import_module(f"{NAME}.runtime.journal.memory").MemoryJournal()

    def test_results_are_kept_under_session_response_and_call(
        self, converse: Any, add: Any, dispatcher: Any, journal: Any
    ) -> None:
        types = importlib.import_module(f"{NAME}.runtime.journal")
        name = add(step(weather()), say("done"))
        turn = converse(name, with_dispatcher=dispatcher.with_journal(journal), session_id="chat 7")
        call = turn.calls[0].call
        assert (call.session_id, call.turn_id[:5]) == ("chat 7", "resp_")
        assert journal.is_submitted(types.Key("chat 7", call.turn_id, call.call_id))

    def test_a_conversation_is_a_session(
        self, converse: Any, add: Any, dispatcher: Any, journal: Any, simulator: Simulator
    ) -> None:
        name = add(step(weather()), say("done"))
        with OpenAI(base_url=simulator.openai_base_url, api_key="x") as client:
            conversation = client.conversations.create().id
        turn = converse(name, with_dispatcher=dispatcher.with_journal(journal), conversation=conversation)
        assert turn.calls[0].call.session_id == conversation

    def test_without_a_session_nothing_runs(
        self, converse: Any, add: Any, dispatcher: Any, journal: Any, town: Town
    ) -> None:
        with pytest.raises(ValueError, match="give session_id"):
            converse(add(step(weather()), say("done")), with_dispatcher=dispatcher.with_journal(journal))
        assert town.asked == []

    def test_a_response_that_is_read_twice_runs_once(
        self, loop: Any, dispatcher: Any, town: Town, journal: Any
    ) -> None:
        d = dispatcher.with_journal(journal)
        outputs: list[Any] = []
        for _ in range(2):
            client = Scripted(scripted(WEATHER_CALL), scripted(DONE, id="resp_2"))
            loop.run_sync(d, client, model="m", input="hi", session_id="s")
            outputs.append(client.requests[1]["input"][-1])
        assert outputs[0] == outputs[1]
        assert town.asked == ["Madrid"]

    def test_a_call_that_another_worker_runs_is_its_to_answer(
        self, loop: Any, dispatcher: Any, town: Town, journal: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(importlib.import_module(f"{NAME}.runtime.journalled"), "WAIT", 0)
        types = importlib.import_module(f"{NAME}.runtime.journal")

        async def begin(intent: Any) -> Any:
            return types.Running()

        journal.begin = begin
        client = Scripted(scripted(WEATHER_CALL), scripted(DONE))
        with pytest.raises(town.runtime.LoopError, match="another worker answers this response: it runs get_weather"):
            loop.run_sync(dispatcher.with_journal(journal), client, model="m", input="hi", session_id="s")
        assert (town.asked, len(client.requests)) == ([], 1)

    def test_a_note_that_fails_ends_nothing(self, loop: Any, dispatcher: Any, journal: Any, caplog: Any) -> None:
        async def submitted(key: Any) -> None:
            raise OSError("disk full")

        journal.submitted = submitted
        client = Scripted(scripted(WEATHER_CALL), scripted(DONE))
        turn = loop.run_sync(dispatcher.with_journal(journal), client, model="m", input="hi", session_id="s")
        assert turn.text == "done"
        assert "cannot note that results were submitted" in caplog.text

    def test_a_journal_that_fails_submits_nothing(self, loop: Any, dispatcher: Any, town: Town, journal: Any) -> None:
        async def fail(key: Any, record: str) -> None:
            raise OSError

        journal.finish = fail
        client = Scripted(scripted(WEATHER_CALL), scripted(DONE))
        runtime = importlib.import_module(f"{NAME}.runtime")
        with pytest.raises(runtime.ResultsNotStored) as lost:
            loop.run_sync(dispatcher.with_journal(journal), client, model="m", input="hi", session_id="s")
        assert [result.error.code for result in lost.value.results] == ["journal_unavailable"]
        assert len(client.requests) == 1
