"""The loop over Converse, with the vendor's own client against a simulated service."""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

import boto3
import pytest
import urllib3
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from codegen.simulator import Simulator, SimulatorReport
from tests.loops.conftest import run_turn
from tests.loops.oci_support import canned
from tests.loops.town import Town, town_package
from tests.simulator.scripts import fault, say, turn

NAME = "bedrock_package"
OTHER = {"name": "other", "turns": [{"model": [{"say": "hello"}]}]}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("bedrock"), NAME, "bedrock") as package:
        yield package


@pytest.fixture(scope="module")
def loop(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime.loops.bedrock")


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


@pytest.fixture
def bodies(report: Any) -> Callable[[str], list[Any]]:
    """The bodies of the requests for a scenario."""
    return lambda name: [exchange.request for exchange in report(name).exchanges]


# ---- clients


_clients: dict[tuple[str, int], Any] = {}


def client_of(url: str, retries: int) -> Any:
    """boto3's client, which takes a tenth of a second to make and is therefore kept."""
    if (url, retries) not in _clients:
        _clients[url, retries] = boto3.client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=url,
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": retries + 1}),
        )
    return _clients[url, retries]


class Asynchronous:
    """An asynchronous client in the shape of aioboto3's, over boto3's own."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def converse(self, **body: Any) -> Any:
        return await asyncio.to_thread(self._client.converse, **body)

    async def converse_stream(self, **body: Any) -> Any:
        answer = await asyncio.to_thread(self._client.converse_stream, **body)
        return {**answer, "stream": AsynchronousStream(answer["stream"])}


class AsynchronousStream:
    """Only iterable, like the stream that it wraps; closed without waiting."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[Any]:
        events = iter(self._stream)
        while (event := await asyncio.to_thread(next, events, None)) is not None:
            yield event

    def close(self) -> None:
        self._stream.close()


@contextmanager
def sync_client(url: str, retries: int) -> Iterator[Any]:
    yield client_of(url, retries)


@asynccontextmanager
async def async_client(url: str, retries: int) -> AsyncIterator[Any]:
    yield Asynchronous(client_of(url, retries))


Converse = Callable[..., Any]


@pytest.fixture
def runner(loop: ModuleType, dispatcher: Any, simulator: Simulator) -> Converse:
    """Runs a turn in one of the ways there are: `runner(way, model, input, ...)`."""

    def run(
        way: str,
        model: str,
        input: Any = "hi",
        *,
        with_dispatcher: Any = None,
        retries: int = 0,
        url: str = "",
        **options: Any,
    ) -> Any:
        url = url or simulator.bedrock_endpoint
        clients: dict[str, Callable[[], Any]] = {
            "sync": lambda: sync_client(url, retries),
            "async": lambda: async_client(url, retries),
        }
        d = dispatcher if with_dispatcher is None else with_dispatcher
        return run_turn(loop, way, d, clients, model=model, input=input, **options)

    return run


# ---- scripts


def weather(city: str = "Madrid", **fields: Any) -> dict[str, Any]:
    return {"name": "get_weather", "arguments": {"city": city}, **fields}


def step(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"calls": list(calls), **fields}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": one} if isinstance(one, str) else one for one in content]}


