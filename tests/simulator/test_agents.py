"""OpenAI Agents sessions, through the real client."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from openai import APIConnectionError, APIStatusError

from codegen.simulator import Simulator, SimulatorReport
from tests.simulator.clients import openai_client
from tests.simulator.loops import create_session, tool_result
from tests.simulator.scripts import call, calls, fault, function, say, turn

Add = Callable[..., str]
Report = Callable[[str], SimulatorReport]
TWO = calls(call("a", result={"json": {"key": "a"}}), call("b"))
SELF_HOSTED = {"type": "self_hosted", "workspace_directory": "/work"}


def run(name: str, arguments: Any) -> Any:
    return arguments


def new(client: Any, model: str, message: str = "hi", tools: list[Any] | None = None, **more: Any) -> Any:
    """A session whose first turn has begun."""
    return client.beta.agents.sessions.create(
        **{**create_session(model, [function()] if tools is None else tools, message), **more}
    )


def idle(client: Any, model: str, tools: list[Any] | None = None) -> Any:
    """A session that waits for its first message, which only one with an environment can."""
    agent = {"model": model, "tools": [function()] if tools is None else tools}
    return client.beta.agents.sessions.create(environment=SELF_HOSTED, agent=agent)


def current(client: Any, session: Any) -> Any:
    return client.beta.agents.sessions.retrieve(session.id)


def send(client: Any, session: Any, *events: Any, **more: Any) -> None:
    client.beta.agents.sessions.events.create(session.id, events=list(events), **more)


def message(text: str = "hi") -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {"type": "agent.session.input.message", "input": [{"role": "user", "content": content}]}


def answer_all(client: Any, session: Any) -> None:
    for action in current(client, session).required_actions:
        send(client, session, tool_result(action, run))


def refused(status: int, text: str = ".") -> Any:
    """The block raises the client's error with this status, and this text in it."""
    return pytest.raises(APIStatusError, match=text, check=lambda error: error.status_code == status)


def types(events: Iterator[Any] | list[Any]) -> list[str]:
    return [event.type.removeprefix("agent.session.") for event in events]


def until(stream: Iterator[Any], *kinds: str) -> list[Any]:
    """The events up to and with the first of these types."""
    seen = []
    for event in stream:
        seen.append(event)
        if event.type.removeprefix("agent.session.") in kinds:
            break
    return seen


