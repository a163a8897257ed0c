"""Undoing what a target did to arguments on the way.

Nothing here guesses. A value that the gate accepts is never touched; one that it refuses is mended only at the places
the gate itself complains about, only by the rules of the target the call came from, and the mended value counts only if
the gate then accepts all of it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .gate import Gate
from .values import is_array, is_object
from .wire import NotJSON, is_bounded, read_json

Table: TypeAlias = Mapping[str, Any]
"""What to undo at one place of the arguments."""

_REFERENCES = 16
"""References and branches that are followed for property names; a reference to itself ends here."""

ROUNDS = 32
"""Mending one place can uncover another; a value that needs more rounds than this stays refused."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What a target may have done to arguments."""

    nulls: bool = False
    """A null may stand for an absent property (strict mode makes every property required)."""
    text: bool = False
    """Numbers and booleans may arrive as text."""
    keys: bool = False
    """Keys of the arguments object may carry a trailing colon or blanks."""
    twice: bool = False
    """The arguments may be JSON text inside JSON text."""
    nested: bool = False
    """Lists and objects within the arguments may arrive as JSON text."""
    table: Table | None = None
    """How the target spells names and values of this tool; see `spell_back`."""

    @property
    def mends(self) -> bool:
        """Whether anything may be done where the gate refuses."""
        return self.nulls or self.text or self.keys or self.twice or self.nested


PLAIN = ReadBack()


def spell_back(value: Any, table: Table) -> Any:
    """`value` with the names and values of the spec, for one in the spelling of a target; what came is not changed.

    `table` says for one place of the schema what to undo there: `properties` has the wire name and the table of each
    member, by the name that the target knows; `rest` is the table of all other members; `items` and `prefix` are those
    of elements; `values` has what a text stands for; `any` holds the tables of several schemas that share the place;
    `$ref` names one of `$defs`, which stands in the outermost table.
    """
    return _spelled(value, table, table.get("$defs", {}))


def _spelled(value: Any, table: Table, definitions: Mapping[str, Table]) -> Any:
    if "$ref" in table:
        value = _spelled(value, definitions[table["$ref"]], definitions)
    for branch in table.get("any", ()):
        value = _spelled(value, branch, definitions)
    if is_object(value):
        members: Mapping[str, Any] = table.get("properties", {})
        rest: Table | None = table.get("rest")
        if not members and not rest:
            return value
        restored: dict[str, Any] = {}
        for key, member in value.items():
            wire, inner = members.get(key, (key, rest))
            if wire != key and wire in value:
                wire = key  # both spellings came: one of them is a member of its own
            restored[wire] = _spelled(member, inner, definitions) if inner else member
        return restored
    if is_array(value):
        prefix: Sequence[Table | None] = table.get("prefix", ())
        items: Table | None = table.get("items")
        if not prefix and not items:
            return value
        return [
            _spelled(member, inner, definitions) if inner else member
            for index, member in enumerate(value)
            for inner in (prefix[index] if index < len(prefix) else items,)
        ]
    if isinstance(value, str):
        return table.get("values", {}).get(value, value)
    return value


def mend(value: dict[str, Any], gate: Gate, rules: ReadBack) -> dict[str, Any] | None:
    """A mended copy of `value` that the gate accepts, or None where the rules do not lead to one."""
    mended = copy.deepcopy(value)
    if rules.keys:
        mended = _clean_keys(mended, gate.schema)
    for _ in range(ROUNDS):
        if rules.nested and not is_bounded(mended):
            return None
        if gate.is_valid(mended):
            return mended
        changed = False
        for error in list(gate.errors(mended)):
            for path, types in _places(error):
                changed |= _mend_at(mended, path, types, rules)
        if not changed:
            return None
    within = not rules.nested or is_bounded(mended)
    return mended if within and gate.is_valid(mended) else None


