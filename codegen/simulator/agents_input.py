"""What the Agents API demands of requests: tool definitions, messages and input events in exactly their shapes.

Every check raises `AgentsError`. Nothing here knows a session; what depends on one is in `codegen.simulator.agents`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from codegen.simulator.schema import schema_problem
from codegen.simulator.wire import dump_json


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_TOOLS_BYTES = 3_145_728
MAX_RESULT_BYTES = 4_194_304
MAX_EVENTS = 16_384

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TOOLS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    kind: (_words(required), _words(optional))
    for kind, required, optional in [
        ("function", "name description parameters", "defer_loading async"),
        ("tool_search", "", ""),
        ("programmatic_tool_calling", "", "enabled"),
        ("mcp", "server_label transport", "allowed_tools connection_origin credential_id request_metadata required"),
        ("web_search", "", "allowed_domains context_size location mode"),
        ("computer_use", "", "include_screenshots"),
        ("automations", "", ""),
    ]
}
_EVENTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    f"agent.session.input.{kind}": (_words(required), _words(optional))
    for kind, required, optional in [
        ("message", "input", ""),
        ("cancel", "", ""),
        ("tool_result", "turn_id call_id success", "output error"),
        ("mcp_approval_request_result", "request_id response", ""),
        ("computer_use_approval_request_result", "request_id response", ""),
    ]
}
AGENT_FIELDS = _words("compaction experimental instructions model multi_agent reasoning service_tier text tools")


class AgentsError(Exception):
    """A request that the API refuses: HTTP `status`, `message`, and the `param` of the error body."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param


def check_tools(tools: Any, place: str = "agent.tools") -> list[dict[str, Any]]:
    """The tools of an agent; null means none."""
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise AgentsError(f"Invalid type for '{place}': expected an array of tools.", place)
    for index, tool in enumerate(tools):
        _check_tool(tool, f"{place}[{index}]")
    functions = [tool for tool in tools if tool["type"] == "function"]
    names = [tool["name"] for tool in functions]
    for name in names:
        if names.count(name) > 1:
            raise AgentsError(f"Duplicate function name '{name}'.", place)
    deferred = [tool["name"] for tool in functions if tool.get("defer_loading") is True]
    if deferred and not any(tool["type"] == "tool_search" for tool in tools):
        raise AgentsError(f"Function '{deferred[0]}' has defer_loading, which requires a tool_search tool.", place)
    size = len(dump_json(tools).encode())
    if size > MAX_TOOLS_BYTES:
        raise AgentsError(f"'{place}' has {size} bytes; at most {MAX_TOOLS_BYTES} are allowed.", place)
    return tools


def _check_tool(tool: Any, place: str) -> None:
    if not isinstance(tool, dict):
        raise AgentsError(f"Invalid type for '{place}': expected an object.", place)
    fields = _TOOLS.get(str(tool.get("type")))
    if fields is None:
        raise AgentsError(f"Invalid value for '{place}.type': {tool.get('type')!r}.", f"{place}.type")
    _check_keys(tool, fields, place)
    if tool["type"] != "function":
        return
    if not isinstance(tool["name"], str) or not _NAME.fullmatch(tool["name"]):
        raise AgentsError(f"Invalid '{place}.name': {tool['name']!r}.", f"{place}.name")
    if not isinstance(tool["description"], str) or not tool["description"].strip():
        raise AgentsError(f"Invalid '{place}.description': expected a text.", f"{place}.description")
    parameters = tool["parameters"]
    if not isinstance(parameters, dict) or not (parameters.get("type") == "object" or "$ref" in parameters):
        raise AgentsError(f"Invalid '{place}.parameters': expected an object schema.", f"{place}.parameters")
    problem = schema_problem(parameters)
    if problem is not None:
        raise AgentsError(f"Invalid '{place}.parameters': {problem}", f"{place}.parameters")
    for flag in ("defer_loading", "async"):
        if flag in tool and not isinstance(tool[flag], bool):
            raise AgentsError(f"Invalid type for '{place}.{flag}': expected a boolean.", f"{place}.{flag}")


