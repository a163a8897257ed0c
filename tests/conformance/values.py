"""Values for a schema: such as are likely to be valid, and such as are so but for one fault.

Nothing here judges: what a value is worth, validators say. All choices come from one `random.Random`, so that a seed
gives the same values on every machine.
"""

from __future__ import annotations

import copy
import importlib
import json
import math
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

_parser: Any = importlib.import_module("re._parser")

Path: TypeAlias = tuple[str | int, ...]

SCALARS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 7, 0.0, 1.0, 0.5, -1.5, 100, 1e22, 10**22, 2**53 + 1, -(2**63), 10**30, 1e308),
    *(0.01, 0.1, 19.99, 1e-9, "", "a", "b", "1", "true", "null", "ab", "é", "e\u0301", "😀", "a\n", "2024-02-29"),
)
_NAMES: Final = ("a", "b", "x", "schema", "self", "a_b_", "user_id_", "class_", "1", "", "ñ", "model_config", "x-a")
_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
_MAX_DEPTH: Final = 8
_TRIES: Final = 6

FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "date-time": ("2024-02-29T12:00:00Z", "1998-12-31T23:59:60Z", "2024-02-30T12:00:00Z"),
    "date": ("2024-02-29", "2023-02-29"),
    "time": ("12:00:00Z", "25:00:00Z"),
    "duration": ("P1D", "P1"),
    "email": ("joe@example.com", "joe"),
    "hostname": ("www.example.com", "-bad-"),
    "ipv4": ("127.0.0.1", "256.0.0.1"),
    "ipv6": ("::1", ":::1"),
    "uri": ("https://example.com/a?b#c", "//no"),
    "uri-reference": ("/a", "\\\\"),
    "uuid": ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08"),
    "regex": ("^a$", "^(a"),
    "json-pointer": ("/a/b", "a"),
}