def codes(turn: Any) -> list[str | None]:
    return [result.error and result.error.code for result in turn.calls]


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
    def test_to_the_answer(self, converse: Converse, add: Any, report: Any, town: Town, stream: bool) -> None:
        """The simulated service refuses what the real one refuses: lost reasoning, a missing or a second result."""
        name = add(THINKING, LATER, ANSWER)
        turn = converse(name, "How warm is it?", context="ada", stream=stream)
        assert (turn.text, turn.status, turn.steps) == ("6 degrees.", "end_turn", 3)
        assert [result.name for result in turn.calls] == ["get_weather", "get_weather", "book", "get_weather"]
        assert all(result.success for result in turn.calls)
        assert turn.calls[0].arguments == {"city": "Madrid"}
        assert sorted(town.asked) == ["2 None", "Barcelona", "Lima", "Madrid"]
        assert report(name).ok, report(name).problems()
        assert not report(name).refused
        assert {exchange.operation for exchange in report(name).exchanges} == {
            "converse_stream" if stream else "converse"
        }

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_the_next_turn(self, converse: Converse, add: Any, report: Any, stream: bool) -> None:
        name = add(
            turn(THINKING, ANSWER, user="How warm?"),
            turn(step(weather("Lima")), say("cold"), user={"contains": "Lima"}),
        )
        first = converse(name, "How warm?", context="ada", stream=stream)
        second = converse(name, [*first.history, user("And Lima?")], context="ada", stream=stream)
        assert (second.text, [result.name for result in second.calls]) == ("cold", ["get_weather"])
        assert report(name).ok, report(name).problems()
        assert not report(name).refused

    def test_further_arguments_go_with_every_request(self, talk: Converse, add: Any, bodies: Any) -> None:
        name = add(step(weather()), say("done"))
        given = {"system": [{"text": "Be brief."}], "inferenceConfig": {"maxTokens": 100}}
        talk(name, tools=[{"cachePoint": {"type": "default"}}], **given)
        assert len(bodies(name)) == 2
        for body in bodies(name):
            assert {key: body[key] for key in given} == given
            assert list(body["toolConfig"]["tools"][-1]) == ["cachePoint"]

    def test_a_forced_call_is_forced_once(self, talk: Converse, add: Any, bodies: Any, report: Any) -> None:
        name = add(step(weather()), say("done"))
        for choice, then in (
            ({"any": {}}, None),
            ({"tool": {"name": "get_weather"}}, None),
            ({"auto": {}}, {"auto": {}}),
        ):
            assert talk(name, tool_choice=choice).text == "done"
            assert [body["toolConfig"].get("toolChoice") for body in bodies(name)[-2:]] == [choice, then]
        assert report(name).ok, report(name).problems()

    def test_the_payload_is_registered(self, talk: Converse, bodies: Any, dispatcher: Any, add: Any) -> None:
        name = add(say("done"))
        talk(name, with_dispatcher=dispatcher.only("book"))
        assert bodies(name)[0]["toolConfig"] == {"tools": dispatcher.only("book").payload("bedrock")}


class TestCalls:
    def test_the_second_request_is_exactly_this(self, talk: Converse, add: Any, bodies: Any) -> None:
        calls = [
            weather("Málaga", call_id="t1"),
            {"name": "draw_map", "call_id": "t2"},
            {"name": "nope", "call_id": "t3", "invented": True},
            {"name": "book", "arguments": {"people": 2}, "call_id": "t4"},
            {"name": "write_essay", "arguments": {"characters": 0}, "call_id": "t5"},
        ]
        name = add(step(*calls, reasoning="Hm.", say="One moment."), say("done"))
        turn = talk(name)
        assert turn.text == "done"
        reasoning = {"reasoningText": {"text": "Hm.", "signature": "signed Hm."}}
        uses = [{"toolUseId": one["call_id"], "name": one["name"], "input": one.get("arguments", {})} for one in calls]

        def result(id: str, content: Any, status: str = "success") -> dict[str, Any]:
            return {"toolResult": {"toolUseId": id, "content": [*content], "status": status}}

        image = {"format": "png", "source": {"bytes": base64.b64encode(bytes(3)).decode()}}
        assert bodies(name)[1]["messages"] == [
            user("hi"),
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": reasoning},
                    {"text": "One moment."},
                    *({"toolUse": use} for use in uses),
                ],
            },
            user(
                result("t1", [{"json": {"city": "Málaga", "degrees": 6, "for": None}}]),
                result("t2", [{"text": "A map:"}, {"image": image}]),
                result("t3", [{"text": f"Error: {turn.calls[2].error.message}"}], "error"),
                result("t4", [{"text": "booked"}]),
                result("t5", [{"json": {"output": ""}}]),
            ),
        ]

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
    def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
        self, converse: Converse, add: Any, report: Any, stream: bool
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
                {
                    "name": "write_essay",
                    "arguments": {"characters": 13_000_000},
                    "result": {"error": ["too large"]},
                },
                {"name": "get_weather", "raw": "", "result": {"error": "city"}},
                weather("Quito", result={"has": {"city": "Quito"}}),
            ),
            step(weather("Xi", result={"has": {"city": "Xi"}})),
            say("done"),
        )
        turn = converse(name, stream=stream)
        assert turn.text == "done"
        assert codes(turn) == [
            None,
            "invalid_arguments",
            "unknown_tool",
            "handler_error",
            "invalid_json",
            "handler_error",
            "output_too_large",
            "invalid_arguments",
            None,
            None,
        ]
        assert "secret" not in json.dumps([exchange.request for exchange in report(name).exchanges])
        assert report(name).ok, report(name).problems()
        assert not report(name).refused

    def test_they_run_at_once(self, talk: Converse, add: Any, town: Town) -> None:
        town.meeting = threading.Barrier(3)
        name = add(step(weather("Madrid"), weather("Lima"), weather("Quito")), say("done"))
        assert [json.loads(result.output)["city"] for result in talk(name).calls] == ["Madrid", "Lima", "Quito"]

    def test_events_are_told_in_their_order(self, talk: Converse, add: Any, stream: bool) -> None:
        seen: list[str] = []

        def note(event: Any) -> None:
            seen.append(next(iter(event)) if isinstance(event, dict) else type(event).__name__)

        talk(add(step(weather()), say("done")), on_event=note)
        told = [name for name in seen if name in ("CallsReceived", "ResultsReady", "messageStop")]
        assert (
            told == (["messageStop"] if stream else []) + ["CallsReceived", "ResultsReady"] + ["messageStop"] * stream
        )


