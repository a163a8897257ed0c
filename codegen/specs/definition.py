"""One function definition, read by the words of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.diagnostics import Severity
from codegen.schema.pointers import join
from codegen.specs.faults import did_you_mean, nearest, quoted
from codegen.specs.openapi import to_json_schema
from codegen.specs.settings import KEY as SETTINGS
from codegen.specs.shapes import BEDROCK, GEMINI, OCI, Shape
from codegen.specs.source import Problems
from codegen.specs.string_map import from_string_map
from codegen.specs.tool import Schema

_OTHER_TYPES = ("null", "boolean", "integer", "number", "string", "array")
"""The types that exclude an object. A type that is none at all is left to the checks of the schema."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One function definition, whatever its shape was."""

    name: str
    description: str | None
    parameters: dict[str, Any]
    returns: Schema | None
    strict: bool | None
    defer_loading: bool | None
    title: str | None
    annotations: dict[str, Any] | None
    settings: Any
    """The raw value of `x-toolgen`."""
    pointer: str
    parts: dict[str, str]
    """Pointers of `name`, `description`, `parameters`, `returns`, `title`, `annotations` and `x-toolgen`."""
    converted: frozenset[str] = field(default_factory=frozenset)
    """The parts whose schema is not the very value that stands in the file."""


def read_definition(
    shape: Shape,
    value: dict[str, Any],
    pointer: str,
    problems: Problems,
    outer: dict[str, Any] | None = None,
    outer_pointer: str = "",
) -> Definition | None:
    """The definition in `value`; None, with what is wrong reported, where it cannot be read.

    `outer` is the object around `value` in shapes that have one: it may carry `returns` and `x-toolgen` too.
    """
    name = value.get("name")
    if isinstance(name, str) and name:
        return _Reading(problems, shape, value, pointer, name, outer or {}, outer_pointer).read()
    if "name" in value:
        problems.add(join(pointer, "name"), "spec-field", "the name must be a text that is not empty")
    else:
        problems.add(pointer, "spec-field", "the definition has no name", _NAME_HINT)
    return None


_HINTS: Final[Mapping[str, tuple[type, str]]] = {
    "title": (str, "a text"),
    **dict.fromkeys(
        ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"),
        (bool, "true or false"),
    ),
}
"""The annotations that MCP knows, with their type."""

_NAME_HINT = 'add "name": the word by which models call the function'


def check_type(shape: Shape, value: dict[str, Any], pointer: str, problems: Problems, tool: str = "") -> None:
    """Reports a `type` that is not the one of function definitions."""
    kind = value.get("type")
    if kind is not None and shape.types is not None and not (isinstance(kind, str) and kind in shape.types):
        wanted = " or ".join(quoted(name) for name in sorted(shape.types))
        message = f"the type of a definition in the {shape.title} shape is {wanted}"
        problems.add(join(pointer, "type"), "spec-field", message, tool=tool)


