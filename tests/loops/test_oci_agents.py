"""A conversation with an OCI agent: the real clients, a real server, the tools of a built package."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from oci.exceptions import ServiceError

from codegen.simulator import Simulator
from tests.conftest import build_folder
from tests.loops.oci_support import (
    AGENT,
    COMPARTMENT,
    ENDPOINT,
    Answer,
    canned,
    drive_without_sleep,
    events,
    management_client,
    runtime_client,
)

SPECS = [
    {
        "name": "find_rooms",
        "description": "Finds free rooms.",
        "x-toolgen": {"effect": "read"},
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "guests": {"type": "integer", "minimum": 1},
                "max_price": {"type": "number"},
                "breakfast": {"type": "boolean"},
                "code": {"type": "string"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    {
        "name": "book_room",
        "description": "Books a room.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"type": "string"}, "nights": {"type": "integer"}},
            "required": ["room", "nights"],
        },
    },
    {
        "name": "describe_room",
        "description": "Describes a room.",
        "x-toolgen": {"effect": "read"},
        "parameters": {"type": "object", "properties": {"room": {"type": "string"}}},
    },
]


class Hotel:
    """Handlers that keep what they were called with."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any], Any]] = []

    def _note(self, name: str, args: Any, call: Any) -> None:
        self.seen.append((name, args.model_dump(mode="json", by_alias=True, exclude_unset=True), call.context))

    def find_rooms(self, args: Any, call: Any) -> Any:
        self._note("find_rooms", args, call)
        return {"rooms": [f"{args.city}-1"]}

    async def book_room(self, args: Any, call: Any) -> Any:
        self._note("book_room", args, call)
        if args.room == "broken":
            raise RuntimeError("the secret of the house")
        return f"reserva hecha: {args.room} ✓"

    def describe_room(self, args: Any, call: Any) -> Any:
        self._note("describe_room", args, call)
        content = importlib.import_module(f"{type(call).__module__.rsplit('.', 1)[0]}.content")
        return content.Content(["A room with a view.", content.Image("https://example.com/view.png")])


@pytest.fixture(scope="module")
def hotel_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("hotel")
    (folder / "specs").mkdir()
    (folder / "specs" / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([folder / "specs"], folder / "hotel_tools", targets=["oci_agents"], handlers="inject")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module("hotel_tools")
    sys.path.remove(str(folder))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] == "hotel_tools"]:
        del sys.modules[name]


@pytest.fixture
def hotel() -> Hotel:
    return Hotel()


@pytest.fixture
def dispatcher(hotel_package: ModuleType, hotel: Hotel) -> Iterator[Any]:
    made = hotel_package.dispatcher(hotel)
    yield made
    made.close()


@pytest.fixture
def loops(hotel_package: ModuleType) -> ModuleType:
    return importlib.import_module("hotel_tools.runtime.loops.oci_agents")


@pytest.fixture
def runtime(hotel_package: ModuleType) -> ModuleType:
    return importlib.import_module("hotel_tools.runtime")


Run = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, loops: ModuleType) -> Run:
    """`run_sync`, or `run` on an event loop of its own; called alike."""
    if request.param == "sync":
        return loops.run_sync  # type: ignore[no-any-return]
    return lambda *args, **options: asyncio.run(loops.run(*args, **options))