class TestSessions:
    def test_without_a_stream_the_session_is_polled(self, add: Add, openai: Any, report: Report) -> None:
        name = add(TWO, say("all done"))
        session = new(openai, name)
        assert (session.object, session.status) == ("agent.session", "requires_action")
        first, second = session.required_actions
        assert (first.type, first.name, first.arguments) == ("function_call", "lookup", {"key": "a"})
        turns = openai.beta.agents.sessions.turns
        assert turns.retrieve(first.turn_id, session_id=session.id).status == "waiting"
        send(openai, session, tool_result(first, run))
        assert [a.call_id for a in current(openai, session).required_actions] == [second.call_id]
        send(openai, session, tool_result(second, run))
        assert (current(openai, session).status, current(openai, session).required_actions) == ("idle", [])
        assert [t.status for t in turns.list(session.id)] == ["completed"]
        assert report(name).ok

    def test_items_tell_the_story(self, add: Add, openai: Any) -> None:
        name = add(calls(call(), say="one moment", reasoning="think"), say())
        session = new(openai, name)
        answer_all(openai, session)
        items = list(openai.beta.agents.sessions.items.list(session.id, order="asc", limit=2))
        kinds = ["message", "reasoning", "message", "function_call", "function_call_output", "message"]
        assert [item.type for item in items] == kinds
        assert [getattr(i, "phase", None) for i in items] == [None, None, "commentary", None, None, "final_answer"]
        assert items[4].output == '{"key": "a"}'
        (turn_,) = openai.beta.agents.sessions.turns.list(session.id)
        of_turn = openai.beta.agents.sessions.turns.items.list(turn_.id, session_id=session.id)
        assert {item.id for item in of_turn} == {item.id for item in items}

    def test_several_turns(self, add: Add, openai: Any, report: Report) -> None:
        name = add(turn(say("hello"), user="hi"), turn(*calls_and_say(), user={"contains": "more"}))
        session = new(openai, name)
        send(openai, session, message("more please"))
        answer_all(openai, session)
        assert [t.status for t in openai.beta.agents.sessions.turns.list(session.id)] == ["completed"] * 2
        assert report(name).ok

    def test_results_may_come_in_one_batch(self, add: Add, openai: Any, report: Report) -> None:
        name = add(TWO, say())
        session = new(openai, name)
        send(openai, session, *(tool_result(a, run) for a in session.required_actions))
        assert current(openai, session).status == "idle"
        assert report(name).ok

    def test_list_update_delete(self, add: Add, openai: Any) -> None:
        name = add(*calls_and_say())
        sessions = openai.beta.agents.sessions
        made = [new(openai, name, metadata={"user": str(n)}) for n in range(3)]
        assert [s.id for s in sessions.list(limit=2, metadata={"user": "1"})] == [made[1].id]
        listed = [s.id for s in sessions.list(limit=2, order="asc") if s.agent.model == name]
        assert listed == [s.id for s in made]
        changed = sessions.update(made[0].id, metadata={}, agent={"tools": [function("other")]})
        assert (changed.metadata, [t.name for t in changed.agent.tools]) == ({}, ["other"])
        with refused(409, "pending work"):
            sessions.delete(made[0].id)
        send(openai, made[0], {"type": "agent.session.input.cancel"})
        assert sessions.delete(made[0].id).deleted is True
        with refused(404):
            sessions.retrieve(made[0].id)

    def test_saved_agents(self, add: Add, openai: Any) -> None:
        name = add(*calls_and_say())
        agents = openai.beta.agents
        agent = agents.create(model=name, name="helper", tools=[function()])
        assert agents.retrieve(agent.id).name == "helper"
        session = agents.sessions.create(environment={"type": "none"}, agent_id=agent.id, input="hi")
        assert (session.agent.id, session.agent.model) == (agent.id, name)
        assert session.status == "requires_action"
        override = {"tools": [function("other")]}
        other = agents.sessions.create(environment=SELF_HOSTED, agent_id=agent.id, agent=override)
        assert [t.name for t in other.agent.tools] == ["other"]
        assert agents.update(agent.id, tools=None).tools == []
        assert agent.id in [a.id for a in agents.list()]
        assert agents.delete(agent.id).deleted is True
        with refused(404):
            agents.retrieve(agent.id)

    def test_a_message_steers_a_running_turn(self, add: Add, openai: Any, report: Report) -> None:
        name = add(*calls_and_say())
        session = new(openai, name)
        send(openai, session, message("hurry"))
        answer_all(openai, session)
        assert len(list(openai.beta.agents.sessions.turns.list(session.id))) == 1
        assert report(name).ok

    def test_cancel_ends_the_turn_and_its_calls(self, add: Add, openai: Any) -> None:
        name = add(*calls_and_say())
        session = new(openai, name)
        send(openai, session, {"type": "agent.session.input.cancel"})
        after = current(openai, session)
        assert (after.status, after.required_actions) == ("idle", [])
        assert [t.status for t in openai.beta.agents.sessions.turns.list(session.id)] == ["cancelled"]
        with refused(409, "has ended"):
            send(openai, session, tool_result(session.required_actions[0], run))


