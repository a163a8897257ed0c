"""OCI Generative AI Agents, through the real management and runtime clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import oci as oci_sdk
import pytest
from oci._vendor.requests.exceptions import RequestException
from oci.exceptions import ServiceError
from oci.generative_ai_agent.models import (
    CreateToolDetails,
    Function,
    FunctionCallingToolConfig,
    RagToolConfig,
    UpdateToolDetails,
)
from oci.generative_ai_agent_runtime.models import (
    ChatDetails,
    CreateSessionDetails,
    FunctionCallingPerformedAction,
    HumanApprovalPerformedAction,
    UpdateSessionDetails,
)

from codegen.simulator import Simulator, SimulatorReport
from codegen.simulator.oci_tools import decode_parameters
from codegen.simulator.wire import Refusal
from tests.simulator.clients import OciClients, oci_clients
from tests.simulator.loops import performed
from tests.simulator.scripts import LOOKUP_SCHEMA, call, calls, fault, say, turn

Add = Callable[..., str]
Report = Callable[[str], SimulatorReport]
AS_JSON = {key: json.dumps(value) for key, value in LOOKUP_SCHEMA.items()}
AS_ADK = {k: json.dumps(v) if isinstance(v, (dict, list)) else str(v) for k, v in LOOKUP_SCHEMA.items()}
ONE = (calls(call()), say("all done"))
ANY = {"tools": "any"}


def agent(scenario: str) -> str:
    return f"ocid1.genaiagent.oc1..{scenario}"


def endpoint(scenario: str) -> str:
    return f"ocid1.genaiagentendpoint.oc1..{scenario}"


def config(name: str = "lookup", parameters: dict[str, str] | None = None) -> FunctionCallingToolConfig:
    given = AS_JSON if parameters is None else parameters
    return FunctionCallingToolConfig(function=Function(name=name, description="Looks it up.", parameters=given))


def details(scenario: str, **changes: Any) -> CreateToolDetails:
    fields: dict[str, Any] = {
        "display_name": "lookup",
        "description": "Looks it up.",
        "agent_id": agent(scenario),
        "compartment_id": "ocid1.compartment.oc1..test",
        "tool_config": config(),
    }
    return CreateToolDetails(**(fields | changes))


def finish(oci: OciClients, response: Any) -> str:
    """Polls the work request of a change until it is finished."""
    while True:
        status = oci.tools.get_work_request(response.headers["opc-work-request-id"]).data.status
        if status in ("SUCCEEDED", "FAILED"):
            return str(status)


def refused(status: int, code: str, text: str = ".") -> Any:
    """The block raises the client's error with this status and code, and this text in its message."""
    return pytest.raises(ServiceError, match=text, check=lambda e: (e.status, e.code) == (status, code))


def run(name: str, arguments: Any) -> Any:
    return arguments


def open_session(oci: OciClients, name: str) -> str:
    """The id of a new session."""
    return str(oci.runtime.create_session(CreateSessionDetails(display_name="s"), endpoint(name)).data.id)


def chat(oci: OciClients, name: str, session: str, message: str | None = "hi", **more: Any) -> Any:
    """The result of one round."""
    fields = ChatDetails(user_message=message, session_id=session, **more)
    return oci.runtime.chat(endpoint(name), fields).data


def output(action: Any, text: str = "{}") -> FunctionCallingPerformedAction:
    """A result for a required action."""
    return FunctionCallingPerformedAction(action_id=action.action_id, function_call_output=text)


