"""Whatever a client sends is answered, and the state machines keep their promises under any sequence of inputs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.simulator import Scenario
from codegen.simulator.agents import Agents
from codegen.simulator.agents_input import AgentsError
from codegen.simulator.agents_session import RegistrationRace, Session
from codegen.simulator.oci import Oci
from codegen.simulator.oci_tools import OciTools
from codegen.simulator.play import Mismatch
from codegen.simulator.responses import Responses
from codegen.simulator.responses_input import Pairing, ResponsesError, check_history
from codegen.simulator.stage import Stage
from codegen.simulator.wire import Incoming, Refusal, Reply, Route, Surface
from tests.simulator.scripts import call, calls, fault, function, say, turn

HEADERS = {"authorization": "Bearer x", "openai-beta": "agents=v1"}
SCRIPT = Scenario.parse(
    {
        "name": "s",
        "turns": [
            turn(calls(call("a"), call("b"), approvals=[{"kind": "mcp"}], faults=[fault("race", calls=[1])]), say()),
            turn(calls(call("c", call_id="same")), calls(call("d", call_id="again")), say()),
            turn(say("three")),
        ],
    }
)
RESULT = {"type": "agent.session.input.tool_result", "turn_id": "t", "call_id": "c", "success": True, "output": "x"}
MESSAGE = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
BODIES: dict[str, Any] = {
    "sessions.create": {"environment": {"type": "none"}, "agent": {"model": "s", "tools": [function()]}, "input": "hi"},
    "sessions.update": {"agent": {"tools": [function()]}, "metadata": {"a": "b"}},
    "events.create": {"events": [RESULT, {"type": "agent.session.input.message", "input": [MESSAGE]}]},
    "agents.create": {"model": "s", "tools": [function()], "metadata": {}},
    "agents.update": {"name": "n", "tools": [function()], "metadata": {}},
    "responses.create": {
        "model": "s",
        "tools": [
            function(strict=True),
            {"type": "namespace", "name": "n", "description": "d", "tools": [function("x")]},
        ],
        "tool_choice": {"type": "function", "name": "lookup"},
        "input": [
            MESSAGE,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "function_call", "call_id": "c", "name": "lookup", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            MESSAGE,
        ],
    },
    "conversations.create": {"items": [MESSAGE], "metadata": {}},
    "conversations.update": {"metadata": {}},
    "conversations.items.create": {"items": [MESSAGE]},
    "tools.create": {
        "displayName": "lookup",
        "description": "d",
        "agentId": "ocid1.genaiagent.oc1..s",
        "compartmentId": "c",
        "toolConfig": {
            "toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG",
            "function": {"name": "lookup", "parameters": {"type": '"object"', "required": "[]"}},
        },
    },
    "tools.update": {"description": "d", "toolConfig": {"toolConfigType": "RAG_TOOL_CONFIG"}},
    "oci.sessions.create": {"displayName": "s"},
    "oci.sessions.update": {"displayName": "s"},
    "chat": {
        "userMessage": "hi",
        "performedActions": [
            {"actionId": "a", "performedActionType": "FUNCTION_CALLING_PERFORMED_ACTION", "functionCallOutput": "x"}
        ],
    },
}
JUNK: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [None], {"type": "x"}, [[]], {"a": None}]


def surfaces() -> list[Surface]:
    stage = Stage({"s": SCRIPT})
    tools = OciTools(stage)
    return [Agents(stage), Responses(stage), tools, Oci(stage, tools)]


def routes(all_surfaces: list[Surface]) -> Iterator[tuple[Surface, Route]]:
    for surface in all_surfaces:
        for route in surface.routes():
            yield surface, route


def operation_names() -> list[str]:
    return [name(surface, route) for surface, route in routes(surfaces())]


def name(surface: Surface, route: Route) -> str:
    return f"oci.{route.operation}" if isinstance(surface, Oci) and route.operation != "chat" else route.operation


def changes(value: Any) -> Iterator[Any]:
    """The value with one part of it replaced by junk, or left out, for every part and every junk."""
    yield from JUNK
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: changed} for changed in changes(value[key]))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in changes(value[index]))


@pytest.mark.parametrize("operation", operation_names())
def test_every_body_is_answered(operation: str) -> None:
    """With one thing wrong anywhere in it, a request is answered or refused; nothing else comes out."""
    all_surfaces = surfaces()
    table = {name(surface, route): (surface, route) for surface, route in routes(all_surfaces)}
    ids = {
        "session_id": made(table, "sessions.create", "id"),
        "turn_id": "turn_000001",
        "agent_id": made(table, "agents.create", "id"),
        "response_id": "resp_x",
        "conversation_id": made(table, "conversations.create", "id"),
        "tool_id": made(table, "tools.create", "id"),
        "work_request_id": "ocid1.genaiagentworkrequest.oc1..000001",
        "endpoint_id": "ocid1.genaiagentendpoint.oc1..s",
    }
    if operation.startswith("oci."):
        ids["session_id"] = made(table, "oci.sessions.create", "id", ids)
    surface, route = table[operation]
    for body in [BODIES.get(operation), *changes(BODIES.get(operation))]:
        request = Incoming(route.method, route.path, ids, {}, HEADERS, copy.deepcopy(body))
        surface.scenario_of(route.operation, request)
        try:
            reply = route.answer(request)
        except Refusal as refusal:
            assert 400 <= refusal.status < 500, (body, refusal)
        else:
            assert isinstance(reply, Reply) and reply.status < 300


def made(table: dict[str, tuple[Surface, Route]], operation: str, key: str, ids: dict[str, str] | None = None) -> str:
    """The id of something that a right request makes."""
    route = table[operation][1]
    reply = route.answer(Incoming(route.method, route.path, ids or {}, {}, HEADERS, copy.deepcopy(BODIES[operation])))
    return str(reply.body[key])


INPUTS = st.lists(
    st.lists(
        st.one_of(
            st.just({"kind": "message"}),
            st.just({"kind": "cancel"}),
            st.just({"kind": "approve"}),
            st.fixed_dictionaries(
                {
                    "kind": st.just("result"),
                    "which": st.integers(0, 3),
                    "output": st.sampled_from("xy"),
                    "old": st.booleans(),
                }
            ),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(INPUTS)
def test_a_session_keeps_its_promises(batches: list[list[dict[str, Any]]]) -> None:
    all_surfaces = surfaces()
    agents = all_surfaces[0]
    assert isinstance(agents, Agents)
    body = {
        "environment": {"type": "self_hosted", "workspace_directory": "/w"},
        "agent": BODIES["sessions.create"]["agent"],
    }
    agents.create(Incoming("POST", "/", {}, {}, HEADERS, body))
    (session,) = agents._sessions.values()
    seen: list[dict[str, Any]] = []
    for batch in batches:
        seen += [dict(action) for action in session.view()["required_actions"]]
        events = [event for event in (as_event(one, session, seen) for one in batch) if event is not None]
        before = snapshot(session)
        try:
            session.submit(events, None)
        except (AgentsError, Mismatch, RegistrationRace):
            assert snapshot(session) == before  # all or none
        check_promises(session)


def as_event(one: dict[str, Any], session: Session, seen: list[dict[str, Any]]) -> dict[str, Any] | None:
    """An input event for what the session shows now, or showed once."""
    kind = "agent.session.input."
    if one["kind"] == "message":
        return {"type": f"{kind}message", "input": [MESSAGE]}
    if one["kind"] == "cancel":
        return {"type": f"{kind}cancel"}
    actions = seen if one.get("old") else session.view()["required_actions"]
    if one["kind"] == "approve":
        found = [a for a in actions if a["type"] == "mcp_approval_request"]
        response = {"type": "mcp_tool_call", "decision": "approve"}
        request = found[0]["request_id"] if found else "request_x"
        return {"type": f"{kind}mcp_approval_request_result", "request_id": request, "response": response}
    found = [a for a in actions if a["type"] == "function_call"]
    if not found:
        return None
    action = found[one["which"] % len(found)]
    ids = {"turn_id": action["turn_id"], "call_id": action["call_id"]}
    return {"type": f"{kind}tool_result", **ids, "success": True, "output": one["output"]}


def snapshot(session: Session) -> Any:
    return copy.deepcopy((session.view(), session.items, [session.turn_view(turn) for turn in session.turns]))


def check_promises(session: Session) -> None:
    view = session.view()
    active = [turn for turn in session.turns if not turn.over]
    assert len(active) <= 1
    assert (view["status"] == "requires_action") == bool(view["required_actions"])
    assert (view["status"] == "idle") == (not active)
    assert all(action["turn_id"] == active[0].id for action in view["required_actions"])
    outputs = [(i["turn_id"], i["call_id"]) for i in session.items if i["type"] == "function_call_output"]
    made = [(i["turn_id"], i["call_id"]) for i in session.items if i["type"] == "function_call"]
    assert len(outputs) == len(set(outputs)) and set(outputs) <= set(made)
    pending = {(a["turn_id"], a["call_id"]) for a in view["required_actions"] if a["type"] == "function_call"}
    assert not pending & set(outputs)


@given(
    st.lists(st.tuples(st.sampled_from(["function_call", "function_call_output"]), st.sampled_from("abc")), max_size=7)
)
def test_a_history_is_right_when_calls_and_outputs_pair_up(entries: list[tuple[str, str]]) -> None:
    items = [{"type": kind, "call_id": call_id, "name": "x"} for kind, call_id in entries]
    paired = all(
        [kind for kind, found in entries if found == call_id] in ([], ["function_call", "function_call_output"])
        for call_id in "abc"
    )
    try:
        check_history(items, Pairing())
        accepted = True
    except ResponsesError:
        accepted = False
    assert accepted == paired
