"""Turning a handler's return value into the text that a model reads.

A `str` goes as it is. Everything else becomes compact JSON without ASCII escapes, by fixed rules:

| Python | JSON |
|---|---|
| Pydantic model or dataclass | object by alias; of a generated model only what was set |
| other dataclass, named tuple, mapping | object |
| list, tuple, generator | array |
| set, frozenset | array, sorted |
| datetime, date, time | text, ISO 8601 with the offset as it is |
| timedelta | text, ISO 8601 duration |
| Decimal, UUID, Path, and what Pydantic itself writes as text (URLs, IP addresses, masked secrets) | text |
| Enum | its value |
| bytes, bytearray, memoryview | text, base64 |
| int, bool or None as a key | text, as JSON spells it |

NaN, infinities, other keys, two keys that become one, cycles, lone surrogates and unknown types are errors that name
the place.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from .content import Content, Text
from .errors import UnserializableOutput
from .models import ToolModel
from .values import is_array, is_object, pointer
from .wire import NotJSON, read_json

MAX_DEPTH = 200
"""Levels of nesting that an output may have."""


def to_text(value: object) -> str:
    """The text of a return value. Raises `UnserializableOutput`."""
    return write(value)[1]


def write(value: object) -> tuple[Any, str]:
    """A return value in plain JSON terms (dict, list, str, int, float, bool, None), and its text.

    Raises `UnserializableOutput`.
    """
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        text = _characters(str.__str__(value), [])
        return text, text
    plain = _set_fields(value) if isinstance(value, ToolModel) else value
    if _is_plain(plain, 1):
        try:
            return plain, to_json(plain).decode()
        except PydanticSerializationError:
            pass  # a lone surrogate: the walk below names its place
    plain = _plain(value, [], [])
    return plain, encode(plain)


def content_text(content: Content) -> str:
    """The text parts of a `Content`, all parts checked. Raises `UnserializableOutput` for a lone surrogate."""
    for i, part in enumerate(content.parts):
        _characters(part.text if isinstance(part, Text) else part.url, [i])
    return content.text


def encode(plain: Any) -> str:
    """Compact JSON of a plain value, without ASCII escapes."""
    return to_json(plain).decode()


def value_of(text: str) -> Any:
    """The value that an output text is the JSON of, for APIs that take values; else the text itself.

    A number or word counts as JSON only where writing it gives the same text again: `1.10` may be a version. A quoted
    text stays as it is, because a text is sent without quotes.
    """
    if not text.strip():
        return text
    try:
        value: Any = read_json(text)
    except NotJSON:
        return text
    if isinstance(value, str):
        return text
    exact = is_object(value) or is_array(value) or encode(value) == text
    return value if exact else text


def _is_plain(value: Any, depth: int) -> bool:
    """Whether nothing in a value needs a rule: the usual case, told quickly. What contains itself is too deep."""
    its_type = _type(value)
    if depth > MAX_DEPTH:
        return False
    if its_type is dict:
        for key, item in value.items():
            if _type(key) is not str or (
                _type(item) not in _LEAVES and not _is_plain(item, depth + 1)
            ):
                return False
        return True
    if its_type is list:
        # `all` with a generator would cost more than the rest.
        doubtful = [item for item in value if _type(item) not in _LEAVES]
        return not doubtful or all(_is_plain(item, depth + 1) for item in doubtful)
    return its_type in _LEAVES or (its_type is float and math.isfinite(value))


_LEAVES = frozenset({str, int, bool, type(None)})
_type: Callable[[Any], Any] = type


def _plain(value: Any, path: list[str | int], parents: list[int]) -> Any:
    """`value` in plain terms. `path` is where it stands and is left there by an error; `parents` are what it is in."""
    if type(value) in _LEAVES and type(value) is not str:
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, path, parents)
    if isinstance(value, str):
        return _characters(str.__str__(value), path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnserializableOutput(
                f"{float(value)} at {_place(path)} has no word in JSON", pointer(path)
            )
        return float(value)
    if isinstance(value, (Mapping, list, tuple, set, frozenset, BaseModel)):
        return _container(value, path, parents)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (Decimal, UUID, PurePath)):
        return _characters(str(value), path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    return _container(value, path, parents)


def _container(value: Any, path: list[str | int], parents: list[int]) -> Any:
    if len(parents) >= MAX_DEPTH:
        raise UnserializableOutput(
            f"the output nests deeper than {MAX_DEPTH} levels", pointer(path)
        )
    if id(value) in parents:
        raise UnserializableOutput(
            f"the value at {_place(path)} contains itself", pointer(path)
        )
    parents.append(id(value))
    try:
        if (fields := _fields(value, path)) is not None:
            plain: dict[str, Any] = {}
            for key, member in fields.items():
                name = _key(key, path)
                if name in plain:
                    raise UnserializableOutput(
                        f"two keys at {_place(path)} become {name!r} in JSON",
                        pointer(path),
                    )
                path.append(name)
                plain[name] = _plain(member, path, parents)
                path.pop()
            return plain
        if isinstance(value, AbstractSet):
            return sorted(
                (_plain(item, path, parents) for item in cast(Any, value)), key=_order
            )
        if isinstance(value, (Sequence, Iterator)):
            items: list[Any] = []
            for i, item in enumerate(cast(Any, value)):
                path.append(i)
                items.append(_plain(item, path, parents))
                path.pop()
            return items
        return _other(value, path, parents)
    finally:
        parents.pop()


def _fields(value: Any, path: list[str | int]) -> Mapping[Any, Any] | None:
    """The members of a value that becomes an object, else None."""
    if isinstance(value, Mapping):
        return cast("Mapping[Any, Any]", value)  # type: ignore[redundant-cast]  # pyright does not know the parameters
    if isinstance(value, ToolModel):
        return _set_fields(value)
    if isinstance(value, tuple):
        named: Any = getattr(cast(Any, value), "_asdict", None)
        return None if named is None else cast("Mapping[Any, Any]", named())
    if (
        dataclasses.is_dataclass(value)
        and not isinstance(value, type)
        and not _is_pydantic(value)
    ):
        return {
            field.name: getattr(value, field.name)
            for field in dataclasses.fields(value)
        }
    return None


def _set_fields(model: ToolModel) -> dict[str, Any]:
    """The members of a generated model that were set, by their names on the wire, with those it has no field for."""
    declared, wanted = type(model).__pydantic_fields__, model.__pydantic_fields_set__
    fields = {
        declared[name].alias or name: value
        for name, value in model.__dict__.items()
        if name in wanted
    }
    return fields | (model.__pydantic_extra__ or {})


def _is_pydantic(value: Any) -> bool:
    """Whether a value is a Pydantic model or dataclass."""
    return isinstance(value, BaseModel) or hasattr(
        cast(Any, type(value)), "__pydantic_fields__"
    )


def _other(value: Any, path: list[str | int], parents: list[int]) -> Any:
    """What Pydantic knows how to write: its models and dataclasses, and types such as URLs and IP addresses."""
    if _is_pydantic(value):
        return _plain(_dump(value, path), path, parents)
    try:
        written: Any = to_jsonable_python(value)
    except ValueError:
        written = None
    if isinstance(written, str):
        return _characters(written, path)
    raise UnserializableOutput(
        f"cannot write the type {type(value).__name__} at {_place(path)} as JSON",
        pointer(path),
    )


def _dump(value: Any, path: Sequence[str | int]) -> Any:
    """The fields of a Pydantic model or dataclass, by alias."""
    try:
        return value.__pydantic_serializer__.to_python(
            value, by_alias=True, warnings=False
        )
    except ValueError as error:
        # Pydantic's word for a model that contains itself, and for a serializer that failed.
        name = type(value).__name__
        raise UnserializableOutput(
            f"the {name} at {_place(path)} cannot be dumped", pointer(path)
        ) from error


def _order(item: Any) -> tuple[int, float, str]:
    """Sorts the members of a set: null and booleans, numbers by size, text, the rest by its JSON."""
    if isinstance(item, bool) or item is None:
        return (0, 0.0, encode(item))
    if isinstance(item, (int, float)):
        return (1, item, "")
    return (2, 0.0, item) if isinstance(item, str) else (3, 0.0, encode(item))


def _key(key: Any, path: Sequence[str | int]) -> str:
    if type(key) is str:
        return _characters(key, path)
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return _characters(str.__str__(key), path)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(int(key))
    raise UnserializableOutput(
        f"a key at {_place(path)} is of type {type(key).__name__}, not text",
        pointer(path),
    )


def _characters(text: str, path: Sequence[str | int]) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnserializableOutput(
                f"the text at {_place(path)} holds a lone surrogate", pointer(path)
            ) from None
    return text


def _duration(value: timedelta) -> str:
    """ISO 8601, in days and seconds."""
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    seconds = (
        f"{value.seconds}.{value.microseconds:06d}".rstrip("0").rstrip(".")
        if value.microseconds
        else str(value.seconds)
    )
    days = f"{value.days}D" if value.days else ""
    return (
        f"{sign}P{days}T{seconds}S"
        if value.seconds or value.microseconds or not days
        else f"{sign}P{days}"
    )


def _place(path: Sequence[str | int]) -> str:
    """The place as people write it: `$.rows[2].total`."""
    return "$" + "".join(
        f"[{token}]" if isinstance(token, int) else f".{token}" for token in path
    )
