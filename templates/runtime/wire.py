"""Reading arguments as they arrive: text, bytes or a mapping, into plain JSON values.

Text is read by RFC 8259: NaN, numbers beyond a double, duplicate keys and lone surrogates are refused, integers keep
every digit. Mappings are copied into plain containers under the same rules, so that a handler never shares a value with
the caller. Nesting is bounded before anything recursive sees the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from .values import is_array, is_object, kind, pointer

MAX_DEPTH = 128
"""Levels of nesting that arguments may have; the arguments object itself is the first."""


class NotJSON(ValueError):
    """The arguments are no JSON by RFC 8259; `pointer` says where, as far as that is known."""

    def __init__(self, message: str, at: str = "") -> None:
        self.pointer = at
        super().__init__(message)


class NotAnObject(ValueError):
    """The arguments are JSON, but no object."""


def read_arguments(arguments: str | bytes | bytearray | Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments object; absent, empty and `null` arguments are an empty one.

    Raises `NotJSON` and `NotAnObject`.
    """
    if isinstance(arguments, str):
        value = _decode(arguments)
    elif isinstance(arguments, (bytes, bytearray)):
        try:
            value = _decode(arguments.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise NotJSON(f"the arguments are not UTF-8 (byte {error.start})") from None
    elif arguments is None:
        return {}
    else:
        value = _copy(arguments, 1, ())
    if value is None:
        return {}
    if not is_object(value):
        raise NotAnObject(f"the arguments must be a JSON object, not {kind(value)}")
    return value


def _decode(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except NotJSON:
        raise
    except json.JSONDecodeError as error:
        if not text.strip():
            return None
        raise NotJSON(
            f"the arguments are not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise NotJSON(_TOO_DEEP) from None
    except ValueError:  # the interpreter bounds the digits of an integer
        raise NotJSON("the arguments hold an integer with too many digits") from None
    # Each level costs an opening bracket, so few brackets cannot nest deep; text without escapes holds no surrogate.
    if text.count("{") + text.count("[") > MAX_DEPTH or "\\u" in text or not text.isascii():
        _check(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in value if keys.count(key) > 1)
        raise NotJSON(f"the arguments are not valid JSON: the key {json.dumps(twice)} appears twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise NotJSON(f"the arguments are not valid JSON: {name} is no JSON number")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJSON(f"the arguments hold a number that is too large: {text[:40]}")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
_TOO_DEEP = f"the arguments nest deeper than {MAX_DEPTH} levels"
_SURROGATE = "the arguments hold a lone surrogate, which is no character"


def _check(root: Any) -> None:
    """Refuses nesting beyond the bound and lone surrogates. Not recursive: it runs before the nesting is known."""
    level: list[Any] = [root]
    depth = 0
    while level:
        depth += 1
        below: list[Any] = []
        for value in level:
            if type(value) is str:
                if not value.isascii():
                    _characters(value)
            elif is_object(value):
                if depth > MAX_DEPTH:
                    raise NotJSON(_TOO_DEEP)
                below.extend(value)
                below.extend(value.values())
            elif is_array(value):
                if depth > MAX_DEPTH:
                    raise NotJSON(_TOO_DEEP)
                below.extend(value)
        level = below


def _characters(text: str, at: str = "") -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJSON(_SURROGATE, at) from None


def _copy(value: Any, depth: int, path: tuple[str | int, ...]) -> Any:
    """`value` in plain containers."""
    if value is None or type(value) is bool or type(value) is int:
        return value
    if isinstance(value, str):
        if not value.isascii():
            _characters(value, pointer(path))
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(f"{value} is no JSON number", pointer(path))
        return float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mapping):
        if depth > MAX_DEPTH:
            raise NotJSON(_TOO_DEEP)
        copy: dict[str, Any] = {}
        for key, member in cast(Any, value).items():
            if not isinstance(key, str):
                raise NotJSON(f"a key is of type {type(key).__name__}, not a string", pointer(path))
            if not key.isascii():
                _characters(key, pointer(path))
            copy[str.__str__(key)] = _copy(member, depth + 1, (*path, key))
        return copy
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        if depth > MAX_DEPTH:
            raise NotJSON(_TOO_DEEP)
        return [_copy(item, depth + 1, (*path, i)) for i, item in enumerate(cast(Any, value))]
    raise NotJSON(f"a value of type {type(cast(object, value)).__name__} is no JSON value", pointer(path))
