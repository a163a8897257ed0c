"""What the Responses API demands of a request: known parameters, well-formed items, a history that fits together.

Rules and messages follow the service as far as they are documented or reported; every check raises `ResponsesError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.simulator.schema import schema_problem
from codegen.simulator.strict import strict_problem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_OUTPUT_CHARACTERS = 10_485_760
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

REQUEST_PARAMETERS = _words(
    "access_programs background background_options context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
)


class ResponsesError(Exception):
    """A request that the API refuses: HTTP `status`, `message`, and the `param` and `code` of the error body."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of one kind of item. A field in `nullable` may be null."""

    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()


def _shape(required: str, optional: str = "", nullable: str = "") -> _Shape:
    return _Shape(_words(required), _words(optional), _words(nullable))


_SHAPES = {
    "message": _shape("role content", "type status phase id", "phase"),
    "function_call": _shape("type call_id name arguments", "id status namespace caller async", "caller"),
    "function_call_output": _shape(
        "type call_id output", "id status caller name namespace", "id status caller name namespace"
    ),
    "custom_tool_call": _shape("type call_id name input", "id namespace caller", "caller"),
    "custom_tool_call_output": _shape("type call_id output", "id caller", "caller"),
    "reasoning": _shape("type id summary", "content encrypted_content status", "encrypted_content"),
    "tool_search_call": _shape("type arguments", "id call_id execution status", "id call_id status"),
    "tool_search_output": _shape("type tools", "id call_id execution status", "id call_id status"),
    "item_reference": _shape("id", "type", "type"),
}
_CONTENT = {
    "input_text": _shape("type text", "prompt_cache_breakpoint"),
    "input_image": _shape("type", "detail file_id image_url prompt_cache_breakpoint", "detail file_id image_url"),
    "input_file": _shape(
        "type",
        "detail file_data file_id file_url filename prompt_cache_breakpoint",
        "file_data file_id file_url filename",
    ),
    "output_text": _shape("type text", "annotations logprobs"),
    "refusal": _shape("type refusal"),
}
_INPUT_CONTENT, _OUTPUT_CONTENT = ("input_text", "input_image", "input_file"), ("output_text", "refusal")
_ID_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}