def _clean_keys(value: dict[str, Any], schema: Any) -> dict[str, Any]:
    """Keys without colons and blanks around them, where that makes a declared name that is not there yet."""
    declared = set(_declared(schema, schema, 0))
    cleaned: dict[str, Any] = {}
    for key, member in value.items():
        clean = key.strip().rstrip(":").strip()
        known = (
            key not in declared
            and clean in declared
            and clean not in value
            and clean not in cleaned
        )
        cleaned[clean if known else key] = member
    return cleaned


def _declared(schema: Any, root: Any, depth: int) -> Iterator[str]:
    """The property names of an object schema, those of its `allOf` and of what it refers to within itself included."""
    if not is_object(schema) or depth > _REFERENCES:
        return
    properties: Any = schema.get("properties")
    if is_object(properties):
        yield from properties
    branches: Any = schema.get("allOf")
    for branch in branches if is_array(branches) else ():
        yield from _declared(branch, root, depth + 1)
    reference: Any = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for token in reference[2:].split("/"):
            target = (
                target.get(token.replace("~1", "/").replace("~0", "~"))
                if is_object(target)
                else None
            )
        yield from _declared(target, root, depth + 1)


def _places(error: Any) -> Iterator[tuple[list[str | int], frozenset[str] | None]]:
    """The places an error is about, each with the types allowed there, where the error says so."""
    path = list(error.instance_path)
    keyword = str(error.kind.name)
    if keyword == "type":
        yield path, frozenset(error.kind.types)
    elif keyword == "enum":
        yield path, frozenset(_type(option) for option in error.kind.options)
    elif keyword == "const":
        yield path, frozenset({_type(error.kind.expected_value)})
    elif keyword in ("anyOf", "oneOf") and hasattr(error.kind, "context"):
        types: set[str] = set()
        open_ended = False
        for branch in error.kind.context:
            here = [found for inner in branch for found in _places(inner)]
            own = [
                allowed
                for where, allowed in here
                if where == path and allowed is not None
            ]
            open_ended |= not own
            if own:  # all rules of a branch hold at once
                shared = set(_loosely(own[0]))
                for allowed in own[1:]:
                    shared &= _loosely(allowed)
                types |= shared
            yield from (place for place in here if place[0] != path)
        yield path, None if open_ended else frozenset(types)
    else:
        yield path, None


def _loosely(types: frozenset[str]) -> frozenset[str]:
    """The types, where a number may be an integer and the other way round: the gate has the last word."""
    return types | _NUMERIC if types & _NUMERIC else types


_NUMERIC = frozenset({"integer", "number"})


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return (
        "string"
        if isinstance(value, str)
        else "array" if isinstance(value, list) else "object"
    )


_MISSING = object()


def _mend_at(
    root: Any, path: Sequence[str | int], types: frozenset[str] | None, rules: ReadBack
) -> bool:
    """Mends the value at `path` in place; says whether anything changed."""
    if not path:
        return False
    parent = root
    for token in path[:-1]:
        try:
            parent = parent[token]
        except (
            KeyError,
            IndexError,
            TypeError,
        ):  # an earlier mend in this round took it away
            return False
    holder: Any = parent
    last = path[-1]
    try:
        value: Any = holder[last]
    except (KeyError, IndexError, TypeError):
        return False
    if value is None and rules.nulls and is_object(parent):
        del holder[last]
        return True
    if isinstance(value, str) and types is not None and "string" not in types:
        parsed = _parse(value, types) if rules.text else _MISSING
        if parsed is _MISSING and rules.nested:
            parsed = _parse_nested(value, types)
        if parsed is not _MISSING:
            holder[last] = parsed
            return True
    return False


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _parse(text: str, types: frozenset[str]) -> Any:
    text = text.strip()
    if types & {"integer", "number"} and len(text) <= 4000 and _NUMBER.fullmatch(text):
        return json.loads(text)
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return _MISSING


def _parse_nested(text: str, types: frozenset[str]) -> Any:
    """The list or object that a text holds, where one is allowed."""
    try:
        value = read_json(text)
    except NotJSON:
        return _MISSING
    return value if _type(value) in types & {"array", "object"} else _MISSING