class TestEnds:
    def test_a_stream_that_stalls_has_broken_off(self, package: ModuleType) -> None:
        """botocore hands on what its HTTP library raises in the middle of a stream."""
        sdk = importlib.import_module(f"{NAME}.runtime.sdk")
        assert sdk.connection_lost(urllib3.exceptions.ReadTimeoutError(None, "/", "Read timed out."))  # type: ignore[arg-type]
        assert not sdk.connection_lost(EventStreamError({}, "ConverseStream"))

    @pytest.mark.parametrize("said", ["half of it", None])
    def test_a_response_that_was_cut_off_runs_nothing(
        self, talk: Converse, add: Any, report: Any, town: Town, said: str | None
    ) -> None:
        cut = step(weather("Lima"), weather("Cusco"), end="incomplete", **({"say": said} if said else {}))
        name = add(turn(cut, say("never")), turn(say("done")), tools="any")
        turned = talk(name)
        assert (turned.status, turned.text, town.asked) == ("max_tokens", said or "", [])
        assert [(result.error.code, result.ran) for result in turned.calls] == [("cut_off", False)] * 2
        assert turned.history == [user("hi"), *([{"role": "assistant", "content": [{"text": said}]}] if said else [])]

    @pytest.mark.parametrize("reason", ["malformed_tool_use", "malformed_model_output", "content_filtered", "new_one"])
    def test_any_reason_but_a_proper_end_cuts_off(self, runner: Converse, town: Town, reason: str) -> None:
        use = {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Lima"}}}
        with canned([_answer({"text": "so"}, use, reason=reason)]) as server:
            turned = runner("run_sync", "m", url=server.url)
        assert (turned.status, turned.history, town.asked) == (reason, [user("hi")], [])
        assert codes(turned) == ["cut_off"]

    def test_a_turn_after_one_that_was_cut_off(self, runner: Converse) -> None:
        """Two messages of the user would follow each other, which the service refuses."""
        with canned([_answer({"text": ""}, reason="max_tokens"), _answer({"text": "done"})]) as server:
            first = runner("run_sync", "m", url=server.url)
            second = runner("run_sync", "m", [*first.history, user("go on")], url=server.url)
        assert second.text == "done"
        assert server.bodies()[1]["messages"] == [user("hi", "go on")]

    def test_blank_text_is_not_sent_back(self, runner: Converse) -> None:
        use = {"toolUse": {"toolUseId": "t1", "name": "draw_map", "input": {}}}
        with canned([_answer({"text": "\n\n"}, use, reason="tool_use"), _answer({"text": "done"})]) as server:
            assert runner("run_sync", "m", url=server.url).text == "done"
        assert server.bodies()[1]["messages"][1]["content"] == [use]

    def test_the_services_own_tools_are_not_ours(self, runner: Converse) -> None:
        used = {"toolUse": {"toolUseId": "t1", "name": "search", "input": {}, "type": "server_tool_use"}}
        found = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}], "type": "search_result"}}
        with canned([_answer(used, found, {"text": "done"})]) as server:
            turned = runner("run_sync", "m", url=server.url)
        assert (turned.text, turned.calls) == ("done", [])
        assert turned.history[1]["content"] == [used, found, {"text": "done"}]

    def test_errors_that_pass_are_the_clients_to_retry(self, talk: Converse, add: Any, report: Any) -> None:
        # The client waits between two attempts, so there is one.
        name = add(step(weather(), faults=[fault("http", status=429)]), say("done"))
        assert talk(name, retries=1).text == "done"
        assert report(name).ok, report(name).problems()

    def test_errors_that_stay_reach_the_caller(self, talk: Converse, add: Any) -> None:
        name = add(step(weather(), faults=[fault("http", status=503, times=9)]), say("done"))
        with pytest.raises(ClientError, match="ServiceUnavailableException"):
            talk(name)

    def test_a_model_that_fails_reaches_the_caller(self, talk: Converse, add: Any, stream: bool, town: Town) -> None:
        name = add(step(weather()), {"end": "failed", "error": {"message": "It broke."}})
        with pytest.raises(EventStreamError if stream else ClientError, match="It broke"):
            talk(name)
        assert town.asked == ["Madrid"]

    def test_a_model_that_never_ends(self, talk: Converse, add: Any, town: Town) -> None:
        name = add(step(weather()), step(weather("Lima")), say("done"))
        with pytest.raises(town.runtime.StepLimit) as limit:
            talk(name, max_steps=2)
        assert [call.arguments for call in limit.value.pending] == [{"city": "Lima"}]
        assert town.asked == ["Madrid"]