class TestTools:
    def test_a_tool_is_created_in_its_own_time(self, add: Add, oci: OciClients) -> None:
        created = oci.tools.create_tool(details(add(*ONE)))
        assert created.data.lifecycle_state == "CREATING"
        work = created.headers["opc-work-request-id"]
        seen = [oci.tools.get_work_request(work).data.status for _ in range(4)]
        assert seen == ["ACCEPTED", "IN_PROGRESS", "SUCCEEDED", "SUCCEEDED"]
        tool = oci.tools.get_tool(created.data.id).data
        assert (tool.lifecycle_state, tool.tool_config.function.parameters) == ("ACTIVE", AS_JSON)
        request = oci.tools.get_work_request(work).data
        assert (request.operation_type, request.resources[0].identifier) == ("CREATE_TOOL", tool.id)
        assert oci.tools.list_work_request_errors(work).data.items == []
        assert len(oci.tools.list_work_request_logs(work).data.items) == 2

    def test_polling_the_tool_takes_time_too(self, add: Add, oci: OciClients) -> None:
        identifier = oci.tools.create_tool(details(add(*ONE))).data.id
        states = [oci.tools.get_tool(identifier).data.lifecycle_state for _ in range(3)]
        assert states == ["CREATING", "CREATING", "ACTIVE"]

    def test_the_clients_own_waiter(self, add: Add, oci: OciClients) -> None:
        waiter = oci_sdk.generative_ai_agent.GenerativeAiAgentClientCompositeOperations(oci.tools)
        request = waiter.create_tool_and_wait_for_state(
            details(add(*ONE)), wait_for_states=["SUCCEEDED", "FAILED"], waiter_kwargs={"max_interval_seconds": 0.01}
        )
        assert request.data.status == "SUCCEEDED"

    def test_a_change_can_be_immediate(self, add: Add, oci: OciClients) -> None:
        created = oci.tools.create_tool(details(add(*ONE, oci={"work_request_polls": 0})))
        assert oci.tools.get_tool(created.data.id).data.lifecycle_state == "ACTIVE"

    def test_a_work_request_can_fail(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE, oci={"failing_work_requests": 1})
        created = oci.tools.create_tool(details(name))
        assert finish(oci, created) == "FAILED"
        assert oci.tools.get_tool(created.data.id).data.lifecycle_state == "FAILED"
        errors = oci.tools.list_work_request_errors(created.headers["opc-work-request-id"]).data.items
        assert [error.code for error in errors] == ["InternalError"]
        assert finish(oci, oci.tools.create_tool(details(name))) == "SUCCEEDED"

    def test_an_update_replaces_what_it_names(self, add: Add, oci: OciClients) -> None:
        created = oci.tools.create_tool(details(add(*ONE)))
        finish(oci, created)
        changed = oci.tools.update_tool(created.data.id, UpdateToolDetails(tool_config=config("other", AS_ADK)))
        assert changed.data is None
        assert oci.tools.get_tool(created.data.id).data.lifecycle_state == "UPDATING"
        finish(oci, changed)
        tool = oci.tools.get_tool(created.data.id).data
        assert (tool.lifecycle_state, tool.tool_config.function.name) == ("ACTIVE", "other")
        assert tool.description == "Looks it up."

    def test_an_update_can_insist_on_what_it_saw(self, add: Add, oci: OciClients) -> None:
        created = oci.tools.create_tool(details(add(*ONE)))
        finish(oci, created)
        etag = oci.tools.get_tool(created.data.id).headers["etag"]
        update = UpdateToolDetails(description="other")
        with refused(412, "NoEtagMatch"):
            oci.tools.update_tool(created.data.id, update, if_match="0")
        finish(oci, oci.tools.update_tool(created.data.id, update, if_match=etag))

    def test_a_deleted_tool_stays_in_lists(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE)
        created = oci.tools.create_tool(details(name))
        finish(oci, created)
        finish(oci, oci.tools.delete_tool(created.data.id))
        (found,) = oci.tools.list_tools(agent_id=agent(name)).data.items
        assert found.lifecycle_state == "DELETED"
        assert oci.tools.list_tools(agent_id=agent(name), lifecycle_state="ACTIVE").data.items == []
        with refused(404, "NotAuthorizedOrNotFound"):
            oci.tools.delete_tool(created.data.id)
        with refused(409, "IncorrectState"):
            oci.tools.update_tool(created.data.id, UpdateToolDetails(description="x"))

    def test_one_change_of_an_agent_at_a_time(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE)
        created = oci.tools.create_tool(details(name))
        with refused(409, "IncorrectState", "is being changed"):
            oci.tools.create_tool(details(name, display_name="other"))
        with refused(409, "IncorrectState"):
            oci.tools.delete_tool(created.data.id)
        oci.tools.create_tool(details(name, display_name="other"))

    def test_lists_have_pages(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE, oci={"work_request_polls": 0})
        names = [f"tool_{n:02d}" for n in range(12)]
        for tool in names:
            oci.tools.create_tool(details(name, display_name=tool))
        first = oci.tools.list_tools(agent_id=agent(name))
        assert len(first.data.items) == 10 and first.has_next_page
        every = oci_sdk.pagination.list_call_get_all_results(
            oci.tools.list_tools, agent_id=agent(name), limit=5, sort_by="displayName", sort_order="DESC"
        )
        assert [tool.display_name for tool in every.data] == names[::-1]
        assert every.data[0].tool_config.function.parameters == AS_JSON
        (one,) = oci.tools.list_tools(agent_id=agent(name), display_name="tool_03").data.items
        assert one.display_name == "tool_03"

    def test_an_agent_has_room_for_twenty(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE, oci={"work_request_polls": 0})
        made = [oci.tools.create_tool(details(name, display_name=f"t{n}")).data.id for n in range(20)]
        with refused(400, "LimitExceeded"):
            oci.tools.create_tool(details(name))
        oci.tools.delete_tool(made[0])
        oci.tools.create_tool(details(name))

    @pytest.mark.parametrize(
        "changes,code,text",
        [
            ({"description": None}, "MissingParameter", "description"),
            ({"agent_id": None}, "MissingParameter", "agentId"),
            ({"compartment_id": None}, "MissingParameter", "compartmentId"),
            ({"tool_config": None}, "MissingParameter", "toolConfig"),
            ({"display_name": "1st"}, "InvalidParameter", "displayName"),
            ({"tool_config": config("a.b")}, "InvalidParameter", "function.name"),
            ({"tool_config": FunctionCallingToolConfig()}, "InvalidParameter", "toolConfig.function"),
            ({"tool_config": FunctionCallingToolConfig(function=Function())}, "MissingParameter", "name"),
            ({"tool_config": config(parameters={"type": "string"})}, "InvalidParameter", "type must be object"),
            (
                {"tool_config": config(parameters={**AS_JSON, "additionalProperties": '"false"'})},
                "InvalidParameter",
                "additionalProperties",
            ),
            (
                {"tool_config": config(parameters={**AS_ADK, "additionalProperties": "false"})},
                "InvalidParameter",
                "additionalProperties",
            ),
            (
                {"tool_config": config(parameters={**AS_JSON, "properties": "{}}"})},
                "InvalidParameter",
                "type must be object",
            ),
        ],
    )
    def test_a_wrong_tool_is_refused(
        self, add: Add, oci: OciClients, changes: dict[str, Any], code: str, text: str
    ) -> None:
        with refused(400, code, text):
            oci.tools.create_tool(details(add(*ONE), **changes))

    def test_an_unencoded_schema_is_refused(self, add: Add, simulator: Simulator) -> None:
        function = {"name": "lookup", "parameters": LOOKUP_SCHEMA}
        body = {
            "description": "d",
            "agentId": agent(add(*ONE)),
            "compartmentId": "c",
            "toolConfig": {"toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG", "function": function},
        }
        answer = httpx2.post(f"{simulator.oci_endpoint}/20240531/tools", json=body)
        assert answer.status_code == 400
        assert answer.json()["message"] == "toolConfig.function.parameters.properties is no string."
        assert answer.headers["content-type"] == "application/json"
        answer = httpx2.post(f"{simulator.oci_endpoint}/20240531/tools", json={**body, "name": "x"})
        assert answer.json()["message"] == "Unrecognized field name."

    def test_tools_of_other_kinds_are_left_alone(self, add: Add, oci: OciClients) -> None:
        created = oci.tools.create_tool(details(add(*ONE), tool_config=RagToolConfig(knowledge_base_configs=[])))
        assert created.data.tool_config.tool_config_type == "RAG_TOOL_CONFIG"

    def test_what_is_not_there(self, oci: OciClients) -> None:
        with refused(404, "NotAuthorizedOrNotFound", "agent"):
            oci.tools.create_tool(details("nobody"))
        with refused(404, "NotAuthorizedOrNotFound", "tool"):
            oci.tools.get_tool("ocid1.x")
        with refused(404, "NotAuthorizedOrNotFound", "work request"):
            oci.tools.get_work_request("ocid1.x")

    def test_a_retried_creation_makes_one_tool(self, add: Add, oci: OciClients) -> None:
        name = add(*ONE)
        first, second = (oci.tools.create_tool(details(name), opc_retry_token="token") for _ in range(2))
        assert first.data.id == second.data.id
        assert first.headers["opc-work-request-id"] == second.headers["opc-work-request-id"]


