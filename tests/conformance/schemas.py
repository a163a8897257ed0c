"""Random schemas in every dialect, with every keyword that asserts something, references of all kinds among them.

All choices come from one `random.Random`, so that a seed gives the same schema on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from codegen.schema.dialects import OLD, URIS
from codegen.schema.pointers import join

DIALECTS: Final = ("2020-12", "2020-12", "2020-12", "2019-09", "draft7", "draft6", "draft4")
NAMES: Final = (
    *("a", "b", "c", "a-b", "a_b", "a_b_", "schema", "self", "class", "1", "", "ñ", "ﬁ", "fi", "A", "$ref", "x y"),
    *("model_config", "type", "int", "const", "user.name", "__class__", "items"),
)
_PATTERNS: Final = (
    *("^a", "b$", "^[a-c]+$", r"^\d{2}$", r"\w", r"\s", "(?=a)", ".", "^$", "^.{2}$", "é", r"\p{L}", "[^b]", "a|^$"),
    *(r"^\S+@\S+$", r"^x-", "^(a|b)*$", r"^[\w.-]+$", r"^\d+\.\d+$"),
)
_NUMBERS: Final = (
    *(0, 1, -1, 2, 3, 5, 10, 0.0, 1.0, -0.0, 2.5, 0.5, -1.5, 0.1, 0.3, 2**53, 2**53 + 1, 10**20, 1e22, 1e-7, 1e308),
    *(-(2**63) - 1, 2**64),
)
_STEPS: Final = (1, 2, 3, 0.01, 0.1, 0.5, 1.5, 2.0, 1e-7, 7, 10**20, 2**53 + 1)
_SIZES: Final = (0, 1, 2, 3, 2.0)
_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
_FORMATS: Final = ("date", "date-time", "email", "uuid", "ipv4", "unknown", "uri", "regex")
_CONSTANTS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, 2, 0.0, 1.0, -0.0, 0.5, 10**25, 1e22, "", "a", "b", "ab", "1", "true", "null", "é"),
    *("e\u0301", [], {}, [1], [True], [1.0], {"a": 1}, {"a": True}, {"a": None}, [[]], {"": 0}, ["a", "b"]),
    {"a": {"b": [1, 0.5]}},
)
_ROOT: Final = "https://example.com/root"
_ANCHORED, _RESOURCE = "thing", "resource"
_DEFINITIONS: Final = ("Item", _ANCHORED, "a/b", "Item 2")


def random_schema(random: Random, dialect: str) -> dict[str, Any]:
    """A schema of `dialect` with definitions that it refers to. It names the dialect, and has an identifier."""
    schemas = _Schemas(dialect, random)
    root = schemas.mixed(2) if random.random() < 0.25 else schemas.object(2)
    defined: dict[str, Any] = {name: schemas.any(2) for name in _DEFINITIONS}
    resource = _Schemas(dialect, random, _ROOT).object(1)
    resource[schemas.id] = "other/resource"
    defined[_RESOURCE] = resource
    if dialect in OLD:  # a reference would hide the identifier
        root.pop("$ref", None)
        resource.pop("$ref", None)
    else:
        defined[_ANCHORED] = {"allOf": [defined[_ANCHORED]], "$anchor": "anchor"}
    if dialect == "2020-12":
        root["$dynamicAnchor"] = "node"
        if random.random() < 0.5:
            resource["$dynamicAnchor"] = "node"
    if dialect == "2019-09":
        for schema in (root, resource):
            if random.random() < 0.5:
                schema["$recursiveAnchor"] = True
    return {**root, "$schema": URIS[dialect], schemas.id: _ROOT, schemas.definitions: defined}


class _Schemas:
    """Makes schemas of one dialect. `base` is what stands before the fragment of a reference to the root."""

    def __init__(self, dialect: str, random: Random, base: str = "") -> None:
        self._dialect = dialect
        self._random = random
        self._base = base
        self._is_new = dialect not in OLD
        self.id = "id" if dialect == "draft4" else "$id"
        self.definitions = "$defs" if self._is_new else "definitions"

    def any(self, depth: int) -> Any:
        kinds = [self.leaf, self.leaf, self.reference, self.trivial]
        if depth > 0:
            deep = self._random.choice((self.object, self.object, self.array, self.group, self.mixed))
            if self._random.random() < 0.6:
                return deep(depth)
        return self._random.choice(kinds)()

    def trivial(self) -> Any:
        return {} if self._dialect == "draft4" else self._random.choice((True, True, False, {}))

    def reference(self) -> dict[str, Any]:
        root = f"{self._base}#/{self.definitions}"
        places = [join(root, name).replace(" ", "%20") for name in _DEFINITIONS]
        places += [*places, f"{self._base}#", join(f"{_ROOT}#/{self.definitions}", "Item")]
        places += ["https://example.com/other/resource", *(["#", "resource"] if self._base else ["other/resource"])]
        choices: list[dict[str, Any]] = [{"$ref": place} for place in places]
        if self._is_new:
            choices += [{"$ref": f"{self._base}#anchor"}, {"$ref": f"{root}/{_ANCHORED}", "description": "Beside it."}]
            choices += [{"$ref": f"{root}/Item", "maxProperties": 2}]
        if self._dialect == "2020-12":
            choices += [{"$dynamicRef": f"{self._base}#node"}] * 3
        if self._dialect == "2019-09":
            choices += [{"$recursiveRef": "#"}] * 3
        return dict(self._random.choice(choices))

    def leaf(self) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        match self._random.randrange(8):
            case 0 | 1:
                values = [self._random.choice(_CONSTANTS) for _ in range(self._random.randint(1, 5))]
                schema["enum"] = _distinct(values)
                if self._random.random() < 0.25:
                    schema["type"] = self._random.choice(_TYPES)
            case 2:
                schema["const"] = self._random.choice(_CONSTANTS)
            case 3 | 4:
                schema["type"] = self._random.choice(("integer", "number"))
                schema |= self._some("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
            case 5:
                schema["type"] = "string"
                schema |= self._some("minLength", "maxLength", "pattern", "format")
            case _:
                named = self._random.sample(_TYPES, self._random.randint(1, 3))
                schema["type"] = named[0] if len(named) == 1 else named
        if self._random.random() < 0.15:
            schema["default"] = self._random.choice(_CONSTANTS)
        return schema

    def _some(self, *keywords: str) -> dict[str, Any]:
        """Up to two of some keywords of numbers, texts and lists."""
        schema: dict[str, Any] = {}
        for keyword in self._random.sample(keywords, self._random.randint(0, 2)):
            match keyword:
                case "exclusiveMinimum" | "exclusiveMaximum" if self._dialect == "draft4":
                    schema[keyword] = self._random.random() < 0.7
                    schema["m" + keyword[len("exclusiveM") :]] = self._random.choice(_NUMBERS)
                case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
                    schema[keyword] = self._random.choice(_NUMBERS)
                case "multipleOf":
                    schema[keyword] = self._random.choice(_STEPS)
                case "pattern":
                    schema[keyword] = self._random.choice(_PATTERNS)
                case "format":
                    schema[keyword] = self._random.choice(_FORMATS)
                case "uniqueItems":
                    schema[keyword] = self._random.random() < 0.8
                case _:
                    size = self._random.choice(_SIZES)
                    schema[keyword] = int(size) if self._dialect == "draft4" else size
        return schema

    def object(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        properties = {name: self.any(depth - 1) for name in self._random.sample(NAMES, self._random.randint(0, 4))}
        if properties or self._random.random() < 0.5:
            schema["properties"] = properties
        required = [name for name in [*properties, "b", "b-c"] if self._random.random() < 0.25]
        if required:
            schema["required"] = list(dict.fromkeys(required))
        match self._random.randrange(7):
            case 0 | 1:
                schema["additionalProperties"] = False
            case 2:
                schema["additionalProperties"] = self.any(depth - 1)
            case 3 if self._is_new:
                schema["unevaluatedProperties"] = False if self._random.random() < 0.5 else self.any(depth - 1)
            case _:
                pass
        for _ in range(self._random.randint(0, 2)):
            schema |= self._of_objects(depth)
        return self._completed(schema, depth)

    def _of_objects(self, depth: int) -> dict[str, Any]:
        """One more keyword of objects."""
        inner = depth - 1
        names = self._random.sample(NAMES, self._random.randint(1, 2))
        needed = {name: self._random.sample(NAMES, self._random.randint(1, 2)) for name in names}
        choices: list[Callable[[], dict[str, Any]]] = [
            lambda: {"patternProperties": {self._random.choice(_PATTERNS): self.any(inner) for _ in names}},
            lambda: {"minProperties": self._random.randint(0, 2)},
            lambda: {"maxProperties": self._random.randint(0, 3)},
        ]
        if self._dialect != "draft4":
            named = ({"pattern": "^[a-z]"}, {"maxLength": 3}, {"enum": ["a", "b", "a-b"]}, {"not": {"const": "b"}})
            choices.append(lambda: {"propertyNames": self._random.choice((*named, self.any(0)))})
        if self._is_new:
            choices.append(lambda: {"dependentRequired": needed})
            choices.append(lambda: {"dependentSchemas": {name: self.any(inner) for name in names}})
        else:
            choices.append(
                lambda: {
                    "dependencies": {
                        name: needed[name] if self._random.random() < 0.5 else self.object(inner) for name in names
                    }
                }
            )
        return self._random.choice(choices)()

    def array(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array"}
        if self._random.random() < 0.75:
            schema["items"] = self.any(depth - 1)
        if self._random.random() < 0.3:
            positions = [self.any(depth - 1) for _ in range(self._random.randint(1, 2))]
            if self._dialect == "2020-12":
                schema["prefixItems"] = positions
            else:
                if "items" in schema and self._random.random() < 0.5:
                    schema["additionalItems"] = schema["items"]
                schema["items"] = positions
        if self._dialect != "draft4" and self._random.random() < 0.2:
            schema["contains"] = self.any(depth - 1)
            if self._is_new and self._random.random() < 0.5:
                schema[self._random.choice(("minContains", "maxContains"))] = self._random.randint(0, 2)
        if self._is_new and self._random.random() < 0.2:
            schema["unevaluatedItems"] = False if self._random.random() < 0.5 else self.any(depth - 1)
        schema |= self._some("minItems", "maxItems", "uniqueItems")
        return self._completed(schema, depth)

    def _completed(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        if self._random.random() < 0.2:
            schema |= self.group(depth)
        if self._random.random() < 0.2:
            del schema["type"]
        if self._random.random() < 0.15:
            schema["description"] = "Part of a schema."
        return schema

    def group(self, depth: int) -> dict[str, Any]:
        """Schemas that are combined, by one or two keywords."""
        schema: dict[str, Any] = {}
        keywords = ["allOf", "anyOf", "oneOf", "not", *([] if self._dialect in ("draft4", "draft6") else ["if"])]
        for keyword in self._random.sample(keywords, self._random.choice((1, 1, 2))):
            match keyword:
                case "not":
                    schema["not"] = self.leaf() if self._random.random() < 0.6 else self.any(depth - 1)
                case "if":
                    schema["if"] = self.any(depth - 1)
                    schema |= {part: self.any(depth - 1) for part in ("then", "else") if self._random.random() < 0.6}
                case _:
                    schema[keyword] = [self.any(depth - 1) for _ in range(self._random.randint(1, 3))]
        return schema

    def mixed(self, depth: int) -> dict[str, Any]:
        """Keywords of several types, mostly without a type."""
        schema: dict[str, Any] = {}
        for _ in range(self._random.randint(1, 3)):
            makers = (self.leaf, self.reference, lambda: self.object(depth), lambda: self.array(depth))
            schema |= self._random.choice((*makers, lambda: self.group(depth)))()
        if self._random.random() < 0.7:
            schema.pop("type", None)
        return schema


def _distinct(values: list[Any]) -> list[Any]:
    """Values that are all different in JSON, as draft 4 asks of an enum."""
    return list({_spelled(value): value for value in values}.values())


def _spelled(value: Any) -> str:
    match value:
        case bool() | None | str():
            return repr(value)
        case int() | float():
            return repr(int(value)) if value == int(value) else repr(value)
        case list():
            return f"[{','.join(map(_spelled, value))}]"
        case _:
            return "{" + ",".join(f"{key!r}:{_spelled(value[key])}" for key in sorted(value)) + "}"
