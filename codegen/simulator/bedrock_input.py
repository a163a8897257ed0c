"""What Bedrock Converse insists on in a request, beyond what its clients check themselves.

Source: the service model of `bedrock-runtime` in botocore 1.44, the tool use guide, and messages of the service that
users quote. Each check raises `Invalid` for the first thing that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from codegen.simulator.schema import schema_problem

_FIELDS = {
    *("messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig", "additionalModelRequestFields"),
    *("promptVariables", "additionalModelResponseFieldPaths", "requestMetadata", "performanceConfig", "serviceTier"),
    *("outputConfig", "projectIdentifier"),
}
_BLOCKS = {
    *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint"),
    *("reasoningContent", "citationsContent", "searchResult"),
}
_RESULT_BLOCKS = {"json", "text", "image", "document", "video", "searchResult"}
_NAME, _ID = re.compile(r"[a-zA-Z0-9_-]{1,64}"), re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_IMAGES = ("png", "jpeg", "gif", "webp")

Message = Mapping[str, Any]


class Invalid(Exception):
    """A request that the service refuses; `message` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def check_body(body: Any) -> Mapping[str, Any]:
    """The body of a request: an object with known fields."""
    if not isinstance(body, dict):
        raise Invalid("The request body is no JSON object.")
    unknown = sorted(set(body) - _FIELDS)
    if unknown:
        raise Invalid(f"Malformed input request: extraneous key [{unknown[0]}] is not permitted")
    return body


def check_tool_config(config: Any) -> list[str]:
    """The names of the tools that a request registers; none without a `toolConfig`."""
    if config is None:
        return []
    if not isinstance(config, dict) or not isinstance(config.get("tools"), list) or not config["tools"]:
        raise Invalid("The value at toolConfig.tools is empty. Provide at least one tool.")
    names: list[str] = []
    for position, tool in enumerate(config["tools"]):
        where = f"toolConfig.tools.{position}"
        if not isinstance(tool, dict) or len(tool) != 1 or not set(tool) <= {"toolSpec", "cachePoint", "systemTool"}:
            raise Invalid(f"The value at {where} is no tool.")
        if "toolSpec" in tool:
            names.append(_checked_tool(tool["toolSpec"], f"{where}.toolSpec"))
    for name in names:
        if names.count(name) > 1:
            raise Invalid(f"The tool name {name} is defined more than once at toolConfig.tools.")
    choice = config.get("toolChoice")
    if choice is not None:
        if not isinstance(choice, dict) or len(choice) != 1 or not set(choice) <= {"auto", "any", "tool"}:
            raise Invalid("The value at toolConfig.toolChoice is none of auto, any and tool.")
        if "tool" in choice and choice["tool"].get("name") not in names:
            raise Invalid(f"Tool {choice['tool'].get('name')!r} of toolConfig.toolChoice is not in toolConfig.tools.")
    return names


def _checked_tool(spec: Any, where: str) -> str:
    if not isinstance(spec, dict) or not set(spec) <= {"name", "description", "inputSchema", "strict"}:
        raise Invalid(f"The value at {where} is no tool specification.")
    name = spec.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(f"Value {name!r} at '{where}.name' failed to satisfy constraint: [a-zA-Z0-9_-]{{1,64}}")
    if "description" in spec and not (isinstance(spec["description"], str) and spec["description"]):
        raise Invalid(f"Value at '{where}.description' failed to satisfy constraint: length of at least 1")
    schema = (spec.get("inputSchema") or {}).get("json")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Invalid(f"The value at {where}.inputSchema.json.type must be one of the following: object.")
    problem = schema_problem(schema)
    if problem is not None:
        raise Invalid(f"The value at {where}.inputSchema.json is invalid: {problem}")
    return name


def check_messages(messages: Any, has_tools: bool) -> Sequence[Message]:
    """The messages of a request: alternating, from a user's to a user's, every tool use answered at once."""
    if not isinstance(messages, list) or not messages:
        raise Invalid("A conversation must start with a user message. Try again with a conversation that starts so.")
    for position, message in enumerate(messages):
        where = f"messages.{position}"
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            raise Invalid(f"The value at {where} is no message.")
        role, content = message["role"], message["content"]
        if role != ("user", "assistant")[position % 2]:
            if position == 0:
                raise Invalid("A conversation must start with a user message.")
            raise Invalid("A conversation must alternate between user and assistant roles.")
        if not isinstance(content, list) or not content:
            raise Invalid(f"The content field in the Message object at {where} is empty. Add a ContentBlock object.")
        for number, block in enumerate(content):
            _check_block(block, role, f"{where}.content.{number}")
        _check_pairs(messages, position)
    if messages[-1]["role"] != "user":
        raise Invalid("The conversation must end with a user message.")
    if not has_tools and any({"toolUse", "toolResult"} & set(block) for m in messages for block in m["content"]):
        raise Invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    return messages