def shown_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools as a session shows them: defaults filled in, and no `tool_search`, which answers have no shape for."""
    defaults: dict[str, dict[str, Any]] = {
        "function": {"defer_loading": False},
        "programmatic_tool_calling": {"enabled": True},
        "mcp": {"connection_origin": "service", "request_metadata": {}, "required": False},
        "web_search": {"context_size": "medium", "mode": "live"},
        "computer_use": {"include_screenshots": False},
    }
    return [{**defaults.get(t["type"], {}), **t} for t in tools if t["type"] != "tool_search"]


def check_environment(environment: Any) -> dict[str, Any]:
    """The environment of a new session."""
    if not isinstance(environment, dict):
        raise AgentsError("Missing required parameter: 'environment'.", "environment")
    kind = environment.get("type")
    if kind not in ("none", "openai_hosted", "self_hosted"):
        raise AgentsError(f"Invalid value for 'environment.type': {kind!r}.", "environment.type")
    if kind == "none" and set(environment) != {"type"}:
        raise AgentsError("An environment of type 'none' has no settings.", "environment")
    if kind == "self_hosted" and not isinstance(environment.get("workspace_directory"), str):
        raise AgentsError(
            "Missing required parameter: 'environment.workspace_directory'.", "environment.workspace_directory"
        )
    return environment


def check_metadata(metadata: Any) -> dict[str, str]:
    """Metadata: up to 16 pairs of text, keys of up to 64 and values of up to 512 characters; null means none."""
    if metadata is None:
        return {}
    if not isinstance(metadata, dict) or len(metadata) > 16:
        raise AgentsError("Invalid 'metadata': expected an object with at most 16 pairs.", "metadata")
    for key, value in metadata.items():
        if len(key) > 64 or not isinstance(value, str) or len(value) > 512:
            raise AgentsError(f"Invalid 'metadata.{key}'.", f"metadata.{key}")
    return metadata


def check_keys(body: Any, known: frozenset[str], place: str = "") -> dict[str, Any]:
    """A body that is an object with known keys only."""
    if not isinstance(body, dict):
        raise AgentsError("We could not parse the JSON body of your request.")
    for key in body:
        if key not in known:
            raise AgentsError(f"Unknown parameter: '{place}{key}'.", f"{place}{key}")
    return body


def check_input(value: Any, place: str = "input") -> list[dict[str, Any]]:
    """User messages: a text, or a list of messages whose content is text and images."""
    if isinstance(value, str) and value:
        return [{"role": "user", "content": [{"type": "input_text", "text": value}]}]
    if not isinstance(value, list) or not value:
        raise AgentsError(f"Invalid '{place}': expected a text or messages.", place)
    for index, message in enumerate(value):
        where = f"{place}[{index}]"
        if not isinstance(message, dict) or message.get("role") != "user":
            raise AgentsError(f"Invalid '{where}': expected a message with the role 'user'.", where)
        _check_keys(message, (frozenset({"role", "content"}), frozenset({"type"})), where, typed=False)
        check_content(message["content"], f"{where}.content")
    return value


def check_content(content: Any, place: str) -> None:
    """Content parts: `input_text` with a text and `input_image` with an URL, and nothing else in them."""
    if not isinstance(content, list):
        raise AgentsError(f"Invalid type for '{place}': expected an array of content parts.", place)
    fields = {"input_text": "text", "input_image": "image_url"}
    for index, part in enumerate(content):
        where = f"{place}[{index}]"
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in fields:
            raise AgentsError(f"Invalid value for '{where}.type': {kind!r}.", f"{where}.type")
        if set(part) != {"type", fields[kind]} or not isinstance(part[fields[kind]], str):
            raise AgentsError(f"Invalid '{where}': expected exactly 'type' and '{fields[kind]}'.", where)


def check_events(body: Any) -> list[dict[str, Any]]:
    """The input events of a batch, each in the shape of its type."""
    events = check_keys(body, frozenset({"events"})).get("events")
    if not isinstance(events, list) or not 1 <= len(events) <= MAX_EVENTS:
        raise AgentsError(f"Invalid 'events': expected an array of 1 to {MAX_EVENTS} events.", "events")
    for index, event in enumerate(events):
        _check_event(event, f"events[{index}]")
    return events


def _check_event(event: Any, place: str) -> None:
    fields = _EVENTS.get(str(event.get("type"))) if isinstance(event, dict) else None
    if fields is None:
        raise AgentsError(f"Invalid '{place}': unknown type of input event.", f"{place}.type")
    _check_keys(event, fields, place)
    kind = event["type"].removeprefix("agent.session.input.")
    if kind == "message":
        check_input(event["input"], f"{place}.input")
    elif kind == "tool_result":
        _check_tool_result(event, place)
    elif kind == "mcp_approval_request_result":
        _check_response(event["response"], {"mcp_tool_call": {"decision"}}, place)
    elif kind == "computer_use_approval_request_result":
        known = {"browser_origin_access": {"decision"}, "browser_authentication": {"action"}}
        _check_response(event["response"], known, place)


def _check_tool_result(event: Mapping[str, Any], place: str) -> None:
    if not isinstance(event["success"], bool):
        raise AgentsError(f"Invalid type for '{place}.success': expected a boolean.", f"{place}.success")
    for key in ("turn_id", "call_id"):
        if not isinstance(event[key], str) or not event[key]:
            raise AgentsError(f"Invalid '{place}.{key}': expected a string.", f"{place}.{key}")
    output, error = event.get("output"), event.get("error")
    if event["success"]:
        if "output" not in event:
            raise AgentsError(f"Missing required parameter: '{place}.output'.", f"{place}.output")
        if error is not None:
            raise AgentsError(f"'{place}.error' goes with a failed call only.", f"{place}.error")
    elif not isinstance(error, str):
        raise AgentsError(f"Missing required parameter: '{place}.error'.", f"{place}.error")
    if output is not None and not isinstance(output, str):
        if isinstance(output, dict):
            raise AgentsError(
                f"Invalid type for '{place}.output': expected a string or an array of content parts, but got an "
                "object instead.",
                f"{place}.output",
            )
        check_content(output, f"{place}.output")
    if len(dump_json(event).encode()) >= MAX_RESULT_BYTES:
        raise AgentsError(f"Tool result is too large: at most {MAX_RESULT_BYTES} bytes are allowed.", place)


def _check_response(response: Any, known: Mapping[str, set[str]], place: str) -> None:
    kind = str(response.get("type")) if isinstance(response, dict) else ""
    if kind not in known or not known[kind] <= set(response):
        raise AgentsError(f"Invalid '{place}.response'.", f"{place}.response")
    if "decision" in known[kind] and response["decision"] not in ("approve", "deny", "cancel"):
        raise AgentsError(f"Invalid '{place}.response.decision'.", f"{place}.response.decision")
    if "action" in known[kind]:
        fields = response.get("fields")
        if response["action"] not in ("submit", "cancel") or (response["action"] == "submit" and fields is None):
            raise AgentsError(f"Invalid '{place}.response.action'.", f"{place}.response.action")


def _check_keys(
    value: Mapping[str, Any], fields: tuple[frozenset[str], frozenset[str]], place: str, *, typed: bool = True
) -> None:
    required, optional = fields
    for key in sorted(required - set(value)):
        raise AgentsError(f"Missing required parameter: '{place}.{key}'.", f"{place}.{key}")
    for key in value:
        if key not in required | optional and not (typed and key == "type"):
            raise AgentsError(f"Unknown parameter: '{place}.{key}'.", f"{place}.{key}")


def content_text(content: Any) -> str:
    """The text of an output or of message content."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