class Maker:
    """Makes values for one schema and for its subschemas."""

    def __init__(self, schema: Any, random: Random) -> None:
        self._root = schema
        self._random = random
        self._ids: dict[str, Any] = {}
        self._bases: dict[int, str] = {}
        self._note(schema, "")

    def value(self) -> Any:
        """A value that is likely to be valid."""
        return self._make([self._root], 0)

    # References

    def _note(self, schema: Any, base: str) -> None:
        if isinstance(schema, list):
            for member in schema:
                self._note(member, base)
        if not isinstance(schema, dict):
            return
        for keyword in ("$id", "id"):
            if isinstance(name := schema.get(keyword), str):
                self._ids.setdefault(urljoin(base, name), schema)
                base = urldefrag(urljoin(base, name))[0] or base
        self._ids.setdefault(base, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := schema.get(keyword), str):
                self._ids.setdefault(f"{base}#{name}", schema)
        if schema.get("$recursiveAnchor") is True:
            self._ids.setdefault(f"{base}#", schema)
        self._bases[id(schema)] = base
        for member in schema.values():
            self._note(member, base)

    def _target(self, schema: dict[str, Any], reference: str) -> Any:
        """What a reference leads to; True, which says nothing, where that is not known."""
        base = self._bases.get(id(schema), "")
        uri, fragment = urldefrag(urljoin(base, reference) if not reference.startswith("#") else base + reference)
        if fragment and not fragment.startswith("/"):
            return self._ids.get(f"{uri}#{fragment}", True)
        here = self._ids.get(uri, self._root if uri == "" else True)
        for token in unquote(fragment).split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            try:
                here = here[int(token)] if isinstance(here, list) else here[token]
            except (LookupError, TypeError, ValueError):
                return True
        return here

    def _flat(self, schemas: list[Any], depth: int) -> list[dict[str, Any]]:
        """The plain schemas that should hold at once, after a branch of each alternative is chosen."""
        found: list[dict[str, Any]] = []
        seen: set[int] = set()
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop(0)
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            found.append(schema)
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if isinstance(reference := schema.get(keyword), str):
                    waiting.append(self._target(schema, reference))
            waiting.extend(_list(schema.get("allOf")))
            for keyword in ("anyOf", "oneOf"):
                if branches := _list(schema.get(keyword)):
                    waiting.append(self._branch(branches, depth))
            if "if" in schema:
                chosen = self._random.random() < 0.6
                waiting.extend([schema["if"], schema.get("then", True)] if chosen else [schema.get("else", True)])
        return found

    def _branch(self, branches: list[Any], depth: int) -> Any:
        """One of some alternatives; deep inside one that leads no deeper, if there is one."""
        if depth > 4:
            ends = [branch for branch in branches if isinstance(branch, dict) and not _leads_on(branch)]
            branches = ends or branches
        return self._random.choice(branches)

    # Values

    def _make(self, schemas: list[Any], depth: int) -> Any:
        flat = self._flat(schemas, depth)
        for schema in flat:
            if "const" in schema:
                return copy.deepcopy(schema["const"])
        lists = [schema["enum"] for schema in flat if isinstance(schema.get("enum"), list) and schema["enum"]]
        if lists:
            return copy.deepcopy(self._random.choice(min(lists, key=len)))
        match self._kind(flat):
            case "null":
                return None
            case "boolean":
                return self._random.random() < 0.5
            case "integer":
                return self._number(flat, whole=True)
            case "number":
                return self._number(flat, whole=self._random.random() < 0.4)
            case "string":
                return self._string(flat)
            case "array" if depth < _MAX_DEPTH:
                return self._array(flat, depth)
            case "array":
                return []
            case "object" if depth < _MAX_DEPTH:
                return self._object(flat, depth)
            case "object":
                return {}
            case _:
                return self.anything()

    def anything(self, depth: int = 0) -> Any:
        """Any JSON value, mostly a small one."""
        choice = self._random.random()
        if depth > 2 or choice < 0.7:
            return self._random.choice(SCALARS)
        if choice < 0.85:
            return [self.anything(depth + 1) for _ in range(self._random.randrange(3))]
        return {self._random.choice(_NAMES): self.anything(depth + 1) for _ in range(self._random.randrange(3))}

    def _kind(self, flat: list[dict[str, Any]]) -> str:
        allowed = list(_TYPES)
        named = False
        for schema in flat:
            types = schema.get("type")
            types = [types] if isinstance(types, str) else types
            if isinstance(types, list):
                named = True
                types = [*types, *(["integer"] if "number" in types else [])]
                allowed = [name for name in allowed if name in types]
        if not named:
            hinted = [
                name for name, words in _HINTS.items() if any(word in schema for schema in flat for word in words)
            ]
            allowed = [name for name in allowed if name in hinted] or ["any"]
        if "integer" in allowed and "number" in allowed:
            allowed.remove("integer")
        return self._random.choice(allowed) if allowed else "any"

    def _number(self, flat: list[dict[str, Any]], *, whole: bool) -> int | float:
        low: int | float = max([-math.inf, *_numbers_at(flat, "minimum", "exclusiveMinimum")])
        high: int | float = min([math.inf, *_numbers_at(flat, "maximum", "exclusiveMaximum")])
        step = next(iter(_numbers_at(flat, "multipleOf")), None)
        choose = self._random.random()
        if low == -math.inf and high == math.inf:
            value: int | float = self._random.choice((0, 1, -1, 3, 42, 1000, 2**53 + 1, 10**25, 1.5, -0.25, 1e22, 2.0))
        elif choose < 0.5:  # at an edge
            edge = low if high == math.inf or (low != -math.inf and choose < 0.25) else high
            value = edge + self._random.choice((0, 1, -1, 0.5) if edge is low else (0, -1, 1, -0.5))
        else:
            start = low if low != -math.inf else high - 100
            end = high if high != math.inf else low + 100
            share = self._random.random()
            value = start + (end - start) * share if abs(end - start) < 1e300 else start
        if step and abs(value) < 1e15:
            value = _round(value / step) * step
        if whole:
            rounded = _round(value)
            value = float(rounded) if self._random.random() < 0.15 and abs(rounded) < 2**53 else rounded
        return value

    def _string(self, flat: list[dict[str, Any]]) -> str:
        shortest = int(max([0, *_numbers_at(flat, "minLength")]))
        longest = int(min([shortest + 12, *_numbers_at(flat, "maxLength")]))
        for schema in flat:
            if isinstance(pattern := schema.get("pattern"), str) and (text := self._matching(pattern)) is not None:
                return text
        for schema in flat:
            if schema.get("format") in FORMATS:
                return self._random.choice(FORMATS[schema["format"]])
        if self._random.random() < 0.3:
            text = self._random.choice([text for text in SCALARS if isinstance(text, str)])
            if shortest <= len(text) <= longest:
                return text
        length = self._random.randint(shortest, max(shortest, min(longest, shortest + 8)))
        return "".join(self._random.choice("abcXYZ019 _-.é😀") for _ in range(length))

    def _matching(self, pattern: str) -> str | None:
        try:
            text = "".join(self._tokens(_parser.parse(pattern)))
        except Exception:  # an expression of ECMA-262 that Python does not know
            return None
        return text if self._random.random() < 0.7 else f"{self._random.choice(('', 'a', ' '))}{text}"

    def _tokens(self, tokens: Any) -> Iterator[str]:
        for kind, argument in tokens:
            match str(kind):
                case "LITERAL":
                    yield chr(argument)
                case "NOT_LITERAL" | "ANY":
                    yield self._random.choice("aZ5-")
                case "IN":
                    yield self._member(argument)
                case "BRANCH":
                    yield from self._tokens(self._random.choice(argument[1]))
                case "SUBPATTERN":
                    yield from self._tokens(argument[-1])
                case "MAX_REPEAT" | "MIN_REPEAT":
                    low, high, inner = argument
                    for _ in range(self._random.randint(low, min(int(high), low + 4))):
                        yield from self._tokens(inner)
                case "CATEGORY":
                    yield self._category(str(argument))
                case _:
                    pass  # anchors and looks take no characters

    def _member(self, members: Any) -> str:
        if str(members[0][0]) == "NEGATE":
            return self._random.choice("aZ5-_ é")
        kind, argument = self._random.choice(members)
        match str(kind):
            case "LITERAL":
                return chr(argument)
            case "RANGE":
                return chr(self._random.randint(*argument))
            case _:
                return self._category(str(argument))

    def _category(self, name: str) -> str:
        choices = {"CATEGORY_DIGIT": "0193", "CATEGORY_WORD": "aZ_9", "CATEGORY_SPACE": " \t"}
        return self._random.choice(choices.get(name, "-a 5"))

    def _array(self, flat: list[dict[str, Any]], depth: int) -> list[Any]:
        shortest = int(max([0, *_numbers_at(flat, "minItems")]))
        longest = int(min([shortest + 3, *_numbers_at(flat, "maxItems")]))
        shortest = 0 if depth > 5 and not shortest else shortest
        length = shortest if depth > 5 else self._random.randint(shortest, max(shortest, longest))
        items: list[Any] = []
        contained = [schema["contains"] for schema in flat if "contains" in schema]
        if contained and not length and self._random.random() < 0.8:
            length = 1
        for index in range(length):
            inner = [self._item(schema, index) for schema in flat]
            if contained and index == 0:
                inner += contained
            items.append(self._make([each for each in inner if each is not None], depth + 1))
        if any(schema.get("uniqueItems") for schema in flat) and self._random.random() < 0.9:
            kept: list[Any] = []
            texts: set[str] = set()
            for item in items:
                if (text := json.dumps(item, sort_keys=True)) not in texts:
                    texts.add(text)
                    kept.append(item)
            items = kept
        return items

    @staticmethod
    def _item(schema: dict[str, Any], index: int) -> Any:
        items = schema.get("items")
        prefix = items if isinstance(items, list) else schema.get("prefixItems")
        if isinstance(prefix, list) and index < len(prefix):
            return prefix[index]
        if isinstance(items, list):
            return schema.get("additionalItems")
        return items if items is not None else schema.get("unevaluatedItems")

    def _object(self, flat: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        described: dict[str, list[Any]] = {}
        required: dict[str, None] = {}
        for schema in flat:
            for name, member in _dict(schema.get("properties")).items():
                described.setdefault(name, []).append(member)
            required.update((name, None) for name in _list(schema.get("required")))
        chance = 0.6 if depth < 3 else 0.2
        if self._random.random() < 0.1:
            chance = 0.0
        names = [name for name in described if name in required or self._random.random() < chance]
        names += [name for name in required if name not in described]
        for schema in flat:
            for keyword in ("dependentRequired", "dependencies"):
                for name, needed in _dict(schema.get(keyword)).items():
                    if name in names and isinstance(needed, list):
                        names += [other for other in needed if other not in names]
        fewest = int(max([0, *_numbers_at(flat, "minProperties")]))
        is_open = all(schema.get("additionalProperties", True) is not False for schema in flat)
        more = 0
        if is_open and depth < 5 and self._random.random() < (0.25 if described else 0.8):
            more = self._random.randint(0, 2)
        value: dict[str, Any] = {}
        for name in names:
            value[name] = self._make(self._members(flat, name), depth + 1)
        for _ in range(max(more, min(fewest, 12) - len(value))):
            name = self._other_name(flat)
            value.setdefault(name, self._make(self._members(flat, name), depth + 1))
        return value

    def _members(self, flat: list[dict[str, Any]], name: str) -> list[Any]:
        """The schemas of one property."""
        found: list[Any] = []
        for schema in flat:
            own = [members[name] for members in [_dict(schema.get("properties"))] if name in members]
            for pattern, member in _dict(schema.get("patternProperties")).items():
                if _matches(pattern, name):
                    own.append(member)
            found += own or [schema.get("additionalProperties", schema.get("unevaluatedProperties", True))]
            dependent = _dict(schema.get("dependentSchemas", schema.get("dependencies"))).get(name)
            found += [_dict(dependent.get("properties")).get(name, True)] if isinstance(dependent, dict) else []
        return found

    def _other_name(self, flat: list[dict[str, Any]]) -> str:
        patterns = [pattern for schema in flat for pattern in _dict(schema.get("patternProperties"))]
        named = [schema["propertyNames"] for schema in flat if "propertyNames" in schema]
        if patterns and self._random.random() < 0.7:
            return self._matching(self._random.choice(patterns)) or "x"
        if named:
            name = self._make([*named, {"type": "string"}], _MAX_DEPTH)
            return name if isinstance(name, str) else "x"
        return self._random.choice(_NAMES)


# Hints at a type, where a schema names none.
_HINTS: Final[dict[str, tuple[str, ...]]] = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
    "object": (
        *("properties", "required", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies"),
    ),
}


def calls(schema: Any, judge: Callable[[Any], bool], random: Random, rounds: int) -> Iterator[dict[str, Any]]:
    """Arguments made for a schema of parameters, each as it is and once more with one fault.

    They are valid by `judge` where a few tries find such; other schemas allow little or nothing.
    """
    maker = Maker(schema, random)
    for _ in range(rounds):
        for _ in range(_TRIES):
            value = maker.value()
            arguments = value if isinstance(value, dict) else {"value": value}
            if judge(arguments):
                break
        yield arguments
        yield with_one_fault(arguments, schema, random)


def with_one_fault(value: dict[str, Any], schema: Any, random: Random) -> dict[str, Any]:
    """A copy of `value` in which one thing is changed, added or left out, as senders get it wrong."""
    value = copy.deepcopy(value)
    places = [path for path, _ in _places(value, ())]
    path = random.choice(places)
    fault = random.choice(_FAULTS)
    changed = fault(_at(value, path), schema, random)
    if not path:
        return changed if isinstance(changed, dict) else value
    _at(value, path[:-1])[path[-1]] = changed
    return value


def _places(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _places(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _places(member, (*path, index))


def _at(value: Any, path: Path) -> Any:
    for token in path:
        value = value[token]
    return value


def _another_type(value: Any, schema: Any, random: Random) -> Any:
    return random.choice([*SCALARS, [], {}, [value], {"a": value}])


def _left_out(value: Any, schema: Any, random: Random) -> Any:
    if isinstance(value, dict) and value:
        del value[random.choice(list(value))]
    elif isinstance(value, list) and value:
        del value[random.randrange(len(value))]
    return value


def _added(value: Any, schema: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = [*_NAMES, *(f"{name}_" for name in value), *(name.replace("-", "_") for name in value)]
        value.setdefault(random.choice(names), random.choice(SCALARS))
    elif isinstance(value, list):
        value.insert(random.randint(0, len(value)), random.choice([*SCALARS, *value]))
    elif isinstance(value, str):
        value += random.choice(("x", " ", "\n", "é"))
    return value


def _as_written(value: Any, schema: Any, random: Random) -> Any:
    """A value as text, or in another spelling that some readers take for the same."""
    match value:
        case bool():
            return random.choice((int(value), float(value), str(value).lower()))
        case int() | float():
            spellings: list[Any] = [str(value), bool(value)]
            if abs(value) < 2**53:
                spellings += [float(value), value + 0.5]
                spellings += [int(value)] if value == int(value) else []
            return random.choice(spellings)
        case str():
            return random.choice((value.upper(), value.title(), value.strip(), value[:-1], [value]))
        case _:
            return json.dumps(value)


def _beyond(value: Any, schema: Any, random: Random) -> Any:
    """A number or a length just beyond one that the schema speaks of."""
    bounds = sorted({bound for bound in _numbers(schema) if abs(bound) < 2**63}) or [0]
    bound = random.choice(bounds)
    if isinstance(value, str):
        return (value or "a") * max(0, min(300, int(bound) + random.choice((-1, 0, 1))))
    if isinstance(value, list):
        return [*value, *value[:1]] if random.random() < 0.5 else value[:1]
    return bound + random.choice((-1, -0.5, 0, 0.5, 1)) if _is_number(value) else value


def _null(value: Any, schema: Any, random: Random) -> Any:
    return None


def _nested(value: Any, schema: Any, random: Random) -> Any:
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return [value] if random.random() < 0.5 else {random.choice(("value", "a")): value}


_FAULTS: Final[tuple[Callable[[Any, Any, Random], Any], ...]] = (
    *(_another_type, _another_type, _left_out, _left_out, _added, _added),
    *(_as_written, _as_written, _beyond, _null, _nested),
)


def _numbers(schema: Any) -> Iterator[int | float]:
    if isinstance(schema, dict):
        for member in schema.values():
            yield from _numbers(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from _numbers(member)
    elif _is_number(schema):
        yield schema


def _numbers_at(schemas: list[dict[str, Any]], *keywords: str) -> list[int | float]:
    return [schema[keyword] for schema in schemas for keyword in keywords if _is_number(schema.get(keyword))]


def _leads_on(schema: dict[str, Any]) -> bool:
    return any(keyword in schema for keyword in ("$ref", "$dynamicRef", "$recursiveRef", "items", "properties"))


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _round(value: int | float) -> int:
    return value if isinstance(value, int) else round(value) if math.isfinite(value) else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
