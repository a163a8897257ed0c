"""Reading arguments as they arrive: text, bytes or a mapping, into plain JSON values.

Text is read by RFC 8259: NaN, numbers beyond a double, duplicate keys and lone surrogates are refused, integers keep
every digit; a byte order mark is skipped, as section 8.1 allows. Mappings are copied into plain containers under the
same rules, so that a handler never shares a value with the caller. Nesting is bounded before anything recursive sees
the value.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from pydantic_core import from_json

from .values import is_array, is_object, kind, pointer, show

MAX_DEPTH = 128
"""Levels of nesting that arguments may have; the arguments object itself is the first."""

Arguments = str | bytes | bytearray | memoryview | Mapping[str, Any] | None
"""What arguments may arrive as."""


class NotJSON(ValueError):
    """The arguments are no JSON by RFC 8259; `pointer` says where, as far as that is known."""

    def __init__(self, message: str, at: str = "") -> None:
        self.pointer = at
        super().__init__(message)


class NotAnObject(ValueError):
    """The arguments are JSON, but no object."""


def read_arguments(arguments: Arguments) -> dict[str, Any]:
    """The arguments object; absent, empty and `null` arguments are an empty one.

    Raises `NotJSON` and `NotAnObject`.
    """
    if isinstance(arguments, str):
        value = read_json(arguments)
    elif arguments is None:
        return {}
    elif isinstance(arguments, (bytes, bytearray, memoryview)):
        try:
            value = read_json(bytes(arguments).decode())
        except UnicodeDecodeError as error:
            raise NotJSON(f"the arguments are not UTF-8 (byte {error.start})") from None
    else:
        value = _copy(arguments, [])
    if _type(value) is dict:
        found: dict[str, Any] = value
        return found
    if value is None:
        return {}
    raise NotAnObject(f"the arguments must be a JSON object, not {kind(value)}")


def read_json(text: str) -> Any:
    """The value of a JSON text; None for a blank one. Raises `NotJSON`.

    It is read by a quick reader; what that refuses goes to a second one, which explains.

    The quick reader lets pass duplicate keys, numbers beyond a double and nesting up to a bound of its own. As every
    member costs a colon, a text with as many colons as there are members had no key twice.
    """
    try:
        value = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # a TypeError for a surrogate in the text itself
        return _explain(text)
    if _type(value) is dict:
        members = _members(value, 1)
        if members == text.count(":") or members == _STRING.sub("", text).count(":"):
            return value
    return _explain(text)


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_UNSOUND = -(10**9)
_LEAVES = frozenset({str, int, bool, type(None)})
_type: Callable[[Any], Any] = type


def _members(container: Any, depth: int) -> int:
    """How many members the objects in `container` have together; below zero for what is too large or too deep."""
    if depth > MAX_DEPTH:
        return _UNSOUND
    members = 0
    if _type(container) is dict:
        members = len(container)
        container = container.values()
    for value in container:
        its_type = _type(value)
        if its_type in _LEAVES:
            continue
        if its_type is not float:
            members += _members(value, depth + 1)
        elif value - value != 0:  # infinite
            return _UNSOUND
    return members


def is_bounded(value: dict[str, Any]) -> bool:
    """Whether a value put together from several JSON texts keeps the bound on nesting."""
    return _members(value, 1) >= 0


def _explain(text: str) -> Any:
    """The value of a text that the fast reader refuses. Nearly always there is none, and the error says why."""
    text = text.removeprefix("\ufeff")
    if not text.strip(" \t\n\r"):
        return None
    try:
        value = _DECODER.decode(text)
    except NotJSON:
        raise
    except json.JSONDecodeError as error:
        raise NotJSON(
            f"the arguments are not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise NotJSON(_TOO_DEEP) from None
    except ValueError:  # the interpreter bounds the digits of an integer
        raise NotJSON(_TOO_MANY_DIGITS) from None
    _check(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise NotJSON(
            f"the arguments are not valid JSON: the key {show(twice)} appears twice in one object"
        )
    return value


def _constant(name: str) -> NoReturn:
    raise NotJSON(f"the arguments are not valid JSON: {name} is no JSON number")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJSON(f"the arguments hold a number that is too large: {text[:40]}")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
)
_TOO_DEEP = f"the arguments nest deeper than {MAX_DEPTH} levels"
_TOO_MANY_DIGITS = "the arguments hold an integer with too many digits"
_SURROGATE = "the arguments hold a lone surrogate, which is no character"
_TOO_LARGE = 10**4300
"""The first integer that the text readers refuse: they take 4,300 digits."""


def _check(root: Any) -> None:
    """Refuses nesting beyond the bound and lone surrogates. Not recursive: it runs before the nesting is known."""
    level: list[Any] = [root]
    depth = 0
    while level:
        depth += 1
        below: list[Any] = []
        for value in level:
            if type(value) is str:
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


def _characters(text: str, path: Sequence[str | int] = ()) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJSON(_SURROGATE, pointer(path)) from None


def _copy(value: Any, path: list[str | int]) -> Any:
    """`value` in plain containers; `path` is where it stands, and is left there by an error."""
    if isinstance(value, str):
        _characters(value, path)
        return value if type(value) is str else str.__str__(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(f"{value} is no JSON number", pointer(path))
        return float(value)
    if isinstance(value, int):
        if not -_TOO_LARGE < value < _TOO_LARGE:
            raise NotJSON(_TOO_MANY_DIGITS, pointer(path))
        return int(value)
    if isinstance(value, Mapping):
        if len(path) >= MAX_DEPTH:
            raise NotJSON(_TOO_DEEP)
        copy: dict[str, Any] = {}
        for key, member in cast(Any, value).items():
            if not isinstance(key, str):
                raise NotJSON(
                    f"a key is of type {type(key).__name__}, not a string",
                    pointer(path),
                )
            _characters(key, path)
            path.append(key)
            copy[str.__str__(key)] = _copy(member, path)
            path.pop()
        return copy
    if isinstance(value, Sequence) and not isinstance(
        value, (bytes, bytearray, memoryview)
    ):
        if len(path) >= MAX_DEPTH:
            raise NotJSON(_TOO_DEEP)
        items: list[Any] = []
        for i, item in enumerate(cast(Any, value)):
            path.append(i)
            items.append(_copy(item, path))
            path.pop()
        return items
    raise NotJSON(
        f"a value of type {type(cast(object, value)).__name__} is no JSON value",
        pointer(path),
    )
