"""Finding the function definitions in a document, in whatever shapes and wrappers they stand.

Each entry is recognised by its own marker keys. Only the keys of the entry itself are looked at, never those of its
schema, so that a property called `function` or `parameters` cannot mislead. An entry with the markers of two shapes is
refused: guessing would drop one of its schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from codegen.diagnostics import Diagnostic, Report
from codegen.schema.pointers import join
from codegen.specs.definition import Definition, check_type, read_definition
from codegen.specs.faults import did_you_mean, nearest, quoted
from codegen.specs.settings import KEY as SETTINGS
from codegen.specs.shapes import ANTHROPIC, BEDROCK, FLAT, GEMINI, MCP, NESTED, OCI, SHARED, Shape, keys
from codegen.specs.source import Problems, SourceFile

_BY_MARKER: Final = {
    "parameters": FLAT,
    "input_schema": ANTHROPIC,
    "inputSchema": MCP,
    "parametersJsonSchema": GEMINI,
    "parameters_json_schema": GEMINI,
}
"""The keys of a definition that hold its schema and tell its shape."""
_WRAPPERS: Final = ("function", "functionDeclarations", "function_declarations", "toolSpec", "toolConfig", "tools")
"""The keys of an object around one definition or several."""
_MARKERS: Final = (*_WRAPPERS, *_BY_MARKER)

_HOSTED_TYPES: Final = re.compile(
    r"(?:apply_patch|automations|bash|code_execution|code_interpreter|computer|computer_use|file_search"
    r"|image_generation|local_shell|mcp|mcp_toolset|memory|programmatic_tool_calling|shell|str_replace_based_edit_tool"
    r"|text_editor|tool_search|tool_search_tool_bm25|tool_search_tool_regex|web_fetch|web_search)"
    r"(?:_preview)?(?:_[0-9]{8}|_[0-9]{4}_[0-9]{2}_[0-9]{2})?"
)
"""Of OpenAI and Anthropic; both date the versions of some."""
_HOSTED_KEYS: Final = keys(
    "cachePoint systemTool"  # Bedrock
    " codeExecution computerUse enterpriseWebSearch fileSearch googleMaps googleSearch googleSearchRetrieval mcpServers"
    " parallelAiSearch retrieval urlContext code_execution computer_use enterprise_web_search file_search google_maps"
    " google_search google_search_retrieval mcp_servers url_context"  # Gemini, in both spellings of its JSON
)
_FUNCTION_CONFIG: Final = "FUNCTION_CALLING_TOOL_CONFIG"
_HOSTED_CONFIG: Final = re.compile(r"(?:SQL|RAG|HTTP_ENDPOINT|AGENT)_TOOL_CONFIG")

_LIST_KEYS: Final = SHARED | keys("tools nextCursor _meta resultType ttlMs cacheScope toolChoice tool_choice")
_RPC_KEYS: Final = keys("jsonrpc id result")
_OWN_KEYS: Final = keys(f"returns {SETTINGS}")
_OCI_KEYS: Final = _OWN_KEYS | keys(
    "toolConfig agentId compartmentId definedTags description displayName freeformTags id lifecycleState metadata"
    " systemTags timeCreated timeUpdated"
)


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a document holds."""

    found: tuple[Definition, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    stranger: Diagnostic | None = None
    """Set where the whole document is no spec at all; it may still be a file of shared schemas."""


def definitions(value: Any, source: SourceFile) -> Definitions:
    """The function definitions in the value of a spec file, and what is wrong with them."""
    recognition = _Recognition(Problems(source, Report()))
    found = tuple(recognition.entry(value, ""))
    return Definitions(found, tuple(recognition.problems.report.diagnostics), recognition.stranger)


@dataclass(slots=True)
class _Recognition:
    problems: Problems
    stranger: Diagnostic | None = None

    def entry(self, value: Any, pointer: str) -> Iterator[Definition]:
        """The definitions in one entry: a definition, a list of entries, or a wrapper around some."""
        if isinstance(value, list):
            for index, member in enumerate(value):
                yield from self.entry(member, join(pointer, index))
        elif not isinstance(value, dict):
            self._unknown(pointer, "a function definition is an object")
        elif not self._hosted(value, pointer):
            yield from self._by_marker(value, pointer)

    def _by_marker(self, value: dict[str, Any], pointer: str) -> Iterator[Definition]:
        if "toolConfigType" in value:
            yield from self._oci(value, pointer, value, pointer)
            return
        if _is_rpc(value):
            self._unknown_fields(value, _RPC_KEYS, pointer, "a JSON-RPC answer")
            yield from self.entry(value["result"], join(pointer, "result"))
            return
        present = [marker for marker in _MARKERS if marker in value]
        telling = [marker for marker in present if value[marker] is not None] or present
        if not telling:
            yield from self._unmarked(value, pointer)
        elif len(telling) > 1:
            both = " and ".join(f"`{marker}`" for marker in telling[:2])
            hint = "keep the one whose API the definition is written for"
            self._unknown(pointer, f"the entry is ambiguous: it has both {both}", hint, final=True)
        elif telling[0] in _WRAPPERS:
            yield from self._wrapped(telling[0], value, pointer)
        elif value.get("type") == "custom" and telling[0] != "input_schema":
            self._free_text(pointer)
        else:
            yield from self._definition(_BY_MARKER[telling[0]], value, pointer)

    def _unmarked(self, value: dict[str, Any], pointer: str) -> Iterator[Definition]:
        kind = value.get("type")
        if kind == "function" or ("name" in value and ("returns" in value or SETTINGS in value)):
            yield from self._definition(FLAT, value, pointer)
        elif kind == "custom":
            self._free_text(pointer)
        elif "name" in value:
            message = "the entry has a name and no schema of arguments"
            hint = 'add "parameters" (null where it has none)'
            for key in value:
                if key not in ("name", "description", "type") and (near := nearest(key, _MARKERS)) is not None:
                    hint = f"did you mean {quoted(near)} instead of {quoted(key)}?"
            self._unknown(pointer, message, hint, final=True)
        else:
            hint = "a definition has a name and parameters; a file of shared schemas needs a spec that refers to it"
            self._unknown(pointer, "this is no function definition in any known shape", hint)

    # Tools of the API itself

    def _hosted(self, value: dict[str, Any], pointer: str) -> bool:
        """Whether the entry is a tool that the API runs, and nothing else; such tools are noted."""
        if "name" in value and any(marker in value for marker in _BY_MARKER):
            return False
        kind = value.get("type")
        if isinstance(kind, str) and _HOSTED_TYPES.fullmatch(kind):
            self._note_hosted(kind, join(pointer, "type"))
            return True
        hosted = [key for key in value if key in _HOSTED_KEYS] if "name" not in value else []
        for key in hosted:
            self._note_hosted(key, join(pointer, key))
        return bool(hosted) and not any(wrapper in value for wrapper in _WRAPPERS)

    def _note_hosted(self, kind: str, pointer: str) -> None:
        message = f"{kind} is a tool that the API runs itself; nothing is generated for it"
        self.problems.add(pointer, "hosted-tool", message)

    # Wrappers

    def _wrapped(self, marker: str, value: dict[str, Any], pointer: str) -> Iterator[Definition]:
        inner, there = value[marker], join(pointer, marker)
        if marker == "tools":
            yield from self._tools(value, pointer)
        elif marker in ("functionDeclarations", "function_declarations"):
            self._unknown_fields(value, _HOSTED_KEYS | {marker}, pointer, "a Gemini tool")
            yield from self._declarations(inner, there)
        elif not self._is_object(inner, there, f"`{marker}`"):
            return
        elif marker == "function":
            check_type(FLAT, value, pointer, self.problems)
            known = SHARED | _OWN_KEYS | {"function", "type"}
            self._unknown_fields(value, known, pointer, "a Chat Completions definition")
            yield from self._definition(NESTED, inner, there, value, pointer)
        elif marker == "toolSpec":
            self._unknown_fields(value, _OWN_KEYS | {marker}, pointer, "a Bedrock definition")
            yield from self._definition(BEDROCK, inner, there, value, pointer)
        elif "tools" in inner:
            self._unknown_fields(value, frozenset({marker}), pointer, "a Bedrock request")
            yield from self._tools(inner, there)
        else:
            self._unknown_fields(value, _OCI_KEYS, pointer, "an OCI tool")
            yield from self._oci(inner, there, value, pointer)

    def _tools(self, value: dict[str, Any], pointer: str) -> Iterator[Definition]:
        if value.get("type") == "namespace":
            message, hint = "namespaces of functions are not supported", "list its functions as tools of their own"
            self._unknown(pointer, message, hint, final=True)
        elif not isinstance(value["tools"], list):
            self.problems.add(join(pointer, "tools"), "spec-field", "tools must be a list of definitions")
        else:
            self._unknown_fields(value, _LIST_KEYS, pointer, "a list of tools")
            yield from self.entry(value["tools"], join(pointer, "tools"))

    def _declarations(self, value: Any, pointer: str) -> Iterator[Definition]:
        if not isinstance(value, list):
            self.problems.add(pointer, "spec-field", "the declarations must be a list")
            return
        for index, declaration in enumerate(value):
            here = join(pointer, index)
            if self._is_object(declaration, here, "a function declaration"):
                yield from self._definition(GEMINI, declaration, here)

    def _oci(
        self, config: dict[str, Any], pointer: str, outer: dict[str, Any], outer_pointer: str
    ) -> Iterator[Definition]:
        kind, function = config.get("toolConfigType", _FUNCTION_CONFIG), config.get("function")
        there = join(pointer, "function")
        if isinstance(kind, str) and _HOSTED_CONFIG.fullmatch(kind):
            self._note_hosted(kind, join(pointer, "toolConfigType"))
        elif kind != _FUNCTION_CONFIG:
            message = f"toolConfigType must be {_FUNCTION_CONFIG}"
            self.problems.add(join(pointer, "toolConfigType"), "spec-field", message)
        elif self._is_object(function, there, "`function` of a toolConfig"):
            known = keys("toolConfigType function") | (_OCI_KEYS if config is outer else frozenset())
            self._unknown_fields(config, known, pointer, "a toolConfig")
            yield from self._definition(OCI, function, there, outer, outer_pointer)

    # Steps

    def _definition(
        self, shape: Shape, value: Any, pointer: str, outer: dict[str, Any] | None = None, outer_pointer: str = ""
    ) -> Iterator[Definition]:
        found = read_definition(shape, value, pointer, self.problems, outer, outer_pointer)
        if found is not None:
            yield found

    def _is_object(self, value: Any, pointer: str, what: str) -> bool:
        if isinstance(value, dict):
            return True
        self.problems.add(pointer, "spec-field", f"{what} must be an object")
        return False

    def _free_text(self, pointer: str) -> None:
        message = "a custom tool takes free text, so there are no arguments that a schema could describe"
        self._unknown(pointer, message, 'describe it as a function: "type": "function" and "parameters"', final=True)

    def _unknown(self, pointer: str, message: str, hint: str = "", *, final: bool = False) -> None:
        """An entry in no known shape. Unless `final`, a whole document like that may be a file of shared schemas."""
        diagnostic = Diagnostic.at(self.problems.source, pointer, "unknown-shape", message, hint)
        if pointer == "" and not final:
            self.stranger = diagnostic
        else:
            self.problems.report.add(diagnostic)

    def _unknown_fields(self, value: dict[str, Any], known: frozenset[str], pointer: str, where: str) -> None:
        for key in value:
            if key == SETTINGS and key not in known:
                message = f"{SETTINGS} belongs into a definition; around several it has no effect"
                self.problems.add(join(pointer, key), SETTINGS, message)
            elif key not in known:
                hint = did_you_mean(key, sorted(known))
                message = f"{quoted(key)} is no field of {where} and has no effect"
                self.problems.add(join(pointer, key), "unknown-field", message, hint)


def _is_rpc(value: dict[str, Any]) -> bool:
    result = value.get("result")
    return "name" not in value and isinstance(result, dict) and "tools" in result