def calls_and_say(**fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return calls(call(), **fields), say()


class TestStreams:
    def test_the_events_of_a_turn_in_order(self, add: Add, openai: Any) -> None:
        name = add(calls(call()), say("all done now"))
        with new(openai, name, stream=True) as stream:
            before = until(stream, "requires_action")
            session = before[-1].session
            answer_all(openai, session)
            after = until(stream, "idle")
        assert types(before) == [
            *("created", "turn.created", "turn.item.added", "in_progress", "turn.in_progress"),
            *("turn.item.added", "turn.item.done", "requires_action"),
        ]
        assert types(after) == [
            *("turn.item.added", "in_progress", "turn.item.added", "turn.content_part.added"),
            *("turn.output_text.delta", "turn.output_text.done", "turn.content_part.done", "turn.item.done"),
            *("turn.completed", "idle"),
        ]
        assert after[-1].session.id == session.id
        assert len({event.event_id for event in before + after}) == len(before + after)

    def test_an_idle_session_says_so_before_anything_else(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(say("hello")))
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            first = next(stream)
            send(openai, session, message())
            rest = until(stream, "idle")
        assert first.type == "agent.session.idle"
        assert types(rest)[-2:] == ["turn.completed", "idle"]

    def test_a_stream_tells_only_what_happens_from_then_on(self, add: Add, openai: Any) -> None:
        session = new(openai, add(*calls_and_say()))
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            answer_all(openai, session)
            events = until(stream, "idle")
        added = [e.item.type for e in events if e.type == "agent.session.turn.item.added"]
        assert added == ["function_call_output", "message"]
        assert "turn.created" not in types(events)

    def test_padding_is_there_unless_it_is_declined(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(say()))
        events = openai.beta.agents.sessions.events
        with events.stream(session.id) as padded, events.stream(session.id, include_obfuscation=False) as plain:
            assert next(padded).obfuscation
            assert next(plain).obfuscation is None

    def test_the_clients_own_helper_plays_a_scenario(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(result={"json": {"key": "a"}})), say("all done"))
        session = idle(openai, name)
        handlers = {"lookup": lambda arguments: dict(arguments)}
        with openai.beta.agents.sessions.stream(session.id, input="hi", tool_handlers=handlers) as stream:
            assert stream.get_final_result().output_text == "all done"
        assert report(name).ok

    async def test_the_async_helper_plays_a_scenario(self, add: Add, async_openai: Any, report: Report) -> None:
        name = add(calls(call(), faults=[fault("race", times=2)]), say("all done"))
        agent: Any = {"model": name, "tools": [function()]}
        hosted: Any = SELF_HOSTED
        session = await async_openai.beta.agents.sessions.create(environment=hosted, agent=agent)
        handlers: Any = {"lookup": lambda arguments: dict(arguments)}
        async with async_openai.beta.agents.sessions.stream(session.id, input="hi", tool_handlers=handlers) as stream:
            assert (await stream.get_final_result()).output_text == "all done"
        assert report(name).ok


class TestToolResults:
    @pytest.fixture
    def session(self, add: Add, openai: Any) -> Any:
        return new(openai, add(TWO, say()))

    def result(self, session: Any, **changes: Any) -> dict[str, Any]:
        event = {**tool_result(session.required_actions[0], run), **changes}
        return {key: value for key, value in event.items() if value is not ...}

    def test_an_unknown_call_has_the_documented_body(self, openai: Any, session: Any) -> None:
        with refused(400) as caught:
            send(openai, session, self.result(session, call_id="call_x"))
        body = caught.value.body
        assert body["code"] == "invalid_request_error"
        assert body["message"] == "Unknown pending tool call: call_x"

    @pytest.mark.parametrize(
        "changes,text",
        [
            ({"turn_id": "turn_x"}, "does not belong to turn turn_x"),
            ({"output": ...}, "output"),
            ({"success": False, "output": ...}, "error"),
            ({"success": False, "output": ..., "error": None}, "error"),
            ({"error": "and an error"}, "error"),
            ({"success": "yes"}, "success"),
            ({"success": ...}, "success"),
            ({"output": {"a": 1}}, "got an object"),
            ({"output": 5}, "array"),
            ({"output": [{"type": "input_text", "text": "x", "detail": "low"}]}, "exactly"),
            ({"output": [{"type": "input_file", "file_id": "x"}]}, "input_file"),
            ({"more": 1}, "Unknown parameter"),
            ({"output": "x" * 4_200_000}, "too large"),
        ],
    )
    def test_a_wrong_shape_is_refused(self, openai: Any, session: Any, changes: Any, text: str) -> None:
        with refused(400, text):
            send(openai, session, self.result(session, **changes))
        assert len(current(openai, session).required_actions) == 2

    @pytest.mark.parametrize("output", [None, "text", [], [{"type": "input_text", "text": "x"}]])
    def test_every_right_shape_is_taken(self, add: Add, openai: Any, output: Any) -> None:
        session = new(openai, add(*calls_and_say()))
        send(openai, session, self.result(session, output=output))
        assert current(openai, session).status == "idle"

    def test_a_failure_is_an_answer_too(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(result={"error": "no such key"})), say())
        session = new(openai, name)
        send(openai, session, self.result(session, success=False, output=..., error="/key: no such key"))
        items = list(openai.beta.agents.sessions.items.list(session.id, order="asc"))
        assert [(i.status, i.error) for i in items if i.type == "function_call_output"] == [
            ("failed", "/key: no such key")
        ]
        assert report(name).ok

    def test_a_repeated_result_has_no_effect(self, openai: Any, session: Any) -> None:
        for _ in range(2):
            send(openai, session, self.result(session))
        items = openai.beta.agents.sessions.items.list(session.id)
        assert len([item for item in items if item.type == "function_call_output"]) == 1

    def test_another_result_for_the_same_call_is_a_conflict(self, openai: Any, session: Any) -> None:
        send(openai, session, self.result(session))
        with refused(409, "another result"):
            send(openai, session, self.result(session, output="other"))

    def test_a_result_after_the_turn_is_a_conflict(self, add: Add, openai: Any) -> None:
        session = new(openai, add(*calls_and_say()))
        send(openai, session, self.result(session))
        with refused(409, "has ended"):
            send(openai, session, self.result(session))

    def test_a_batch_is_taken_whole_or_not_at_all(self, openai: Any, session: Any) -> None:
        with refused(400, "Unknown pending"):
            send(openai, session, self.result(session), self.result(session, call_id="call_x"))
        assert len(current(openai, session).required_actions) == 2

    def test_ids_may_repeat_from_turn_to_turn(self, add: Add, openai: Any, report: Report) -> None:
        again = turn(calls(call(call_id="call_1")), say())
        name = add(again, again)
        session = new(openai, name)
        answer_all(openai, session)
        send(openai, session, message())
        (action,) = current(openai, session).required_actions
        assert action.call_id == "call_1" and action.turn_id != session.required_actions[0].turn_id
        with refused(409, "has ended"):
            send(openai, session, self.result(session))
        send(openai, session, tool_result(action, run))
        assert report(name).ok