_TOOL_FIELDS = _words("type name description parameters strict defer_loading allowed_callers output_schema async")
_HOSTED_TOOLS = _words(
    "file_search computer computer_use_preview web_search mcp code_interpreter programmatic_tool_calling "
    "image_generation local_shell shell custom tool_search web_search_preview apply_patch"
)


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function of a request. `namespace` is set for one inside a namespace, and for a deferred one."""

    name: str
    definition: Mapping[str, Any]
    strict: bool
    namespace: str | None = None
    deferred: bool = False


def check_parameters(body: Any) -> Mapping[str, Any]:
    """The body of a create request. Raises `ResponsesError` for what is unknown or does not go together."""
    if not isinstance(body, dict):
        raise ResponsesError("We could not parse the JSON body of your request.")
    for name in body:
        if name not in REQUEST_PARAMETERS:
            raise ResponsesError(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if not isinstance(body.get("model"), str):
        raise ResponsesError("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        raise ResponsesError(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing "
            "one of them.",
            "previous_response_id",
            "mutually_exclusive_parameters",
        )
    if body.get("input") is None and body.get("previous_response_id") is None and body.get("conversation") is None:
        raise ResponsesError("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    if body.get("background"):
        raise ResponsesError("The simulator has no background responses.", "background", "unsupported_parameter")
    return body


def check_tools(tools: Any) -> list[FunctionTool]:
    """The functions among the tools of a request. Raises `ResponsesError` for the first tool that is refused."""
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise _wrong_type("tools", "an array", tools)
    functions: list[FunctionTool] = []
    for index, tool in enumerate(tools):
        functions += _check_tool(tool, f"tools[{index}]")
    keys = [(tool.namespace, tool.name) for tool in functions]
    for key in keys:
        if keys.count(key) > 1:
            raise ResponsesError(f"Duplicate tool name: '{key[1]}'.", "tools", "invalid_value")
    searches = any(isinstance(tool, dict) and tool.get("type") == "tool_search" for tool in tools)
    for function in functions:
        if function.deferred and not searches:
            raise ResponsesError(
                f"Tool '{function.name}' has defer_loading, which requires a tool of type 'tool_search'.",
                "tools",
                "invalid_value",
            )
    return functions


def _check_tool(tool: Any, place: str) -> list[FunctionTool]:
    if not isinstance(tool, dict):
        raise _wrong_type(place, "an object", tool)
    kind = tool.get("type")
    if kind is None:
        raise ResponsesError(
            f"Missing required parameter: '{place}.type'.", f"{place}.type", "missing_required_parameter"
        )
    kind = str(kind)
    if kind == "namespace":
        for name, expected in (("name", str), ("description", str), ("tools", list)):
            if name not in tool:
                raise _missing(f"{place}.{name}")
            if not isinstance(tool[name], expected):
                raise _wrong_type(f"{place}.{name}", "a string or a list", tool[name])
        inner = [f for i, entry in enumerate(tool["tools"]) for f in _check_tool(entry, f"{place}.tools[{i}]")]
        return [FunctionTool(f.name, f.definition, f.strict, tool["name"], f.deferred) for f in inner]
    if kind in _HOSTED_TOOLS:
        return []
    if kind != "function":
        raise ResponsesError(f"Invalid value: '{kind}'. Supported values are: 'function', ….", f"{place}.type")
    return [_check_function(tool, place)]


def _check_function(tool: Mapping[str, Any], place: str) -> FunctionTool:
    name = tool.get("name")
    if name is None:
        raise _missing(f"{place}.name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ResponsesError(
            f"Invalid '{place}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$' and has at most 64 characters.",
            f"{place}.name",
            "invalid_value",
        )
    for key in tool:
        if key not in _TOOL_FIELDS:
            raise ResponsesError(f"Unknown parameter: '{place}.{key}'.", f"{place}.{key}", "unknown_parameter")
    parameters, strict = tool.get("parameters"), tool.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise _wrong_type(f"{place}.strict", "a boolean", strict)
    if parameters is not None and not isinstance(parameters, dict):
        raise _wrong_type(f"{place}.parameters", "an object", parameters)
    if parameters is not None and parameters.get("type") != "object":
        raise _bad_schema(name, place, "schema must be a JSON Schema of 'type: \"object\"'.")
    broken = schema_problem(parameters) if parameters is not None else None
    if broken is not None:
        raise _bad_schema(name, place, f"schema is no JSON Schema: {broken}")
    problem = strict_problem(parameters if parameters is not None else {})
    if strict and problem is not None:
        raise _bad_schema(name, place, problem)
    deferred = tool.get("defer_loading") is True
    # Where a tool does not say, the service makes it strict when its schema conforms.
    is_strict = bool(strict) if strict is not None else problem is None
    return FunctionTool(name, tool, is_strict, name if deferred else None, deferred)


def _bad_schema(name: str, place: str, problem: str) -> ResponsesError:
    return ResponsesError(
        f"Invalid schema for function '{name}': {problem}", f"{place}.parameters", "invalid_function_parameters"
    )


def check_input(value: Any) -> list[dict[str, Any]]:
    """The input of a request as items. Raises `ResponsesError` for the first item that is refused."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": value}]}]
    if not isinstance(value, list):
        raise _wrong_type("input", "a string or an array of items", value)
    return [_check_item(item, f"input[{index}]") for index, item in enumerate(value)]


