"""The vendors' own types as judges of payloads. Each judge raises where a payload is not what its API takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

from anthropic.types import ToolParam, ToolUnionParam
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from mcp_types import ListToolsResult
from openai.types.beta.agent_tool_param import AgentToolParam
from openai.types.chat import ChatCompletionToolUnionParam
from openai.types.responses import ToolParam as ResponsesToolParam
from pydantic import TypeAdapter

Entries = list[dict[str, Any]]


def _openai_agents(entries: Entries) -> None:
    TypeAdapter(list[AgentToolParam]).validate_python(entries, strict=True)


def _openai_responses(entries: Entries) -> None:
    TypeAdapter(list[ResponsesToolParam]).validate_python(entries, strict=True)


def _openai_chat(entries: Entries) -> None:
    TypeAdapter(list[ChatCompletionToolUnionParam]).validate_python(entries, strict=True)
    for entry in entries:
        assert entry.keys() == {"type", "function"}
        assert entry["function"].keys() <= {"name", "description", "parameters", "strict"}


def _anthropic(entries: Entries) -> None:
    """The types leave further keys alone, so those are compared too."""
    TypeAdapter(list[ToolUnionParam]).validate_python(entries, strict=True)
    known = get_type_hints(ToolParam).keys()
    for entry in entries:
        if "type" not in entry:
            assert entry.keys() <= known
            assert entry["input_schema"]["type"] == "object"


@cache
def _bedrock_model() -> Any:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.shape_for("ToolConfiguration")


def _bedrock(entries: Entries) -> None:
    """The client looks at types, unknown keys and minimum lengths; maximum lengths and patterns are asserted here."""
    report = ParamValidator().validate({"tools": entries}, _bedrock_model())
    assert not report.has_errors(), report.generate_report()
    name = _bedrock_model().members["tools"].member.members["toolSpec"].members["name"]
    assert name.metadata["max"] == 64 and name.metadata["pattern"] == "[a-zA-Z0-9_-]+"
    for entry in entries:
        assert len(entry["toolSpec"]["name"]) <= 64
        assert entry["toolSpec"]["inputSchema"]["json"]["type"] == "object"


def _mcp(entries: Entries) -> None:
    result = ListToolsResult.model_validate({"tools": entries, "ttlMs": 0, "cacheScope": "private"})
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in result.tools]
    assert sent == entries


JUDGES: dict[str, Callable[[Entries], None]] = {
    "openai_agents": _openai_agents,
    "openai_responses": _openai_responses,
    "openai_chat": _openai_chat,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "mcp": _mcp,
}
"""By target id. The tests of a target that is missing here judge its payloads themselves."""