class TestParameters:
    @pytest.mark.parametrize("encoded", [AS_JSON, AS_ADK])
    def test_both_encodings_mean_the_same(self, encoded: dict[str, str]) -> None:
        assert decode_parameters(encoded) == LOOKUP_SCHEMA

    def test_texts_of_the_kit_stay_texts(self) -> None:
        encoded = {"type": "object", "description": "[unclear", "minProperties": "1", "additionalProperties": "True"}
        decoded = {"type": "object", "description": "[unclear", "minProperties": 1, "additionalProperties": True}
        assert decode_parameters(encoded) == decoded

    @pytest.mark.parametrize(
        "wrong", [{}, {"type": "object", "required": 5}, {"type": '"object"', "required": "5"}, []]
    )
    def test_what_is_no_schema_is_refused(self, wrong: Any) -> None:
        with pytest.raises(Refusal):
            decode_parameters(wrong)


class TestChat:
    def test_required_actions_and_their_results(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call("a"), call("b"), say="one moment"), say("all done"), **ANY)
        session = open_session(oci, name)
        pending = chat(oci, name, session)
        assert pending.message is None
        assert [a.function_call.arguments for a in pending.required_actions] == ['{"key":"a"}', '{"key":"b"}']
        assert [trace.output for trace in pending.traces] == ["one moment"]
        results = [performed(action, run) for action in pending.required_actions]
        done = chat(oci, name, session, performed_actions=results)
        assert (done.message.role, done.message.content.text) == ("AGENT", "all done")
        assert done.required_actions is None
        assert report(name).ok

    def test_the_order_of_results_is_free(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call("a", result={"json": {"key": "a"}}), call("b")), say(), **ANY)
        session = open_session(oci, name)
        pending = chat(oci, name, session)
        results = [performed(action, run) for action in reversed(pending.required_actions)]
        chat(oci, name, session, performed_actions=results)
        assert report(name).ok

    def test_every_action_exactly_once(self, add: Add, oci: OciClients) -> None:
        name = add(calls(call("a"), call("b")), say(), **ANY)
        session = open_session(oci, name)
        first, second = chat(oci, name, session).required_actions
        other = FunctionCallingPerformedAction(action_id="x", function_call_output="")
        approval = HumanApprovalPerformedAction(action_id=second.action_id, chosen_option="DENY")
        for wrong, text in [
            ([output(first)], "was not performed"),
            ([], "was not performed"),
            ([output(first), output(second), other], "is not required"),
            ([output(first), output(first)], "performed twice"),
            ([output(first), approval], "is no HUMAN_APPROVAL_PERFORMED_ACTION"),
        ]:
            with refused(400, "InvalidParameter", text):
                chat(oci, name, session, performed_actions=wrong)
        with refused(400, "InvalidParameter", "was not performed"):
            chat(oci, name, session, "another message")
        chat(oci, name, session, performed_actions=[output(first), output(second)])
        with refused(400, "InvalidParameter", "is not required"):
            chat(oci, name, session, performed_actions=[output(first), output(second)])

    def test_an_output_that_is_no_text_is_refused(self, add: Add, oci: OciClients, simulator: Simulator) -> None:
        name = add(*ONE, **ANY)
        session = open_session(oci, name)
        (action,) = chat(oci, name, session).required_actions
        url = f"{simulator.oci_endpoint}/20240531/agentEndpoints/{endpoint(name)}/actions/chat"
        kind = "FUNCTION_CALLING_PERFORMED_ACTION"
        for given_output in ({"a": 1}, ...):
            given = {"actionId": action.action_id, "performedActionType": kind, "functionCallOutput": given_output}
            sent = {k: v for k, v in given.items() if v is not ...}
            answer = httpx2.post(url, json={"sessionId": session, "performedActions": [sent]})
            assert (answer.status_code, "is no text" in answer.json()["message"]) == (400, True)

    @pytest.mark.parametrize("message", ["hi", None, "", "null", "other"])
    def test_every_practice_of_the_follow_up_is_taken(self, add: Add, oci: OciClients, message: str | None) -> None:
        name = add(*ONE, **ANY)
        session = open_session(oci, name)
        (action,) = chat(oci, name, session).required_actions
        assert chat(oci, name, session, message, performed_actions=[output(action)]).message

    @pytest.mark.parametrize("practice,message", [("repeat", "hi"), ("omit", None), ("empty", ""), ("null", "null")])
    def test_one_practice_can_be_expected(
        self, add: Add, oci: OciClients, report: Report, practice: str, message: str | None
    ) -> None:
        name = add(*ONE, oci={"follow_up": practice}, **ANY)
        session = open_session(oci, name)
        (action,) = chat(oci, name, session).required_actions
        with refused(400, "scenario_expectation_failed", "userMessage"):
            chat(oci, name, session, "other", performed_actions=[output(action)])
        chat(oci, name, session, message, performed_actions=[output(action)])
        assert len(report(name).failures) == 1 and not report(name).unfinished

    @pytest.mark.parametrize(
        "quirk,arguments",
        [
            ("numbers_as_text", '{"n":"1","x":["2.5"],"b":"true","s":"a"}'),
            ("double_encoded", json.dumps('{"n":1,"x":[2.5],"b":true,"s":"a"}')),
            ("colon_keys", '{"n:":1,"x:":[2.5],"b:":true,"s:":"a"}'),
            ("object_arguments", {"n": 1, "x": [2.5], "b": True, "s": "a"}),
        ],
    )
    def test_habits_of_the_models(self, add: Add, oci: OciClients, quirk: str, arguments: Any) -> None:
        made = {"name": "lookup", "arguments": {"n": 1, "x": [2.5], "b": True, "s": "a"}}
        name = add(calls(made), say(), oci={"quirks": [quirk]}, **ANY)
        (action,) = chat(oci, name, open_session(oci, name)).required_actions
        assert action.function_call.arguments == arguments

    def test_a_finished_turn_may_have_an_empty_list(self, add: Add, oci: OciClients) -> None:
        name = add(say(), oci={"quirks": ["empty_actions"]})
        assert chat(oci, name, open_session(oci, name)).required_actions == []

    def test_approvals(self, add: Add, oci: OciClients, report: Report) -> None:
        asked = [{"kind": "mcp", "message": "Really?", "decision": "deny"}, {"kind": "environment"}]
        name = add(calls(call(), approvals=asked), {"approvals": [{"kind": "environment"}]}, say(), **ANY)
        session = open_session(oci, name)
        function, approval = chat(oci, name, session).required_actions
        assert (approval.message, approval.options) == ("Really?", ["APPROVE", "DENY"])

        def decide(option: str) -> Any:
            decision = HumanApprovalPerformedAction(action_id=approval.action_id, chosen_option=option)
            return chat(oci, name, session, performed_actions=[output(function), decision])

        with refused(400, "scenario_expectation_failed", "should be DENY"):
            decide("APPROVE")
        assert decide("DENY").message.content.text == "done"
        assert len(report(name).failures) == 1 and not report(name).unfinished

    def test_sessions(self, add: Add, oci: OciClients) -> None:
        name = add(turn(say("one")), turn(say("two")))
        session = open_session(oci, name)
        assert [chat(oci, name, session).message.content.text for _ in range(2)] == ["one", "two"]
        changed = oci.runtime.update_session(endpoint(name), session, UpdateSessionDetails(display_name="t"))
        assert changed.data.display_name == "t"
        assert oci.runtime.get_session(endpoint(name), session).data.display_name == "t"
        oci.runtime.delete_session(endpoint(name), session)
        with refused(404, "NotAuthorizedOrNotFound", "session"):
            chat(oci, name, session)
        with refused(404, "NotAuthorizedOrNotFound", "agent endpoint"):
            open_session(oci, "nobody")

    def test_a_chat_without_a_session(self, add: Add, oci: OciClients) -> None:
        name = add(say("hello"))
        alone = oci.runtime.chat(endpoint(name), ChatDetails(user_message="hi")).data
        assert alone.message.content.text == "hello"
        with refused(400, "MissingParameter", "sessionId"):
            action = FunctionCallingPerformedAction(action_id="x", function_call_output="")
            oci.runtime.chat(endpoint(name), ChatDetails(performed_actions=[action]))
        with refused(400, "MissingParameter", "userMessage"):
            oci.runtime.chat(endpoint(name), ChatDetails(performed_actions=[]))

    def test_a_stream_has_fragments(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call(), say="one moment"), say("all done"), **ANY)
        session = open_session(oci, name)
        stream = chat(oci, name, session, should_stream=True)
        traces, required = (json.loads(event.data) for event in stream.events())
        assert isinstance(traces["traces"][0]["timeCreated"], int)
        (action,) = required["requiredActions"]
        result = FunctionCallingPerformedAction(action_id=action["actionId"], function_call_output="{}")
        stream = chat(oci, name, session, should_stream=True, performed_actions=[result])
        (last,) = (json.loads(event.data) for event in stream.events())
        assert last["message"]["content"]["text"] == "all done"
        assert report(name).ok

    def test_content_types_are_bare(self, add: Add, simulator: Simulator) -> None:
        url = f"{simulator.oci_endpoint}/20240531/agentEndpoints/{endpoint(add(turn(say()), turn(say())))}/actions/chat"
        for stream, kind in [(False, "application/json"), (True, "text/event-stream")]:
            answer = httpx2.post(url, json={"userMessage": "hi", "shouldStream": stream})
            assert answer.headers["content-type"] == kind


