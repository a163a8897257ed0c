"""The smallest loop for each API that keeps a conversation going, as a service without toolgen would write it.

Each takes the user's message and a function that runs one call, and returns the final answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from oci.generative_ai_agent_runtime.models import (
    ChatDetails,
    CreateSessionDetails,
    FunctionCallingPerformedAction,
    HumanApprovalPerformedAction,
)

from tests.simulator.clients import OciClients

Run = Callable[[str, Any], Any]
"""Runs one call, given its name and arguments."""

FINAL = ("agent.session.turn.completed", "agent.session.turn.failed", "agent.session.turn.cancelled")


def tool_result(action: Any, run: Run) -> dict[str, Any]:
    """The input event that answers one function call."""
    ids = {"type": "agent.session.input.tool_result", "turn_id": action.turn_id, "call_id": action.call_id}
    return {**ids, "success": True, "output": json.dumps(run(action.name, action.arguments))}


def create_session(model: str, tools: list[Any], message: str) -> dict[str, Any]:
    return {"environment": {"type": "none"}, "agent": {"model": model, "tools": tools}, "input": message}


def agents_loop(client: Any, model: str, tools: list[Any], message: str, run: Run) -> str:
    text = ""
    with client.beta.agents.sessions.create(**create_session(model, tools, message), stream=True) as stream:
        for event in stream:
            if event.type == "agent.session.requires_action":
                for action in event.session.required_actions:
                    client.beta.agents.sessions.events.create(event.session.id, events=[tool_result(action, run)])
            elif event.type == "agent.session.turn.item.done" and event.item.type == "message":
                text = event.item.content[0].text if event.item.phase == "final_answer" else text
            elif event.type in FINAL:
                break
    return text


async def async_agents_loop(client: Any, model: str, tools: list[Any], message: str, run: Run) -> str:
    text = ""
    created = await client.beta.agents.sessions.create(**create_session(model, tools, message), stream=True)
    async with created as stream:
        async for event in stream:
            if event.type == "agent.session.requires_action":
                for action in event.session.required_actions:
                    await client.beta.agents.sessions.events.create(event.session.id, events=[tool_result(action, run)])
            elif event.type == "agent.session.turn.item.done" and event.item.type == "message":
                text = event.item.content[0].text if event.item.phase == "final_answer" else text
            elif event.type in FINAL:
                break
    return text


def replayed(response: Any, run: Run) -> list[Any]:
    """The output of a response as input, followed by the results of its calls."""
    items = [item.model_dump(exclude_none=True) for item in response.output]
    return items + outputs(response, run)


def outputs(response: Any, run: Run) -> list[Any]:
    """The results of a response's calls."""
    return [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": json.dumps(run(item.name, json.loads(item.arguments))),
        }
        for item in response.output
        if item.type == "function_call"
    ]


def responses_loop(client: Any, model: str, tools: list[Any], message: str, run: Run) -> str:
    history: list[Any] = [{"role": "user", "content": message}]
    while True:
        response = client.responses.create(model=model, input=history, tools=tools)
        more = replayed(response, run)
        if len(more) == len(response.output):
            return str(response.output_text)
        history += more


async def async_responses_loop(client: Any, model: str, tools: list[Any], message: str, run: Run) -> str:
    history: list[Any] = [{"role": "user", "content": message}]
    while True:
        response = await client.responses.create(model=model, input=history, tools=tools)
        more = replayed(response, run)
        if len(more) == len(response.output):
            return str(response.output_text)
        history += more


def performed(action: Any, run: Run) -> Any:
    """The answer to one required action."""
    if action.required_action_type == "HUMAN_APPROVAL_REQUIRED_ACTION":
        return HumanApprovalPerformedAction(action_id=action.action_id, chosen_option="APPROVE")
    output = run(action.function_call.name, json.loads(action.function_call.arguments))
    return FunctionCallingPerformedAction(action_id=action.action_id, function_call_output=json.dumps(output))


def oci_loop(clients: OciClients, endpoint: str, message: str, run: Run) -> str:
    session = clients.runtime.create_session(CreateSessionDetails(), endpoint).data
    details = ChatDetails(user_message=message, session_id=session.id)
    while True:
        result = clients.runtime.chat(endpoint, details).data
        if not result.required_actions:
            return str(result.message.content.text)
        answers = [performed(action, run) for action in result.required_actions]
        details = ChatDetails(user_message=message, session_id=session.id, performed_actions=answers)