class TestIdempotencyKeys:
    def test_the_same_request_counts_once(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(turn(say()), turn(say())))
        for _ in range(3):
            send(openai, session, message(), idempotency_key="k")
        assert len(list(openai.beta.agents.sessions.turns.list(session.id))) == 1

    def test_a_key_belongs_to_one_request(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(turn(say()), turn(say())))
        send(openai, session, message(), idempotency_key="k")
        with refused(409, "Idempotency-Key"):
            send(openai, session, message("other"), idempotency_key="k")

    def test_a_refused_request_does_not_use_its_key(self, add: Add, openai: Any) -> None:
        session = new(openai, add(*calls_and_say(faults=[fault("race")])))
        result = tool_result(session.required_actions[0], run)
        with refused(400, "Unknown pending"):
            send(openai, session, result, idempotency_key="k")
        send(openai, session, result, idempotency_key="k")
        assert current(openai, session).status == "idle"


class TestApprovals:
    def test_every_kind_is_shown_beside_function_calls(self, add: Add, openai: Any, report: Report) -> None:
        asked = [
            {"kind": "mcp", "server_label": "files", "name": "rm", "arguments": {"a": 1}, "decision": "deny"},
            {"kind": "browser_origin", "origin": "https://example.org", "decision": "approve"},
            {"kind": "browser_login", "decision": "submit"},
        ]
        name = add(calls(call(), approvals=asked), say())
        session = new(openai, name)
        function_call, mcp, origin, login = session.required_actions
        assert (mcp.type, mcp.request.server_label, mcp.request.arguments) == (
            "mcp_approval_request",
            "files",
            {"a": 1},
        )
        assert (origin.request.type, origin.request.origin) == ("browser_origin_access", "https://example.org")
        assert (login.request.type, login.request.fields[0].id) == ("browser_authentication", "user")
        kind = "agent.session.input.computer_use_approval_request_result"
        deny = {"type": "mcp_tool_call", "decision": "deny"}
        approve = {"type": "browser_origin_access", "decision": "approve"}
        fields = [{"field_id": "user", "value": "me"}]
        submit = {"type": "browser_authentication", "action": "submit", "fields": fields}
        send(openai, session, {"type": kind, "request_id": login.request_id, "response": submit})
        send(openai, session, {"type": kind, "request_id": origin.request_id, "response": approve})
        mcp_result = "agent.session.input.mcp_approval_request_result"
        send(openai, session, {"type": mcp_result, "request_id": mcp.request_id, "response": deny})
        assert [a.type for a in current(openai, session).required_actions] == ["function_call"]
        send(openai, session, tool_result(function_call, run))
        assert report(name).ok

    def test_an_answer_that_is_not_expected_is_told(self, add: Add, openai: Any, report: Report) -> None:
        name = add({"approvals": [{"kind": "mcp", "decision": "deny"}]}, say())
        session = new(openai, name)
        event = {
            "type": "agent.session.input.mcp_approval_request_result",
            "request_id": session.required_actions[0].request_id,
            "response": {"type": "mcp_tool_call", "decision": "approve"},
        }
        with refused(400, "should be answered with deny"):
            send(openai, session, event)
        assert len(report(name).failures) == 1
        with refused(400, "Unknown pending request"):
            send(openai, session, {**event, "request_id": "request_x"})
        with refused(400, "response"):
            send(openai, session, {**event, "response": {"type": "mcp_tool_call", "decision": "perhaps"}})

    def test_an_environment_is_connected_from_outside(
        self, add: Add, openai: Any, simulator: Simulator, report: Report
    ) -> None:
        name = add({"approvals": [{"kind": "environment"}]}, say())
        session = new(openai, name)
        (action,) = session.required_actions
        assert action.type == "environment_connection"
        url = f"{simulator.base_url}/_simulator/environments/{action.environment_id}/connect"
        assert httpx2.post(url).status_code == 204
        assert current(openai, session).status == "idle"
        assert report(name).ok