class TestFaults:
    def test_http_errors_have_no_effect_and_pass(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call(), faults=[fault("http", status=429)]), say(faults=[fault("http", status=500)]), **ANY)
        session = open_session(oci, name)
        with refused(429, "TooManyRequests"):
            chat(oci, name, session)
        (action,) = chat(oci, name, session).required_actions
        with refused(500, "InternalServerError"):
            chat(oci, name, session, performed_actions=[output(action)])
        chat(oci, name, session, performed_actions=[output(action)])
        assert report(name).ok

    def test_the_client_retries_by_itself(self, add: Add, simulator: Simulator, report: Report) -> None:
        name = add(calls(call(), faults=[fault("http", status=429)]), say(), **ANY)
        retry = oci_sdk.retry.RetryStrategyBuilder(retry_base_sleep_time_seconds=0.01).add_service_error_check(
            service_error_retry_config={429: []}
        )
        clients = oci_clients(simulator, retry.get_retry_strategy())
        session = open_session(clients, name)
        (action,) = chat(clients, name, session).required_actions
        chat(clients, name, session, performed_actions=[output(action)])
        assert report(name).ok
        token = {"opc_retry_token": "again"}
        details_ = CreateSessionDetails()
        made = [clients.runtime.create_session(details_, endpoint(name), **token).data.id for _ in range(2)]
        assert made[0] == made[1]

    @pytest.mark.parametrize("operation", ["tools.list", "tools.create", "sessions.create"])
    def test_any_request_can_fail(self, add: Add, oci: OciClients, operation: str) -> None:
        name = add(*ONE, faults=[fault("http", status=503, on=operation)])
        request: Callable[[], Any] = {
            "tools.list": lambda: oci.tools.list_tools(agent_id=agent(name)),
            "tools.create": lambda: oci.tools.create_tool(details(name)),
            "sessions.create": lambda: open_session(oci, name),
        }[operation]
        with pytest.raises(ServiceError, check=lambda error: error.status == 503):
            request()
        request()

    def test_a_lost_answer_had_no_effect(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call()), say(faults=[fault("drop")]), **ANY)
        session = open_session(oci, name)
        (action,) = chat(oci, name, session).required_actions
        with pytest.raises(RequestException):
            chat(oci, name, session, performed_actions=[output(action)])
        chat(oci, name, session, performed_actions=[output(action)])
        assert report(name).ok

    @pytest.mark.parametrize("place", [{"after": 1}, {"before": "call"}, {"before": "end"}])
    def test_a_stream_breaks(self, add: Add, oci: OciClients, report: Report, place: dict[str, Any]) -> None:
        name = add(calls(call(), say="one moment", faults=[fault("drop", **place)]), say(), **ANY)
        session = open_session(oci, name)
        seen = []
        with pytest.raises(RequestException):
            for event in chat(oci, name, session, should_stream=True).events():
                seen.append(event.data)
        assert len(seen) == 1
        (action,) = chat(oci, name, session).required_actions
        chat(oci, name, session, performed_actions=[output(action)])
        assert report(name).ok

    def test_duplicate_fragments(self, add: Add, oci: OciClients) -> None:
        name = add(say(faults=[fault("duplicate")]))
        events = list(chat(oci, name, open_session(oci, name), should_stream=True).events())
        assert events[0].data == events[1].data and len(events) == 2

    def test_a_call_that_was_cut_off_looks_like_any_other(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call("a long key", result={"error": "JSON"}), end="incomplete"), say(), **ANY)
        session = open_session(oci, name)
        (action,) = chat(oci, name, session).required_actions
        with pytest.raises(ValueError):
            json.loads(action.function_call.arguments)
        chat(oci, name, session, performed_actions=[output(action, '{"error": "no JSON"}')])
        assert report(name).ok

    def test_the_last_text_can_be_cut_off(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(calls(call(), say="half of it", end="incomplete"), **ANY)
        assert chat(oci, name, open_session(oci, name)).message.content.text == "half "
        assert report(name).ok

    def test_a_turn_that_fails(self, add: Add, oci: OciClients, report: Report) -> None:
        name = add(say(end="failed", error={"message": "It broke."}))
        with refused(500, "InternalServerError", "It broke"):
            chat(oci, name, open_session(oci, name))
        assert report(name).ok
