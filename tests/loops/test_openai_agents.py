"""The loop over OpenAI Agents sessions, with the vendor's own clients against a simulated service."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import hashlib
import hmac
import importlib
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, DefaultHttpxClient, OpenAI
from openai.types.beta.agent_session import AgentSession

from codegen.simulator import Simulator, SimulatorReport
from tests.conftest import build_folder

SPECS: list[dict[str, Any]] = [
    {
        "name": "get_customer",
        "description": "Finds a customer.",
        "parameters": {
            "type": "object",
            "properties": {"customer_id": {"type": "string", "minLength": 2}},
            "required": ["customer_id"],
            "additionalProperties": False,
        },
        "x-toolgen": {"effect": "read"},
    },
    {
        "name": "refund",
        "description": "Pays money back.",
        "parameters": {
            "type": "object",
            "properties": {"order": {"type": "string"}, "amount": {"type": "number", "exclusiveMinimum": 0}},
            "required": ["order", "amount"],
        },
    },
    {
        "name": "draw_map",
        "description": "Draws a map.",
        "parameters": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "x-toolgen": {"defer_loading": True, "effect": "idempotent"},
    },
]


class Shop:
    """Handlers that remember what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meeting: threading.Barrier | None = None
        self.during: Callable[[], Any] | None = None

    def get_customer(self, args: Any, call: Any) -> Any:
        self.asked.append(args.customer_id)
        if self.meeting is not None:
            self.meeting.wait(30)
        if self.during is not None:
            self.during()
        return {"id": args.customer_id, "for": call.context}

    async def refund(self, args: Any, call: Any) -> Any:
        self.asked.append(args.order)
        if args.amount > 100:
            raise self.tool_error("At most 100 can be paid back at once.")
        return {"paid": args.amount}

    def draw_map(self, args: Any, call: Any) -> Any:
        self.asked.append("map")
        return self.content(["A map:", self.image("data:image/png;base64," + "A" * (args.size or 4))])

    tool_error: Any = None
    content: Any = None
    image: Any = None