class TestStreams:
    @pytest.mark.parametrize("how", [{"clean": True}, {"clean": False}], ids=["ended", "broken"])
    @pytest.mark.parametrize("where", [{"after": 0}, {"before": "call"}, {"before": "end"}], ids=str)
    def test_one_that_breaks_is_asked_for_again(
        self, converse: Converse, add: Any, report: Any, town: Town, how: Any, where: Any
    ) -> None:
        name = add(step(weather(), say="Well,", faults=[fault("drop", **how, **where)]), say("done"))
        assert converse(name, stream=True).text == "done"
        assert town.asked == ["Madrid"]
        assert report(name).ok, report(name).problems()

    def test_one_that_keeps_breaking_runs_nothing(self, converse: Converse, add: Any, town: Town, report: Any) -> None:
        name = add(step(weather(), faults=[fault("drop", before="end", clean=True, times=3)]), say("done"))
        with pytest.raises(town.runtime.TurnFailed, match="ended before"):
            converse(name, stream=True)
        assert (len(report(name).exchanges), town.asked) == (3, [])


class TestTheJournal:
    @pytest.fixture
    def journalled(self, package: ModuleType, town: Town) -> Iterator[Any]:
        memory = importlib.import_module(f"{NAME}.runtime.journal.memory")
        made = package.dispatcher(town, journal=memory.MemoryJournal())
        yield made
        made.close()

    def test_an_answer_that_comes_again_runs_nothing_again(
        self, talk: Converse, add: Any, town: Town, journalled: Any
    ) -> None:
        name = add(step(weather("Lima", call_id="t1"), weather("Cusco", call_id="t2")), say("done"))
        turns = [talk(name, with_dispatcher=journalled, session_id="s") for _ in range(2)]
        assert sorted(town.asked) == ["Cusco", "Lima"]
        assert [[result.replayed for result in turned.calls] for turned in turns] == [[False] * 2, [True] * 2]
        assert [turned.text for turned in turns] == ["done", "done"]

    def test_ids_that_come_again_later_are_other_calls(
        self, talk: Converse, add: Any, town: Town, journalled: Any
    ) -> None:
        name = add(step(weather("Lima", call_id="t1")), step(weather("Lima", call_id="t1")), say("done"))
        assert talk(name, with_dispatcher=journalled, session_id="s").text == "done"
        assert town.asked == ["Lima", "Lima"]

    def test_it_needs_a_session(self, talk: Converse, journalled: Any) -> None:
        with pytest.raises(ValueError, match="session_id"):
            talk("other", with_dispatcher=journalled)


def _answer(*content: Any, reason: str = "end_turn") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": reason,
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }
