"""Turning a handler's return value into the text that a model reads.

A `str` goes as it is. Everything else becomes compact JSON without ASCII escapes, by fixed rules:

| Python | JSON |
|---|---|
| Pydantic model | object by alias; of a generated model only what was set |
| dataclass, named tuple, mapping | object |
| list, tuple, generator | array |
| set, frozenset | array, sorted |
| datetime, date, time | text, ISO 8601 with the offset as it is |
| timedelta | text, ISO 8601 duration |
| Decimal, UUID, Path | text |
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
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from .errors import UnserializableOutput
from .models import ToolModel
from .values import pointer

MAX_DEPTH = 200

Path = tuple[str | int, ...]


def to_text(value: object) -> str:
    """The text of a return value. Raises `UnserializableOutput`."""
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        _characters(value, ())
        return str(value)
    return encode(to_plain(value))


def to_plain(value: object) -> Any:
    """A return value in plain JSON terms: dict, list, str, int, float, bool, None. Raises `UnserializableOutput`."""
    return _plain(value, (), [])


def encode(plain: Any) -> str:
    """Compact JSON of a plain value, without ASCII escapes."""
    try:
        return to_json(plain).decode()
    except (PydanticSerializationError, ValueError) as error:  # our own fault: `to_plain` lets nothing else through
        raise UnserializableOutput(f"the output cannot be written as JSON: {error}") from error


def _plain(value: Any, path: Path, parents: list[int]) -> Any:
    if value is None or value is True or value is False or type(value) is int:
        return value
    if type(value) is str:
        return _characters(value, path)
    if type(value) is float:
        return _finite(value, path)
    if isinstance(value, enum.Enum):
        return _plain(value.value, path, parents)
    scalar = _scalar(value, path)
    if scalar is not None:
        return scalar
    if len(parents) >= MAX_DEPTH:
        raise UnserializableOutput(f"the output nests deeper than {MAX_DEPTH} levels", pointer(path))
    if id(value) in parents:
        raise UnserializableOutput(f"the value at {_place(path)} contains itself", pointer(path))
    parents.append(id(value))
    try:
        return _container(value, path, parents)
    finally:
        parents.pop()


def _scalar(value: Any, path: Path) -> Any:
    """The JSON scalar of a value that has one, else None."""
    if isinstance(value, str):
        return _characters(str.__str__(value), path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(float(value), path)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (Decimal, UUID, PurePath)):
        return _characters(str(value), path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    return None


def _container(value: Any, path: Path, parents: list[int]) -> Any:
    if isinstance(value, BaseModel):
        dump = value.__pydantic_serializer__.to_python
        only_set = isinstance(value, ToolModel)
        fields = dump(value, mode="python", by_alias=True, exclude_unset=only_set, warnings=False)
        return _plain(fields, path, parents)
    if isinstance(value, Mapping):
        return _object(cast(Any, value), path, parents)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _object(fields, path, parents)
    if isinstance(value, tuple) and (named := getattr(cast(Any, value), "_asdict", None)) is not None:
        return _object(named(), path, parents)
    if isinstance(value, Set):
        items = [_plain(item, path, parents) for item in cast(Any, value)]
        return sorted(
            items, key=lambda item: (type(item).__name__, item if isinstance(item, str) else "", encode(item))
        )
    if isinstance(value, (Sequence, Iterator)):
        return [_plain(item, (*path, i), parents) for i, item in enumerate(cast(Any, value))]
    raise UnserializableOutput(f"cannot write the type {type(value).__name__} at {_place(path)} as JSON", pointer(path))


def _object(value: Mapping[Any, Any], path: Path, parents: list[int]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, member in value.items():
        name = _key(key, path)
        if name in plain:
            raise UnserializableOutput(f"two keys at {_place(path)} become {name!r} in JSON", pointer(path))
        plain[name] = _plain(member, (*path, name), parents)
    return plain


def _key(key: Any, path: Path) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return str(_characters(str.__str__(key), path))
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(int(key))
    raise UnserializableOutput(f"a key at {_place(path)} is of type {type(key).__name__}, not text", pointer(path))


def _characters(text: str, path: Path) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnserializableOutput(f"the text at {_place(path)} holds a lone surrogate", pointer(path)) from None
    return text


def _finite(number: float, path: Path) -> float:
    if not math.isfinite(number):
        raise UnserializableOutput(f"{number} at {_place(path)} has no word in JSON", pointer(path))
    return number


def _duration(value: timedelta) -> str:
    """ISO 8601, in days and seconds."""
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    seconds = (
        f"{value.seconds}.{value.microseconds:06d}".rstrip("0").rstrip(".")
        if value.microseconds
        else str(value.seconds)
    )
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{seconds}S" if value.seconds or value.microseconds or not days else f"{sign}P{days}"


def _place(path: Path) -> str:
    """The place as people write it: `$.rows[2].total`."""
    return "$" + "".join(f"[{token}]" if isinstance(token, int) else f".{token}" for token in path)