def _check_item(item: Any, place: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise _wrong_type(place, "an object", item)
    kind = item.get("type")
    if kind is None:
        kind = "item_reference" if set(item) <= {"id", "type"} and "id" in item else "message"
    kind = str(kind)
    shape = _SHAPES.get(kind)
    if shape is None:
        known = ", ".join(f"'{name}'" for name in sorted(_SHAPES))
        raise ResponsesError(
            f"Invalid value: '{kind}'. Supported values are: {known}.", f"{place}.type", "invalid_value"
        )
    _check_shape(shape, item, place)
    _check_values(kind, item, place)
    return {"type": kind, **item} if "type" not in item else item


def _check_shape(shape: _Shape, item: Mapping[str, Any], place: str) -> None:
    for name in sorted(shape.required - set(item)):
        raise _missing(f"{place}.{name}")
    for name, value in item.items():
        if name not in shape.required | shape.optional:
            raise ResponsesError(f"Unknown parameter: '{place}.{name}'.", f"{place}.{name}", "unknown_parameter")
        if value is None and name not in shape.nullable:
            raise _wrong_type(f"{place}.{name}", "a value", value)


def _check_values(kind: str, item: Mapping[str, Any], place: str) -> None:
    prefix = _ID_PREFIXES.get(kind)
    if prefix is not None and item.get("id") is not None and not str(item["id"]).startswith(prefix):
        raise ResponsesError(
            f"Invalid '{place}.id': '{item['id']}'. Expected an ID that begins with '{prefix}'.",
            f"{place}.id",
            "invalid_value",
        )
    call_id = item.get("call_id")
    if kind in ("function_call", "function_call_output") and not (isinstance(call_id, str) and 1 <= len(call_id) <= 64):
        raise ResponsesError(
            f"Invalid '{place}.call_id': expected a string of 1 to 64 characters.", f"{place}.call_id", "invalid_value"
        )
    if kind == "function_call" and not isinstance(item["arguments"], str):
        raise _wrong_type(f"{place}.arguments", "a string", item["arguments"])
    if kind == "function_call_output":
        _check_output(item["output"], f"{place}.output")
    if kind == "message" and not isinstance(item["content"], str):
        allowed = _OUTPUT_CONTENT if item["role"] == "assistant" else _INPUT_CONTENT
        _check_content(item["content"], allowed, f"{place}.content")


def _check_output(output: Any, place: str) -> None:
    if isinstance(output, str):
        if len(output) > MAX_OUTPUT_CHARACTERS:
            raise ResponsesError(
                f"Invalid '{place}': string too long. Expected at most {MAX_OUTPUT_CHARACTERS} characters.",
                place,
                "string_above_max_length",
            )
        return
    _check_content(output, _INPUT_CONTENT, place)


def _check_content(content: Any, allowed: Sequence[str], place: str) -> None:
    if not isinstance(content, list):
        raise _wrong_type(place, "a string or an array of content parts", content)
    for index, part in enumerate(content):
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in allowed:
            known = ", ".join(f"'{name}'" for name in allowed)
            raise ResponsesError(
                f"Invalid value: '{kind}'. Supported values are: {known}.", f"{place}[{index}].type", "invalid_value"
            )
        _check_shape(_CONTENT[kind], part, f"{place}[{index}]")
        for name in _CONTENT[kind].required:
            if not isinstance(part[name], str):
                raise _wrong_type(f"{place}[{index}].{name}", "a string", part[name])


def output_text(output: Any) -> str:
    """The text of a `function_call_output`: the string, or the texts of its parts."""
    if isinstance(output, str):
        return output
    return "".join(part.get("text", "") for part in output)


def message_text(item: Mapping[str, Any]) -> str:
    """The text of a message item."""
    content = item["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which of the server's items belong together: reasoning id → the key of what followed it, and back."""

    follower: Mapping[str, str] = field(default_factory=dict)
    reasoning: Mapping[str, str] = field(default_factory=dict)


def item_key(item: Mapping[str, Any]) -> str | None:
    """What identifies an item: a call by its call id, everything else by its id."""
    if item["type"] == "function_call":
        return str(item["call_id"])
    return str(item["id"]) if item.get("id") is not None else None


def check_history(items: Sequence[Mapping[str, Any]], pairing: Pairing) -> None:
    """Everything that the model would see. Raises `ResponsesError` when its parts do not fit together."""
    _check_unique(items)
    _check_reasoning(items, pairing)
    answered: set[str] = set()
    called: dict[str, str] = {}
    for item in items:
        if item["type"] == "function_call":
            if item["call_id"] in called:
                raise ResponsesError(f"Duplicate function call with call_id {item['call_id']}.", "input")
            called[item["call_id"]] = item["name"]
        elif item["type"] == "function_call_output":
            call_id = item["call_id"]
            if call_id not in called:
                raise ResponsesError(f"No tool call found for function call output with call_id {call_id}.", "input")
            if call_id in answered:
                raise ResponsesError(f"Duplicate function call output for call_id {call_id}.", "input")
            answered.add(call_id)
    for call_id in called:
        if call_id not in answered:
            raise ResponsesError(f"No tool output found for function call {call_id}.", "input")


def _check_unique(items: Iterable[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for item in items:
        identifier = item.get("id")
        if isinstance(identifier, str):
            if identifier in seen:
                raise ResponsesError(
                    f"Duplicate item found with id {identifier}. Remove duplicate items from your input and try again.",
                    "input",
                )
            seen.add(identifier)


def _check_reasoning(items: Sequence[Mapping[str, Any]], pairing: Pairing) -> None:
    for index, item in enumerate(items):
        before = items[index - 1] if index else None
        after = items[index + 1] if index + 1 < len(items) else None
        if item["type"] == "reasoning":
            wanted = pairing.follower.get(item["id"])
            if wanted is not None and (after is None or not _is(after, wanted)):
                raise ResponsesError(
                    f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                    "input",
                )
        key = item_key(item)
        needed = pairing.reasoning.get(key) if key is not None else None
        if needed is not None and not (before is not None and before.get("id") == needed):
            raise ResponsesError(
                f"Item '{item.get('id', key)}' of type '{item['type']}' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                "input",
            )


def _is(item: Mapping[str, Any], key: str) -> bool:
    """Whether an item is the one with this key; a message may have come back without its id."""
    found = item_key(item)
    return found == key or (found is None and item["type"] == "message" and item.get("role") == "assistant")


def _missing(place: str) -> ResponsesError:
    return ResponsesError(f"Missing required parameter: '{place}'.", place, "missing_required_parameter")


def _wrong_type(place: str, expected: str, value: Any) -> ResponsesError:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "an integer"}
    got = "null" if value is None else names.get(type(value), "a number")
    return ResponsesError(
        f"Invalid type for '{place}': expected {expected}, but got {got} instead.", place, "invalid_type"
    )