def _check_block(block: Any, role: str, where: str) -> None:
    if not isinstance(block, dict) or len(block) != 1 or not set(block) <= _BLOCKS:
        raise Invalid(f"The ContentBlock object at {where} must set one of the following keys: text, image, toolUse.")
    ((kind, value),) = block.items()
    if kind == "text":
        _check_text(value, where)
    elif kind == "image":
        _check_image(value, where)
    elif kind == "toolUse":
        if role != "assistant":
            raise Invalid(f"The toolUse block at {where} is only allowed in an assistant message.")
        _check_name(value, where)
        if not isinstance(value.get("input"), dict):
            raise Invalid(
                f"The format of the value at {where}.toolUse.input is invalid. Provide a json object for the field."
            )
    elif kind == "toolResult":
        if role != "user":
            raise Invalid(f"The toolResult block at {where} is only allowed in a user message.")
        _check_result(value, f"{where}.toolResult")
    elif kind == "reasoningContent" and role != "assistant":
        raise Invalid(f"The reasoningContent block at {where} is only allowed in an assistant message.")


def _check_text(text: Any, where: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise Invalid(f"The text field in the ContentBlock object at {where} is blank. Add text to the text field.")


def _check_image(image: Any, where: str) -> None:
    source = image.get("source") if isinstance(image, dict) else None
    if not isinstance(source, dict) or len(source) != 1 or image.get("format") not in _IMAGES:
        raise Invalid(f"The image at {where} has no known format or no source.")


def _check_name(use: Any, where: str) -> None:
    if not isinstance(use, dict) or not set(use) <= {"toolUseId", "name", "input", "type"}:
        raise Invalid(f"The value at {where}.toolUse is no tool use.")
    for field, pattern in (("toolUseId", _ID), ("name", _NAME)):
        value = use.get(field)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise Invalid(f"Value {value!r} at '{where}.toolUse.{field}' failed to satisfy constraint.")


def _check_result(result: Any, where: str) -> None:
    if not isinstance(result, dict) or not set(result) <= {"toolUseId", "content", "status"}:
        raise Invalid(f"The value at {where} is no tool result.")
    if not isinstance(result.get("toolUseId"), str) or not _ID.fullmatch(result["toolUseId"]):
        raise Invalid(f"Value {result.get('toolUseId')!r} at '{where}.toolUseId' failed to satisfy constraint.")
    if result.get("status", "success") not in ("success", "error"):
        raise Invalid(f"Value {result['status']!r} at '{where}.status' is none of success and error.")
    if not isinstance(result.get("content"), list):
        raise Invalid(f"The value at {where}.content is no list.")
    for number, block in enumerate(result["content"]):
        here = f"{where}.content.{number}"
        if not isinstance(block, dict) or len(block) != 1 or not set(block) <= _RESULT_BLOCKS:
            raise Invalid(f"The value at {here} is no content of a tool result.")
        if "json" in block and not isinstance(block["json"], dict):
            raise Invalid(f"The format of the value at {here}.json is invalid. Provide a json object for the field.")
        if "text" in block:
            _check_text(block["text"], here)
        if "image" in block:
            _check_image(block["image"], here)


def _check_pairs(messages: Sequence[Message], position: int) -> None:
    """The results of a user's message are those that the message before it asks for, each once."""
    content = messages[position]["content"]
    given = [block["toolResult"]["toolUseId"] for block in content if "toolResult" in block]
    before = messages[position - 1]["content"] if position else ()
    asked = [block["toolUse"]["toolUseId"] for block in before if "toolUse" in block]
    where = f"messages.{position}.content"
    if messages[position]["role"] == "assistant":
        uses = [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block]
        if len(set(uses)) != len(uses):
            raise Invalid(f"The toolUse blocks at {where} contain duplicate Ids.")
        return
    if missing := [one for one in asked if one not in given]:
        raise Invalid(f"Expected toolResult blocks at {where} for the following Ids: {', '.join(missing)}")
    if len(given) > len(asked) or set(given) - set(asked):
        raise Invalid(
            f"The number of toolResult blocks at {where} exceeds the number of toolUse blocks of previous turn."
        )