def play(name: str, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A scenario of one turn, whose tools need no registration."""
    return {"name": name, "tools": "any", "turns": [{"user": "Hello", "model": steps}], **more}


def ask(run: Run, dispatcher: Any, simulator: Simulator, **options: Any) -> Any:
    client = runtime_client(simulator.oci_endpoint)
    return run(dispatcher, client, **{"agent_endpoint_id": ENDPOINT, "input": "Hello"} | options)


def chats(simulator: Simulator) -> list[Any]:
    """The bodies of all chat requests."""
    return [exchange.request for exchange in simulator.transcript if exchange.operation == "chat"]


def operations(simulator: Simulator) -> list[str]:
    return [exchange.operation for exchange in simulator.transcript]


def assert_played(simulator: Simulator) -> None:
    report = simulator.report()
    assert [str(failure) for failure in report.failures] == []
    assert not report.unfinished


@pytest.mark.parametrize("stream", [False, True])
def test_parallel_calls_are_all_answered_in_one_request(run: Run, dispatcher: Any, hotel: Hotel, stream: bool) -> None:
    steps: list[dict[str, Any]] = [
        {
            "calls": [
                {"name": "find_rooms", "arguments": {"city": "Lima"}, "result": {"json": {"rooms": ["Lima-1"]}}},
                {"name": "find_room", "arguments": {}, "invented": True, "result": {"error": ["find_rooms"]}},
                {"name": "find_rooms", "arguments": {"guests": 0}, "result": {"error": ["city", "/guests"]}},
                {"name": "find_rooms", "raw": '{"city": ', "result": {"error": ["JSON"]}},
                {
                    "name": "book_room",
                    "arguments": {"room": "broken", "nights": 1},
                    "result": {"error": ["failed for an internal reason"]},
                },
                {
                    "name": "book_room",
                    "arguments": {"room": "Cusco", "nights": 2},
                    "result": {"text": "reserva hecha: Cusco ✓"},
                },
                {"name": "describe_room", "arguments": {}, "result": {"text": "A room with a view."}},
            ]
        },
        {"say": "All done."},
    ]
    with Simulator([play("parallel", steps)]) as simulator:
        turn = ask(run, dispatcher, simulator, stream=stream, context={"user": 3})
        assert_played(simulator)
        first, second = chats(simulator)
    assert turn.text == "All done."
    assert (turn.status, turn.steps) == ("completed", 2)
    assert [result.error.code if result.error else "" for result in turn.calls] == [
        "",
        "unknown_tool",
        "invalid_arguments",
        "invalid_json",
        "handler_error",
        "",
        "",
    ]
    assert "performedActions" not in first
    assert first["shouldStream"] is stream
    assert len(second["performedActions"]) == 7
    assert second["sessionId"] == first["sessionId"] == turn.session_id
    assert "secret" not in json.dumps(second)
    assert all(context == {"user": 3} for _, _, context in hotel.seen)
    assert len({result.call.turn_id for result in turn.calls}) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "quirks",
    [
        ["numbers_as_text"],
        ["double_encoded"],
        ["colon_keys"],
        ["object_arguments"],
        ["empty_actions"],
        ["numbers_as_text", "double_encoded", "colon_keys"],
        ["numbers_as_text", "object_arguments", "colon_keys", "empty_actions"],
    ],
    ids="+".join,
)
def test_habits_of_the_service_are_read_back(
    run: Run, dispatcher: Any, hotel: Hotel, quirks: list[str], stream: bool
) -> None:
    arguments = {"city": "Lima", "guests": 2, "max_price": 99.5, "breakfast": True, "code": "42"}
    steps: list[dict[str, Any]] = [{"calls": [{"name": "find_rooms", "arguments": arguments}]}, {"say": "Done."}]
    with Simulator([play("habits", steps, oci={"quirks": quirks})]) as simulator:
        turn = ask(run, dispatcher, simulator, stream=stream)
        assert_played(simulator)
    ((_, seen, _),) = hotel.seen
    assert json.dumps(seen) == json.dumps(arguments)
    assert (turn.text, turn.steps) == ("Done.", 2)


class TestReadingBack:
    """Only for calls from this target, and only what it does."""

    SENT = json.dumps(json.dumps({"city:": "Lima", "guests": "2"}))

    def test_for_calls_from_this_target(self, dispatcher: Any) -> None:
        args = dispatcher.tool("find_rooms").parse(self.SENT, "oci_agents")
        assert (args.city, args.guests) == ("Lima", 2)

    @pytest.mark.parametrize("target", ["", "openai_responses", "openai_agents"])
    def test_for_no_others(self, dispatcher: Any, runtime: ModuleType, target: str) -> None:
        with pytest.raises(runtime.InvalidArguments):
            dispatcher.tool("find_rooms").parse(self.SENT, target)

    @pytest.mark.parametrize(
        ("sent", "says"),
        [
            (json.dumps("no JSON"), "must be a JSON object, not a string"),
            (json.dumps(json.dumps([1])), "must be a JSON object, not a string"),
            (json.dumps(json.dumps(json.dumps({"city": "Lima"}))), "must be a JSON object, not a string"),
            ("[1]", "must be a JSON object, not an array"),
            (json.dumps({"city:": "Lima", "guests": "two"}), 'expected an integer, got "two"'),
        ],
    )
    def test_what_cannot_be_read_back_is_told_as_it_came(
        self, dispatcher: Any, runtime: ModuleType, sent: str, says: str
    ) -> None:
        with pytest.raises(runtime.InvalidArguments, match=says):
            dispatcher.tool("find_rooms").parse(sent, "oci_agents")


@pytest.mark.parametrize("practice", ["repeat", "omit", "empty", "null"])
def test_the_message_beside_results(run: Run, dispatcher: Any, practice: str) -> None:
    steps: list[dict[str, Any]] = [
        {"calls": [{"name": "describe_room", "arguments": {}}]},
        {"calls": [{"name": "describe_room", "arguments": {"room": "2"}}]},
        {"say": "Done."},
    ]
    with Simulator([play("follow_up", steps, oci={"follow_up": practice})]) as simulator:
        turn = ask(run, dispatcher, simulator, follow_up_message=practice)
        assert_played(simulator)
    assert turn.steps == 3


def test_the_message_is_repeated_unless_told_otherwise(run: Run, dispatcher: Any) -> None:
    steps: list[dict[str, Any]] = [{"calls": [{"name": "describe_room", "arguments": {}}]}, {"say": "Done."}]
    with Simulator([play("follow_up", steps, oci={"follow_up": "repeat"})]) as simulator:
        ask(run, dispatcher, simulator)
        assert_played(simulator)


def test_a_practice_that_does_not_exist_is_refused_before_anything_is_sent(run: Run, dispatcher: Any) -> None:
    with Simulator([play("follow_up", [{"say": "Hi."}])]) as simulator:
        with pytest.raises(ValueError, match="repeat, omit, empty, null"):
            ask(run, dispatcher, simulator, follow_up_message="again")
        assert operations(simulator) == []


APPROVAL_STEPS: list[dict[str, Any]] = [
    {
        "calls": [{"name": "find_rooms", "arguments": {"city": "Lima"}}],
        "approvals": [{"kind": "mcp", "message": "May I run the query?", "decision": "approve"}],
    },
    {"say": "Approved."},
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", [True, "APPROVE", "approve"])
def test_approvals_go_through_the_callback(run: Run, dispatcher: Any, hotel: Hotel, answer: Any, stream: bool) -> None:
    asked: list[tuple[str, str, tuple[str, ...], int]] = []

    def on_action(action: Any) -> Any:
        asked.append((action.kind, action.message, action.options, len(hotel.seen)))
        return answer

    with Simulator([play("approval", APPROVAL_STEPS)]) as simulator:
        turn = ask(run, dispatcher, simulator, on_action=on_action, stream=stream)
        assert_played(simulator)
        performed = chats(simulator)[1]["performedActions"]
    assert asked == [("HUMAN_APPROVAL_REQUIRED_ACTION", "May I run the query?", ("APPROVE", "DENY"), 0)]
    assert [action["performedActionType"] for action in performed] == [
        "FUNCTION_CALLING_PERFORMED_ACTION",
        "HUMAN_APPROVAL_PERFORMED_ACTION",
    ]
    assert turn.text == "Approved."
    assert [result.name for result in turn.calls] == ["find_rooms"]


@pytest.mark.parametrize("answer", [False, "DENY"])
def test_approvals_can_be_denied(run: Run, dispatcher: Any, answer: Any) -> None:
    steps: list[dict[str, Any]] = [{"approvals": [{"kind": "mcp", "decision": "deny"}]}, {"say": "Then not."}]
    with Simulator([play("denial", steps)]) as simulator:
        turn = ask(run, dispatcher, simulator, on_action=lambda action: answer)
        assert_played(simulator)
    assert (turn.text, turn.calls) == ("Then not.", [])


async def test_the_callback_may_be_async(dispatcher: Any, loops: ModuleType) -> None:
    async def on_action(action: Any) -> bool:
        await asyncio.sleep(0)
        return True

    with Simulator([play("approval", APPROVAL_STEPS)]) as simulator:
        client = runtime_client(simulator.oci_endpoint)
        turn = await loops.run(dispatcher, client, agent_endpoint_id=ENDPOINT, input="Hello", on_action=on_action)
    assert turn.text == "Approved."


def test_an_approval_without_a_callback_is_told_before_anything_runs(
    run: Run, dispatcher: Any, hotel: Hotel, runtime: ModuleType
) -> None:
    with Simulator([play("approval", APPROVAL_STEPS)]) as simulator:
        with pytest.raises(runtime.UnhandledAction, match="HUMAN_APPROVAL_REQUIRED_ACTION") as caught:
            ask(run, dispatcher, simulator)
        assert len(chats(simulator)) == 1
    assert caught.value.action_id in str(caught.value)
    assert hotel.seen == []


def test_an_answer_that_is_no_decision_is_told_before_anything_runs(run: Run, dispatcher: Any, hotel: Hotel) -> None:
    with Simulator([play("approval", APPROVAL_STEPS)]) as simulator:
        with pytest.raises(ValueError, match="APPROVE or DENY, not 'maybe'"):
            ask(run, dispatcher, simulator, on_action=lambda action: "maybe")
        assert len(chats(simulator)) == 1
    assert hotel.seen == []


def test_a_type_that_is_not_known_fails_with_its_id(
    run: Run, dispatcher: Any, hotel: Hotel, runtime: ModuleType
) -> None:
    pending = {
        "message": None,
        "requiredActions": [
            {
                "actionId": "a1",
                "requiredActionType": "FUNCTION_CALLING_REQUIRED_ACTION",
                "functionCall": {"name": "find_rooms", "arguments": '{"city": "Lima"}'},
            },
            {"actionId": "p-77", "requiredActionType": "PAYMENT_REQUIRED_ACTION"},
        ],
    }
    for answer, kind in ((Answer(pending), "UNKNOWN_ENUM_VALUE"), (events(pending), "PAYMENT_REQUIRED_ACTION")):
        with canned([answer]) as server, pytest.raises(runtime.UnhandledAction, match="p-77") as caught:
            run(
                dispatcher,
                runtime_client(server.url),
                agent_endpoint_id=ENDPOINT,
                input="Hello",
                session_id="s1",
                on_action=lambda action: True,
            )
        assert (caught.value.kind, caught.value.action_id) == (kind, "p-77")
    assert hotel.seen == []


def test_the_step_limit_carries_what_is_pending(run: Run, dispatcher: Any, hotel: Hotel, runtime: ModuleType) -> None:
    steps: list[dict[str, Any]] = [
        {"calls": [{"name": "find_rooms", "arguments": {"city": "Lima"}}]},
        {"calls": [{"name": "book_room", "arguments": {"room": "1", "nights": 1}}], "approvals": [{"kind": "mcp"}]},
        {"say": "Done."},
    ]
    raises = pytest.raises(runtime.StepLimit, match="after 2 steps: book_room, HUMAN_APPROVAL")
    with Simulator([play("limit", steps)]) as simulator, raises as caught:
        ask(run, dispatcher, simulator, max_steps=2)
    assert [name for name, _, _ in hotel.seen] == ["find_rooms"]
    assert [pending.name for pending in caught.value.pending] == ["book_room", "HUMAN_APPROVAL_REQUIRED_ACTION"]


class TestSessions:
    def test_a_session_goes_on(self, run: Run, dispatcher: Any) -> None:
        turns: list[dict[str, Any]] = [
            {"user": "Hello", "model": [{"say": "Hi."}]},
            {"user": "And now?", "model": [{"calls": [{"name": "describe_room"}]}, {"say": "Now."}]},
        ]
        with Simulator([{"name": "talk", "tools": "any", "turns": turns}]) as simulator:
            first = ask(run, dispatcher, simulator)
            second = ask(run, dispatcher, simulator, input="And now?", session_id=first.session_id)
            assert_played(simulator)
            assert operations(simulator) == ["sessions.create", "chat", "chat", "chat"]
        assert (first.text, second.text) == ("Hi.", "Now.")
        assert second.session_id == first.session_id

    def test_a_session_of_its_own_is_deleted_when_asked(self, run: Run, dispatcher: Any) -> None:
        with Simulator([play("short", [{"say": "Hi."}])]) as simulator:
            ask(run, dispatcher, simulator, keep_session=False)
            assert operations(simulator) == ["sessions.create", "chat", "sessions.delete"]

    def test_also_when_the_turn_fails(self, run: Run, dispatcher: Any, runtime: ModuleType) -> None:
        with Simulator([play("approval", APPROVAL_STEPS)]) as simulator:
            with pytest.raises(runtime.UnhandledAction):
                ask(run, dispatcher, simulator, keep_session=False)
            assert operations(simulator) == ["sessions.create", "chat", "sessions.delete"]

    def test_a_session_of_the_caller_is_never_deleted(self, run: Run, dispatcher: Any) -> None:
        turns = [{"model": [{"say": "Hi."}]}, {"model": [{"say": "Hi."}]}]
        with Simulator([{"name": "talk", "turns": turns}]) as simulator:
            first = ask(run, dispatcher, simulator)
            ask(run, dispatcher, simulator, session_id=first.session_id, keep_session=False)
            assert "sessions.delete" not in operations(simulator)

    def test_an_answer_is_not_lost_with_a_session_that_cannot_be_deleted(
        self, run: Run, dispatcher: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        fault = {"kind": "http", "on": "sessions.delete", "status": 500}
        with Simulator([play("short", [{"say": "Hi."}], faults=[fault])]) as simulator:
            turn = ask(run, dispatcher, simulator, keep_session=False)
        assert turn.text == "Hi."
        assert f"the session {turn.session_id} could not be deleted" in caplog.text

    def test_a_dead_session_is_the_services_own_error(self, run: Run, dispatcher: Any) -> None:
        with Simulator([play("short", [{"say": "Hi."}])]) as simulator:
            with pytest.raises(ServiceError) as caught:
                ask(run, dispatcher, simulator, session_id="ocid1.genaiagentsession.oc1..gone")
            assert operations(simulator) == ["chat"]
        assert caught.value.status == 404


def chat(run: Run, dispatcher: Any, url: str, **options: Any) -> Any:
    """A turn on a session that a canned server is told of."""
    client = runtime_client(url)
    return run(dispatcher, client, **{"agent_endpoint_id": ENDPOINT, "input": "Hello", "session_id": "s1"} | options)


def message(text: str) -> dict[str, Any]:
    return {"message": {"role": "AGENT", "content": {"text": text}}, "requiredActions": None}


def pending(*calls: tuple[str, str, Any]) -> dict[str, Any]:
    return {
        "message": None,
        "requiredActions": [
            {
                "actionId": action_id,
                "requiredActionType": "FUNCTION_CALLING_REQUIRED_ACTION",
                "functionCall": {"name": name, "arguments": arguments},
            }
            for action_id, name, arguments in calls
        ],
    }


class TestAnswers:
    @pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/event-stream; charset=utf-8"])
    def test_a_content_type_that_the_client_does_not_read(
        self, run: Run, dispatcher: Any, runtime: ModuleType, content_type: str
    ) -> None:
        answer = Answer(message("Hi."), content_type=content_type)
        with canned([answer]) as server:
            with pytest.raises(runtime.TurnFailed, match=content_type.replace("/", ".")) as caught:
                chat(run, dispatcher, server.url)
            assert len(server.requests) == 1
        assert caught.value.code == "unreadable_answer"

    def test_the_service_decides_whether_it_streams(self, run: Run, dispatcher: Any) -> None:
        with canned([events(message("Hi."))]) as server:
            assert chat(run, dispatcher, server.url, stream=False).text == "Hi."
        with canned([message("Hi.")]) as server:
            assert chat(run, dispatcher, server.url, stream=True).text == "Hi."

    def test_a_streamed_answer_is_collected_from_its_fragments(self, run: Run, dispatcher: Any, hotel: Hotel) -> None:
        one, two = ("a1", "find_rooms", '{"city": "Lima"}'), ("a2", "find_rooms", {"city": "Cusco"})
        asking = events(
            {"traces": [{"traceType": "PLANNING_TRACE", "timeCreated": 1}]},
            pending(one),
            pending(one, two),
            {"traces": [{"traceType": "EXECUTION_TRACE", "timeCreated": 2}]},
        )
        saying = events({"message": None}, message("All"), message(" done."), "[DONE]")
        seen: list[Any] = []
        with canned([asking, saying]) as server:
            turn = chat(run, dispatcher, server.url, stream=True, on_event=seen.append)
            performed = server.bodies()[1]["performedActions"]
        assert turn.text == "All done."
        assert [action["actionId"] for action in performed] == ["a1", "a2"]
        assert [args["city"] for _, args, _ in sorted(hotel.seen, key=str)] == ["Cusco", "Lima"]
        assert [type(event).__name__ for event in seen] == [
            *["Event"] * 4,
            "CallsReceived",
            "ResultsReady",
            *["Event"] * 4,
        ]
        assert json.loads(seen[1].data)["requiredActions"][0]["actionId"] == "a1"

    def test_an_error_inside_a_stream(self, run: Run, dispatcher: Any, runtime: ModuleType) -> None:
        stream = events({"traces": []}, {"code": "InternalServerError", "message": "The model is gone."})
        with canned([stream]) as server:
            with pytest.raises(runtime.TurnFailed, match=r"The model is gone\.") as caught:
                chat(run, dispatcher, server.url, stream=True)
            assert len(server.requests) == 1
        assert caught.value.code == "InternalServerError"

    def test_an_action_without_an_id_cannot_be_answered(
        self, run: Run, dispatcher: Any, hotel: Hotel, runtime: ModuleType
    ) -> None:
        broken = pending(("a1", "find_rooms", '{"city": "Lima"}'))
        del broken["requiredActions"][0]["actionId"]
        with canned([broken]) as server, pytest.raises(runtime.TurnFailed, match="no id"):
            chat(run, dispatcher, server.url)
        assert hotel.seen == []

    def test_an_action_that_is_asked_for_again_runs_once_and_is_answered_alike(
        self, run: Run, dispatcher: Any, hotel: Hotel
    ) -> None:
        asking = pending(("a1", "book_room", '{"room": "7", "nights": 1}'))
        with canned([asking, asking, message("Done.")]) as server:
            turn = chat(run, dispatcher, server.url)
            first, second = (body["performedActions"] for body in server.bodies()[1:])
        assert len(hotel.seen) == 1
        assert first == second
        assert [result.replayed for result in turn.calls] == [False, True]

    def test_an_id_that_is_used_for_another_call_is_no_repetition(
        self, run: Run, dispatcher: Any, hotel: Hotel
    ) -> None:
        first = pending(("1", "book_room", '{"room": "7", "nights": 1}'))
        second = pending(("1", "book_room", '{"room": "8", "nights": 1}'))
        with canned([first, second, message("Done.")]) as server:
            turn = chat(run, dispatcher, server.url)
        assert [result.success for result in turn.calls] == [True, True]
        assert [args["room"] for _, args, _ in hotel.seen] == ["7", "8"]

    def test_two_actions_with_one_id_are_each_answered(self, run: Run, dispatcher: Any) -> None:
        asking = pending(("a1", "find_rooms", '{"city": "Lima"}'), ("a1", "find_rooms", '{"city": "Cusco"}'))
        with canned([asking, message("Done.")]) as server:
            chat(run, dispatcher, server.url)
            performed = server.bodies()[1]["performedActions"]
        assert [action["actionId"] for action in performed] == ["a1", "a1"]

    def test_further_fields_of_chat_details(self, run: Run, dispatcher: Any) -> None:
        with canned([message("Hi.")]) as server:
            chat(run, dispatcher, server.url, tool_parameters={"t1": "{}"})
            (body,) = server.bodies()
        assert body["toolParameters"] == {"t1": "{}"}

    def test_a_pause_between_rounds(self, dispatcher: Any, loops: ModuleType) -> None:
        asking = pending(("a1", "describe_room", "{}"))
        slept: list[float] = []
        with canned([asking, pending(("a2", "describe_room", "{}")), message("Hi.")]) as server:
            client = runtime_client(server.url)
            steps = loops.converse(
                dispatcher, client, agent_endpoint_id=ENDPOINT, input="Hello", session_id="s1", pause=2.5
            )
            assert drive_without_sleep("hotel_tools", dispatcher, steps, slept).text == "Hi."
        assert slept == [2.5, 2.5]


class TestBrokenStreams:
    ASKING = pending(("a1", "book_room", '{"room": "7", "nights": 1}'))

    @pytest.mark.parametrize(
        "broken",
        [
            events({"traces": []}, cut=True),
            events({"traces": []}),
            Answer('data: {"requiredActions": [{"actionId": "a1"', content_type="text/event-stream"),
        ],
        ids=["connection lost", "ended early", "ended inside an event"],
    )
    def test_a_request_whose_stream_breaks_off_is_sent_again(
        self, run: Run, dispatcher: Any, hotel: Hotel, broken: Answer
    ) -> None:
        with canned([broken, events(self.ASKING), broken, events(message("Done."))]) as server:
            turn = chat(run, dispatcher, server.url, stream=True)
            bodies, tokens = server.bodies(), server.tokens
        assert turn.text == "Done."
        assert len(hotel.seen) == 1
        assert bodies[0] == bodies[1] and bodies[2] == bodies[3]
        assert tokens[0] == tokens[1] and tokens[2] == tokens[3], "one token for one request"
        assert tokens[0] != tokens[2] and None not in tokens
        assert turn.steps == 2

    def test_not_for_ever(self, run: Run, dispatcher: Any, runtime: ModuleType) -> None:
        with canned([events({"traces": []}, cut=True)]) as server:
            with pytest.raises(runtime.TurnFailed, match="broke off") as caught:
                chat(run, dispatcher, server.url, stream=True, retries=1)
            assert len(server.requests) == 2
        assert caught.value.code == "stream_ended"

    @pytest.mark.parametrize("fault", [{"after": 0}, {"before": "end"}, {"before": "end", "clean": True}])
    def test_the_simulated_agent_goes_on(self, run: Run, dispatcher: Any, hotel: Hotel, fault: Any) -> None:
        steps: list[dict[str, Any]] = [
            {
                "calls": [{"name": "book_room", "arguments": {"room": "7", "nights": 1}}],
                "faults": [{"kind": "drop"} | fault],
            },
            {"say": "Booked.", "reasoning": "Well.", "faults": [{"kind": "drop"} | fault]},
        ]
        with Simulator([play("dropped", steps)]) as simulator:
            turn = ask(run, dispatcher, simulator, stream=True)
            assert_played(simulator)
        assert turn.text == "Booked."
        assert len(hotel.seen) == 1


class TestJournal:
    def test_results_that_were_stored_are_sent_again(
        self, run: Run, dispatcher: Any, hotel: Hotel, hotel_package: ModuleType
    ) -> None:
        memory = importlib.import_module("hotel_tools.runtime.journal.memory")
        journal = memory.MemoryJournal()
        durable = dispatcher.with_journal(journal)
        asking = pending(("a1", "book_room", '{"room": "7", "nights": 1}'))
        lost = Answer({"code": "InternalServerError", "message": "Gone."}, status=500)
        with canned([asking, lost, asking, message("Done.")]) as server:
            with pytest.raises(ServiceError):
                chat(run, durable, server.url)
            turn = chat(run, durable, server.url)
        (result,) = turn.calls
        assert result.replayed and result.output == "reserva hecha: 7 ✓"
        assert len(hotel.seen) == 1
        key = importlib.import_module("hotel_tools.runtime.journal").Key
        assert journal.is_submitted(key("s1", result.call.turn_id, "a1"))

    def test_nothing_is_sent_when_results_cannot_be_kept(self, run: Run, dispatcher: Any, runtime: ModuleType) -> None:
        memory = importlib.import_module("hotel_tools.runtime.journal.memory")

        class Full(memory.MemoryJournal):  # type: ignore[misc, name-defined]
            async def finish(self, key: Any, record: str) -> None:
                raise OSError("no space left")

        with canned([pending(("a1", "find_rooms", '{"city": "Lima"}')), message("Done.")]) as server:
            with pytest.raises(runtime.ResultsNotStored):
                chat(run, dispatcher.with_journal(Full()), server.url)
            assert len(server.requests) == 1


def test_the_clients_library_is_not_needed_for_an_import(hotel_package: ModuleType) -> None:
    modules = ["loops.oci_agents", "adapters.oci_agents", "registration.oci_agents"]
    imports = "; ".join(f"import hotel_tools.runtime.{module}" for module in modules)
    folder = Path(str(hotel_package.__file__)).parents[1]
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); {imports}; assert 'oci' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_turn_does_not_hold_up_the_event_loop(dispatcher: Any, loops: ModuleType) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    steps = [{"say": "Hi.", "faults": [{"kind": "delay", "seconds": 0.2}]}]
    with Simulator([play("slow", steps)]) as simulator:
        clock = asyncio.create_task(tick())
        client = runtime_client(simulator.oci_endpoint)
        await loops.run(dispatcher, client, agent_endpoint_id=ENDPOINT, input="Hello")
        clock.cancel()
    assert ticks > 3


def test_registered_tools_are_called(run: Run, dispatcher: Any, hotel: Hotel, caplog: pytest.LogCaptureFixture) -> None:
    """The whole way: register, chat, answer; the simulated model calls only what is registered."""
    caplog.set_level(logging.ERROR)
    registration = importlib.import_module("hotel_tools.runtime.registration.oci_agents")
    steps: list[dict[str, Any]] = [
        {"calls": [{"name": "find_rooms", "arguments": {"city": "Lima"}, "as": "rooms"}]},
        {"calls": [{"name": "book_room", "arguments": {"room": "{{rooms.rooms.0}}", "nights": 2}}]},
        {"say": "Booked."},
    ]
    with Simulator([play("whole", steps, tools="registered")]) as simulator:
        client = management_client(simulator.oci_endpoint)
        registration.register_sync(dispatcher, client, agent_id=AGENT, compartment_id=COMPARTMENT, poll=0.001)
        turn = ask(run, dispatcher, simulator)
        assert_played(simulator)
    assert turn.text == "Booked."
    assert hotel.seen[1][1] == {"room": "Lima-1", "nights": 2}