class TestDefinitions:
    @pytest.mark.parametrize(
        "tool,text",
        [
            ({"type": "function", "name": "x", "parameters": {"type": "object"}}, "description"),
            ({"type": "function", "name": "x", "description": "d"}, "parameters"),
            ({"type": "function", "description": "d", "parameters": {"type": "object"}}, "name"),
            (function(strict=True), "Unknown parameter: 'agent.tools\\[0\\].strict'"),
            (function("bad name"), "name"),
            (function("x" * 65), "name"),
            (function(parameters={"type": "array"}), "object schema"),
            (function(parameters={"type": "object", "required": "key"}), "/required"),
            ({**function(), "description": " "}, "description"),
            (function(defer_loading="yes"), "defer_loading"),
            (function(defer_loading=True), "requires a tool_search"),
            ({"type": "function", "function": function()}, "Missing required parameter"),
            ({"type": "custom", "name": "x"}, "custom"),
            ({**function(), "description": "d" * 3_200_000}, "at most 3145728"),
        ],
    )
    def test_a_wrong_tool_is_refused(self, add: Add, openai: Any, tool: Any, text: str) -> None:
        with refused(400, text):
            new(openai, add(say()), tools=[tool])

    def test_deferred_functions_come_with_a_search(self, add: Add, openai: Any) -> None:
        tools = [function(defer_loading=True), {"type": "tool_search"}, {**function("now"), "async": True}]
        session = new(openai, add(*calls_and_say()), tools=tools)
        assert [(t.type, t.name, t.defer_loading) for t in session.agent.tools] == [
            ("function", "lookup", True),
            ("function", "now", False),
        ]

    def test_names_are_unique(self, add: Add, openai: Any) -> None:
        with refused(400, "Duplicate function name"):
            new(openai, add(say()), tools=[function(), function()])

    @pytest.mark.parametrize(
        "body,text",
        [
            ({"environment": ...}, "environment"),
            ({"environment": {"type": "cloud"}}, "environment.type"),
            ({"input": ...}, "Missing required parameter: 'input'"),
            ({"input": [{"role": "assistant", "content": []}]}, "role 'user'"),
            ({"agent": {}}, "agent.model"),
            ({"agent": {"model": "nobody"}}, "does not exist"),
            ({"agent": {"model": "other", "temperature": 1}}, "agent.temperature"),
            ({"metadata": {"a": 1}}, "metadata.a"),
            ({"tools": []}, "Unknown parameter: 'tools'"),
            ({"stream_options": {}}, "stream_options"),
        ],
    )
    def test_a_wrong_session_is_refused(self, simulator: Simulator, body: dict[str, Any], text: str) -> None:
        right = {"environment": {"type": "none"}, "agent": {"model": "other"}, "input": "hi"}
        sent = {key: value for key, value in {**right, **body}.items() if value is not ...}
        answer = httpx2.post(f"{simulator.openai_base_url}/agents/sessions", json=sent, headers=HEADERS)
        assert answer.status_code in (400, 404)
        assert text in answer.json()["error"]["message"]


