"""JSON values: which kind they are, where they stand, how they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard


def pointer(path: Iterable[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path of keys and positions; empty for the value itself."""
    return "".join(
        "/" + str(token).replace("~", "~0").replace("/", "~1") for token in path
    )


def show(value: Any, limit: int = 60) -> str:
    """A value as short JSON, for messages. A large value is written no further than that."""
    if isinstance(value, str):
        value = characters(value[: limit + 1])
    text = ""
    for piece in _ENCODER.iterencode(value):
        text += piece
        if len(text) > limit:
            return text[: limit - 1] + "…"
    return text


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def characters(text: str) -> str:
    """A text without lone surrogates, so that it can be sent; each becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def kind(value: object) -> str:
    """The JSON type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, Mapping) else "an array"


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a plain JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a plain JSON value is an array."""
    return isinstance(value, list)