@dataclass
class Made:
    """The package under test and its parts."""

    package: ModuleType
    runtime: ModuleType
    loop: ModuleType
    adapter: ModuleType
    dispatch: ModuleType

    def part(self, name: str) -> ModuleType:
        return importlib.import_module(f".{name}", f"{self.package.__name__}.runtime")

    def shop(self) -> Shop:
        shop = Shop()
        shop.tool_error, shop.content, shop.image = self.runtime.ToolError, self.runtime.Content, self.runtime.Image
        return shop


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    root = tmp_path_factory.mktemp("agents")
    (root / "specs").mkdir()
    (root / "specs" / "shop.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / "agents_package", targets=["openai_agents"])
    sys.path.insert(0, str(root))
    name = "agents_package"
    package = importlib.import_module(name)
    loop = importlib.import_module(f"{name}.runtime.loops.openai_agents")
    patch = pytest.MonkeyPatch()
    # What is tested is the order of things, not how long they wait.
    for part in ("worker", "follower"):
        module = importlib.import_module(f"{name}.runtime.loops.openai_agents_{part}")
        patch.setattr(module, "RACE_PAUSES", (0.01, 0.02, 0.03))
    patch.setattr(loop, "RECONNECT_PAUSES", (0.01, 0.02, 0.02, 0.02))
    yield Made(
        package,
        importlib.import_module(f"{name}.runtime"),
        loop,
        importlib.import_module(f"{name}.runtime.adapters.openai_agents"),
        importlib.import_module(f"{name}.dispatch"),
    )
    patch.undo()
    sys.path.remove(str(root))
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
        del sys.modules[loaded]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    other = {"name": "other", "turns": [{"model": [{"say": "hello"}]}]}
    with Simulator([other]) as simulator:
        yield simulator


class Desk:
    """One test's scenario, its handlers, and the loops in their sync or async form with a real client."""

    def __init__(self, made: Made, simulator: Simulator, name: str, form: str) -> None:
        self.made = made
        self.simulator = simulator
        self.model = name
        self.form = form
        self.shop = made.shop()
        self.dispatcher = made.package.dispatcher(self.shop)
        self.heard: list[Any] = []
        self.keys: list[str] = []

    def plays(self, *steps: dict[str, Any], turns: Sequence[Any] = (), **fields: Any) -> Desk:
        """Adds the scenario: the steps of one turn, or several turns."""
        listed = [{"model": list(steps)}] if steps else list(turns)
        self.simulator.add({"name": self.model, "turns": listed, **fields})
        return self

    def _go(self, entry: str, retries: int, options: dict[str, Any]) -> Any:
        settings: dict[str, Any] = {
            "base_url": self.simulator.openai_base_url,
            "api_key": "none",
            "max_retries": retries,
            "timeout": 30,
        }
        if self.form == "sync":
            hooks = {"request": [self._note]}
            with DefaultHttpxClient(event_hooks=hooks) as http, OpenAI(http_client=http, **settings) as client:
                return getattr(self.made.loop, f"{entry}_sync")(self.dispatcher, client, **options)

        async def go() -> Any:
            async with AsyncOpenAI(**settings) as client:
                return await getattr(self.made.loop, entry)(self.dispatcher, client, **options)

        return asyncio.run(go())

    def _note(self, request: Any) -> None:
        if request.method == "POST" and request.url.path.endswith("/events"):
            self.keys.append(request.headers.get("idempotency-key", ""))

    def run(self, retries: int = 0, **options: Any) -> Any:
        if "session_id" not in options:
            options.setdefault("create", {"agent": {"model": self.model}})
            options.setdefault("input", "Hello")
        options.setdefault("on_event", self.heard.append)
        return self._go("run", retries, options)

    def serve(self, session_id: str, **options: Any) -> Any:
        return self._go("serve", 0, {"session_id": session_id, **options})

    def cancel(self, session_id: str) -> Any:
        return self._go("cancel", 0, {"session_id": session_id})

    def client(self) -> OpenAI:
        """A client for what a test does beside the loop."""
        return OpenAI(base_url=self.simulator.openai_base_url, api_key="none", max_retries=0, timeout=30)

    def create(self, **fields: Any) -> str:
        """A session that some other process has begun."""
        with self.client() as client:
            tools = self.dispatcher.payload("openai_agents")
            session = client.beta.agents.sessions.create(
                environment={"type": "none"}, agent={"model": self.model, "tools": tools}, input="Hello", **fields
            )
            return str(session.id)

    def idle(self) -> str:
        """A session whose first turn is over."""
        return str(self.run().session_id)

    @property
    def report(self) -> SimulatorReport:
        return self.simulator.report().of(self.model)

    @property
    def requests(self) -> list[str]:
        """Operations of the requests, in order."""
        return [exchange.operation for exchange in self.report.exchanges]

    @property
    def kinds(self) -> list[str]:
        """What `on_event` heard."""
        return [getattr(event, "type", type(event).__name__) for event in self.heard]

    def submitted(self) -> list[dict[str, Any]]:
        """The tool results that were sent, also those that were refused."""
        return [
            event
            for exchange in self.report.exchanges
            if exchange.operation == "events.create"
            for event in exchange.request["events"]
            if event["type"] == "agent.session.input.tool_result"
        ]


@pytest.fixture(params=["sync", "async"])
def desk(made: Made, simulator: Simulator, request: pytest.FixtureRequest) -> Iterator[Desk]:
    name = "".join(c if c.isalnum() or c in "_-" else "-" for c in request.node.name)
    desk = Desk(made, simulator, name, request.param)
    yield desk
    desk.dispatcher.close()


@pytest.fixture
def make_desk(made: Made, simulator: Simulator, request: pytest.FixtureRequest) -> Iterator[Callable[..., Desk]]:
    name = "".join(c if c.isalnum() or c in "_-" else "-" for c in request.node.name)
    desks: list[Desk] = []

    def make(form: str = "sync") -> Desk:
        desks.append(Desk(made, simulator, f"{name}-{len(desks)}", form))
        return desks[-1]

    yield make
    for desk in desks:
        desk.dispatcher.close()


def get_customer(customer_id: str, **fields: Any) -> dict[str, Any]:
    return {"name": "get_customer", "arguments": {"customer_id": customer_id}, **fields}


def refund(amount: float, order: str = "o1", **fields: Any) -> dict[str, Any]:
    return {"name": "refund", "arguments": {"order": order, "amount": amount}, **fields}


def codes(turn: Any) -> list[str]:
    return [result.error.code if result.error else "" for result in turn.calls]


# ---- a whole turn


def test_every_call_is_answered_once(desk: Desk) -> None:
    desk.plays(
        {
            "say": "Let me look.",
            "calls": [
                get_customer("c1", result={"has": {"id": "c1"}}),
                {"name": "get_custmer", "invented": True, "result": {"error": ["get_customer"]}},
                get_customer("x", result={"error": ["/customer_id"]}),
                refund(500, result={"error": ["At most 100"]}),
                {"name": "get_customer", "raw": '{"customer_id": ', "result": {"error": ["not valid JSON"]}},
                get_customer("c5"),
            ],
        },
        {"calls": [get_customer("c3", result={"success": True})]},
        {"say": "Found c1 and c3."},
    )
    turn = desk.run(context="ada")
    assert desk.report.problems() == []
    assert turn.text == "Found c1 and c3."
    assert turn.status == "completed" and turn.raw.id == "turn_" + turn.raw.id[5:]
    assert codes(turn) == ["", "unknown_tool", "invalid_arguments", "handler_error", "invalid_json", "", ""]
    assert [result.output for result in turn.calls if result.success] == [
        '{"id":"c1","for":"ada"}',
        '{"id":"c5","for":"ada"}',
        '{"id":"c3","for":"ada"}',
    ]
    assert turn.steps == 3
    assert desk.kinds.count("CallsReceived") == desk.kinds.count("ResultsReady") == 2
    sent = desk.submitted()
    assert len(sent) == 7
    assert all(set(event) == {"type", "turn_id", "call_id", "success", "output"} for event in sent if event["success"])
    assert all(
        set(event) == {"type", "turn_id", "call_id", "success", "error"} for event in sent if not event["success"]
    )


def test_calls_of_one_step_run_at_the_same_time(desk: Desk) -> None:
    desk.plays({"calls": [get_customer(f"c{n}") for n in range(3)]}, {"say": "Done."})
    desk.shop.meeting = threading.Barrier(3)  # breaks when not all three get there
    assert codes(desk.run()) == ["", "", ""]


def test_the_stream_is_open_before_the_input_goes_out(desk: Desk) -> None:
    desk.plays(turns=[{"model": [{"say": "Hello."}]}, {"user": "And now?", "model": [{"say": "Bye."}]}])
    session_id = desk.idle()
    before = len(desk.requests)
    turn = desk.run(session_id=session_id, input=[{"role": "user", "content": "And now?"}])
    assert turn.text == "Bye."
    assert desk.requests[before:] == ["events.stream", "turns.list", "events.create"]


def test_a_new_session_gets_the_tools_and_keeps_what_the_caller_asked_for(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk().plays({"say": "Hi."})
    agent = {"model": desk.model, "instructions": "Be brief.", "tools": [{"type": "web_search"}]}
    desk.run(create={"agent": agent, "metadata": {"ticket": "7"}}, tools=[{"type": "tool_search"}])
    body = desk.report.exchanges[0].request
    assert [tool.get("name", tool["type"]) for tool in body["agent"]["tools"]] == [
        "draw_map",
        "get_customer",
        "refund",
        "tool_search",
        "web_search",
    ]
    assert body["environment"] == {"type": "none"} and body["stream"] is True
    assert body["agent"]["instructions"] == "Be brief." and body["metadata"] == {"ticket": "7"}
    assert agent["tools"] == [{"type": "web_search"}]


def test_tools_are_registered_only_where_they_should_be(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk().plays(turns=[{"model": [{"say": "Hi."}]}] * 3)
    session_id = desk.run(register=False).session_id
    assert "tools" not in desk.report.exchanges[0].request["agent"]
    desk.run(session_id=session_id, input="Again")
    assert "sessions.update" not in desk.requests
    desk.dispatcher = desk.dispatcher.only("get_customer")
    desk.run(session_id=session_id, input="Again", register=True)
    (update,) = [one for one in desk.report.exchanges if one.operation == "sessions.update"]
    assert [tool["name"] for tool in update.request["agent"]["tools"]] == ["get_customer"]


def test_content_goes_out_as_parts(desk: Desk) -> None:
    desk.plays({"calls": [{"name": "draw_map", "result": {"text": "A map:"}}]}, {"say": "Here."})
    desk.run()
    assert desk.report.problems() == []
    (sent,) = desk.submitted()
    assert sent["output"] == [
        {"type": "input_text", "text": "A map:"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    ]


def test_a_result_that_the_service_refuses_for_its_size_is_answered_smaller(desk: Desk) -> None:
    step = {"calls": [{"name": "draw_map", "arguments": {"size": 5_000_000}, "result": {"error": "too large"}}]}
    desk.plays(step, {"say": "Too big."})
    unlimited = dataclasses.replace(desk.made.dispatch.PACKAGE, output_limits={})
    desk.dispatcher = desk.made.runtime.Dispatcher(unlimited, desk.shop)
    turn = desk.run()
    assert desk.report.problems() == []
    assert codes(turn) == ["output_too_large"] and turn.text == "Too big."
    large, small = desk.submitted()
    assert (large["turn_id"], large["call_id"]) == (small["turn_id"], small["call_id"])
    assert large["success"] and not small["success"]
    if desk.form == "sync":
        assert len(set(desk.keys)) == 2  # one key with two bodies would be a conflict


def test_the_answer_is_the_final_one_and_not_the_commentary(desk: Desk) -> None:
    desk.plays({"say": "I look.", "calls": [get_customer("c1")]}, {"reasoning": "Hm.", "say": "It is c1."})
    assert desk.run().text == "It is c1."


def test_a_message_to_a_running_turn_steers_it(desk: Desk) -> None:
    desk.plays({"calls": [get_customer("c1")]}, {"say": "Done."})
    session_id = desk.create()
    turn = desk.run(session_id=session_id, input="Hurry")
    assert turn.text == "Done." and desk.shop.asked == ["c1"]
    assert desk.report.problems() == []


# ---- what does not go well


def everything_told(desk: Desk, turn: Any) -> tuple[Any, ...]:
    """What must be the same, however often the stream broke."""
    calls = [(result.name, json.dumps(result.arguments), result.output, result.success) for result in turn.calls]
    told = [kind for kind in desk.kinds if kind in ("CallsReceived", "ResultsReady")]
    return turn.text, turn.status, turn.steps, calls, told, sorted(desk.shop.asked)


SCRIPT: list[dict[str, Any]] = [
    {"say": "I look.", "calls": [get_customer("c1"), refund(5, order="o7")]},
    {"calls": [get_customer("c2")]},
    {"say": "All is well."},
]


def script(step: int | None = None, **fault: Any) -> list[dict[str, Any]]:
    return [dict(one, faults=[fault]) if number == step else one for number, one in enumerate(SCRIPT)]


def test_a_stream_that_drops_anywhere_changes_nothing(make_desk: Callable[..., Desk]) -> None:
    whole = make_desk().plays(*SCRIPT)
    expected = everything_told(whole, whole.run())
    drops = 0
    for step in range(len(SCRIPT)):
        for after in range(40):
            desk = make_desk("async" if after % 2 else "sync")
            desk.plays(*script(step, kind="drop", after=after, clean=after % 3 == 0))
            turn = desk.run()
            assert desk.report.problems() == [], (step, after)
            assert everything_told(desk, turn) == expected, (step, after)
            if "events.stream" not in desk.requests:
                break  # the step has no more events than that
            drops += 1
    assert drops > 20


def test_a_stream_that_drops_before_the_turn_has_begun(desk: Desk) -> None:
    desk.plays(
        turns=[
            {"model": [{"say": "Hello."}]},
            {"model": [{"calls": [get_customer("c1")], "faults": [{"kind": "drop"}]}, {"say": "Bye."}]},
        ]
    )
    session_id = desk.idle()
    assert desk.run(session_id=session_id, input="And now?").text == "Bye."
    assert desk.shop.asked == ["c1"] and desk.report.problems() == []


def test_reads_that_lag_behind_a_reconnect(desk: Desk) -> None:
    faults = [{"kind": "drop"}, {"kind": "stale", "times": 2}]
    desk.plays(
        {"calls": [get_customer("c1")]},
        {"calls": [get_customer("c2")], "faults": faults},
        {"say": "Done.", "faults": faults},
    )
    turn = desk.run()
    assert turn.text == "Done." and desk.shop.asked == ["c1", "c2"]
    assert desk.report.problems() == []


def test_reads_that_lag_behind_an_event(desk: Desk) -> None:
    step = {"calls": [get_customer("c2")], "faults": [{"kind": "stale", "times": 2}]}
    desk.plays({"calls": [get_customer("c1")]}, step, {"say": "Done."})
    assert desk.run().text == "Done."
    assert desk.shop.asked == ["c1", "c2"] and len(desk.submitted()) == 2


def test_a_step_that_starts_late_while_the_stream_is_gone(desk: Desk) -> None:
    late = [{"kind": "delay", "seconds": 0.3}]
    desk.plays(
        {"calls": [get_customer("c1")], "faults": [{"kind": "drop", "after": 6}]}, {"say": "Late.", "faults": late}
    )
    assert desk.run().text == "Late."


def test_a_service_that_is_away_for_a_moment_is_waited_for(desk: Desk) -> None:
    away = [{"kind": "http", "on": "events.stream", "status": 503, "times": 2}]
    desk.plays({"calls": [get_customer("c1")]}, {"say": "Done.", "faults": [{"kind": "drop"}]}, faults=away)
    assert desk.run().text == "Done." and desk.shop.asked == ["c1"]
    assert desk.requests.count("events.stream") == 3


def test_a_stream_that_never_comes_back_is_given_up(desk: Desk) -> None:
    away = [{"kind": "http", "on": "events.stream", "status": 503, "times": 99}]
    desk.plays({"calls": [get_customer("c1")]}, {"say": "Done.", "faults": [{"kind": "drop"}]}, faults=away)
    with pytest.raises(openai.InternalServerError):
        desk.run()
    assert desk.requests.count("events.stream") == len(desk.made.loop.RECONNECT_PAUSES)


def test_a_server_that_is_not_there_is_no_dropped_stream(made: Made) -> None:
    with OpenAI(base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0) as client:
        for options in ({"create": {"agent": {"model": "m"}}}, {"session_id": "sess_1"}):
            with pytest.raises(openai.APIConnectionError) as failure:
                made.loop.run_sync(made.package.dispatcher(made.shop()), client, input="Hello", **options)
            assert failure.value.__cause__ is not None  # what the client knows about the reason is kept


def test_the_registration_race_is_sat_out_with_one_key(desk: Desk) -> None:
    desk.plays({"calls": [get_customer("c1")], "faults": [{"kind": "race", "times": 3}]}, {"say": "Done."})
    assert desk.run().text == "Done."
    assert desk.shop.asked == ["c1"] and len(desk.submitted()) == 4
    assert len(set(desk.keys)) == min(1, len(desk.keys))
    assert desk.report.problems() == []


def test_a_call_that_stays_unknown_while_it_is_listed_is_the_service_s_word(desk: Desk) -> None:
    desk.plays({"calls": [get_customer("c1")], "faults": [{"kind": "race", "times": 99}]}, {"say": "Done."})
    with pytest.raises(openai.BadRequestError, match="Unknown pending tool call"):
        desk.run()
    assert len(desk.submitted()) == 4


def test_events_that_come_twice_count_once(desk: Desk) -> None:
    twice = {"faults": [{"kind": "duplicate"}]}
    desk.plays(*({**step, **twice} for step in SCRIPT))
    turn = desk.run()
    assert (turn.text, sorted(desk.shop.asked), len(turn.calls)) == ("All is well.", ["c1", "c2", "o7"], 3)
    ids = [event.event_id for event in desk.heard if hasattr(event, "event_id")]
    assert len(ids) == len(set(ids)) > 0
    assert len(desk.submitted()) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_the_client_s_own_retries_are_enough(desk: Desk, status: int) -> None:
    busy = {"faults": [{"kind": "http", "status": status, "retry_after": 0.01}]}
    desk.plays({**SCRIPT[0], **busy}, {**SCRIPT[1], **busy}, {**SCRIPT[2], **busy})
    assert desk.run(retries=2).text == "All is well."
    assert sorted(desk.shop.asked) == ["c1", "c2", "o7"] and desk.report.problems() == []


@pytest.mark.parametrize(("status", "kind"), [(429, openai.RateLimitError), (500, openai.InternalServerError)])
def test_an_error_of_the_api_comes_through_and_the_turn_can_go_on(desk: Desk, status: int, kind: Any) -> None:
    desk.plays(SCRIPT[0], {**SCRIPT[1], "faults": [{"kind": "http", "status": status}]}, SCRIPT[2])
    with pytest.raises(kind):
        desk.run()
    created = desk.heard[0]
    assert created.type == "agent.session.created"
    turn = desk.run(session_id=created.session.id)
    assert turn.text == "All is well."
    # Both calls had run when the first result was refused; they are answered as they were stored.
    assert sorted(desk.shop.asked) == ["c1", "c2", "o7"]
    assert [result.replayed for result in turn.calls] == [True, True, False]
    assert desk.report.problems() == []


@pytest.mark.parametrize(
    ("end", "code"), [("failed", "server_overloaded"), ("incomplete", "max_output_tokens"), ("session_failed", "x")]
)
def test_a_turn_that_fails_is_an_error(desk: Desk, end: str, code: str) -> None:
    last = {"say": "Half of", "end": end, "error": {"code": code, "message": "It did not work."}}
    desk.plays({"calls": [get_customer("c1")]}, last)
    with pytest.raises(desk.made.runtime.TurnFailed) as failure:
        desk.run()
    assert (failure.value.status, failure.value.code) == ("failed", code)
    assert failure.value.raw is not None


def test_a_turn_that_failed_while_the_stream_was_gone(desk: Desk) -> None:
    last = {"end": "session_failed", "error": {"code": "x", "message": "Broken."}, "faults": [{"kind": "drop"}]}
    desk.plays({"calls": [get_customer("c1")]}, last)
    with pytest.raises(desk.made.runtime.TurnFailed, match=r"Broken\."):
        desk.run()


def test_a_cancelled_turn_ends_the_loop_and_its_results_are_dropped(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.plays({"calls": [get_customer("secret-7"), get_customer("c2")]}, {"say": "Never said."})
    statuses: list[str] = []

    def cancel_once() -> None:
        if len(desk.shop.asked) == 1:
            session_id = desk.report.exchanges[1].path.split("/")[4]
            with ThreadPoolExecutor(1) as pool:
                statuses.append(pool.submit(desk.cancel, session_id).result())

    desk.shop.during = cancel_once
    turn = desk.run()
    assert statuses == ["cancelled"]
    assert (turn.status, turn.text, len(turn.calls)) == ("cancelled", "", 2)
    assert "no longer waits for" in caplog.text and "secret-7" not in caplog.text


def test_a_turn_that_somebody_else_cancels(desk: Desk) -> None:
    desk.plays({"say": "Half", "end": "cancelled"})
    assert desk.run().status == "cancelled"


# ---- approvals, logins, environments


@pytest.mark.parametrize("kind", ["mcp", "browser_origin", "browser_login"])
def test_an_approval_is_answered_by_the_callback(desk: Desk, kind: str) -> None:
    wanted = "submit" if kind == "browser_login" else "approve"
    step = {"calls": [get_customer("c1")], "approvals": [{"kind": kind, "name": "delete", "decision": wanted}]}
    desk.plays(step, {"say": "Done."})
    asked: list[str] = []

    def decide(action: Any) -> Any:
        asked.append(action.type)
        login = {"action": "submit", "fields": [{"field_id": "user", "value": "ada"}]}
        return desk.made.adapter.write_approval(action, login if kind == "browser_login" else True)

    async def decide_later(action: Any) -> Any:
        return [decide(action)]

    turn = desk.run(on_action=decide if desk.form == "sync" else decide_later)
    assert turn.text == "Done." and len(asked) == 1
    assert desk.report.problems() == []


def test_an_environment_is_connected_by_the_callback(desk: Desk) -> None:
    step = {"calls": [get_customer("c1")], "approvals": [{"kind": "environment"}]}
    desk.plays(step, {"approvals": [{"kind": "environment"}]}, {"say": "Connected."})
    asked: list[Any] = []

    def connect(action: Any) -> None:
        asked.append(action)
        url = f"{desk.simulator.base_url}/_simulator/environments/{action.environment_id}/connect"
        with urllib.request.urlopen(urllib.request.Request(url, method="POST")) as answer:
            answer.read()

    assert desk.run(on_action=connect).text == "Connected."
    assert [action.type for action in asked] == ["environment_connection"] * 2
    assert desk.report.problems() == []


@pytest.mark.parametrize("kind", ["mcp", "browser_origin", "browser_login", "environment"])
def test_without_a_callback_the_action_is_named_and_nothing_runs(desk: Desk, kind: str) -> None:
    desk.plays({"calls": [get_customer("c1")], "approvals": [{"kind": kind}]}, {"say": "Done."})
    names = {"mcp": "mcp_approval_request", "environment": "environment_connection"}
    name = names.get(kind, "computer_use_approval_request")
    with pytest.raises(desk.made.runtime.UnhandledAction, match=name) as failure:
        desk.run()
    assert failure.value.kind == name and failure.value.action.type == name and failure.value.action_id
    assert desk.shop.asked == []


def test_an_approval_is_asked_for_once_even_when_the_stream_drops(desk: Desk) -> None:
    step = {"approvals": [{"kind": "mcp", "decision": "deny"}]}
    desk.plays(step, {"say": "Done.", "faults": [{"kind": "drop"}, {"kind": "stale", "times": 2}]})
    asked: list[Any] = []

    def decide(action: Any) -> Any:
        asked.append(action)
        return desk.made.adapter.write_approval(action, False)

    assert desk.run(on_action=decide).text == "Done."
    assert len(asked) == 1


def test_a_broken_connection_of_a_callback_is_its_own(desk: Desk) -> None:
    desk.plays({"approvals": [{"kind": "mcp"}]}, {"say": "Done."})

    def decide(action: Any) -> Any:
        raise ConnectionResetError("the callback's own")

    with pytest.raises(ConnectionResetError, match="own"):
        desk.run(on_action=decide)
    assert "events.stream" not in desk.requests


# ---- going on with what is pending


def test_a_waiting_session_is_taken_up_again(desk: Desk) -> None:
    desk.plays(*SCRIPT)
    turn = desk.run(session_id=desk.create())
    assert turn.text == "All is well." and len(turn.calls) == 3
    assert desk.report.problems() == []


def test_after_a_crash_stored_results_are_sent_and_not_computed(desk: Desk) -> None:
    """A process dies after its calls have run and before a result was sent. The next has the same journal."""
    desk.plays(*SCRIPT)
    journal = desk.made.part("journal.memory").MemoryJournal()
    desk.dispatcher = desk.made.package.dispatcher(desk.shop, journal=journal)
    session_id = desk.create()
    with desk.client() as client:
        session = client.beta.agents.sessions.retrieve(session_id)
    calls = desk.made.adapter.read_calls(session)
    assert all(result.success for result in desk.dispatcher.execute_all_sync(calls))
    other = desk.made.package.dispatcher(desk.shop, journal=journal)
    desk.dispatcher.close()
    desk.dispatcher = other
    turn = desk.run(session_id=session_id)
    assert turn.text == "All is well."
    assert sorted(desk.shop.asked) == ["c1", "c2", "o7"]
    assert [result.replayed for result in turn.calls] == [True, True, False]
    memory = desk.made.part("journal").Key
    assert all(journal.is_submitted(memory(session_id, call.turn_id, call.call_id)) for call in calls)


async def test_a_cancelled_task_leaves_the_turn_to_the_next_run(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk().plays(SCRIPT[0], {"say": "Late.", "faults": [{"kind": "delay", "seconds": 0.2}]})
    session_id = await asyncio.to_thread(desk.create)
    async with AsyncOpenAI(base_url=desk.simulator.openai_base_url, api_key="none", max_retries=0) as client:
        sent = asyncio.Event()

        def hear(event: Any) -> None:
            if getattr(event, "type", "") == "agent.session.turn.item.added":
                sent.set()  # the first result is there

        loop = desk.made.loop.run(desk.dispatcher, client, session_id=session_id, on_event=hear)
        task = asyncio.create_task(loop)
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        turn = await desk.made.loop.run(desk.dispatcher, client, session_id=session_id)
    assert turn.text == "Late."
    assert sorted(desk.shop.asked) == ["c1", "o7"] and desk.report.problems() == []


def test_a_turn_that_is_over_gives_its_outcome(desk: Desk) -> None:
    desk.plays({"say": "It was this."})
    turn = desk.run(session_id=desk.create())
    assert (turn.text, turn.status, turn.calls) == ("It was this.", "completed", [])


def test_a_session_without_a_turn_has_nothing_to_go_on_with(desk: Desk) -> None:
    desk.plays({"say": "Never."})
    with desk.client() as client:
        session = client.beta.agents.sessions.create(
            environment={"type": "self_hosted", "workspace_directory": "/work"}, agent={"model": desk.model}
        )
    with pytest.raises(desk.made.runtime.LoopError, match="no turn"):
        desk.run(session_id=session.id)


@pytest.mark.parametrize(
    "options",
    [
        {"input": "Hi"},
        {"session_id": "s", "create": {}, "input": "Hi"},
        {"create": {"agent": {"model": "m"}}},
        {"create": {"agent": {"model": "m"}}, "input": ""},
        {"session_id": "s", "input": []},
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(made: Made, options: dict[str, Any]) -> None:
    with OpenAI(base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0) as client, pytest.raises(ValueError):
        made.loop.run_sync(made.package.dispatcher(made.shop()), client, **options)


# ---- workers without a stream


def test_a_worker_answers_what_is_pending(desk: Desk) -> None:
    desk.plays(*SCRIPT)
    session_id = desk.create()
    served = desk.serve(session_id, context="ada")
    assert served.session_id == session_id
    assert [result.name for result in served.results] == ["get_customer", "refund", "get_customer"]
    assert served.status == "idle" and served.unhandled == []
    assert "events.stream" not in desk.requests and desk.report.problems() == []
    assert desk.serve(session_id).results == []


def test_two_workers_at_once_run_each_call_once(desk: Desk) -> None:
    desk.plays(*SCRIPT)
    session_id = desk.create()
    inside = threading.Barrier(2)
    first_call = iter([True])

    def first_only() -> None:
        if next(first_call, False):
            inside.wait(30)  # the second worker is let in while the first is in the middle of the call

    desk.shop.during = first_only
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(desk.serve, session_id)
        inside.wait(30)
        second = pool.submit(desk.serve, session_id)
        statuses = {first.result(60).status, second.result(60).status}
    assert sorted(desk.shop.asked) == ["c1", "c2", "o7"]
    assert "idle" in statuses and desk.report.problems() == []


def test_a_worker_leaves_alone_what_it_cannot_handle(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.plays({"calls": [get_customer("c1")], "approvals": [{"kind": "mcp"}]}, {"say": "Done."})
    session_id = desk.create()
    served = desk.serve(session_id)
    assert [result.output for result in served.results] == ['{"id":"c1","for":null}']
    assert served.status == "requires_action"
    assert [action.type for action in served.unhandled] == ["mcp_approval_request"]
    assert "mcp_approval_request" in caplog.text
    approve = desk.made.adapter.write_approval
    served = desk.serve(session_id, on_action=lambda action: approve(action, "approve"))
    assert (served.status, served.results, served.unhandled) == ("idle", [], [])


def test_a_worker_tells_that_a_session_failed(desk: Desk) -> None:
    desk.plays({"end": "session_failed"})
    assert desk.serve(desk.create()).status == "failed"


def test_a_worker_tells_that_a_session_is_gone(desk: Desk) -> None:
    with pytest.raises(openai.NotFoundError):
        desk.serve("sess_none")


def test_a_session_with_nothing_to_cancel(desk: Desk) -> None:
    desk.plays({"say": "Done."})
    assert desk.cancel(desk.idle()) == "completed"


def test_a_webhook_is_checked_and_served(make_desk: Callable[..., Desk]) -> None:
    """The page on this loop shows this code."""
    desk = make_desk().plays(*SCRIPT)
    session_id = desk.create()
    secret = "whsec_" + base64.b64encode(b"a secret of the tests").decode()
    body = json.dumps(
        {
            "id": "evt_1",
            "object": "event",
            "created_at": int(time.time()),
            "type": "agent.session.action_required",
            "data": {"id": session_id, "required_action": {"type": "function_call"}},
        }
    )
    stamp = str(int(time.time()))
    digest = hmac.new(b"a secret of the tests", f"evt_1.{stamp}.{body}".encode(), hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    headers = {"webhook-id": "evt_1", "webhook-timestamp": stamp, "webhook-signature": signature}
    with desk.client() as client:
        client.webhook_secret = secret
        event = client.webhooks.unwrap(body, headers)
        assert event.type == "agent.session.action_required"
        served = desk.made.loop.serve_sync(desk.dispatcher, client, session_id=event.data.id)
        assert served.status == "idle" and len(served.results) == 3
        with pytest.raises(openai.InvalidWebhookSignatureError):
            client.webhooks.unwrap(body + " ", headers)


# ---- the journal


@dataclass
class Failing:
    """A journal that cannot be written to any more."""

    inner: Any
    fails: set[str] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        if name in self.fails:

            async def fail(*_: Any) -> None:
                raise OSError("the disk is full")

            return fail
        return getattr(self.inner, name)


@pytest.mark.parametrize("method", ["begin", "finish"])
def test_what_cannot_be_stored_is_not_sent(desk: Desk, method: str) -> None:
    desk.plays(*SCRIPT)
    journal = Failing(desk.made.part("journal.memory").MemoryJournal(), {method})
    desk.dispatcher = desk.made.package.dispatcher(desk.shop, journal=journal)
    session_id = desk.create()
    with pytest.raises(desk.made.runtime.ResultsNotStored):
        desk.run(session_id=session_id)
    with pytest.raises(desk.made.runtime.ResultsNotStored):
        desk.serve(session_id)
    assert desk.submitted() == []


def test_a_note_that_cannot_be_taken_does_not_end_the_turn(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.plays(*SCRIPT)
    journal = Failing(desk.made.part("journal.memory").MemoryJournal(), {"submitted"})
    desk.dispatcher = desk.made.package.dispatcher(desk.shop, journal=journal)
    assert desk.run().text == "All is well."
    assert "cannot note" in caplog.text


def test_a_dispatcher_without_a_journal_has_one_that_its_parts_share(made: Made) -> None:
    dispatcher = made.package.dispatcher(made.shop())
    part = dispatcher.only("get_customer")
    assert dispatcher.journal is None and part.journal is None
    assert part.journalled().journal is dispatcher.journalled().journal is not None
    journal = made.part("journal.memory").MemoryJournal()
    kept = dispatcher.with_journal(journal)
    assert kept.journalled() is kept


# ---- the loop by itself: it does no I/O, so a test can be the other side


class Script:
    """Answers the steps of a loop by the name of what they ask for."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.steps: list[str] = []
        self.sent: list[Any] = []

    def drive(self, steps: Any) -> Any:
        outcome: Any = None
        failure: Exception | None = None
        while True:
            try:
                step = steps.throw(failure) if failure else steps.send(outcome)
            except StopIteration as stop:
                return stop.value
            outcome, failure = self._outcome(step), None
            if isinstance(outcome, Exception):
                failure = outcome

    def _outcome(self, step: Any) -> Any:
        kind = type(step).__name__
        name = step.function if kind == "Invoke" else kind
        self.steps.append(name)
        if name == "stream":
            return name
        if name == "send":
            self.sent.append(step.arguments["events"][0])
        waiting = self.answers.get(name)
        return waiting.pop(0) if waiting else None


@dataclass
class _Names:
    """A client whose methods are their names."""

    retrieve: str = "read"
    create: str = "send"
    stream: str = "stream"
    list: str = "list"
    update: str = "update"

    def __getattr__(self, name: str) -> Any:
        return self


def waiting_for(*call_ids: str, status: str = "requires_action") -> dict[str, Any]:
    actions = [
        {"type": "function_call", "turn_id": "t1", "call_id": call_id, "name": "get_customer", "arguments": {}}
        for call_id in call_ids
    ]
    return {"id": "s1", "status": status, "required_actions": actions}


def outcome(made: Made, call_id: str, code: str = "") -> Any:
    call = made.runtime.Call("get_customer", {}, call_id=call_id, turn_id="t1", session_id="s1")
    return made.runtime.Result(call, "found", error=made.runtime.CallError(code, "No.") if code else None)


def test_a_call_that_another_worker_runs_is_waited_for(made: Made) -> None:
    script = Script(
        read=[waiting_for("c1", "c2"), waiting_for("c2"), waiting_for("c2"), waiting_for(status="in_progress")],
        Execute=[
            [outcome(made, "c1"), outcome(made, "c2", "in_progress")],
            [outcome(made, "c2", "in_progress")],
            [outcome(made, "c2", "in_progress")],
        ],
    )
    served = script.drive(made.loop.attend(made.package.dispatcher(made.shop()), _Names(), session_id="s1"))
    assert [event["call_id"] for event in script.sent] == ["c1"]
    assert script.steps.count("Sleep") == 3
    assert served.status == "in_progress" and [result.call_id for result in served.results] == ["c1"]


@dataclass
class Refused(Exception):
    """An error as a vendor's client raises it."""

    status_code: int
    body: Any = None


@pytest.mark.parametrize("status", [400, 404, 409])
def test_a_result_that_nobody_waits_for_is_dropped(made: Made, status: int, caplog: pytest.LogCaptureFixture) -> None:
    script = Script(
        read=[waiting_for("c1", "c2"), waiting_for("c2"), waiting_for("c2")],
        Execute=[[outcome(made, "c1"), outcome(made, "c2")]],
        send=[Refused(status, {"message": "The turn has ended."})],
    )
    served = script.drive(made.loop.attend(made.package.dispatcher(made.shop()), _Names(), session_id="s1"))
    assert [result.call_id for result in served.results] == ["c2"]
    assert "c1" in caplog.text and "found" not in caplog.text


@pytest.mark.parametrize("status", [400, 404, 409, 401, 403, 500])
def test_any_other_refusal_is_raised_as_it_is(made: Made, status: int) -> None:
    refusal = Refused(status, {"message": "No."})
    script = Script(read=[waiting_for("c1")] * 9, Execute=[[outcome(made, "c1")]], send=[refusal])
    with pytest.raises(Refused) as raised:
        script.drive(made.loop.attend(made.package.dispatcher(made.shop()), _Names(), session_id="s1"))
    assert raised.value is refusal
    assert script.steps.count("send") == 1


def test_a_lost_connection_of_a_worker_is_raised_as_it_is(made: Made) -> None:
    lost = ConnectionResetError("gone")
    script = Script(read=[waiting_for("c1"), lost], Execute=[[outcome(made, "c1")]])
    with pytest.raises(ConnectionResetError) as raised:
        script.drive(made.loop.attend(made.package.dispatcher(made.shop()), _Names(), session_id="s1"))
    assert raised.value is lost
    with pytest.raises(ConnectionResetError) as raised:
        Script(list=[lost]).drive(made.loop.end_turn(made.package.dispatcher(made.shop()), _Names(), session_id="s1"))
    assert raised.value is lost


def follow(made: Made, script: Script, **options: Any) -> Any:
    options = {"session_id": "s1", "input": "Hello", **options}
    return script.drive(made.loop.converse(made.package.dispatcher(made.shop()), _Names(), **options))


def turn_event(kind: str, turn_id: str, **turn: Any) -> dict[str, Any]:
    about = {"id": turn_id, "status": kind, **turn}
    return {"type": f"agent.session.turn.{kind}", "event_id": f"{turn_id}.{kind}", "turn_id": turn_id, "turn": about}


def said(text: str, turn_id: str = "t2", phase: str | None = "final_answer") -> dict[str, Any]:
    item = {
        "id": f"{turn_id}.{text}",
        "type": "message",
        "role": "assistant",
        "phase": phase,
        "turn_id": turn_id,
        "content": [{"type": "output_text", "text": text}],
    }
    return {"type": "agent.session.turn.item.done", "event_id": f"said.{turn_id}.{text}", "item": item}


OLD = {"data": [{"id": "t1", "status": "completed"}]}


def test_only_the_own_turn_of_the_root_agent_ends_the_loop(made: Made) -> None:
    idle = {"type": "agent.session.idle", "session": {"id": "s1"}}
    script = Script(
        list=[OLD],
        Next=[
            idle,  # older than the turn
            turn_event("completed", "t1"),
            turn_event("created", "sub", subagent_id="a1"),
            turn_event("created", "t2"),
            said("The helper is done.", "sub"),
            turn_event("completed", "sub", subagent_id="a1"),
            {"type": "agent.session.something.new", "event_id": "e1"},
            said("Mine.", "t2"),
            turn_event("completed", "t2"),
        ],
    )
    turn = follow(made, script)
    assert (turn.text, turn.session_id) == ("Mine.", "s1")
    assert script.steps[:3] == ["stream", "list", "send"] and script.steps[-1] == "Close"


def test_the_newest_turn_of_the_root_agent_may_stand_on_a_later_page(made: Made) -> None:
    helpers = {"data": [{"id": "a", "status": "in_progress", "subagent_id": "x"}], "has_more": True, "last_id": "a"}
    script = Script(list=[helpers, OLD], Next=[turn_event("created", "t2"), said("Ok."), turn_event("completed", "t2")])
    assert follow(made, script).text == "Ok."
    assert script.steps[:4] == ["stream", "list", "list", "send"]


def test_an_input_whose_answer_was_lost_is_sent_again_only_if_it_did_not_arrive(made: Made) -> None:
    running = {"id": "t2", "status": "in_progress"}
    arrived = Script(
        list=[OLD, {"data": [running]}, {"data": []}],
        send=[ConnectionResetError()],
        read=[waiting_for(status="in_progress"), running],
        Next=[turn_event("completed", "t2")],
    )
    assert follow(made, arrived).status == "completed"
    assert arrived.steps.count("send") == 1
    lost = Script(
        list=[OLD, OLD],
        send=[ConnectionResetError()],
        Next=[turn_event("created", "t2"), said("Ok."), turn_event("completed", "t2")],
    )
    follow(made, lost)
    assert lost.steps.count("send") == 2


def test_a_call_that_the_agent_does_not_wait_for_is_looked_for_when_it_goes_on(made: Made) -> None:
    call = {"type": "function_call", "turn_id": "t2", "call_id": "c1"}
    more = {"type": "message", "role": "assistant", "turn_id": "t2"}
    script = Script(
        list=[OLD],
        Next=[
            turn_event("created", "t2"),
            {"type": "agent.session.turn.item.added", "event_id": "1", "item": call},
            {"type": "agent.session.turn.item.added", "event_id": "2", "item": more},
            said("Meanwhile."),
            turn_event("completed", "t2"),
        ],
        read=[waiting_for("c1", status="in_progress")],
        Execute=[[outcome(made, "c1")]],
    )
    turn = follow(made, script)
    assert [result.call_id for result in turn.calls] == ["c1"] and turn.text == "Meanwhile."


@pytest.mark.parametrize(
    ("phases", "text"),
    [
        ([("a", "commentary"), ("b", "final_answer"), ("c", "final_answer")], "bc"),
        ([("a", "final_answer"), ("b", "commentary")], "a"),
        ([("a", None), ("b", None)], "b"),
        ([("a", "commentary")], "a"),
        ([], ""),
    ],
)
def test_the_text_of_a_turn(made: Made, phases: list[tuple[str, str | None]], text: str) -> None:
    items = [said(words, phase=phase)["item"] for words, phase in phases]
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
    assert made.adapter.answer_of([asked, {"type": "reasoning"}, *items]) == text


def test_a_stream_that_keeps_ending_is_given_up(made: Made) -> None:
    end = made.part("steps").END
    script = Script(list=[OLD] * 9, Next=[end] * 9, read=[waiting_for(status="idle")] * 9)
    with pytest.raises(made.runtime.LoopError, match="keeps ending"):
        follow(made, script)
    assert script.steps.count("stream") == len(made.loop.RECONNECT_PAUSES) + 1


def test_a_budget_that_is_used_up_before_the_turn_ends_the_loop(made: Made) -> None:
    script = Script(list=[OLD], Next=[{"type": "agent.session.budget_reached", "session": {"id": "s1"}}])
    with pytest.raises(made.runtime.TurnFailed, match="budget"):
        follow(made, script)


# ---- the adapter


def test_calls_are_read_from_whatever_holds_them(made: Made) -> None:
    approval = {"type": "mcp_approval_request", "turn_id": "t1", "request_id": "r1", "request": {}}
    plain = waiting_for("c1", "c2")
    plain["required_actions"].append(approval)
    plain["required_actions"][1]["arguments"] = '{"customer_id": "c2"}'
    session = AgentSession.construct(None, **plain)
    event = {"type": "agent.session.requires_action", "session": session}
    for source in (plain, session, event):
        calls = made.adapter.read_calls(source, context=7)
        assert [(call.name, call.call_id, call.turn_id, call.session_id) for call in calls] == [
            ("get_customer", "c1", "t1", "s1"),
            ("get_customer", "c2", "t1", "s1"),
        ]
        assert [call.arguments for call in calls] == [{}, '{"customer_id": "c2"}']
        assert {call.target for call in calls} == {"openai_agents"} and {call.context for call in calls} == {7}
        assert [made.adapter.action_key(action) for action in made.adapter.other_actions(source)] == [
            ("mcp_approval_request", "t1", "r1")
        ]
    (call,) = made.adapter.read_calls(plain["required_actions"][:1], session_id="s9")
    assert call.session_id == "s9"
    assert made.adapter.read_calls({"id": "s1"}) == made.adapter.other_actions([]) == []


def test_call_ids_may_repeat_from_turn_to_turn(made: Made) -> None:
    session = waiting_for("c1", "c1")
    session["required_actions"][1]["turn_id"] = "t2"
    assert [call.turn_id for call in made.adapter.read_calls(session)] == ["t1", "t2"]


def test_results_as_events(made: Made) -> None:
    ids = {"type": "agent.session.input.tool_result", "turn_id": "t1", "call_id": "c1"}
    assert made.adapter.write_result(outcome(made, "c1")) == {**ids, "success": True, "output": "found"}
    failed = {**ids, "success": False, "error": "No."}
    assert made.adapter.write_result(outcome(made, "c1", "handler_error")) == failed


def test_approvals_as_events(made: Made) -> None:
    def approval(kind: str, request: str, answer: Any) -> Any:
        action = {"type": kind, "turn_id": "t1", "request_id": "r1", "request": {"type": request}}
        event = made.adapter.write_approval(action, answer)
        assert event["type"] == f"agent.session.input.{kind}_result" and event["request_id"] == "r1"
        return event["response"]

    mcp, browser = "mcp_approval_request", "computer_use_approval_request"
    assert approval(mcp, "mcp_tool_call", True) == {"type": "mcp_tool_call", "decision": "approve"}
    assert approval(mcp, "mcp_tool_call", "cancel") == {"type": "mcp_tool_call", "decision": "cancel"}
    assert approval(browser, "browser_origin_access", False) == {"type": "browser_origin_access", "decision": "deny"}
    assert approval(browser, "browser_authentication", False) == {"type": "browser_authentication", "action": "cancel"}
    with pytest.raises(ValueError, match="login"):
        approval(browser, "browser_authentication", True)
    with pytest.raises(ValueError, match="environment_connection"):
        made.adapter.write_approval({"type": "environment_connection", "environment_id": "e1"}, True)


@given(*[st.lists(st.text(max_size=3), min_size=3, max_size=3)] * 2)
def test_idempotency_keys_are_one_to_a_call(made: Made, one: list[str], other: list[str]) -> None:
    def key(ids: list[str], variant: str = "") -> str:
        call = made.runtime.Call("refund", session_id=ids[0], turn_id=ids[1], call_id=ids[2])
        assert made.adapter.idempotency_key(call) == made.adapter.idempotency_key(made.runtime.Result(call))
        return str(made.adapter.idempotency_key(call, variant))

    assert (key(one) == key(other)) == (one == other)
    assert key(one) != key(one, "smaller")


def test_a_part_of_the_tools_is_registered_without_the_search_it_does_not_need(made: Made) -> None:
    dispatcher = made.package.dispatcher(made.shop())
    assert {"type": "tool_search"} in made.adapter.registration(dispatcher)
    assert [entry["name"] for entry in made.adapter.registration(dispatcher.only("refund"))] == ["refund"]


def test_nothing_of_a_vendor_is_imported(made: Made) -> None:
    name = made.package.__name__
    root = Path(str(made.package.__file__)).parent.parent
    code = f"import sys, {name}.runtime.loops.openai_agents; print('openai' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_a_sync_client_under_the_async_loop(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk().plays(*SCRIPT)
    with contextlib.closing(desk.client()) as client:
        turn = asyncio.run(
            desk.made.loop.run(desk.dispatcher, client, create={"agent": {"model": desk.model}}, input="Hello")
        )
    assert turn.text == "All is well."