HEADERS = {"authorization": "Bearer test", "openai-beta": "agents=v1"}


@pytest.mark.parametrize("missing,status", [("openai-beta", 400), ("authorization", 401)])
def test_headers_are_required(simulator: Simulator, missing: str, status: int) -> None:
    headers = {name: value for name, value in HEADERS.items() if name != missing}
    assert httpx2.get(f"{simulator.openai_base_url}/agents/sessions", headers=headers).status_code == status


class TestFaults:
    def test_a_race_refuses_results_that_come_too_early(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(), call("b"), faults=[fault("race", times=2, calls=[0])]), say())
        session = new(openai, name)
        first, second = session.required_actions
        for _ in range(2):
            with refused(400, f"Unknown pending tool call: {first.call_id}"):
                send(openai, session, tool_result(first, run))
        send(openai, session, tool_result(first, run))
        send(openai, session, tool_result(second, run))
        assert report(name).ok and not report(name).refused

    @pytest.mark.parametrize("clean", [False, True])
    def test_a_dropped_stream_loses_the_events_after_it(
        self, add: Add, openai: Any, report: Report, clean: bool
    ) -> None:
        name = add(calls(call(), faults=[fault("drop", before="call", clean=clean)]), say())
        session = idle(openai, name)
        seen: list[Any] = []
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            send(openai, session, message())
            if clean:
                seen += stream
            else:
                with pytest.raises(APIConnectionError):
                    seen += stream
        assert "requires_action" not in types(seen)
        # The results come while no stream is open; what is pending is in the session.
        answer_all(openai, session)
        assert current(openai, session).status == "idle"
        assert report(name).ok

    async def test_the_async_client_sees_the_drop_too(self, add: Add, async_openai: Any) -> None:
        name = add(calls(call(), faults=[fault("drop", after=2)]), say())
        session: Any = create_session(name, [function()], "hi")
        stream = await async_openai.beta.agents.sessions.create(**session, stream=True)
        seen = []
        with pytest.raises(APIConnectionError):
            async for event in stream:
                seen.append(event)
        assert types(seen) == ["created", "turn.created", "turn.item.added"]

    def test_a_stream_that_is_opened_again_is_whole(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(calls(call(), faults=[fault("drop", after=0)]), say()))
        streams = openai.beta.agents.sessions.events
        with streams.stream(session.id) as stream:
            send(openai, session, message())
            with pytest.raises(APIConnectionError):
                list(stream)
        with streams.stream(session.id) as stream:
            answer_all(openai, session)
            assert types(until(stream, "idle"))[-2:] == ["turn.completed", "idle"]

    def test_http_errors_have_no_effect_and_pass(self, add: Add, openai: Any, report: Report) -> None:
        limited = fault("http", status=429, times=2, retry_after=1)
        name = add(calls(call(), faults=[limited]), say(faults=[fault("http", status=500)]))
        for _ in range(2):
            with refused(429) as caught:
                new(openai, name)
            assert caught.value.response.headers["retry-after"] == "1"
        session = new(openai, name)
        with refused(500):
            answer_all(openai, session)
        assert len(current(openai, session).required_actions) == 1
        answer_all(openai, session)
        assert report(name).ok and not report(name).refused

    def test_the_client_retries_by_itself(self, add: Add, simulator: Simulator, report: Report) -> None:
        name = add(calls(call(), faults=[fault("http", status=429, times=2, retry_after=0.01)]), say())
        with openai_client(simulator, retries=2) as client:
            session = new(client, name)
            answer_all(client, session)
        assert report(name).ok

    def test_any_request_can_fail(self, add: Add, openai: Any) -> None:
        name = add(*calls_and_say(), faults=[fault("http", status=503, on="sessions.retrieve", times=2)])
        session = new(openai, name)
        for _ in range(2):
            with refused(503):
                current(openai, session)
        assert current(openai, session).id == session.id

    def test_duplicate_events_have_the_same_ids(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(calls(call(), faults=[fault("duplicate", events=["call", "end"])]), say()))
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            send(openai, session, message())
            events = list(itertools.islice(stream, 9))
        added = [e.event_id for e in events if getattr(getattr(e, "item", None), "type", "") == "function_call"]
        assert added[0] == added[1] != added[2]
        assert types(events)[-1] == "requires_action"

    def test_a_slow_turn_leaves_the_session_idle_at_first(self, add: Add, openai: Any) -> None:
        session = idle(openai, add(calls(call(), faults=[fault("delay", seconds=600)]), say()))
        send(openai, session, message())
        assert current(openai, session).status == "idle"
        assert list(openai.beta.agents.sessions.turns.list(session.id)) == []

    def test_a_slow_step_leaves_the_session_at_work(self, add: Add, openai: Any) -> None:
        session = new(openai, add(calls(call()), say(faults=[fault("delay", seconds=600)])))
        answer_all(openai, session)
        assert (current(openai, session).status, current(openai, session).required_actions) == ("in_progress", [])

    def test_what_is_slow_comes_in_the_end(self, add: Add, openai: Any, report: Report) -> None:
        slow = [fault("delay", seconds=0.05)]
        name = add(calls(call(), faults=slow), say(faults=slow))
        session = idle(openai, name)
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            send(openai, session, message())
            until(stream, "requires_action")
            answer_all(openai, session)
            until(stream, "turn.completed")
        assert report(name).ok

    def test_cancel_stops_what_was_to_come_later(self, add: Add, openai: Any) -> None:
        session = new(openai, add(calls(call(), faults=[fault("delay", seconds=600)]), say()))
        send(openai, session, {"type": "agent.session.input.cancel"})
        assert [t.status for t in openai.beta.agents.sessions.turns.list(session.id)] == ["cancelled"]
        assert current(openai, session).required_actions == []

    def test_a_stale_session_still_shows_what_was_answered(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call()), say(faults=[fault("stale", times=2)]))
        session = new(openai, name)
        (action,) = session.required_actions
        send(openai, session, tool_result(action, run))
        for _ in range(2):
            assert [a.call_id for a in current(openai, session).required_actions] == [action.call_id]
        assert current(openai, session).status == "idle"
        assert report(name).ok

    @pytest.mark.parametrize("end,code", [("failed", "server_overloaded"), ("incomplete", "max_output_tokens")])
    def test_a_turn_that_fails(self, add: Add, openai: Any, report: Report, end: str, code: str) -> None:
        name = add({"say": "half of this", "end": end, "error": {"code": "server_overloaded", "message": "Too much."}})
        with new(openai, name, stream=True) as stream:
            events = until(stream, "idle")
        assert types(events)[-3:] == ["error", "turn.failed", "idle"]
        assert events[-2].turn.error.code == code
        assert report(name).ok

    def test_half_a_call_is_never_pending(self, add: Add, openai: Any) -> None:
        session = new(openai, add(calls(call("a long key"), end="incomplete")))
        assert (session.status, session.required_actions) == ("idle", [])
        (item,) = [i for i in openai.beta.agents.sessions.items.list(session.id) if i.type == "function_call"]
        assert item.status == "incomplete"
        with pytest.raises(ValueError):
            json.loads(str(item.arguments))

    def test_a_turn_that_is_cancelled_takes_its_calls_with_it(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(), end="cancelled"))
        with new(openai, name, stream=True) as stream:
            events = until(stream, "idle")
        (item,) = [e.item for e in events if e.type.endswith("item.done")]
        assert "turn.cancelled" in types(events)
        with refused(409, "has ended"):
            send(openai, events[-1].session, tool_result(item, run))
        assert report(name).ok

    def test_a_failed_session_says_so_to_whoever_comes(self, add: Add, openai: Any, report: Report) -> None:
        name = add(say("oh", end="session_failed", error={"message": "It is over."}))
        session = new(openai, name)
        assert (session.status, session.error) == ("failed", "It is over.")
        with openai.beta.agents.sessions.events.stream(session.id) as stream:
            assert types(stream) == ["failed"]
        with refused(409, "failed"):
            send(openai, session, message())
        assert report(name).ok

    def test_arguments_that_are_no_json_come_as_text(self, add: Add, openai: Any, report: Report) -> None:
        name = add(calls(call(raw='{"key": '), call("x", name="invented", invented=True)), say())
        broken, invented = new(openai, name).required_actions
        assert (broken.arguments, invented.name) == ('{"key": ', "invented")