@dataclass(slots=True)
class _Reading:
    """The reading of one definition."""

    problems: Problems
    shape: Shape
    value: dict[str, Any]
    pointer: str
    name: str
    outer: dict[str, Any] = field(default_factory=dict)
    outer_pointer: str = ""
    failed: bool = False
    converted: set[str] = field(default_factory=set)

    def read(self) -> Definition | None:
        check_type(self.shape, self.value, self.pointer, self.problems, self.name)
        self._fields()
        parts = {"name": join(self.pointer, "name")}
        parameters = self._parameters(parts)
        returns = self._returns(parts)
        description = self._typed("description", str, "a text")
        if description is not None:
            parts["description"] = join(self.pointer, "description")
        elif self.shape is OCI and isinstance(self.outer.get("description"), str):  # of the tool around the function
            description = self.outer["description"]
            parts["description"] = join(self.outer_pointer, "description")
        settings = self._settings(parts)
        strict = self._typed("strict", bool, "true, false or null") if self.shape.strict else None
        defer = self._typed("defer_loading", bool, "true or false") if self.shape.defer_loading else None
        title = self._typed("title", str, "a text") if self.shape.titled else None
        annotations = self._annotations() if self.shape.titled else None
        said = {"strict": strict, "defer_loading": defer, "title": title, "annotations": annotations}
        parts |= {key: join(self.pointer, key) for key, value in said.items() if value is not None}
        if parameters is None or self.failed:
            return None
        return Definition(
            name=self.name,
            description=description,
            parameters=parameters,
            returns=returns,
            strict=strict,
            defer_loading=defer,
            title=title,
            annotations=annotations,
            settings=settings,
            pointer=self.outer_pointer if self.outer else self.pointer,
            parts=parts,
            converted=frozenset(self.converted),
        )

    def _fields(self) -> None:
        known = self.shape.known
        for key, value in self.value.items():
            here = join(self.pointer, key)
            if key in self.shape.without_effect:
                message = f"`{key}` has no effect on what is generated"
                if value is not None:
                    self.problems.add(here, "unknown-field", message, tool=self.name, severity=Severity.NOTE)
            elif key not in known:
                message = f"{quoted(key)} is no field of a definition in the {self.shape.title} shape"
                severity = None
                if nearest(key, known) in self.shape.parameters and not self._given(self.shape.parameters):
                    severity = Severity.ERROR  # a misspelt schema of arguments must not turn into "no arguments"
                    self.failed = True
                hint = did_you_mean(key, known)
                self.problems.add(here, "unknown-field", message, hint, tool=self.name, severity=severity)

    def _given(self, keys: tuple[str, ...]) -> list[tuple[str, Any, str]]:
        """Key, value and pointer of those of `keys` that say something, the inner object first."""
        found = [(key, self.value[key], join(self.pointer, key)) for key in keys if self.value.get(key) is not None]
        own = [key for key in keys if key in ("returns", SETTINGS)]
        around = [
            (key, self.outer[key], join(self.outer_pointer, key)) for key in own if self.outer.get(key) is not None
        ]
        return found + around

    def _only(self, keys: tuple[str, ...], what: str) -> tuple[str, Any, str] | None:
        found = self._given(keys)
        if len(found) > 1:
            names = " and ".join(f"`{key}`" for key, _, _ in found)
            self._wrong(found[1][2], f"{what} is given twice: {names}", "keep one")
        return found[0] if found else None

    def _parameters(self, parts: dict[str, str]) -> Any:
        found = self._only(self.shape.parameters, "the schema of the arguments")
        if found is None:
            if not self.shape.optional:
                key = self.shape.parameters[0]
                at = join(self.pointer, key) if key in self.value else self.pointer
                self._wrong(at, f"`{key}` must be a JSON Schema", 'without arguments it is {"type": "object"}')
                return None
            return {"type": "object", "properties": {}}
        key, schema, pointer = found
        if self.shape is BEDROCK:
            if not isinstance(schema, dict) or not isinstance(schema.get("json"), dict):
                self._wrong(pointer, 'inputSchema must be {"json": <JSON Schema>}')
                return None
            schema, pointer = schema["json"], join(pointer, "json")
        parts["parameters"] = pointer
        if isinstance(schema, bool):
            hint = 'write {"type": "object"} for any arguments'
            self._wrong(pointer, "the parameters of a tool must be an object schema", hint, "schema-root")
            return None
        if not isinstance(schema, dict):
            self._wrong(pointer, f"`{key}` must be a JSON Schema, which is an object")
            return None
        if self.shape is OCI:
            self.converted.add("parameters")
            schema, broken = from_string_map(schema)
            for keyword, reason in broken.items():
                self._wrong(join(pointer, keyword), f"the text of {quoted(keyword)} is no JSON: {reason}")
        elif self.shape is GEMINI and key == "parameters":
            self.converted.add("parameters")
            schema = to_json_schema(schema)
        self._check_root(schema, pointer)
        return schema

    def _check_root(self, schema: dict[str, Any], pointer: str) -> None:
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "type" in schema and all(name in _OTHER_TYPES for name in kinds):
            shown = ", ".join(str(name) for name in kinds)
            hint = 'wrap the value: {"type": "object", "properties": {"value": …}}'
            message = f"arguments are always an object, and the schema asks for {shown}"
            self._wrong(join(pointer, "type"), message, hint, "schema-root")

    def _returns(self, parts: dict[str, str]) -> Any:
        found = self._only(self.shape.returns, "the schema of the result")
        if found is None:
            return None
        key, schema, pointer = found
        parts["returns"] = pointer
        if not isinstance(schema, (dict, bool)):
            self._wrong(pointer, f"`{key}` must be a JSON Schema")
            return None
        if key == "response":
            self.converted.add("returns")
            schema = to_json_schema(schema)
        return schema

    def _settings(self, parts: dict[str, str]) -> Any:
        places = [(self.value, self.pointer), (self.outer, self.outer_pointer)]
        found = [(holder[SETTINGS], join(pointer, SETTINGS)) for holder, pointer in places if SETTINGS in holder]
        if not found:
            return {}
        if len(found) > 1:
            self._wrong(found[1][1], f"{SETTINGS} stands twice, inside and around the function", "keep one", SETTINGS)
        parts[SETTINGS] = found[0][1]
        return found[0][0]

    def _annotations(self) -> dict[str, Any] | None:
        """The hints of MCP; those that the protocol knows have their type."""
        annotations: dict[str, Any] | None = self._typed("annotations", dict, "an object")
        for key, value in (annotations or {}).items():
            kind, wanted = _HINTS.get(key, (object, ""))
            if value is not None and not isinstance(value, kind):
                self._wrong(join(self.pointer, "annotations", key), f"{key} must be {wanted}")
        return annotations

    def _typed(self, key: str, kind: type, wanted: str) -> Any:
        value = self.value.get(key)
        if value is None or isinstance(value, kind):
            return value
        self._wrong(join(self.pointer, key), f"{key} must be {wanted}")
        return None

    def _wrong(self, pointer: str, message: str, hint: str = "", code: str = "spec-field") -> None:
        self.failed = True
        self.problems.add(pointer, code, message, hint, tool=self.name)
